//! Workload `custom`: what a folder becomes, what is refused, and splitting of statements.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;
use workloads::custom::{
    CustomError, CustomFile, CustomTexts, SplitError, SplitProblem, split, workload,
};
use workloads::{Dialect, Workload};

fn texts(files: &[(&str, &str)]) -> CustomTexts {
    CustomTexts {
        name: "my-app".to_owned(),
        files: files
            .iter()
            .map(|&(name, text)| CustomFile {
                name: name.to_owned(),
                text: text.to_owned(),
            })
            .collect(),
    }
}

const SCHEMA: (&str, &str) = ("schema.sql", "CREATE TABLE t(a);");

fn titles(workload: &Workload) -> Vec<&str> {
    workload
        .tests
        .iter()
        .map(|test| test.title.as_str())
        .collect()
}

#[test]
fn files_run_in_their_order_and_each_query_is_a_test() {
    let texts = texts(&[
        ("20-after.sql", "DELETE FROM t;"),
        (
            "queries.sql",
            "-- title: All rows\n-- repeat: 3\nSELECT * FROM t;\n\n-- how many there are\n\
             SELECT count(*) FROM t;\nSELECT\n  a FROM t",
        ),
        (
            "load.sql",
            "INSERT INTO t VALUES('some longer words'); SELECT 'x';",
        ),
        (
            "10-month_end.sql",
            "-- title Month\nUPDATE t SET a = 1;\nVACUUM;",
        ),
        SCHEMA,
    ]);
    let workload = workload(&texts, Dialect::Sqlite).unwrap();
    assert_eq!(
        titles(&workload),
        [
            "Schema",
            "Load",
            "All rows (3 times)",
            "how many there are",
            "SELECT a FROM t",
            "Month",
            "after"
        ]
    );
    assert_eq!(
        workload.tests[2].script.text(),
        "SELECT * FROM t;\n".repeat(3)
    );
    assert_eq!(workload.tests[4].script.text(), "SELECT\n  a FROM t;\n");
    assert_eq!(workload.tests[5].statement_count(), 2);
    assert_eq!(workload.canary, "some longer words");
    let numbers: Vec<u32> = workload.tests.iter().map(|test| test.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_dialect_has_its_own_files_and_the_hash_is_that_of_all() {
    let mut files = vec![
        SCHEMA,
        ("schema.postgres.sql", "CREATE TABLE t(a bigint);"),
        ("queries.sql", "SELECT 1;"),
    ];
    let with = texts(&files);
    let sqlite = workload(&with, Dialect::Sqlite).unwrap();
    let postgres = workload(&with, Dialect::Postgres).unwrap();
    assert_eq!(sqlite.tests[0].script.text(), "CREATE TABLE t(a);\n");
    assert_eq!(
        postgres.tests[0].script.text(),
        "CREATE TABLE t(a bigint);\n"
    );
    assert_eq!(sqlite.sha256, postgres.sha256);
    files.swap(0, 2);
    assert_eq!(
        workload(&texts(&files), Dialect::Sqlite).unwrap().sha256,
        sqlite.sha256
    );
    files[2].1 = "SELECT 2;";
    assert_ne!(
        workload(&texts(&files), Dialect::Sqlite).unwrap().sha256,
        sqlite.sha256
    );
}

#[track_caller]
fn refused(files: &[(&str, &str)], dialect: Dialect) -> String {
    workload(&texts(files), dialect).unwrap_err().to_string()
}

#[test]
fn errors_are_reported_with_file_and_line() {
    let sqlite = Dialect::Sqlite;
    let message = refused(&[("queries.sql", "SELECT 1;")], sqlite);
    assert!(message.starts_with("schema.sql is missing"), "{message}");
    let message = refused(&[SCHEMA], sqlite);
    assert!(message.starts_with("queries.sql is missing"), "{message}");
    let message = refused(&[SCHEMA, ("querys.sql", "SELECT 1;")], sqlite);
    assert!(message.starts_with("querys.sql has no place"), "{message}");
    let message = refused(&[SCHEMA, ("queries.oracle.sql", "SELECT 1;")], sqlite);
    assert!(
        message.starts_with("queries.oracle.sql has no place"),
        "{message}"
    );
    let message = refused(&[SCHEMA, ("queries.sql", "-- nothing\n;;\n")], sqlite);
    assert!(
        message.starts_with("queries.sql holds no statement"),
        "{message}"
    );
    let message = refused(
        &[SCHEMA, ("queries.sql", "SELECT 1;\nSELECT\n 'a;")],
        sqlite,
    );
    assert_eq!(
        message,
        "queries.sql, line 3: the ' that opens here is never closed"
    );
    let message = refused(
        &[SCHEMA, ("queries.sql", "-- repeat: often\nSELECT 1;")],
        sqlite,
    );
    assert!(
        message.starts_with("queries.sql, line 1: `often` is no count"),
        "{message}"
    );
    let message = refused(
        &[SCHEMA, ("queries.mysql.sql", "SELECT 1;")],
        Dialect::Postgres,
    );
    assert!(
        message.starts_with("queries.postgres.sql is missing"),
        "{message}"
    );
    assert!(matches!(
        workload(
            &texts(&[
                SCHEMA,
                ("queries.sql", "SELECT 1; SELECT 2;"),
                ("queries.mysql.sql", "SELECT 1;")
            ]),
            Dialect::Mysql
        ),
        Err(CustomError::Count {
            found: 1,
            expected: 2,
            ..
        })
    ));
}

#[track_caller]
fn pieces(text: &str, dialect: Dialect) -> Vec<&str> {
    split(text, dialect)
        .unwrap()
        .into_iter()
        .map(|statement| statement.text)
        .collect()
}

#[test]
fn semicolons_inside_of_something_end_nothing() {
    for (dialect, text) in [
        (
            Dialect::Sqlite,
            "SELECT ';', \"a;\", `b;`, [c;] -- d;\n /* ; */",
        ),
        (Dialect::Sqlite, "SELECT 'it''s;'"),
        (Dialect::Sqlite, "SELECT 'back\\'"),
        (
            Dialect::Sqlite,
            "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN\n  SELECT CASE WHEN 1 THEN 2 END;\n  \
             DELETE FROM t; -- no\nEND",
        ),
        (Dialect::Postgres, "SELECT $$a;b$$, $x$;$$;$x$, $1, a[1]"),
        (
            Dialect::Postgres,
            "SELECT E'it\\'s;', '\\', /* a /* ; */ ; */ 1",
        ),
        (
            Dialect::Postgres,
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
        ),
        (
            Dialect::Postgres,
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END",
        ),
        (
            Dialect::Mysql,
            "SELECT 'it\\'s;', \"a\\\";\", `b;` # c;\n, 1--1",
        ),
    ] {
        let two = format!("{text};\nSELECT 2;");
        let found = pieces(&two, dialect);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(text.starts_with(found[0]), "{found:?}");
        assert_eq!(found[1], "SELECT 2");
    }
}

#[test]
fn syntax_of_one_dialect_is_plain_text_to_another() {
    assert_eq!(pieces("SELECT a[1;2]", Dialect::Postgres).len(), 2);
    assert_eq!(pieces("SELECT 'a\\'; SELECT 'b'", Dialect::Sqlite).len(), 2);
    assert_eq!(pieces("SELECT 1 # 2; SELECT 3", Dialect::Postgres).len(), 2);
    assert_eq!(pieces("SELECT 5 --3; SELECT 4", Dialect::Mysql).len(), 2);
    assert_eq!(
        pieces("BEGIN; DELETE FROM t; END; SELECT 1", Dialect::Sqlite).len(),
        4
    );
}

#[test]
fn unterminated_parts_are_refused() {
    let quote = |mark| SplitProblem::Quote { mark };
    let cases = [
        (Dialect::Sqlite, "SELECT 1;\n\"a", 2, quote('"')),
        (Dialect::Sqlite, "\n\n[a", 3, quote('[')),
        (Dialect::Mysql, "SELECT 'a\\';", 1, quote('\'')),
        (Dialect::Postgres, "SELECT E'\\'", 1, quote('\'')),
        (
            Dialect::Postgres,
            "SELECT $a$ $b$;",
            1,
            SplitProblem::DollarQuote,
        ),
        (Dialect::Postgres, "/* /* */", 1, SplitProblem::Comment),
        (
            Dialect::Postgres,
            "SELECT (1;\nSELECT 2;",
            1,
            SplitProblem::Parenthesis,
        ),
        (
            Dialect::Sqlite,
            "CREATE TRIGGER x BEGIN SELECT 1; SELECT 2",
            1,
            SplitProblem::Body,
        ),
        (
            Dialect::Sqlite,
            "SELECT 1;\n.mode csv\n",
            2,
            SplitProblem::ShellCommand,
        ),
        (
            Dialect::Postgres,
            "\\copy t from 'x'",
            1,
            SplitProblem::ShellCommand,
        ),
        (
            Dialect::Mysql,
            "delimiter //",
            1,
            SplitProblem::ShellCommand,
        ),
    ];
    for (dialect, text, line, problem) in cases {
        let refused = split(text, dialect);
        assert_eq!(refused, Err(SplitError { line, problem }), "{text}");
    }
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![
        Just(Dialect::Sqlite),
        Just(Dialect::Postgres),
        Just(Dialect::Mysql)
    ]
}

/// Pieces of statements that are complete in every dialect.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z][a-z0-9_]{0,6}",
        "[0-9]{1,4}",
        "[-+*/=<>,.] ",
        "'[^'\\\\]{0,8}'".prop_map(|text| text),
        "[^'\\\\]{0,5}".prop_map(|text| format!("'{text}''{text}'")),
        "[^\"\\\\]{0,8}".prop_map(|text| format!("\"{text}\"")),
        "[a-z; ']{0,8}".prop_map(|text| format!("/*{text}*/")),
        "[a-z; '\"(]{0,8}".prop_map(|text| format!("-- {text}\n")),
        "[a-z ]{0,4}".prop_map(|text| format!("({text})")),
    ]
}

