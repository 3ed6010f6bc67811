//! Linked and loaded libraries behave alike, and errors are reported.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::fs;
use std::path::Path;

use sqlite_api::{Connection, Library, LoadError, Script, Value};

fn memory(library: &'static Library) -> Connection {
    library.open(":memory:").unwrap()
}

/// Runs the check on the linked library and on a loaded one.
fn on_both(check: impl Fn(&'static Library)) {
    check(Library::linked());
    check(support::loaded());
}

#[test]
fn values_keep_their_types() {
    on_both(|library| {
        let connection = memory(library);
        let select = "SELECT 7, -2.5, 'é', x'00ff', NULL, '', x''";
        let mut statement = connection.prepare(select).unwrap().unwrap();
        assert_eq!(statement.column_count(), 7);
        assert_eq!(statement.value(0), Value::Null, "no row yet");
        assert!(statement.step().unwrap());
        let values: Vec<Value<'_>> = (0..8).map(|column| statement.value(column)).collect();
        assert_eq!(
            values,
            [
                Value::Integer(7),
                Value::Real(-2.5),
                Value::Text("é".as_bytes()),
                Value::Blob(&[0, 255]),
                Value::Null,
                Value::Text(b""),
                Value::Blob(b""),
                Value::Null,
            ]
        );
        assert_eq!(statement.text(1), Some(b"-2.5".as_slice()));
        assert_eq!(statement.text(4), None);
        assert_eq!(statement.text(5), Some(b"".as_slice()));
        assert_eq!(statement.text(7), None);
        assert!(!statement.step().unwrap());
        statement.finalize().unwrap();
        connection.close().unwrap();
    });
}

#[test]
fn a_text_of_an_odd_encoding_comes_as_utf_8() {
    on_both(|library| {
        let connection = memory(library);
        connection
            .execute("PRAGMA encoding = 'UTF-16be'; CREATE TABLE t(a)")
            .unwrap();
        connection.execute("INSERT INTO t VALUES('ü€𝄞')").unwrap();
        assert_eq!(
            connection.first_text("SELECT a FROM t").unwrap().unwrap(),
            "ü€𝄞"
        );
    });
}

#[test]
fn one_statement_means_one() {
    on_both(|library| {
        let connection = memory(library);
        for text in [
            "SELECT 1",
            "SELECT 1;",
            " -- a\n SELECT 1 ; -- b\n /* c */ \n",
            ";;SELECT 1;;",
        ] {
            assert!(connection.prepare(text).unwrap().is_some(), "{text}");
        }
        for text in ["", " \n", "-- nothing", ";"] {
            assert!(connection.prepare(text).unwrap().is_none(), "{text}");
        }
        for text in ["SELECT 1; SELECT 2", "SELECT 1;; SELECT 2", "SELECT 1; x"] {
            assert!(connection.prepare(text).is_err(), "{text}");
        }
        let error = connection
            .prepare("SELECT 1\0; DROP TABLE t")
            .err()
            .unwrap();
        assert!(error.message.contains("zero byte"), "{error}");
        connection.close().unwrap();
    });
}

#[test]
fn a_script_is_taken_statement_by_statement() {
    on_both(|library| {
        let connection = memory(library);
        let text = "SELECT 1;\n-- c; d\nSELECT ';2' ;\n;CREATE TABLE t(a); SELECT 3";
        let script = Script::new(text.to_owned());
        let (mut offset, mut ends, mut texts) = (0, vec![], vec![]);
        while let Some(mut statement) = connection.prepare_next(&script, &mut offset).unwrap() {
            ends.push(offset);
            if statement.step().unwrap() {
                texts.push(String::from_utf8(statement.text(0).unwrap().to_vec()).unwrap());
            }
        }
        assert_eq!(texts, ["1", ";2", "3"]);
        assert_eq!(ends, [9, 31, 51, text.len()]);
        connection
            .execute("INSERT INTO t VALUES(4); INSERT INTO t VALUES(5);")
            .unwrap();
        let sum = connection.first_text("SELECT sum(a) FROM t").unwrap();
        assert_eq!(sum.as_deref(), Some("9"));
    });
}

#[test]
fn a_failure_has_its_code_and_words() {
    on_both(|library| {
        let connection = memory(library);
        let error = connection.prepare("SELECT absent").err().unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (1, "no such column: absent")
        );
        assert!(!connection.without_words(&error).message.contains("absent"));
        connection
            .execute("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)")
            .unwrap();
        let mut statement = connection
            .prepare("INSERT INTO t VALUES(1)")
            .unwrap()
            .unwrap();
        let error = statement.step().unwrap_err();
        assert_eq!(error.code, 2067, "the extended code of a broken uniqueness");
        assert_eq!(error.message, "UNIQUE constraint failed: t.a");
        assert_eq!(statement.finalize().unwrap_err(), error);
        let error = connection.execute("SELECT 1; INSERT INTO t VALUES(1); DROP TABLE t");
        assert_eq!(error.unwrap_err().code, 2067);
        assert!(connection.first_text("SELECT a FROM t").unwrap().is_some());
    });
}

#[test]
fn a_file_is_opened_by_its_uri_and_closed() {
    on_both(|library| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let uri = format!("file:{}?mode=ro", path.display());
        let error = library.open(&uri).err().unwrap();
        assert_eq!(error.code & 0xff, 14, "cannot open: {error}");
        let connection = library.open(path.to_str().unwrap()).unwrap();
        connection.execute("CREATE TABLE t(a)").unwrap();
        let statement = connection.prepare("SELECT 1").unwrap().unwrap();
        // A statement that is never finalised is an error, not a silent leak.
        std::mem::forget(statement);
        assert_eq!(connection.close().unwrap_err().code & 0xff, 5);
        assert!(library.open("a\0b").is_err());
    });
}

#[test]
fn a_connection_may_be_used_by_another_thread() {
    on_both(|library| {
        let connection = memory(library);
        let found = std::thread::spawn(move || connection.first_text("SELECT 8").unwrap());
        assert_eq!(found.join().unwrap().as_deref(), Some("8"));
    });
}

#[test]
fn a_loaded_library_answers_for_itself_and_not_for_the_linked_one() {
    let library = support::loaded();
    let connection = memory(library);
    let version = connection
        .first_text("SELECT sqlite_version()")
        .unwrap()
        .unwrap();
    assert_eq!(version, library.version());
    assert!(
        connection
            .compile_options()
            .unwrap()
            .contains(&support::MARK.to_owned())
    );
    let linked = memory(Library::linked()).compile_options().unwrap();
    assert!(!linked.contains(&support::MARK.to_owned()));
    assert!(std::ptr::eq(library, support::loaded()), "loaded once");
}

#[test]
fn files_that_are_not_sqlite_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.so");
    assert!(matches!(
        Library::load(&missing),
        Err(LoadError::Missing { .. })
    ));
    let text = folder.path().join("text.so");
    fs::write(&text, "no library").unwrap();
    assert!(matches!(
        Library::load(&text),
        Err(LoadError::NotALibrary { .. })
    ));
    let no_such_name = Path::new("libno-such-library-anywhere.so");
    assert!(matches!(
        Library::load(no_such_name),
        Err(LoadError::NotALibrary { .. })
    ));
    let other = support::library(
        folder.path(),
        "other",
        "int sqlite3_libversion(void) { return 0; }",
    );
    let Err(error) = Library::load(&other) else {
        panic!("taken for SQLite");
    };
    assert!(error.to_string().contains("sqlite3_threadsafe"), "{error}");
}
