//! Leaks and wrong answers that other products of this kind have had, one test each, against a real
//! server. How each is planned is tested in `sql-rewrite`; here is what comes of it.
//!
//! What a test asks of the proxy is the right answer or a refusal (0A000), and never a plaintext:
//! the tap and the server's files are searched when each ends.
//!
//! Two of the list are not here. A statement without a name that is used again behind BEGIN, with
//! another schema or under another search path: `again.rs`. And sessions that stood still while a
//! token of access was renewed: there is none. The key is read once, when the proxy starts; the
//! file of logins is read anew when it changes, which is tested in `logins.rs`
//! (`a_changed_password_is_told_and_the_file_is_read_anew`).

use std::io::{Read, Write};

use crate::common::Setup;
use crate::common::texts::answer;
use crate::common::wire::{Session, put_text};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Error};
use wire_postgres::backend::{kind, read_fields};
use wire_postgres::frontend;

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(20)" }
mail = { type = "text", mode = "equality" }
born = { type = "date", mode = "order" }
salary = { type = "numeric(12,2)" }

[columns.document]
content = { type = "json" }
"#;

const CREATE: &str = "CREATE TABLE person (id integer PRIMARY KEY, name varchar(20), mail text, \
                      born date, salary numeric(12,2), active boolean)";

const ROWS: &str = "INSERT INTO person VALUES \
                    (1, 'CANARYann', 'CANARYa@x', '2001-02-03', 100.50, true), \
                    (2, 'CANARYbob', 'CANARYb@x', '1999-01-01', 200, false), \
                    (3, 'CANARYann', 'CANARYa@x', '2005-06-07', 300, true)";

fn start() -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    client.batch_execute(CREATE).expect("made");
    client.batch_execute(ROWS).expect("inserted");
    Some((setup, client))
}

fn is_refusal(error: &Error) -> bool {
    error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
}

#[track_caller]
fn assert_answer(client: &mut Client, statement: &str, rows: &[&str]) {
    let mut found = answer(client, statement).expect(statement);
    if !statement.contains("ORDER BY") {
        found.sort();
    }
    assert_eq!(found, rows, "{statement}");
}

#[track_caller]
fn assert_right_or_refused(client: &mut Client, statement: &str, rows: &[&str]) {
    match answer(client, statement) {
        Ok(mut found) => {
            if !statement.contains("ORDER BY") {
                found.sort();
            }
            assert_eq!(found, rows, "{statement}");
        }
        Err(error) => assert!(is_refusal(&error), "{statement}: {error:?}"),
    }
}

#[track_caller]
fn assert_refused(client: &mut Client, statement: &str) {
    let error = answer(client, statement).expect_err(statement);
    assert!(is_refusal(&error), "{statement}: {error:?}");
}

#[test]
fn on_conflict_do_update_seals_what_it_sets() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let statement = "INSERT INTO person (id, mail) VALUES (1, 'CANARYnew') \
                     ON CONFLICT (id) DO UPDATE SET mail = 'CANARYset', name = 'CANARYtoo'";
    client.batch_execute(statement).expect("it conflicts");
    assert_answer(
        &mut client,
        "SELECT mail, name FROM person WHERE id = 1",
        &["CANARYset|CANARYtoo"],
    );
    let statement = "INSERT INTO person (id, mail) VALUES ($1, $2) \
                     ON CONFLICT (id) DO UPDATE SET mail = EXCLUDED.mail";
    let changed = client.execute(statement, &[&1, &"CANARYexcluded"]);
    assert_eq!(changed.expect("it conflicts"), 1);
    assert_answer(
        &mut client,
        "SELECT id FROM person WHERE mail = 'CANARYexcluded'",
        &["1"],
    );
}

#[test]
fn on_conflict_on_a_random_column_is_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_refused(
        &mut client,
        "INSERT INTO person (id, name) VALUES (9, 'CANARYx') ON CONFLICT (name) DO NOTHING",
    );
}

#[test]
fn a_comparand_that_is_tested_for_null_is_not_sent_in_clear() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let statement = "SELECT id FROM person WHERE $1::text IS NULL OR mail = $1::text";
    for (value, count) in [(Some("CANARYa@x"), 2), (None, 3), (Some("CANARYno"), 0)] {
        match client.query(statement, &[&value]) {
            Ok(rows) => assert_eq!(rows.len(), count, "{value:?}"),
            Err(error) => assert!(is_refusal(&error), "{error:?}"),
        }
    }
}

