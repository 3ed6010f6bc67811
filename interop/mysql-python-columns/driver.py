"""PyMySQL with protected columns."""

import datetime
import decimal
import threading

import pymysql
from pymysql.constants import CLIENT

from mysql_answers import CANARY, PEOPLE, say, says, settings


def connect(**more):
    return pymysql.connect(**settings(), charset="utf8mb4", **more)


connection = connect()
cursor = connection.cursor()


def run(text, values=None):
    count = cursor.execute(text, values)
    return [count, [column[:2] for column in cursor.description or ()], list(cursor.fetchall()), cursor.lastrowid]


INSERT = "INSERT INTO person (id, name, born, salary, score, photo, active) VALUES (%s, %s, %s, %s, %s, %s, %s)"
for person in PEOPLE:
    says(f"insert {person[0]}", lambda: run(INSERT, person))
connection.commit()
says("all", lambda: run("SELECT * FROM person ORDER BY id"))
says("by key", lambda: run("SELECT name, salary FROM person WHERE id = %s", (2,)))
says("by text", lambda: run("SELECT id FROM person WHERE name = %s", (PEOPLE[2][1],)))
says("by several", lambda: run("SELECT id, name FROM person WHERE id IN (%s, %s) AND born IS NULL", (2, 3)))
says("by range", lambda: run("SELECT id, born FROM person WHERE born > %s ORDER BY born DESC",
                             (datetime.date(1980, 1, 1),)))
says("between", lambda: run("SELECT id FROM person WHERE born BETWEEN '1990-02-28' AND '2000-01-01'"))
says("sum", lambda: run("SELECT SUM(salary) AS total FROM person"))
says("least", lambda: run("SELECT MIN(born) AS least, MAX(born) AS most FROM person"))
says("change", lambda: run("UPDATE person SET salary = %s, name = %s WHERE id = %s",
                           (decimal.Decimal("8.75"), f"{CANARY} bob", 2)))
says("increment", lambda: run("UPDATE person SET score = score + 1 WHERE id = %s", (1,)))
connection.rollback()
says("rolled back", lambda: run("SELECT name, salary, score FROM person WHERE id < 3 ORDER BY born"))
says("many", lambda: cursor.executemany("INSERT INTO visit (person_id, note) VALUES (%s, %s)",
                                        [(1 + number % 3, f"{CANARY} {number}") for number in range(300)]))
say("many: first number", cursor.lastrowid)
connection.commit()
says("join", lambda: run("SELECT p.name, v.note FROM visit v JOIN person p ON p.id = v.person_id "
                         "WHERE p.id = 2 ORDER BY v.number LIMIT 3"))
says("counted", lambda: run("SELECT person_id, COUNT(*) AS visits FROM visit GROUP BY person_id"))
says("duplicate key", lambda: run(INSERT, PEOPLE[0]))
says("no such person", lambda: run("INSERT INTO visit (person_id, note) VALUES (77, 'x')"))
says("too long", lambda: run("UPDATE person SET name = %s WHERE id = 1", ("x" * 41,)))
says("out of range", lambda: run("INSERT INTO person (id, name) VALUES (2147483648, 'x')"))
says("no name", lambda: run("INSERT INTO person (id, name) VALUES (9, NULL)"))
says("SAVEPOINT", lambda: run("SAVEPOINT here"))
says("delete", lambda: run("DELETE FROM visit WHERE person_id = 2"))
says("ROLLBACK TO", lambda: run("ROLLBACK TO SAVEPOINT here"))
says("still there", lambda: run("SELECT COUNT(*) AS visits FROM visit WHERE person_id = %s", (2,)))
says("ignored", lambda: run("INSERT IGNORE INTO person (id, name) VALUES (1, 'x'), (4, %s)", (f"{CANARY} dan",)))
says("warnings behind IGNORE", lambda: run("SHOW WARNINGS"))
says("count of warnings", lambda: run("SELECT @@warning_count"))
says("upsert", lambda: run("INSERT INTO person (id, name, score) VALUES (4, 'x', 5) "
                           "ON DUPLICATE KEY UPDATE score = VALUES(score)"))
says("replace", lambda: run("REPLACE INTO person (id, name) VALUES (4, 'y')"))
says("named person", lambda: run("DELETE FROM person WHERE name = 'y'"))
connection.commit()
# A cursor that reads row by row.
with connect(cursorclass=pymysql.cursors.SSCursor) as other, other.cursor() as rows:
    rows.execute("SELECT note FROM visit ORDER BY number")
    say("streamed", [rows.fetchone(), len(list(rows.fetchall_unbuffered()))])
with connect(cursorclass=pymysql.cursors.DictCursor) as other, other.cursor() as rows:
    rows.execute("SELECT p.*, v.note FROM person p JOIN visit v ON v.person_id = p.id WHERE v.number = 1")
    say("by names", rows.fetchall())
with connect(client_flag=CLIENT.MULTI_STATEMENTS) as other, other.cursor() as rows:
    rows.execute("SELECT 1; SELECT 2 AS two")
    say("several plain results", [rows.fetchall(), rows.nextset(), rows.fetchall()])


def several():
    """Statements of one text, each with its result."""
    with connect(client_flag=CLIENT.MULTI_STATEMENTS) as other, other.cursor() as rows:
        found = [rows.execute("INSERT INTO person (id, name) VALUES (20, %s); "
                              "SELECT id, name FROM person WHERE id = 20; DELETE FROM person WHERE id = 20; "
                              "DO 0; SELECT 5 AS five", (f"{CANARY} in; between",)),
                 rows.rowcount]
        while rows.nextset():
            found += [rows.rowcount, list(rows.fetchall())]
        return found


def failing():
    """The second statement fails; the first stays done, the third is not begun."""
    with connect(client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True) as other, other.cursor() as rows:
        rows.execute("INSERT INTO person (id, name) VALUES (21, 'x'); SELECT nothing FROM plain; "
                     "DELETE FROM person WHERE id = 21")
        rows.nextset()


says("several", several)
says("several, one fails", failing)
says("several, what is there", lambda: run("SELECT id FROM person WHERE id IN (20, 21)"))
connection.commit()
# One waits for the lock of the other, which ends it.
says("locks", lambda: run("SELECT name FROM person WHERE id = 1 FOR UPDATE"))
with connect() as waiting:
    told = []

    def wait():
        try:
            waiting.cursor().execute("UPDATE person SET score = 1 WHERE id = 1")
        except pymysql.MySQLError as error:
            told.append(error.args[0])

    thread = threading.Thread(target=wait)
    thread.start()
    with connect() as other:
        asks = other.cursor()
        while True:
            asks.execute("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
            if asks.fetchone()[0]:
                break
        asks.execute(f"KILL QUERY {waiting.thread_id()}")
    thread.join()
    say("canceled", told)
connection.rollback()
for text in ["SHOW CREATE TABLE person", "DESCRIBE visit", "SHOW FULL COLUMNS FROM person",
             "SHOW TABLES", "SELECT DATABASE()",
             "SHOW VARIABLES LIKE 'sql_mode'", "SHOW COLLATION LIKE 'utf8mb4_bin'"]:
    says(text, lambda: run(text))
for text in ["SHOW INDEX FROM visit", "SHOW KEYS FROM person WHERE Key_name = 'PRIMARY'"]:
    # The seventh column is an estimate.
    says(text, lambda: [[*row[:6], *row[7:]] for row in run(text)[2]])
