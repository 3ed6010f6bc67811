"""What the clients of PostgreSQL in Python have in common: rows as lines, see README.md."""

import datetime
import decimal

CANARY = "canary-59d2-in-plain-text"


def check(what, wanted, got):
    if wanted != got:
        raise AssertionError(f"{what}: expected {wanted!r}, got {got!r}")


def parse(line):
    person, born, salary, score, photo, active, name = line.rstrip("\n").split(" ", 6)
    read = lambda text, of: None if text == "NULL" else of(text)
    return (int(person), read(born, datetime.date.fromisoformat), read(salary, decimal.Decimal),
            read(score, int), read(photo, bytes.fromhex), read(active, lambda text: text == "t"), name)


def show(row):
    person, born, salary, score, photo, active, name = row
    texts = [str(person), born and born.isoformat(), salary if salary is None else str(salary),
             score if score is None else str(score), photo and bytes(photo).hex(),
             None if active is None else "ft"[active]]
    return " ".join("NULL" if text is None else text for text in texts) + " " + name
