//! Columns that are sealed together, beside a plain twin.

use std::io::{Read as _, Write as _};

use postgres::Client;
use wire_postgres::backend::kind::COPY_IN;
use wire_postgres::frontend::write_query;

use crate::common::Setup;
use crate::common::texts::{answer, assert_refused};
use crate::common::wire::Session;

const RULES: &str = r#"
[columns.person]
mail = { type = "text", mode = "equality" }
first = { type = "varchar(16)", group = "profile", not_null = true }
street = { type = "varchar(40)", group = "profile", pad = 32 }
born = { type = "date", group = "profile" }
score = { type = "integer", group = "profile", default = "7" }
price = { type = "numeric(8,2)", group = "money" }
paid = { type = "boolean", group = "money" }
"#;

const COLUMNS: &str = "(id integer PRIMARY KEY, street varchar(40), mail text UNIQUE, \
                       price numeric(8,2), first varchar(16) NOT NULL, born date, n integer, \
                       score integer DEFAULT 7, paid boolean)";

const ROWS: &str = "(1, 'Main Street 1', 'a@x', 1.50, 'Anna', '2001-02-03', 10, 1, true), \
                    (2, NULL, 'b@x', NULL, 'Bert', 'infinity', 20, NULL, NULL), \
                    (3, '', NULL, -3, '', NULL, 30, 3, false)";

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for name in ["person", "plain"] {
        for statement in [
            format!("CREATE TABLE {name} {COLUMNS}"),
            format!("INSERT INTO {name} VALUES {ROWS}"),
        ] {
            client.batch_execute(&statement).expect(&statement);
        }
    }
    Some((setup, client))
}

fn of_twin(statement: &str) -> String {
    statement.replace("person", "plain")
}

#[track_caller]
fn assert_same(client: &mut Client, statement: &str) {
    let wanted = answer(client, &of_twin(statement));
    let given = answer(client, statement);
    match (wanted, given) {
        (Ok(wanted), Ok(given)) => assert_eq!(given, wanted, "{statement}"),
        (Err(wanted), Err(given)) => {
            let code = |error: &postgres::Error| error.code().cloned();
            assert_eq!(code(&given), code(&wanted), "{statement}: {given:?}");
        }
        (wanted, given) => panic!("{statement}: {given:?}, the twin {wanted:?}"),
    }
}

const ALL: &str = "SELECT * FROM person ORDER BY id";

