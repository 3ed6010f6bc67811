//! Keys: how they are given, changed, refused, and passed on to other files.

mod common;

use std::path::Path;

use common::files::{PAGES_OFFSET, assert_refused, failure, fill, in_own_process, open, read_rows};
use common::{Room, file_contains, text};
use keyring::Credential;
use keyring::cache::cached_files;
use keyring::slots::passphrases_stretched;
use rusqlite::ffi::SQLITE_AUTH;
use rusqlite::{Connection, OpenFlags};
use sqlite_linked::KeyToken;

const ROWS: i64 = 50;

/// URI parameters for the key that consists of this byte repeated, in hexadecimal.
fn raw(byte: u8) -> String {
    format!("PRAGMA key=\"x'{}'\"", format!("{byte:02x}").repeat(32))
}

fn make_with(room: &Room, name: &str, key: &str) {
    let connection = room.open_keyless(name);
    assert_eq!(text(&connection, key), "ok");
    fill(&connection, "t", ROWS);
}

fn assert_reads(connection: &Connection) {
    assert_eq!(read_rows(connection, "t").expect("reads"), ROWS);
}

fn is_plain(path: &Path) -> bool {
    file_contains(path, b"SQLite format 3")
}

#[test]
fn the_key_pragma_opens_what_it_made() {
    let room = Room::new();
    let hexkey = format!("PRAGMA hexkey='{}'", "Ab".repeat(32));
    let cases = [
        (
            "passphrase.db",
            "PRAGMA key='correct horse'",
            "PRAGMA key='Correct horse'",
        ),
        ("raw.db", &raw(0x31), &raw(0x32)),
        ("hex.db", &hexkey, &raw(0xac)),
        ("other-kind.db", &raw(0x31), "PRAGMA key='correct horse'"),
    ];
    for (name, right, wrong) in cases {
        make_with(&room, name, right);
        let connection = room.open_keyless(name);
        assert_eq!(text(&connection, right), "ok", "{name}, at once");
        assert_reads(&connection);

        let connection = room.open_keyless(name);
        assert_refused(&connection, "SELECT * FROM t", "no key was given");
        assert_refused(&connection, wrong, "wrong key");
        assert_refused(&connection, "SELECT * FROM t", "wrong key");
        assert_refused(&connection, "CREATE TABLE u(a)", "wrong key");
        assert_eq!(text(&connection, right), "ok", "{name}, after failures");
        assert_reads(&connection);
        // On an open database the key is checked, but a wrong one does not lock it.
        assert_refused(&connection, wrong, "wrong key");
        assert_eq!(text(&connection, right), "ok");
        assert_reads(&connection);
    }
}

#[test]
fn the_status_follows_the_key() {
    let room = Room::new();
    let connection = room.open_keyless("x.db");
    let status = |connection: &Connection| text(connection, "PRAGMA strongroom_status");
    assert!(status(&connection).contains("\"state\":\"new\""));
    assert!(status(&connection).contains("\"key\":false"));
    text(&connection, &raw(1));
    assert!(status(&connection).contains("\"key\":true"));
    connection
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    assert!(status(&connection).contains("\"state\":\"encrypted\""));
    let second = room.open_keyless("x.db");
    assert!(status(&second).contains("\"state\":\"locked\""));
    text(&second, &raw(1));
    assert!(status(&second).contains("\"state\":\"encrypted\""));
}

#[test]
fn malformed_keys_are_distinguished_from_wrong_ones() {
    let room = Room::new();
    let connection = room.open_keyless("x.db");
    let cases = [
        ("PRAGMA key=''", "the key is empty"),
        ("PRAGMA key=\"x'1234'\"", "64 hexadecimal digits"),
        ("PRAGMA hexkey='1234'", "64 hexadecimal digits"),
        ("PRAGMA strongroom_rekey='new passphrase'", "token=N"),
        ("PRAGMA strongroom_rekey='token=999999'", "token=N"),
        ("PRAGMA strongroom_key_remove='9'", "the number of a slot"),
        ("PRAGMA strongroom_cipher='rot13'", "unknown cipher"),
        ("PRAGMA textkey='x'", "another product"),
        ("PRAGMA kdf_iter=4000", "another product"),
        ("PRAGMA cipher_memory_security=ON", "another product"),
    ];
    for (sql, said) in cases {
        let failure = failure(&connection, sql);
        assert!(failure.message.contains(said), "{sql}: {failure:?}");
    }
    assert_eq!(
        std::fs::metadata(room.path("x.db")).expect("there").len(),
        0
    );
}

