//! What a session believes, while answers to earlier messages come.

use super::server::{Both, bind, execute, parse, sync};
use super::steps::with_rows;
use super::{message, taken};

const READ: &str = "SELECT c FROM counter WHERE id = $1";

fn begin() -> Both {
    with_rows(Both::begin())
}

/// Has the server answer what it was sent, and sends nothing more of the client's.
fn answer(both: &mut Both) {
    let sent = taken(&mut both.session.to_server);
    let said = both.server.take(&sent);
    both.session.server_bytes(&said);
}

#[test]
fn the_end_of_a_batch_drops_no_names_of_the_next_one() {
    for portal in ["", "p"] {
        let mut both = begin();
        let first = [bind("", "r", &["1"]), execute(""), sync()].concat();
        let second = [parse("", READ), bind(portal, "", &["2"])].concat();
        both.session.client_bytes(&[first, second].concat());
        answer(&mut both);
        let said = both.send(&[execute(portal), sync()]);
        assert_eq!(said, "2 D(10) C(SELECT 1) Z(I) 1 2 D(20) C(SELECT 1) Z(I)");
        // It was of the transaction that is over.
        let said = both.send(&[execute(portal), sync()]);
        assert_eq!(said, "E(34000) Z(I)");
    }
}

#[test]
fn the_failure_of_a_batch_drops_no_names_of_the_next_one() {
    for name in ["", "s"] {
        let mut both = begin();
        both.server.fails_on = Some("counter");
        let first = [
            bind("", "r", &["1"]),
            execute(""),
            parse(name, READ),
            bind("", name, &["1"]),
            execute(""),
            sync(),
        ];
        let second = [parse(name, READ), bind("", name, &["2"])];
        both.session
            .client_bytes(&[first.concat(), second.concat()].concat());
        answer(&mut both);
        let said = both.send(&[execute(""), sync()]);
        assert_eq!(said, "2 E(40001) Z(I) 1 2 D(20) C(SELECT 1) Z(I)");
    }
}

#[test]
fn a_schema_read_in_a_transaction_ends_with_it() {
    let mut both = Both::begin();
    both.query("BEGIN");
    both.protection.forget("base");
    // The session is the first to look again, and does so in its transaction.
    both.query("SELECT 1");
    assert_eq!(both.protection.generation("base"), None);
    both.query("COMMIT");
    both.server.parsed.clear();
    both.query("SELECT 1");
    let asked = |both: &Both, text: &str| both.server.parsed.iter().any(|own| own.contains(text));
    assert!(asked(&both, "contype"), "{:?}", both.server.parsed);
    let published = both.protection.generation("base");
    assert!(published.is_some());
    // From here on it hears of changes again.
    both.protection.forget("base");
    both.server.parsed.clear();
    both.query("SELECT 1");
    assert!(asked(&both, "contype"), "{:?}", both.server.parsed);
    assert_ne!(both.protection.generation("base"), published);
}

#[test]
fn a_transaction_that_read_the_schema_itself_sees_its_own_change() {
    let mut both = Both::begin();
    both.query("BEGIN");
    both.protection.forget("base");
    both.query("SELECT 1");
    both.protection.forget("base");
    both.server.parsed.clear();
    both.query("SELECT 1");
    let asked = |text: &str| both.server.parsed.iter().any(|own| own.contains(text));
    assert!(asked("contype"), "{:?}", both.server.parsed);
}

#[test]
fn a_schema_that_changes_while_it_is_read_is_not_published() {
    let mut both = Both::begin();
    both.protection.forget("base");
    both.session.client_bytes(&message(b'Q', b"SELECT 1\0"));
    let questions = taken(&mut both.session.to_server);
    assert!(!questions.is_empty());
    // The server has answered; before the answers are here, another session commits a change.
    let answers = both.server.take(&questions);
    both.protection.forget("base");
    both.session.server_bytes(&answers);
    assert_eq!(both.protection.generation("base"), None);
    let asked = both.server.parsed.len();
    assert_eq!(both.send(&[]), "C(SELECT 1) Z(I)");
    let again = both.server.parsed[asked..].iter();
    assert!(again.filter(|own| own.contains("contype")).count() == 1);
    assert!(both.protection.generation("base").is_some());
}

/// Or what is there would be taken for what is in the database of that name.
#[test]
fn a_session_in_another_database_uses_and_publishes_nothing() {
    let mut both = Both::begin();
    both.server.is_elsewhere = true;
    both.query("SET search_path TO public");
    // What is published already is not used.
    let select = [parse("", "SELECT 1"), sync()];
    assert_eq!(both.send(&select), "E(F0000) Z(I)");
    both.protection.forget("base");
    for _ in 0..2 {
        assert_eq!(both.send(&select), "E(F0000) Z(I)");
        assert_eq!(both.protection.generation("base"), None);
    }
    both.server.is_elsewhere = false;
    assert_eq!(both.query("SELECT 1"), "C(SELECT 1) Z(I)");
    assert!(both.protection.generation("base").is_some());
}

