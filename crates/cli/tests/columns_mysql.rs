//! `strongroom columns check` and `explain` before MariaDB and MySQL.
#![cfg(unix)]

use server_testkit::mysql::{Brand, MySql};

#[path = "support/columns_command.rs"]
mod columns_command;

use columns_command::{columns, configuration, text};

const RULES: &str = r#"
[proxy]
protocol = "mysql"
listen = "127.0.0.1:3307"
upstream = "127.0.0.1:3306"

[columns."shop.person"]
number = { type = "bigint", mode = "equality" }
name = { type = "varchar(20)", mode = "equality", collation = "binary" }
"#;

/// A server with a table for the rules, one in clear, and a view.
const TABLES: &str = "CREATE DATABASE shop;\n\
    CREATE TABLE shop.person (id INT PRIMARY KEY, number VARBINARY(26), name VARBINARY(114));\n\
    CREATE TABLE shop.plain (id INT PRIMARY KEY, number BIGINT);\n\
    CREATE VIEW shop.shown AS SELECT number FROM shop.person;\n";

fn servers() -> impl Iterator<Item = (MySql, String)> {
    let brands = [Brand::MariaDb, Brand::MySql].into_iter();
    let brands = brands.filter(|brand| brand.is_installed());
    brands.map(|brand| {
        let server = MySql::start(brand, &[], &[], TABLES);
        let url = format!("mysql://root@127.0.0.1:{}/shop", server.port());
        (server, url)
    })
}

#[test]
fn rules_are_checked_against_the_server() {
    for (_server, url) in servers() {
        let (_folder, path) = configuration(RULES);
        let output = columns(&["check", "--config", &path], Some(&url));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("2 rules fit the server"), "{said}");
        assert!(said.contains("shop.shown"), "{said}");

        for (from, to, wanted) in [
            ("shop.person", "shop.plain", "name"),
            ("number =", "nothing =", "shop.person.nothing"),
            ("varchar(20)", "varchar(200)", "name"),
        ] {
            let (_folder, path) = configuration(&RULES.replace(from, to));
            let output = columns(&["check", "--config", &path], Some(&url));
            let said = text(&output.stderr);
            assert!(!output.status.success(), "{to}: {said}");
            assert!(said.contains(wanted), "{to}: {said}");
        }
        let (_folder, path) = configuration(&RULES.replace("shop.person", "shop.later"));
        let output = columns(&["check", "--config", &path], Some(&url));
        let said = text(&output.stdout);
        assert!(
            said.contains("shop.later: is not there yet"),
            "{said} {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn rules_are_checked_without_a_server() {
    let (_folder, path) = configuration(RULES);
    let output = columns(&["check", "--config", &path], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("2 rules"));
    for (from, to, wanted) in [
        (", collation = \"binary\"", "", "collation"),
        ("\"shop.person\"", "person", "needs the database"),
        (
            "\"bigint\", mode = \"equality\"",
            "\"boolean\"",
            "has a type",
        ),
        (
            "\"bigint\", mode = \"equality\"",
            "\"bigint\", mode = \"order\", bits = 90",
            "bits",
        ),
    ] {
        let (_folder, path) = configuration(&RULES.replace(from, to));
        let output = columns(&["check", "--config", &path], None);
        let said = text(&output.stderr);
        assert!(
            !output.status.success() && said.contains(wanted),
            "{to}: {said}"
        );
    }
    let output = columns(&["check", "--config", &path], Some("mysql:/x:geheim@"));
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && !said.contains("geheim"),
        "{said}"
    );
}

#[test]
fn columns_and_statements_are_explained() {
    let (folder, path) = configuration(RULES);
    let queries = folder.path().join("queries.sql");
    let sql = "SELECT * FROM person WHERE number = 5;\nSELECT max(name) FROM person;\n\
               INSERT INTO person VALUES (1, 5, 'a') ON DUPLICATE KEY UPDATE name = VALUES(name);\n\
               SELECT id FROM plain;\n";
    std::fs::write(&queries, sql).expect("a file in the own folder");
    let queries = queries.to_str().expect("a plain path");
    let arguments = ["explain", "--config", &path, "--queries", queries];
    for (_server, url) in servers() {
        let output = columns(&arguments, Some(&url));
        let said = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        for wanted in [
            "statements: 4; 1 passed on, 2 done by the server, 1 refused",
            "person.number",
        ] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    }
    let output = columns(&arguments, None);
    let said = text(&output.stdout);
    assert!(said.contains("No tables are known"), "{said}");
}
