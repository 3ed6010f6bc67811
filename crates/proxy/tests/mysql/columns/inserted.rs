//! `INSERT` over rows that may be there already: `ON DUPLICATE KEY UPDATE`, `REPLACE`, `INSERT
//! IGNORE`, and rows of a query.

use mysql::Value;
use mysql::prelude::Queryable as _;

use super::differential::{as_text, prepared};
use super::lab::{Lab, both, text};

/// Sends a statement to protected and to plain tables, and compares what comes.
pub fn same(lab: &mut Lab, statement: &str, values: Vec<Value>) {
    let twin = statement.replace("shop.", "twin.");
    let (ours, theirs) = match values.is_empty() {
        true => (
            as_text(&mut lab.ours, statement),
            as_text(&mut lab.theirs, &twin),
        ),
        false => (
            prepared(&mut lab.ours, statement, values.clone()),
            prepared(&mut lab.theirs, &twin, values),
        ),
    };
    assert_eq!(ours, theirs, "{statement}");
}

const ROWS: &str = "SELECT id, name, number, small, born, paid, city FROM person ORDER BY id";

#[test]
fn rows_that_are_there_get_new_values() {
    for mut lab in both() {
        for statement in [
            "INSERT INTO person (id, name, number, city) VALUES (1, 'canary', 4242424201, 'a')",
            "INSERT INTO person (id, name, number) VALUES (1, 'x', 5) ON DUPLICATE KEY UPDATE \
             name = 'canary two', paid = 1.5",
            "INSERT INTO person (name, number, small) VALUES ('canary new', 4242424201, 3), \
             ('other', 7, 4) ON DUPLICATE KEY UPDATE name = VALUES(name), small = \
             VALUES(small), city = CONCAT(city, VALUES(city))",
            "SELECT LAST_INSERT_ID() AS i, ROW_COUNT() AS c",
            "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE id = \
             LAST_INSERT_ID(id), born = '1977-07-17'",
            "SELECT LAST_INSERT_ID() AS i",
            "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE name = NULL",
            "INSERT INTO person (id, name) VALUES (1, 'longer than twenty letters') ON DUPLICATE \
             KEY UPDATE name = 'y'",
            "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE number = \
             number, small = 3, born = VALUES(born)",
            ROWS,
        ] {
            same(&mut lab, statement, vec![]);
        }
        same(
            &mut lab,
            "INSERT INTO person (id, name, number) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE name \
             = ?, number = VALUES(number), city = ?",
            vec![
                Value::Int(1),
                text("canary"),
                Value::Int(4_242_424_299),
                text("canary four"),
                text("b"),
            ],
        );
        same(&mut lab, ROWS, vec![]);
    }
}