#[test]
fn distinct_group_and_windows_are_not_computed_on_ciphertext() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_right_or_refused(
        &mut client,
        "SELECT DISTINCT name FROM person",
        &["CANARYann", "CANARYbob"],
    );
    assert_right_or_refused(
        &mut client,
        "SELECT count(DISTINCT name) FROM person",
        &["2"],
    );
    assert_right_or_refused(
        &mut client,
        "SELECT name, count(*) FROM person GROUP BY name",
        &["CANARYann|2", "CANARYbob|1"],
    );
    assert_right_or_refused(
        &mut client,
        "SELECT id FROM person ORDER BY name DESC, salary",
        &["2", "1", "3"],
    );
    assert_refused(
        &mut client,
        "SELECT row_number() OVER (ORDER BY name) FROM person",
    );
    assert_refused(
        &mut client,
        "SELECT rank() OVER (PARTITION BY name) FROM person",
    );
    // What the modes allow is the server's, and right.
    assert_answer(
        &mut client,
        "SELECT count(DISTINCT mail) FROM person",
        &["2"],
    );
    assert_answer(
        &mut client,
        "SELECT mail, count(*) FROM person GROUP BY mail",
        &["CANARYa@x|2", "CANARYb@x|1"],
    );
    assert_answer(
        &mut client,
        "SELECT row_number() OVER (ORDER BY born), born FROM person",
        &["1|1999-01-01", "2|2001-02-03", "3|2005-06-07"],
    );
}

#[test]
fn copies_of_a_table_are_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_refused(&mut client, "SELECT * INTO copy FROM person");
    assert_refused(&mut client, "CREATE TABLE copy AS SELECT name FROM person");
    // A view that is stored holds what the column holds.
    let made = client.batch_execute("CREATE MATERIALIZED VIEW stored AS SELECT name FROM person");
    if made.is_ok() {
        assert_right_or_refused(
            &mut client,
            "SELECT name FROM stored",
            &["CANARYann", "CANARYann", "CANARYbob"],
        );
    }
}

#[test]
fn within_group_is_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_refused(
        &mut client,
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY salary) FROM person",
    );
}

#[test]
fn operands_in_either_order_mean_the_same() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_answer(
        &mut client,
        "SELECT id FROM person WHERE 'CANARYb@x' = mail",
        &["2"],
    );
    assert_refused(&mut client, "SELECT id FROM person WHERE 'CANARYx' @@ name");
    assert_right_or_refused(
        &mut client,
        "SELECT id FROM person WHERE 'CANARYbob' = name",
        &["2"],
    );
    assert_right_or_refused(
        &mut client,
        "SELECT id FROM person WHERE 250 < salary",
        &["3"],
    );
}

#[test]
fn paths_into_protected_values_are_refused() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    assert_refused(
        &mut client,
        "SELECT name -> 'CANARYa' ->> 'CANARYb' FROM person",
    );
    assert_refused(&mut client, "SELECT to_json(person) FROM person");
    assert_refused(&mut client, "SELECT (person).name FROM person");
}

#[test]
fn paths_into_protected_json_are_refused() {
    const CONTENT: &str = r#"{"CANARYa": {"CANARYb": "CANARYdeep"}}"#;
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("CREATE TABLE document (id integer PRIMARY KEY, content json)")
        .expect("made");
    client
        .batch_execute(&format!("INSERT INTO document VALUES (1, '{CONTENT}')"))
        .expect("inserted");
    for path in [
        "content -> 'CANARYa'",
        "content ->> 'CANARYa'",
        "content -> 'CANARYa' ->> 'CANARYb'",
        "content #>> '{CANARYa,CANARYb}'",
        "content::jsonb -> 'CANARYa' ->> 'CANARYb'",
        "json_extract_path_text(content, 'CANARYa', 'CANARYb')",
    ] {
        assert_refused(&mut client, &format!("SELECT {path} FROM document"));
        let condition = format!("{path} = 'CANARYdeep'");
        assert_refused(
            &mut client,
            &format!("SELECT id FROM document WHERE {condition}"),
        );
        assert_refused(
            &mut client,
            &format!("DELETE FROM document WHERE {condition}"),
        );
        let by_parameter = format!("SELECT id FROM document WHERE {path} = $1");
        let error = client.query(&by_parameter, &[&"CANARYdeep"]);
        let error = error.expect_err("a path into ciphertext");
        assert!(is_refusal(&error), "{path}: {error:?}");
    }
    assert_answer(
        &mut client,
        "SELECT id, content FROM document",
        &[&format!("1|{CONTENT}")],
    );
}

