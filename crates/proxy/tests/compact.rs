//! Compact equality: a `bigint` in the server, which only the proxy can read, beside a plain twin.
//! All other tests run with it too, if `STRONGROOM_TEST_COMPACT` is set.

use std::io::{Read as _, Write as _};

use postgres::Client;

use crate::common::texts::{answer, assert_refused};
use crate::common::{Setup, with_twin};

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality", equality = "compact", domain = "person" }
number = { type = "bigint", mode = "equality", equality = "compact" }
born = { type = "date", mode = "equality", equality = "compact" }
seen = { type = "timestamptz", mode = "equality", equality = "compact" }
wakes = { type = "time", mode = "equality", equality = "compact" }
small = { type = "smallint", mode = "equality", equality = "compact", domain = "person" }
name = { type = "text" }

[columns.visit]
person = { type = "integer", mode = "equality", equality = "compact", domain = "person" }
"#;

const COLUMNS: &str = "(id integer PRIMARY KEY, number bigint, born date, seen timestamptz, \
                       wakes time, small smallint, name text, plain_number integer)";

const ROWS: &str = "(1, 9223372036854775807, '2001-02-03', '2026-11-26 10:00+00', '23:59:59.5', 2, \
                    'Anna', 1), (2, -9223372036854775808, 'infinity', '-infinity', '24:00', 1, \
                    'Bert', 2), (-3, 0, '4713-01-01 BC', NULL, NULL, -3, NULL, 3)";

fn start() -> Option<(Setup, Client)> {
    let (setup, mut client) = with_twin(RULES, "person", COLUMNS, ROWS)?;
    for (table, other) in [("visit", "person"), ("plain_visit", "plain")] {
        let statement = format!(
            "CREATE TABLE {table} (person integer REFERENCES {other}, n integer, \
             UNIQUE (person, n)); INSERT INTO {table} VALUES (1, 1), (1, 2), (-3, 1), (NULL, 1)"
        );
        client.batch_execute(&statement).expect(&statement);
    }
    Some((setup, client))
}

fn of_twin(statement: &str) -> String {
    let twin = statement.replace("visit", "plain_visit");
    twin.replace("person p", "plain p")
        .replace("INTO person", "INTO plain")
        .replace("COPY person", "COPY plain")
}

#[track_caller]
fn assert_same(client: &mut Client, statement: &str) {
    let wanted = answer(client, &of_twin(statement));
    let given = answer(client, statement);
    match (wanted, given) {
        (Ok(wanted), Ok(given)) => assert_eq!(given, wanted, "{statement}"),
        (Err(wanted), Err(given)) => {
            let told = |error: &postgres::Error| {
                let error = error.as_db_error().expect("an answer");
                let detail = error.detail().unwrap_or_default();
                let detail = detail.replace("plain_visit", "visit");
                (error.code().clone(), detail.replace("plain", "person"))
            };
            assert_eq!(told(&given), told(&wanted), "{statement}");
        }
        (wanted, given) => panic!("{statement}: {given:?}, the twin {wanted:?}"),
    }
}

#[test]
fn statements_answer_as_the_twin() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "SELECT * FROM person p ORDER BY plain_number",
        "SELECT name FROM person p WHERE id = -3",
        "SELECT name FROM person p WHERE number = 9223372036854775807",
        "SELECT name FROM person p WHERE number <> 0 ORDER BY plain_number",
        "SELECT name FROM person p WHERE born = 'infinity' OR born = '2001-02-03' ORDER BY name",
        "SELECT name FROM person p WHERE seen = '2026-11-26 11:00+01'",
        "SELECT name FROM person p WHERE wakes IN ('24:00', '00:00')",
        "SELECT name FROM person p WHERE id = 70000",
        "SELECT name FROM person p WHERE small = 70000",
        "SELECT name FROM person p WHERE id = 1.5",
        "SELECT name FROM person p WHERE NOT (id = 1.5) ORDER BY plain_number",
        "SELECT name FROM person p WHERE id = ANY ('{1,-3,NULL}') ORDER BY plain_number",
        "SELECT name FROM person p WHERE id = ANY (ARRAY[]::integer[])",
        "SELECT name FROM person p WHERE id NOT IN (1, 2)",
        "SELECT name, n FROM person p JOIN visit v ON v.person = p.id ORDER BY plain_number, n",
        "SELECT name FROM person p WHERE id IN (SELECT person FROM visit) ORDER BY plain_number",
        "SELECT p.plain_number FROM person p WHERE p.id = p.small",
        "SELECT person, count(*) FROM visit GROUP BY person ORDER BY count(*), person",
        "SELECT count(DISTINCT person) FROM visit",
        "SELECT CASE WHEN n = 1 THEN person ELSE 7 END FROM visit ORDER BY n, person",
        "SELECT coalesce(person, 0) FROM visit ORDER BY 1",
        "SELECT count(*) FROM (SELECT id FROM person p UNION SELECT id FROM person p) u",
        "SELECT max(id), sum(number) FROM person p",
        "INSERT INTO person VALUES (1)",
        "INSERT INTO person (id) VALUES (2147483648)",
        "INSERT INTO visit VALUES (77, 1)",
        "INSERT INTO visit VALUES (1, 1)",
        "INSERT INTO visit VALUES (1, 1) ON CONFLICT (person, n) DO UPDATE SET n = 9 RETURNING *",
        "INSERT INTO visit SELECT id, 30 FROM person p WHERE id = 2 RETURNING *",
        "INSERT INTO visit VALUES (2, 4), (NULL, 5) RETURNING person, n",
        "SELECT * FROM visit ORDER BY person, n",
    ] {
        assert_same(&mut client, statement);
    }
    // Each bigint stands for a value, so nothing is left to stand for none.
    assert_refused(&mut client, "SELECT name FROM person WHERE number = 1.5");
}

