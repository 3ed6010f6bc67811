//! When the proxy asks the server something of its own, and what that may change.

use std::fs;

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

use super::lab::{Lab, both, connect};

/// How often the server was asked for its tables.
fn readings(lab: &Lab) -> usize {
    let log = fs::read(lab.log()).expect("the log is there");
    let log = String::from_utf8_lossy(&log);
    log.matches("information_schema.triggers WHERE").count()
}

/// Words of other statements are names or values in these.
const PLAIN: &[&str] = &[
    "INSERT INTO plain VALUES (1, 'please call me')",
    "INSERT INTO plain SET id = 2, note = 'grant'",
    "REPLACE INTO plain VALUES (2, 'create; drop')",
    "UPDATE plain SET note = 'alter \\'role' WHERE id = 2",
    "SELECT note AS `execute`, 'use' AS `call` FROM plain ORDER BY id",
    "WITH a AS (SELECT 1 AS rename_me, 'rename' AS b) SELECT * FROM a",
    "DELETE FROM plain WHERE note = 'revoke'",
    "SHOW TABLES LIKE 'create'",
];

#[test]
fn words_in_statements_over_rows_change_no_schema() {
    for mut lab in both() {
        let seen = "SELECT COUNT(*) FROM person";
        lab.ours.query_drop(seen).expect(seen);
        let before = readings(&lab);
        assert!(before > 0, "the tables were read");
        for text in PLAIN {
            lab.ours.query_drop(text).expect(text);
            let prepared = lab.ours.prep(text);
            // Not every server prepares all of them.
            if let Ok(prepared) = prepared {
                lab.ours.exec_drop(&prepared, ()).ok();
            }
            lab.ours.query_drop(seen).expect(seen);
        }
        // It looks at an interval.
        let more = readings(&lab) - before;
        assert!(more < PLAIN.len(), "{more} readings");
    }
}

/// The count of a statement is that of the server, or there is an error.
#[test]
fn counts_of_rows_are_those_of_the_last_statement() {
    let counted = |client: &mut Conn, text: &str, asked: &str| -> Vec<Value> {
        client.query_drop(text).expect(text);
        let row: Option<Row> = client.query_first(asked).expect(asked);
        row.expect("a row").unwrap()
    };
    for mut lab in both() {
        for client in [&mut lab.ours, &mut lab.theirs] {
            let rows = "INSERT INTO plain VALUES (1, 'a'), (2, 'b'), (3, 'set'), (4, 'call')";
            client.query_drop(rows).expect(rows);
        }
        for (text, asked) in [
            (
                "UPDATE plain SET note = 'x' WHERE id < 3",
                "SELECT ROW_COUNT() AS n",
            ),
            (
                "DELETE FROM plain WHERE note = 'call'",
                "SELECT ROW_COUNT()",
            ),
            (
                "SELECT SQL_CALC_FOUND_ROWS id FROM plain WHERE note <> 'set' LIMIT 1",
                "SELECT FOUND_ROWS() AS n",
            ),
            (
                "INSERT INTO person (name, number) VALUES ('anna', 1), ('berta', 2)",
                "SELECT ROW_COUNT() AS n, 1 AS one",
            ),
        ] {
            let (ours, theirs) = (
                counted(&mut lab.ours, text, asked),
                counted(&mut lab.theirs, text, asked),
            );
            assert_eq!(ours, theirs, "{text}; {asked}");
        }
        // The proxy asks for the settings again.
        lab.ours.query_drop("SET @a = 1").expect("set");
        let error = lab.ours.query_drop("SELECT ROW_COUNT() AS n");
        let error = error.expect_err("another count").to_string();
        assert!(error.contains("ROW_COUNT"), "{error}");
    }
}

/// MySQL reads its catalogues as of the begin of a transaction.
#[test]
fn what_a_transaction_sees_of_the_tables_is_its_own() {
    for mut lab in both() {
        let mut other = connect(lab.proxy.port(), "shop");
        let twin = "SELECT COUNT(*) FROM plain";
        for (number, text) in [
            "CREATE TABLE fresh (id INT PRIMARY KEY, note VARCHAR(20))",
            "ALTER TABLE person MODIFY city VARCHAR(10) DEFAULT 'y' FIRST",
            "CREATE VIEW shown AS SELECT id, note FROM plain",
        ]
        .into_iter()
        .enumerate()
        {
            lab.ours.query_drop("START TRANSACTION").expect("it begins");
            lab.ours.query_drop(twin).expect(twin);
            other.query_drop(text).expect(text);
            lab.ours
                .query_drop("SELECT 2 FROM plain")
                .expect("as before");
            let text = format!("INSERT INTO person (name, number) VALUES ('anna', {number})");
            other.query_drop(&text).expect("the tables are known");
            lab.ours.query_drop("COMMIT").expect("it ends");
            let text = "INSERT INTO fresh VALUES (?, 'x')";
            other.exec_drop(text, (number,)).expect("a plain row");
        }
        let text = "SELECT city FROM person ORDER BY id";
        let cities: Vec<Option<String>> = lab.ours.query(text).expect(text);
        let wanted = ["x", "y", "y"].map(|city| Some(city.to_owned()));
        assert_eq!(cities, wanted);
    }
}

#[test]
fn texts_of_results_in_another_character_set_are_refused() {
    for mut lab in both() {
        let insert = "INSERT INTO person (name, number) VALUES ('Zoë', 1)";
        lab.ours.query_drop(insert).expect(insert);
        let query = "SELECT name FROM person WHERE number = 1";
        let prepared = lab.ours.prep(query).expect(query);
        lab.ours.query_drop("SET NAMES latin1").expect("set");
        let error = lab.ours.exec_drop(&prepared, ()).expect_err("refused");
        assert!(error.to_string().contains("character set"), "{error}");
        lab.ours.query_drop("SET NAMES utf8mb4").expect("set");
        let name: Option<String> = lab.ours.exec_first(&prepared, ()).expect(query);
        assert_eq!(name.as_deref(), Some("Zoë"));
    }
}

/// A pool whose statements all stand in transactions.
#[test]
fn changes_past_the_proxy_are_noticed_in_later_transactions() {
    for mut lab in both() {
        lab.ours
            .query_drop("SELECT COUNT(*) FROM person")
            .expect("read");
        let view = "CREATE VIEW shown AS SELECT id, name FROM person";
        lab.past().query_drop(view).expect(view);
        let is_seen = (0..50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            lab.ours.query_drop("BEGIN").expect("it begins");
            let refused = lab.ours.query_drop("SELECT name FROM shown");
            lab.ours.query_drop("COMMIT").expect("it ends");
            refused.is_err()
        });
        assert!(is_seen, "the view is not known");
    }
}
