//! Who may change the keys of a file by SQL: nobody, unless the program allows it; and even then
//! not in a transaction, and not on a read-only connection.

mod common;

use common::files::{failure, fill, in_own_process, read_rows};
use common::{Room, open_uri, text};
use keyring::Credential;
use rusqlite::Connection;
use sqlite_linked::KeyToken;

/// Opens with the room's key; only `more` says anything on keys in SQL.
fn open(room: &Room, name: &str, more: &str) -> Connection {
    let uri = room.uri(name, more).replace("&keys_in_sql=on", "");
    open_uri(&format!("{uri}{more}"))
}

fn filled(room: &Room) -> String {
    let connection = room.open("x.db");
    connection
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    text(&connection, "PRAGMA strongroom_key_add='second'");
    text(&connection, "PRAGMA strongroom_keys")
}

/// Slot 0 opens the file with the room's key, slot 1 with a passphrase, and there is no other.
fn assert_keys_as_before(room: &Room, before: &str) {
    let connection = room.open("x.db");
    assert_eq!(text(&connection, "PRAGMA strongroom_keys"), before);
    assert_eq!(text(&connection, "SELECT count(*) FROM t"), "0");
    let second = room.open_keyless("x.db");
    assert_eq!(text(&second, "PRAGMA key='second'"), "ok");
}

/// Statements that change keys and contain the secret or the slot.
fn by_sql() -> [String; 8] {
    [
        "PRAGMA rekey='another'".to_owned(),
        "PRAGMA main.rekey('another')".to_owned(),
        format!("PRAGMA hexrekey='{}'", "77".repeat(32)),
        "PRAGMA strongroom_key_add='third'".to_owned(),
        format!("PRAGMA strongroom_key_add=\"x'{}'\"", "77".repeat(32)),
        "PRAGMA strongroom_key_remove='1'".to_owned(),
        "PRAGMA strongroom_key_remove=1".to_owned(),
        "PRAGMA strongroom_rotate='start-alone'".to_owned(),
    ]
}

fn token() -> KeyToken {
    KeyToken::new(Credential::passphrase("by token"))
}

#[test]
fn sql_changes_no_keys_unless_the_program_says_so() {
    let room = Room::new();
    let before = filled(&room);
    for more in ["", "&keys_in_sql=off"] {
        let connection = open(&room, "x.db", more);
        for sql in by_sql() {
            for prefix in ["", "EXPLAIN ", "EXPLAIN QUERY PLAN ", "/* a comment */ "] {
                let refused = failure(&connection, &format!("{prefix}{sql}"));
                assert!(refused.message.contains("keys_in_sql=on"), "{refused:?}");
            }
            connection.prepare(&sql).expect_err("not even prepared");
        }
        assert_keys_as_before(&room, &before);
    }
}

#[test]
fn an_attached_uri_cannot_allow_key_changes() {
    let room = Room::new();
    let before = filled(&room);
    let connection = open(&room, "main.db", "");
    let attach = format!("ATTACH '{}' AS other", room.uri("x.db", ""));
    assert!(attach.contains("keys_in_sql=on"));
    connection.execute_batch(&attach).expect("attaches");
    let refused = failure(&connection, "PRAGMA other.rekey='another'");
    assert!(refused.message.contains("keys_in_sql=on"), "{refused:?}");
    assert_keys_as_before(&room, &before);
    let connection = open(&room, "main.db", "&keys_in_sql=on");
    connection.execute_batch(&attach).expect("attaches");
    assert_eq!(
        text(&connection, "PRAGMA other.strongroom_key_add='x'"),
        "2"
    );
}

