//! Extensions compute, and give a query nothing else to do.

use finisher_postgres::{FinisherOptions, Finishers};
use server_testkit::Postgres;
use session_postgres::finisher::FinisherKind;
use sql_rewrite::{EXTENSIONS, Extension};
use sqlstate::SqlState;

use crate::common::{failure, finishers, folders, kind, options, place, question, rows};

const SCHEMA: &str = "Schema of \"extensions\"";

/// Finishers, and a kind of a server that has extensions in one schema. None: they are not
/// installed.
fn start() -> Option<(Finishers, FinisherKind)> {
    let finishers = finishers().filter(|_| Postgres::has_library("pg_trgm"))?;
    // The client blocks, which no task may.
    let mut extensions = std::thread::spawn(extensions).join().expect("told");
    assert_eq!(extensions.len(), 4, "{extensions:?}");
    // One that nobody asks the server about.
    extensions.push(Extension {
        name: "dblink".to_owned(),
        ..extensions[0].clone()
    });
    let kind = FinisherKind {
        extensions,
        search_path: vec![SCHEMA.to_owned()],
        ..kind(&finishers)
    };
    Some((finishers, kind))
}

/// What a server tells of its extensions.
fn extensions() -> Vec<Extension> {
    let server = Postgres::start();
    let mut client = server.connect();
    let schema = SCHEMA.replace('"', "\"\"");
    let names = ["fuzzystrmatch", "pg_trgm", "pgcrypto", "unaccent", "dblink"];
    let create = names.map(|name| format!("CREATE EXTENSION {name} SCHEMA \"{schema}\";"));
    let sql = format!("CREATE SCHEMA \"{schema}\"; {}", create.concat());
    client.batch_execute(&sql).expect("contrib is installed");
    client
        .batch_execute("SET search_path TO pg_catalog, pg_temp")
        .expect("set");
    let told = client.query(EXTENSIONS, &[]).expect("told");
    let rows = told.iter().map(|row| Extension {
        name: row.get(1),
        schema: row.get(2),
        version: row.get(3),
        digest: row.get(4),
    });
    rows.collect()
}

#[tokio::test]
async fn functions_of_extensions_compute() {
    let Some((finishers, kind)) = start() else {
        return;
    };
    for (query, value) in [
        ("SELECT similarity('word', 'words') > 0.5", "t"),
        ("SELECT 'word' % 'words'", "t"),
        ("SELECT unaccent('Hôtel')", "Hotel"),
        ("SELECT soundex('word')", "W630"),
        (
            "SELECT pgp_sym_decrypt(pgp_sym_encrypt('a', 'b'), 'b')",
            "a",
        ),
        ("SELECT length(gen_salt('md5'))", "11"),
    ] {
        let answer = rows(&finishers, question(&kind, query, &[])).await;
        assert_eq!(answer, [value], "{query}");
    }
    let off_path = FinisherKind {
        search_path: Vec::new(),
        ..kind
    };
    let asked = question(&off_path, "SELECT soundex('word')", &[]);
    let error = failure(&finishers, asked).await;
    assert_eq!(error.sqlstate, SqlState::UNDEFINED_FUNCTION);
}

#[tokio::test]
async fn nothing_but_computing_works_with_extensions() {
    let Some((finishers, kind)) = start() else {
        return;
    };
    for query in [
        "SELECT set_limit(0.5)",
        "SELECT unaccent_lexize(NULL, NULL, NULL, NULL)",
        "SELECT * FROM pg_extension",
        "SELECT dblink('dbname=template1', 'SELECT 1')",
        "CREATE TABLE t (a int)",
        "CREATE FUNCTION \"Schema of \"\"extensions\"\"\".f() RETURNS int LANGUAGE sql AS '1'",
        "CREATE TABLE \"Schema of \"\"extensions\"\"\".t (a int)",
        "CREATE EXTENSION citext SCHEMA \"Schema of \"\"extensions\"\"\"",
        "DROP EXTENSION pg_trgm",
        "ALTER TEXT SEARCH DICTIONARY unaccent (RULES = 'unaccent')",
    ] {
        let error = failure(&finishers, question(&kind, query, &[])).await;
        assert!(
            [
                SqlState::INSUFFICIENT_PRIVILEGE,
                SqlState::FEATURE_NOT_SUPPORTED,
                SqlState::UNDEFINED_FUNCTION,
            ]
            .contains(&error.sqlstate),
            "{query}: {error:?}"
        );
    }
}

#[tokio::test]
async fn an_extension_that_differs_or_is_not_there_is_left_out() {
    let Some((finishers, kind)) = start() else {
        return;
    };
    let mut other = kind.clone();
    for extension in &mut other.extensions {
        match extension.name.as_str() {
            "pg_trgm" => extension.digest.push('0'),
            "unaccent" => extension.version = "0.0'; --".to_owned(),
            _ => {}
        }
    }
    for query in ["SELECT similarity('a', 'b')", "SELECT unaccent('a')"] {
        let error = failure(&finishers, question(&other, query, &[])).await;
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
        assert!(error.message.contains("pg_trgm 1."), "{error:?}");
        assert!(error.message.contains("unaccent 0.0"), "{error:?}");
    }
    let query = "SELECT soundex('word')";
    let answer = rows(&finishers, question(&other, query, &[])).await;
    assert_eq!(answer, ["W630"]);
    // The same server has a database for the other kind.
    let query = "SELECT unaccent('Hôtel')";
    let answer = rows(&finishers, question(&kind, query, &[])).await;
    assert_eq!(answer, ["Hotel"]);
}

#[tokio::test]
async fn databases_do_not_add_up() {
    let Some((finishers, kind)) = start() else {
        return;
    };
    drop(finishers);
    let place = place();
    let options = options().expect("PostgreSQL is installed");
    let finishers = Finishers::new(FinisherOptions {
        folder: Some(place.path().to_owned()),
        ..options
    });
    for number in 0..40 {
        let mut other = kind.clone();
        other.search_path = vec![format!("schema {number}")];
        for extension in &mut other.extensions {
            extension.schema = format!("schema {number}");
            extension.digest = String::new();
        }
        let answer = rows(&finishers, question(&other, "SELECT 1", &[])).await;
        assert_eq!(answer, ["1"]);
    }
    let answer = rows(&finishers, question(&kind, "SELECT soundex('word')", &[])).await;
    assert_eq!(answer, ["W630"]);
    let [folder] = &folders(place.path())[..] else {
        panic!("one server");
    };
    let databases = std::fs::read_dir(folder.join("data/base")).expect("databases");
    // Two are the templates.
    assert!(databases.count() <= 34);
    finishers.end().await;
}