#[test]
fn rows_are_replaced() {
    for mut lab in both() {
        for statement in [
            "REPLACE INTO person (id, name, number) VALUES (1, 'canary', 4242424201), (2, 'b', 6)",
            "REPLACE person (name, number) VALUES ('canary', 4242424201)",
            "REPLACE INTO person SET name = 'x', number = 6, city = 'c'",
            "SELECT LAST_INSERT_ID() AS i",
            "REPLACE INTO card VALUES (4242424201, 'abc', 1), (4242424201, 'abd', 1)",
            "REPLACE INTO card VALUES (4242424201, 'abd', 1)",
            "INSERT INTO person SET name = 'set', born = '1977-07-17'",
            ROWS,
            "SELECT * FROM card",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

#[test]
fn rows_that_are_there_are_left_out() {
    for mut lab in both() {
        for statement in [
            "INSERT INTO person (id, name, number) VALUES (1, 'canary', 4242424201)",
            "INSERT IGNORE INTO person (id, name, number) VALUES (1, 'x', 8), (2, 'y', \
             4242424201), (3, 'z', 9)",
            "SHOW COUNT(*) WARNINGS",
            "SHOW WARNINGS LIMIT 1",
            "INSERT IGNORE person SET name = 'w', number = 9",
            "INSERT IGNORE INTO card VALUES (9, 'longer', 'x')",
            ROWS,
        ] {
            same(&mut lab, statement, vec![]);
        }
        for show in ["SHOW WARNINGS", "show warnings limit 5", "SHOW WARNINGS;"] {
            let again = "INSERT IGNORE INTO person (id, name, number) VALUES (?, ?, ?), (9, 'y', \
                         4242424201), (10, 'z', 8), (11, 'z', 9)";
            let values = vec![Value::Int(9), text("canary"), Value::Int(4_242_424_201)];
            same(&mut lab, again, values);
            same(&mut lab, show, vec![]);
            same(&mut lab, show, vec![]);
        }
        same(
            &mut lab,
            "INSERT IGNORE INTO person (id, name, number) VALUES (?, ?, ?), (?, ?, NULL)",
            vec![
                Value::Int(1),
                text("x"),
                Value::Int(8),
                Value::Int(7),
                text("canary seven"),
            ],
        );
        same(&mut lab, ROWS, vec![]);
    }
}

#[test]
fn rows_of_a_query_are_stored() {
    for mut lab in both() {
        for statement in [
            "INSERT INTO person (id, name, number, city) VALUES (1, 'canary', 4242424201, 'a'), \
             (2, 'b', NULL, 'b'), (3, 'c', 4242424203, 'c')",
            "INSERT INTO card SELECT number, city, id FROM person WHERE number IS NOT NULL",
            "INSERT INTO card (number) SELECT number FROM person ORDER BY id",
            "INSERT INTO card (person, number) SELECT p.id, 4242424207 FROM person p WHERE p.id = \
             2",
            "INSERT IGNORE INTO plain (id, note) SELECT id, city FROM person WHERE number = \
             4242424201",
            "INSERT INTO person (id, name, number) SELECT id + 10, name, NULL FROM person",
            "INSERT INTO person (id, name) SELECT 21, NULL FROM person WHERE id = 1",
            ROWS,
            "SELECT * FROM card ORDER BY number IS NULL, kind, person",
            "SELECT * FROM plain ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
    }
}

/// Statements, and what their refusal names.
const REFUSED: [(&str, &str); 20] = [
    (
        "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE name = \
                 CONCAT(VALUES(name), 'x')",
        "",
    ),
    (
        "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE name = city",
        "name",
    ),
    (
        "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE city = \
                 VALUES(name)",
        "name",
    ),
    (
        "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE small = \
                 VALUES(whole)",
        "whole",
    ),
    (
        "INSERT INTO person (id, number) VALUES (1, 5) ON DUPLICATE KEY UPDATE name = \
                 VALUES(name)",
        "gives no value",
    ),
    (
        "INSERT INTO person (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE number = \
                 number + 1",
        "number",
    ),
    (
        "INSERT INTO person (id, name) SELECT id, note FROM plain ON DUPLICATE KEY UPDATE \
                 name = 'x'",
        "SELECT",
    ),
    ("INSERT IGNORE INTO person (id) VALUES (1)", "NOT NULL"),
    ("INSERT IGNORE INTO person (name) VALUES (NULL)", "NOT NULL"),
    (
        "INSERT IGNORE INTO person (name) VALUES (DEFAULT)",
        "NOT NULL",
    ),
    (
        "INSERT IGNORE INTO person (name) VALUES ('longer than twenty letters')",
        "name",
    ),
    (
        "INSERT IGNORE INTO person (name, small) VALUES ('x', 40000)",
        "small",
    ),
    (
        "INSERT IGNORE INTO person (name) SELECT name FROM person",
        "SELECT",
    ),
    (
        "INSERT IGNORE INTO person (name) VALUES ('x') ON DUPLICATE KEY UPDATE city = 'x'",
        "IGNORE",
    ),
    ("INSERT INTO card (number) SELECT id FROM person", "number"),
    (
        "INSERT INTO card (number) SELECT number + 1 FROM person",
        "number",
    ),
    ("INSERT INTO plain (id) SELECT number FROM person", "number"),
    (
        "INSERT INTO card (number) SELECT whole FROM person",
        "number",
    ),
    ("REPLACE INTO person (name) SELECT note FROM plain", "name"),
    (
        "INSERT INTO card (number) SELECT number FROM card UNION SELECT 5",
        "",
    ),
];

#[test]
fn what_would_not_be_sealed_or_would_be_cut_is_refused() {
    for mut lab in both() {
        for (statement, why) in REFUSED {
            let error = lab.ours.query_drop(statement).expect_err(statement);
            let error = error.to_string();
            assert!(
                error.contains("strongroom: ") && error.contains(why),
                "{statement}: {error}"
            );
        }
        let null = lab.ours.exec_drop(
            "INSERT IGNORE INTO person (name) VALUES (?), (?)",
            (text("x"), Value::NULL),
        );
        let error = null.expect_err("it would be empty").to_string();
        assert!(
            error.contains("strongroom: ") && error.contains("NOT NULL"),
            "{error}"
        );
        let count: Option<u64> = lab
            .past()
            .query_first("SELECT COUNT(*) FROM person")
            .expect("a row");
        assert_eq!(count, Some(0));
    }
}