#[test]
fn an_unnamed_statement_that_is_used_again_has_its_own_plan() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("CREATE TABLE plain (name text)")
        .expect("made");
    let mut transaction = client.transaction().expect("begun");
    for round in 0..3 {
        let name = format!("public{round}");
        let one = transaction.query_typed(
            "INSERT INTO plain VALUES ($1) RETURNING name",
            &[(&name, Type::TEXT)],
        );
        assert_eq!(one.expect("one row")[0].get::<_, &str>(0), name);
        let mail = format!("CANARY{round}");
        let two = transaction.query_typed(
            "UPDATE person SET mail = $1 WHERE id = 2 RETURNING mail",
            &[(&mail, Type::TEXT)],
        );
        assert_eq!(two.expect("one row")[0].get::<_, &str>(0), mail);
    }
    transaction.commit().expect("committed");
}

#[test]
fn one_parameter_in_two_roles_is_two_values() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let changed = client.execute(
        "UPDATE person SET name = $1, mail = $1 WHERE mail = $1 OR id = $2",
        &[&"CANARYb@x", &2],
    );
    match changed {
        Ok(count) => assert_eq!(count, 1),
        Err(error) => {
            assert!(is_refusal(&error), "{error:?}");
            return;
        }
    }
    assert_answer(
        &mut client,
        "SELECT name, mail FROM person WHERE id = 2",
        &["CANARYb@x|CANARYb@x"],
    );
}

#[test]
fn a_parameter_is_not_stored_in_clear_beside() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("CREATE TABLE plain (mail text)")
        .expect("made");
    // The same parameter for a protected column and for the server itself.
    let statement = "SELECT md5($1) FROM person WHERE mail = $1";
    let error = client
        .query(statement, &[&"CANARYa@x"])
        .expect_err("it would be sent");
    assert!(is_refusal(&error), "{error:?}");
    assert_refused(&mut client, "INSERT INTO plain SELECT mail FROM person");
    assert_refused(
        &mut client,
        "UPDATE plain SET mail = person.mail FROM person",
    );
}

/// All answers to the messages of a pipeline, up to ReadyForQuery.
fn pipeline(setup: &Setup, messages: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut session = Session::connect(setup.proxy.address.port());
    session.send(messages);
    session.messages()
}

#[test]
fn an_error_of_the_proxy_comes_in_its_order() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let mut messages = Vec::new();
    put_text("SELECT pg_sleep(0.3)", &mut messages);
    put_text(
        "INSERT INTO person (id, mail) VALUES (7, 'CANARYseven')",
        &mut messages,
    );
    put_text("SELECT md5(name) FROM person", &mut messages);
    put_text(
        "INSERT INTO person (id, mail) VALUES (8, 'CANARYeight')",
        &mut messages,
    );
    messages.extend(b"S\0\0\0\x04");
    let said = pipeline(&setup, &messages);
    let kinds: Vec<u8> = said.iter().map(|(kind, _)| *kind).collect();
    // Two statements are done, the third fails, the fourth is left out.
    assert_eq!(String::from_utf8_lossy(&kinds), "12DC12CEZ");
    let fields = read_fields(&said[7].1).expect("well formed");
    assert!(fields.contains(&(b'C', &b"0A000"[..])), "{fields:?}");
    // The pipeline was one transaction.
    assert_answer(&mut client, "SELECT id FROM person WHERE id IN (7, 8)", &[]);
}

#[test]
fn a_table_of_the_same_name_in_another_schema_is_another_table() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client.batch_execute("CREATE SCHEMA other").expect("made");
    client
        .batch_execute("CREATE TABLE other.person (id integer, name varchar(20))")
        .expect("made");
    client
        .batch_execute("INSERT INTO other.person VALUES (1, 'public')")
        .expect("inserted");
    assert_answer(
        &mut client,
        "SELECT name FROM other.person WHERE name = 'public'",
        &["public"],
    );
    client
        .batch_execute("SET search_path TO other, public")
        .expect("set");
    let error = client
        .batch_execute("SELECT name FROM person")
        .expect_err("the protected table may be meant");
    assert_eq!(error.code().map(|code| code.code()), Some("F0000"));
    assert_answer(&mut client, "SELECT name FROM other.person", &["public"]);
    client
        .batch_execute("SET search_path TO public")
        .expect("set");
    client
        .batch_execute("INSERT INTO person (id, name) VALUES (9, 'CANARYnine')")
        .expect("inserted");
    assert_answer(
        &mut client,
        "SELECT name FROM person WHERE id = 9",
        &["CANARYnine"],
    );
}

