//! What is refused, and that the session goes on behind it.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};

use super::differential::{Answer, as_text};
use super::lab::{Lab, both, connect};
use server_testkit::mysql::Brand;

#[track_caller]
fn assert_refused(client: &mut Conn, text: &str) {
    let error = client.query_drop(text).expect_err(text);
    let mysql::Error::MySqlError(own) = &error else {
        panic!("{text}: {error}");
    };
    assert!(own.message.starts_with("strongroom: "), "{text}: {error}");
    // Programs try again, or connect anew, on these.
    assert!(
        ![1213, 1205, 1047, 2006, 2013].contains(&own.code),
        "{text}: {error}"
    );
    let next: Option<i32> = client.query_first("SELECT 5").expect("the session goes on");
    assert_eq!(next, Some(5), "{text}");
}

const UNPROVED: &[&str] = &[
    "SELECT * FROM person WHERE name = 'a'",
    "SELECT * FROM person WHERE number > 1",
    "SELECT * FROM person ORDER BY name",
    "SELECT * FROM person ORDER BY number, city",
    // The place of an output, as `1` is.
    "SELECT number, id FROM person ORDER BY (1), id",
    "SELECT number, id FROM person ORDER BY +1, id",
    "SELECT number, id FROM person ORDER BY TRUE, id",
    "SELECT number, id FROM person ORDER BY 1 = 1, id",
    "SELECT number, id FROM person ORDER BY 4294967297, id",
    "SELECT name, COUNT(*) AS c FROM person GROUP BY 18446744069414584321",
    "SELECT name, COUNT(*) AS c FROM person GROUP BY (1)",
    "SELECT MAX(name) FROM person",
    "SELECT AVG(number) AS a FROM person",
    "SELECT SUM(number) AS s, MAX(id) AS m FROM person",
    "SELECT name FROM person GROUP BY name",
    "SELECT * FROM person WHERE number = '1abc'",
    "SELECT number + 1 AS n FROM person",
    "SELECT id FROM person WHERE (name, id) IN (('a', 1))",
    "SELECT id FROM person WHERE (number, id) IN ((1, 2), (3))",
    "SELECT id FROM person WHERE (number, id) IN (('1abc', 1))",
    "SELECT id FROM person WHERE (id, number) IN ((number, id))",
    "SELECT * FROM person WHERE name = ''; SELECT 1",
    "SELECT /*!50000 name */ FROM person",
    "SELECT number INTO @v FROM person",
    "SELECT number FROM person INTO @v",
    "SET @v = (SELECT number FROM person)",
    "SELECT * FROM person WHERE number = @v",
    "INSERT INTO person (name, number) VALUES ('x', @v)",
    "INSERT INTO person (name) SELECT @v",
    "SELECT @v := number FROM person",
    "INSERT INTO person (name, number) SELECT note, id FROM plain",
    "INSERT INTO plain (id, note) SELECT id, name FROM person",
    "UPDATE person SET number = number + 1",
    "UPDATE person SET name = @v",
    "UPDATE person SET city = name",
    "UPDATE person p JOIN plain q ON p.id = q.id SET p.name = q.note",
    "UPDATE person SET name = 'x' ORDER BY number LIMIT 1",
    "DELETE FROM person ORDER BY name LIMIT 1",
    "DELETE FROM person LIMIT 1, 2",
    "DELETE FROM person WHERE name LIKE 'a%'",
    "ALTER TABLE person MODIFY name VARCHAR(20)",
    "CREATE VIEW v AS SELECT * FROM person",
    "CREATE TABLE copy AS SELECT * FROM person",
    "CREATE TABLE copy LIKE person",
    "CREATE TEMPORARY TABLE person (name VARCHAR(20))",
    "RENAME TABLE plain TO person_old, person TO plain",
    "CREATE TRIGGER t BEFORE INSERT ON person FOR EACH ROW SET @x = NEW.name",
    "CREATE PROCEDURE p() INSERT INTO person (name) VALUES ('x')",
    "LOAD DATA INFILE '/tmp/x' INTO TABLE person",
    "SELECT * FROM person INTO OUTFILE '/tmp/strongroom-x'",
    "HANDLER person OPEN",
    "PREPARE s FROM 'SELECT * FROM person'",
    "PREPARE s FROM @v",
    "EXECUTE IMMEDIATE concat('SELECT * FROM pers', 'on')",
    "SHOW COLUMNS FROM person WHERE Type LIKE '%'",
    "EXPLAIN SELECT * FROM person",
    "ALTER TABLE person DISABLE KEYS, ADD x INT",
    "TABLE person",
    "SELECT * FROM person WHERE number = ?",
];