#[test]
fn statements_answer_as_the_twin() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        ALL,
        "SELECT first FROM person ORDER BY id",
        "SELECT street AS s, p.born, score FROM person p WHERE p.mail = 'a@x'",
        "SELECT p.* FROM person p ORDER BY p.n DESC",
        "SELECT x.first FROM person p, LATERAL (SELECT first FROM (SELECT street, id FROM person \
         WHERE id = 2) p) x WHERE p.id = 1",
        "SELECT id FROM person WHERE street IS NULL",
        "SELECT id FROM person WHERE born IS NOT NULL AND price IS NOT NULL",
        "SELECT count(street), count(*), count(score), sum(score), max(first) FROM person",
        "SELECT id FROM person WHERE first = 'Bert' OR score > 2 ORDER BY id",
        "SELECT id FROM person WHERE street LIKE 'Main%'",
        "SELECT coalesce(score, 0), upper(first) FROM person ORDER BY score NULLS LAST",
        "SELECT x.street, x.paid FROM (SELECT street, paid, id FROM person) x ORDER BY x.id",
        "WITH x AS (SELECT id, born FROM person) SELECT born FROM x ORDER BY id",
        "SELECT (SELECT first FROM person WHERE id = 2), n FROM person ORDER BY n",
        "SELECT p.first, o.first FROM person p LEFT JOIN person o ON o.id = p.id + 1 ORDER BY p.id",
        "SELECT first FROM person UNION ALL SELECT first FROM person ORDER BY 1",
        "SELECT DISTINCT paid FROM person ORDER BY paid",
        "SELECT t.a, t.b FROM person AS t (i, a, m, p, b) ORDER BY i",
        "SELECT first, street FROM person WHERE id = 1 FOR UPDATE",
        "INSERT INTO person (id, first) VALUES (4, 'Cleo') RETURNING *",
        "INSERT INTO person (id, mail, first, street) VALUES (5, 'e@x', 'Eve', NULL), \
         (6, 'f@x', 'Fay', 'Side Street') RETURNING id, street, score",
        "INSERT INTO person VALUES (7, DEFAULT, DEFAULT, 2, 'Gus')",
        "INSERT INTO person (id, first, score) VALUES (8, 'Hal', DEFAULT) \
         ON CONFLICT DO NOTHING RETURNING score",
        "INSERT INTO person (id, first) VALUES (8, 'Hal') ON CONFLICT (id) DO UPDATE SET n = 5 \
         RETURNING first, n",
        "INSERT INTO person (id) VALUES (9)",
        "INSERT INTO person (id, first) VALUES (9, NULL)",
        "INSERT INTO person (id, first) VALUES (9, 'a name of many letters')",
        "INSERT INTO person (id, first, born) VALUES (9, 'Ida', 'no date')",
        "INSERT INTO person (id, first) VALUES (1, 'again')",
        "INSERT INTO person (id, first, street) VALUES (9, 'Ida')",
        "INSERT INTO person (id, first, first) VALUES (9, 'Ida', 'Jo')",
        "UPDATE person SET price = 5, paid = true, price = 6 WHERE id = 2",
        "UPDATE person SET street = 'a', street = 'b' WHERE id = 2",
        "COPY person (first, first) TO STDOUT",
        "COPY person (first, id, first) FROM STDIN",
        "UPDATE person SET n = n + 1 WHERE id = 1 RETURNING first, n",
        "UPDATE person SET price = 5, paid = true WHERE id = 2 RETURNING price, paid",
        "UPDATE person SET paid = NULL, price = NULL WHERE id = 2 RETURNING *",
        "UPDATE person SET street = 'New Street' WHERE id < 4",
        ALL,
        "UPDATE person SET score = score + 1, born = '1999-01-01' WHERE n > 10 RETURNING id, score",
        "UPDATE person SET first = upper(first) WHERE street LIKE 'New%' RETURNING first, born",
        "UPDATE person SET score = DEFAULT, first = street WHERE id = 100",
        "UPDATE person SET first = NULL WHERE id = 1",
        "UPDATE person SET first = NULL WHERE id = 100",
        "UPDATE person SET paid = NOT paid WHERE id = 1 RETURNING paid, price",
        "UPDATE person SET mail = 'z@x' WHERE id = 3 RETURNING *",
        "UPDATE person SET street = NULL, score = NULL WHERE mail = 'z@x' RETURNING *",
        ALL,
        "DELETE FROM person WHERE born IS NULL RETURNING first, score",
        "DELETE FROM person WHERE first = 'NOBODY'",
        ALL,
    ] {
        assert_same(&mut client, statement);
    }
}

#[test]
fn parameters_and_copies_answer_as_the_twin() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for table in ["person", "plain"] {
        let insert =
            format!("INSERT INTO {table} (id, first, street, score) VALUES ($1, $2, $3, $4)");
        let statement = client.prepare(&insert).expect(&insert);
        for (id, score) in [(10, Some(1_i32)), (11, None)] {
            let street = score.map(|_| "Road");
            client
                .execute(&statement, &[&id, &"Jo", &street, &score])
                .expect(&insert);
        }
        let update = format!("UPDATE {table} SET street = $1 WHERE id = $2");
        client
            .execute(&update, &[&Some("Lane"), &11])
            .expect(&update);
        let rows = client
            .query(
                &format!("SELECT street, score, born FROM {table} WHERE id >= $1 ORDER BY id"),
                &[&10],
            )
            .expect("rows");
        let rows: Vec<(Option<&str>, Option<i32>)> =
            rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(rows, [(Some("Road"), Some(1)), (Some("Lane"), None)]);
    }
    let columns = "id, first, price, street, score, mail";
    for format in ["text", "csv", "csv, HEADER", "binary"] {
        let mut copies = Vec::new();
        for table in ["person", "plain"] {
            let statement = format!("COPY {table} ({columns}) TO STDOUT (FORMAT {format})");
            let mut copied = Vec::new();
            let mut reader = client.copy_out(&statement).expect(&statement);
            reader.read_to_end(&mut copied).expect("the copy");
            drop(reader);
            copies.push(copied);
        }
        assert_eq!(copies[0], copies[1], "{format}");
        for table in ["person", "plain"] {
            client
                .batch_execute(&format!("BEGIN; TRUNCATE {table}"))
                .expect("empty");
            let statement = format!("COPY {table} ({columns}) FROM STDIN (FORMAT {format})");
            let mut writer = client.copy_in(&statement).expect(&statement);
            writer.write_all(&copies[0]).expect("rows");
            assert_eq!(writer.finish().expect("all"), 5);
            client.batch_execute("SAVEPOINT s").expect("a savepoint");
        }
        assert_same(&mut client, ALL);
        client.batch_execute("ROLLBACK").expect("as before");
    }
    for table in ["person", "plain"] {
        let statement = format!("COPY {table} (first, id) FROM STDIN");
        let mut writer = client.copy_in(&statement).expect(&statement);
        writer.write_all(b"Kim\t20\nLea\t21\n").expect("rows");
        assert_eq!(writer.finish().expect("all"), 2);
        let statement = format!("COPY {table} (score, id) FROM STDIN");
        let mut writer = client.copy_in(&statement).expect(&statement);
        writer.write_all(b"3\t22\n").expect("rows");
        let error = writer.finish().expect_err("first is NOT NULL");
        assert_eq!(
            error.code().map(|own| own.code()),
            Some("23502"),
            "{error:?}"
        );
    }
    assert_same(&mut client, ALL);
}