#[test]
fn a_search_path_that_a_rollback_takes_back_is_taken_back() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client.batch_execute("CREATE SCHEMA other").expect("made");
    client
        .batch_execute("CREATE TABLE other.person (id integer, mail text)")
        .expect("made");
    client.batch_execute("BEGIN").expect("begun");
    client
        .batch_execute("SET search_path TO other")
        .expect("set");
    client
        .batch_execute("INSERT INTO other.person (id, mail) VALUES (1, 'public')")
        .expect("inserted");
    client.batch_execute("ROLLBACK").expect("rolled back");
    client
        .batch_execute("INSERT INTO person (id, mail) VALUES (5, 'CANARYback')")
        .expect("inserted");
    assert_answer(
        &mut client,
        "SELECT id FROM person WHERE mail = 'CANARYback'",
        &["5"],
    );
}

#[test]
fn a_suffix_is_not_appended_to_ciphertext() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    let statement = "UPDATE person SET mail = mail || 'CANARYsuffix' WHERE id = 1";
    match client.batch_execute(statement) {
        Ok(()) => assert_answer(
            &mut client,
            "SELECT mail FROM person WHERE id = 1",
            &["CANARYa@xCANARYsuffix"],
        ),
        Err(error) => {
            assert!(is_refusal(&error), "{error:?}");
            assert_answer(
                &mut client,
                "SELECT mail FROM person WHERE id = 1",
                &["CANARYa@x"],
            );
        }
    }
}

#[test]
fn updates_by_case_and_join_write_no_plaintext() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    client
        .batch_execute("CREATE TABLE plain (id integer, mail text)")
        .expect("made");
    for statement in [
        "UPDATE person SET mail = CASE WHEN active THEN 'CANARYcase' ELSE mail END",
        "UPDATE person SET mail = (SELECT 'CANARYsub')",
        "UPDATE person SET mail = COALESCE('CANARYcoalesce', mail)",
        "UPDATE person SET mail = v.m FROM (VALUES ('CANARYvalues')) v(m)",
        "UPDATE person SET mail = plain.mail FROM plain WHERE plain.id = 1",
        "WITH w AS (SELECT 'CANARYwith' AS m) UPDATE person SET mail = w.m FROM w",
        "MERGE INTO person USING plain ON person.active WHEN MATCHED THEN \
         UPDATE SET mail = 'CANARYmerge'",
    ] {
        if let Err(error) = client.batch_execute(statement) {
            assert!(is_refusal(&error), "{statement}: {error:?}");
        }
    }
}

#[test]
fn sql_level_statements_cursors_and_blocks_leak_nothing() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for statement in [
        "PREPARE p AS SELECT id FROM person WHERE mail = 'CANARYprepare'",
        "PREPARE q(text) AS UPDATE person SET name = $1",
        "BEGIN; DECLARE c CURSOR FOR SELECT id FROM person WHERE mail = 'CANARYcursor'; COMMIT",
        "DO $$ BEGIN UPDATE person SET name = 'CANARYdo'; END $$",
        "EXPLAIN SELECT id FROM person WHERE mail = 'CANARYexplain'",
        "EXPLAIN ANALYZE UPDATE person SET mail = 'CANARYanalyze'",
        "CREATE VIEW v AS SELECT id FROM person WHERE mail = 'CANARYview'",
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS \
         $$ SELECT id FROM person WHERE mail = 'CANARYfunction' $$",
        "ALTER TABLE person ALTER COLUMN mail SET DEFAULT 'CANARYdefault'",
        "ALTER TABLE person ADD CHECK (mail <> 'CANARYcheck')",
        "CREATE INDEX ON person (mail) WHERE mail = 'CANARYpartial'",
        "COMMENT ON TABLE person IS 'public'",
    ] {
        // Refused, or done without a word to the server: the search in the end tells.
        let _ = client.batch_execute(statement);
        let _ = client.batch_execute("ROLLBACK");
    }
}

