"""What a user of the package does first. It is given an empty folder."""

import pathlib
import sqlite3
import sys

import strongroom

folder = pathlib.Path(sys.argv[1])
path = folder / "sealed.db"
passphrase = "a passphrase of this test"

database = strongroom.connect(path, passphrase=passphrase)
with database:
    database.execute("CREATE TABLE t(x)")
    database.execute("INSERT INTO t VALUES (?)", ("a secret of this test",))
database.close()

data = path.read_bytes()
assert data and b"a secret" not in data and not data.startswith(b"SQLite format 3")

database = strongroom.connect(path, passphrase=passphrase)
assert database.execute("SELECT x FROM t").fetchall() == [("a secret of this test",)]
database.close()

try:
    strongroom.connect(path, passphrase="another one")
except strongroom.WrongKeyError:
    pass
else:
    raise AssertionError("a wrong passphrase was not refused")

try:
    sqlite3.connect(path).execute("SELECT x FROM t")
except sqlite3.DatabaseError:
    pass
else:
    raise AssertionError("it was read without the package")

print(f"Python {sys.version.split()[0]} with SQLite {sqlite3.sqlite_version}")