#[test]
fn a_rollback_restores_the_search_path_for_later_messages() {
    let mut both = Both::begin();
    both.query("BEGIN");
    both.query("SET LOCAL search_path TO other");
    both.query("SELECT 1");
    both.server.parsed.clear();
    // Nobody waits for the answer to ROLLBACK.
    let said = both.send(&[message(b'Q', b"ROLLBACK\0"), message(b'Q', b"SELECT 1\0")]);
    assert_eq!(said, "C(ROLLBACK) Z(I) C(SELECT 1) Z(I)");
    let asked = both.server.parsed.iter();
    assert!(asked.filter(|own| own.contains("current_schemas")).count() >= 1);
}

#[test]
fn plans_of_a_session_with_a_temporary_table_end_with_it() {
    let mut both = Both::begin();
    both.server.has_temporary = true;
    both.query("SET statement_timeout = 2");
    let shared = both.protection.plans_cached();
    let mut round = || {
        let set = "SET LOCAL statement_timeout = 1";
        for text in ["BEGIN", set, "SELECT 1", "COMMIT"] {
            both.query(text);
        }
        both.protection.plans_cached()
    };
    let first = round();
    assert!(first > shared);
    for _ in 0..10 {
        assert_eq!(round(), first);
    }
    drop(both.session);
    assert_eq!(both.protection.plans_cached(), shared);
}

#[test]
fn plans_for_a_transactions_own_schema_end_with_it() {
    let mut both = Both::begin();
    let mut round = || {
        // What it reads until COMMIT is nobody else's.
        let create = "CREATE TABLE made (a integer)";
        for text in ["BEGIN", create, "SELECT 1", "COMMIT"] {
            both.query(text);
        }
        both.query("SELECT 1");
        both.protection.plans_cached()
    };
    let first = round();
    for _ in 0..10 {
        assert_eq!(round(), first);
    }
}

#[test]
fn interrupted_catalogue_queries_can_be_repeated() {
    let mut both = Both::begin();
    both.query("SET search_path TO public");
    let select = [
        parse("", "SELECT 1"),
        bind("", "", &[]),
        execute(""),
        sync(),
    ];
    both.server.fails_on = Some("current_schemas");
    assert_eq!(both.send(&select), "E(40001) Z(I)");
    assert_eq!(both.send(&select), "1 2 C(SELECT 1) Z(I)");
}

const COPY: &[u8] = b"COPY counter (c, plain) FROM STDIN\0";

/// Sealed, a short line has fifty times its size: it does not wait for the others of its message.
#[test]
fn rows_of_one_message_are_forwarded_as_they_come_in_several() {
    let mut both = Both::begin();
    assert_eq!(both.send(&[message(b'Q', COPY)]), "G");
    let count = 20_000;
    // The second one is longer than one may be that is read as a whole.
    let counts = [count, 2 * count];
    let data = counts.map(|count| message(b'd', &b"7\t8\n".repeat(count)));
    let data = data.concat();
    both.session.client_bytes(&data[..50_000]);
    let begun = both.session.to_server.waiting();
    assert!(begun > 500_000, "{begun}");
    assert!(!both.session.wants_client(), "the server takes nothing");
    assert_eq!(both.send(&[data[50_000..].to_vec()]), "");
    assert_eq!(both.send(&[message(b'c', b"")]), "C(COPY) Z(I)");
    let sizes = both.server.copied.iter().map(Vec::len);
    assert!(sizes.clone().max() <= Some(1 << 20), "{:?}", sizes.max());
    assert!(both.server.copied.len() > 10);
    let rows = both.server.copied.concat();
    let lines = rows.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, 3 * count);
}

#[test]
fn rows_after_a_refused_one_are_dropped() {
    let mut both = Both::begin();
    assert_eq!(both.send(&[message(b'Q', COPY)]), "G");
    let data = message(b'd', b"7\t8\nnone\t8\n7\t8\n");
    // The message is cut behind the value that is wrong.
    let (first, rest) = data.split_at(data.len() - 5);
    assert_eq!(both.send(&[first.to_vec()]), "E(22P02) Z(I)");
    let rest = [rest, &message(b'd', b"7\t8\n"), &message(b'c', b"")].concat();
    assert_eq!(both.send(&[rest]), "");
    assert_eq!(both.query("SELECT 1"), "C(SELECT 1) Z(I)");
    assert_eq!(both.seen(), "QfQ");
}

