//! What somebody changes in the server, past the proxy: a value that is not what was sealed for its
//! column does not open, and ends the session (XX001). What he can do all the same is here, too, as
//! `docs/threat-model.md` says it (7.4).

use std::iter::empty;

use crate::common::Setup;
use crate::common::wire::{SYNC, Session, put};
use postgres::Client;
use wire_postgres::frontend::write_parse;

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality", domain = "person" }
name = { type = "varchar(20)" }
note = { type = "varchar(20)" }
mail = { type = "text", mode = "equality" }
born = { type = "date", mode = "order" }
visits = { type = "integer" }

[columns.visit]
person_id = { type = "integer", mode = "equality", domain = "person" }
name = { type = "varchar(20)" }
mail = { type = "text", mode = "equality" }
born = { type = "date", mode = "order" }
"#;

/// Rows are found in the server by the column without a rule.
const SCRIPT: [&str; 4] = [
    "CREATE TABLE person (id integer, name varchar(20), note varchar(20), mail text, born date, \
     visits integer, plain integer)",
    "CREATE TABLE visit (person_id integer, name varchar(20), mail text, born date, plain integer)",
    "INSERT INTO person VALUES (1, 'CANARYann', 'CANARYtall', 'CANARYa@x', '2001-02-03', 5, 1), \
     (2, 'CANARYbob', 'CANARYwide', 'CANARYb@x', '1999-12-31', 7, 2)",
    "INSERT INTO visit VALUES (2, 'CANARYann', 'CANARYa@x', '2001-02-03', 1)",
];

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    // Whoever may do that may drop a guard as well.
    let setup = Setup::start_with(RULES, "guard = false");
    for text in SCRIPT {
        assert_eq!(setup.psql(text), "", "{text}");
    }
    let direct = setup.server.connect();
    Some((setup, direct))
}

fn sealed(direct: &mut Client, column: &str) -> Vec<u8> {
    let text = format!("SELECT {column} FROM person WHERE plain = 1");
    let row = direct.query_one(&text, &[]).expect("the row");
    row.get(0)
}

fn replace(direct: &mut Client, column: &str, value: &[u8]) {
    let text = format!("UPDATE person SET {column} = $1 WHERE plain = 1");
    assert_eq!(direct.execute(&text, &[&value]).expect("changed"), 1);
}

/// The same with a byte changed, one too few, one too many, and without any.
fn damaged(sealed: &[u8]) -> Vec<Vec<u8>> {
    let last = sealed.len() - 1;
    let mut all: Vec<Vec<u8>> = [0, 1, 2, last / 2, last]
        .iter()
        .map(|&place| {
            let mut bytes = sealed.to_vec();
            bytes[place] ^= 1;
            bytes
        })
        .collect();
    all.push(sealed[..last].to_vec());
    all.push([sealed, b"\0"].concat());
    all.push(Vec::new());
    all
}

/// The error names the column and shows no value, and the session is over.
#[track_caller]
fn assert_does_not_open(setup: &Setup, text: &str, column: &str) {
    let mut session = Session::connect(setup.proxy.address.port());
    let mut messages = Vec::new();
    write_parse(b"", text.as_bytes(), empty(), &mut messages);
    put(b"", &["1"], &mut messages);
    messages.extend_from_slice(SYNC);
    let answer = session.say(&messages);
    assert_eq!(answer.code, "XX001", "{answer:?}");
    assert_eq!(answer.severity, "FATAL");
    let subject = format!("a value of public.{column} does not open");
    assert!(answer.message.starts_with(&subject), "{answer:?}");
    assert!(!format!("{answer:?}").contains("CANARY"), "{answer:?}");
    assert!(answer.is_over, "the session goes on");
}

#[test]
fn a_value_with_another_byte_does_not_open() {
    let Some((setup, mut direct)) = start() else {
        return;
    };
    for column in ["id", "name", "mail", "born", "visits"] {
        let original = sealed(&mut direct, column);
        let text = format!("SELECT plain, {column} FROM person WHERE plain = $1");
        for bytes in damaged(&original) {
            replace(&mut direct, column, &bytes);
            let column = format!("person.{column}");
            assert_does_not_open(&setup, &text, &column);
        }
        replace(&mut direct, column, &original);
        let row = setup.connect().query_one(&text, &[&1]);
        assert_eq!(row.expect("it opens again").get::<_, i32>(0), 1);
    }
}

