//! What drivers and mappers send: bytes in texts, rows that are returned, keys that are made later,
//! and several statements in one text.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

use super::differential::{as_text, prepared};
use super::lab::{Lab, both};

fn same(lab: &mut Lab, statement: &str, values: &[Value]) {
    let (ours, theirs) = match values {
        [] => (
            as_text(&mut lab.ours, statement),
            as_text(&mut lab.theirs, statement),
        ),
        values => (
            prepared(&mut lab.ours, statement, values.to_vec()),
            prepared(&mut lab.theirs, statement, values.to_vec()),
        ),
    };
    assert_eq!(ours, theirs, "{statement}");
}

/// All results of a text: rows, or what was changed; an error ends them.
fn results(client: &mut Conn, text: &str) -> Vec<String> {
    let mut told = Vec::new();
    let mut found = match client.query_iter(text) {
        Ok(found) => found,
        Err(error) => return vec![error.to_string()],
    };
    while let Some(set) = found.iter() {
        told.push(format!("{} {}", set.affected_rows(), set.info_str()));
        for row in set {
            told.push(match row.map(Row::unwrap) {
                Ok(values) => format!("{values:?}"),
                Err(error) => error.to_string(),
            });
        }
    }
    told
}

#[test]
fn bytes_in_texts_are_stored_as_they_are() {
    for mut lab in both() {
        for text in [
            "INSERT INTO person (id, name, face) VALUES (1, 'a', _binary'ÿ\\0\\'canary\\%þ')",
            "INSERT INTO person (id, name, face) VALUES (2, 'b', x'00FF27'), (3, 'c', 0x5c00)",
            "UPDATE person SET face = _binary \"\\Z(\" WHERE id = 1",
            "INSERT INTO person (id, name, city) VALUES (4, 'd', _binary'7')",
            "INSERT INTO person (id, name, city, whole) VALUES (5, 'e', 0x37, 5), (0x06, 'f', \
             x'37', 6), (7, 'g', _binary'7', 7)",
            "UPDATE person SET city = CONCAT(city, 0x5c27, X'41') WHERE whole IN (5, 6)",
            "SELECT id FROM person WHERE id = 0x06 AND whole = 6",
            "SELECT id FROM person WHERE id + x'00' = 6 AND city > 0x00 AND whole = 6",
            "REPLACE INTO person (id, name, face) VALUES (2, 'b', X'')",
            "SELECT id, face, city FROM person ORDER BY id",
        ] {
            let ours = results(&mut lab.ours, text);
            assert_eq!(ours, results(&mut lab.theirs, text), "{}", text);
        }
        for text in [
            "INSERT INTO person (name, number) VALUES ('x', _binary'5')",
            "INSERT INTO person (name, number) VALUES ('x', 0x35)",
            "INSERT INTO person (name) VALUES (_latin1'x')",
            "INSERT INTO person (name, face) VALUES ('x', _binary'a' 'b')",
            "INSERT INTO person (name, face) VALUES ('x', 0x5)",
        ] {
            let said = results(&mut lab.ours, text).concat();
            assert!(said.contains("strongroom: "), "{}: {said}", text);
        }
    }
}

#[test]
fn numbers_of_a_driver_that_has_one_kind_are_whole_ones() {
    for mut lab in both() {
        let insert = "INSERT INTO person (id, name, number, whole, paid) VALUES (?, ?, ?, ?, ?)";
        let name = || Value::Bytes(b"canary".to_vec());
        let doubles = |all: [f64; 3]| all.map(Value::Double);
        let [id, number, whole] = doubles([1.0, 4_242_424_201.0, -8.0]);
        same(
            &mut lab,
            insert,
            &[id, name(), number, whole, Value::Double(1.25)],
        );
        for (text, number) in [
            ("SELECT id FROM person WHERE number = ?", 4_242_424_201.0),
            ("SELECT id FROM person WHERE whole = ?", -8.0),
            ("SELECT id FROM person WHERE whole = ?", 9.0),
            (
                "UPDATE person SET small = 1 WHERE number = ?",
                4_242_424_201.0,
            ),
        ] {
            same(&mut lab, text, &[Value::Double(number)]);
        }
        // The server finds what is near such a number.
        for number in [1.5, 9_007_199_254_740_992.0, f64::NAN] {
            let find = "SELECT id FROM person WHERE number = ?";
            let said = lab
                .ours
                .exec_drop(find, (number,))
                .expect_err(find)
                .to_string();
            assert!(said.contains("strongroom: "), "{said}");
        }
    }
}