#[test]
fn a_plain_file_accepts_no_key_and_stays_unchanged() {
    let room = Room::new();
    let plain = Connection::open(room.path("plain.db")).expect("opens");
    fill(&plain, "t", ROWS);
    drop(plain);
    let before = std::fs::read(room.path("plain.db")).expect("readable");
    let connection = room.open_keyless("plain.db");
    assert_reads(&connection);
    assert_eq!(
        text(&connection, "PRAGMA strongroom_status"),
        "{\"state\":\"plain\"}"
    );
    assert_refused(&connection, "PRAGMA key='secret'", "does not encrypt it");
    assert_reads(&connection);
    drop(connection);
    let connection = room.open("plain.db");
    assert_refused(
        &connection,
        "SELECT * FROM t",
        "this is a plain SQLite database",
    );
    assert_refused(
        &connection,
        "CREATE TABLE u(a)",
        "this is a plain SQLite database",
    );
    drop(connection);
    let connection = open(&room, "plain.db", "&plain=on");
    assert_reads(&connection);
    drop(connection);
    assert_eq!(
        std::fs::read(room.path("plain.db")).expect("readable"),
        before
    );
}

/// A connection whose slot has got another secret changes no key with it: it would overwrite that.
#[test]
fn rekeying_leaves_a_slot_alone_that_has_got_another_secret() {
    let room = Room::new();
    make_with(&room, "x.db", "PRAGMA key='old'");
    let [first, second] = [0, 1].map(|_| {
        let connection = room.open_keyless("x.db");
        text(&connection, "PRAGMA key='old'");
        assert_reads(&connection);
        connection
    });
    assert_eq!(text(&first, "PRAGMA rekey='of the first'"), "ok");
    let refused = failure(&second, "PRAGMA rekey='of the second'");
    assert!(refused.detail.contains("were replaced"), "{refused:?}");
    assert_reads(&second);
    drop((first, second));
    let again = room.open_keyless("x.db");
    assert_eq!(text(&again, "PRAGMA key='of the first'"), "ok");
    assert_reads(&again);
}

#[test]
fn rekeying_touches_no_page_and_disturbs_nobody() {
    let room = Room::new();
    make_with(&room, "x.db", "PRAGMA key='old'");
    let bystander = room.open_keyless("x.db");
    text(&bystander, "PRAGMA key='old'");
    assert_reads(&bystander);
    let pages = || std::fs::read(room.path("x.db")).expect("readable")[PAGES_OFFSET..].to_vec();
    let before = pages();
    let connection = room.open_keyless("x.db");
    text(&connection, "PRAGMA key='old'");
    assert_eq!(text(&connection, "PRAGMA rekey='new'"), "ok");
    assert!(pages() == before, "no page was written");
    assert_reads(&connection);

    assert_reads(&bystander);
    bystander
        .execute_batch("CREATE TABLE u(a)")
        .expect("writes");
    assert_eq!(text(&bystander, "PRAGMA key='new'"), "ok");
    assert_refused(&bystander, "PRAGMA key='old'", "wrong key");
    assert_eq!(
        text(&bystander, &raw(7).replace("key=", "strongroom_key_add=")),
        "1"
    );
    drop((connection, bystander));

    let connection = room.open_keyless("x.db");
    assert_refused(&connection, "PRAGMA key='old'", "wrong key");
    assert_eq!(text(&connection, "PRAGMA key='new'"), "ok");
    assert_reads(&connection);
    let connection = room.open_keyless("x.db");
    assert_eq!(text(&connection, &raw(7)), "ok");
    let token = KeyToken::new(Credential::passphrase("by token"));
    let sql = format!("PRAGMA strongroom_rekey='token={}'", token.number());
    assert_eq!(text(&connection, &sql), "ok");
    let connection = room.open_keyless("x.db");
    assert_refused(&connection, &raw(7), "wrong key");
    assert_eq!(text(&connection, "PRAGMA key='by token'"), "ok");
    assert_reads(&connection);
}

