//! `mysqldump` through the proxy, and what restores its output.

use std::io::Write as _;
use std::process::{Command, Stdio};

use mysql::Conn;
use mysql::prelude::Queryable as _;

use super::lab::{Lab, both, connect};
use crate::mysql::setup::PASSWORD;

fn program(name: &str, port: u16) -> Command {
    let mut command = Command::new(name);
    command
        .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg("--user=nat")
        .env("MYSQL_PWD", PASSWORD);
    command
}

/// A dump without dates, as that of the database `shop`.
pub fn dump(port: u16, database: &str, more: &[&str]) -> String {
    let mut command = program("mariadb-dump", port);
    command.args(["--skip-dump-date", "--triggers"]).args(more);
    let said = command.arg(database).output().expect("it runs");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8_lossy(&said.stdout);
    let text = text.replace(&format!("Database: {database}\n"), "Database: shop\n");
    text.replace(&format!("database '{database}'"), "database 'shop'")
}

/// Sends a dump to a database.
pub fn restore(port: u16, database: &str, dump: &str) {
    let mut command = program("mariadb", port);
    command.arg(database).stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(dump.as_bytes()).expect("it reads");
    drop(input);
    let said = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{errors}");
}

const ROWS: [&str; 3] = [
    "INSERT INTO person (id, name, number, small, whole, born, paid, seen, note, face) VALUES \
     (1, 'kanari ''x'' \\\\ \\n', 4242424201, 7, -7, '1977-07-17', 9182736.70, \
     '1977-07-17 01:02:03.004', 'kanari Ж', 'kanari'), (5, '', NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, '')",
    "INSERT INTO card (number, kind, person) VALUES (4242424207, 'abc', 1)",
    "INSERT INTO plain (id, note) VALUES (1, 'person')",
];

/// Puts the same rows in clear into plain tables and, sealed, into protected ones.
fn fill(client: &mut Conn) {
    for row in ROWS {
        client.query_drop(row).expect(row);
    }
}

#[test]
fn a_dump_is_that_of_plain_tables_and_restores() {
    for mut lab in both() {
        let Lab { ours, theirs, .. } = &mut lab;
        fill(ours);
        fill(theirs);
        let (through, past) = (lab.proxy.port(), lab.server.port());
        for more in [
            &[][..],
            &[
                "--single-transaction",
                "--skip-lock-tables",
                "--complete-insert",
            ],
            &["--hex-blob"],
            &[
                "--skip-extended-insert",
                "--add-locks",
                "--routines",
                "--events",
            ],
        ] {
            let own = dump(through, "shop", more);
            assert!(
                own.contains("4242424201") && own.contains("9182736.70"),
                "{own}"
            );
            assert_eq!(own, dump(past, "twin", more), "{more:?}");
            let sealed = dump(past, "shop", more);
            for canary in ["kanari", "42424242", "9182736", "1977-07"] {
                assert!(!sealed.contains(canary), "{canary}: {sealed}");
            }
            assert!(sealed.contains("varbinary("), "{sealed}");
            // Into a plain database.
            let mut client = lab.past();
            for text in ["DROP DATABASE IF EXISTS copy", "CREATE DATABASE copy"] {
                client.query_drop(text).expect(text);
            }
            restore(past, "copy", &own);
            assert_eq!(dump(past, "copy", more), own, "{more:?}");
            // Through the proxy, over what was there.
            let delete = "DELETE FROM person WHERE id = 1";
            lab.ours.query_drop(delete).expect(delete);
            restore(through, "shop", &own);
            assert_eq!(dump(through, "shop", more), own, "{more:?}");
            assert!(!dump(past, "shop", more).contains("kanari"));
        }
    }
}

#[test]
fn without_a_strict_mode_nothing_unsealed_is_stored() {
    for lab in both() {
        let mut client = connect(lab.proxy.port(), "shop");
        client.query_drop("SET sql_mode = ''").expect("it passes");
        for text in [
            "INSERT INTO person (name, number) VALUES ('a', 1), ('b', NULL)",
            "INSERT INTO person VALUES (9, 'c', 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'y')",
        ] {
            client.query_drop(text).expect(text);
        }
        for text in [
            "INSERT INTO person (name) VALUES ('x'), (NULL)",
            "INSERT INTO person (name) VALUES ('x'), (DEFAULT)",
            "INSERT INTO person (number) VALUES (3)",
            "INSERT INTO person (name, number) VALUES ('x', 9223372036854775808)",
            "INSERT INTO person (name) VALUES ('more than twenty letters')",
            "UPDATE person SET name = NULL",
            "UPDATE person SET name = 'x'",
            "DELETE FROM person",
        ] {
            let error = client.query_drop(text).expect_err(text).to_string();
            assert!(error.contains("strongroom: "), "{text}: {error}");
        }
        let insert = "INSERT INTO person (name) VALUES (?), (?)";
        assert!(client.exec_drop(insert, ("a", None::<String>)).is_err());
        // What was prepared in a strict mode is refused behind it.
        client
            .query_drop("SET sql_mode = 'STRICT_ALL_TABLES'")
            .expect("it passes");
        let prepared = client.prep(insert).expect(insert);
        client.query_drop("SET sql_mode = ''").expect("it passes");
        assert!(client.exec_drop(&prepared, ("a", None::<String>)).is_err());
        let names: Vec<(String, Option<i64>)> = client
            .query("SELECT name, number FROM person ORDER BY id")
            .expect("rows");
        let wanted = [("a", Some(1)), ("b", None), ("c", Some(2))];
        assert_eq!(
            names,
            wanted.map(|(name, number)| (name.to_owned(), number))
        );
    }
}
