//! `INSERT` and `REPLACE` of rows that the finisher computes, beside a plain twin.

use std::fs;

use mysql::Value;
use mysql::prelude::Queryable as _;

use super::{check, compare};
use crate::mysql::columns::lab::Lab;

const TABLE: &str = "CREATE TABLE copy (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT \
                     NULL, number BIGINT, paid DECIMAL(10,2), born DATE, note TEXT, city \
                     VARCHAR(10) NOT NULL DEFAULT 'x', made TIMESTAMP(2) NULL, UNIQUE KEY \
                     by_number (number), KEY by_city (city))";

/// Each is executed as a text, and again prepared: then most rows are there.
const INSERTS: &[&str] = &[
    "INSERT INTO copy (id, name, number, paid) SELECT id, UPPER(name), number * 2 + id, ROUND(paid \
     * 1.1, 2) FROM person WHERE name LIKE '%a%'",
    "INSERT IGNORE INTO copy (id, name, number) SELECT id + 2, LOWER(name), number * 2 + id FROM \
     person WHERE name LIKE '%a%' ORDER BY id",
    "INSERT IGNORE INTO copy (id, name) SELECT id, REPEAT(name, 20) FROM person WHERE name LIKE \
     'nobody%'",
    "INSERT INTO copy (number, id, name) SELECT number, id + 20, CONCAT('_', name) FROM person \
     WHERE number IN (-1, 5) AND LENGTH(name) > 3",
    "TRUNCATE TABLE copy",
    "INSERT INTO copy (id, name, paid) VALUES (50, UPPER('kanari two'), 1.005 * 3), (51, \
     CONCAT('a', 'b'), NULL)",
    "INSERT INTO copy (name, paid) VALUES (REVERSE('kanari'), 2 * 2)",
    "INSERT INTO copy SET name = LOWER('KANARI'), born = '2000-02-28' + INTERVAL 1 DAY",
    "INSERT INTO copy (id, name, city, note) VALUES (DEFAULT, TRIM(' kanari '), DEFAULT, DEFAULT), \
     (DEFAULT, TRIM(' x'), DEFAULT, DEFAULT)",
    "INSERT INTO copy (id, name) VALUES (0, LEFT('kanari', 2)), (NULL, RIGHT('kanari', 2))",
    "INSERT INTO copy (id, name) SELECT id + 1000, REVERSE(name) FROM copy WHERE name LIKE '%a%'",
    "INSERT INTO copy (id, name) SELECT id + 2000, name FROM person WHERE name LIKE 'k%' UNION \
     SELECT id + 2100, label FROM bill WHERE label LIKE 'red%'",
    "INSERT INTO copy (id, name, city) SELECT p.id + 3000, CONCAT(p.name, b.label), p.city FROM \
     person p JOIN bill b ON b.person = p.id AND b.label LIKE 'r%' WHERE p.id < 50",
    "INSERT INTO copy (id, name) SELECT id, REPEAT(name, 20) FROM person",
    "INSERT INTO copy (id, name) SELECT id, NULLIF(name, '') FROM person",
    "INSERT INTO copy (id, name) SELECT id + 4500, REPEAT(name, IF(id = 1, 1, 20)) FROM person \
     WHERE name LIKE 'k%' ORDER BY id",
    "INSERT INTO copy (id, name, number) VALUES (90, UPPER('x'), 1 / 0)",
    "INSERT INTO copy (id, name) SELECT id FROM person WHERE name LIKE 'k%'",
    "INSERT INTO copy (id, name) SELECT id + 4000, UPPER(name) FROM person WHERE name LIKE \
     'nobody%'",
    "INSERT INTO bill SELECT id + 500, 1, paid * 2, UPPER(LEFT(name, 9)), NULL FROM person WHERE \
     name LIKE 'k%'",
    "INSERT INTO plain (id, note) SELECT id + 100, 'seen' FROM person WHERE name LIKE 'k%'",
    "INSERT INTO person (id, name, city, kind, tags, bits, years, span, part, raw, old, changed) \
     SELECT id + 300, CONCAT(name, '+'), city, kind, tags, bits, years, span, part, raw, old, \
     changed FROM person WHERE name LIKE 'k%' AND id < 100",
    "INSERT INTO shop.copy (id, name) VALUES (95, (SELECT MAX(name) FROM shop.person))",
];

