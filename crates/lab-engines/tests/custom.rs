//! The example of a user-defined workload runs, and errors in a folder are reported.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;

use lab::answer::Answers;
use lab::custom::{FolderError, build, pinned};
use lab::engine::EngineOptions;
use proptest::prelude::*;
use sqlite_api::{Library, Script};
use workloads::custom::split;
use workloads::{Dialect, Spec};

fn example() -> Spec {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/my-app");
    Spec::named(&folder.to_string_lossy()).unwrap()
}

#[test]
fn the_example_runs_and_its_queries_find_rows() {
    let workload = build(&example(), Dialect::Sqlite).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let engine = lab_engines::named("strongroom-nosync", &EngineOptions::default()).unwrap();
    engine.create(folder.path()).unwrap();
    let mut connection = engine.open(folder.path()).unwrap();
    let mut rows = Vec::new();
    for test in &workload.tests {
        let statements: Vec<&str> = test.statements().collect();
        let mut answers = Answers::default();
        connection.run(&statements, &mut answers).unwrap();
        rows.push((test.title.as_str(), answers.row_count()));
    }
    connection.close().unwrap();
    assert_eq!(
        rows,
        [
            ("Schema", 0),
            ("Load", 0),
            ("Open tickets of each person", 20),
            ("One ticket with its comments (500 times)", 2000),
            ("Tickets on fire", 455),
            ("Who writes most to the tickets of others", 20),
            ("A comment, each in a transaction of its own (50 times)", 0),
            ("close old tickets", 0),
            ("tidy", 0),
        ]
    );
    assert!(!workload.canary.is_empty());
}

#[test]
fn every_dialect_has_the_example() {
    for dialect in [Dialect::Postgres, Dialect::Mysql] {
        assert_eq!(build(&example(), dialect).unwrap().tests.len(), 9);
    }
}

#[test]
fn a_folder_that_is_no_workload_is_reported() {
    let missing = Spec::named("./no-such-folder").unwrap();
    let message = build(&missing, Dialect::Sqlite).unwrap_err().to_string();
    assert!(
        message.starts_with("./no-such-folder: no such file or folder"),
        "{message}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = build(
        &Spec::named(&file.path().to_string_lossy()).unwrap(),
        Dialect::Sqlite,
    )
    .unwrap_err()
    .to_string();
    assert!(message.contains(": this is a file; "), "{message}");
}

#[test]
fn files_that_change_under_way_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::named(&folder.path().to_string_lossy()).unwrap();
    fs::write(folder.path().join("schema.sql"), "CREATE TABLE t(a);").unwrap();
    fs::write(folder.path().join("queries.sql"), "SELECT 1;").unwrap();
    fs::write(folder.path().join("notes.txt"), "left alone").unwrap();
    let workload = build(&spec, Dialect::Sqlite).unwrap();
    let spec = pinned(spec, &workload);
    assert!(build(&spec, Dialect::Sqlite).is_ok());
    fs::write(folder.path().join("queries.sql"), "SELECT 'a").unwrap();
    let message = build(&spec, Dialect::Sqlite).unwrap_err().to_string();
    assert!(
        message.contains("queries.sql, line 1: the ' that opens here"),
        "{message}"
    );
    fs::write(folder.path().join("queries.sql"), "SELECT 2;").unwrap();
    assert!(matches!(
        build(&spec, Dialect::Sqlite),
        Err(FolderError::Changed { .. })
    ));
    fs::write(folder.path().join("queries.sql"), [0xff, 0xfe]).unwrap();
    assert!(matches!(
        build(&spec, Dialect::Sqlite),
        Err(FolderError::Read { .. })
    ));
}

/// Statements that SQLite can prepare if there is a table `t(a)`.
const STATEMENTS: [&str; 10] = [
    "SELECT ';', \"a\", `a`, [a] FROM t",
    "INSERT INTO t VALUES('it''s; not over')",
    "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 3; END",
    "CREATE TEMP TRIGGER r AFTER DELETE ON t BEGIN DELETE FROM t; /* ; END; */ SELECT 'END;'; END",
    "CREATE TABLE trigger_like(begin_ TEXT, end_ TEXT DEFAULT ';')",
    "BEGIN",
    "END",
    "SELECT a -- ; comment\n FROM t",
    "SELECT /* ; ' */ x'3b', 1.5e3, 'back\\'",
    "UPDATE t SET a = \"a\" || ';' WHERE a <> '--'",
];

/// What may separate two of them.
const BETWEEN: [&str; 6] = [";", ";\n", " ;; ", ";-- '\n", ";/* \" */\n", "; ;\n--\n"];

/// The text, split where SQLite's own parser sees the end of each statement.
fn cut_by_sqlite(text: &str) -> Vec<&str> {
    let connection = Library::linked().open(":memory:").unwrap();
    connection.execute("CREATE TABLE t(a)").unwrap();
    let script = Script::new(text.to_owned());
    let (mut begin, mut end) = (0, 0);
    let mut cut = Vec::new();
    while connection
        .prepare_next(&script, &mut end)
        .unwrap()
        .is_some()
    {
        cut.push(&text[begin..end]);
        begin = end;
    }
    cut
}

proptest! {
    #[test]
    fn statements_end_where_sqlite_sees_their_end(
        parts in prop::collection::vec(
            (prop::sample::select(&STATEMENTS[..]), prop::sample::select(&BETWEEN[..])),
            1..8,
        ),
    ) {
        let text: String = parts.iter().flat_map(|&(statement, end)| [statement, end]).collect();
        let ours = split(&text, Dialect::Sqlite).unwrap();
        let theirs = cut_by_sqlite(&text);
        prop_assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            let theirs = theirs.strip_suffix(';').unwrap_or(theirs);
            prop_assert!(theirs.trim_end().ends_with(ours.text), "{} and {}", ours.text, theirs);
        }
    }
}
