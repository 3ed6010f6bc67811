//! What is executed long after it was prepared.

use wire_postgres::frontend;

use super::{ask, begin, run, session};
use crate::common::leaks::CANARY;
use crate::common::wire::SYNC;

/// The server resolves the names in prepared statements again.
#[test]
fn what_was_prepared_over_a_plain_table_is_planned_again() {
    let Some((setup, mut client)) = begin() else {
        return;
    };
    let insert = "INSERT INTO inbox (id, note) VALUES ($1, $2)";
    let mut wire = session(&setup);
    let mut by_message = Vec::new();
    frontend::write_parse(b"m", insert.as_bytes(), std::iter::empty(), &mut by_message);
    by_message.extend(SYNC);
    run(&mut client, "CREATE TABLE inbox (id integer, note text)");
    let said = wire.say(&by_message);
    assert_eq!(said.code, "", "{said:?}");
    for text in [
        &format!("PREPARE p (integer, text) AS {insert}"),
        "PREPARE q AS SELECT note FROM inbox",
        "EXECUTE p(1, 'plain')",
        "EXECUTE m(1, 'plain')",
        "EXECUTE q",
        "EXPLAIN ANALYZE EXECUTE p(1, 'plain')",
        "CREATE TABLE copied AS EXECUTE q",
    ] {
        let said = wire.query(text);
        assert_eq!(said.code, "", "{text}: {said:?}");
    }
    run(&mut client, "DROP TABLE inbox");
    run(
        &mut client,
        "CREATE VIEW inbox AS SELECT id, note FROM visit",
    );
    for text in [
        &format!("EXECUTE p(2, '{CANARY}')"),
        &format!("EXECUTE m(2, '{CANARY}')"),
        &format!("EXPLAIN ANALYZE EXECUTE p(2, '{CANARY}')"),
        "EXECUTE q",
        "CREATE TABLE copied_again AS EXECUTE q",
    ] {
        let said = wire.query(text);
        assert_eq!(said.code, "0A000", "{text}: {said:?}");
    }
    for text in [
        "DEALLOCATE p",
        &format!("PREPARE p (integer, text) AS {insert}"),
        &format!("EXECUTE p(2, '{CANARY}')"),
    ] {
        let said = wire.query(text);
        assert_eq!(said.code, "", "{text}: {said:?}");
    }
    assert_eq!(ask(&mut client, "SELECT note FROM visit"), [CANARY]);
}

#[test]
fn a_prepared_statement_that_sets_the_path_is_looked_behind() {
    let Some((_setup, mut client)) = begin() else {
        return;
    };
    run(&mut client, "SET search_path TO other, public");
    let text = "PREPARE back AS SELECT set_config('search_path', 'public', false)";
    run(&mut client, text);
    run(&mut client, "EXECUTE back");
    let text = format!("INSERT INTO visit (id, note) VALUES (1, '{CANARY}')");
    run(&mut client, &text);
    assert_eq!(ask(&mut client, "SELECT note FROM public.visit"), [CANARY]);
}
