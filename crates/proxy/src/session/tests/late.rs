//! Writes whose outcome is known: they go to the server with the client's next message.

use super::server::{Both, bind, describe, execute, parse, sync};
use super::steps::{run, value, with_rows};
use super::{message, taken};

/// In a block, with nothing that looks at `c` and `d` in the server; what writes is prepared.
fn begin() -> Both {
    let mut both = with_rows(Both::begin_with(&[1, 2]));
    both.send(&[
        parse("begin", "BEGIN"),
        parse("commit", "COMMIT"),
        parse("rollback", "ROLLBACK"),
        parse("to", "ROLLBACK TO a"),
        sync(),
    ]);
    run(&mut both, "begin", &[]);
    run(&mut both, "l", &["1"]);
    assert_eq!(run(&mut both, "i", &["1", "0"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(run(&mut both, "i", &["2", "0"]), "2 C(UPDATE 1) Z(T)");
    run(&mut both, "commit", &[]);
    run(&mut both, "begin", &[]);
    both.seen();
    both
}

#[test]
fn a_row_is_written_with_the_next_statement() {
    let mut both = begin();
    assert_eq!(run(&mut both, "i", &["2", "5"]), "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.seen(), "BES", "it is read");
    assert_eq!(run(&mut both, "r", &["2"]), "2 D(25) C(SELECT 1) Z(T)");
    assert_eq!(both.seen(), "BEBES", "it is written, and read again");
    assert_eq!(run(&mut both, "i", &["3", "5"]), "2 C(UPDATE 0) Z(T)");
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(value(&mut both, "2"), "25");
}

#[test]
fn a_row_that_is_known_costs_the_server_nothing_before_the_next_statement() {
    let mut both = begin();
    run(&mut both, "l", &["1"]);
    run(&mut both, "l", &["2"]);
    both.seen();
    let mut batch = Vec::new();
    for (id, by) in [("1", "1"), ("2", "2"), ("1", "3")] {
        batch.extend([bind("", "i", &[id, by]), execute("")]);
    }
    batch.push(sync());
    let all = "2 C(UPDATE 1) 2 C(UPDATE 1) 2 C(UPDATE 1) Z(T)";
    assert_eq!(both.send(&batch), all);
    assert_eq!(both.seen(), "");
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(both.seen(), "BEBEBEBES");
    assert_eq!(value(&mut both, "1"), "14");
    assert_eq!(value(&mut both, "2"), "22");
}

#[test]
fn outside_a_block_nothing_is_late() {
    let mut both = begin();
    run(&mut both, "commit", &[]);
    both.seen();
    assert_eq!(run(&mut both, "i", &["2", "5"]), "2 C(UPDATE 1) Z(I)");
    assert_eq!(both.seen(), "BEHBES");
}

#[test]
fn what_the_server_may_refuse_is_not_late() {
    let mut both = with_rows(Both::begin_with(&[1]));
    both.send(&[
        parse("d", "UPDATE counter SET d = d + 1 WHERE id = $1"),
        sync(),
    ]);
    both.send(&[
        parse("n", "UPDATE counter SET c = c + 1, d = $2 WHERE id = $1"),
        sync(),
    ]);
    both.query("BEGIN");
    for (name, values) in [("d", &["1"][..]), ("n", &["1", "7"])] {
        assert_eq!(run(&mut both, name, values), "2 C(UPDATE 1) Z(T)");
        let seen = both.seen();
        assert!(
            seen.contains('H') || seen.matches('E').count() == 1,
            "{name}: {seen}"
        );
        both.query("SELECT 1");
        assert_eq!(both.seen(), "Q", "{name} was late");
    }
}

#[test]
fn null_may_be_refused() {
    let mut both = with_rows(Both::begin_with(&[1, 2]));
    let text = "UPDATE counter SET c = c + 1, d = NULL WHERE id = $1";
    both.send(&[parse("n", text), sync()]);
    for round in 0..2 {
        both.query("BEGIN");
        both.seen();
        assert_eq!(run(&mut both, "n", &["1"]), "2 C(UPDATE 1) Z(T)");
        both.seen();
        both.query("COMMIT");
        assert_eq!(both.seen(), "Q", "round {round}: it was late");
    }
    assert_eq!(value(&mut both, "1"), "12");
}

#[test]
fn a_statement_behind_it_in_its_pipeline_comes_behind_it() {
    let mut both = begin();
    let said = both.send(&[
        bind("", "i", &["1", "5"]),
        execute(""),
        bind("", "r", &["1"]),
        execute(""),
        bind("", "i", &["1", "5"]),
        execute(""),
        bind("", "r", &["1"]),
        execute(""),
        sync(),
    ]);
    let all = "2 C(UPDATE 1) 2 D(15) C(SELECT 1) 2 C(UPDATE 1) 2 D(20) C(SELECT 1) Z(T)";
    assert_eq!(said, all);
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(value(&mut both, "1"), "20");
}

#[test]
fn nothing_is_told_late_behind_a_batch_that_may_have_failed() {
    for is_known in [false, true] {
        let mut both = begin();
        let insert = "INSERT INTO other (a) VALUES (1)";
        both.send(&[parse("o", insert), sync()]);
        if is_known {
            run(&mut both, "l", &["1"]);
        }
        both.server.fails_on = Some("INTO other");
        let said = both.send(&[
            bind("", "o", &[]),
            execute(""),
            sync(),
            bind("", "i", &["1", "5"]),
            describe(b'P', ""),
            execute(""),
            sync(),
        ]);
        assert_eq!(said, "2 E(40001) Z(E) 2 n E(25P02) Z(E)", "{is_known}");
        assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
        assert_eq!(value(&mut both, "1"), "10");
    }
}

#[test]
fn a_flush_behind_a_sync_gets_the_outcome_for_a_row_that_is_known() {
    let mut both = begin();
    run(&mut both, "l", &["1"]);
    let said = both.send(&[
        bind("", "r", &["2"]),
        execute(""),
        sync(),
        bind("", "i", &["1", "5"]),
        describe(b'P', ""),
        execute(""),
        message(b'H', b""),
    ]);
    assert_eq!(said, "2 D(20) C(SELECT 1) Z(T) 2 n C(UPDATE 1)");
    assert_eq!(both.send(&[sync()]), "Z(T)");
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(value(&mut both, "1"), "15");
}

/// A server that logs to its client, say, does not wait for Sync or Flush.
#[test]
fn a_server_that_answers_before_it_is_asked_to_holds_nothing_up() {
    let mut both = begin();
    both.session
        .client_bytes(&[bind("", "i", &["1", "5"]), execute("")].concat());
    let sent = taken(&mut both.session.to_server);
    let answer = both.server.take(&sent);
    both.session.server_bytes(&answer);
    let said = both.send(&[bind("", "r", &["1"]), execute(""), sync()]);
    assert_eq!(said, "2 C(UPDATE 1) 2 D(15) C(SELECT 1) Z(T)");
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(value(&mut both, "1"), "15");
}

#[test]
fn what_is_computed_wrongly_fails_in_its_place() {
    let mut both = begin();
    assert_eq!(run(&mut both, "i", &["1", "2147483647"]), "2 E(22003) Z(E)");
    assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
    assert_eq!(value(&mut both, "1"), "10");
    run(&mut both, "begin", &[]);
    run(&mut both, "l", &["1"]);
    assert_eq!(run(&mut both, "i", &["1", "2147483647"]), "2 E(22003) Z(E)");
    assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
}

/// The server is not expected to refuse it; should it, nobody takes it for done.
#[test]
fn a_failure_is_the_outcome_of_the_next_statement() {
    for next in ["commit", "r", "i"] {
        let mut both = begin();
        run(&mut both, "i", &["1", "5"]);
        both.server.fails_on = Some("ctid = ");
        let values: &[&str] = match next {
            "r" => &["1"],
            "i" => &["2", "1"],
            _ => &[],
        };
        let said = run(&mut both, next, values);
        assert!(said.ends_with("E(40001) Z(E)"), "{next}: {said}");
        assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
        assert_eq!(value(&mut both, "1"), "10", "{next}");
    }
}

#[test]
fn a_failure_is_the_outcome_of_the_next_query() {
    for (text, said) in [
        ("COMMIT", "E(40001) Z(E)"),
        ("SELECT 1", "E(40001) Z(E)"),
        ("ROLLBACK", "C(ROLLBACK) Z(I)"),
    ] {
        let mut both = begin();
        run(&mut both, "i", &["1", "5"]);
        both.server.fails_on = Some("ctid = ");
        assert_eq!(both.query(text), said, "{text}");
        assert_eq!(both.query("ROLLBACK"), "C(ROLLBACK) Z(I)");
        assert_eq!(value(&mut both, "1"), "10", "{text}");
    }
}

#[test]
fn a_query_comes_behind_what_is_late() {
    let mut both = begin();
    run(&mut both, "i", &["1", "5"]);
    both.seen();
    assert_eq!(both.query("COMMIT"), "C(COMMIT) Z(I)");
    assert_eq!(both.seen(), "BESQ");
    assert_eq!(value(&mut both, "1"), "15");
}

#[test]
fn what_is_rolled_back_is_never_written() {
    for (back, end) in [
        ("rollback", "2 C(ROLLBACK) Z(I)"),
        ("to", "2 C(ROLLBACK) Z(T)"),
    ] {
        let mut both = begin();
        run(&mut both, "i", &["1", "5"]);
        both.seen();
        assert_eq!(run(&mut both, back, &[]), end);
        assert_eq!(both.seen(), "BES", "{back}");
        both.query("COMMIT");
        assert_eq!(value(&mut both, "1"), "10", "{back}");
    }
    // Bound, but not executed.
    let mut both = begin();
    run(&mut both, "i", &["1", "5"]);
    both.send(&[bind("", "rollback", &[]), sync()]);
    assert_eq!(run(&mut both, "commit", &[]), "2 C(COMMIT) Z(I)");
    assert_eq!(value(&mut both, "1"), "15");
}

#[test]
fn a_description_and_a_portal_with_a_name_change_nothing() {
    let mut both = begin();
    let said = both.send(&[bind("p", "i", &["1", "5"]), execute("p"), sync()]);
    assert_eq!(said, "2 C(UPDATE 1) Z(T)");
    assert_eq!(both.send(&[describe(b'S', "r"), sync()]), "t T Z(T)");
    let said = both.send(&[
        bind("p2", "i", &["1", "5"]),
        execute("p2"),
        execute("p2"),
        sync(),
    ]);
    assert_eq!(said, "2 C(UPDATE 1) E(55000) Z(E)");
}

#[test]
fn a_server_that_writes_other_rows_ends_the_session() {
    let mut both = begin();
    run(&mut both, "i", &["1", "5"]);
    both.server.loses_rows = true;
    let said = run(&mut both, "commit", &[]);
    assert!(
        said.contains("E(XX000)") && !said.contains("COMMIT"),
        "{said}"
    );
    assert!(both.session.has_ended());
}