/// What the server takes is a GiB; here it is less.
#[test]
fn values_that_are_too_long_when_sealed_are_refused() {
    let mut both = Both::begin();
    let find = "SELECT plain FROM counter WHERE id = ANY ($1)";
    for (count, wanted) in [(10, "1 2 Z(I)"), (40_000, "1 E(54000) Z(I)")] {
        let array = format!("{{{}1}}", "1,".repeat(count));
        let messages = [parse("", find), bind("", "", &[&array]), sync()];
        assert_eq!(both.send(&messages), wanted, "{count}");
    }
    for (count, wanted) in [(10, "C(INSERT 0 1) Z(I)"), (5_000, "E(54000) Z(I)")] {
        let rows = "(1),".repeat(count);
        let insert = format!("INSERT INTO counter (c) VALUES {rows}(1)");
        assert_eq!(both.query(&insert), wanted, "{count}");
    }
    assert_eq!(both.query("SELECT 1"), "C(SELECT 1) Z(I)");
}

const CHANGE: &str = "UPDATE counter SET plain = 1 WHERE id = $1";

/// A statement that changes a row is prepared by a message.
fn with_change(name: &str) -> Both {
    let mut both = begin();
    assert_eq!(both.send(&[parse(name, CHANGE), sync()]), "1 Z(I)");
    both
}

#[test]
fn a_long_name_is_truncated_as_by_the_server() {
    let long = "a".repeat(70);
    let mut both = with_change(&long);
    let longer = format!("{}b", &long[..63]);
    for name in [&long[..], &long[..63], &longer[..]] {
        let said = both.query(&format!("EXECUTE {name}(1)"));
        assert_eq!(said, "C(UPDATE 1) Z(I)", "{name}");
    }
    // The server may cut it elsewhere.
    let other = "\u{e9}".repeat(40);
    assert_eq!(both.send(&[parse(&other, CHANGE), sync()]), "E(42622) Z(I)");
    let said = both.send(&[bind(&other, "r", &["1"]), sync()]);
    assert_eq!(said, "E(42622) Z(I)");
}

#[test]
fn a_statement_dropped_by_sql_is_no_longer_prepared() {
    for text in ["DEALLOCATE u", "DEALLOCATE ALL", "DISCARD ALL"] {
        let mut both = with_change("u");
        both.query(text);
        assert_eq!(both.query("EXECUTE u(1)"), "E(26000) Z(I)", "{text}");
        let said = both.send(&[bind("", "u", &["1"]), execute(""), sync()]);
        assert_eq!(said, "E(26000) Z(I)", "{text}");
        both.query("PREPARE u AS DELETE FROM counter WHERE id = $1");
        assert_eq!(both.query("EXECUTE u(1)"), "C(DELETE) Z(I)", "{text}");
    }
}

/// `EXECUTE` of what is not known goes on in clear.
#[test]
fn statements_that_the_server_keeps_stay_prepared() {
    let mut both = with_change("u");
    both.query("DISCARD PLANS");
    let is_there = |both: &mut Both| {
        assert_eq!(both.query("EXECUTE u(1)"), "C(UPDATE 1) Z(I)");
        let said = both.send(&[bind("", "u", &["1"]), execute(""), sync()]);
        assert_eq!(said, "2 C(UPDATE 1) Z(I)");
    };
    is_there(&mut both);
    both.server.fails_on = Some("DEALLOCATE");
    assert_eq!(both.query("DEALLOCATE u"), "E(40001) Z(I)");
    is_there(&mut both);
    let close = message(b'C', b"Su\0");
    for dropped in [&[close.clone()][..], &[close, parse("u", READ)]] {
        both.server.fails_on = Some("counter");
        let failing = [bind("", "r", &["1"]), execute("")].concat();
        let said = both.send(&[failing, dropped.concat(), sync()]);
        assert_eq!(said, "2 E(40001) Z(I)");
        is_there(&mut both);
    }
    for second in [
        parse("u", READ),
        message(b'Q', b"PREPARE u AS DELETE FROM counter\0"),
    ] {
        let said = both.send(&[second, sync()]);
        assert!(said.starts_with("E(42P05)"), "{said}");
        is_there(&mut both);
    }
}

/// What nobody reads must not go to the server, where columns are protected.
#[test]
fn a_message_without_a_body_brings_no_bytes_to_the_server() {
    for kind in [b'X', b'S', b'H', b'c'] {
        let mut both = begin();
        let query = message(b'Q', b"SELECT c FROM counter WHERE c = 'CANARY'\0");
        let message = message(kind, &query);
        // The header alone, as of a message of any length that comes piece by piece, is enough.
        for size in [wire_postgres::HEADER_SIZE, message.len()] {
            both.session.client_bytes(&message[..size]);
            assert!(both.session.has_ended(), "{}", kind.escape_ascii());
            assert_eq!(taken(&mut both.session.to_server), b"");
        }
        let said = taken(&mut both.session.to_client);
        assert!(said.windows(5).any(|part| part == b"08P01"));
    }
    let mut both = begin();
    both.session.client_bytes(&message(b'X', b""));
    assert_eq!(taken(&mut both.session.to_server), message(b'X', b""));
}
