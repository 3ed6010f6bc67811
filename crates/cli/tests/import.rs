//! `strongroom import`, on files that SQLCipher itself wrote and on plain ones.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::{Place, contains};

/// A sample of `vectors/sqlcipher/cases.json`.
#[derive(Deserialize)]
struct Case {
    name: String,
    key: String,
    #[serde(default)]
    more: String,
    #[serde(default)]
    options: BTreeMap<String, String>,
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sqlcipher")
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(samples().join(name)).unwrap()
}

fn cases() -> Vec<Case> {
    serde_json::from_slice(&sample("cases.json")).unwrap()
}

/// A folder with the sample `x.db`, the files beside it, and its key.
fn place_of(name: &str) -> Place {
    let place = Place::new();
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    place.passphrase("key", &case.key);
    for suffix in ["", "-wal", "-journal"] {
        let path = samples().join(format!("{name}.db{suffix}"));
        if path.exists() {
            place.write(&format!("x.db{suffix}"), fs::read(path).unwrap());
        }
    }
    place
}

const IMPORT: [&str; 4] = ["import", "--from", "sqlcipher", "x.db"];
const KEY: [&str; 2] = ["--passphrase-file", "key"];

fn arguments<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// The result of the same SQL in stock SQLite.
fn reference(case: &Case) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let content = String::from_utf8(sample("content.sql")).unwrap();
    connection.execute_batch(&content).unwrap();
    connection.execute_batch(&case.more).unwrap();
    if case.name == "log_left" {
        let in_the_log = "INSERT INTO person VALUES (500, 'only in the log', 2000, NULL);
                          DELETE FROM person WHERE id < 5;";
        connection.execute_batch(in_the_log).unwrap();
    }
    connection
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row| (0..columns).map(|column| row.get(column)).collect();
    let rows = statement.query_map([], row).unwrap();
    rows.map(Result::unwrap).collect()
}

#[track_caller]
fn assert_same(copy: &Connection, reference: &Connection, name: &str) {
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    assert_eq!(rows(copy, schema), rows(reference, schema), "{name}");
    let tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name";
    for table in rows(reference, tables) {
        let [Value::Text(table)] = &table[..] else {
            panic!("a name");
        };
        let sql = format!("SELECT * FROM \"{table}\"");
        assert_eq!(rows(copy, &sql), rows(reference, &sql), "{name}: {table}");
    }
    for pragma in ["user_version", "application_id"] {
        let sql = format!("PRAGMA {pragma}");
        assert_eq!(rows(copy, &sql), rows(reference, &sql), "{name}");
    }
    assert_eq!(
        rows(copy, "PRAGMA integrity_check"),
        [[Value::Text("ok".into())]]
    );
}

#[test]
fn every_sample_imports_equal_to_the_same_sql_on_plain_sqlite() {
    for case in cases().iter().filter(|case| case.name != "hot_journal") {
        let place = place_of(&case.name);
        let options: Vec<String> = case
            .options
            .iter()
            .flat_map(|(name, value)| [format!("--{name}"), value.clone()])
            .collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        place
            .run(&arguments(&[&IMPORT, &["copy.db"], &KEY, &options]))
            .fine();
        let bytes = place.bytes("copy.db");
        assert!(!contains(&bytes, b"SQLite format 3"), "{}", case.name);
        assert!(!contains(&bytes, "Grüße".as_bytes()), "{}", case.name);
        assert_eq!(place.bytes("x.db"), sample(&format!("{}.db", case.name)));
        if !case.key.starts_with("x'") {
            place
                .run(&arguments(&[&["export", "copy.db", "plain.db"], &KEY]))
                .fine();
            let plain = Connection::open(place.path("plain.db")).unwrap();
            assert_same(&plain, &reference(case), &case.name);
        }
        assert!(place.left_over().is_empty());
    }
}

