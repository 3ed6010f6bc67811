//! What a session believes of schema, path and settings, where it may not hold any more.

use crate::common::Setup;
use crate::common::leaks::CANARY;
use crate::common::texts::{ask, run};
use crate::common::wire::{SYNC, Session, put_text};
use postgres::Client;
use wire_postgres::frontend;

mod prepared;

const RULES: &str = "\
[columns.visit]
at = { type = \"timestamp with time zone\" }
note = { type = \"text\" }
";

const TABLE: &str = "\
CREATE TABLE visit (
    id integer PRIMARY KEY,
    at timestamp with time zone,
    note text
);
CREATE SCHEMA other";

fn begin() -> Option<(Setup, Client)> {
    begin_with("")
}

fn begin_with(more: &str) -> Option<(Setup, Client)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, more);
    let mut client = setup.connect();
    run(&mut client, TABLE);
    // The same name without rules.
    let past = setup.server.connect();
    let text = "CREATE TABLE other.visit (id integer, at timestamp with time zone, note text)";
    run(&mut { past }, text);
    run(&mut client, "CREATE TABLE wakes_all (id integer)");
    Some((setup, client))
}

#[track_caller]
fn state(client: &mut Client, text: &str) -> String {
    let error = client.batch_execute(text).expect_err("it is refused");
    let code = error.code().expect("of the server or the proxy");
    code.code().to_owned()
}

fn session(setup: &Setup) -> Session {
    Session::connect(setup.proxy.address.port())
}

fn query(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::write_query(text.as_bytes(), &mut out);
    out
}

/// The server takes the last name. What is in that database would be known by the first one, and
/// the view of the first one not be known any more.
#[test]
fn a_session_names_its_database_once() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let port = setup.proxy.address.port();
    let view = "CREATE VIEW shown AS SELECT id, note FROM visit";
    run(&mut client, view);
    for parameters in [
        &b"user\0postgres\0database\0postgres\0database\0template1\0"[..],
        b"user\0postgres\0user\0postgres\0database\0template1\0",
    ] {
        let (_, said) = Session::begin(port, parameters);
        assert!(said.is_over, "{said:?}");
        assert_eq!((&*said.severity, &*said.code), ("FATAL", "08P01"));
    }
    let text = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY}')");
    run(&mut setup.connect(), &text);
    assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
}

/// The server cuts what is longer than 63 bytes.
#[test]
fn a_database_by_another_name_is_refused() {
    let Some((setup, _client)) = begin() else {
        return;
    };
    let name = "n".repeat(63);
    let mut direct = setup.server.connect();
    run(&mut direct, &format!("CREATE DATABASE {name}"));
    let begin = |name: &str| {
        let parameters = format!("user\0postgres\0database\0{name}\0");
        Session::begin(setup.proxy.address.port(), parameters.as_bytes())
    };
    let longer = format!("{name}nnn");
    let (mut session, said) = begin(&longer);
    if said.is_over {
        // A version that cuts nothing knows no such database.
        assert_eq!(said.code, "3D000", "{said:?}");
    } else {
        for _ in 0..2 {
            let said = session.query("SELECT 1");
            assert_eq!(said.code, "F0000", "{said:?}");
            assert!(said.message.contains(&longer), "{said:?}");
        }
    }
    let (mut session, said) = begin(&name);
    assert!(!said.is_over, "{said:?}");
    let said = session.query("SELECT current_database()");
    assert_eq!(said.rows, [[Some(name)]], "{said:?}");
}

#[test]
fn a_time_zone_holds_for_what_follows_it_in_a_pipeline() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let mut messages = Vec::new();
    put_text("SET TIME ZONE 'Asia/Tokyo'", &mut messages);
    let text = "INSERT INTO visit (id, at) VALUES (1, '2024-01-01 00:00')";
    put_text(text, &mut messages);
    put_text("SELECT at FROM visit WHERE id = 1", &mut messages);
    messages.extend(SYNC);
    let said = session(&setup).say(&messages);
    assert_eq!(said.code, "", "{said:?}");
    assert_eq!(said.rows, [[Some("2024-01-01 00:00:00+09".to_owned())]]);
    run(&mut client, "SET TIME ZONE 'UTC'");
    let at = ask(&mut client, "SELECT at FROM visit WHERE id = 1");
    assert_eq!(at, ["2023-12-31 15:00:00+00"]);
}

