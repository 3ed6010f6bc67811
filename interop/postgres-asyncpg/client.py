"""asyncpg writes and reads protected columns as it does any others."""

import asyncio
import datetime
import decimal
import os
import ssl
import sys

import asyncpg
from postgres_client import CANARY, check, parse, show

URL = os.environ["STRONGROOM_URL"]
INSERT = """INSERT INTO person (id, born, salary, score, photo, active, name)
            VALUES ($1, $2, $3, $4, $5, $6, $7)"""


async def login(*_):
    # asyncpg does not bind a login to the channel.
    try:
        connection = await asyncpg.connect(URL)
    except (asyncpg.PostgresError, ssl.SSLError, OSError) as error:
        print(error)
        return
    user, server_tls = await connection.fetchrow(
        "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    print(user, "ft"[server_tls])
    await connection.close()


async def write():
    connection = await asyncpg.connect(URL)
    # Sent as one batch of a prepared statement.
    await connection.executemany(INSERT, [parse(line) for line in sys.stdin])
    await connection.close()


async def read():
    connection = await asyncpg.connect(URL)
    rows = await connection.fetch("SELECT id, born, salary, score, photo, active, name FROM person")
    await connection.close()
    for row in sorted(rows, key=lambda row: row["id"]):
        print(show(row))


async def types(connection):
    statement = await connection.prepare("SELECT id, name, born, salary, score, photo FROM person WHERE name = $1")
    check("types", ["int4", "varchar", "date", "numeric", "int8", "bytea"],
          [column.type.name for column in statement.get_attributes()])
    check("parameters", ["varchar"], [parameter.name for parameter in statement.get_parameters()])


async def searched(connection):
    found = await connection.fetch("SELECT id FROM person WHERE name = $1", f"{CANARY} ann")
    check("by name", [1], [row["id"] for row in found])
    found = await connection.fetch("SELECT id FROM person WHERE born BETWEEN $1 AND $2 ORDER BY born DESC",
                                   datetime.date(1980, 1, 1), datetime.date(2010, 1, 1))
    check("by range", [2, 1], [row["id"] for row in found])
    found = await connection.fetch("SELECT id FROM person WHERE id = ANY ($1::int[]) ORDER BY id", [1, 3, 7])
    check("by array", [1, 3], [row["id"] for row in found])


class Undone(Exception):
    """Ends a transaction that is to leave nothing."""


async def changed(connection):
    try:
        async with connection.transaction():
            tag = await connection.execute("UPDATE person SET name = $1 WHERE id = $2", f"{CANARY} gone", 1)
            check("tag", "UPDATE 1", tag)
            try:
                async with connection.transaction():  # a savepoint
                    await connection.execute(INSERT, 1, None, None, None, None, None, CANARY)
            except asyncpg.UniqueViolationError as error:
                check("constraint", "person_pkey", error.constraint_name)
            else:
                raise AssertionError("a key twice")
            found = await connection.fetchval("SELECT name FROM person WHERE id = 1")
            check("in the transaction", f"{CANARY} gone", found)
            raise Undone
    except Undone:
        pass
    check("rolled back", f"{CANARY} ann", await connection.fetchval("SELECT name FROM person WHERE id = 1"))
    row = await connection.fetchrow("INSERT INTO visit VALUES ($1, $2, $3) RETURNING number, note", 1, 1, CANARY)
    check("returned", (1, CANARY), tuple(row))
    check("deleted", "DELETE 1", await connection.execute("DELETE FROM visit WHERE person_id = $1", 1))


async def refused(connection):
    row = (9, None, None, None, None, None, CANARY)
    for wanted, values in (
        (asyncpg.NotNullViolationError, (*row[:6], None)),
        (asyncpg.StringDataRightTruncationError, (*row[:6], CANARY * 2)),
        (asyncpg.NumericValueOutOfRangeError, (9, None, decimal.Decimal("1e11"), *row[3:])),
    ):
        try:
            await connection.execute(INSERT, *values)
        except wanted:
            continue
        raise AssertionError(f"{wanted.__name__} is missing")


NOTES = [(2, number, f"{CANARY} \t{number} \\N ø") for number in range(50)] + [(2, 50, None)]


async def copied(connection):
    columns = ["person_id", "number", "note"]
    # COPY in binary.
    tag = await connection.copy_records_to_table("visit", records=NOTES, columns=columns)
    check("copied in", f"COPY {len(NOTES)}", tag)
    found = await connection.fetch("SELECT person_id, number, note FROM visit ORDER BY number")
    check("copied", NOTES, [tuple(row) for row in found])


async def fetched(connection):
    """By a portal, some rows at a time, of what was copied."""
    query = "SELECT number, note FROM visit WHERE person_id = $1 ORDER BY number"
    async with connection.transaction():
        rows = [tuple(row) async for row in connection.cursor(query, 2, prefetch=7)]
        check("rows of a cursor", [row[1:] for row in NOTES], rows)
        cursor = await connection.cursor(query, 2)
        check("first", 3, len(await cursor.fetch(3)))
        await cursor.forward(10)
        check("behind", 13, (await cursor.fetchrow())["number"])
    await connection.execute("DELETE FROM visit WHERE person_id = 2")


async def prepared(connection):
    """A statement that is prepared stays right while the table changes: asyncpg prepares it again."""
    for number in range(10):
        if number == 4:
            await connection.execute("ALTER TABLE visit ADD COLUMN room integer")
        if number == 7:
            await connection.execute("ALTER TABLE visit DROP COLUMN room")
        await connection.execute("INSERT INTO visit (person_id, number, note) VALUES ($1, $2, $3)",
                                 3, number, f"{CANARY} {number}")
        found = await connection.fetchval("SELECT note FROM visit WHERE person_id = $1 AND number = $2", 3, number)
        check("prepared", f"{CANARY} {number}", found)
    check("deleted", "DELETE 10", await connection.execute("DELETE FROM visit WHERE person_id = 3"))


async def cancelled(connection):
    """A statement that waits for a row is cancelled by a timeout of the driver; the session goes on."""
    other = await asyncpg.connect(URL)
    change = "UPDATE person SET score = score + 1 WHERE id = 1"
    before = await connection.fetchval("SELECT score FROM person WHERE id = 1")
    async with other.transaction():
        await other.fetchval("SELECT score FROM person WHERE id = 1 FOR UPDATE")
        try:
            await connection.execute(change, timeout=0.5)
        except asyncio.TimeoutError:
            pass
        else:
            raise AssertionError("nothing has waited")
        # The driver sends its request to cancel behind the timeout: the row stays locked until then.
        async with asyncio.timeout(30):
            while await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0.01)
    await other.close()
    check("not changed", before, await connection.fetchval("SELECT score FROM person WHERE id = 1"))


async def pooled():
    """Many at once, each of which resets its session when it is given back."""
    async with asyncpg.create_pool(URL, min_size=2, max_size=4) as pool:
        names = await asyncio.gather(*(pool.fetchval("SELECT name FROM person WHERE id = $1", 1) for _ in range(40)))
    check("by a pool", {f"{CANARY} ann"}, set(names))


async def more():
    connection = await asyncpg.connect(URL)
    for part in (types, searched, changed, refused, copied, fetched, prepared, cancelled):
        await part(connection)
    await connection.close()
    await pooled()


if __name__ == "__main__":
    asyncio.run({"login": login, "write": write, "read": read, "more": more}[sys.argv[1]](*sys.argv[2:]))
