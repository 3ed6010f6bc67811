"""What a process does with the library: descriptors, threads, forks, an end without a close, and keys that are
gone. `answers WHERE` writes what a driver gets, by the library or from the server itself."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import pg8000.native
from postgres_client import CANARY, check
from strongroom import columns

CONFIGURATION = os.environ["STRONGROOM_CONFIGURATION"]
ADMIN = {"user": "postgres", "database": "postgres"}


def by_descriptor(client, **login):
    return pg8000.native.Connection(**{**ADMIN, **login}, sock=client.connect())


def by_socket(client, **login):
    return pg8000.native.Connection(**{**ADMIN, **login}, unix_sock=f"{client.listen()}/.s.PGSQL.5432")


def refused(what, error, part, call):
    try:
        call()
    except error as found:
        if part in str(found):
            return
        raise AssertionError(f"{what}: {found}") from found
    raise AssertionError(f"{what}: nothing was refused")


def threads(client):
    """Each with connections of its own, by descriptor and by socket."""
    found = []

    def work(number):
        connect = by_descriptor if number % 2 else by_socket
        for turn in range(3):
            connection = connect(client)
            key = 1000 + 10 * number + turn
            for query in ("INSERT INTO visit VALUES (1, :key, :note)",
                          "UPDATE visit SET note = note || '!' WHERE person_id = 1 AND number = :key"):
                connection.run(query, key=key, **({"note": f"{CANARY} {key}"} if "INSERT" in query else {}))
            [[note]] = connection.run("SELECT note FROM visit WHERE person_id = 1 AND number = :key", key=key)
            found.append((key, note))
            connection.close()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    check("notes", [(1000 + 10 * number + turn, f"{CANARY} {1000 + 10 * number + turn}!")
                    for number in range(6) for turn in range(3)], sorted(found))
    by_descriptor(client).run("DELETE FROM visit WHERE person_id = 1 AND number >= 1000")


def forked(client):
    """A fork has nothing of its parent's, and may open its own."""
    folder = client.listen()
    child = os.fork()
    if child == 0:
        # No code of the parent may run in the child, whatever happens.
        try:
            refused("connect", columns.Error, "before this process was forked", client.connect)
            refused("listen", columns.Error, "before this process was forked", client.listen)
            client.close()
            refused("the parent's socket", pg8000.native.DatabaseError, "for connections of the process",
                    lambda: pg8000.native.Connection(**ADMIN, unix_sock=f"{folder}/.s.PGSQL.5432"))
            with columns.open(CONFIGURATION) as own:
                check("by the child", [[3]], by_socket(own).run("SELECT count(*) FROM person"))
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(1)
    check("the child", 0, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    check("the folder is there", True, pathlib.Path(folder).is_dir())
    check("by the parent", [[3]], by_socket(client).run("SELECT count(*) FROM person"))


def ended():
    """A program that ends without a close leaves no folder; nor does the library end before it."""
    source = ("import sys; from strongroom import columns; client = columns.open(sys.argv[1]);"
              "print(client.listen())")
    said = subprocess.run([sys.executable, "-c", source, CONFIGURATION], check=True, capture_output=True, text=True)
    folder = pathlib.Path(said.stdout.strip())
    check("a name", True, folder.name.startswith("strongroom-"))
    check("no folder", False, folder.exists())


def memory(process):
    """All memory of a process that can be read."""
    ranges = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as bytes_of:
        for line in maps:
            place, mode = line.split()[:2]
            if mode[0] == "r" and not line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                start, end = (int(part, 16) for part in place.split("-"))
                try:
                    bytes_of.seek(start)
                    ranges.append(bytes_of.read(end - start))
                except OSError:
                    pass
    return ranges


def wiped():
    """The key is in the memory of a process while a client is open, and not afterwards."""
    key = pathlib.Path(CONFIGURATION).with_name("columns.key").read_bytes().strip()
    needles = {key, key.lower(), key.upper()}
    if len(key) != 32:
        needles.add(bytes.fromhex(key.decode()))
    source = """
import sys, pg8000.native
from strongroom import columns
client = columns.open(sys.argv[1])
connection = pg8000.native.Connection(user="postgres", database="postgres", sock=client.connect())
print(connection.run("SELECT count(name) FROM person WHERE id = 1"), flush=True)
input()
client.close()
print("closed", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", source, CONFIGURATION], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        holds = lambda: any(needle in part for part in memory(child.pid) for needle in needles)
        check("an answer", "[[1]]\n", child.stdout.readline())
        check("the key while a client is open", True, holds())
        child.stdin.write("\n")
        child.stdin.flush()
        check("closed", "closed\n", child.stdout.readline())
        check("the key afterwards", False, holds())
        child.stdin.write("\n")


QUERIES = [
    ("CREATE TABLE person (id integer PRIMARY KEY, name varchar(40) NOT NULL, born date, salary numeric(12,2), "
     "score bigint, photo bytea, active boolean)", {}),
    ("INSERT INTO person VALUES (1, :name, '1990-02-28', 12.50, 9007199254740993, '\\x00ff', true)",
     {"name": f"{CANARY} ann"}),
    ("INSERT INTO person (id, name) VALUES (2, :one), (3, :two)", {"one": f"{CANARY} bob", "two": f"{CANARY} eve"}),
    ("SELECT id, name, born, salary, score, photo, active FROM person ORDER BY id", {}),
    ("SELECT id FROM person WHERE name = :name", {"name": f"{CANARY} bob"}),
    ("UPDATE person SET salary = salary + 1, score = NULL WHERE id = 1 RETURNING salary", {}),
    ("SELECT count(*), sum(salary), max(born) FROM person", {}),
    ("INSERT INTO person (id, name) VALUES (1, 'again')", {}),
    ("INSERT INTO person (id, name) VALUES (4, NULL)", {}),
    ("INSERT INTO person (id, name, salary) VALUES (5, 'x', 1e11)", {}),
    ("SELECT name FROM person WHERE id = :id FOR UPDATE", {"id": 2}),
    ("DELETE FROM person WHERE id = :id", {"id": 3}),
    ("SELECT name FROM nowhere", {}),
    ("SELECT name, length(name) FROM person WHERE name LIKE :part ORDER BY name DESC", {"part": "%n"}),
]


def answers(where):
    if where == "library":
        client = columns.open(CONFIGURATION)
        connection = by_descriptor(client, database="library")
    else:
        connection = pg8000.native.Connection(**{**ADMIN, "database": "twin"}, host="127.0.0.1", port=int(where))
    for query, values in QUERIES:
        try:
            rows = connection.run(query, **values)
            shown = [connection.row_count, [column["type_oid"] for column in connection.columns or []], rows]
        except pg8000.native.DatabaseError as error:
            shown = {key: error.args[0].get(key) for key in "CMn"}
        print(query, json.dumps(shown, default=str), sep="\t")
    connection.close()


def main():
    with columns.open(CONFIGURATION) as client:
        for part in (threads, forked):
            part(client)
    refused("a closed client", columns.Error, "closed", client.connect)
    refused("no file", columns.ConfigurationError, "/nowhere", lambda: columns.open("/nowhere"))
    ended()
    wiped()


if __name__ == "__main__":
    answers(sys.argv[2]) if sys.argv[1:2] == ["answers"] else main()
