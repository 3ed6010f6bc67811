"""connect(): a key and a file, and an ordinary connection comes back."""

from __future__ import annotations

import json
import os
import pathlib
import sqlite3
import urllib.parse
from typing import Any, Union

from . import _library

Path = Union[str, "os.PathLike[str]"]
Secret = Union[str, bytes, bytearray]


class Error(sqlite3.DatabaseError):
    """The database does not open."""


class WrongKeyError(Error):
    """The database is encrypted, and not with this key."""


class UnusableError(Error):
    """The file is no encrypted database, is damaged, or the key file cannot be read."""


def connect(
    path: Path,
    *,
    key_file: Path | None = None,
    passphrase_file: Path | None = None,
    key: Secret | None = None,
    passphrase: Secret | None = None,
    cipher: str | None = None,
    create: bool = True,
    read_only: bool = False,
    keys_in_sql: bool = False,
    **sqlite3_connect_arguments: Any,
) -> sqlite3.Connection:
    """Opens an encrypted database, or makes a new one, and checks the key at once.

    Exactly one key is to be given: `key_file` and `passphrase_file` name files; `key` is 32 bytes
    or 64 hexadecimal digits; `passphrase` is text. `cipher` chooses that of a new database. With
    `create=False` a file that does not exist, or is empty, is an error. Without
    `keys_in_sql=True` no SQL changes the keys of the file. All other arguments are those of
    sqlite3.connect().
    """
    for name in ("uri", "database"):
        if name in sqlite3_connect_arguments:
            raise TypeError(f"connect() takes a path, and no argument {name!r}")
    if sum(one is not None for one in (key_file, passphrase_file, key, passphrase)) != 1:
        raise ValueError("give one of key_file, passphrase_file, key and passphrase")

    parameters: dict[str, str | bytes] = {"vfs": "strongroom", "mode": _mode(create, read_only)}
    # Always set, since the environment may say otherwise.
    parameters["keys_in_sql"] = "on" if keys_in_sql else "off"
    if cipher is not None:
        parameters["cipher"] = cipher
    uri = _uri(path)
    secret = key if key is not None else passphrase
    if secret is not None:
        with _library.token(_copy(secret), secret is key) as number:
            parameters["key_token"] = str(number)
            return _open(uri, parameters, create, sqlite3_connect_arguments)
    _library.load()
    if key_file is not None:
        parameters["key_file"] = os.fsencode(key_file)
    if passphrase_file is not None:
        parameters["passphrase_file"] = os.fsencode(passphrase_file)
    return _open(uri, parameters, create, sqlite3_connect_arguments)


def _mode(create: bool, read_only: bool) -> str:
    if read_only:
        return "ro"
    return "rwc" if create else "rw"


def _uri(path: Path) -> str:
    name = os.fspath(path)
    if name in ("", ":memory:"):
        raise ValueError("a database in memory is not encrypted: use sqlite3.connect()")
    if "\0" in name:
        raise ValueError("a path holds no zero byte")
    return pathlib.Path(os.path.abspath(name)).as_uri()


def _copy(secret: Secret) -> bytearray:
    """A copy that can be wiped."""
    if isinstance(secret, (bytes, bytearray)):
        return bytearray(secret)
    if not isinstance(secret, str):
        # Not bytearray(secret), which for a number would create that many zeros.
        raise TypeError("a key or passphrase is str, bytes or bytearray")
    try:
        return bytearray(secret.encode())
    except UnicodeEncodeError:
        pass
    # Raised outside the handler, because that exception contains the secret.
    raise ValueError("the secret is not Unicode text")


def _open(
    uri: str, parameters: dict[str, str | bytes], create: bool, arguments: dict[str, Any]
) -> sqlite3.Connection:
    query = urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote)
    connection: sqlite3.Connection = sqlite3.connect(f"{uri}?{query}", uri=True, **arguments)
    try:
        _check(connection, create)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, create: bool) -> None:
    status = json.loads(_ask(connection, "strongroom_status") or "{}")
    state = status.get("state")
    if state == "new" and not create:
        raise UnusableError("the file is empty: there is no database in it")
    if state == "encrypted" or (state == "new" and status.get("key")):
        return
    reason = _ask(connection, "strongroom_last_error") or "the database does not open"
    # It may also be locked because a key could not be read.
    raise WrongKeyError(reason) if reason.startswith("wrong key") else UnusableError(reason)


def _ask(connection: sqlite3.Connection, pragma: str) -> str | None:
    """The answer to a pragma, whatever factories the caller has chosen."""
    text_factory = connection.text_factory
    connection.text_factory = str
    try:
        cursor = sqlite3.Cursor(connection)
        row = cursor.execute(f"PRAGMA {pragma}").fetchone()
        cursor.close()
    finally:
        connection.text_factory = text_factory
    return str(row[0]) if row else None