#[test]
fn a_time_zone_of_a_transaction_ends_with_it() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let mut wire = session(&setup);
    wire.query("SET TIME ZONE 'UTC'");
    let texts = [
        "BEGIN",
        "SET LOCAL TIME ZONE 'Asia/Tokyo'",
        "INSERT INTO visit (id, at) VALUES (1, '2024-01-01 00:00')",
        "COMMIT",
        "INSERT INTO visit (id, at) VALUES (2, '2024-01-01 00:00')",
    ];
    wire.send(&texts.map(query).concat());
    for _ in texts {
        let said = wire.answer();
        assert_eq!(said.code, "", "{said:?}");
    }
    run(&mut client, "SET TIME ZONE 'UTC'");
    let at = ask(&mut client, "SELECT at FROM visit ORDER BY id");
    assert_eq!(at, ["2023-12-31 15:00:00+00", "2024-01-01 00:00:00+00"]);
}

#[test]
fn a_path_of_a_transaction_ends_with_it_where_the_next_one_is_chained() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    for (number, end) in ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN"]
        .iter()
        .enumerate()
    {
        run(&mut client, "BEGIN");
        run(&mut client, "SET LOCAL search_path TO other");
        run(
            &mut client,
            "INSERT INTO other.visit (id, note) VALUES (1, 'plain')",
        );
        run(&mut client, end);
        let text = format!("INSERT INTO visit (id, note) VALUES ({number}, '{CANARY}{number}')");
        run(&mut client, &text);
        run(&mut client, "COMMIT");
        let text = format!("SELECT note FROM public.visit WHERE id = {number}");
        assert_eq!(ask(&mut client, &text), [format!("{CANARY}{number}")]);
    }
    assert_eq!(ask(&mut client, "SELECT count(*) FROM other.visit"), ["1"]);
}

#[test]
fn a_path_of_a_transaction_ends_with_it_where_nobody_waits() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    for (number, end) in ["ROLLBACK", "COMMIT"].iter().enumerate() {
        let mut wire = session(&setup);
        for text in [
            "BEGIN",
            "SET LOCAL search_path TO other",
            "SELECT 1 FROM other.visit",
        ] {
            let said = wire.query(text);
            assert_eq!(said.code, "", "{said:?}");
        }
        let text = format!("INSERT INTO visit (id, note) VALUES ({number}, '{CANARY}{number}')");
        wire.send(&[query(end), query(&text)].concat());
        for _ in 0..2 {
            let said = wire.answer();
            assert_eq!(said.code, "", "{said:?}");
        }
        let text = format!("SELECT note FROM public.visit WHERE id = {number}");
        assert_eq!(ask(&mut client, &text), [format!("{CANARY}{number}")]);
    }
}

/// A pooled session in a long transaction, while another one migrates.
#[test]
fn changes_of_others_are_seen_after_a_transaction_that_looked_by_itself() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "BEGIN");
    run(&mut client, "SELECT 1");
    run(&mut setup.connect(), "CREATE TABLE more (id integer)");
    run(&mut client, "SELECT 1");
    run(&mut client, "COMMIT");
    let view = "CREATE VIEW shown AS SELECT id, note FROM visit";
    run(&mut setup.connect(), view);
    let text = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY} by a view')");
    run(&mut client, &text);
    let note = ask(&mut client, "SELECT note FROM visit");
    assert_eq!(note, [format!("{CANARY} by a view")]);
}

/// The server finds names by what is committed, whatever the transaction sees.
#[test]
fn a_fixed_snapshot_does_not_hide_what_names_mean() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        run(&mut client, &format!("BEGIN ISOLATION LEVEL {level}"));
        run(&mut client, "SELECT count(*) FROM wakes_all");
        let view = "CREATE OR REPLACE VIEW shown AS SELECT id, note FROM visit";
        run(&mut setup.connect(), view);
        let text = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY}')");
        assert_eq!(state(&mut client, &text), "40001", "{level}");
        run(&mut client, "ROLLBACK");
        run(&mut client, &text);
        assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
        run(&mut client, "DELETE FROM visit");
        run(&mut client, "DROP VIEW shown");
    }
}

/// PostgreSQL's own tests do so: what a session takes back of its own changes is of no other.
#[test]
fn a_fixed_snapshot_lasts_beyond_a_rollback_to_a_savepoint() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    for (id, level) in [(1, "REPEATABLE READ"), (2, "SERIALIZABLE")] {
        run(&mut client, &format!("BEGIN ISOLATION LEVEL {level}"));
        run(&mut client, &format!("CREATE TABLE mine{id} (id integer)"));
        run(&mut client, "SAVEPOINT a");
        run(&mut client, &format!("INSERT INTO mine{id} VALUES (1)"));
        run(&mut client, "CREATE TABLE gone (id integer)");
        run(&mut client, "ROLLBACK TO a");
        run(&mut client, "SAVEPOINT b");
        run(
            &mut client,
            &format!("INSERT INTO visit (id, note) VALUES ({id}, '{CANARY}')"),
        );
        run(&mut client, "COMMIT");
    }
    let notes = ask(&mut client, "SELECT note FROM visit ORDER BY id");
    assert_eq!(notes, [CANARY, CANARY]);
}

