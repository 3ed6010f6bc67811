//! Relations that are dropped and made anew, inherited or read in ways that would leave the rules
//! behind, before a real server.

use postgres::Client;

use crate::common::Setup;
use crate::common::leaks::CANARY;
use crate::common::texts::{ask, run};

const RULES: &str = r#"
[columns.note]
text = { type = "text" }
day = { type = "date", mode = "equality" }

[columns.customer]
name = { type = "text" }

[columns.sole]
text = { type = "text" }
"#;

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, &crate::common::with_finish(""));
    let mut client = setup.connect();
    run(
        &mut client,
        "CREATE TABLE note (id text, text text, day date, number integer)",
    );
    Some((setup, client))
}

#[test]
fn a_table_is_made_anew_with_other_columns_in_one_text() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let text = format!(
        "DROP TABLE note; CREATE TABLE note (text text, id text, day date, number integer); \
         INSERT INTO note VALUES ('{CANARY}', 'x')"
    );
    run(&mut client, &text);
    let rows = ask(&mut client, "SELECT text, id FROM note");
    assert_eq!(rows, [format!("{CANARY}|x")]);
    // Where it may be the one that is there, nobody knows which columns it has.
    let text = format!(
        "DROP TABLE IF EXISTS note; CREATE TABLE IF NOT EXISTS note (id text, text text, day \
         date, number integer); INSERT INTO note VALUES ('x', '{CANARY}')"
    );
    client.batch_execute(&text).expect_err("refused");
    let text = format!(
        "DROP TABLE IF EXISTS note; CREATE TABLE IF NOT EXISTS note (text text, id text, day \
         date, number integer); INSERT INTO note VALUES ('{CANARY}', 'y')"
    );
    run(&mut client, &text);
    let rows = ask(&mut client, "SELECT text, id FROM note");
    assert_eq!(rows, [format!("{CANARY}|y")]);
}

#[test]
fn a_view_is_made_anew_over_protected_columns_in_one_text() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(
        &mut client,
        &format!("INSERT INTO note VALUES ('x', '{CANARY}')"),
    );
    run(&mut client, "CREATE VIEW v AS SELECT id AS a FROM note");
    run(
        &mut client,
        "DROP VIEW v; CREATE VIEW v AS SELECT text AS a, id AS b FROM note; \
         CREATE TABLE seen (a text)",
    );
    assert_eq!(ask(&mut client, "SELECT a FROM v"), [CANARY]);
    let text = format!(
        "DROP VIEW v; CREATE VIEW v AS SELECT id AS b, text AS a FROM note; \
         INSERT INTO v (a, b) VALUES ('{CANARY}2', 'y')"
    );
    run(&mut client, &text);
    let rows = ask(&mut client, "SELECT text FROM note WHERE id = 'y'");
    assert_eq!(rows, [format!("{CANARY}2")]);
}

/// What the reader of the catalogues rejects would stop every statement of the database.
#[test]
fn nothing_is_made_that_is_not_read_again() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(&mut client, "CREATE TABLE person (name text, born date)");
    run(&mut client, "CREATE TABLE kept (text bytea)");
    for text in [
        "CREATE TABLE customer (id integer, name text, CHECK (name IS NOT NULL))",
        "CREATE TABLE customer (id integer, name text, has boolean GENERATED ALWAYS AS (name IS \
         NOT NULL) STORED)",
        "ALTER TABLE note ADD CHECK (text IS NOT NULL)",
        "CREATE POLICY p ON note USING (text IS NOT NULL)",
        "CREATE TABLE customer () INHERITS (person)",
        "CREATE TABLE child () INHERITS (note, kept)",
    ] {
        client.batch_execute(text).expect_err(text);
        run(&mut client, "SELECT count(*) FROM note");
    }
    let text = format!(
        "CREATE TABLE customer () INHERITS (person); INSERT INTO customer VALUES ('{CANARY}')"
    );
    client.batch_execute(&text).expect_err("refused");
    run(&mut client, "CREATE TABLE child () INHERITS (note)");
    run(&mut client, "SELECT count(*) FROM child");
}

