//! Proxies whose rules know different members of a group, before one server: none takes away what
//! another one has stored.

use postgres::Client;

use crate::common::texts::{answer, code};
use crate::common::{Setup, client_of, proxy};

const OLDER: &str = r#"
[columns.person]
first = { type = "varchar(16)", group = "profile", not_null = true }
street = { type = "varchar(40)", group = "profile" }
"#;

/// The same with members that are added later.
fn newer() -> String {
    format!(
        "{OLDER}born = {{ type = \"date\", group = \"profile\" }}\n\
         note = {{ type = \"text\", group = \"profile\" }}\n"
    )
}

const TABLE: &str = "CREATE TABLE person (id integer PRIMARY KEY, street varchar(40), \
                     first varchar(16) NOT NULL, n integer)";

#[track_caller]
fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.batch_execute(statement) {
        panic!("{statement}: {error:?}");
    }
}

#[track_caller]
fn assert_state(client: &mut Client, statement: &str, state: &str) {
    let error = client.batch_execute(statement).expect_err(statement);
    assert_eq!(code(&error), state, "{statement}: {error:?}");
}

#[track_caller]
fn assert_rows(client: &mut Client, statement: &str, rows: &[&str]) {
    assert_eq!(
        answer(client, statement).expect(statement),
        rows,
        "{statement}"
    );
}

const BY_KEY: &str = "SELECT id, street, first, n FROM person ORDER BY id";

/// Statements over the table of a proxy that does not know a member are refused, and no others.
#[track_caller]
fn assert_closed(older: &mut Client) {
    for statement in [
        BY_KEY,
        "INSERT INTO person (id, first) VALUES (5, 'Eve')",
        "UPDATE person SET first = 'Eve', street = NULL",
        "INSERT INTO person (id, first) VALUES (3, 'Eve') ON CONFLICT (id) DO UPDATE SET \
         first = 'Eve', street = NULL",
        "UPDATE person SET n = 1",
        "COPY person FROM STDIN",
    ] {
        assert_state(older, statement, "F0000");
    }
    assert_rows(older, "SELECT a FROM other", &["1"]);
}

/// A value of two members.
const SEALED: &str = "(SELECT street FROM person WHERE id = 1)";

/// The server refuses what such a proxy sends while it has not seen the change yet: what it sealed
/// for two members. Nor does it take anything in the columns whose values lie elsewhere.
#[track_caller]
fn assert_guarded(server: &mut Client) {
    for statement in [
        format!("UPDATE person SET street = {SEALED}, first = '' WHERE id = 3"),
        format!("UPDATE person SET street = {SEALED} WHERE id IN (1, 4)"),
        format!(
            "INSERT INTO person (id, street, first) VALUES (4, {SEALED}, '') \
             ON CONFLICT (id) DO UPDATE SET street = EXCLUDED.street, first = ''"
        ),
        "UPDATE person SET born = 'x' WHERE id = 1".to_owned(),
        "UPDATE person SET first = 'x' WHERE id = 1".to_owned(),
    ] {
        assert_state(server, &statement, "23514");
    }
}

#[test]
fn a_member_that_a_proxy_does_not_know_is_not_taken_away() {
    if !server_testkit::is_installed() {
        return;
    }
    let watch = "[proxy.watch]\nuser = \"postgres\"\nschema_lease_seconds = 1\n";
    let setup = Setup::start_with(&newer(), watch);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let beside = |rules: &str| proxy(&folder, &setup.tap.address.to_string(), rules, watch);
    let (older, second) = (beside(OLDER), beside(&newer()));
    let (mut newer, mut older) = (setup.connect(), client_of(&older));
    let (mut second, mut server) = (client_of(&second), setup.server.connect());

    run(&mut newer, TABLE);
    run(
        &mut newer,
        "CREATE TABLE other (a integer); INSERT INTO other VALUES (1)",
    );
    run(
        &mut older,
        "INSERT INTO person VALUES (1, 'Road', 'Anna', 10)",
    );
    run(
        &mut second,
        "INSERT INTO person VALUES (2, NULL, 'Bert', 20)",
    );
    let rows = ["1|Road|Anna|10", "2|NULL|Bert|20"];
    for client in [&mut newer, &mut second, &mut older] {
        assert_rows(client, BY_KEY, &rows);
    }
    run(&mut newer, "ALTER TABLE person ADD COLUMN born date");
    for (client, id) in [(&mut newer, 3), (&mut second, 4)] {
        let text = format!("INSERT INTO person VALUES ({id}, 'Lane', 'Cleo', 0, '2001-02-03')");
        run(client, &text);
    }
    assert_closed(&mut older);
    assert_guarded(&mut server);
    // Rows that were not written since then lose nothing, and are written as before.
    run(
        &mut server,
        &format!("UPDATE person SET street = {SEALED}, first = '' WHERE id = 2"),
    );
    run(&mut server, "UPDATE person SET n = 11 WHERE id IN (1, 3)");

    run(
        &mut server,
        "CREATE TABLE kept AS SELECT id, street AS value FROM person",
    );
    add_another(&mut newer, &mut second, &mut server);
}

/// One more member, and all forms of statements that write.
#[track_caller]
fn add_another(newer: &mut Client, second: &mut Client, server: &mut Client) {
    run(second, "ALTER TABLE person ADD COLUMN note text");
    let text = "INSERT INTO person (id, first, note) VALUES (3, 'Dan', 'new') ON CONFLICT (id) \
                DO UPDATE SET first = 'Dan', street = NULL, born = NULL, note = 'new'";
    run(newer, text);
    run(newer, "UPDATE person SET note = 'kept' WHERE id = 4");
    let mut rows = newer
        .copy_in("COPY person (id, first, born) FROM STDIN")
        .expect("a COPY");
    std::io::Write::write_all(&mut rows, b"6\tFay\t2002-02-02\n").expect("a row");
    rows.finish().expect("it is stored");
    let all = "SELECT id, street, first, n, born, note FROM person ORDER BY id";
    let rows = [
        "1|Road|Anna|11|NULL|NULL",
        "2|Road|Anna|20|NULL|NULL",
        "3|NULL|Dan|11|NULL|new",
        "4|Lane|Cleo|0|2001-02-03|kept",
        "6|NULL|Fay|NULL|2002-02-02|NULL",
    ];
    for client in [newer, second] {
        assert_rows(client, all, &rows);
    }
    // Values of two members and of three stand in none of the rows that have four.
    for (id, other) in [(3, 1), (3, 4), (4, 1), (4, 3), (6, 3)] {
        let value = format!("(SELECT value FROM kept WHERE id = {other})");
        let text = format!("UPDATE person SET street = {value} WHERE id = {id}");
        assert_state(server, &text, "23514");
    }
}