#[test]
fn now_is_the_beginning_of_the_transaction() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    let insert = |id: i32| format!("INSERT INTO visit (id, at) VALUES ({id}, now())");
    run(&mut client, "BEGIN");
    run(&mut client, "SELECT pg_sleep(0.02)");
    run(&mut client, &insert(1));
    run(&mut client, "SELECT pg_sleep(0.02)");
    run(&mut client, &insert(2));
    run(&mut client, "COMMIT");
    run(&mut client, "SELECT pg_sleep(0.02)");
    run(&mut client, &insert(3));
    let at = ask(&mut client, "SELECT at FROM visit ORDER BY id");
    assert_eq!(at[0], at[1]);
    assert_ne!(at[1], at[2]);
}

#[test]
fn a_block_that_sets_the_path_is_looked_behind() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "SET search_path TO other, public");
    let block = "DO $$BEGIN PERFORM set_config('search_path', 'public', false); END$$";
    run(&mut client, block);
    let text = format!("INSERT INTO visit (id, note) VALUES (1, '{CANARY}')");
    run(&mut client, &text);
    assert_eq!(ask(&mut client, "SELECT note FROM public.visit"), [CANARY]);
}

#[test]
fn a_temporary_table_hides_a_plain_one() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "CREATE TABLE orders (id integer, what text)");
    run(&mut client, "INSERT INTO orders VALUES (1, 'all')");
    run(
        &mut client,
        &format!("INSERT INTO visit (id, note) VALUES (1, '{CANARY}')"),
    );
    let join = "SELECT o.what FROM orders o JOIN visit v ON v.id = o.id";
    assert_eq!(ask(&mut client, join), ["all"]);
    run(
        &mut client,
        "CREATE TEMP TABLE orders (id integer, what text)",
    );
    run(&mut client, "INSERT INTO orders VALUES (1, 'own')");
    assert_eq!(ask(&mut client, join), ["own"]);
    run(&mut client, "SET search_path TO public, pg_temp");
    assert_eq!(ask(&mut client, join), ["all"]);
}

#[test]
fn what_is_computed_takes_bounded_memory() {
    let Some((_setup, mut client)) = begin_with("max_finish_bytes = 200000") else {
        return;
    };
    for id in 1..=3 {
        let note = format!("{CANARY}{}", "x".repeat(90_000));
        client
            .execute(
                "INSERT INTO visit (id, note) VALUES ($1, $2)",
                &[&id, &note],
            )
            .expect("a row");
    }
    assert_eq!(
        state(&mut client, "UPDATE visit SET note = note || 'y'"),
        "54000"
    );
    // What is no column of the row is sent once, whatever the number of rows.
    run(&mut client, "ALTER TABLE visit ADD COLUMN n bytea");
    run(&mut client, "UPDATE visit SET note = 'short'");
    let many = vec![b'z'; 90_000];
    let text = "UPDATE visit SET note = note || 'y', n = $1";
    assert_eq!(client.execute(text, &[&many]).expect("little"), 3);
    let notes = ask(&mut client, "SELECT note FROM visit ORDER BY id");
    assert_eq!(notes, ["shorty"; 3]);
}

#[test]
fn nothing_goes_on_behind_the_end_of_a_transaction_that_changed_names() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    run(
        &mut client,
        "CREATE VIEW shown AS SELECT id, note FROM visit",
    );
    let insert = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY}')");
    for end in ["ROLLBACK", "BEGIN; ROLLBACK", "ROLLBACK TO a", "COMMIT"] {
        run(&mut client, "BEGIN; SAVEPOINT a");
        run(&mut client, "DROP VIEW shown");
        run(&mut client, "SELECT 1");
        let text = format!("{end}; {insert}");
        assert_eq!(state(&mut client, &text), "0A000", "{end}");
        run(&mut client, "ROLLBACK");
    }
    run(&mut client, &insert);
    assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
    // Where nothing was changed before, a text may end a transaction and go on.
    run(&mut client, "BEGIN; SELECT 1; COMMIT; SELECT 2");
}

/// In a transaction that has failed the schema cannot be read.
#[test]
fn nothing_goes_on_behind_a_failed_transaction_while_another_changes_names() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let failed = |client: &mut Client| {
        run(client, "BEGIN");
        assert_eq!(state(client, "SELECT 1/0"), "22012");
    };
    failed(&mut client);
    // Where nothing has changed, it does.
    run(&mut client, "ROLLBACK; SELECT 1");
    failed(&mut client);
    let view = "CREATE VIEW shown AS SELECT id, note FROM visit";
    run(&mut setup.connect(), view);
    let insert = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY}')");
    assert_eq!(state(&mut client, &format!("ROLLBACK; {insert}")), "0A000");
    assert_eq!(state(&mut client, &insert), "25P02");
    run(&mut client, "ROLLBACK");
    run(&mut client, &insert);
    assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
}