#[test]
fn clients_see_types_and_not_null_as_declared() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE \
         attrelid = 'person'::regclass AND attnum > 0 ORDER BY attnum",
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE \
         table_name = 'person' ORDER BY ordinal_position",
    ] {
        assert_same(&mut client, statement);
    }
    for statement in [
        "SELECT first, id, street, paid, price FROM person",
        "SELECT * FROM person p",
        "SELECT x.born, x.n FROM (SELECT born, n FROM person) x",
        "SELECT first, score FROM person WHERE street LIKE 'M%'",
        "UPDATE person SET n = 1 RETURNING score, first",
        "UPDATE person SET score = score + 1 RETURNING score, first",
    ] {
        let mut described = |text: &str| {
            let statement = client.prepare(text).expect(text);
            let columns = statement.columns().iter();
            let columns = columns.map(|own| (own.table_oid().is_some(), own.column_id()));
            columns.collect::<Vec<_>>()
        };
        let wanted = described(&of_twin(statement));
        assert_eq!(described(statement), wanted, "{statement}");
    }
    // The fields that a client is to send are those that it names.
    let mut session = Session::connect(setup.proxy.address.port());
    let mut message = Vec::new();
    write_query(b"COPY person (first, id) FROM STDIN", &mut message);
    message.extend_from_slice(b"c\0\0\0\x04");
    session.send(&message);
    let announced = session.messages().into_iter();
    let announced: Vec<_> = announced.filter(|(kind, _)| *kind == COPY_IN).collect();
    assert_eq!(announced, [(COPY_IN, vec![0, 0, 2, 0, 0, 0, 0])]);
}

#[test]
fn privileges_of_columns_and_copies_of_partitions_are_refused() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("GRANT SELECT ON person TO PUBLIC")
        .expect("a privilege on the table");
    assert_same(&mut client, ALL);
    let mut server = setup.server.connect();
    server
        .batch_execute("GRANT SELECT (street) ON person TO PUBLIC")
        .expect("the server takes it");
    client
        .batch_execute("GRANT INSERT ON person TO PUBLIC")
        .expect("the schema is read again");
    for statement in [
        "SELECT first FROM person",
        "SELECT * FROM person",
        "SELECT id FROM person WHERE score > 1",
        "INSERT INTO person (id, first) VALUES (30, 'Mia')",
        "UPDATE person SET price = 1, paid = true",
        "UPDATE person SET score = 1",
        "COPY person TO STDOUT",
        "COPY person FROM STDIN",
    ] {
        assert_refused(&mut client, statement);
    }
    assert_same(&mut client, "SELECT id, mail, n FROM person ORDER BY id");
    client
        .batch_execute("REVOKE SELECT (street) ON person FROM PUBLIC")
        .expect("the remedy");
    assert_same(&mut client, ALL);
    for name in ["person", "plain"] {
        client
            .batch_execute(&format!(
                "DROP TABLE {name}; CREATE TABLE {name} {} PARTITION BY HASH (id)",
                COLUMNS.replace("UNIQUE", "")
            ))
            .expect("a partitioned table");
        client
            .batch_execute(&format!(
                "CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
            ))
            .expect("a partition");
    }
    assert_same(&mut client, &format!("INSERT INTO person VALUES {ROWS}"));
    assert_same(&mut client, "COPY person TO STDOUT");
    assert_same(&mut client, ALL);
}

