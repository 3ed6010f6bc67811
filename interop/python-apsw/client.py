"""A client with apsw. ../README.md says what it must do."""

import os
import urllib.parse

import apsw
import python_client


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


load_extension()
python_client.main(connect, apsw.Error)