#[test]
fn rows_that_are_written_are_returned() {
    for mut lab in both() {
        let is_mariadb: Option<bool> = lab
            .theirs
            .query_first("SELECT VERSION() LIKE '%MariaDB%'")
            .expect("a row");
        if is_mariadb != Some(true) {
            continue;
        }
        for text in [
            "INSERT INTO person (id, name, number, born) VALUES (7, 'canary', 4242424201, \
             '1977-07-17') RETURNING id, name, born, person.number AS n, city",
            "INSERT INTO person (name) VALUES ('canary a'), ('canary b') RETURNING person.id",
            "INSERT INTO person (id, name) VALUES (7, 'canary two') ON DUPLICATE KEY UPDATE name = \
             VALUE(name) RETURNING id, name",
            "INSERT IGNORE INTO person (id, name) VALUES (7, 'x') RETURNING name",
            "REPLACE INTO card (number, kind) VALUES (5, 'abc') RETURNING *",
            "DELETE FROM person WHERE number = 4242424201 RETURNING id, name",
            "SELECT id, name FROM person ORDER BY id",
        ] {
            same(&mut lab, text, &[]);
        }
        let twice = "INSERT INTO person (id, name) VALUES (9, 'x'), (9, 'y') RETURNING id";
        let ours = results(&mut lab.ours, twice);
        assert_eq!(ours, results(&mut lab.theirs, twice));
        let name = Value::Bytes(b"canary c".to_vec());
        let text = "INSERT INTO person (name, number) VALUES (?, ?) RETURNING id, name, number";
        same(&mut lab, text, &[name, Value::Int(4_242_424_209)]);
        let computed = "INSERT INTO person (name) VALUES ('x') RETURNING UPPER(name)";
        let said = lab
            .ours
            .query_drop(computed)
            .expect_err(computed)
            .to_string();
        assert!(said.contains("strongroom: "), "{said}");
    }
}

#[test]
fn keys_are_made_and_removed_after_their_table() {
    for mut lab in both() {
        for text in [
            "CREATE INDEX by_small ON person (small, city)",
            "CREATE UNIQUE INDEX by_whole ON person (whole)",
            "ALTER TABLE person ADD INDEX second (number), DROP INDEX by_small",
            "ALTER TABLE card ADD CONSTRAINT of_person FOREIGN KEY (number) REFERENCES person \
             (number)",
            "INSERT INTO person (id, name, whole, number) VALUES (1, 'a', 5, 7)",
            "INSERT INTO person (id, name, whole) VALUES (2, 'a', 5)",
            "INSERT INTO card (number) VALUES (7)",
            "ALTER TABLE card DROP FOREIGN KEY of_person",
            "DROP INDEX by_whole ON person",
            "INSERT INTO person (id, name, whole) VALUES (2, 'a', 5)",
            "SELECT id, whole FROM person ORDER BY id",
        ] {
            same(&mut lab, text, &[]);
        }
        // The definition of the answer has the length of the server's own text.
        let shown = "SHOW CREATE TABLE person";
        let ours = results(&mut lab.ours, shown);
        assert_eq!(ours, results(&mut lab.theirs, shown));
        let is_there = "SHOW INDEX FROM person WHERE Key_name = 'second'";
        let found: Vec<Row> = lab.ours.query(is_there).expect(is_there);
        assert_eq!(found.len(), 1);
        for text in [
            "CREATE INDEX k ON person (name)",
            "CREATE UNIQUE INDEX k ON person (city, born(3))",
            "ALTER TABLE person ADD UNIQUE (paid)",
            "ALTER TABLE person ADD INDEX k (paid), ADD COLUMN x INT",
            "ALTER TABLE plain ADD FOREIGN KEY (id) REFERENCES person (number)",
            "SHOW INDEX FROM person WHERE Key_name IN (SELECT name FROM person)",
        ] {
            let said = lab.ours.query_drop(text).expect_err(text).to_string();
            assert!(said.contains("strongroom: "), "{text}: {said}");
        }
        for text in [
            "DROP TABLE card, person",
            "DESCRIBE person",
            "SHOW CREATE TABLE card",
        ] {
            let plain = as_text(&mut lab.theirs, text);
            let ours = format!("{:?}", as_text(&mut lab.ours, text));
            assert_eq!(
                ours,
                format!("{plain:?}").replace("twin.", "shop."),
                "{text}"
            );
        }
    }
}

