"""psycopg writes and reads protected columns as it does any others."""

import datetime
import decimal
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
from postgres_client import CANARY, check, parse, show
from psycopg import errors

URL = os.environ["STRONGROOM_URL"]
INSERT = """INSERT INTO person (id, born, salary, score, photo, active, name)
            VALUES (%s, %s, %s, %s, %s, %s, %s)"""


def login(*bound):
    url = URL + "&channel_binding=require" if bound else URL
    try:
        with psycopg.connect(url) as connection:
            check("TLS", True, bool(connection.pgconn.ssl_in_use))
            user, server_tls = connection.execute(
                "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
            print(user, "ft"[server_tls])
    except psycopg.OperationalError as error:
        print(error)


def write():
    rows = [parse(line) for line in sys.stdin]
    with psycopg.connect(URL) as connection:
        # Several at once are sent in one pipeline.
        connection.cursor().executemany(INSERT, rows)


def read():
    columns = "id, born, salary, score, photo, active, name"
    rows = []
    for binary in (False, True):
        with psycopg.connect(URL) as connection:
            cursor = connection.cursor(binary=binary)
            found = cursor.execute(f"SELECT {columns} FROM person").fetchall()
            rows.append(sorted(found, key=lambda row: row[0]))
    check("text and binary", rows[0], rows[1])
    for row in rows[0]:
        print(show(row))


def types(connection):
    cursor = connection.execute("SELECT id, name, born, salary, score, photo FROM person")
    names = [connection.adapters.types[column.type_code].name for column in cursor.description]
    check("types", ["int4", "varchar", "date", "numeric", "int8", "bytea"], names)
    check("precision", (12, 2), (cursor.description[3].precision, cursor.description[3].scale))


def described(connection):
    """What mappers ask of information_schema: Django's inspectdb, Prisma, Hibernate ask for these."""
    rows = connection.execute("""
        SELECT column_name, data_type, udt_name, is_nullable, character_maximum_length,
               numeric_precision, numeric_scale, column_default
          FROM information_schema.columns
         WHERE table_schema = ANY (current_schemas(false)) AND table_name = %s
         ORDER BY ordinal_position""", ("person",)).fetchall()
    check("columns", [
        ("id", "integer", "int4", "NO", None, 32, 0, None),
        ("name", "character varying", "varchar", "NO", 40, None, None, None),
        ("born", "date", "date", "YES", None, None, None, None),
        ("salary", "numeric", "numeric", "YES", None, 12, 2, None),
        ("score", "bigint", "int8", "YES", None, 64, 0, None),
        ("photo", "bytea", "bytea", "YES", None, None, None, None),
        ("active", "boolean", "bool", "YES", None, None, None, None),
    ], rows)
    # Django.
    rows = connection.execute("""
        SELECT a.attname AS column_name, NOT (a.attnotnull OR (t.typtype = 'd' AND t.typnotnull)) AS is_nullable,
               pg_get_expr(ad.adbin, ad.adrelid) AS column_default,
               CASE WHEN collname = 'default' THEN NULL ELSE collname END AS collation,
               a.attidentity != '' AS is_autofield,
               col_description(a.attrelid, a.attnum) AS column_comment,
               format_type(a.atttypid, a.atttypmod) AS data_type
          FROM pg_attribute a LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
          LEFT JOIN pg_collation co ON a.attcollation = co.oid JOIN pg_type t ON a.atttypid = t.oid
          JOIN pg_class c ON a.attrelid = c.oid JOIN pg_namespace n ON c.relnamespace = n.oid
         WHERE c.relkind IN ('f', 'm', 'p', 'r', 'v') AND c.relname = %s
           AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND pg_table_is_visible(c.oid)
           AND a.attnum > 0 AND NOT a.attisdropped""", ("person",)).fetchall()
    check("types", ["integer", "character varying(40)", "date", "numeric(12,2)", "bigint", "bytea", "boolean"],
          [row[-1] for row in rows])
    # Prisma.
    rows = connection.execute("""
        SELECT oid.namespace, info.table_name, info.column_name,
               format_type(att.atttypid, att.atttypmod) AS formatted_type,
               info.numeric_precision, info.numeric_scale, info.character_maximum_length, info.data_type,
               info.udt_name AS full_data_type, info.is_nullable
          FROM information_schema.columns info
          JOIN pg_attribute att ON att.attname = info.column_name
          JOIN (SELECT pg_class.oid, relname, pg_namespace.nspname AS namespace
                  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
                   AND pg_namespace.nspname = ANY (%s)
                 WHERE reltype > 0) AS oid
            ON oid.oid = att.attrelid AND relname = info.table_name AND namespace = info.table_schema
         WHERE info.table_name = 'person' AND info.column_name IN ('name', 'salary')
         ORDER BY att.attnum""", (["public"],)).fetchall()
    check("formatted", [
        ("public", "person", "name", "character varying(40)", None, None, 40, "character varying", "varchar", "NO"),
        ("public", "person", "salary", "numeric(12,2)", 12, 2, None, "numeric", "numeric", "YES"),
    ], rows)


def searched(connection):
    name = f"{CANARY} ann"
    for _ in range(10):  # prepared from the sixth time on
        found = connection.execute("SELECT id FROM person WHERE name = %s", (name,)).fetchall()
        check("by name", [(1,)], found)
    found = connection.execute("SELECT id FROM person WHERE born BETWEEN %s AND %s ORDER BY born DESC",
                               (datetime.date(1980, 1, 1), datetime.date(2010, 1, 1))).fetchall()
    check("by range", [(2,), (1,)], found)
    found = connection.execute("SELECT id FROM person WHERE salary IS NULL").fetchall()
    check("NULL", [(3,)], found)


def changed(connection):
    with connection.transaction(force_rollback=True):
        connection.execute("UPDATE person SET name = %s WHERE id = %s", (f"{CANARY} gone", 1))
        found = connection.execute("SELECT name FROM person WHERE id = 1").fetchone()
        check("in the transaction", (f"{CANARY} gone",), found)
    found = connection.execute("SELECT name FROM person WHERE id = 1").fetchone()
    check("rolled back", (f"{CANARY} ann",), found)
    with connection.pipeline():
        connection.execute("INSERT INTO visit VALUES (%s, %s, %s)", (1, 1, f"{CANARY} seen"))
        connection.execute("INSERT INTO visit VALUES (%s, %s, %s)", (1, 2, None))
    found = connection.execute("""SELECT v.number, v.note, p.name FROM visit v
        JOIN person p ON p.id = v.person_id WHERE p.id = %s""", (1,)).fetchall()
    check("joined", [(1, f"{CANARY} seen", f"{CANARY} ann"), (2, None, f"{CANARY} ann")], sorted(found))
    check("deleted", 2, connection.execute("DELETE FROM visit WHERE person_id = %s", (1,)).rowcount)


def refused(connection):
    row = (1, None, None, None, None, None, CANARY)
    for wanted, values in (
        (errors.UniqueViolation, row),
        (errors.NotNullViolation, (9, *row[1:6], None)),
        (errors.StringDataRightTruncation, (9, *row[1:6], CANARY * 2)),
        (errors.NumericValueOutOfRange, (9, None, decimal.Decimal("1e11"), *row[3:])),
    ):
        try:
            connection.execute(INSERT, values)
        except wanted:
            continue
        raise AssertionError(f"{wanted.__name__} is missing")
    try:
        connection.execute("INSERT INTO visit VALUES (99, 1, NULL)")
    except errors.ForeignKeyViolation:
        return
    raise AssertionError("a foreign key of nothing")


def saved(connection):
    """An error inside of a savepoint: what was before it stays, what was behind it is gone."""
    with connection.transaction(force_rollback=True):
        change = "UPDATE person SET name = %s WHERE id = %s"
        connection.execute(change, (f"{CANARY} kept", 2))
        try:
            with connection.transaction():
                connection.execute(change, (f"{CANARY} lost", 3))
                connection.execute(INSERT, (1, None, None, None, None, None, CANARY))
        except errors.UniqueViolation:
            pass
        else:
            raise AssertionError("a key twice")
        found = connection.execute("SELECT id, name FROM person WHERE id IN (2, 3)").fetchall()
        check("savepoint", [(2, f"{CANARY} kept"), (3, f"{CANARY} o'hara \\")], sorted(found))


NOTES = [(2, number, f"{CANARY} \t{number} \\N ø") for number in range(50)] + [(2, 50, None)]


def copied(connection):
    cursor = connection.cursor()
    types = ["int4", "int4", "text"]
    for form in ("text", "binary"):
        with cursor.copy(f"COPY visit (person_id, number, note) FROM STDIN (FORMAT {form})") as copy:
            copy.set_types(types)
            for row in NOTES:
                copy.write_row(row)
        check(f"copied in as {form}", len(NOTES), cursor.rowcount)
        for back in ("text", "binary"):
            with cursor.copy(f"COPY visit TO STDOUT (FORMAT {back})") as copy:
                copy.set_types(types)
                check(f"copied in as {form}, out as {back}", NOTES, sorted(copy.rows()))
        check("deleted", len(NOTES), connection.execute("DELETE FROM visit WHERE person_id = 2").rowcount)


def fetched(connection):
    """By cursors in the server: inside of a transaction, forwards and back, and held behind it."""
    connection.cursor().executemany("INSERT INTO visit VALUES (%s, %s, %s)", NOTES)
    query = "SELECT number, note FROM visit WHERE person_id = %s ORDER BY number"
    wanted = [row[1:] for row in NOTES]
    names = lambda cursor: [connection.adapters.types[column.type_code].name for column in cursor.description]
    for binary in (False, True):
        with connection.transaction(), connection.cursor("Visits", binary=binary, scrollable=True) as cursor:
            cursor.itersize = 7
            cursor.execute(query, (2,))
            check("types of a cursor", ["int4", "text"], names(cursor))
            check("first of a cursor", wanted[:3], cursor.fetchmany(3))
            check("rest of a cursor", wanted[3:], list(cursor))
            cursor.scroll(10, mode="absolute")
            check("back in a cursor", wanted[10], cursor.fetchone())
        with connection.cursor("held", binary=binary, withhold=True) as cursor:
            cursor.execute(query, (2,))
            check("types of a held cursor", ["int4", "text"], names(cursor))
            check("held", wanted, cursor.fetchall())
    with connection.transaction(), connection.cursor("plain") as cursor:
        cursor.execute("SELECT 7 AS one")
        check("a plain cursor", (["int4"], [(7,)]), (names(cursor), cursor.fetchall()))
    check("deleted", len(NOTES), connection.execute("DELETE FROM visit WHERE person_id = 2").rowcount)


def prepared(connection):
    """Ten times, while the table gets a column and loses it."""
    for number in range(10):
        if number == 4:
            connection.execute("ALTER TABLE visit ADD COLUMN room integer")
        if number == 7:
            connection.execute("ALTER TABLE visit DROP COLUMN room")
        row = (3, number, f"{CANARY} {number}")
        connection.execute("INSERT INTO visit (person_id, number, note) VALUES (%s, %s, %s)", row, prepare=True)
        found = connection.execute("SELECT note FROM visit WHERE person_id = %s AND number = %s", row[:2],
                                   prepare=True).fetchall()
        check("prepared", [(row[2],)], found)
    check("deleted", 10, connection.execute("DELETE FROM visit WHERE person_id = 3").rowcount)


def cancelled(connection):
    """A statement that waits for a row is cancelled by the driver, and the session goes on."""
    score = "SELECT score FROM person WHERE id = 1"
    change = "UPDATE person SET score = score + 1 WHERE id = 1"
    [before] = connection.execute(score).fetchone()
    for cancel in (connection.cancel, connection.cancel_safe):
        with psycopg.connect(URL) as other, ThreadPoolExecutor(1) as pool:
            other.execute(f"{score} FOR UPDATE")
            waiting = pool.submit(connection.execute, change)
            while other.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() == (0,):
                check("done before it was cancelled", False, waiting.done())
            cancel()
            check("cancelled", errors.QueryCanceled, type(waiting.exception()))
            other.rollback()
        check("not changed", (before,), connection.execute(score).fetchone())
        with connection.transaction(force_rollback=True):
            connection.execute(change)
            check("changed", (before + 1,), connection.execute(score).fetchone())


def noticed(connection):
    told = []
    connection.add_notice_handler(
        lambda notice: told.append((notice.severity, notice.sqlstate, notice.message_primary)))
    connection.execute("DO $$ BEGIN RAISE NOTICE 'told %', 7; END $$")
    connection.execute("CREATE TABLE IF NOT EXISTS visit (person_id integer, number integer, note text)")
    found = connection.execute("SELECT name FROM person WHERE id = 1").fetchall()
    check("behind notices", [(f"{CANARY} ann",)], found)
    check("notices", [("NOTICE", "00000", "told 7"),
                      ("NOTICE", "42P07", 'relation "visit" already exists, skipping')], told)


def more():
    with psycopg.connect(URL, autocommit=True) as connection:
        for part in (types, described, searched, changed, refused, saved, copied, fetched, prepared, cancelled,
                     noticed):
            part(connection)


if __name__ == "__main__":
    {"login": login, "write": write, "read": read, "more": more}[sys.argv[1]](*sys.argv[2:])
