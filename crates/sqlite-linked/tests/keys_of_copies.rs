//! Keys of files derived from an encrypted database: attached ones, VACUUM INTO, backups.

mod common;

use std::path::Path;
use std::time::Duration;

use common::files::{assert_refused, failure, fill, open, read_rows, uri};
use common::{Room, file_contains, last_error, text};
use rusqlite::Connection;
use rusqlite::backup::Backup;
use rusqlite::ffi::{SQLITE_AUTH, SQLITE_NOTADB};

const ROWS: i64 = 50;

fn assert_reads(connection: &Connection) {
    assert_eq!(read_rows(connection, "t").expect("reads"), ROWS);
}

fn is_plain(path: &Path) -> bool {
    file_contains(path, b"SQLite format 3")
}

fn attach(connection: &Connection, uri: &str, schema: &str) {
    connection
        .execute(&format!("ATTACH ?1 AS {schema}"), [uri])
        .unwrap_or_else(|error| panic!("{error}: {}", last_error(connection)));
}

#[test]
fn attached_files_have_their_own_keys() {
    let room = Room::new();
    let connection = room.open("main.db");
    fill(&connection, "t", ROWS);
    let other = format!("&key_file={}", room.path("other-key").display());
    attach(&connection, &uri(&room, "other.db", &other), "other");
    attach(&connection, &uri(&room, "plain.db", "&plain=on"), "plain");
    connection
        .execute_batch(
            "BEGIN; CREATE TABLE other.t AS SELECT * FROM main.t;
             CREATE TABLE plain.t AS SELECT * FROM main.t;
             CREATE TABLE main.u(a); COMMIT;",
        )
        .expect("one transaction over three files");
    drop(connection);
    assert_reads(&open(&room, "other.db", &other));
    let wrong = room.open("other.db");
    assert_refused(&wrong, "SELECT * FROM t", "wrong key");
    assert!(is_plain(&room.path("plain.db")));
    assert!(!is_plain(&room.path("main.db")) && !is_plain(&room.path("other.db")));
    assert_reads(&Connection::open(room.path("plain.db")).expect("opens"));
    let connection = room.open("main.db");
    let failure = connection
        .execute("ATTACH ?1 AS other", [uri(&room, "other.db", "")])
        .expect_err("another key, and none was given");
    assert_eq!(
        failure.sqlite_error().map(|error| error.extended_code),
        Some(SQLITE_NOTADB),
        "{failure}"
    );
}

#[test]
fn an_attached_new_file_inherits_the_key() {
    let room = Room::new();
    let connection = room.open_keyless("main.db");
    text(&connection, "PRAGMA key='of the main database'");
    fill(&connection, "t", ROWS);
    attach(&connection, &uri(&room, "heir.db", ""), "heir");
    connection
        .execute_batch("CREATE TABLE heir.t AS SELECT * FROM main.t")
        .expect("creates");
    connection.execute_batch("DETACH heir").expect("detaches");
    attach(&connection, &uri(&room, "heir.db", ""), "heir");
    assert_eq!(
        text(&connection, "SELECT count(*) FROM heir.t"),
        ROWS.to_string()
    );
    drop(connection);
    let heir = room.open_keyless("heir.db");
    assert_eq!(text(&heir, "PRAGMA key='of the main database'"), "ok");
    assert_reads(&heir);
    let of = |name: &str| {
        let bytes = std::fs::read(room.path(name)).expect("readable");
        page_codec::header::HeaderRegion::parse(&bytes)
            .expect("a header")
            .header
    };
    assert_ne!(of("heir.db").file_id, of("main.db").file_id);
    assert_ne!(of("heir.db").epochs, of("main.db").epochs);

    let keyless = room.open_keyless("none.db");
    attach(&keyless, &uri(&room, "orphan.db", ""), "orphan");
    assert_eq!(
        failure(&keyless, "CREATE TABLE orphan.t(a)").code,
        SQLITE_AUTH
    );
}