#[test]
fn a_column_is_not_dropped_from_the_parent_alone() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(&mut client, "CREATE TABLE sole (id text, text text)");
    run(&mut client, "CREATE TABLE vip () INHERITS (sole)");
    let drop = "ALTER TABLE ONLY sole DROP COLUMN text";
    client.batch_execute(drop).expect_err("refused");
    run(
        &mut client,
        &format!("INSERT INTO vip VALUES ('x', '{CANARY}')"),
    );
    assert_eq!(ask(&mut client, "SELECT text FROM vip"), [CANARY]);
}

#[test]
fn a_column_that_is_dropped_and_added_has_a_guard() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let text = "ALTER TABLE note DROP COLUMN text, ADD COLUMN text text";
    run(&mut client, text);
    let past = setup
        .server
        .connect()
        .batch_execute("INSERT INTO note (id, text) VALUES ('x', 'in clear'::bytea)");
    let error = past.expect_err("the guard refuses it");
    assert_eq!(error.code().map(|code| code.code()), Some("23514"));
    run(
        &mut client,
        &format!("INSERT INTO note (id, text) VALUES ('x', '{CANARY}')"),
    );
    assert_eq!(ask(&mut client, "SELECT text FROM note"), [CANARY]);
}

#[test]
fn functions_that_read_protected_tables_are_not_read_into_others() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let mut past = setup.server.connect();
    let text = "CREATE FUNCTION reads() RETURNS SETOF note LANGUAGE sql AS 'SELECT * FROM note'; \
                CREATE FUNCTION adds(text) RETURNS integer LANGUAGE plpgsql AS $$BEGIN \
                EXECUTE 'INSERT INTO note (text) VALUES ($1)' USING $1; RETURN 1; END$$";
    run(&mut past, text);
    // The proxy looks again.
    run(&mut client, "CREATE TABLE wakes_all (id integer)");
    for text in [
        "CREATE TABLE copied AS SELECT * FROM reads()",
        "CREATE MATERIALIZED VIEW copied AS SELECT * FROM reads()",
        "CREATE VIEW copied AS SELECT * FROM reads()",
        "CREATE TABLE copied AS SELECT adds('x') AS n",
    ] {
        client.batch_execute(text).expect_err(text);
    }
}

#[test]
fn a_schema_with_rules_is_not_renamed_by_a_block() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(&mut client, "CREATE SCHEMA other");
    for (schema, is_refused) in [("public", true), ("other", false)] {
        let text = format!("DO $$BEGIN ALTER SCHEMA {schema} RENAME TO old; END$$");
        let done = client.batch_execute(&text);
        assert_eq!(done.is_err(), is_refused, "{schema}: {done:?}");
    }
}

/// The server evaluates conditions of the finisher's queries where it can: not those that choose
/// rows anew, or read what it does not have.
#[test]
fn conditions_that_choose_rows_stay_with_the_finisher() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    run(&mut client, "CREATE TABLE lines (id integer, note text)");
    for number in 0..20 {
        let text = format!(
            "INSERT INTO note VALUES ('{number}', 'word{}', '2026-01-0{}', {number})",
            number % 3,
            number % 2 + 1,
        );
        run(&mut client, &text);
        let text = format!("INSERT INTO lines VALUES ({number}, '{}')", number % 5);
        run(&mut client, &text);
    }
    let text = "WITH fresh AS (SELECT id FROM note WHERE text LIKE '%1') \
                SELECT count(*) FROM lines l WHERE l.note IN (SELECT id FROM fresh)";
    assert_eq!(ask(&mut client, text), ["8"]);
    let text = "WITH fresh AS (SELECT id FROM note WHERE text LIKE '%1') \
                SELECT count(*) FROM lines l WHERE EXISTS (SELECT 1 FROM fresh f WHERE f.id = \
                l.note)";
    assert_eq!(ask(&mut client, text), ["8"]);
    let text = "SELECT count(*) FROM note WHERE number IN (SELECT number FROM note ORDER BY number \
                LIMIT 7) AND text LIKE '%1'";
    assert_eq!(ask(&mut client, text), ["2"]);
}
