"""strongroom.columns without its library; interop/postgres-library-python has the rest."""

import pytest

from strongroom import columns


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setenv("STRONGROOM_CLIENT_LIBRARY", "/nowhere/library.so")
    columns._library.cache_clear()
    with pytest.raises(columns.NotSupportedError, match="/nowhere/library.so"):
        columns.open("strongroom.toml")
