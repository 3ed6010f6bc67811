//! `strongroom columns guard`: makes the server refuse plaintext in existing tables.
#![cfg(unix)]

use server_testkit::Postgres;

#[path = "support/columns_command.rs"]
mod columns_command;

use columns_command::{RULES, columns, configuration, text};

/// Tables from before guards existed, or created with `guard = false`.
#[test]
fn guards_are_added_to_tables_that_are_there() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut client = server.connect();
    let (_folder, path) = configuration(&format!(
        "{RULES}[columns.\"app.visits\"]\nday = {{ type = \"date\" }}\n\
         [columns.later]\nnote = {{ type = \"text\" }}\n"
    ));
    let run = |command| columns(&[command, "--config", &path], Some(&server.url()));
    client
        .batch_execute(
            r"CREATE TABLE people (id bytea PRIMARY KEY, name bytea, city text);
              CREATE TABLE child () INHERITS (people);
              CREATE SCHEMA app;
              CREATE TABLE app.visits (day bytea, n integer) PARTITION BY LIST (n);
              CREATE TABLE app.part PARTITION OF app.visits DEFAULT;
              INSERT INTO people VALUES ('\x90' || decode(repeat('00', 16), 'hex'), NULL, 'x');
              INSERT INTO child VALUES ('plain text', NULL, 'x')",
        )
        .expect("SQL of PostgreSQL");
    let said = text(&run("check").stdout);
    assert!(
        said.contains("public.people: the server would take plaintext in id, name"),
        "{said}"
    );
    let output = run("guard");
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("public.people: plaintext is stored there"),
        "{said}"
    );
    let said = text(&output.stdout);
    assert!(said.contains("app.visits: guarded: day"), "{said}");
    assert!(said.contains("public.later: is not there yet"), "{said}");
    // New rows are already checked.
    for table in ["people", "child"] {
        let insert = format!("INSERT INTO {table} VALUES ('more plain text')");
        let error = client
            .batch_execute(&insert)
            .expect_err("it is no sealed value");
        assert_eq!(error.code().expect("of the server").code(), "23514");
    }
    let said = text(&run("check").stdout);
    assert!(
        said.contains("public.people: rows from before its guard"),
        "{said}"
    );

    client
        .batch_execute("TRUNCATE child")
        .expect("the superuser may");
    let output = run("guard");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains("public.people: its rows were looked at"),
        "{said}"
    );
    for _ in 0..2 {
        let output = run("guard");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("public.people: has a guard"), "{said}");
        assert!(said.contains("app.visits: has a guard"), "{said}");
    }
    assert!(!text(&run("check").stdout).contains("guard"));
}

#[test]
fn missing_guards_are_not_reported_if_none_are_wanted() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let made = "CREATE TABLE people (id bytea, name bytea)";
    server.connect().batch_execute(made).expect(made);
    for (rules, is_told) in [
        (RULES.to_owned(), true),
        (RULES.replace("[proxy]", "[proxy]\nguard = false"), false),
    ] {
        let (_folder, path) = configuration(&rules);
        let output = columns(&["check", "--config", &path], Some(&server.url()));
        let said = text(&output.stdout);
        assert_eq!(said.contains("would take plaintext"), is_told, "{said}");
    }
}

#[test]
fn guards_need_a_server() {
    let (_folder, path) = configuration(RULES);
    let output = columns(&["guard", "--config", &path], None);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("STRONGROOM_DATABASE_URL"), "{said}");
}

/// All later requests would queue behind one that waits for a lock.
#[test]
fn a_table_that_a_transaction_holds_is_left_for_later() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut holder = server.connect();
    for text in [
        "CREATE TABLE people (id bytea, name bytea)",
        "BEGIN",
        "LOCK people IN ACCESS SHARE MODE",
    ] {
        holder.batch_execute(text).expect(text);
    }
    let (_folder, path) = configuration(RULES);
    let run = || columns(&["guard", "--config", &path], Some(&server.url()));
    let output = run();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("public.people: a transaction"), "{said}");
    holder.batch_execute("COMMIT").expect("ended");
    assert!(run().status.success());
}
