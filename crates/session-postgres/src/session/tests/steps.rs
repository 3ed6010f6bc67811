//! Statements that take steps, with a server that answers as PostgreSQL does.

use wire_postgres::backend;

use super::server::{Both, bind, describe, execute, messages, parse, sync};
use super::{message, taken};

const INCREMENT: &str = "UPDATE counter SET c = c + $2 WHERE id = $1";
const LOCK: &str = "SELECT c FROM counter WHERE id = $1 FOR UPDATE";
const READ: &str = "SELECT c FROM counter WHERE id = $1";

fn insert(both: &mut Both, id: &str, c: &str) {
    let text = "INSERT INTO counter (id, c, d) VALUES ($1, $2, $2)";
    let said = both.send(&[parse("", text), bind("", "", &[id, c]), execute(""), sync()]);
    assert_eq!(said, "1 2 C(INSERT 0 1) Z(I)");
}

fn begin() -> Both {
    with_rows(Both::begin())
}

/// Two rows, and statements that are prepared.
pub(super) fn with_rows(mut both: Both) -> Both {
    insert(&mut both, "1", "10");
    insert(&mut both, "2", "20");
    both.send(&[
        parse("i", INCREMENT),
        parse("l", LOCK),
        parse("r", READ),
        sync(),
    ]);
    both.seen();
    both
}

pub(super) fn run(both: &mut Both, name: &str, values: &[&str]) -> String {
    both.send(&[bind("", name, values), execute(""), sync()])
}

pub(super) fn value(both: &mut Both, id: &str) -> String {
    let said = run(both, "r", &[id]);
    both.seen();
    let value = said.split_once("D(").expect("a row").1;
    value.split_once(')').expect("its end").0.to_owned()
}

#[test]
fn an_increment_reads_and_then_writes_before_one_sync() {
    let mut both = begin();
    assert_eq!(run(&mut both, "i", &["1", "5"]), "2 C(UPDATE 1) Z(I)");
    assert_eq!(both.seen(), "BEHPBES");
    assert_eq!(value(&mut both, "1"), "15");
    // What writes is known to the server now.
    assert_eq!(run(&mut both, "i", &["2", "-1"]), "2 C(UPDATE 1) Z(I)");
    assert_eq!(both.seen(), "BEHBES");
    assert_eq!(value(&mut both, "2"), "19");
    assert_eq!(run(&mut both, "i", &["3", "1"]), "2 C(UPDATE 0) Z(I)");
    assert_eq!(both.seen(), "BEHS");
}

#[test]
fn a_batch_keeps_its_order_and_counts() {
    let mut both = begin();
    let said = both.send(&[
        bind("", "r", &["1"]),
        execute(""),
        bind("", "i", &["1", "1"]),
        execute(""),
        bind("", "i", &["7", "1"]),
        execute(""),
        bind("", "i", &["1", "1"]),
        execute(""),
        bind("", "r", &["1"]),
        execute(""),
        sync(),
    ]);
    let all = "2 D(10) C(SELECT 1) 2 C(UPDATE 1) 2 C(UPDATE 0) 2 C(UPDATE 1) 2 D(12) C(SELECT 1)";
    assert_eq!(said, format!("{all} Z(I)"));
}

#[test]
fn several_rows_are_written_at_once_and_counted_together() {
    let mut both = begin();
    let text = "UPDATE counter SET c = c * 2, d = d + c";
    let said = both.send(&[parse("", text), bind("", "", &[]), execute(""), sync()]);
    assert_eq!(said, "1 2 C(UPDATE 2) Z(I)");
    assert_eq!(both.seen(), "PBEHPBES");
    assert_eq!(value(&mut both, "1"), "20");
    assert_eq!(value(&mut both, "2"), "40");
    insert(&mut both, "3", "1");
    insert(&mut both, "4", "1");
    let said = both.query(text);
    assert_eq!(said, "E(54000) Z(I)", "more rows than the limit");
    assert_eq!(value(&mut both, "1"), "20");
}

#[test]
fn a_query_takes_steps_before_one_sync_too() {
    let mut both = begin();
    assert_eq!(
        both.query("UPDATE counter SET c = c + 1 WHERE id = 1"),
        "C(UPDATE 1) Z(I)"
    );
    assert_eq!(both.seen(), "PBEHPBES");
    let script = "BEGIN; UPDATE counter SET c = c + 1 WHERE id = 1; \
                  SELECT c FROM counter WHERE id = 1; COMMIT";
    assert_eq!(
        both.query(script),
        "C(BEGIN) C(UPDATE 1) T D(12) C(SELECT 1) C(COMMIT) Z(I)"
    );
    let overflow = "UPDATE counter SET c = c + 2147483647 WHERE id = 1; SELECT 1";
    assert_eq!(both.query(overflow), "E(22003) Z(I)");
    assert_eq!(value(&mut both, "1"), "12");
}