/// Each is executed once: the same values again would be sealed anew, and count as others; and
/// behind an `INSERT … SELECT` the server may leave numbers out.
const ONCE: &[&str] = &[
    "TRUNCATE TABLE copy",
    "INSERT INTO copy (name, city, note) SELECT CONCAT(name, '!'), city, note FROM person WHERE \
     LENGTH(name) > 5 ORDER BY id",
    "TRUNCATE TABLE copy",
    "INSERT INTO copy (name, number) WITH w AS (SELECT name, MAX(number) AS n FROM person GROUP BY \
     name) SELECT name, n FROM w WHERE n IS NOT NULL ORDER BY n LIMIT 2",
    "TRUNCATE TABLE copy",
    "REPLACE INTO copy (id, name, number) SELECT id, LOWER(name), number FROM person WHERE name \
     LIKE 'k%' AND id < 100",
    "REPLACE INTO copy (id, name, number) SELECT id + 1, CONCAT(name, '2'), number FROM person \
     WHERE name LIKE 'k%' AND id < 100 ORDER BY id",
    "REPLACE INTO copy SET id = 1, name = CONCAT('kan', 'ari')",
    "REPLACE INTO copy SET id = 1, name = CONCAT('kan', 'arii')",
    "INSERT INTO copy (id, name, paid) SELECT id, CONCAT(name, '/', city), 5 FROM person WHERE id \
     < 100 ORDER BY id ON DUPLICATE KEY UPDATE name = VALUES(name), city = 'dup'",
    "INSERT INTO copy (id, name, paid) VALUES (1, CONCAT('kan', 'a'), 7) ON DUPLICATE KEY UPDATE \
     paid = VALUES(paid), note = '42424242', city = CONCAT(city, VALUES(city))",
    "INSERT INTO copy (id, name, paid) VALUES (77, CONCAT('kan', 'a'), 7) ON DUPLICATE KEY UPDATE \
     city = 'never'",
];

const TABLES: [&str; 4] = ["copy", "person", "bill", "plain"];

fn check_tables(lab: &mut Lab, behind: &str) {
    for table in TABLES {
        let text = format!("SELECT * FROM {table} ORDER BY id");
        compare(lab, &text, None).unwrap_or_else(|wrong| panic!("behind {behind}: {wrong}"));
    }
}

