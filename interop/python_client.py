"""What the clients of Python have in common. README.md says what a client must do."""

import os
import pathlib
import sys

FROM_TEXT = {"null": lambda _: None, "integer": int, "real": float, "text": str,
             "blob": bytes.fromhex}


def write(connection):
    for statement in pathlib.Path(os.environ["STRONGROOM_SCHEMA"]).read_text().splitlines():
        connection.execute(statement)
    connection.execute("BEGIN")
    for line in sys.stdin.buffer.read().decode().splitlines():
        number, kind, *value = line.split(" ", 2)
        value = FROM_TEXT[kind](value[0] if value else None)
        connection.execute("INSERT INTO rows VALUES(?, ?)", (int(number), value))
    connection.execute("COMMIT")


def as_text(value):
    match value:
        case None:
            return "null"
        case int():
            return f"integer {value}"
        case float():
            return f"real {value}"
        case str():
            return f"text {value}"
        case bytes():
            return f"blob {value.hex()}"


def read(connection):
    lines = [f"{number} {as_text(value)}\n"
             for number, value in connection.execute("SELECT id, value FROM rows ORDER BY id")]
    sys.stdout.buffer.write("".join(lines).encode())


def write_ahead_log(connect):
    def count(connection):
        return connection.execute("SELECT count(*) FROM log").fetchone()[0]

    one = connect()
    seen = [one.execute("PRAGMA journal_mode=WAL").fetchone()[0]]
    one.execute("CREATE TABLE log(n)")
    one.execute("INSERT INTO log VALUES(1)")
    two = connect()
    seen.append(count(two))
    one.execute("BEGIN")
    one.execute("INSERT INTO log VALUES(2)")
    seen.append(count(two))
    one.execute("COMMIT")
    seen.append(count(two))
    two.execute("INSERT INTO log VALUES(3)")
    seen.append(count(one))
    two.close()
    one.close()
    print(*seen)


def main(connect, error):
    """`connect(file, key_file)` gives a connection without transactions of its own."""
    operation, *names = sys.argv[1:]
    try:
        if operation == "wal":
            return write_ahead_log(lambda: connect(*names))
        connection = connect(*names)
        {"write": write, "read": read}[operation](connection)
        connection.close()
    except error as reason:
        sys.exit(str(reason))