#[test]
fn what_is_not_proved_safe_is_refused() {
    for mut lab in both() {
        let client = &mut lab.ours;
        client
            .query_drop("INSERT INTO person (name, number) VALUES ('a', 1)")
            .expect("a row");
        for text in UNPROVED {
            assert_refused(client, text);
        }
        let count: Option<u64> = client
            .query_first("SELECT count(*) FROM person")
            .expect("a row");
        assert_eq!(count, Some(1));
    }
}

#[test]
fn sessions_whose_texts_are_read_otherwise_are_refused() {
    let insert = "INSERT INTO person (name) VALUES ('x')";
    for lab in both() {
        for (set, refused) in [
            ("SET sql_mode = ''", "UPDATE person SET name = 'y'"),
            (
                "SET sql_mode = 'NO_ENGINE_SUBSTITUTION'",
                "DELETE FROM person WHERE number = 1",
            ),
            (
                "SET sql_mode = 'HIGH_NOT_PRECEDENCE,STRICT_ALL_TABLES'",
                insert,
            ),
            (
                "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,STRICT_ALL_TABLES'",
                insert,
            ),
            ("SET NAMES latin1", "INSERT INTO person (name) VALUES ('é')"),
            ("SET NAMES latin1", "SELECT name FROM person"),
            ("SET NAMES gbk", insert),
            ("SET NAMES gbk", "SELECT 1, 'person'"),
            (
                "SET character_set_connection = latin1",
                "INSERT INTO person (name) VALUES ('Ж')",
            ),
        ] {
            let mut client = connect(lab.proxy.port(), "shop");
            client.query_drop(set).expect(set);
            let error = client.query_drop(refused).expect_err(refused).to_string();
            assert!(error.contains("strongroom: "), "{set}; {refused}: {error}");
            for back in [
                "SET NAMES utf8mb4",
                "SET sql_mode = 'STRICT_TRANS_TABLES'",
                refused,
            ] {
                let said = client.query_drop(back);
                assert!(said.is_ok(), "{set}; {back}: {said:?}");
            }
        }
        let mut client = connect(lab.proxy.port(), "shop");
        client.query_drop("SET NAMES latin1").expect("it passes");
        client
            .query_drop("INSERT INTO person (name, number) VALUES ('x', 70)")
            .expect("letters of ASCII are the same");
        let number: Option<u64> = client
            .query_first("SELECT number FROM person WHERE number = 70")
            .expect("no text");
        assert_eq!(number, Some(70));
    }
}

#[test]
fn what_a_session_sets_holds_for_the_next_text() {
    for lab in both() {
        let mut client = connect(lab.proxy.port(), "shop");
        client
            .query_drop("INSERT INTO person (name, number) VALUES ('a\\\\b', 1)")
            .expect("a row");
        client
            .query_drop("SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,STRICT_ALL_TABLES'")
            .expect("it passes");
        client
            .query_drop("INSERT INTO person (\"name\", number) VALUES ('a\\b', 2)")
            .expect("a row");
        let names: Vec<String> = client
            .query("SELECT \"name\" FROM person ORDER BY id")
            .expect("rows");
        assert_eq!(names, ["a\\b", "a\\b"]);
    }
}

#[test]
fn warnings_behind_a_refusal_tell_of_it() {
    for mut lab in both() {
        let Lab { ours: client, .. } = &mut lab;
        assert!(client.query_drop("SELECT MAX(name) FROM person").is_err());
        let found: Vec<(String, u16, String)> = client.query("SHOW WARNINGS").expect("a row");
        let [(level, code, message)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((level.as_str(), *code), ("Error", 1235));
        assert!(message.starts_with("strongroom: "), "{message}");
        client.query_drop("SELECT 1").expect("it passes");
        let found: Vec<(String, u16, String)> = client.query("SHOW WARNINGS").expect("none");
        assert_eq!(found, []);
    }
}

/// What a question gives, without the words of messages.
fn without_words(answer: Answer) -> Answer {
    let mut answer = answer;
    for row in &mut answer.rows {
        row.truncate(2);
    }
    answer
}

#[test]
fn what_was_said_of_a_statement_is_told_in_every_form() {
    // Both servers refuse it, for one reason.
    let refused = "INSERT INTO person (name) VALUES ('longer than twenty letters')";
    let questions = [
        "SHOW WARNINGS",
        "show errors;",
        "SHOW COUNT(*) WARNINGS",
        "SHOW COUNT(*) ERRORS",
        "SELECT @@warning_count",
        "SELECT @@session.error_count AS e, @@warning_count `W`",
        "SHOW WARNINGS LIMIT 1",
        "SHOW ERRORS LIMIT 1, 1",
        "SHOW WARNINGS LIMIT 5 OFFSET 0",
        "SHOW WARNINGS LIMIT 0",
    ];
    for mut lab in both() {
        for (first, second) in questions
            .iter()
            .flat_map(|own| [(own, "SHOW WARNINGS"), (own, own)])
        {
            for client in [&mut lab.ours, &mut lab.theirs] {
                client.query_drop(refused).expect_err(refused);
            }
            for question in [first, second] {
                let ours = without_words(as_text(&mut lab.ours, question));
                let theirs = without_words(as_text(&mut lab.theirs, question));
                assert_eq!(ours, theirs, "{first}; {second}");
            }
        }
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop("SELECT id FROM person").expect("no rows");
        }
        for question in questions {
            let ours = as_text(&mut lab.ours, question);
            assert_eq!(ours, as_text(&mut lab.theirs, question), "{question}");
        }
        let other = "SELECT @@warning_count + 1";
        lab.ours.query_drop(refused).expect_err(refused);
        assert_refused(&mut lab.ours, other);
    }
}

