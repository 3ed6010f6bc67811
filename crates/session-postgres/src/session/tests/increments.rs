//! Increments in a block: the answers that the client gets, and when.

use super::server::{Both, bind, describe, execute, parse, sync};
use super::steps::{run, value, with_rows};
use super::{message, taken};

/// In a block; what writes is prepared.
fn begin() -> Both {
    let mut both = with_rows(Both::begin());
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
fn the_next_statement_of_the_pipeline_is_sent_after_the_step() {
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
fn an_increment_after_a_failed_batch_fails_too() {
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
fn a_flush_after_a_sync_gets_the_outcome_for_a_cached_row() {
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
fn an_early_answer_of_the_server_blocks_nothing() {
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
fn a_failing_computation_fails_in_order() {
    let mut both = begin();
    assert_eq!(run(&mut both, "i", &["1", "2147483647"]), "2 E(22003) Z(E)");
    assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
    assert_eq!(value(&mut both, "1"), "10");
    run(&mut both, "begin", &[]);
    run(&mut both, "l", &["1"]);
    assert_eq!(run(&mut both, "i", &["1", "2147483647"]), "2 E(22003) Z(E)");
    assert_eq!(run(&mut both, "rollback", &[]), "2 C(ROLLBACK) Z(I)");
}

#[test]
fn describe_and_named_portals_make_no_difference() {
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