#[test]
fn hints_to_the_optimizer_reach_a_server_that_reads_them() {
    for mut lab in both() {
        for text in [
            "INSERT /*+ NO_BKA(person) */ INTO person (id, name, number, whole) VALUES (1, \
             'canary', 4242424201, 2), (2, 'canary b', 4242424202, 3)",
            "INSERT INTO card (number, person) SELECT /*+ NO_ICP(person) */ number, id FROM person",
            "SELECT /*+ TIDB_INLJ(card,person) */ COUNT(*) AS c FROM person p JOIN card c ON \
             c.number = p.number WHERE p.whole = 2 AND p.id IN (1, 2)",
            "SELECT /*+ JOIN_ORDER(c, p@qb) QB_NAME(qb) NO_ICP(`p` PRIMARY) */ p.name, c.number \
             FROM person p JOIN card c ON c.number = p.number ORDER BY p.id",
            "SHOW WARNINGS",
            "SELECT /*+ MAX_EXECUTION_TIME(60000) */ DISTINCT whole FROM person WHERE whole = 2",
            "SELECT /*+ MAX_EXECUTION_TIME(60000) */ SUM(whole) AS s FROM person",
            "SELECT name /*+ BKA(t) */ FROM person /*+ BKA(t) */ WHERE id = 1 /*+ BKA(t) */",
            "UPDATE /*+ NO_MRR(person) */ person SET whole = whole + 1 WHERE id = 1",
            "UPDATE/*+ NO_MRR(person)*/person SET name = 'canary c' WHERE id = 1",
            "DELETE /*+ NO_RANGE_OPTIMIZATION(p) */ FROM person WHERE number = 4242424202",
            "REPLACE /*+ NO_MRR(t) */ INTO card (number) VALUES (7)",
            "SHOW WARNINGS",
            "SELECT id, name, whole FROM person",
        ] {
            same(&mut lab, text, &[]);
        }
        let log = std::fs::read_to_string(lab.log()).expect("the log");
        let sent = "QB_NAME(qb) NO_ICP(`p` PRIMARY) */ p.name, c.number FROM `shop`.`person`";
        let is_sent = log.contains(sent);
        let version: Option<String> = lab.theirs.query_first("SELECT VERSION()").expect("a row");
        let reads_hints = version.is_some_and(|version| !version.contains("MariaDB"));
        assert_eq!(is_sent, reads_hints, "{log}");
        for hint in ["SET_VAR(sql_mode = '')", "RESOURCE_GROUP(x)", "OTHER()"] {
            let text = format!("SELECT /*+ {hint} */ name FROM person");
            let said = lab.ours.query_drop(&text);
            match reads_hints {
                true => assert!(said.expect_err(hint).to_string().contains("strongroom: ")),
                false => said.expect("a comment"),
            }
        }
    }
}

