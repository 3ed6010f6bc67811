"""The installed package opens what it made with the same key, and tells what it does not open."""

import importlib.metadata
import pathlib
import pickle
import re
import secrets
import sqlite3
import subprocess
import sys
import threading
import types

import pytest
import strongroom
from strongroom import _library

PASSPHRASE = "horse battery, größer"
KEY = bytes(range(32))
CANARY = "canary-2a97-in-plain-text"


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "my key&file?.key"
    path.write_text(secrets.token_hex(32) + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def passphrase_file(tmp_path):
    path = tmp_path / "passphrase"
    path.write_text("another one\n")
    path.chmod(0o600)
    return path


def fill(path, **arguments):
    connection = strongroom.connect(path, **arguments)
    with connection:
        connection.execute("CREATE TABLE t(a)")
        connection.execute("INSERT INTO t VALUES(?)", (CANARY,))
    connection.close()


def content(path, **arguments):
    connection = strongroom.connect(path, **arguments)
    try:
        return connection.execute("SELECT a FROM t").fetchone()[0]
    finally:
        connection.close()


def test_every_kind_of_key_opens_what_it_made_and_nothing_else(
    tmp_path, key_file, passphrase_file
):
    kinds = [
        {"key_file": key_file},
        {"passphrase_file": str(passphrase_file)},
        {"key": KEY},
        {"passphrase": PASSPHRASE},
    ]
    for made_by in kinds:
        path = tmp_path / f"{next(iter(made_by))}.db"
        fill(path, **made_by)
        data = path.read_bytes()
        assert CANARY.encode() not in data and b"SQLite format 3" not in data
        for opened_by in kinds:
            if opened_by is made_by:
                assert content(path, **opened_by) == CANARY
            else:
                with pytest.raises(strongroom.WrongKeyError, match="wrong key"):
                    content(path, **opened_by)


def test_one_key_has_many_forms(tmp_path):
    path = tmp_path / "x.db"
    fill(path, key=KEY)
    for key in (KEY, bytearray(KEY), KEY.hex(), KEY.hex().upper(), KEY.hex().encode()):
        assert content(path, key=key) == CANARY
    path = tmp_path / "y.db"
    fill(path, passphrase=PASSPHRASE)
    assert content(path, passphrase=PASSPHRASE.encode()) == CANARY


def test_a_secret_of_the_caller_is_left_as_it_is(tmp_path):
    key = bytearray(KEY)
    fill(tmp_path / "x.db", key=key)
    assert key == KEY


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({}, ValueError),
        ({"key": KEY, "passphrase": PASSPHRASE}, ValueError),
        ({"passphrase": ""}, ValueError),
        ({"passphrase": "x" * 4097}, ValueError),
        ({"passphrase": "classified \ud800"}, ValueError),
        ({"passphrase": 5}, TypeError),
        ({"key": KEY[:31]}, ValueError),
        ({"key": "classified" * 7}, ValueError),
        ({"key": KEY, "uri": True}, TypeError),
    ],
)
def test_what_is_no_key_is_refused_without_repeating_it(tmp_path, arguments, error):
    path = tmp_path / "x.db"
    with pytest.raises(error) as caught:
        strongroom.connect(path, **arguments)
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    for link in filter(None, chain):
        assert "classified" not in f"{link} {link!r} {vars(link)} {pickle.dumps(link)}"
    assert not path.exists()


def test_a_key_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(strongroom.UnusableError, match="no-such.key"):
        strongroom.connect(tmp_path / "x.db", key_file=tmp_path / "no-such.key")
    assert not (tmp_path / "x.db").exists() or (tmp_path / "x.db").stat().st_size == 0
    fill(tmp_path / "y.db", key=KEY)
    with pytest.raises(strongroom.UnusableError, match="no-such.key"):
        strongroom.connect(tmp_path / "y.db", key_file=tmp_path / "no-such.key")


def test_sql_changes_no_keys_unless_it_may(tmp_path, monkeypatch):
    monkeypatch.setenv("STRONGROOM_KEYS_IN_SQL", "on")
    path = tmp_path / "x.db"
    fill(path, key=KEY)
    for sql in ("PRAGMA rekey='new'", "EXPLAIN PRAGMA rekey='new'"):
        connection = strongroom.connect(path, key=KEY)
        with pytest.raises(sqlite3.OperationalError, match="keys_in_sql=on"):
            connection.execute(sql)
        connection.close()
        assert content(path, key=KEY) == CANARY
    connection = strongroom.connect(path, key=KEY, keys_in_sql=True)
    connection.execute("PRAGMA rekey='new'")
    connection.close()
    assert content(path, passphrase="new") == CANARY


def test_what_is_no_encrypted_database_is_not_a_wrong_key(tmp_path):
    plain = tmp_path / "plain.db"
    connection = sqlite3.connect(plain)
    connection.execute("CREATE TABLE t(a)")
    connection.close()
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"x" * 8192)
    for path, words in ((plain, "plain SQLite database"), (foreign, "not a Strongroom file")):
        with pytest.raises(strongroom.UnusableError, match=words):
            strongroom.connect(path, key=KEY)