#[test]
fn a_statement_of_the_protocol_is_not_executed_by_sql_in_clear() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    // The server has it with parameters of type bytea: it would take the text as it is.
    let mut messages = Vec::new();
    let insert = b"INSERT INTO person (id, mail) VALUES ($1, $2)";
    frontend::write_parse(b"own", insert, [23, 25].into_iter(), &mut messages);
    frontend::write_query(b"EXECUTE own(9, 'CANARYclear')", &mut messages);
    let said = pipeline(&setup, &messages);
    let is_refused = said.iter().any(|(letter, _)| *letter == kind::ERROR);
    let rows: &[&str] = if is_refused { &[] } else { &["CANARYclear"] };
    assert_answer(&mut client, "SELECT mail FROM person WHERE id = 9", rows);
}

#[test]
fn a_portal_that_is_suspended_gives_its_rows_in_parts() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for id in 10..40 {
        let name = format!("CANARY{id}");
        let inserted = client.execute(
            "INSERT INTO person (id, name) VALUES ($1, $2)",
            &[&id, &name],
        );
        assert_eq!(inserted.expect("inserted"), 1);
    }
    let mut transaction = client.transaction().expect("begun");
    let portal = transaction
        .bind("SELECT id, name FROM person WHERE born IS NULL", &[])
        .expect("bound");
    let mut names = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 7).expect("rows");
        if rows.is_empty() {
            break;
        }
        assert!(rows.len() <= 7);
        for row in rows {
            let (id, name): (i32, String) = (row.get(0), row.get(1));
            assert_eq!(name, format!("CANARY{id}"));
            names.push(name);
        }
    }
    assert_eq!(names.len(), 30);
}

#[test]
fn copy_leaks_nothing_in_either_direction() {
    let Some((setup, mut client)) = start() else {
        return;
    };
    let rows = "20\tCANARYcopied\tCANARYc@x\t2001-01-01\t5.5\tt\n";
    let copied = client
        .copy_in("COPY person FROM STDIN")
        .and_then(|mut writer| {
            writer.write_all(rows.as_bytes()).expect("it is taken");
            writer.finish()
        });
    match copied {
        Ok(count) => {
            assert_eq!(count, 1);
            assert_answer(
                &mut client,
                "SELECT name, mail FROM person WHERE id = 20",
                &["CANARYcopied|CANARYc@x"],
            );
        }
        Err(error) => assert!(is_refusal(&error), "{error:?}"),
    }
    let mut client = setup.connect();
    let mut text = String::new();
    match client.copy_out("COPY person (name) TO STDOUT") {
        Ok(mut reader) => {
            reader.read_to_string(&mut text).expect("text");
            assert!(text.contains("CANARYbob\n"), "{text}");
        }
        Err(error) => assert!(is_refusal(&error), "{error:?}"),
    }
    // Files of the server are nobody's business.
    let _ = client.batch_execute("COPY person TO '/dev/null'");
    let _ = client.batch_execute("COPY (SELECT mail FROM person WHERE mail = 'CANARYq') TO STDOUT");
}

#[test]
fn what_is_not_parsed_is_not_passed() {
    let Some((_setup, mut client)) = start() else {
        return;
    };
    for (statement, code) in [
        (
            "SELECT id FROM person WHERE mail = 'CANARYnotparsed' garbage(",
            "42601",
        ),
        ("UPDATE person SET mail = 'CANARYunfinished", "42601"),
        (
            "SELECT * FROM U&\"\\0070erson\" WHERE mail = 'CANARYunicode'",
            "42601",
        ),
        (
            "TABLE person; SELECT 'x' FROM person WHERE mail = 'CANARYsecond' ???",
            "42601",
        ),
    ] {
        let error = client.batch_execute(statement).expect_err(statement);
        let said = error.as_db_error().expect("it was told");
        assert_eq!(said.code().code(), code, "{statement}: {said:?}");
        let is_proxys = said.message().contains("names protected table");
        assert!(is_proxys, "{statement}: {said:?}");
    }
    for statement in [
        "SELECT id FROM ONLY (person) WHERE mail = 'CANARYonly'",
        "SELECT id FROM person p TABLESAMPLE SYSTEM (10) WHERE mail = 'CANARYsample'",
    ] {
        client.batch_execute(statement).expect("it is parsed");
    }
}