#[test]
fn words_that_say_how_a_statement_is_carried_out_are_understood() {
    for mut lab in both() {
        for text in [
            "INSERT HIGH_PRIORITY INTO person (id, name, number, whole) VALUES (1, 'canary', \
             4242424201, 2), (2, 'canary b', 4242424202, 3), (3, 'canary c', NULL, 3)",
            "REPLACE LOW_PRIORITY INTO card (number, kind) VALUES (7, 'abc')",
            "UPDATE LOW_PRIORITY person SET name = 'canary d' WHERE id = 1",
            "DELETE LOW_PRIORITY QUICK FROM person WHERE id = 77",
            "SELECT HIGH_PRIORITY SQL_NO_CACHE name FROM person WHERE id = 1",
            "SELECT STRAIGHT_JOIN p.name, c.kind FROM person p JOIN card c ON c.number = p.number",
            "SELECT SQL_SMALL_RESULT DISTINCT SQL_BUFFER_RESULT city FROM person",
            "SELECT SQL_CALC_FOUND_ROWS name, number FROM person ORDER BY id LIMIT 1",
            "SELECT FOUND_ROWS()",
            "SELECT SQL_CALC_FOUND_ROWS id FROM person WHERE number = 4242424202 LIMIT 0",
            "SELECT FOUND_ROWS() AS n",
            "UPDATE IGNORE person SET number = 4242424202 WHERE id = 1",
            "SHOW COUNT(*) WARNINGS",
            "UPDATE IGNORE person SET name = 'canary e', city = 'longer than that' WHERE id < 3",
            "UPDATE IGNORE person SET number = 4242424203 ORDER BY id LIMIT 2",
            "SELECT id, name, number, city FROM person ORDER BY id",
        ] {
            same(&mut lab, text, &[]);
        }
        let text = "UPDATE IGNORE person SET name = ?, number = ? WHERE id = 3";
        let name = Value::Bytes(b"canary f".to_vec());
        same(&mut lab, text, &[name, Value::Int(4_242_424_209)]);
        for text in [
            "UPDATE IGNORE person SET name = NULL WHERE id = 1",
            "UPDATE IGNORE person SET name = 'longer than twenty letters' WHERE id = 1",
            "UPDATE IGNORE person SET whole = whole + 1 WHERE id = 1",
            "UPDATE IGNORE person p JOIN card c ON c.number = p.number SET p.whole = 1",
            "DELETE IGNORE FROM person WHERE id = 1",
            "INSERT DELAYED INTO person (name) VALUES ('x')",
        ] {
            let said = lab.ours.query_drop(text).expect_err(text).to_string();
            assert!(said.contains("strongroom: "), "{text}: {said}");
        }
        let none = (Value::NULL, 1);
        let said = lab.ours.exec_drop(text, none).expect_err(text).to_string();
        assert!(said.contains("strongroom: "), "{said}");
        same(&mut lab, "SELECT id, name, number FROM person", &[]);
        // The proxy sorts, so the server has counted other rows.
        let sorted = "SELECT SQL_CALC_FOUND_ROWS whole FROM person ORDER BY whole LIMIT 1";
        same(&mut lab, sorted, &[]);
        let said = lab.ours.query_drop("SELECT FOUND_ROWS()");
        assert!(
            said.expect_err("other rows")
                .to_string()
                .contains("strongroom: ")
        );
    }
}

#[test]
fn several_statements_in_one_text_are_carried_out_one_by_one() {
    for mut lab in both() {
        for text in [
            "INSERT INTO person (id, name, number) VALUES (1, 'canary; a', 4242424201); SELECT id, \
             name FROM person; UPDATE person SET name = 'canary b'; SELECT 1; DO 0; SELECT name \
             FROM person WHERE number = 4242424201;",
            "SELECT 1; SELECT name FROM person; SELECT 2, 3",
            "BEGIN; DELETE FROM person; ROLLBACK; SELECT COUNT(*) AS c FROM person",
            "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'); SELECT \"name\" FROM person; SET \
             sql_mode = DEFAULT",
            "USE mysql; USE shop; SELECT name FROM person",
            // The second fails; the third is not begun.
            "UPDATE person SET number = 4242424205; SELECT nothing FROM plain; DELETE FROM person",
            "SELECT number FROM person",
            "UPDATE person SET number = number + 1 WHERE id = 1; SELECT number FROM person",
            "INSERT INTO person (id, name) VALUES (1, 'x'); DELETE FROM person",
            "SELECT SUM(paid) AS s FROM person; SELECT name FROM person /* ; */; -- x\nSELECT 4",
            "CREATE TABLE other (id INT); INSERT INTO other VALUES (1); SELECT name FROM person; \
             DROP TABLE other",
        ] {
            let ours = results(&mut lab.ours, text);
            let twin = text.replace("shop", "twin");
            let theirs = results(&mut lab.theirs, &twin);
            let shown = theirs.iter().map(|line| line.replace("twin.", "shop."));
            assert_eq!(ours, shown.collect::<Vec<_>>(), "{text}");
        }
        // A refusal ends them, too.
        let text = "SELECT 1; SELECT MAX(name) FROM person; DELETE FROM person";
        let said = results(&mut lab.ours, text);
        assert!(
            said.len() < 6
                && said
                    .last()
                    .is_some_and(|last| last.contains("strongroom: ")),
            "{said:?}"
        );
        let left: Option<u64> = lab
            .ours
            .query_first("SELECT COUNT(*) FROM person")
            .expect("one");
        assert_eq!(left, Some(1));
        // A text that may have others within is not taken apart.
        let text = "CREATE PROCEDURE p() SELECT 1; SELECT name FROM person";
        let said = results(&mut lab.ours, text).concat();
        assert!(said.contains("strongroom: "), "{said}");
        let log = std::fs::read_to_string(lab.log()).unwrap_or_default();
        let through = log.lines().filter(|line| line.contains("canary; a"));
        assert_eq!(through.count(), 1, "the plain twin's alone");
    }
}