#[test]
fn a_raw_key_opens_the_copy_as_a_raw_key() {
    let place = place_of("raw_key");
    place.run(&arguments(&[&IMPORT, &["copy.db"], &KEY])).fine();
    let digits = "2dd29ca851e7b56e4697b0e1f08507293d761a05ce4d1b628663f411a8086d99";
    place.passphrase("digits", digits);
    let with_key = ["--key-file", "digits"];
    place
        .run(&arguments(&[&["verify", "copy.db"], &with_key]))
        .fine();
    // The source accepts it in that form too.
    place
        .run(&arguments(&[&IMPORT, &["again.db"], &with_key]))
        .fine();
}

#[test]
fn settings_of_the_file_are_kept() {
    let place = place_of("utf_16_auto_vacuum_wal");
    place.run(&arguments(&[&IMPORT, &["copy.db"], &KEY])).fine();
    let script = "PRAGMA journal_mode; PRAGMA encoding; PRAGMA auto_vacuum; PRAGMA page_size;";
    let shell = arguments(&[&["shell", "copy.db"], &KEY]);
    assert_eq!(
        place.run_with(&shell, script).fine(),
        "wal\nUTF-16le\n1\n1024\n"
    );
    // And with another page size.
    let import = arguments(&[&IMPORT, &["larger.db"], &KEY, &["--page-size", "8192"]]);
    place.run(&import).fine();
    let shell = arguments(&[&["shell", "larger.db"], &KEY]);
    assert_eq!(
        place.run_with(&shell, script).fine(),
        "wal\nUTF-16le\n1\n8192\n"
    );
}

#[test]
fn the_copy_can_get_another_key() {
    let place = place_of("version_3");
    place.passphrase("new", "battery staple");
    let import = arguments(&[
        &IMPORT,
        &["copy.db"],
        &KEY,
        &["--new-passphrase-file", "new"],
    ]);
    place.run(&import).fine();
    let with = |file: &str| place.run(&["verify", "copy.db", "--passphrase-file", file]);
    with("new").fine();
    with("key").failed();
}

#[test]
fn a_wrong_key_lists_what_was_tried() {
    let place = place_of("version_2");
    place.passphrase("key", "incorrect horse");
    let said = place
        .run(&arguments(&[&IMPORT, &["copy.db"], &KEY]))
        .failed();
    for part in [
        "wrong key",
        "version 4",
        "version 1",
        "4000 iterations",
        "HMAC_SHA512",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("incorrect horse"));
    let options = ["--cipher-compatibility", "2"];
    let said = place
        .run(&arguments(&[&IMPORT, &["copy.db"], &KEY, &options]))
        .failed();
    assert!(
        said.contains("version 2") && !said.contains("version 4"),
        "{said}"
    );
    assert!(!place.exists("copy.db"));
}

#[test]
fn a_damaged_page_is_refused_and_named() {
    for (name, page_size) in [("version_4", 4096), ("version_3", 1024)] {
        let whole = sample(&format!("{name}.db"));
        let reserve = if name == "version_4" { 80 } else { 48 };
        // Ciphertext, IV and HMAC, in page 1 and in a page with content.
        for (page, inside) in [
            (1, 100),
            (2, 7),
            (2, page_size - reserve),
            (2, page_size - 30),
        ] {
            let place = place_of(name);
            let mut bytes = whole.clone();
            bytes[(page - 1) * page_size + inside] ^= 1;
            place.write("x.db", &bytes);
            let said = place
                .run(&arguments(&[&IMPORT, &["copy.db"], &KEY]))
                .failed();
            assert!(said.contains(&format!("page {page}")), "{said}");
            assert!(said.contains("HMAC is wrong"), "{said}");
            assert!(!place.exists("copy.db") && place.left_over().is_empty());
            assert_eq!(place.bytes("x.db"), bytes);
        }
    }
}