/// What psql says of a text, with the code of an error.
fn messages(setup: &Setup, text: &str) -> String {
    let arguments = ["-XAtq", "-v", "VERBOSITY=verbose", "-c", text];
    let port = setup.proxy.address.port();
    let said = setup.server.run_at(port, "psql", &arguments);
    assert_eq!(said.status.code(), Some(2), "the session goes on: {text}");
    String::from_utf8_lossy(&said.stderr).into_owned()
}

#[test]
fn whatever_reads_it_ends_the_session() {
    let Some((setup, mut direct)) = start() else {
        return;
    };
    for (column, statements) in [
        (
            "name",
            &[
                "SELECT * FROM person",
                "SELECT plain FROM person WHERE name LIKE 'CANARY%'",
                "SELECT DISTINCT name FROM person",
                "SELECT max(name) FROM person",
                "SELECT name FROM person ORDER BY name",
                "SELECT name, count(*) FROM person GROUP BY name",
                "UPDATE person SET name = name || 'x'",
                "UPDATE person SET plain = plain RETURNING name",
                "COPY person (name) TO STDOUT",
                "COPY (SELECT name FROM person) TO STDOUT (FORMAT csv)",
                "BEGIN; DECLARE c CURSOR FOR SELECT name FROM person; FETCH ALL FROM c",
            ][..],
        ),
        (
            "visits",
            &[
                "SELECT sum(visits) FROM person",
                "SELECT total FROM (SELECT sum(visits) AS total FROM person) AS totals",
                "UPDATE person SET visits = visits + 1 WHERE plain = 1",
                "BEGIN; UPDATE person SET visits = visits + 1 WHERE plain = 1; COMMIT",
            ],
        ),
    ] {
        let original = sealed(&mut direct, column);
        let bytes = damaged(&original).swap_remove(3);
        replace(&mut direct, column, &bytes);
        for text in statements {
            let said = messages(&setup, text);
            let wanted = format!("FATAL:  XX001: a value of public.person.{column} does not open");
            assert!(said.contains(&wanted), "{text}: {said}");
            assert!(!said.contains("CANARY"), "{text}: {said}");
            assert_eq!(sealed(&mut direct, column), bytes, "{text}");
        }
        replace(&mut direct, column, &original);
    }
}

#[test]
fn a_value_of_another_column_does_not_open() {
    let Some((setup, mut direct)) = start() else {
        return;
    };
    for (column, from) in [
        ("name", "SELECT note FROM person WHERE plain = 1"),
        ("name", "SELECT name FROM visit"),
        ("name", "SELECT visits FROM person WHERE plain = 1"),
        ("mail", "SELECT mail FROM visit"),
        ("mail", "SELECT id FROM person WHERE plain = 1"),
        ("born", "SELECT born FROM visit"),
        ("visits", "SELECT id FROM person WHERE plain = 1"),
    ] {
        let original = sealed(&mut direct, column);
        let moved: Vec<u8> = direct.query_one(from, &[]).expect("one row").get(0);
        replace(&mut direct, column, &moved);
        let text = format!("SELECT {column} FROM person WHERE plain = $1");
        assert_does_not_open(&setup, &text, &format!("person.{column}"));
        replace(&mut direct, column, &original);
    }
}

#[test]
fn values_are_not_bound_to_their_row_nor_within_a_domain() {
    let Some((setup, mut direct)) = start() else {
        return;
    };
    let moves = "UPDATE person SET name = b.name, note = NULL, id = v.person_id \
                 FROM person AS b, visit AS v WHERE person.plain = 1 AND b.plain = 2";
    direct.batch_execute(moves).expect("the superuser may");
    assert_eq!(
        setup.psql("SELECT id, name, note IS NULL, mail FROM person WHERE plain = 1"),
        "2|CANARYbob|t|CANARYa@x\n"
    );
}
