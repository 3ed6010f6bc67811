//! What the server shows of protected tables: the declared types, as of a plain table.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row};

use super::lab::{Lab, both};

/// All values of an answer, as texts.
fn rows(client: &mut Conn, text: &str) -> Vec<Vec<Option<String>>> {
    let found: Vec<Row> = client.query(text).expect(text);
    let values = found.into_iter().map(|row| {
        let values = row.unwrap().into_iter();
        let values = values.map(mysql::from_value);
        values.collect()
    });
    values.collect()
}

#[test]
fn a_protected_table_is_shown_as_it_was_declared() {
    for mut lab in both() {
        let wide = "CREATE TABLE card (number BIGINT NOT NULL COMMENT 'it''s, \\n) `x`', kind \
                    CHAR(3) CHARACTER SET latin1, person INT, PRIMARY KEY (number), CONSTRAINT c \
                    CHECK (person > 0)) COMMENT='strongroom_card'";
        for client in [&mut lab.ours, &mut lab.theirs] {
            client.query_drop("DROP TABLE card").expect("it is there");
            client.query_drop(wide).expect(wide);
        }
        let Lab { ours, theirs, .. } = &mut lab;
        for text in [
            "SHOW CREATE TABLE person",
            "show create table `card`;",
            "SHOW COLUMNS FROM person",
            "SHOW FULL COLUMNS FROM `person`",
            "SHOW FULL FIELDS IN card LIKE 'n%'",
            "SHOW COLUMNS FROM person LIKE 'n%'",
            "DESCRIBE person",
            "DESC person number",
            "EXPLAIN card",
        ] {
            assert_eq!(rows(ours, text), rows(theirs, text), "{text}");
        }
        for (text, twin) in [
            (
                "SHOW CREATE TABLE shop.person",
                "SHOW CREATE TABLE twin.person",
            ),
            (
                "SHOW COLUMNS FROM card FROM shop",
                "SHOW COLUMNS FROM card FROM twin",
            ),
        ] {
            assert_eq!(rows(ours, text), rows(theirs, twin), "{text}");
        }
        // Quotes of another kind, in a session's own mode.
        for client in [&mut *ours, &mut *theirs] {
            let set = "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'";
            client.query_drop(set).expect(set);
        }
        let text = "SHOW CREATE TABLE card";
        assert_eq!(rows(ours, text), rows(theirs, text), "{text}");
        for client in [&mut *ours, &mut *theirs] {
            let set = "SET sql_quote_show_create = 0";
            client.query_drop(set).expect(set);
        }
        assert_eq!(rows(ours, text), rows(theirs, text), "{text}");
        let error = ours.prep(text).expect_err(text).to_string();
        assert!(error.contains("Send it as a text"), "{error}");
        let next: Option<i32> = ours.query_first("SELECT 5").expect("the session goes on");
        assert_eq!(next, Some(5));
        // Past the proxy, the guard is there, and the types are those of sealed values.
        let past = rows(&mut lab.past(), text)[0][1].clone().expect("a text");
        assert!(past.contains("varbinary("), "{past}");
    }
}