#[test]
fn a_frame_of_the_log_that_is_damaged_is_no_content() {
    // SQLite's checksum of the frame comes first, as in any log, so the log ends there.
    let place = place_of("log_left");
    let mut log = sample("log_left.db-wal");
    let end = log.len();
    log[end - 500] ^= 1;
    place.write("x.db-wal", log);
    place.run(&arguments(&[&IMPORT, &["copy.db"], &KEY])).fine();
    let shell = arguments(&[&["shell", "copy.db"], &KEY]);
    let found = place
        .run_with(&shell, "SELECT count(*) FROM person WHERE id = 500")
        .fine();
    assert!(found == "0\n" || found == "1\n");
    let plain = place.run_with(&shell, "PRAGMA integrity_check").fine();
    assert_eq!(plain, "ok\n");
}

#[test]
fn a_file_that_was_cut_is_refused() {
    let whole = sample("version_4.db");
    for (size, wanted) in [
        (whole.len() - 100, "ends in the middle"),
        (whole.len() - 4096, "malformed"),
        (300, "shorter than one page"),
        (0, "is empty"),
    ] {
        let place = place_of("version_4");
        place.write("x.db", &whole[..size]);
        let said = place
            .run(&arguments(&[&IMPORT, &["copy.db"], &KEY]))
            .failed();
        assert!(said.contains(wanted), "{size}: {said}");
        assert!(!place.exists("copy.db"));
    }
}

#[test]
fn a_hot_journal_is_refused_with_a_remedy() {
    for rest in [["copy.db"], ["--in-place"]] {
        let place = place_of("hot_journal");
        let said = place.run(&arguments(&[&IMPORT, &rest, &KEY])).failed();
        assert!(
            said.contains("rolled back") && said.contains("SQLCipher"),
            "{said}"
        );
        assert!(!place.exists("copy.db"));
        assert_eq!(place.bytes("x.db"), sample("hot_journal.db"));
        assert_eq!(
            place.bytes("x.db-journal"),
            sample("hot_journal.db-journal")
        );
    }
}

#[test]
fn in_place_the_original_is_kept_or_removed() {
    let place = place_of("utf_16_auto_vacuum_wal");
    let import = arguments(&[&IMPORT, &["--in-place"], &KEY]);
    place.run(&import).fine();
    let original = place.bytes("x.db.before-import");
    assert_eq!(original, sample("utf_16_auto_vacuum_wal.db"));
    place.run(&arguments(&[&["verify", "x.db"], &KEY])).fine();
    let shell = arguments(&[&["shell", "x.db"], &KEY]);
    let script = "PRAGMA journal_mode; SELECT count(*) FROM person";
    assert_eq!(place.run_with(&shell, script).fine(), "wal\n50\n");
    assert!(place.run(&import).failed().contains("encrypted already"));

    // The name is taken: nothing happens, unless the original is to be removed.
    place.write("x.db", &original);
    let said = place.run(&import).failed();
    assert!(said.contains("before-import exists already"), "{said}");
    assert_eq!(place.bytes("x.db"), original);
    fs::remove_file(place.path("x.db.before-import")).unwrap();
    let run = place.run(&arguments(&[&import, &["--remove-original"]]));
    assert!(run.messages.contains("original was removed"), "{run:?}");
    run.fine();
    assert!(!place.exists("x.db.before-import"));
    place.run(&arguments(&[&["verify", "x.db"], &KEY])).fine();
}

#[test]
fn in_place_a_log_with_content_is_refused() {
    let place = place_of("log_left");
    let said = place
        .run(&arguments(&[&IMPORT, &["--in-place"], &KEY]))
        .failed();
    assert!(
        said.contains("write-ahead log") && said.contains("wal_checkpoint"),
        "{said}"
    );
    assert_eq!(place.bytes("x.db"), sample("log_left.db"));
    assert_eq!(place.bytes("x.db-wal"), sample("log_left.db-wal"));
    assert!(!place.exists("x.db.before-import"));
}

const PLAIN: [&str; 4] = ["import", "--from", "plain", "x.db"];