#[test]
fn slots_are_added_listed_and_removed() {
    let room = Room::new();
    make_with(&room, "x.db", &raw(0));
    let connection = room.open_keyless("x.db");
    text(&connection, &raw(0));
    for slot in 1..8 {
        let sql = raw(slot).replace("key=", "strongroom_key_add=");
        assert_eq!(text(&connection, &sql), slot.to_string());
    }
    let ninth = failure(&connection, &raw(8).replace("key=", "strongroom_key_add="));
    assert!(
        ninth.detail.contains("all 8 key slots are in use"),
        "{ninth:?}"
    );
    for slot in 0..8 {
        assert_eq!(text(&room.open_keyless("x.db"), &raw(slot)), "ok");
    }
    for slot in 0..7 {
        assert_eq!(
            text(
                &connection,
                &format!("PRAGMA strongroom_key_remove='{slot}'")
            ),
            "ok"
        );
        assert_refused(&room.open_keyless("x.db"), &raw(slot), "wrong key");
    }
    let empty = failure(&connection, "PRAGMA strongroom_key_remove='3'");
    assert!(
        empty.detail.contains("there is no key in slot 3"),
        "{empty:?}"
    );
    let last = failure(&connection, "PRAGMA strongroom_key_remove='7'");
    assert!(
        last.detail.contains("slot 7 is the only key left"),
        "{last:?}"
    );
    assert_reads(&connection);
    let second = room.open_keyless("x.db");
    text(&second, &raw(7));
    assert_eq!(
        text(&second, "PRAGMA strongroom_keys"),
        "[{\"slot\":7,\"kind\":\"raw-key\",\"opened_this\":true}]"
    );
    assert_eq!(
        text(&second, "PRAGMA strongroom_key_add='and a passphrase'"),
        "0"
    );
    let keys = text(&second, "PRAGMA strongroom_keys");
    assert!(
        keys.starts_with(
            "[{\"slot\":0,\"kind\":\"passphrase\",\"opened_this\":false,\"memory_kib\":"
        ),
        "{keys}"
    );
}

#[test]
fn every_source_in_a_uri_gives_the_key() {
    let room = Room::new();
    let digits = "5a".repeat(32);
    std::fs::write(room.path("digits-key"), &digits).expect("writable");
    std::fs::write(room.path("line-key"), format!("{digits}\n")).expect("writable");
    std::fs::write(room.path("bytes-key"), [0x5a; 32]).expect("writable");
    std::fs::write(room.path("passphrase-key"), "in a file\n").expect("writable");
    make_with(&room, "raw.db", &raw(0x5a));
    make_with(&room, "passphrase.db", "PRAGMA key='in a file'");
    in_own_process(
        "every_source_in_a_uri_gives_the_key",
        &[("KEY_HERE", &digits), ("PASSPHRASE_HERE", "in a file")],
        || {
            let file = |name: &str| room.path(name).display().to_string();
            let key = keyring::source::parse_raw_key(digits.as_bytes()).expect("a key");
            let token = KeyToken::new(Credential::raw_key(key));
            let cases = [
                ("raw.db", format!("&key_file={}", file("digits-key"))),
                ("raw.db", format!("&key_file={}", file("line-key"))),
                ("raw.db", format!("&key_file={}", file("bytes-key"))),
                ("raw.db", "&key_env=KEY_HERE".to_owned()),
                ("raw.db", format!("&key_token={}", token.number())),
                (
                    "passphrase.db",
                    format!("&passphrase_file={}", file("passphrase-key")),
                ),
                (
                    "passphrase.db",
                    "&passphrase_env=PASSPHRASE_HERE".to_owned(),
                ),
            ];
            for (name, parameters) in cases {
                assert_reads(&open(&room, name, &parameters));
            }
        },
    );
}

