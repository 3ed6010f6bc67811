"""PyMySQL gets the same answers through the proxy as at the server."""

import os
import sys

import pymysql
from pymysql.constants import CLIENT

SERVER, PROXY = (int(port) for port in sys.argv[1:3])


def connect(port, **more):
    return pymysql.connect(host="127.0.0.1", port=port, user="ann", password=os.environ["MYSQL_PWD"],
                           database="shop", charset="utf8mb4", **more)


def check(what, wanted, found):
    if wanted != found:
        sys.exit(f"{what}: wanted {wanted!r}, found {found!r}")


def answers(port, **more):
    """All that the driver tells of each statement."""
    told = []
    with connect(port, **more) as connection, connection.cursor() as cursor:
        for statement, values in [
            ("DROP TABLE IF EXISTS t", None),
            ("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), amount DECIMAL(9,3), "
             "made DATETIME(6), bytes BLOB)", None),
            ("INSERT INTO t (name, amount, made, bytes) VALUES (%s, %s, '2026-11-26 01:02:03.4', %s)",
             ("änn 𝄞", "1.125", b"\x00\xff'")),
            ("INSERT INTO t (name) VALUES (%s)", ("x" * 100,)),
            ("SELECT * FROM t", None),
            ("UPDATE t SET name = 'berta' WHERE id = 1", None),
            ("SELECT nothing FROM t", None),
            ("SELECT 1; SELECT 2, 3; DO 0", None),
            ("SELECT repeat('x', 20000000)", None),
            ("SELECT @@autocommit, database(), current_user()", None),
        ]:
            try:
                told.append(cursor.execute(statement, values))
            except pymysql.MySQLError as error:
                told.append(error.args)
                continue
            while True:
                told += [cursor.description, cursor.fetchall(), cursor.rowcount, cursor.lastrowid]
                if not cursor.nextset():
                    break
        cursor.executemany("INSERT INTO t (name) VALUES (%s)", [("a",), ("b",), ("c",)])
        told.append(cursor.rowcount)
        connection.rollback()
        cursor.execute("SELECT count(*) FROM t")
        told.append(cursor.fetchone())
        connection.ping()
    return told


several = {"client_flag": CLIENT.MULTI_STATEMENTS}
for more in (several, {"client_flag": CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS}):
    check("answers", answers(SERVER, **several | more), answers(PROXY, **several | more))
with_tls = {"ssl": {"check_hostname": False}, "ssl_verify_cert": False}
check("answers by TLS", answers(SERVER, **several), answers(PROXY, **several, **with_tls))
with connect(PROXY, **with_tls) as connection:
    check("TLS", True, connection._secure)
# A cursor that reads row by row, and is given up.
with connect(PROXY, cursorclass=pymysql.cursors.SSCursor) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT seq FROM seq_1_to_100000")
    check("the first row", (1,), cursor.fetchone())
# Another connection ends what one does, by its number.
with connect(PROXY) as one, connect(PROXY) as other:
    other.kill(one.thread_id())
    try:
        one.cursor().execute("SELECT 1")
        sys.exit("a connection that was killed goes on")
    except pymysql.MySQLError:
        pass
try:
    pymysql.connect(host="127.0.0.1", port=PROXY, user="ann", password="wrong")
    sys.exit("a wrong password is taken")
except pymysql.MySQLError as error:
    check("a wrong password", 1045, error.args[0])