#[test]
fn errors_of_steps_come_in_order_and_end_the_pipeline() {
    let mut both = begin();
    let said = both.send(&[
        bind("", "i", &["1", "1"]),
        execute(""),
        bind("", "i", &["1", "2147483647"]),
        execute(""),
        bind("", "i", &["1", "1"]),
        execute(""),
        sync(),
        bind("", "r", &["2"]),
        execute(""),
        sync(),
    ]);
    assert_eq!(
        said,
        "2 C(UPDATE 1) 2 E(22003) Z(I) 2 D(20) C(SELECT 1) Z(I)"
    );
    for part in ["FOR NO KEY UPDATE", "ctid = "] {
        both.server.fails_on = Some(part);
        let said = both.send(&[
            bind("", "i", &["2", "1"]),
            execute(""),
            bind("", "r", &["2"]),
            execute(""),
            sync(),
        ]);
        assert_eq!(said, "2 E(40001) Z(I)", "{part}");
        assert_eq!(run(&mut both, "i", &["2", "0"]), "2 C(UPDATE 1) Z(I)");
        both.server.fails_on = Some(part);
        let text = "UPDATE counter SET c = c + 1 WHERE id = 2; SELECT 1";
        assert_eq!(both.query(text), "E(40001) Z(I)", "{part}");
    }
    assert_eq!(value(&mut both, "2"), "20");
}