#[test]
fn a_plain_database_is_imported_and_its_log_with_it() {
    let place = Place::new();
    place.passphrase("key", "correct horse");
    place.plain_database("x.db");
    let live = Connection::open(place.path("x.db")).unwrap();
    live.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA user_version=7; INSERT INTO t VALUES (1000, 'late', NULL)",
    )
    .unwrap();
    place.run(&arguments(&[&PLAIN, &["copy.db"], &KEY])).fine();
    let shell = arguments(&[&["shell", "copy.db"], &KEY]);
    let script = "PRAGMA journal_mode; PRAGMA user_version; SELECT count(*) FROM t";
    assert_eq!(place.run_with(&shell, script).fine(), "wal\n7\n501\n");
    let in_place = arguments(&[&PLAIN, &["--in-place"], &KEY]);
    let said = place.run(&in_place).failed();
    assert!(said.contains("in use"), "{said}");
    drop(live);
    place.run(&in_place).fine();
    let shell = arguments(&[&["shell", "x.db"], &KEY]);
    assert_eq!(place.run_with(&shell, script).fine(), "wal\n7\n501\n");
    let kept = Connection::open(place.path("x.db.before-import")).unwrap();
    assert_eq!(
        rows(&kept, "SELECT count(*) FROM t"),
        [[Value::Integer(501)]]
    );
}

#[test]
fn definitions_of_other_programs_are_refused_or_copied_unchanged() {
    let place = Place::new();
    place.passphrase("key", "correct horse");
    let make = |sql: &str| {
        drop(fs::remove_file(place.path("x.db")));
        place.plain_database("x.db");
        let connection = Connection::open(place.path("x.db")).unwrap();
        connection
            .execute_batch("PRAGMA writable_schema=ON")
            .unwrap();
        connection.execute_batch(sql).unwrap();
    };
    make(
        "UPDATE sqlite_schema SET sql='CREATE INDEX t_name ON t(name COLLATE KLINGON)'
          WHERE name='t_name'",
    );
    let import = arguments(&[&PLAIN, &["copy.db", "--force"], &KEY]);
    let said = place.run(&import).failed();
    assert!(
        said.contains("no such collation sequence: KLINGON"),
        "{said}"
    );
    assert!(
        said.contains("only the program which made it defines"),
        "{said}"
    );
    assert!(!place.exists("copy.db"));
    // The schema of an unknown virtual table is copied; its content is in ordinary tables.
    make(
        "INSERT INTO sqlite_schema VALUES
          ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING unheard_of(x)')",
    );
    place.run(&import).fine();
    let shell = arguments(&[&["shell", "copy.db"], &KEY]);
    let script = "SELECT sql FROM sqlite_schema WHERE name = 'v'; SELECT count(*) FROM t";
    let found = place.run_with(&shell, script).fine();
    assert_eq!(found, "CREATE VIRTUAL TABLE v USING unheard_of(x)\n500\n");
}

#[test]
fn forms_are_not_mistaken_for_each_other() {
    let place = place_of("version_4");
    place.plain_database("plain.db");
    let plain = ["import", "--from", "plain", "x.db", "copy.db"];
    let said = place.run(&arguments(&[&plain, &KEY])).failed();
    assert!(said.contains("--from sqlcipher"), "{said}");
    let sqlcipher = ["import", "--from", "sqlcipher", "plain.db", "copy.db"];
    let said = place.run(&arguments(&[&sqlcipher, &KEY])).failed();
    assert!(said.contains("import it as plain"), "{said}");
    let plain = [
        "import",
        "--from",
        "plain",
        "plain.db",
        "copy.db",
        "--kdf-iter",
        "5",
    ];
    let said = place.run(&arguments(&[&plain, &KEY])).failed();
    assert!(said.contains("mean nothing"), "{said}");
    place
        .run(&arguments(&[&["encrypt", "plain.db", "ours.db"], &KEY]))
        .fine();
    let ours = ["import", "--from", "sqlcipher", "ours.db", "copy.db"];
    let said = place.run(&arguments(&[&ours, &KEY])).failed();
    assert!(said.contains("encrypted already"), "{said}");
    let missing = ["import", "--from", "sqlcipher", "none.db", "--in-place"];
    let said = place.run(&arguments(&[&missing, &KEY])).failed();
    assert!(said.contains("there is no file"), "{said}");
    assert!(!place.exists("copy.db"));
}
