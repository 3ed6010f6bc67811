//! `strongroom columns`: its output about rules, a server, and statements.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::CertifiedKey;
use server_testkit::{Options, Postgres};
use tempfile::TempDir;

#[path = "support/columns_command.rs"]
mod columns_command;

use columns_command::{RULES, columns, configuration, text};

/// Nothing here takes that long; a test that hangs fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is said of the statements of a file.
#[track_caller]
fn explained(config: &str, queries: &Path, url: Option<&str>) -> String {
    let queries = queries.to_str().expect("a plain path");
    let arguments = ["explain", "--config", config, "--queries", queries];
    let output = columns(&arguments, url);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
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

/// The proxy would not start with these files, or would protect nothing.
#[test]
fn a_configuration_that_protects_nothing_is_refused() {
    for (text, wanted) in [
        (String::new(), "has no rules"),
        (
            RULES.replace("[columns.", "[column."),
            "unknown field `column`",
        ),
        (
            RULES.replace("[proxy]", "[proxy]\nmax_conections = 3"),
            "max_conections",
        ),
        (
            format!("{RULES}[keys]\nfile = \"a\"\ncommand = \"b\"\n"),
            "exactly one of",
        ),
    ] {
        let (_folder, path) = configuration(&text);
        let output = columns(&["check", "--config", &path], None);
        let said = self::text(&output.stderr);
        assert!(!output.status.success(), "{text}");
        assert!(said.contains(wanted), "{text}: {said}");
    }
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

    client
        .batch_execute("DROP TABLE people; CREATE TABLE people (id bytea, nmae bytea)")
        .expect("SQL of PostgreSQL");
    let output = check();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("public.people has no column name: its rule protects nothing"),
        "{said}"
    );
}

#[test]
fn a_check_that_a_table_lacks_is_named() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut client = server.connect();
    client
        .batch_execute("CREATE TABLE people (id bytea PRIMARY KEY, name bytea)")
        .expect("SQL of PostgreSQL");
    let checked = "name = { type = \"varchar(40)\", checks = { has_at = \"name LIKE '%@%'\" } }";
    let rules = RULES.replace("name = { type = \"varchar(40)\" }", checked);
    let without = configuration(&rules);
    let said = text(&columns(&["check", "--config", &without.1], None).stderr);
    assert!(
        said.contains("set [finish] engine = \"postgres\""),
        "{said}"
    );
    let rules = format!("{rules}\n[finish]\nengine = \"postgres\"\n");
    let (_folder, path) = configuration(&rules);
    let check = || columns(&["check", "--config", &path], Some(&server.url()));
    let output = check();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("public.people lacks the check has_at of the rule of name"),
        "{said}"
    );
    // This is what the proxy writes; the mark is of the format.
    let own = "ALTER TABLE people ADD CONSTRAINT has_at CHECK (substr(name, 2, 16) <> \
               '\\x389459110dbb592a360b657126daed2a')";
    client.batch_execute(own).expect(own);
    let output = check();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let other = "ALTER TABLE people DROP CONSTRAINT has_at; ALTER TABLE people ADD CONSTRAINT \
                 has_at CHECK (substr(name, 2, 16) <> '\\x00')";
    client.batch_execute(other).expect(other);
    let output = check();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("is in the constraint has_at"), "{said}");
}

#[test]
fn statements_are_explained_while_the_tables_are_still_in_clear() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let made = server
        .connect()
        .batch_execute("CREATE TABLE people (id int PRIMARY KEY, name text DEFAULT '')");
    made.expect("SQL of PostgreSQL");
    let (folder, path) = configuration(RULES);
    let queries = folder.path().join("queries.sql");
    let statement = "SELECT name FROM people WHERE id = 3";
    fs::write(&queries, statement).expect("a file in the own folder");
    let said = explained(&path, &queries, Some(&server.url()));
    assert!(said.starts_with("The server does not fit"), "{said}");
    for column in ["id: is integer", "name: is text", "name: has a default"] {
        assert!(
            said.contains(&format!("  public.people.{column}")),
            "{said}"
        );
    }
    let lines = [
        "done by the server on ciphertext",
        "public.people.id (equality)  compared: which rows have the value, and when it is asked \
         for again",
        "public.people.name (random)  returned: which rows are read",
    ];
    assert_eq!(below(&said, statement), lines, "{said}");
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
    let said = explained(&path, &queries, None);
    for part in [
        "public.people.id  integer, mode equality",
        "public.people.name  character varying(40), mode random",
        "which values are equal, so how often each occurs",
        "Naveed, Kamara, Wright, CCS 2015",
        "No tables are known, so statements over protected ones are refused.",
        "passed on",
        "refused: ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

/// The lines below a statement, without their indentation.
fn below<'a>(said: &'a str, statement: &str) -> Vec<&'a str> {
    let lines = said.lines().skip_while(|line| *line != statement).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(str::trim_start).collect()
}

