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

/// A server with a table for the rules, one with a guard over one column, one in clear, and a view.
const TABLES: &str = "CREATE DATABASE shop;\n\
    CREATE TABLE shop.person (id INT PRIMARY KEY, number VARBINARY(26), name VARBINARY(114));\n\
    CREATE TABLE shop.card (number VARBINARY(26), name VARBINARY(114), CONSTRAINT strongroom_card \
    CHECK (number <> ''));\n\
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
fn columns_that_no_guard_holds_are_told_of() {
    let of_card = RULES.split_once("[columns.").expect("rules").1;
    let of_card = of_card.replace("shop.person", "shop.card");
    let rules = format!("{RULES}\n[columns.{of_card}");
    let without = rules.replace("[proxy]", "[proxy]\nguard = false");
    for brand in [Brand::MariaDb, Brand::MySql] {
        if !brand.is_installed() {
            continue;
        }
        let server = MySql::start(brand, &[], &[], TABLES);
        let url = format!("mysql://root@127.0.0.1:{}/shop", server.port());
        let told = |rules: &str| {
            let (_folder, path) = configuration(rules);
            let output = columns(&["check", "--config", &path], Some(&url));
            assert!(output.status.success(), "{}", text(&output.stderr));
            let said = text(&output.stdout);
            let lines = said.lines().filter(|line| line.contains("guard"));
            let columns = lines.map(|line| line.split(". ").next().unwrap_or_default().to_owned());
            columns.collect::<Vec<_>>()
        };
        // MySQL before 8.0.16 keeps no guards.
        let wanted = match brand {
            Brand::MariaDb => vec![
                "shop.card: no guard refuses plaintext in name",
                "shop.person: no guard refuses plaintext in name, number",
            ],
            Brand::MySql => Vec::new(),
        };
        assert_eq!(told(&rules), wanted, "{brand:?}");
        assert_eq!(told(&without), [""; 0], "{brand:?}");
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

/// Tables in clear.
const PLAIN: &str = "CREATE DATABASE old;\n\
    CREATE TABLE old.person (id INT AUTO_INCREMENT PRIMARY KEY, number BIGINT, name VARCHAR(20), \
    code VARCHAR(9) COLLATE utf8mb4_bin, mail VARCHAR(30), born DATE, kind ENUM('a'), paid \
    DECIMAL(10,2) DEFAULT 0, part FLOAT, seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, city \
    VARCHAR(9) NOT NULL DEFAULT 'it''s', moved DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE \
    CURRENT_TIMESTAMP, made YEAR DEFAULT 1999, took TIME(3), way ENUM('by air and by \
    sea','Road') DEFAULT 'Road', tags SET('x'), fresh BIT(1) DEFAULT b'1', twice \
    BIGINT AS (number * 2), age INT, UNIQUE KEY (code), KEY by_mail (mail), KEY (born)) DEFAULT \
    CHARSET utf8mb4;\n\
    CREATE TABLE old.card (pan BIGINT PRIMARY KEY, person INT, note TEXT, KEY (note(5)), FOREIGN \
    KEY (person) REFERENCES old.person (id));\n\
    CREATE TABLE old.use_of (pan BIGINT, at DATETIME(3), FOREIGN KEY uses_card (pan) REFERENCES \
    old.card (pan));\n";

#[test]
fn rules_are_proposed_for_tables_in_clear() {
    let brands = [Brand::MariaDb, Brand::MySql].into_iter();
    for brand in brands.filter(|brand| brand.is_installed()) {
        let server = MySql::start(brand, &[], &[], PLAIN);
        let url = format!("mysql://root@127.0.0.1:{}/old", server.port());
        let (folder, _) = configuration(RULES);
        let log = folder.path().join("general.log");
        let statements = "2026-11-27T10:00:00.1Z\t    8 Query\tSELECT number FROM person WHERE age \
                          = 5 AND name = 'x'\n2026-11-27T10:00:01.1Z\t    8 Execute\tSELECT 1\n\
                          2026-11-27T10:00:01.1Z\t    8 Prepare\tSELECT 1 FROM use_of WHERE \
                          at > ?\n";
        std::fs::write(&log, statements).expect("a file in the own folder");
        let log = log.to_str().expect("a plain path");
        let output = columns(&["suggest", "--queries", log, "--order"], Some(&url));
        let said = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        for wanted in [
            "[columns.\"old.person\"]",
            "# id: numbers rows (AUTO_INCREMENT)",
            "# number: a generated column or the partitioning of the table would see ciphertext",
            "name = { type = \"varchar(20)\" } # compared by =, which needs a finisher",
            "code = { type = \"varchar(9)\", mode = \"equality\", collation = \"binary\" } # \
             unique key code",
            "# mail: is a text in key by_mail",
            "born = { type = \"date\", mode = \"equality\" } # key born",
            "kind = { type = \"enum('a')\" }",
            "way = { type = \"enum('by air and by sea','Road')\", pad = 32, default = \"'Road'\" }",
            "tags = { type = \"set('x')\" }",
            "fresh = { type = \"bit(1) unsigned\", default = \"b'1'\" }",
            "paid = { type = \"numeric(10,2)\"",
            "0.00",
            "part = { type = \"real\" }",
            "made = { type = \"year\"",
            "took = { type = \"time(3) signed\" }",
            "seen = { type = \"timestamp(0) with time zone\"",
            "default = \"CURRENT_TIMESTAMP\"",
            "default = \"'it''s'\"",
            "# moved: its default is computed by the server, or it has ON UPDATE",
            "# twice: the server computes it",
            "age = { type = \"integer\", mode = \"equality\" } # compared by =",
            "# pan: is a key that is only a number",
            "# note: key note has only a part of it",
            "at = { type = \"timestamp(3)",
            "mode = \"order\" } # bounds or sorting",
        ] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        let output = columns(&["suggest", "--all"], Some(&url));
        let said = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let shared = "pan = { type = \"bigint\", mode = \"equality\", domain = \"old_card_pan\" }";
        assert_eq!(said.matches(shared).count(), 2, "{said}");
        // What is proposed is a configuration that the same server would keep.
        let rules = format!(
            "[proxy]\nprotocol = \"mysql\"\nlisten = \"127.0.0.1:3307\"\n\
                             upstream = \"127.0.0.1:3306\"\n{said}"
        );
        let (_folder, path) = configuration(&rules);
        let output = columns(&["check", "--config", &path], None);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
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