#[test]
fn keys_do_not_change_in_a_transaction_or_on_a_read_only_connection() {
    let room = Room::new();
    let before = filled(&room);
    let token = token();
    let mut changes: Vec<String> = by_sql().into();
    changes.push(format!(
        "PRAGMA strongroom_key_add='token={}'",
        token.number()
    ));
    changes.push(format!(
        "PRAGMA strongroom_rekey='token={}'",
        token.number()
    ));
    for sql in &changes {
        for begin in ["BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s"] {
            let connection = open(&room, "x.db", "&keys_in_sql=on");
            connection.execute_batch(begin).expect("begins");
            let refused = failure(&connection, sql);
            assert!(
                refused.message.contains("inside a transaction"),
                "{refused:?}"
            );
            connection.execute_batch("ROLLBACK").expect("rolls back");
        }
        let connection = open(&room, "x.db", "&keys_in_sql=on");
        connection
            .execute_batch("PRAGMA query_only=on")
            .expect("set");
        let refused = failure(&connection, sql);
        assert!(refused.message.contains("query_only"), "{refused:?}");
        assert_keys_as_before(&room, &before);
    }
    let connection = open(&room, "x.db", "");
    connection
        .execute_batch("PRAGMA query_only=on")
        .expect("set");
    for sql in [
        "PRAGMA strongroom_rotate",
        "PRAGMA strongroom_rotate='start'",
    ] {
        let refused = failure(&connection, sql);
        assert!(refused.message.contains("query_only"), "{refused:?}");
    }
}

#[test]
fn with_the_setting_or_a_token_keys_change() {
    let room = Room::new();
    filled(&room);
    let token = token();
    let connection = open(&room, "x.db", "");
    let by_token = format!("PRAGMA strongroom_key_add='token={}'", token.number());
    assert_eq!(text(&connection, &by_token), "2");
    let by_another = KeyToken::new(Credential::passphrase("second"));
    let remove = |token: &KeyToken, slot: u8| {
        let number = token.number();
        format!("PRAGMA strongroom_key_remove='token={number} slot={slot}'")
    };
    let locked_out = failure(&connection, &remove(&by_another, 1));
    assert!(locked_out.detail.contains("wrong key"), "{locked_out:?}");
    assert_eq!(text(&connection, &remove(&token, 1)), "ok");
    failure(&connection, &remove(&by_another, 2));
    assert!(text(&connection, "PRAGMA strongroom_rotate").contains("finished"));
    let connection = open(&room, "x.db", "&keys_in_sql=on");
    assert_eq!(text(&connection, "PRAGMA strongroom_key_remove='2'"), "ok");
    assert_eq!(text(&connection, "PRAGMA rekey='another'"), "ok");
    let connection = room.open_keyless("x.db");
    assert_eq!(text(&connection, "PRAGMA key='another'"), "ok");
    let connection = open(&room, "new.db", "&keys_in_sql=perhaps");
    let refused = failure(&connection, "CREATE TABLE t(a)");
    assert!(refused.detail.contains("on or off"), "{refused:?}");
}

#[test]
fn the_environment_applies_if_the_uri_says_nothing() {
    const TEST: &str = "the_environment_applies_if_the_uri_says_nothing";
    in_own_process(TEST, &[("STRONGROOM_KEYS_IN_SQL", "on")], || {
        let room = Room::new();
        filled(&room);
        let off = open(&room, "x.db", "&keys_in_sql=off");
        failure(&off, "PRAGMA strongroom_key_remove='1'");
        let silent = open(&room, "x.db", "");
        assert_eq!(text(&silent, "PRAGMA strongroom_key_remove='1'"), "ok");
        // Only this is known about a main database of another VFS.
        let connection = Connection::open_in_memory().expect("opens");
        let attach = format!("ATTACH '{}' AS other", room.uri("x.db", ""));
        connection.execute_batch(&attach).expect("attaches");
        assert_eq!(text(&connection, "PRAGMA other.rekey='another'"), "ok");
    });
}

#[test]
fn a_read_only_file_is_not_reported_as_busy() {
    let room = Room::new();
    for mode in ["delete", "wal"] {
        let name = format!("{mode}.db");
        let connection = room.open(&name);
        text(&connection, &format!("PRAGMA journal_mode={mode}"));
        fill(&connection, "t", 1);
        // Kept open, so that a log is read through its index.
        let reader = room.open_with(&name, "&mode=ro");
        assert_eq!(read_rows(&reader, "t").expect("reads"), 1);
        for sql in ["PRAGMA rekey='another'", "PRAGMA strongroom_rotate"] {
            let failure = failure(&reader, sql);
            let told = failure.detail.contains("the file may not be written");
            assert!(told, "{mode}, {sql}: {failure:?}");
        }
    }
}
