"""Runs statements at two plain servers and through the proxy, and compares what they answer.

At the second plain server the rows lie in the opposite order, and the planner may not hash. What
both answer alike depends on neither, so the proxy must answer it, too, or refuse the statement.
"""

import argparse
import collections
import random
import re
import sys

import psycopg

TABLES = ("customer", "orders", "item")
WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE")
TIMEOUT = "57014"
# Not supported, and not understood.
REFUSED = ("0A000", "42601")
# How often a statement is asked again before its answer counts: some depend on chance.
REPEATS = 12
# Functions that say how a server is doing, which differs from that of another one.
OF_SERVER = re.compile(r"\bpg_(stat_|current_|switch_wal|postmaster_|last_|backend_|control_)")

Answer = collections.namedtuple("Answer", "state text columns modifiers rows tables")


def rows():
    """The rows of each table, always the same."""
    chance = random.Random(7)
    names = ["ann", "bob", "Eve", "Öz", "zoë", "max", "O'Hara", "lee"]

    def maybe(value):
        return None if chance.random() < 0.15 else value

    def number(low, high):
        return chance.randint(low, high)

    customers = [
        (
            key,
            chance.choice(names) + str(key),
            maybe(f"{key}@example.org"),
            maybe(f"19{number(50, 99)}-{number(1, 12):02}-{number(1, 28):02}"),
            maybe(number(-10000, 99999) / 100),
            maybe(chance.random() < 0.5),
            maybe(" ".join(chance.choice(names) for _ in range(number(1, 6)))),
        )
        for key in range(1, 41)
    ]
    orders = [
        (
            key + 10**10 * (key % 3),
            maybe(number(1, 40)),
            maybe(f"20{number(10, 24)}-{number(1, 12):02}-{number(1, 28):02} 12:34:56+00"),
            maybe(number(0, 999999) / 100),
            maybe(chance.choice(["open", "shipped", "back"])),
            maybe(number(-3, 300)),
            maybe(chance.random() < 0.5),
        )
        for key in range(1, 61)
    ]
    items = [
        (
            order[0],
            place,
            maybe(f"p{number(1, 9)}"),
            maybe(number(0, 9999) / 100),
            maybe(chance.random() * 100),
            maybe(f"2020-01-{number(1, 28):02} 12:00:00"),
            maybe(f"C{number(0, 9999):04}"),
        )
        for order in orders
        for place in range(1, number(2, 4))
    ]
    return {"customer": customers, "orders": orders, "item": items}


class Database:
    """A connection that is made again where it is lost."""

    def __init__(self, port, settings=()):
        self.target = f"host=127.0.0.1 port={port} user=app dbname=one"
        self.settings = ("statement_timeout = '8s'", "timezone = 'UTC'", *settings)
        self.connect()

    def connect(self):
        self.connection = psycopg.connect(self.target, autocommit=True, prepare_threshold=None)
        for setting in self.settings:
            self.connection.execute(f"SET {setting}")

    def fill(self, schema, reverse):
        self.connection.execute(schema)
        for table, values in rows().items():
            for row in reversed(values) if reverse else values:
                marks = ", ".join(["%s"] * len(row))
                self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def answer(self, statement):
        """What a statement answers, and what tables hold behind it; it is rolled back."""
        try:
            self.connection.execute("BEGIN")
            try:
                answer = self._answer(statement)
            except psycopg.Error as error:
                if error.sqlstate is None:
                    raise
                answer = Answer(error.sqlstate, str(error).split("\n")[0], *[None] * 4)
            self.connection.execute("ROLLBACK")
            return answer
        except psycopg.Error as error:
            self.connect()
            return Answer("lost", str(error), *[None] * 4)

    def _answer(self, statement):
        cursor = self.connection.cursor()
        cursor.execute(statement)
        status = cursor.statusmessage or ""
        columns = modifiers = answered = None
        if cursor.description is not None:
            result = cursor.pgresult
            fields = range(result.nfields)
            columns = [(result.fname(field), result.ftype(field)) for field in fields]
            modifiers = [result.fmod(field) for field in fields]
            answered = self._rows(cursor)
        tables = None
        if status.split(" ")[0] in WRITES:
            tables = [
                self._rows(self.connection.execute(f"SELECT * FROM {table}")) for table in TABLES
            ]
        return Answer(None, status, columns, modifiers, answered, tables)

    @staticmethod
    def _rows(cursor):
        result = cursor.pgresult
        every = range(result.nfields)
        return sorted(
            repr([result.get_value(row, field) for field in every])
            for row in range(result.ntuples)
        )


