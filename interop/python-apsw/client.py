"""A client with apsw. ../README.md says what it must do."""

import os
import pathlib
import sys
import urllib.parse

import apsw


def load_extension():
    """Loaded on any connection, the extension stays for the whole process."""
    loader = apsw.Connection(":memory:")
    loader.enable_load_extension(True)
    loader.load_extension(os.environ["STRONGROOM_EXTENSION"])
    loader.close()


def connect(file, key_file=None):
    uri = "file:" + urllib.parse.quote(file)
    if key_file:
        uri += "?" + urllib.parse.urlencode({"key_file": key_file}, quote_via=urllib.parse.quote)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    return apsw.Connection(uri, flags=flags, vfs="strongroom")


FROM_TEXT = {"null": lambda _: None, "integer": int, "real": float, "text": str,
             "blob": bytes.fromhex}


def write(connection):
    connection.execute(pathlib.Path(os.environ["STRONGROOM_SCHEMA"]).read_text())
    with connection:
        for line in sys.stdin.buffer.read().decode().splitlines():
            number, kind, *value = line.split(" ", 2)
            value = FROM_TEXT[kind](value[0] if value else None)
            connection.execute("INSERT INTO rows VALUES(?, ?)", (int(number), value))


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


def write_ahead_log(file, key_file):
    def count(connection):
        return connection.execute("SELECT count(*) FROM log").fetchone()[0]

    one = connect(file, key_file)
    seen = [one.execute("PRAGMA journal_mode=WAL").fetchone()[0]]
    one.execute("CREATE TABLE log(n); INSERT INTO log VALUES(1)")
    two = connect(file, key_file)
    seen.append(count(two))
    one.execute("BEGIN; INSERT INTO log VALUES(2)")
    seen.append(count(two))
    one.execute("COMMIT")
    seen.append(count(two))
    two.execute("INSERT INTO log VALUES(3)")
    seen.append(count(one))
    two.close()
    one.close()
    print(*seen)


def main(operation, *names):
    load_extension()
    if operation == "wal":
        return write_ahead_log(*names)
    connection = connect(*names)
    {"write": write, "read": read}[operation](connection)
    connection.close()


try:
    main(*sys.argv[1:])
except apsw.Error as error:
    sys.exit(str(error))
