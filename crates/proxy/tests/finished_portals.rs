//! Pipelines, portals and texts with statements that the finisher evaluates.

use std::iter::empty;

use postgres::Client;
use wire_postgres::frontend::{write_bind, write_execute, write_parse};

use crate::by_finisher::{RAISE, start, start_with};
use crate::common::texts::{answer, code};
use crate::common::wire::{Answer, SYNC, Session, put_text};

/// Sends statements as one pipeline.
fn pipeline(session: &mut Session, statements: &[&str]) -> Answer {
    let mut messages = Vec::new();
    for text in statements {
        put_text(text, &mut messages);
    }
    messages.extend_from_slice(SYNC);
    session.say(&messages)
}

/// A plain twin of `item`, a table with a key that is checked at the end, and a function that
/// writes to it.
fn make_twin(client: &mut Client) {
    let twin = "CREATE TABLE twin (id integer, name text, price numeric(10,2), made date); \
                INSERT INTO twin SELECT id, 'a', id + 0.5, make_date(2000 + id, 1, 2) \
                FROM generate_series(1, 5) id; CREATE TABLE parent (id integer PRIMARY KEY); \
                CREATE TABLE child (id integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED)";
    client.batch_execute(twin).expect("made");
    client
        .batch_execute(
            "CREATE FUNCTION add_child(integer) RETURNS integer LANGUAGE sql AS \
             'INSERT INTO child SELECT NULL RETURNING $1'",
        )
        .expect("a function");
}

/// Writes that fail by what they return: of rows that the server finds, and that the finisher does.
const RETURNING: &str = "UPDATE item SET name = 'b' RETURNING 1 / (price - 3.5)";
const RAISING: &str =
    "UPDATE item SET price = price + 1 WHERE upper(name) > '' RETURNING 1 / (price - 3.5)";

#[test]
fn a_pipeline_leaves_nothing_if_its_last_query_fails() {
    let Some(setup) = start_with("max_finish_bytes = 1000000\n") else {
        return;
    };
    let mut client = setup.connect();
    make_twin(&mut client);
    let mut session = Session::connect(setup.proxy.address.port());
    let insert = "INSERT INTO item (id, name) VALUES (77, 'new')";
    let update = "UPDATE item SET price = round(price) + 10 WHERE extract(year FROM made) < 2003";
    let by_zero = "SELECT 1 / (price - 3.5), upper(name) FROM item";
    let own = "SELECT 1 / (price - 3.5) FROM item ORDER BY price";
    for (statements, wanted) in [
        (vec![insert, by_zero], "22012"),
        (vec![insert, RETURNING], "22012"),
        (vec![RETURNING, "SELECT 1"], "22012"),
        (vec![insert, RAISING], "22012"),
        (vec![insert, own], "22012"),
        (vec![update, by_zero], "22012"),
        (vec![insert, by_zero, "SELECT 1"], "22012"),
        (vec!["BEGIN", "COMMIT", insert, by_zero], "22012"),
        (vec!["INSERT INTO child VALUES (1)", by_zero], "22012"),
        (
            vec!["SELECT add_child(id), 1 / (price - 3.5) FROM item ORDER BY price"],
            "22012",
        ),
        (
            vec!["SELECT add_child(id), price FROM item ORDER BY price", own],
            "22012",
        ),
    ] {
        let left = |client: &mut Client, table: &str| {
            let sql = format!(
                "SELECT count(*), sum(price), (SELECT count(*) FROM child) FROM {table}; \
                 DELETE FROM {table} WHERE id = 77"
            );
            answer(client, &sql).expect("left")
        };
        let answered = pipeline(&mut session, &statements);
        let own_left = left(&mut client, "item");
        let twins: Vec<String> = statements
            .iter()
            .map(|text| text.replace("item", "twin"))
            .collect();
        let twins: Vec<&str> = twins.iter().map(String::as_str).collect();
        let plain = pipeline(&mut session, &twins);
        assert_eq!(answered.code, wanted, "{statements:?}: {answered:?}");
        assert_eq!(plain.code, wanted, "{statements:?}: {plain:?}");
        assert_eq!(own_left, left(&mut client, "twin"), "{statements:?}");
    }
    // The limit of the answer, and what goes well.
    let large = "SELECT repeat(name, 1000), generate_series(1, 1000) FROM item WHERE id = 1";
    assert_eq!(pipeline(&mut session, &[insert, large]).code, "54000");
    assert_eq!(
        session
            .query("SELECT id FROM item WHERE id = 77")
            .rows
            .len(),
        0
    );
    let answered = pipeline(&mut session, &[insert, "SELECT upper(name) FROM item"]);
    assert_eq!((answered.code.as_str(), answered.rows.len()), ("", 6));
    assert_eq!(
        session
            .query("SELECT id FROM item WHERE id = 77")
            .rows
            .len(),
        1
    );
}

/// Binds a text to a named portal, and executes so many rows of it.
fn put_portal(name: &str, text: &str, rows_max: i32, out: &mut Vec<u8>) {
    write_parse(b"", text.as_bytes(), empty(), out);
    let nothing = |_: &mut Vec<u8>| Ok::<_, ()>(());
    write_bind((name.as_bytes(), b""), empty(), nothing, empty(), out).expect("no failure");
    if rows_max > 0 {
        write_execute(name.as_bytes(), rows_max, out);
    }
}