const LOG: &str = "\
2026-01-01 12:00:00 UTC [7] LOG:  execute <unnamed>: SELECT name
\t FROM people
\t WHERE id = $1
2026-01-01 12:00:00 UTC [7] DETAIL:  Parameters: $1 = '1'
2026-01-01 12:00:00 UTC [7] LOG:  execute <unnamed>: SELECT name
\t FROM people
\t WHERE id = $1
2026-01-01 12:00:00 UTC [8] app@shop LOG:  duration: 0.3 ms  statement: \
SELECT id FROM people WHERE born < '2000-01-01' ORDER BY born
2026-01-01 12:00:00 UTC [7] LOG:  statement: SELECT id FROM people WHERE name LIKE 'A%'
2026-01-01 12:00:00 UTC [7] LOG:  statement: UPDATE people SET visits = visits + 1 WHERE id = 3
2026-01-01 12:00:00 UTC [7] LOG:  statement: COPY people (id, name) FROM STDIN
2026-01-01 12:00:00 UTC [7] LOG:  statement: BEGIN; SELECT sum(id), max(name) OVER () FROM people
2026-01-01 12:00:00 UTC [7] ERROR:  canceling statement due to user request
2026-01-01 12:00:00 UTC [7] STATEMENT:  SELECT pg_sleep(600)
";

const EXPLAINED: [(&str, &[&str]); 6] = [
    (
        "SELECT name FROM people WHERE id = $1",
        &[
            "2 times",
            "done by the server on ciphertext",
            "public.people.id (equality)  compared: which rows have the value, and when it is \
             asked for again",
            "public.people.name (random)  returned: which rows are read",
        ],
    ),
    (
        "SELECT id FROM people WHERE born < '2000-01-01' ORDER BY born",
        &[
            "done by the server on ciphertext",
            "public.people.born (order)  compared with a bound: which rows lie within the \
             bound, and where it stands in their order; sorted: the order of the rows",
            "public.people.id (equality)  returned: which rows are read",
        ],
    ),
    (
        "SELECT id FROM people WHERE name LIKE 'A%'",
        &[
            "finished by the proxy, over the rows that it fetches",
            "public.people.id (equality)  fetched for the proxy: which rows are read, not what \
             is looked for in them",
            "public.people.name (random)  fetched for the proxy: which rows are read, not what \
             is looked for in them",
        ],
    ),
    (
        "UPDATE people SET visits = visits + 1 WHERE id = 3",
        &[
            "rows are read and locked, computed by the proxy, written",
            "public.people.id (equality)  compared: which rows have the value, and when it is \
             asked for again",
            "public.people.visits (random)  written: whether it is NULL; fetched for the \
             proxy: which rows are read, not what is looked for in them",
        ],
    ),
    (
        "COPY people (id, name) FROM STDIN",
        &[
            "copied; rows are sealed or opened by the proxy",
            "public.people.id (equality)  written: whether it is NULL, which rows have the \
             same value",
            "public.people.name (random)  written: whether it is NULL, about how long it is",
        ],
    ),
    (
        "BEGIN",
        &[
            "passed on",
            "the server's side sees all of it, with its constants",
        ],
    ),
];

#[test]
fn each_statement_of_a_log_is_explained_with_what_it_reveals() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let made = server.connect().batch_execute(
        "CREATE TABLE people (id bytea PRIMARY KEY, name bytea, born bytea, visits bytea)",
    );
    made.expect("SQL of PostgreSQL");
    let more = "born = { type = \"date\", mode = \"order\" }\nvisits = { type = \"integer\" }\n";
    let (folder, path) = configuration(&format!("{RULES}{more}"));
    let queries = folder.path().join("postgresql.log");
    fs::write(&queries, LOG).expect("a file in the own folder");
    let said = explained(&path, &queries, Some(&server.url()));

    for (statement, lines) in EXPLAINED {
        assert_eq!(below(&said, statement), lines, "{statement}\n{said}");
    }
    // Nothing of a refused statement reaches the server.
    let refused = below(&said, "SELECT sum(id), max(name) OVER () FROM people");
    assert!(
        matches!(*refused, [reason] if reason.starts_with("refused: ")),
        "{said}"
    );
    let counts = "statements: 8; 1 passed on, 3 done by the server, 1 computed from old values, \
                  1 finished by the proxy, 1 copied, 1 refused";
    assert_eq!(said.lines().last(), Some(counts));
    assert!(!said.contains("pg_sleep"), "{said}");
}

