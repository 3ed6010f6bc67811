"""Two copies of a process's memory never seal two pages with one nonce."""

import os
import secrets

import strongroom

HEADER_SIZE = 8192
PAGE_SIZE = 4096
COMMIT = "UPDATE t SET b = randomblob(600) WHERE a % 7 = 0"


def nonces(file):
    """The nonce in the trailer of each page, as docs/page-format.md lays them out."""
    ends = range(HEADER_SIZE + PAGE_SIZE, len(file) + 1, PAGE_SIZE)
    return [file[end - 16 : end - 4] for end in ends]


def test_a_fork_shares_no_nonce(tmp_path):
    key_file = tmp_path / "key"
    key_file.write_text(secrets.token_hex(32))
    key_file.chmod(0o600)
    path = tmp_path / "a.db"
    other = tmp_path / "b.db"
    connection = strongroom.connect(path, key_file=key_file, isolation_level=None)
    connection.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
    numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)"
    connection.execute(f"{numbers} INSERT INTO t SELECT i, randomblob(600) FROM n")
    # Draws more nonces than its pages need.
    connection.execute(COMMIT)
    at_fork = path.read_bytes()
    child = os.fork()
    if child == 0:
        # No code of pytest may run in the child, whatever happens.
        try:
            connection.execute(COMMIT)
            other.write_bytes(path.read_bytes())
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    # The file is duplicated as well, like that of a virtual machine that is resumed twice.
    with path.open("r+b") as file:
        file.write(at_fork)
    connection.execute(COMMIT)
    connection.close()
    before, of_child = nonces(at_fork), nonces(other.read_bytes())
    of_parent = nonces(path.read_bytes())
    assert len(before) == len(of_child) == len(of_parent)
    written = {
        nonce for nonce, old in zip(of_parent, before, strict=True) if nonce != old
    }
    assert len(written) > 20
    assert not written & set(of_child)