/// Inserts rows into both, and compares what is there.
pub fn agree(lab: &mut Lab) {
    for connection in [&mut lab.ours, &mut lab.theirs] {
        connection.query_drop(TABLE).expect(TABLE);
    }
    let mut wrong = Vec::new();
    for text in INSERTS {
        for values in [None, Some(Vec::new())] {
            let other = compare(lab, text, values).err();
            if other.is_none() {
                check_tables(lab, text);
            }
            wrong.extend(other);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    for text in ONCE {
        check(lab, text, None);
        check_tables(lab, text);
    }
    parameters_are_bound(lab);
    transactions_are_the_clients(lab);
    refusals_say_why(lab);
    values_of_their_own_row_are_refused(lab);
    for table in ["person", "bill", "plain"] {
        let text = format!("DELETE FROM {table} WHERE id >= 100");
        check(lab, &text, None);
    }
    let log = fs::read(lab.log()).expect("a log");
    let log = String::from_utf8_lossy(&log);
    let sent = log
        .lines()
        .filter(|line| line.contains("SET STATEMENT") || line.contains(" (`"));
    let mut sent = sent.filter(|line| line.contains("VALUES (")).peekable();
    assert!(sent.peek().is_some(), "rows were inserted");
    for line in sent {
        let line = line.to_ascii_lowercase();
        assert!(
            !line.contains("anari") && !line.contains("42424242"),
            "{line}"
        );
    }
}

fn parameters_are_bound(lab: &mut Lab) {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    for (insert, values) in [
        (
            "INSERT INTO copy (id, name, born, city) VALUES (?, UPPER(?), ? + INTERVAL 1 DAY, ?)",
            vec![
                Value::Int(600),
                text("kanari é"),
                Value::Date(1999, 12, 31, 0, 0, 0, 0),
                text("é'\\"),
            ],
        ),
        (
            "INSERT INTO copy (id, name, city) SELECT id + ?, CONCAT(name, ?), ? FROM person WHERE \
             name LIKE ? AND id < ?",
            vec![
                Value::Int(700),
                text("kanari"),
                text("Bern"),
                text("K%"),
                Value::Int(100),
            ],
        ),
        (
            "INSERT INTO copy (id, name) VALUES (?, CONCAT(?, 'x')) ON DUPLICATE KEY UPDATE name = \
             ?, city = ?",
            vec![
                Value::Int(600),
                text("kanari"),
                text("kanari three"),
                text("Rome"),
            ],
        ),
    ] {
        check(lab, insert, Some(values));
        check_tables(lab, insert);
    }
    // The moment of a row is that of the server.
    let insert = "INSERT INTO copy (id, name, made, born) VALUES (800, UPPER('x'), NOW(2), \
                  CURRENT_DATE)";
    lab.ours.query_drop(insert).expect(insert);
    let text = "SELECT ABS(TIMESTAMPDIFF(SECOND, made, NOW())) < 60 AND born >= CURRENT_DATE - \
                INTERVAL 1 DAY FROM copy WHERE id = 800";
    let is_now: Option<bool> = lab.ours.query_first(text).expect("a row");
    assert_eq!(is_now, Some(true));
    lab.ours
        .query_drop("DELETE FROM copy WHERE id = 800")
        .expect("deleted");
}

fn transactions_are_the_clients(lab: &mut Lab) {
    let insert = "INSERT INTO copy (id, name) SELECT id + 5000, UPPER(name) FROM person WHERE name \
                  LIKE 'k%' AND id < 100";
    let values = "INSERT INTO copy (id, name) VALUES (5100, LOWER('A'))";
    for texts in [
        &["BEGIN", insert, values, "ROLLBACK"][..],
        &["BEGIN", values, insert, insert, values, "COMMIT"],
        &["DELETE FROM copy WHERE id > 5000"],
        &["SET autocommit = 0", insert, "ROLLBACK", values, "COMMIT"],
        &["SET autocommit = 1", values],
    ] {
        for text in texts {
            check(lab, text, None);
            check_tables(lab, text);
        }
    }
}

/// In these servers a name among the values of a row means what the column has got so far.
fn values_of_their_own_row_are_refused(lab: &mut Lab) {
    for text in [
        "INSERT INTO copy (id, name, city) VALUES (900, 'kanari', name)",
        "REPLACE INTO copy SET id = 900, name = UPPER('kanari'), city = CONCAT(name, 'x')",
        "INSERT INTO copy (name, id) VALUES (UPPER('kanari'), id + 1)",
    ] {
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains("strongroom: "), "{text}: {error}");
    }
}

fn refusals_say_why(lab: &mut Lab) {
    for (text, part) in [
        (
            "INSERT INTO copy (id, name, city) SELECT id, name, LEFT(name, 3) FROM person",
            "not protected",
        ),
        (
            "INSERT INTO plain (id, note) SELECT COUNT(*), 'x' FROM person WHERE name LIKE 'k%'",
            "not protected",
        ),
        (
            "INSERT INTO plain (id, note) SELECT id, note FROM person WHERE name LIKE 'k%'",
            "not protected",
        ),
        (
            "INSERT INTO plain (id, note) SELECT s.id, s.n FROM (SELECT id, name AS n FROM person) \
             s",
            "not protected",
        ),
        (
            "INSERT INTO plain (id) SELECT ROW_NUMBER() OVER w FROM person WINDOW w AS (ORDER BY \
             name)",
            "not protected",
        ),
        (
            "INSERT INTO plain (id, note) VALUES (900, (SELECT MAX(name) FROM person))",
            "a query within a value",
        ),
        (
            "INSERT IGNORE INTO copy (id, name) SELECT id + 900, REPEAT(name, 20) FROM person",
            "IGNORE",
        ),
        (
            "INSERT IGNORE INTO copy (id, name) SELECT id + 900, NULLIF(name, '') FROM person",
            "IGNORE",
        ),
        (
            "INSERT INTO copy (id, name) VALUES (901, UPPER('x')), (DEFAULT, 'y')",
            "DEFAULT",
        ),
        (
            "INSERT INTO copy (id, name) SELECT id, UPPER(name) FROM person ON DUPLICATE KEY \
             UPDATE city = VALUES(name)",
            "protected",
        ),
        (
            "INSERT INTO copy (name) SELECT UPPER(name) FROM person ON DUPLICATE KEY UPDATE city = \
             'x'",
            "number",
        ),
        (
            "INSERT INTO copy (id, name) SELECT id - 1, UPPER(name) FROM person WHERE id < 3 ON \
             DUPLICATE KEY UPDATE city = 'x'",
            "number",
        ),
        (
            "INSERT INTO copy (id, name) SELECT LAST_INSERT_ID(), UPPER(name) FROM person",
            "last_insert_id",
        ),
    ] {
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    check_tables(lab, "refusals");
}