def test_nothing_is_begun_anew_where_that_is_not_wanted(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        strongroom.connect(tmp_path / "missing.db", key=KEY, create=False)
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(strongroom.UnusableError, match="empty"):
        strongroom.connect(tmp_path / "empty.db", key=KEY, create=False)
    for name in ("", ":memory:", "a\0b"):
        with pytest.raises(ValueError):
            strongroom.connect(name, key=KEY)


def test_read_only_writes_nothing(tmp_path):
    path = tmp_path / "x.db"
    fill(path, key=KEY)
    connection = strongroom.connect(path, key=KEY, read_only=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM t")
    connection.close()


def test_the_cipher_is_chosen(tmp_path):
    path = tmp_path / "x.db"
    fill(path, key=KEY, cipher="aes-256-gcm")
    connection = strongroom.connect(path, key=KEY)
    assert connection.execute("PRAGMA strongroom_cipher").fetchone() == ("aes-256-gcm",)
    connection.close()
    with pytest.raises(strongroom.UnusableError, match="cipher"):
        strongroom.connect(tmp_path / "y.db", key=KEY, cipher="rot13")


class Connection(sqlite3.Connection):
    """What callers do to connections."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.row_factory = lambda cursor, row: {"row": row}
        self.text_factory = bytes


def test_it_is_the_connection_of_sqlite3_with_its_arguments(tmp_path):
    path = tmp_path / "x.db"
    fill(path, key=KEY)
    connection = strongroom.connect(path, key=KEY)
    assert type(connection) is sqlite3.Connection
    assert not connection.in_transaction
    connection.close()
    connection = strongroom.connect(
        path, key=KEY, factory=Connection, isolation_level=None, check_same_thread=False
    )
    assert type(connection) is Connection
    assert connection.isolation_level is None
    assert connection.execute("SELECT a FROM t").fetchone() == {"row": (CANARY.encode(),)}
    connection.close()


def test_names_are_taken_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a b.db", "50%25.db", "a?mode=memory&key_token=1#c.db", "ü'\".db", "file:x.db"):
        fill(name, key=KEY)
        assert (tmp_path / name).stat().st_size > 4096
        assert content(name, key=KEY) == CANARY


def test_the_secret_is_taken_back_and_stands_nowhere(tmp_path):
    path = tmp_path / "x.db"
    with _library.token(bytearray(KEY), True) as number:
        assert number
    events = []
    sys.addaudithook(lambda event, values: events.append(f"{event} {values!r}"))
    fill(path, passphrase=PASSPHRASE)
    connection = strongroom.connect(path, passphrase=PASSPHRASE)
    uris = [event for event in events if event.startswith("sqlite3.connect ")]
    assert len(uris) == 2 and "key_token=" in uris[1]
    assert not any("horse" in event for event in events)
    files = connection.execute("PRAGMA database_list").fetchall()
    assert [file[2] for file in files] == [str(path)]
    connection.close()
    used = [int(re.search(r"key_token=(\d+)", uri).group(1)) for uri in uris]
    assert len({number, *used}) == 3
    for token in (number, *used):
        uri = f"{path.as_uri()}?vfs=strongroom&key_token={token}"
        connection = sqlite3.connect(uri, uri=True)
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("SELECT a FROM t")
        connection.close()


def test_threads_open_at_once(tmp_path):
    path = tmp_path / "x.db"
    fill(path, key=KEY)
    seen = []

    def work(index):
        key = KEY if index % 2 else b"w" * 32
        for _ in range(20):
            try:
                seen.append((index % 2, content(path, key=key)))
            except strongroom.WrongKeyError:
                seen.append((index % 2, None))

    workers = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(seen, key=str) == [(0, None)] * 40 + [(1, CANARY)] * 40


def test_a_python_that_cannot_is_told_what_to_do(monkeypatch):
    class Plain:
        def close(self):
            pass

    def fake(version):
        return types.SimpleNamespace(
            sqlite_version="3.x", sqlite_version_info=version, connect=lambda _: Plain()
        )

    for version, words in (((3, 39, 5), "3.40 or newer"), ((3, 40, 0), "loadable extensions")):
        _library.load.cache_clear()
        monkeypatch.setattr(_library, "sqlite3", fake(version))
        with pytest.raises(strongroom.NotSupportedError, match=words):
            strongroom.connect("x.db", key=KEY)
    assert issubclass(strongroom.NotSupportedError, sqlite3.NotSupportedError)
    _library.load.cache_clear()


def test_the_package_is_whole(tmp_path):
    distribution = importlib.metadata.distribution("strongroom")
    names = [pathlib.PurePath(name).name for name in distribution.files]
    assert "py.typed" in names
    assert strongroom.extension_path().name in names
    script = (
        "import strongroom, sys; c = strongroom.connect(sys.argv[1], key='ab' * 32);"
        "print(c.execute('PRAGMA strongroom_version').fetchone()[0])"
    )
    command = [sys.executable, "-c", script, tmp_path / "x.db"]
    output = subprocess.run(command, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    assert output.stdout.strip() == f"strongroom {distribution.version}"