/// Words like the name of a portal elsewhere are no names of portals.
fn pass_words_of_no_portal(session: &mut Session) {
    let mut messages = Vec::new();
    for sql in [
        "SELECT 1 AS close, 'mine' AS mine",
        "/* CLOSE mine */ SELECT 1",
        "MOVE 0 IN other",
    ] {
        assert_eq!(session.query("BEGIN").code, "");
        session.query("DECLARE other CURSOR FOR SELECT 1");
        messages.clear();
        put_portal("mine", "SELECT upper(name) FROM item", 1, &mut messages);
        messages.extend_from_slice(SYNC);
        assert_eq!(session.say(&messages).code, "");
        assert_eq!(session.query(sql).code, "", "{sql}");
        session.query("ROLLBACK");
    }
}

/// CLOSE ALL closes portals, too: those with rows, and those that were not executed.
fn close_all(session: &mut Session) {
    let mut messages = Vec::new();
    for table in ["item", "pg_class"] {
        for rows_max in [0, 1] {
            assert_eq!(session.query("BEGIN").code, "");
            messages.clear();
            let text = format!("SELECT upper(name) FROM {table}")
                .replace("upper(name) FROM pg_class", "upper(relname) FROM pg_class");
            put_portal("mine", &text, rows_max, &mut messages);
            messages.extend_from_slice(SYNC);
            assert_eq!(session.say(&messages).code, "");
            assert_eq!(session.query("CLOSE ALL").code, "");
            messages.clear();
            write_execute(b"mine", 1, &mut messages);
            messages.extend_from_slice(SYNC);
            assert_eq!(session.say(&messages).code, "34000", "{table}, {rows_max}");
            session.query("ROLLBACK");
        }
    }
}

#[test]
fn portals_with_rows_are_counted_and_are_no_cursors() {
    let Some(setup) = start_with("max_finish_bytes = 1000000\n") else {
        return;
    };
    let mut session = Session::connect(setup.proxy.address.port());
    let large = "SELECT repeat(upper(name), 500), generate_series(1, 100) FROM item WHERE id = 1";
    assert_eq!(session.query("BEGIN").code, "");
    let mut messages = Vec::new();
    let mut codes = Vec::new();
    for number in 0..4 {
        messages.clear();
        put_portal(&format!("p{number}"), large, 1, &mut messages);
        messages.extend_from_slice(SYNC);
        codes.push(session.say(&messages).code);
        if codes.last().is_some_and(|code| !code.is_empty()) {
            break;
        }
    }
    assert_eq!(codes.last().map(String::as_str), Some("54000"), "{codes:?}");
    assert!(codes.len() > 1, "{codes:?}");
    session.query("ROLLBACK");
    // SQL finds them in the server, which does not have their rows.
    for (rows_max, sql) in [
        (1, "FETCH 1 FROM mine"),
        (0, "FETCH 1 FROM mine"),
        (1, "MOVE ALL IN \"mine\""),
        (1, "CLOSE mine"),
    ] {
        assert_eq!(session.query("BEGIN").code, "");
        messages.clear();
        put_portal(
            "mine",
            "SELECT upper(name) FROM item",
            rows_max,
            &mut messages,
        );
        messages.extend_from_slice(SYNC);
        assert_eq!(session.say(&messages).code, "");
        let told = session.query(sql);
        assert_eq!(told.code, "0A000", "{sql}: {told:?}");
        session.query("ROLLBACK");
    }
    pass_words_of_no_portal(&mut session);
    close_all(&mut session);
    // A portal outlives the statement without a name, which a simple query drops.
    assert_eq!(session.query("BEGIN").code, "");
    messages.clear();
    put_portal("mine", "SELECT upper(name) FROM item", 0, &mut messages);
    messages.extend_from_slice(SYNC);
    assert_eq!(session.say(&messages).code, "");
    assert_eq!(session.query("SELECT 1").code, "");
    messages.clear();
    write_execute(b"mine", 0, &mut messages);
    messages.extend_from_slice(SYNC);
    let answered = session.say(&messages);
    assert_eq!(
        (answered.code.as_str(), answered.rows.len()),
        ("", 5),
        "{answered:?}"
    );
    session.query("COMMIT");
}

#[test]
fn what_needs_a_block_is_refused_beside_steps_in_a_text_without_one() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for first in [
        "LOCK TABLE item",
        "LOCK/**/TABLE item",
        "SET /* of the block */ LOCAL statement_timeout TO 10000",
        "DECLARE c CURSOR FOR WITH hold AS (SELECT 1) SELECT * FROM hold",
        "SET LOCAL statement_timeout TO 10000",
        "DECLARE c CURSOR FOR SELECT 1",
    ] {
        let text = format!("{first}; {RAISE}");
        let error = answer(&mut client, &text).expect_err("refused");
        assert_eq!(code(&error), "0A000", "{text}: {error:?}");
        answer(&mut client, &format!("BEGIN; {text}; COMMIT")).expect("a block");
        client.batch_execute("BEGIN").expect("begun");
        answer(&mut client, &text).expect("in a block");
        client.batch_execute("COMMIT").expect("committed");
    }
}
