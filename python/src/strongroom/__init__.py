"""Encrypted SQLite databases with Python's own sqlite3.

    import strongroom

    database = strongroom.connect("new.db", key_file="my.key")

gives an ordinary sqlite3.Connection whose file is encrypted. README.md has the rest.
"""

from ._connect import Error, UnusableError, WrongKeyError, connect
from ._library import NotSupportedError, extension_path

__all__ = [
    "Error",
    "NotSupportedError",
    "UnusableError",
    "WrongKeyError",
    "connect",
    "extension_path",
]