#[test]
fn parameters_and_copies_answer_as_the_twin() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for table in ["person", "plain"] {
        let select = format!("SELECT name FROM {table} WHERE id = $1 AND number = $2");
        let rows = client.query(&select, &[&1_i32, &i64::MAX]).expect("a row");
        assert_eq!(rows[0].get::<_, &str>(0), "Anna");
        let any = format!("SELECT id, number, small FROM {table} WHERE id = ANY($1) ORDER BY name");
        let rows = client.query(&any, &[&vec![Some(1_i32), Some(2), None]]);
        let rows: Vec<(i32, i64, i16)> = rows
            .expect("two")
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2)))
            .collect();
        assert_eq!(rows, [(1, i64::MAX, 2), (2, i64::MIN, 1)]);
    }
    for format in ["text", "csv", "binary"] {
        let mut copies = Vec::new();
        for table in ["person", "plain"] {
            let statement = format!(
                "COPY (SELECT id, number, born, seen, wakes, small FROM {table}) TO STDOUT (FORMAT \
                 {format})"
            );
            let mut copied = Vec::new();
            let mut reader = client.copy_out(&statement).expect(&statement);
            reader.read_to_end(&mut copied).expect("the copy");
            drop(reader);
            copies.push(copied);
        }
        assert_eq!(copies[0], copies[1], "{format}");
        for table in ["person", "plain"] {
            client
                .batch_execute(&format!("BEGIN; TRUNCATE {table} CASCADE"))
                .expect("empty");
            let statement = format!(
                "COPY {table} (id, number, born, seen, wakes, small) FROM STDIN (FORMAT {format})"
            );
            let mut writer = client.copy_in(&statement).expect(&statement);
            writer.write_all(&copies[0]).expect("rows");
            assert_eq!(writer.finish().expect("all"), 3);
        }
        assert_same(
            &mut client,
            "SELECT id, number, born, seen, wakes, small FROM person p ORDER BY name, seen",
        );
        client.batch_execute("ROLLBACK").expect("as before");
    }
}

#[test]
fn the_server_has_other_numbers_and_clients_see_the_declared_types() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let mut server = setup.server.connect();
    let types = "SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM \
                 pg_attribute WHERE attrelid = 'person'::regclass AND attnum > 0";
    let of = |client: &mut Client| answer(client, types).expect("types");
    assert_eq!(
        of(&mut server),
        ["bigint bigint bigint bigint bigint bigint bytea integer"]
    );
    let declared = answer(
        &mut client,
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'person' ORDER BY \
         ordinal_position",
    );
    assert_eq!(
        declared.expect("types"),
        [
            "integer",
            "bigint",
            "date",
            "timestamp with time zone",
            "time without time zone",
            "smallint",
            "text",
            "integer"
        ]
    );
    let stored = answer(&mut server, "SELECT id, number, small FROM person");
    let stored = stored.expect("numbers").join("|");
    for clear in [
        "9223372036854775807",
        "-9223372036854775808",
        "|1|",
        "|2|",
        "|-3|",
    ] {
        assert!(!format!("|{stored}|").contains(clear), "{stored}");
    }
    // Columns of one domain are equal where their values are; others are not.
    let equal = "SELECT count(*) FILTER (WHERE p.id = o.small), count(*) FILTER (WHERE p.id = \
                 o.number) FROM person p, person o";
    assert_eq!(answer(&mut server, equal).expect("counts"), ["3|0"]);
    // No check can tell a number in clear, and such a number opens as none that the type has.
    let guard = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = \
                 'person'::regclass AND contype = 'c'";
    let guard = answer(&mut server, guard).expect("a guard").join("");
    assert!(
        guard.contains("name") && !guard.contains("number"),
        "{guard}"
    );
    server
        .batch_execute("UPDATE person SET small = 5 WHERE plain_number = 1")
        .expect("the server takes it");
    let said = setup.psql("SELECT small FROM person WHERE plain_number = 1");
    assert!(said.contains("person.small does not open"), "{said}");
}

#[test]
fn a_column_of_another_type_in_the_server_is_refused() {
    let Some((setup, _client)) = start() else {
        return;
    };
    let mut server = setup.server.connect();
    server
        .batch_execute("DROP TABLE visit; CREATE TABLE visit (person bytea, n integer)")
        .expect("made past the proxy");
    let mut client = setup.connect();
    let error = answer(&mut client, "SELECT person FROM visit").expect_err("no bigint");
    let text = error.as_db_error().map(|error| error.to_string());
    let text = text.unwrap_or_default();
    assert!(
        text.contains("is bytea in the server, not bigint"),
        "{text}"
    );
}