#[test]
fn messages_have_no_sealed_values() {
    for mut lab in both() {
        let client = &mut lab.ours;
        for text in [
            "INSERT INTO person (id, name, number) VALUES (1, 'a', 4242424201)",
            "INSERT INTO card SELECT number, 'abc', 1 FROM person",
        ] {
            client.query_drop(text).expect("a row");
        }
        // What was read in the server is not known to the proxy.
        let copy = "INSERT INTO card SELECT number, 'abc', 1 FROM person";
        let said = [
            client.query_drop(copy).expect_err("it is there"),
            client.exec_drop(copy, ()).expect_err("it is there"),
        ];
        for error in said {
            let mysql::Error::MySqlError(error) = error else {
                panic!("{error}");
            };
            assert_eq!(error.code, 1062);
            let message = &error.message;
            assert!(
                message.starts_with("Duplicate entry '(a protected value)' for key '"),
                "{message}"
            );
        }
    }
}

/// The message of an error.
fn message(client: &mut Conn, text: &str, values: Option<Vec<Value>>) -> String {
    let said = match values {
        None => client.query_drop(text),
        Some(values) => client.exec_drop(text, mysql::Params::Positional(values)),
    };
    match said.expect_err(text) {
        mysql::Error::MySqlError(error) => format!("{} {}", error.code, error.message),
        other => panic!("{text}: {other}"),
    }
}

#[test]
fn a_key_that_is_there_is_named_by_the_values_of_the_client() {
    let table = "CREATE TABLE pair (number BIGINT NOT NULL, plain INT NOT NULL, born DATE, \
                 code VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, PRIMARY KEY (plain, \
                 number), UNIQUE KEY both_of (born, number), UNIQUE KEY (code))";
    let rules = "[keys]\nfile = \"columns.key\"\n[columns.\"shop.pair\"]\n\
                 number = { type = \"bigint\", mode = \"equality\" }\n\
                 born = { type = \"date\", mode = \"order\" }\n\
                 code = { type = \"varchar(12)\", mode = \"equality\", collation = \"binary\" }\n";
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, rules, &[table]) else {
            continue;
        };
        let first = "INSERT INTO pair VALUES (4242424201, 7, '1977-07-17', 'canary'), (-5, 8, \
                     '1999-12-31', 'other')";
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop(first).expect("rows");
        }
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        for (statement, values) in [
            (
                "INSERT INTO pair VALUES (4242424201, 7, '2000-01-01', 'new')",
                None,
            ),
            (
                "INSERT INTO pair VALUES (1, 1, NULL, 'x'), (-5, 9, '1999-12-31', 'y')",
                None,
            ),
            (
                "INSERT INTO pair VALUES (1, 1, NULL, 'x'), (2, 9, '2000-01-01', 'canary')",
                None,
            ),
            (
                "UPDATE pair SET number = 4242424201, born = '1977-07-17' WHERE plain = 8",
                None,
            ),
            ("UPDATE pair SET code = 'other' WHERE plain = 7", None),
            (
                "INSERT INTO pair (plain, code, number) VALUES (?, ?, ?)",
                Some(vec![Value::Int(8), text("z"), Value::Int(-5)]),
            ),
            (
                "INSERT INTO pair (plain, code, number) VALUES (?, ?, ?)",
                Some(vec![Value::Int(9), text("other"), Value::Int(-5)]),
            ),
            (
                "INSERT INTO pair (plain, born, number) VALUES (?, ?, ?)",
                Some(vec![Value::Int(9), text("1999-12-31"), text("-5")]),
            ),
        ] {
            let ours = message(&mut lab.ours, statement, values.clone());
            let theirs = message(&mut lab.theirs, statement, values);
            assert_eq!(ours, theirs, "{statement}");
        }
    }
}

#[test]
fn a_parameter_may_be_the_place_of_an_output() {
    for mut lab in both() {
        for text in [
            "SELECT number, id FROM person ORDER BY ?",
            "SELECT name, COUNT(*) AS c FROM person GROUP BY ?",
        ] {
            super::lab::assert_bound_refused(&mut lab, text, Value::Int(1));
        }
    }
}