/// ATTACH takes a URI, so SQL controls it: it must not start programs.
#[test]
fn no_uri_runs_a_command() {
    let room = Room::new();
    make_with(&room, "x.db", &raw(0x5a));
    for parameter in ["key_command", "passphrase_command"] {
        let proof = room.path("proof");
        let parameters = format!("&{parameter}=touch%20{}", proof.display());
        let connection = open(&room, "x.db", &parameters);
        failure(&connection, "SELECT * FROM t");
        assert!(!proof.exists());
    }
}

#[test]
fn a_token_is_valid_while_it_lives() {
    let room = Room::new();
    let token = KeyToken::new(Credential::passphrase("handed over"));
    let parameters = format!("&key_token={}", token.number());
    let connection = open(&room, "x.db", &parameters);
    fill(&connection, "t", ROWS);
    drop(connection);
    assert_reads(&open(&room, "x.db", &parameters));
    drop(token);
    let connection = open(&room, "x.db", &parameters);
    assert_refused(
        &connection,
        "SELECT * FROM t",
        "key token in the URI is not valid",
    );
}

#[test]
fn the_environment_gives_a_key_if_the_uri_gives_none() {
    const TEST: &str = "the_environment_gives_a_key_if_the_uri_gives_none";
    let room = Room::new();
    std::fs::write(room.path("passphrase-key"), "from the environment").expect("writable");
    let key_file = room.path("key").display().to_string();
    let passphrase_file = room.path("passphrase-key").display().to_string();
    let command = format!("cat {key_file}");
    for (variable, value, kind) in [
        ("STRONGROOM_KEY_FILE", &key_file, "key-file"),
        ("STRONGROOM_KEY_COMMAND", &command, "raw-key"),
        ("STRONGROOM_PASSPHRASE_FILE", &passphrase_file, "passphrase"),
    ] {
        in_own_process(TEST, &[(variable, value), ("EXPECTED_KIND", kind)], || {
            let room = Room::new();
            fill(&room.open_keyless("x.db"), "t", ROWS);
            let connection = room.open_keyless("x.db");
            assert_reads(&connection);
            let kind = std::env::var("EXPECTED_KIND").expect("set");
            let keys = text(&connection, "PRAGMA strongroom_keys");
            assert!(keys.contains(&format!("\"kind\":\"{kind}\"")), "{keys}");
            // The URI takes precedence.
            let other = format!("&key_file={}", room.path("other-key").display());
            let connection = open(&room, "other.db", &other);
            fill(&connection, "t", ROWS);
            drop(connection);
            let connection = room.open_keyless("other.db");
            assert_refused(&connection, "SELECT * FROM t", "wrong key");
            fill(&open(&room, "plain.db", "&plain=on"), "t", ROWS);
            assert!(is_plain(&room.path("plain.db")));
            let connection = room.open_keyless("plain.db");
            assert_refused(
                &connection,
                "SELECT * FROM t",
                "this is a plain SQLite database",
            );
        });
    }
}