/// The server's log, once it is complete.
fn log(server: &Postgres, name: &str, last: &str) -> Vec<u8> {
    let path = server.folder().join("data/log").join(name);
    let since = Instant::now();
    loop {
        let bytes = fs::read(&path).unwrap_or_default();
        if text(&bytes).contains(last) {
            return bytes;
        }
        assert!(since.elapsed() < PATIENCE, "{name}: {}", text(&bytes));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn logs_of_a_server_are_read_in_each_of_their_forms() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[
        ("logging_collector", "on"),
        ("log_destination", "stderr,csvlog,jsonlog"),
        ("log_filename", "postgresql.log"),
        ("log_statement", "all"),
    ]);
    let mut client = server.connect();
    for statement in [
        "CREATE TABLE people (id int PRIMARY KEY, name text)",
        "SELECT name\n\tFROM people\n\nWHERE id = 3 AND name <> 'a, \"b\"; c'",
    ] {
        client.batch_execute(statement).expect("SQL of PostgreSQL");
    }
    let prepared = client.prepare("SELECT id FROM people WHERE id = $1");
    let prepared = prepared.expect("SQL of PostgreSQL");
    for id in [1, 2] {
        client.query(&prepared, &[&id]).expect("an answer");
    }
    client.batch_execute("SELECT 'the last'").expect("SQL");

    let (folder, path) = configuration(RULES);
    for name in ["postgresql.log", "postgresql.csv", "postgresql.json"] {
        let queries = folder.path().join(name);
        let bytes = log(&server, name, "the last");
        fs::write(&queries, bytes).expect("a file in the own folder");
        let said = explained(&path, &queries, Some(&server.url()));
        let simple = "SELECT name FROM people WHERE id = 3 AND name <> 'a, \"b\"; c'";
        let finished = "finished by the proxy, over the rows that it fetches";
        assert_eq!(
            below(&said, simple).first(),
            Some(&finished),
            "{name}: {said}"
        );
        let prepared = below(&said, "SELECT id FROM people WHERE id = $1");
        let expected = ["2 times", "done by the server on ciphertext"];
        assert_eq!(prepared.get(..2), Some(&expected[..]), "{name}: {said}");
        assert_eq!(
            below(&said, "SELECT 'the last'").first(),
            Some(&"passed on")
        );
    }
}

#[test]
fn statements_that_cannot_be_parsed_are_reported() {
    let (folder, path) = configuration(RULES);
    let queries = folder.path().join("queries.sql");
    let queries = queries.to_str().expect("a plain path");
    let explain = || columns(&["explain", "--config", &path, "--queries", queries], None);
    let output = explain();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("queries.sql"));
    fs::write(queries, b"SELECT '\xe4'").expect("a file in the own folder");
    let output = explain();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("not in UTF-8 from byte 8"), "{said}");
}

#[test]
fn a_server_that_demands_tls_is_checked() {
    if !server_testkit::is_installed() {
        return;
    }
    if !server_testkit::has_tls() {
        eprintln!("left out: this server is built without TLS");
        return;
    }
    let certified = || {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        rcgen::generate_simple_self_signed(names).expect("a certificate")
    };
    let CertifiedKey { cert, signing_key } = certified();
    let key = signing_key.serialize_pem();
    let server = Postgres::start_as(&Options {
        settings: &[("ssl", "on")],
        access: Some("host all postgres 127.0.0.1/32 trust\nhostssl all ann 127.0.0.1/32 trust\n"),
        files: &[
            ("server.crt", cert.pem().as_bytes()),
            ("server.key", key.as_bytes()),
        ],
        ..Options::default()
    });
    let made = server.connect().batch_execute(
        "CREATE ROLE ann LOGIN; CREATE TABLE people (id bytea PRIMARY KEY, name bytea)",
    );
    made.expect("SQL of PostgreSQL");
    let url = format!("postgres://ann@127.0.0.1:{}/postgres", server.port());

    let (_folder, path) = configuration(RULES);
    let output = columns(&["check", "--config", &path], Some(&url));
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("[proxy.server_tls]"), "{said}");

    // The root certificate is named relative to the configuration's folder.
    let tls = "[proxy.server_tls]\nroot = \"root.crt\"\n";
    let (folder, path) = configuration(&format!("{RULES}{tls}"));
    fs::write(folder.path().join("root.crt"), cert.pem()).expect("a file in the own folder");
    let output = columns(&["check", "--config", &path], Some(&url));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("2 rules fit the server"));

    // An impostor is not trusted, and not contacted without TLS.
    let other = certified().cert.pem();
    fs::write(folder.path().join("root.crt"), other).expect("a file in the own folder");
    let trusted = server.url();
    let without = Postgres::start();
    for url in [&url, &trusted, &without.url()] {
        let output = columns(&["check", "--config", &path], Some(url));
        assert!(!output.status.success(), "{url}");
        let said = text(&output.stderr);
        assert!(said.contains("TLS"), "{url}: {said}");
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
