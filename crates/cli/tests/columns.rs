//! `strongroom columns`: what it says of rules, of a server, and of statements.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Output};

use server_testkit::Postgres;
use tempfile::TempDir;

const RULES: &str = r#"
[proxy]
listen = "127.0.0.1:6432"
upstream = "127.0.0.1:5432"

[columns.people]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(40)" }
"#;

fn columns(arguments: &[&str], url: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.arg("columns").args(arguments);
    command.env_remove("STRONGROOM_DATABASE_URL");
    if let Some(url) = url {
        command.env("STRONGROOM_DATABASE_URL", url);
    }
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A configuration in a folder of its own.
fn configuration(rules: &str) -> (TempDir, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("strongroom.toml");
    fs::write(&path, rules).expect("a file in the own folder");
    let path = path.to_str().expect("a plain path").to_owned();
    (folder, path)
}

#[test]
fn rules_are_checked_without_a_server() {
    let (_folder, path) = configuration(RULES);
    let output = columns(&["check", "--config", &path], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("2 rules"));

    let (_folder, path) =
        configuration("[columns.t]\na = { type = \"boolean\", mode = \"order\" }");
    let output = columns(&["check", "--config", &path], None);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("[columns.t.a]: boolean has no mode \"order\""),
        "{said}"
    );
}

#[test]
fn no_message_repeats_a_password() {
    let (_folder, path) = configuration(RULES);
    for url in [
        "postgres://me:hunter2@127.0.0.1:1/nothing",
        "postgres://me:hunter2@[half/nothing",
        "hunter2",
    ] {
        let output = columns(&["check", "--config", &path], Some(url));
        assert!(!output.status.success(), "{url}");
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn rules_are_checked_against_a_server() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut client = server.connect();
    let (_folder, path) = configuration(RULES);
    let check = || columns(&["check", "--config", &path], Some(&server.url()));
    let output = check();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("the server has no such table yet"));

    client
        .batch_execute(
            "CREATE TABLE people (id bytea PRIMARY KEY, name bytea);
             CREATE VIEW long_names AS SELECT id FROM people WHERE length(name) > 9;
             CREATE FUNCTION count_people() RETURNS bigint LANGUAGE sql
             AS 'SELECT count(*) FROM people'",
        )
        .expect("SQL of PostgreSQL");
    let output = check();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("2 rules fit the server"), "{said}");
    assert!(
        said.contains("public.long_names: computes from protected columns"),
        "{said}"
    );
    assert!(
        said.contains("count_people(): reads protected tables"),
        "{said}"
    );

    client
        .batch_execute("DROP TABLE people CASCADE; CREATE TABLE people (id int, name text)")
        .expect("SQL of PostgreSQL");
    let output = check();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("public.people.id: is integer in the server, not bytea"),
        "{said}"
    );
    assert!(
        said.contains("public.people.name: is text in the server, not bytea"),
        "{said}"
    );
}

#[test]
fn columns_and_statements_are_explained() {
    let (folder, path) = configuration(RULES);
    let queries = folder.path().join("queries.sql");
    fs::write(
        &queries,
        "SELECT 1;\nCREATE TRIGGER t BEFORE INSERT ON people\nFOR EACH ROW EXECUTE FUNCTION f();",
    )
    .expect("a file in the own folder");
    let queries = queries.to_str().expect("a plain path");
    let output = columns(&["explain", "--config", &path, "--queries", queries], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for part in [
        "public.people.id  integer, mode equality",
        "public.people.name  character varying(40), mode random",
        "which values are equal, so how often each occurs",
        "Naveed, Kamara, Wright, CCS 2015",
        "passed on",
        "refused: ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn a_key_is_made_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("columns.key");
    let file = file.to_str().expect("a plain path");
    let output = columns(&["create-key", file], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let key = fs::read_to_string(file).expect("it was written");
    assert_eq!(key.trim_end().len(), 64);
    assert!(!text(&output.stdout).contains(key.trim_end()));
    let again = columns(&["create-key", file], None);
    assert!(!again.status.success());
    assert_eq!(fs::read_to_string(file).expect("it is there still"), key);
}