/// A statement whose first word is not a shell command.
fn statement() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..8)
        .prop_map(|pieces| format!("SELECT {} END", pieces.join(" ")))
}

/// What may stand between two statements.
const BETWEEN: [&str; 5] = [";", " ;\n", ";;\n", "; -- ; '\n", ";/*;*/"];

/// Words and characters that begin or end bodies and quotes.
const WORDS: [&str; 13] = [
    "CREATE", "TRIGGER", "BEGIN", "END", "ATOMIC", ";", "(", ")", "$a$", "'", "SELECT", "/*", "*/",
];

/// Texts with many special characters.
const MARKED: &str = "[a-zA-Z0-9 ;'\"`\\[\\]$()*/\\\\#.\n-]{0,60}|\\PC{0,40}";

proptest! {
    #[test]
    fn statements_that_were_joined_are_found_again(
        statements in prop::collection::vec(statement(), 1..8),
        dialect in dialect(),
        between in prop::sample::select(&BETWEEN[..]),
    ) {
        let text = statements.join(between);
        prop_assert_eq!(pieces(&text, dialect), statements);
    }

    #[test]
    fn any_text_is_cut_or_refused(text in MARKED, dialect in dialect()) {
        let mut rest = text.as_str();
        for statement in split(&text, dialect).unwrap_or_default() {
            // Each occurs in the text, after the one before it.
            let place = rest.find(statement.text);
            prop_assert!(place.is_some());
            rest = &rest[place.unwrap() + statement.text.len()..];
        }
    }

    #[test]
    fn words_that_create_triggers_break_nothing(
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24),
        dialect in dialect(),
    ) {
        let text = words.join(" ");
        for statement in split(&text, dialect).unwrap_or_default() {
            prop_assert!(!statement.text.is_empty());
            prop_assert_eq!(statement.text.trim(), statement.text);
        }
    }
}
