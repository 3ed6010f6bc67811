"""What the clients of MariaDB in Python have in common: answers as lines, see mysql-twin.sh."""

import datetime
import decimal
import json
import os

CANARY = "canary-59d2-in-plain-text"

PEOPLE = [
    (1, f"{CANARY} ann", datetime.date(1990, 2, 28), decimal.Decimal("1234.50"), 9007199254740993, b"\0\xffj", True),
    (2, f"{CANARY} bøb 🙂", datetime.date(2004, 2, 29), decimal.Decimal("7.25"), -1, None, False),
    (3, f"{CANARY} o'hara \\", None, None, None, b"'", None),
]


def settings():
    return {"host": os.environ["STRONGROOM_HOST"], "port": int(os.environ["STRONGROOM_PORT"]),
            "user": os.environ["STRONGROOM_USER"], "password": os.environ["STRONGROOM_PASSWORD"],
            "database": os.environ["STRONGROOM_DATABASE"]}


def shown(value):
    """A value with its type, as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, dict):
        return {str(key): shown(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)) or hasattr(value, "_fields"):
        return [shown(own) for own in value]
    return f"{type(value).__name__} {value!r}"


def say(name, value):
    print(name, json.dumps(shown(value), ensure_ascii=False, sort_keys=True), sep="\t", flush=True)


def says(name, does):
    """Says what comes of a call: its value, or its error with the server's number."""
    try:
        say(name, does())
    except Exception as error:  # Each driver has its own.
        own = getattr(error, "orig", None) or error
        say(name, [type(error).__name__, *own.args])
