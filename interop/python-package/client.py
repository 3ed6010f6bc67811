"""A client with the package strongroom. ../README.md says what it must do."""

import sqlite3
import strongroom

import python_client


def connect(file, key_file=None):
    if not key_file:
        return sqlite3.connect(file)
    return strongroom.connect(file, key_file=key_file, isolation_level=None)


python_client.main(connect, sqlite3.DatabaseError)
