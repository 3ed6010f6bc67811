"""asyncpg by the library's socket: the client of postgres-asyncpg, which knows nothing of it."""

import os
import pathlib
import runpy
import sys
from urllib.parse import urlsplit

from strongroom import columns

CLIENT = pathlib.Path(__file__).parent.parent / "postgres-asyncpg" / "client.py"

with columns.open(os.environ["STRONGROOM_CONFIGURATION"]) as client:
    url = urlsplit(os.environ["STRONGROOM_URL"])
    login = url.netloc.rpartition("@")[0]
    os.environ["STRONGROOM_URL"] = f"postgres://{login}@{url.path}?host={client.listen()}"
    sys.argv[0] = str(CLIENT)
    runpy.run_path(str(CLIENT), run_name="__main__")