#[test]
fn a_request_that_cannot_be_met_keeps_the_file_shut_and_says_why() {
    let room = Room::new();
    fill(&room.open("x.db"), "t", ROWS);
    std::fs::write(room.path("short-key"), "abc").expect("writable");
    std::fs::write(room.path("empty-key"), "\n").expect("writable");
    let file = |name: &str| room.path(name).display().to_string();
    let cases = [
        (
            format!("&key_file={}", file("absent-key")),
            "cannot read the key file",
        ),
        (
            format!("&key_file={}", file("short-key")),
            "does not hold a key",
        ),
        (
            format!("&passphrase_file={}", file("empty-key")),
            "empty passphrase",
        ),
        ("&key_env=STRONGROOM_TEST_NOT_SET".to_owned(), "is not set"),
        ("&key_token=many".to_owned(), "key token in the URI"),
        (
            format!("&key_file={}&cipher=rot13", file("key")),
            "unknown cipher",
        ),
        (
            format!("&key_file={}&key_env=HOME", file("key")),
            "the URI gives more than one key",
        ),
    ];
    for (parameters, said) in cases {
        for name in ["x.db", "new.db"] {
            let connection = open(&room, name, &parameters);
            for sql in ["SELECT * FROM t", "CREATE TABLE u(a)", "BEGIN IMMEDIATE"] {
                assert_refused(&connection, sql, said);
            }
        }
        assert_eq!(
            std::fs::metadata(room.path("new.db")).expect("there").len(),
            0
        );
    }
    assert_reads(&room.open("x.db"));
}

#[test]
fn a_new_database_without_a_key_is_never_plain_unasked() {
    let room = Room::new();
    for mode in ["delete", "wal", "memory", "off"] {
        let connection = room.open_keyless("x.db");
        let _ = connection.execute_batch(&format!("PRAGMA journal_mode={mode}"));
        assert_eq!(text(&connection, "SELECT count(*) FROM sqlite_schema"), "0");
        let failure = failure(&connection, "CREATE TABLE t(a)");
        assert_eq!(failure.code, SQLITE_AUTH, "{mode}: {failure:?}");
        assert!(failure.detail.contains("no key was given"), "{failure:?}");
        drop(connection);
        for path in room.files() {
            assert_eq!(
                std::fs::metadata(&path).expect("there").len(),
                0,
                "{}",
                path.display()
            );
        }
    }
    let connection = room.open_keyless("x.db");
    failure(&connection, "CREATE TABLE t(a)");
    text(&connection, &raw(3));
    fill(&connection, "t", ROWS);
    drop(connection);
    assert!(!is_plain(&room.path("x.db")));

    fill(&open(&room, "plain.db", "&plain=on"), "t", ROWS);
    assert_reads(&Connection::open(room.path("plain.db")).expect("stock SQLite opens it"));
}

#[test]
fn a_second_connection_costs_no_second_derivation() {
    in_own_process(
        "a_second_connection_costs_no_second_derivation",
        &[],
        || {
            let room = Room::new();
            make_with(&room, "x.db", "PRAGMA key='costly'");
            assert_eq!(cached_files(), 0, "nobody has it open");
            let made = passphrases_stretched();
            let open = || {
                let connection = room.open_keyless("x.db");
                text(&connection, "PRAGMA key='costly'");
                assert_reads(&connection);
                connection
            };
            let first = open();
            assert_eq!((passphrases_stretched() - made, cached_files()), (1, 1));
            let others: Vec<Connection> = (0..5).map(|_| open()).collect();
            assert_eq!((passphrases_stretched() - made, cached_files()), (1, 1));
            let wrong = room.open_keyless("x.db");
            assert_refused(&wrong, "PRAGMA key='cheap'", "wrong key");
            assert_eq!(
                passphrases_stretched() - made,
                2,
                "a wrong one is always derived"
            );
            drop((first, wrong));
            assert_eq!(cached_files(), 1, "others have it open");
            drop(others);
            assert_eq!(cached_files(), 0, "the last one took it away");
            drop(open());
            assert_eq!((passphrases_stretched() - made, cached_files()), (3, 0));
        },
    );
}

#[test]
fn a_database_that_may_only_be_read_is_read_with_its_key() {
    let room = Room::new();
    fill(&room.open("x.db"), "t", ROWS);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    for more in ["", "&mmap=off", "&immutable=1", "&mode=ro"] {
        let connection = Connection::open_with_flags(room.uri("x.db", more), flags).expect("opens");
        assert_reads(&connection);
        failure(&connection, "CREATE TABLE u(a)");
    }
}