#[test]
fn what_cannot_be_done_exactly_is_refused() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "INSERT INTO person (id, first) SELECT id + 100, first FROM person",
        "INSERT INTO person SELECT * FROM person",
        "INSERT INTO person (id, first) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET \
         first = EXCLUDED.first",
        "UPDATE person SET (first, score) = (SELECT first, score FROM person WHERE id = 1)",
        "CREATE VIEW v AS SELECT street FROM person",
        "GRANT SELECT (id), UPDATE ON person TO PUBLIC",
        "GRANT INSERT, UPDATE (first) ON plain, person TO PUBLIC",
        "ALTER TABLE person DROP COLUMN born",
        "ALTER TABLE person ALTER COLUMN first DROP NOT NULL",
        "ALTER TABLE person ALTER COLUMN born SET NOT NULL",
        "ALTER TABLE person RENAME COLUMN born TO birth",
        "ALTER TABLE person ADD CHECK (street IS NOT NULL)",
        "MERGE INTO person USING (SELECT 1 AS i) s ON id = i WHEN MATCHED THEN UPDATE SET \
         first = 'x'",
    ] {
        assert_refused(&mut client, statement);
    }
    assert_same(&mut client, ALL);
    // The server has one value for each group, which is also there where all members are NULL, and
    // the empty value of its last member. It takes no other.
    let mut server = setup.server.connect();
    let stored = "SELECT count(street), count(first), count(born), count(score), count(price), \
                  count(paid) FROM person";
    assert_eq!(
        answer(&mut server, stored).expect("counts"),
        ["3|0|0|3|3|3"]
    );
    for forged in [
        "UPDATE person SET first = street",
        "UPDATE person SET street = '\\x00'",
        "UPDATE person SET street = NULL",
    ] {
        let error = answer(&mut server, forged).expect_err(forged);
        let code = error.code().map(|own| own.code().to_owned());
        assert!(
            matches!(code.as_deref(), Some("23514" | "23502")),
            "{forged}: {error:?}"
        );
    }
    // A value of one group opens in no other.
    let moved = "UPDATE person SET price = street WHERE id = 1";
    server.batch_execute(moved).expect("the server takes it");
    let said = setup.psql("SELECT paid FROM person WHERE id = 1");
    assert!(said.contains("person.paid does not open"), "{said}");
}

#[test]
fn a_member_can_be_added_and_a_table_must_fit_its_rules() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (statement, part) in [
        (
            "DROP TABLE person; CREATE TABLE person (id integer, first varchar(16))",
            "not_null = true",
        ),
        (
            "CREATE TABLE person (first varchar(16) NOT NULL, born date NOT NULL)",
            "nothing of not_null",
        ),
    ] {
        let statement = statement.rsplit(';').next().unwrap_or_default();
        client
            .batch_execute("BEGIN; DROP TABLE person")
            .expect("dropped");
        let error = client.batch_execute(statement).expect_err(statement);
        assert!(format!("{error:?}").contains(part), "{error:?}");
        client.batch_execute("ROLLBACK").expect("as before");
    }
    client
        .batch_execute(
            "DROP TABLE person; CREATE TABLE person (id integer, first varchar(16) NOT NULL, \
             born date); INSERT INTO person (id) VALUES (0)",
        )
        .expect_err("a text that makes the table and stores in it");
    client
        .batch_execute(
            "DROP TABLE IF EXISTS person; CREATE TABLE person (id integer, \
             first varchar(16) NOT NULL, born date)",
        )
        .expect("a table of two members");
    client
        .batch_execute("INSERT INTO person VALUES (1, 'Anna', '2001-02-03')")
        .expect("a row");
    client
        .batch_execute("ALTER TABLE person ADD COLUMN street varchar(40)")
        .expect("one more member");
    client
        .batch_execute("INSERT INTO person VALUES (2, 'Bert', NULL, 'Road')")
        .expect("a row");
    client
        .batch_execute("UPDATE person SET born = '2002-02-02' WHERE street IS NULL")
        .expect("an older value is sealed anew");
    let rows = answer(&mut client, "SELECT * FROM person ORDER BY id");
    assert_eq!(
        rows.expect("rows"),
        ["1|Anna|2002-02-02|NULL", "2|Bert|NULL|Road"]
    );
}
