//! Tables of one name in two databases, one of which has rules.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

use super::differential::{Answer, as_text, prepared};
use super::lab::{Lab, both};

/// What a client gets past the proxy says so of its own databases.
fn as_ours(mut answer: Answer) -> Answer {
    for column in &mut answer.columns {
        *column = column.replace("twin", "shop");
    }
    answer
}

#[track_caller]
fn same(lab: &mut Lab, statement: &str, values: &[Value]) {
    let run = |client: &mut Conn, text: &str| match values {
        [] => as_text(client, text),
        values => prepared(client, text, values.to_vec()),
    };
    let ours = run(&mut lab.ours, statement);
    let theirs = run(&mut lab.theirs, &statement.replace("shop", "twin"));
    assert_eq!(as_ours(ours), as_ours(theirs), "{statement}");
}

fn fill(lab: &mut Lab) {
    for text in [
        "CREATE DATABASE other_shop",
        "INSERT INTO person (id, name, number) VALUES (1, 'canary', 4242424201)",
        "CREATE TABLE other_shop.person (id INT PRIMARY KEY, name VARCHAR(20), number BIGINT)",
        "INSERT INTO other_shop.person VALUES (1, 'plain', 5)",
    ] {
        same(lab, text, &[]);
    }
}

#[test]
fn a_table_of_the_same_name_in_another_database_is_plain() {
    for mut lab in both() {
        fill(&mut lab);
        let name = Value::Bytes(b"b".to_vec());
        let text = "INSERT INTO other_shop.person (id, name) VALUES (?, ?)";
        same(&mut lab, text, &[Value::Int(2), name]);
        for text in [
            "SELECT name, UPPER(name) FROM `other_shop` . Person WHERE name LIKE 'p%'",
            "SELECT name, UPPER(name) FROM `other_shop` . person WHERE name LIKE 'p%'",
            "SELECT p.name, q.name AS other FROM person p JOIN other_shop.person q ON p.id = q.id",
            "UPDATE other_shop.person SET name = CONCAT(name, 'x') WHERE id = 1",
            "DELETE FROM other_shop.person WHERE id = 99",
            "SHOW COLUMNS FROM other_shop.person",
            "SHOW COLUMNS FROM person FROM other_shop",
            "DESCRIBE other_shop.person",
            "ALTER TABLE other_shop.person ADD COLUMN x INT",
            "SELECT id, name, number FROM person",
            "USE other_shop",
            "SELECT person.* FROM person ORDER BY id",
            "SELECT id, name, number FROM shop.person",
            "INSERT INTO shop.person (id, name, number) VALUES (3, 'canary c', 4242424202)",
            "UPDATE person SET name = CONCAT(name, 'x'), x = 1",
            "UPDATE shop.person SET name = 'canary y' WHERE number = 4242424202",
            "DESCRIBE person",
            "SHOW COLUMNS FROM person FROM shop",
            "CREATE INDEX by_name ON person (name)",
            "TRUNCATE person",
            "USE shop",
            "SELECT id, name, number FROM person ORDER BY id",
            "DROP TABLE other_shop.person",
            "SELECT id, name, number FROM person ORDER BY id",
        ] {
            same(&mut lab, text, &[]);
        }
        let log = std::fs::read(lab.log()).expect("the log");
        let log = String::from_utf8_lossy(&log);
        let theirs = |line: &&str| line.contains("twin") || line.contains("INTO person (id, name");
        let clear = log.lines().filter(|line| line.contains("canary"));
        // The first statement of each is the plain twin's alone, as it stands there.
        assert_eq!(clear.clone().filter(theirs).count(), clear.count());
        let sealed: Vec<Row> = lab.past().query("SELECT name FROM person").expect("rows");
        for row in sealed {
            let name: Vec<u8> = row.get(0).expect("a value");
            assert!(!name.starts_with(b"canary"), "{name:?}");
        }
    }
}

#[test]
fn values_do_not_leave_the_database_with_rules() {
    for mut lab in both() {
        fill(&mut lab);
        lab.ours.select_db("other_shop").expect("it is there");
        for text in [
            "INSERT INTO person SELECT id + 10, name, number FROM shop.person",
            "INSERT INTO shop.person (id, name, number) SELECT id + 10, name, number FROM person",
            "CREATE PROCEDURE shop.p() INSERT INTO person (name) VALUES ('canary')",
            "CREATE VIEW shop.v AS SELECT * FROM shop.person",
            "CREATE TABLE person_too AS SELECT * FROM shop.person",
            "ALTER TABLE person RENAME TO shop.other, ADD name INT REFERENCES shop.person (id)",
        ] {
            let said = lab.ours.query_drop(text).expect_err(text).to_string();
            assert!(said.contains("strongroom: "), "{text}: {said}");
        }
        // A statement means what it meant when it was prepared.
        let text = "INSERT INTO person (id, name) VALUES (?, 'canary z')";
        let statement = lab.ours.prep(text).expect("a plain table");
        lab.ours.exec_drop(&statement, (7,)).expect("a row");
        lab.ours.select_db("shop").expect("it is there");
        let said = lab.ours.exec_drop(&statement, (8,));
        assert!(said.expect_err(text).to_string().contains("strongroom: "));
        let stored: Vec<u32> = lab.ours.query("SELECT id FROM person").expect("rows");
        assert_eq!(stored, [1]);
    }
}
