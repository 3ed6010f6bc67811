"""Confidential columns of PostgreSQL in this process: any driver, without the proxy.

    from strongroom import columns

    client = columns.open("strongroom.toml", "host=db sslmode=require")
    connection = psycopg.connect(host=client.listen(), user="me", dbname="shop")

The library libstrongroom_client seals what goes into protected columns before it leaves the
process, and opens what comes back. docs/in-process.md has the rest.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import socket
import sys
import weakref

__all__ = [
    "Client",
    "ConfigurationError",
    "Error",
    "NotSupportedError",
    "TooManyError",
    "open",
]

ABI_VERSION = 1
MESSAGE_SIZE = 1024
FOLDER_SIZE = 256
CONFIGURATION, TOO_MANY = 4, 5


class Error(Exception):
    """What the library answers: a client that is closed or of another process, or the system."""


class ConfigurationError(Error):
    """The configuration: the file, rules, the key, the server."""


class TooManyError(Error):
    """There are as many connections as the configuration allows."""


class NotSupportedError(Error):
    """The library is missing, or another version than this module is for."""


ERRORS = {CONFIGURATION: ConfigurationError, TOO_MANY: TooManyError}


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    ending = ".dylib" if sys.platform == "darwin" else ".so"
    path = os.environ.get("STRONGROOM_CLIENT_LIBRARY", f"libstrongroom_client{ending}")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise NotSupportedError(
            f"{error}: install the library, or name its file in STRONGROOM_CLIENT_LIBRARY"
        ) from None
    text, size = ctypes.c_char_p, ctypes.c_size_t
    for name, arguments in {
        "open": [text, text, ctypes.POINTER(ctypes.c_uint64)],
        "connect": [ctypes.c_uint64, ctypes.POINTER(ctypes.c_int32)],
        "listen": [ctypes.c_uint64, text, size],
        "close": [ctypes.c_uint64],
    }.items():
        function = getattr(library, f"strongroom_client_{name}")
        function.argtypes = [*arguments, text, size]
        function.restype = ctypes.c_int32
    library.strongroom_client_abi_version.restype = ctypes.c_uint32
    version = library.strongroom_client_abi_version()
    if version != ABI_VERSION:
        raise NotSupportedError(
            f"{path} has version {version} of the interface, and this module is for {ABI_VERSION}"
        )
    return library


def _call(name: str, *arguments: object) -> None:
    message = ctypes.create_string_buffer(MESSAGE_SIZE)
    function = getattr(_library(), f"strongroom_client_{name}")
    code = function(*arguments, message, MESSAGE_SIZE)
    if code:
        raise ERRORS.get(code, Error)(message.value.decode())


def _close(number: int, process: int) -> None:
    # A fork has no threads to end, and its parent's socket is not its own.
    if os.getpid() == process:
        with contextlib.suppress(Error):
            _call("close", number)


class Client:
    """Rules, key and server. It is closed by close(), at the end of a `with`, or with the program."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._finalizer = weakref.finalize(self, _close, number, os.getpid())

    def connect(self) -> socket.socket:
        """One more connection: a socket at which PostgreSQL's protocol is spoken."""
        descriptor = ctypes.c_int32(-1)
        _call("connect", self._number, ctypes.byref(descriptor))
        return socket.socket(fileno=descriptor.value)

    def listen(self) -> str:
        """The folder of a socket that only this process may use: the `host` of a driver."""
        folder = ctypes.create_string_buffer(FOLDER_SIZE)
        _call("listen", self._number, folder, FOLDER_SIZE)
        return os.fsdecode(folder.value)

    def close(self) -> None:
        """Ends all connections and wipes the keys. Again, it does nothing."""
        self._finalizer()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(configuration: str | os.PathLike[str], server: str | None = None) -> Client:
    """A client by a configuration file, which may be the proxy's.

    `server` says where the server is, as libpq's connection strings do, without user, password and
    database; without it the file has [proxy] with its `upstream`.
    """
    number = ctypes.c_uint64()
    name = os.fsencode(configuration)
    _call("open", name, server and server.encode(), ctypes.byref(number))
    return Client(number.value)
