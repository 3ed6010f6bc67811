"""psycopg writes and reads protected columns as it does any others."""

import datetime
import decimal
import os
import sys

import psycopg
from psycopg import errors

URL = os.environ["STRONGROOM_URL"]
CANARY = "canary-59d2-in-plain-text"
INSERT = """INSERT INTO person (id, born, salary, score, photo, active, name)
            VALUES (%s, %s, %s, %s, %s, %s, %s)"""


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


def write():
    rows = [parse(line) for line in sys.stdin]
    with psycopg.connect(URL) as connection:
        # Several at once go in one pipeline.
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


def more():
    with psycopg.connect(URL, autocommit=True) as connection:
        for part in (types, described, searched, changed, refused):
            part(connection)


if __name__ == "__main__":
    {"write": write, "read": read, "more": more}[sys.argv[1]]()