/// The proxy learns that the schema has changed, and not yet that the transaction has failed.
#[test]
fn a_failed_transaction_ends_while_another_changes_names() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    for end in ["ROLLBACK", "COMMIT"] {
        let mut wire = session(&setup);
        assert_eq!(wire.query("BEGIN").code, "");
        let slow = "SELECT 1 / (count(*) - 1) FROM pg_sleep(1)";
        wire.send(&query(slow));
        let view = "CREATE OR REPLACE VIEW shown AS SELECT id, note FROM visit";
        run(&mut setup.connect(), view);
        wire.send(&query(end));
        assert_eq!(wire.answer().code, "22012");
        let said = wire.answer();
        assert_eq!(said.code, "", "{said:?}");
        let insert = format!("INSERT INTO shown (id, note) VALUES (1, '{CANARY}')");
        let said = wire.query(&insert);
        assert_eq!(said.code, "", "{said:?}");
        assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
        run(&mut client, "DELETE FROM visit; DROP VIEW shown");
    }
}

/// A table that was there before its rules keeps nobody from the others, and nothing of it is
/// answered until it is sealed.
#[test]
fn a_table_in_clear_stops_statements_over_protected_columns_only() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut past = setup.server.connect();
    run(
        &mut past,
        "CREATE TABLE visit (id integer PRIMARY KEY, at timestamptz DEFAULT now(), \
         note text CHECK (note <> ''));
         CREATE TABLE plain (id integer, owner integer REFERENCES visit);
         INSERT INTO visit VALUES (1, '2026-01-02', 'old')",
    );
    let mut client = setup.connect();
    run(&mut client, "INSERT INTO plain VALUES (1, 1)");
    assert_eq!(ask(&mut client, "SELECT owner FROM plain"), ["1"]);
    let insert = format!("INSERT INTO visit (id, note) VALUES (2, '{CANARY}')");
    for text in [
        &insert,
        "SELECT note FROM visit",
        "SELECT owner, note FROM plain JOIN visit USING (id)",
        "UPDATE visit SET note = 'x'",
        "COPY visit TO STDOUT",
    ] {
        assert_eq!(state(&mut client, text), "F0000", "{text}");
    }
    assert_eq!(ask(&mut client, "SELECT owner FROM plain"), ["1"]);
    // By the proxy it can be replaced.
    run(&mut client, "DROP TABLE visit CASCADE");
    run(
        &mut client,
        "CREATE TABLE visit (id integer PRIMARY KEY, at timestamptz, note text)",
    );
    run(&mut client, &insert);
    let notes = "SELECT note FROM visit";
    assert_eq!(ask(&mut client, notes), [CANARY]);
    assert_eq!(ask(&mut setup.connect(), notes), [CANARY]);
}

/// What is mended past the proxy is found out by whoever is refused.
#[test]
fn a_table_that_is_sealed_past_the_proxy_is_seen() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut past = setup.server.connect();
    run(&mut past, "CREATE TABLE visit (id integer, note text)");
    let mut client = setup.connect();
    let notes = "SELECT note FROM visit";
    assert_eq!(state(&mut client, notes), "F0000");
    run(
        &mut past,
        "DROP TABLE visit; CREATE TABLE visit (id integer, note bytea)",
    );
    // The refusal tells what was known; the next statement looks again.
    let _ = client.batch_execute(notes);
    assert_eq!(ask(&mut client, notes), [""; 0]);
}

#[test]
fn prepared_queries_on_catalogues_show_tables_that_came_and_went() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let queries = [
        "SELECT data_type::text FROM information_schema.columns \
         WHERE table_schema = 'public' AND table_name = $1 AND column_name = 'at'",
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute \
         WHERE attrelid = to_regclass($1) AND attname = 'at'",
        "SELECT count(*)::text FROM pg_constraint \
         WHERE conrelid = to_regclass($1) AND contype IN ('p', 'c')",
    ];
    let prepared = queries.map(|query| client.prepare(query).expect(query));
    let mut other = setup.connect();
    let mut assert_shown = |wanted: [Option<&str>; 3]| {
        for (query, wanted) in prepared.iter().zip(wanted) {
            let rows = client.query(query, &[&"visit"]).expect("rows");
            let shown: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            assert_eq!(shown, Vec::from_iter(wanted));
        }
    };
    let moment = Some("timestamp with time zone");
    assert_shown([moment, moment, Some("1")]);
    run(&mut other, "DROP TABLE visit");
    assert_shown([None, None, Some("0")]);
    let remade = "CREATE TABLE visit (id integer, at timestamp with time zone, note text)";
    run(&mut other, remade);
    assert_shown([moment, moment, Some("0")]);
}
