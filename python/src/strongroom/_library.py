"""The extension: loaded once in a process, and its functions for keys."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import pathlib
import sqlite3
from collections.abc import Iterator

SQLITE_VERSION_MIN = (3, 40, 0)


class NotSupportedError(sqlite3.NotSupportedError):
    """This Python's sqlite3 cannot take the extension."""


def extension_path() -> pathlib.Path:
    """The file of the extension, for other programs and libraries that load extensions."""
    folder = pathlib.Path(__file__).parent
    for name in ("libstrongroom.so", "libstrongroom.dylib", "strongroom.dll"):
        if (folder / name).is_file():
            return folder / name
    raise NotSupportedError(
        f"there is no extension in {folder}: install the package from a wheel"
    )


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """Makes the VFS known to sqlite3, for good, and returns the library."""
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise NotSupportedError(
            f"this Python uses SQLite {sqlite3.sqlite_version}, and 3.40 or newer is needed: "
            "use a newer Python"
        )
    path = str(extension_path())
    loader = sqlite3.connect(":memory:")
    try:
        if not hasattr(loader, "enable_load_extension"):
            raise NotSupportedError(
                "the sqlite3 module of this Python was built without loadable extensions: use "
                "the Python of your Linux distribution, or build Python with "
                "--enable-loadable-sqlite-extensions"
            )
        loader.enable_load_extension(True)
        loader.load_extension(path)
    finally:
        loader.close()
    # The same file: the system returns the library that SQLite has loaded.
    library = ctypes.CDLL(path)
    for function in (
        library.strongroom_token_from_passphrase,
        library.strongroom_token_from_key,
    ):
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        function.restype = ctypes.c_uint64
    library.strongroom_token_revoke.argtypes = [ctypes.c_uint64]
    library.strongroom_token_revoke.restype = None
    return library


@contextlib.contextmanager
def token(secret: bytearray, is_key: bool) -> Iterator[int]:
    """A number that stands for the secret inside this process. Wipes the secret, in any case."""
    number = 0
    library = None
    try:
        library = load()
        give = library.strongroom_token_from_passphrase
        if is_key:
            give = library.strongroom_token_from_key
        if secret:
            place = (ctypes.c_char * len(secret)).from_buffer(secret)
            number = give(ctypes.addressof(place), len(secret))
            del place
        secret[:] = bytes(len(secret))
        if not number and is_key:
            raise ValueError("a key has 32 bytes, or 64 hexadecimal digits")
        if not number:
            raise ValueError("a passphrase has 1 to 4096 bytes")
        yield number
    finally:
        secret[:] = bytes(len(secret))
        if library is not None:
            library.strongroom_token_revoke(number)
