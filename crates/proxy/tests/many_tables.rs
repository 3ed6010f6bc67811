//! After DDL that only adds, the proxy reads again what has changed, and plans by it.

use postgres::Client;

use crate::common::Setup;
use crate::common::leaks::CANARY;
use crate::common::texts::{ask, run};

const RULES: &str = "\
[columns.person]
id = { type = \"integer\", mode = \"equality\", domain = \"person\" }
name = { type = \"text\" }
[columns.key]
id = { type = \"integer\", mode = \"equality\", domain = \"person\" }
[columns.lock]
id = { type = \"integer\", mode = \"equality\", domain = \"person\" }
[columns.visit]
person = { type = \"integer\", mode = \"equality\", domain = \"person\" }
note = { type = \"text\" }
";

fn begin() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    let client = setup.connect();
    Some((setup, client))
}

/// How often the proxy has asked for all functions of the database, as it does when it reads
/// everything.
fn whole_readings(setup: &Setup) -> usize {
    let sent = setup.tap.sent();
    let word = b"pg_get_functiondef";
    sent.windows(word.len()).filter(|own| own == word).count()
}

#[test]
fn tables_are_made_without_reading_all_others_each_time() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "SELECT 1");
    let before = whole_readings(&setup);
    run(&mut client, "BEGIN");
    for number in 0..20 {
        run(
            &mut client,
            &format!(
                "CREATE TABLE plain_{number} (id integer PRIMARY KEY, text text);
                 CREATE INDEX ON plain_{number} (text)"
            ),
        );
        run(
            &mut client,
            &format!("ALTER TABLE plain_{number} ADD COLUMN n integer DEFAULT 1 NOT NULL"),
        );
    }
    run(
        &mut client,
        "CREATE TABLE person (id integer PRIMARY KEY, name text)",
    );
    run(
        &mut client,
        "CREATE TABLE visit (person integer REFERENCES person, note text)",
    );
    run(&mut client, "CREATE INDEX seen ON visit (person)");
    run(
        &mut client,
        &format!("INSERT INTO person VALUES (1, '{CANARY}')"),
    );
    run(&mut client, "COMMIT");
    let joined = "SELECT name FROM person JOIN visit ON person.id = visit.person";
    run(
        &mut client,
        &format!("INSERT INTO visit VALUES (1, '{CANARY}')"),
    );
    assert_eq!(ask(&mut client, joined), [CANARY]);
    assert_eq!(ask(&mut client, "SELECT count(n) FROM plain_3"), ["0"]);
    // The first table with rules may give functions another meaning. A check may fall due once.
    let read = whole_readings(&setup) - before;
    assert!(read <= 3, "everything was read {read} times");
    // Others see what is there now.
    assert_eq!(ask(&mut setup.connect(), joined), [CANARY]);
}

#[test]
fn what_is_rolled_back_is_not_known_any_more() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "CREATE TABLE person (id integer PRIMARY KEY)");
    run(&mut client, "BEGIN; SAVEPOINT a");
    run(&mut client, "ALTER TABLE person ADD COLUMN name text");
    run(
        &mut client,
        &format!("INSERT INTO person (id, name) VALUES (1, '{CANARY}')"),
    );
    run(&mut client, "ROLLBACK TO a");
    let insert = format!("INSERT INTO person (id, name) VALUES (2, '{CANARY}')");
    let error = client.batch_execute(&insert).expect_err("no such column");
    assert!(error.code().is_some(), "{error:?}");
    run(&mut client, "ROLLBACK");
    run(&mut client, "BEGIN");
    run(
        &mut client,
        "CREATE TABLE visit (person integer, note text)",
    );
    run(
        &mut client,
        &format!("INSERT INTO visit VALUES (1, '{CANARY}')"),
    );
    run(&mut client, "ROLLBACK");
    assert_eq!(ask(&mut client, "SELECT id FROM person"), [""; 0]);
    let error = client.batch_execute("SELECT note FROM visit");
    let code = error.expect_err("it is gone").code().cloned();
    assert_eq!(code.expect("a code").code(), "42P01");
    // Under the same name there may be something else.
    run(
        &mut client,
        "CREATE TABLE visit (person integer, note text)",
    );
    run(
        &mut client,
        &format!("INSERT INTO visit VALUES (1, '{CANARY}')"),
    );
    assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
}

/// A view, a child and an event trigger each mean something for more than the table that is named.
#[test]
fn what_depends_on_a_changed_table_is_read_too() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    run(
        &mut client,
        "CREATE TABLE visit (person integer, note text)",
    );
    run(&mut client, "CREATE VIEW shown AS SELECT note FROM visit");
    run(&mut client, "ALTER TABLE visit ADD COLUMN at date");
    run(
        &mut client,
        &format!("INSERT INTO shown (note) VALUES ('{CANARY}')"),
    );
    run(&mut client, "CREATE TABLE part () INHERITS (visit)");
    run(
        &mut client,
        &format!("INSERT INTO part (note) VALUES ('{CANARY}')"),
    );
    run(&mut client, "ALTER TABLE visit ADD COLUMN later date");
    run(
        &mut client,
        &format!("INSERT INTO part (note, later) VALUES ('{CANARY}', '2026-01-01')"),
    );
    let mut past = setup.server.connect();
    run(
        &mut past,
        "CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF to_regclass('public.hidden') IS NULL THEN
             CREATE VIEW hidden AS SELECT note FROM visit;
           END IF;
         END $$;
         CREATE EVENT TRIGGER e ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
         EXECUTE FUNCTION f()",
    );
    run(&mut client, "CREATE TABLE wakes_it (id integer)");
    run(
        &mut client,
        &format!("INSERT INTO hidden (note) VALUES ('{CANARY}')"),
    );
    assert_eq!(ask(&mut client, "SELECT count(*) FROM visit"), ["4"]);
}

/// Two sessions, each with a transaction that the other one does not see yet.
#[test]
fn changes_of_others_are_read_beside_ones_own() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let mut other = setup.connect();
    run(&mut other, "SELECT 1");
    run(&mut client, "BEGIN");
    run(&mut client, "CREATE TABLE plain_a (id integer)");
    run(&mut other, "CREATE TABLE visit (person integer, note text)");
    run(&mut other, "CREATE VIEW shown AS SELECT note FROM visit");
    run(&mut client, "CREATE TABLE plain_b (id integer)");
    run(
        &mut client,
        &format!("INSERT INTO shown (note) VALUES ('{CANARY}')"),
    );
    run(&mut client, "COMMIT");
    run(&mut client, "CREATE TABLE plain_c (id integer)");
    assert_eq!(ask(&mut other, "SELECT note FROM visit"), [CANARY]);
}