#[test]
fn vacuum_into_inherits_the_key() {
    let room = Room::new();
    fill(&room.open("x.db"), "t", ROWS);
    let connection = room.open("x.db");
    let key_file = room.path("key").display().to_string();
    let targets = [
        ("by-name.db", room.path("by-name.db").display().to_string()),
        ("by-uri.db", uri(&room, "by-uri.db", "")),
        (
            "own-cipher.db",
            uri(&room, "own-cipher.db", "&cipher=aes-256-gcm"),
        ),
        (
            "own-key.db",
            uri(&room, "own-key.db", &format!("&key_file={key_file}")),
        ),
    ];
    for (name, target) in targets {
        connection
            .execute("VACUUM INTO ?1", [target])
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", last_error(&connection)));
        assert!(!is_plain(&room.path(name)), "{name}");
        let copy = room.open(name);
        assert_reads(&copy);
        assert_eq!(text(&copy, "PRAGMA strongroom_verify"), "ok");
    }
    assert_eq!(
        text(&room.open("own-cipher.db"), "PRAGMA strongroom_cipher"),
        "aes-256-gcm"
    );
}

fn back_up(source: &Connection, target: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(source, target)?.run_to_completion(5, Duration::ZERO, None)
}

#[test]
fn a_backup_is_never_plain_by_accident() {
    let room = Room::new();
    fill(&room.open("x.db"), "t", 500);
    let source = room.open("x.db");
    let other = format!("&key_file={}", room.path("other-key").display());
    for cipher in [
        "aegis-256x2",
        "aegis-256",
        "aes-256-gcm",
        "xchacha20-poly1305",
    ] {
        let name = format!("{cipher}.db");
        let parameters = format!("{other}&cipher={cipher}");
        for round in ["new", "existing"] {
            let mut target = open(&room, &name, &parameters);
            back_up(&source, &mut target)
                .unwrap_or_else(|error| panic!("{name}: {error}: {}", last_error(&target)));
            drop(target);
            let copy = open(&room, &name, &other);
            assert_eq!(
                read_rows(&copy, "t").expect("reads"),
                500,
                "{name}, {round}"
            );
            assert_eq!(text(&copy, "PRAGMA strongroom_cipher"), cipher);
            assert_eq!(text(&copy, "PRAGMA strongroom_verify"), "ok");
        }
    }
    let mut keyless = room.open_keyless("keyless.db");
    back_up(&source, &mut keyless).expect_err("no key");
    assert!(last_error(&keyless).contains("no key was given"));
    drop(keyless);
    assert_eq!(
        std::fs::metadata(room.path("keyless.db"))
            .expect("there")
            .len(),
        0
    );

    let plain = Connection::open(room.path("plain.db")).expect("opens");
    fill(&plain, "t", 500);
    let mut target = room.open("from-plain.db");
    back_up(&plain, &mut target).expect_err("a plain database has no room for trailers");
    assert!(
        last_error(&target).contains("32 reserved bytes"),
        "{}",
        last_error(&target)
    );
    drop(target);
    assert_eq!(
        std::fs::metadata(room.path("from-plain.db"))
            .expect("there")
            .len(),
        0
    );
}

#[test]
fn a_key_encrypts_what_is_attached_to_a_plain_database() {
    let room = Room::new();
    let main = open(&room, "main.db", "&plain=on");
    fill(&main, "t", ROWS);
    let name = room.path("new.db");
    attach(&main, &name.display().to_string(), "n");
    assert_eq!(text(&main, "PRAGMA n.key='a secret'"), "ok");
    main.execute_batch("CREATE TABLE n.t AS SELECT * FROM main.t")
        .expect("it is written");
    drop(main);
    assert!(is_plain(&room.path("main.db")) && !is_plain(&name));
    let again = room.open_keyless("new.db");
    assert_eq!(text(&again, "PRAGMA key='a secret'"), "ok");
    assert_reads(&again);
}

#[test]
fn a_database_that_was_opened_as_a_plain_one_takes_no_key() {
    let room = Room::new();
    let connection = open(&room, "new.db", "&plain=on");
    let refused = failure(&connection, "PRAGMA key='a secret'");
    assert!(refused.detail.contains("plain=on"), "{refused:?}");
    fill(&connection, "t", ROWS);
    assert!(is_plain(&room.path("new.db")));
}
