//! Columns that are sealed together, beside a plain twin of the same server.

use std::fs;

use mysql::Value;
use mysql::prelude::Queryable as _;
use server_testkit::mysql::Brand;

use super::by_finisher::compare;
use super::canary::search;
use super::differential::{as_text, prepared};
use super::lab::{Lab, finisher_of, text};
use crate::mysql::setup::contain;

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
mail = { type = \"varchar(40)\", mode = \"equality\", collation = \"binary\" }
first = { type = \"varchar(16)\", collation = \"binary\", group = \"profile\", not_null = true }
street = { type = \"varchar(40)\", collation = \"binary\", group = \"profile\", pad = 32 }
born = { type = \"date\", group = \"profile\" }
score = { type = \"integer\", group = \"profile\" }
note = { type = \"text\", collation = \"binary\", group = \"profile\" }
price = { type = \"decimal(8,2)\", group = \"money\" }
seen = { type = \"timestamp(3)\", group = \"money\" }
face = { type = \"bytea\", group = \"money\" }
";

const TABLES: [&str; 1] = [
    "CREATE TABLE person (id INT PRIMARY KEY, street VARCHAR(40) COMMENT \
     'a, b', mail VARCHAR(40) UNIQUE, price DECIMAL(8,2) DEFAULT NULL, first VARCHAR(16) NOT NULL, \
     born DATE, n INT, score INT, note TEXT, seen DATETIME(3), face BLOB, KEY by_n (n)) DEFAULT \
     CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
];

/// A statement with its parameters.
type Statement = (&'static str, Vec<Value>);

fn filling() -> Vec<Statement> {
    vec![
        (
            "INSERT INTO person VALUES (1, 'kanari street', 'a@x', 91827.36, 'kanari', \
             '1977-07-17', 10, 1, 'kanari', '1977-07-17 07:07:07.777', 'kanari'), (2, NULL, 'b@x', \
             NULL, 'Bert', NULL, 20, NULL, NULL, NULL, NULL), (3, '', NULL, -3, '', NULL, 30, 3, \
             '', NULL, '')",
            vec![],
        ),
        (
            "INSERT INTO person (id, first, street, born, price, n) VALUES (?, ?, ?, ?, ?, 40), \
             (5, 'fünf 😀', NULL, NULL, ?, NULL)",
            vec![
                Value::Int(4),
                text("vier"),
                Value::NULL,
                Value::Date(1977, 7, 17, 0, 0, 0, 0),
                Value::Double(12.25),
                text("7.5"),
            ],
        ),
        (
            "INSERT INTO person (id, first, note, face) VALUES (?, ?, ?, ?)",
            vec![
                Value::Int(6),
                text("six"),
                text(&"kanari ".repeat(9000)),
                Value::Bytes(vec![0, 255, 1]),
            ],
        ),
        ("INSERT INTO person (id, mail) VALUES (7, 'g@x')", vec![]),
        ("INSERT INTO person (id, first) VALUES (7, NULL)", vec![]),
        (
            "INSERT INTO person (id, first) VALUES (?, ?)",
            vec![Value::Int(7), Value::NULL],
        ),
        (
            "INSERT INTO person (id, first) VALUES (7, 'a name of many letters')",
            vec![],
        ),
        ("INSERT INTO person (id, first) VALUES (1, 'again')", vec![]),
    ]
}

fn queries() -> Vec<Statement> {
    vec![
        ("SELECT * FROM person ORDER BY id", vec![]),
        ("SELECT first FROM person ORDER BY id", vec![]),
        (
            "SELECT street AS s, p.born, score FROM person p WHERE p.mail = ?",
            vec![text("a@x")],
        ),
        (
            "SELECT p.*, p.n FROM person p ORDER BY p.n DESC, p.id",
            vec![],
        ),
        (
            "SELECT p.first, o.first, o.street, o.id FROM person p LEFT JOIN person o ON o.id = \
             p.id + 1 ORDER BY p.id",
            vec![],
        ),
        (
            "SELECT first, street, price FROM person WHERE id = ? FOR UPDATE",
            vec![Value::Int(1)],
        ),
        ("SELECT id, first FROM person ORDER BY first, score", vec![]),
        (
            "SELECT SUM(score), SUM(price), MIN(born), COUNT(street) FROM person",
            vec![],
        ),
    ]
}

fn changes() -> Vec<Statement> {
    vec![
        (
            "UPDATE person SET price = 5, seen = NULL, face = 'kanari' WHERE id < 3",
            vec![],
        ),
        (
            "UPDATE person SET face = ?, price = ?, seen = ?, n = 7 WHERE mail = ?",
            vec![
                Value::NULL,
                text("1.5"),
                Value::Date(2001, 2, 3, 4, 5, 6, 7000),
                text("a@x"),
            ],
        ),
        ("UPDATE person SET n = n + 1 WHERE id = 1", vec![]),
        (
            "UPDATE person SET street = 'other street', score = score + 41, n = 8 WHERE id = 1",
            vec![],
        ),
        (
            "UPDATE person p SET p.note = ?, p.born = NULL WHERE p.mail = ?",
            vec![text("kanari"), text("b@x")],
        ),
        (
            "UPDATE person SET price = price - ?, score = ? + score WHERE id = 4",
            vec![text("0.25"), Value::Int(2)],
        ),
        ("UPDATE person SET first = NULL WHERE id = 1", vec![]),
        ("UPDATE person SET street = 'x' WHERE id = 100", vec![]),
        ("SELECT * FROM person ORDER BY id", vec![]),
        (
            "REPLACE INTO person (id, first, street) VALUES (2, 'Bertha', 'kanari')",
            vec![],
        ),
        (
            "INSERT IGNORE INTO person (id, first) VALUES (2, 'kanari'), (8, 'Hal')",
            vec![],
        ),
        (
            "INSERT INTO person (id, first) VALUES (8, 'kanari') ON DUPLICATE KEY UPDATE n = 5",
            vec![],
        ),
        (
            "INSERT INTO person (id, first, street, price, face) VALUES (2, 'Berta', 'x', 7, \
             'kanari'), (9, 'Ida', NULL, 1, NULL) ON DUPLICATE KEY UPDATE face = VALUES(face), \
             price = VALUES(price), n = 77, seen = VALUES(seen)",
            vec![],
        ),
        (
            "INSERT INTO person (id, first, price) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE \
             price = ?, seen = NULL, face = 'kanari', first = VALUES(first), street = \
             VALUES(street), born = VALUES(born), score = VALUES(score), note = VALUES(note)",
            vec![Value::Int(9), text("Ina"), text("1.5"), text("2.5")],
        ),
        ("DELETE FROM person WHERE n = 7", vec![]),
    ]
}

fn endings() -> Vec<Statement> {
    vec![
        ("SELECT * FROM person ORDER BY id", vec![]),
        ("SHOW CREATE TABLE person", vec![]),
        ("DESCRIBE person", vec![]),
        ("SHOW FULL COLUMNS FROM person", vec![]),
        (
            "SELECT column_name, column_type, is_nullable, column_default FROM \
             information_schema.columns WHERE table_schema = 'shop' AND table_name = 'person' \
             ORDER BY ordinal_position",
            vec![],
        ),
    ]
}

fn run(lab: &mut Lab, as_texts: bool, statements: &[Statement]) {
    for (text, values) in statements {
        let twin = text.replace("shop", "twin");
        let values = values.clone();
        let (mut ours, mut theirs) = match as_texts && values.is_empty() {
            true => (
                as_text(&mut lab.ours, text),
                as_text(&mut lab.theirs, &twin),
            ),
            false => (
                prepared(&mut lab.ours, text, values.clone()),
                prepared(&mut lab.theirs, &twin, values),
            ),
        };
        if text.contains("information_schema") {
            // A query stands in the place of the table, and columns of it have other definitions.
            ours.columns.clear();
            theirs.columns.clear();
        }
        assert_eq!(ours, theirs, "{text}");
    }
}

#[test]
fn groups_answer_as_the_twin() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        for as_texts in [true, false] {
            let Some(mut lab) = Lab::with(brand, RULES, &TABLES) else {
                continue;
            };
            for statements in [filling(), queries(), changes(), endings()] {
                run(&mut lab, as_texts, &statements);
            }
        }
    }
}

#[test]
fn no_member_reaches_the_server_in_clear() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let rules = format!("{RULES}{}", finisher_of(brand));
        let Some(mut lab) = Lab::with(brand, &rules, &TABLES) else {
            continue;
        };
        let all = [filling(), queries(), changes()].concat();
        for (statement, values) in all {
            match values.is_empty() {
                true => as_text(&mut lab.ours, statement),
                false => prepared(&mut lab.ours, statement, values),
            };
        }
        let others = REFUSED.iter().map(|(statement, _)| statement);
        for statement in BY_FINISHER.iter().chain(others) {
            as_text(&mut lab.ours, statement);
        }
        let own = fs::read(lab.log()).expect("the log");
        let is_own = contain(&own, b"INSERT INTO `shop`.`person`");
        assert!(is_own, "the log is another");
        search(lab.server.folder());
    }
}

/// Statements that a finisher evaluates.
const BY_FINISHER: &[&str] = &[
    "SELECT id FROM person WHERE street IS NULL ORDER BY id",
    "SELECT id FROM person WHERE born IS NOT NULL AND price IS NOT NULL ORDER BY id",
    "SELECT COUNT(street), COUNT(*), COUNT(score), SUM(score), MAX(born) FROM person",
    "SELECT id FROM person WHERE first = 'Bert' OR score > 2 ORDER BY id",
    "SELECT id, street, note FROM person WHERE street LIKE 'kan%' ORDER BY id",
    "SELECT IFNULL(score, 0) AS s, UPPER(first) AS f FROM person ORDER BY id",
    "SELECT p.first, o.street FROM person p LEFT JOIN person o ON o.score = p.score + 2 ORDER BY \
     p.id",
    "UPDATE person SET score = score + 1, born = '1999-01-01' WHERE n > 10",
    "UPDATE person SET street = CONCAT(first, '!'), n = 5 WHERE street IS NULL",
    "UPDATE person SET first = street, note = NULL WHERE id = 1",
    "UPDATE person p SET p.face = LEFT(p.first, 2), p.price = p.price * 2 WHERE p.price > 0",
    "UPDATE person SET first = NULL WHERE note = ''",
    "UPDATE person SET score = 1 WHERE street = 'nowhere'",
    "SELECT * FROM person ORDER BY id",
    "DELETE FROM person WHERE born IS NULL",
    "SELECT * FROM person ORDER BY id",
];

#[test]
fn a_finisher_answers_over_members() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let rules = format!("{RULES}{}", finisher_of(brand));
        let Some(mut lab) = Lab::with(brand, &rules, &TABLES) else {
            continue;
        };
        for values in [None, Some(Vec::new())] {
            for table in [&mut lab.ours, &mut lab.theirs] {
                table.query_drop("DELETE FROM person").expect("empty");
            }
            run(&mut lab, false, &filling()[..3]);
            let compared = BY_FINISHER
                .iter()
                .map(|text| compare(&mut lab, text, values.clone()));
            let wrong: Vec<String> = compared.filter_map(Result::err).collect();
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

/// Statements that are refused, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "SELECT id FROM person WHERE street = 'x'",
        "sealed with others",
    ),
    (
        "SELECT id FROM person WHERE born IS NULL",
        "sealed with others",
    ),
    ("SELECT UPPER(first) AS u FROM person", "sealed with others"),
    (
        "UPDATE person SET street = 'x'",
        "all columns of a primary or unique key",
    ),
    (
        "UPDATE person SET price = 5, seen = NULL, face = NULL, price = 6 WHERE id = 100",
        "multiple assignments",
    ),
    (
        "UPDATE person p JOIN person q ON q.id = p.n SET p.street = 'x'",
        "sealed with",
    ),
    (
        "UPDATE person SET first = street WHERE id = 1",
        "no whole or decimal number",
    ),
    (
        "INSERT INTO person (id, first) SELECT n, 'x' FROM person",
        "sealed with others",
    ),
    (
        "INSERT INTO person (id, first, street) VALUES (1, 'x', 'y') ON DUPLICATE KEY UPDATE \
         street = VALUES(street)",
        "all that it is sealed with",
    ),
    (
        "INSERT INTO person (id, first) VALUES (1, 'x') ON DUPLICATE KEY UPDATE face = 'x'",
        "sealed with",
    ),
    (
        "INSERT INTO person (id, first) VALUES (1, 'x') ON DUPLICATE KEY UPDATE price = \
         VALUES(price), seen = VALUES(seen), face = VALUES(face)",
        "all that it is sealed with",
    ),
    (
        "INSERT IGNORE INTO person (id, street) VALUES (1, 'x')",
        "NOT NULL",
    ),
    (
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE person (id, first)",
        "sealed with others",
    ),
    ("ALTER TABLE person ADD KEY (born)", "mode random"),
    ("ALTER TABLE person DROP COLUMN born", "keeps its members"),
    ("ALTER TABLE person MODIFY born DATE FIRST", "has a rule"),
    (
        "CREATE VIEW v AS SELECT born FROM person WHERE note = 'kanari'",
        "",
    ),
];

#[test]
fn what_the_server_cannot_do_with_members_is_refused() {
    let Some(mut lab) = Lab::with(Brand::MariaDb, RULES, &TABLES) else {
        return;
    };
    run(&mut lab, true, &filling()[..1]);
    for (statement, why) in REFUSED {
        let error = lab.ours.query_drop(statement).expect_err(statement);
        let error = error.to_string();
        assert!(
            error.contains("strongroom: ") && error.contains(why),
            "{statement}: {error}"
        );
    }
    run(&mut lab, true, &queries()[..1]);
}

#[test]
fn the_server_refuses_what_is_not_sealed_for_all_members() {
    let Some(mut lab) = Lab::with(Brand::MariaDb, RULES, &TABLES) else {
        return;
    };
    run(&mut lab, true, &filling()[..1]);
    let mut past = lab.past();
    for (statement, code) in [
        ("UPDATE person SET street = 'plain'", 4025),
        ("UPDATE person SET first = 'plain'", 1406),
        ("UPDATE person SET street = NULL", 1048),
        ("UPDATE person SET face = 'a'", 1406),
        (
            "UPDATE person SET street = CONCAT(LEFT(street, 1), X'04', SUBSTR(street, 3))",
            4025,
        ),
    ] {
        let error = past.query_drop(statement).expect_err(statement);
        assert!(error.to_string().contains(&code.to_string()), "{error}");
    }
}