def judge(plain, other, proxy, statement):
    """The class of a statement, and what the proxy says."""
    first, second = plain.answer(statement), other.answer(statement)
    if TIMEOUT in (first.state, second.state):
        return "too slow without the proxy", None
    through = proxy.answer(statement)
    kind = "answer" if first.state is None else "error"
    if through.state == "lost":
        return "LOST", through.text
    if through.state in REFUSED and through.state != first.state:
        return f"refused, plain: {kind}", through.text
    if through.state == TIMEOUT:
        return f"too slow, plain: {kind}", None
    if first.state != second.state or (first.state is None and first != second):
        return "by chance or order", None
    if first.state:
        if first.state == through.state:
            return "same error", None
        # Which of several is found first depends on who looks.
        return ("another error" if through.state else "DIFFERENT"), difference(first, through)
    if first == through:
        return "same answer", None
    if first == through._replace(modifiers=first.modifiers):
        return "same but for modifiers", f"{first.modifiers} {through.modifiers}"
    if any(plain.answer(statement) != first for _ in range(REPEATS)):
        return "by chance or order", None
    if OF_SERVER.search(statement):
        return "of the server's own state", None
    return "DIFFERENT", difference(first, through)


def difference(first, through):
    """Each part of the answers that differs, as comments."""
    texts = []
    for field, plain, proxy in zip(Answer._fields, first, through):
        if field == "tables" and plain and proxy:
            plain, proxy = sum(plain, []), sum(proxy, [])
        if isinstance(plain, list) and isinstance(proxy, list):
            plain, proxy = without(plain, proxy), without(proxy, plain)
        if plain != proxy:
            texts.append(f"-- {field}: plain {plain}, proxy {proxy}"[:2000])
    return "\n".join(["", *texts])


def without(values, others):
    """What is in one list, and not as often in the other."""
    left = collections.Counter(map(repr, values)) - collections.Counter(map(repr, others))
    return list(left.elements())


def run(arguments):
    """Compares all statements; prints what was counted. One of these classes is a defect."""
    plain = Database(arguments.plain)
    other = Database(arguments.other, ("enable_hashjoin = off", "enable_hashagg = off"))
    proxy = Database(arguments.proxy)
    with open(arguments.statements, encoding="utf-8") as file:
        # A sample would be by chance; one of all rows is parsed and planned alike.
        text = re.sub(r"(tablesample \w+) \([^)]*\)", r"\1 (100)", file.read())
    statements = [text.strip() for text in text.split(";\n") if text.strip()]
    counts, reasons = collections.Counter(), collections.Counter()
    with open(arguments.details, "w", encoding="utf-8") as details:
        for number, statement in enumerate(statements):
            kind, text = judge(plain, other, proxy, statement)
            counts[kind] += 1
            if kind.startswith("refused"):
                reason = re.sub(r"protected (table|column) \S+", r"protected \1 …", text)
                reasons[kind, reason.split("\n")[0]] += 1
            if text is not None:
                details.write(f"-- {number}: {kind}: {text}\n{statement};\n\n")
    print(f"statements: {len(statements)}")
    for kind, count in counts.most_common():
        print(f"{count:6}  {kind}")
    for (kind, reason), count in reasons.most_common(40):
        print(f"{count:6}  {kind}: {reason}")
    return any(kind.isupper() for kind in counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fill = commands.add_parser("fill")
    fill.add_argument("--port", type=int, required=True)
    fill.add_argument("--schema", required=True)
    fill.add_argument("--reverse", action="store_true")
    compare = commands.add_parser("compare")
    for server in ("--plain", "--other", "--proxy"):
        compare.add_argument(server, type=int, required=True)
    compare.add_argument("--statements", required=True)
    compare.add_argument("--details", required=True)
    arguments = parser.parse_args()
    if arguments.command == "compare":
        return run(arguments)
    with open(arguments.schema, encoding="utf-8") as file:
        Database(arguments.port).fill(file.read(), arguments.reverse)
    return 0


if __name__ == "__main__":
    sys.exit(main())