#[test]
fn a_row_that_was_locked_is_not_read_again() {
    let mut both = begin();
    both.query("BEGIN");
    assert_eq!(run(&mut both, "l", &["1"]), "2 D(10) C(SELECT 1) Z(T)");
    both.seen();
    assert_eq!(run(&mut both, "i", &["1", "5"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "PBES", "one statement, parsed once");
    assert_eq!(run(&mut both, "i", &["1", "5"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "BES");
    assert_eq!(value(&mut both, "1"), "20");
    // Another row of the table, and rows that are added, change nothing.
    assert_eq!(run(&mut both, "l", &["2"]), "2 D(20) C(SELECT 1) Z(T)");
    assert_eq!(run(&mut both, "i", &["2", "5"]), "2 C(UPDATE 1) Z(T)");
    let text = "INSERT INTO other (a) VALUES (1)";
    both.query(text);
    both.seen();
    assert_eq!(run(&mut both, "i", &["1", "5"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "BES");
    assert_eq!(value(&mut both, "1"), "25");
}

#[test]
fn a_batch_of_writes_to_locked_rows_never_waits() {
    let mut both = begin();
    both.query("BEGIN");
    run(&mut both, "l", &["1"]);
    run(&mut both, "l", &["2"]);
    both.seen();
    let mut batch = Vec::new();
    for id in ["1", "2", "1"] {
        batch.extend([bind("", "i", &[id, "1"]), execute("")]);
    }
    batch.push(sync());
    let said = both.send(&batch);
    assert_eq!(said, "2 C(UPDATE 1) 2 C(UPDATE 1) 2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "PBEBEBES");
    assert_eq!(value(&mut both, "1"), "12");
    assert_eq!(value(&mut both, "2"), "21");
}

/// Whether the next increment in a transaction reads the row that was locked.
fn reads_after(between: &[&str]) -> bool {
    let mut both = begin();
    both.query("BEGIN");
    run(&mut both, "l", &["1"]);
    for text in between {
        both.query(text);
    }
    both.seen();
    run(&mut both, "i", &["1", "1"]);
    both.seen().contains('H')
}

#[test]
fn a_cached_row_is_dropped_by_whatever_may_change_it() {
    assert!(!reads_after(&[]));
    assert!(!reads_after(&["SAVEPOINT a", "SELECT 1"]));
    assert!(reads_after(&["COMMIT"]));
    assert!(reads_after(&["ROLLBACK", "BEGIN"]));
    assert!(reads_after(&["COMMIT; BEGIN"]));
    assert!(reads_after(&["ROLLBACK TO a"]));
    assert!(reads_after(&["UPDATE counter SET plain = 1"]));
    assert!(reads_after(&["UPDATE counter SET c = 5 WHERE id = 1"]));
    assert!(reads_after(&["UPDATE other SET a = 1"]), "it may cascade");
    assert!(reads_after(&["SELECT f(1)"]));
    assert!(reads_after(&["CALL p()"]));
    assert!(reads_after(&["UPDATE counter SET c = c + 1"]));
}

#[test]
fn a_lock_without_a_block_lasts_to_the_sync() {
    let mut both = begin();
    run(&mut both, "l", &["1"]);
    both.seen();
    run(&mut both, "i", &["1", "1"]);
    assert!(both.seen().contains('H'));
    // The answer to the first comes before the second is taken, and before the Sync.
    let said = both.send(&[
        bind("", "l", &["1"]),
        execute(""),
        sync(),
        bind("", "i", &["1", "1"]),
        execute(""),
        sync(),
    ]);
    assert_eq!(said, "2 D(11) C(SELECT 1) Z(I) 2 C(UPDATE 1) Z(I)");
    assert!(both.seen().contains('H'));
    assert_eq!(value(&mut both, "1"), "12");
}

#[test]
fn a_row_read_before_a_write_is_not_cached_if_it_comes_after() {
    let mut both = begin();
    both.query("BEGIN");
    run(&mut both, "l", &["1"]);
    // The second reading is under way while the write by what the first told is sent.
    let said = both.send(&[
        bind("", "l", &["1"]),
        execute(""),
        bind("", "i", &["1", "5"]),
        execute(""),
        sync(),
    ]);
    assert_eq!(said, "2 D(10) C(SELECT 1) 2 C(UPDATE 1) Z(T)");
    assert_eq!(run(&mut both, "i", &["1", "5"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(value(&mut both, "1"), "20");
}

#[test]
fn a_lock_reads_what_is_incremented_later() {
    let mut both = begin();
    let text = "UPDATE counter SET d = d + 1 WHERE id = $1";
    both.send(&[parse("d", text), sync()]);
    both.query("BEGIN");
    both.server.parsed.clear();
    assert_eq!(run(&mut both, "l", &["1"]), "2 D(10) C(SELECT 1) Z(T)");
    assert_eq!(both.server.parsed.len(), 1, "{:?}", both.server.parsed);
    both.seen();
    assert_eq!(run(&mut both, "d", &["1"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "PBES");
    assert_eq!(run(&mut both, "l", &["1"]), "2 D(10) C(SELECT 1) Z(T)");
    assert_eq!(both.server.parsed.len(), 2, "the lock is not parsed again");
}

#[test]
fn rolling_back_to_a_savepoint_drops_cached_writes() {
    let mut both = begin();
    both.query("BEGIN");
    run(&mut both, "l", &["1"]);
    both.query("SAVEPOINT a");
    run(&mut both, "i", &["1", "5"]);
    both.query("ROLLBACK TO a");
    both.seen();
    run(&mut both, "i", &["1", "5"]);
    assert!(both.seen().contains('H'), "it was read again");
}

#[test]
fn statements_that_take_steps_are_described() {
    let mut both = begin();
    let said = both.send(&[describe(b'S', "i"), sync()]);
    assert_eq!(said, "t n Z(I)");
    let said = both.send(&[bind("p", "i", &["1", "1"]), describe(b'P', "p"), sync()]);
    assert_eq!(said, "2 n Z(I)");
    let said = both.send(&[
        bind("p", "i", &["1", "1"]),
        execute("p"),
        execute("p"),
        sync(),
    ]);
    assert_eq!(said, "2 C(UPDATE 1) E(55000) Z(I)");
}

#[test]
fn a_cursor_declared_by_sql_is_described_as_a_portal() {
    let mut both = begin();
    both.query("BEGIN");
    both.query("DECLARE \"My\" CURSOR FOR SELECT c, plain FROM counter");
    // As the rule says, and as the server says.
    assert_eq!(types_of(&mut both, "My"), [23, 17]);
}

/// Types of the columns that the client is told of a portal.
fn types_of(both: &mut Both, portal: &str) -> Vec<u32> {
    let asked = [describe(b'P', portal), sync()].concat();
    both.session.client_bytes(&asked);
    let sent = taken(&mut both.session.to_server);
    let answer = both.server.take(&sent);
    both.session.server_bytes(&answer);
    let said = messages(&taken(&mut both.session.to_client));
    let fields = backend::read_row_description(&said[0].1).expect("columns");
    fields.iter().map(|field| field.type_oid).collect()
}

/// This server keeps them all, and shows what the proxy remembers.
#[test]
fn cursors_are_remembered_as_long_as_they_live() {
    let query = "FOR SELECT c FROM counter";
    for (end, held) in [("COMMIT", 23), ("ROLLBACK", 17)] {
        let mut both = begin();
        both.query("BEGIN");
        both.query(&format!("DECLARE plain CURSOR {query}"));
        both.query(&format!("DECLARE held CURSOR WITH HOLD {query}"));
        assert_eq!(types_of(&mut both, "plain"), [23]);
        assert_eq!(types_of(&mut both, "held"), [23]);
        both.query(end);
        assert_eq!(types_of(&mut both, "plain"), [17], "{end}");
        assert_eq!(types_of(&mut both, "held"), [held], "{end}");
        both.query("BEGIN");
        both.query("ROLLBACK");
        assert_eq!(types_of(&mut both, "held"), [held], "{end}");
    }
    let mut both = begin();
    // Whether it is there is known by nobody before the answer.
    let declare = format!("DECLARE held CURSOR WITH HOLD {query}");
    let texts = ["BEGIN", &declare[..], "COMMIT", "BEGIN", "ROLLBACK"];
    both.send(&texts.map(|text| message(b'Q', &[text.as_bytes(), &[0]].concat())));
    assert_eq!(types_of(&mut both, "held"), [23]);
}

#[test]
fn the_proxys_statements_are_prepared_again_when_the_server_drops_them() {
    let mut both = begin();
    run(&mut both, "i", &["1", "1"]);
    both.query("DEALLOCATE l");
    both.seen();
    assert_eq!(run(&mut both, "i", &["1", "1"]), "2 C(UPDATE 1) Z(I)");
    assert_eq!(both.seen(), "BEHBES", "they are there");
    both.query("DEALLOCATE ALL");
    both.send(&[parse("i", INCREMENT), sync()]);
    both.seen();
    assert_eq!(run(&mut both, "i", &["1", "1"]), "2 C(UPDATE 1) Z(I)");
    assert_eq!(both.seen(), "BEHPBES");
}

#[test]
fn a_flush_gets_the_proxys_own_replies() {
    let mut both = begin();
    let flush = super::message(b'H', b"");
    assert_eq!(both.send(&[bind("", "i", &["1", "1"]), flush.clone()]), "2");
    assert_eq!(both.send(&[execute(""), flush]), "C(UPDATE 1)");
    assert_eq!(both.send(&[sync()]), "Z(I)");
}

#[test]
fn a_flush_after_a_sync_gets_the_proxys_own_replies() {
    let mut both = begin();
    let flush = super::message(b'H', b"");
    let said = both.send(&[
        bind("", "r", &["1"]),
        execute(""),
        sync(),
        bind("", "i", &["1", "1"]),
        flush.clone(),
    ]);
    assert_eq!(said, "2 D(10) C(SELECT 1) Z(I) 2");
    assert_eq!(both.send(&[execute(""), flush]), "C(UPDATE 1)");
    assert_eq!(both.send(&[sync()]), "Z(I)");
    assert_eq!(value(&mut both, "1"), "11");
}

/// Without a Sync the server owes nothing at once: it is told to say what it has, so that the
/// client is read again.
#[test]
fn outstanding_answers_are_bounded() {
    let mut both = begin();
    let pair = [bind("", "r", &["1"]), execute("")].concat();
    for _ in 0..8192 {
        assert!(!both.server.seen.contains('H'));
        both.session.client_bytes(&pair);
    }
    let sent = taken(&mut both.session.to_server);
    assert!(!both.session.wants_client());
    let answer = both.server.take(&sent);
    assert!(both.seen().ends_with("EH"));
    both.session.server_bytes(&answer);
    assert!(both.session.wants_client());

    // These are answered here.
    both.session
        .client_bytes(&bind("", "i", &["1", "1"]).repeat(20_000));
    assert!(both.session.wants_client());
    assert!(both.send(&[sync()]).ends_with("Z(I)"));
}

#[test]
fn a_schema_that_changes_during_the_query_for_the_path_is_read_again() {
    let mut both = Both::begin();
    both.query("SET search_path TO public");
    both.server.parsed.clear();
    // The session asks for the path alone. Before the answer, another one commits a change.
    let query = message(b'Q', b"SELECT 1\0");
    both.session.client_bytes(&query);
    both.protection.forget("base");
    both.send(&[]);
    let asked = |text: &str| both.server.parsed.iter().any(|own| own.contains(text));
    assert!(asked("current_schemas"), "{:?}", both.server.parsed);
    assert!(asked("pg_constraint"), "{:?}", both.server.parsed);
}
