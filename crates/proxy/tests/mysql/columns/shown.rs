//! What the server shows of protected tables: the declared types, as of a plain table.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Row, Value};

use super::differential::{Answer, as_text, prepared};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, RULES, TABLES, both};
use crate::mysql::raw::Raw;
use wire_mysql::Capabilities;

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
        for text in [
            text,
            "SHOW FULL COLUMNS FROM person",
            "DESCRIBE card",
            "SHOW INDEX FROM person",
        ] {
            let (ours, theirs) = (prepared(ours, text, vec![]), prepared(theirs, text, vec![]));
            let said = |answer: Answer| (answer.columns, answer.rows, answer.error);
            let (ours, theirs) = (said(ours), said(theirs));
            let same = format!("{ours:?}").replace("shop", "twin") == format!("{theirs:?}");
            assert!(same, "{text}: {ours:?} {theirs:?}");
        }
        let next: Option<i32> = ours.query_first("SELECT 5").expect("the session goes on");
        assert_eq!(next, Some(5));
        // Past the proxy, the guard is there, and the types are those of sealed values.
        let past = rows(&mut lab.past(), text)[0][1].clone().expect("a text");
        assert!(past.contains("varbinary("), "{past}");
    }
}

#[test]
fn columns_are_listed_as_they_were_declared() {
    let rules = format!(
        "{RULES}[columns.\"shop.times\"]\npaid = {{ type = \"decimal(10,2)\" }}\n\
         seen = {{ type = \"timestamp(3)\", mode = \"order\" }}\nborn = {{ type = \"date\" }}\n\
         share = {{ type = \"double precision\" }}\nnote = {{ type = \"text\", \
         collation = \"binary\" }}\npage = {{ type = \"text\", collation = \"binary\" }}\n\
         file = {{ type = \"bytea\" }}\n\
         a = {{ type = \"text\", mode = \"equality\", domain = \"w\", collation = \"binary\" }}\n\
         b = {{ type = \"text\", mode = \"equality\", domain = \"w\", collation = \"binary\" }}\n"
    );
    let times = "CREATE TABLE times (id INT PRIMARY KEY, paid DECIMAL(10,2) NOT NULL, seen \
                 DATETIME(3) NOT NULL, born DATE NOT NULL, share DOUBLE NOT NULL, note TEXT NOT \
                 NULL, page LONGTEXT, file LONGBLOB NOT NULL, a TEXT, b LONGTEXT) \
                 DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin";
    let tables = [&TABLES[..], &[times]].concat();
    let labs = [Brand::MariaDb, Brand::MySql];
    for mut lab in labs
        .into_iter()
        .filter_map(|brand| Lab::with(brand, &rules, &tables))
    {
        let mut ours = Raw::connect(lab.proxy.port(), "shop", Capabilities::default());
        let mut theirs = Raw::connect(lab.server.port(), "twin", Capabilities::default());
        for (table, pattern) in [
            ("person", ""),
            ("person", "n%"),
            ("card", ""),
            ("plain", ""),
            ("times", ""),
            ("none", ""),
        ] {
            let command = [&[4], table.as_bytes(), &[0], pattern.as_bytes()].concat();
            let listed = [&mut ours, &mut theirs].map(|client| {
                client.send(&command);
                let found = client.packets().into_iter();
                let found = found.map(|own| String::from_utf8_lossy(&own).replace("twin", "shop"));
                found.collect::<Vec<_>>()
            });
            assert_eq!(listed[0], listed[1], "{table} {pattern}");
        }
        check_long(&mut lab);
    }
}

/// Values of more than 64 KiB, and what is shown of their columns.
fn check_long(lab: &mut Lab) {
    let text = |letters: &str| Value::Bytes(letters.as_bytes().to_vec());
    let long = "canary Ж ".repeat(12_000);
    let insert = "INSERT INTO times (id, paid, seen, born, share, note, page, file, b) VALUES";
    let row = "1.5, '2026-01-02', '2026-01-02', 0.5, 'x'";
    for (statement, values) in [
        (
            format!("{insert} (1, {row}, '{long}', '{long}', 'b')"),
            vec![],
        ),
        (
            format!("{insert} (2, {row}, ?, ?, ?)"),
            vec![text(&long), Value::Bytes(vec![0xff; 100_000]), text("b")],
        ),
        (
            format!("{insert} (?, {row}, NULL, 'x', '')"),
            vec![Value::Int(3)],
        ),
        (
            format!("UPDATE times SET note = '{long}' WHERE id = 1"),
            vec![],
        ),
        (
            "UPDATE times SET a = ? WHERE id = 1".to_owned(),
            vec![text(long.trim_end())],
        ),
        ("SELECT * FROM times ORDER BY id".to_owned(), vec![]),
        (
            "SELECT * FROM times WHERE id < ? ORDER BY id".to_owned(),
            vec![Value::Int(9)],
        ),
        (
            "SELECT id FROM times WHERE b = 'b' ORDER BY id".to_owned(),
            vec![],
        ),
        (
            "SELECT b, COUNT(*) AS c FROM times GROUP BY b ORDER BY c".to_owned(),
            vec![],
        ),
    ] {
        same(lab, &statement, values);
    }
    for text in [
        "ANALYZE TABLE times",
        "OPTIMIZE TABLE times, plain",
        "CHECK TABLE times",
        "FLUSH TABLES times",
    ] {
        let said = |client: &mut Conn| format!("{:?}", rows(client, text)).replace("shop", "twin");
        assert_eq!(said(&mut lab.ours), said(&mut lab.theirs), "{text}");
    }
    let refused = "UPDATE times SET a = b";
    let error = lab.ours.query_drop(refused).expect_err(refused).to_string();
    assert!(error.contains("another type"), "{error}");
    for text in [
        "SHOW CREATE TABLE times",
        "SHOW FULL COLUMNS FROM times",
        "SELECT column_name, data_type, column_type, character_maximum_length, \
         character_octet_length, collation_name FROM information_schema.columns WHERE table_name = \
         'times' AND table_schema = DATABASE() ORDER BY ordinal_position",
    ] {
        assert_eq!(
            rows(&mut lab.ours, text),
            rows(&mut lab.theirs, text),
            "{text}"
        );
    }
}

/// What is asked of both databases about tables with protected columns.
const QUESTIONS: [&str; 9] = [
    "SELECT * FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, \
     ordinal_position",
    // Django
    "SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, \
     extra, column_default, CASE WHEN collation_name = 'utf8mb4_bin' THEN NULL ELSE collation_name \
     END AS collation_name, CASE WHEN column_type LIKE '% unsigned' THEN 1 ELSE 0 END AS \
     is_unsigned, column_comment FROM information_schema.columns WHERE table_name = 'person' AND \
     table_schema = DATABASE()",
    "SELECT `COLUMN_NAME`, c.Column_Type, c.datetime_precision FROM information_schema.COLUMNS AS \
     c WHERE c.table_name = 'person' AND c.table_schema = DATABASE() ORDER BY c.ordinal_position",
    // Drivers
    "SELECT TABLE_SCHEMA, NULL, TABLE_NAME, COLUMN_NAME, CASE UPPER(DATA_TYPE) WHEN 'DECIMAL' THEN \
     3 WHEN 'VARCHAR' THEN 12 WHEN 'BIGINT' THEN -5 ELSE 1111 END AS DATA_TYPE, \
     IF(UPPER(DATA_TYPE) = 'DECIMAL', NUMERIC_PRECISION, CHARACTER_OCTET_LENGTH) AS COLUMN_SIZE \
     FROM \
     INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'person' ORDER \
     BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
    "SELECT t.table_name, count(*) AS c FROM information_schema.tables t JOIN \
     information_schema.columns ON columns.table_name = t.table_name AND columns.table_schema = \
     t.table_schema WHERE t.table_schema = DATABASE() AND data_type = 'varbinary' GROUP BY \
     t.table_name",
    "SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints \
     WHERE table_schema = DATABASE() ORDER BY 1, 2",
    "SELECT kc.constraint_name, kc.column_name, kc.referenced_table_name, c.constraint_type FROM \
     information_schema.key_column_usage AS kc, information_schema.table_constraints AS c WHERE \
     kc.table_schema = DATABASE() AND c.table_schema = kc.table_schema AND c.constraint_name = \
     kc.constraint_name AND c.constraint_type != 'CHECK' AND kc.table_name = 'person' ORDER BY \
     kc.ordinal_position, 1",
    "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() AND \
     column_name = 'number' AND column_type = 'bigint(20)' ORDER BY 1",
    "SELECT index_name, column_name, non_unique FROM information_schema.statistics WHERE \
     table_schema = DATABASE() AND table_name = 'person' ORDER BY 1, seq_in_index",
];

#[test]
fn information_schema_has_what_was_declared() {
    for mut lab in both() {
        let Lab { ours, theirs, .. } = &mut lab;
        let same = |ours: Answer, theirs: Answer, text: &str| {
            let names = |answer: &Answer| {
                let parts = answer.columns.iter().map(|column| column.split(' ').nth(2));
                format!("{:?} {:?}", parts.collect::<Vec<_>>(), answer.error)
            };
            assert_eq!(names(&ours), names(&theirs), "{text}");
            let shop = |rows: &[Vec<Value>]| {
                let rows = rows.iter().map(|row| {
                    let values = row.iter().map(|value| match value {
                        Value::Bytes(text) if text == b"twin" => Value::Bytes(b"shop".to_vec()),
                        other => other.clone(),
                    });
                    values.collect::<Vec<_>>()
                });
                rows.collect::<Vec<_>>()
            };
            assert_eq!(shop(&ours.rows), shop(&theirs.rows), "{text}");
            assert!(
                !ours.rows.is_empty() || text.contains("'varbinary'"),
                "{text}"
            );
        };
        for text in QUESTIONS {
            same(as_text(ours, text), as_text(theirs, text), text);
            same(
                prepared(ours, text, vec![]),
                prepared(theirs, text, vec![]),
                text,
            );
        }
        let text = "SELECT column_name, column_type, ? AS x FROM information_schema.columns WHERE \
                    table_name = ? AND table_schema = DATABASE()";
        let values = || vec![Value::Int(7), Value::Bytes(b"person".to_vec())];
        same(
            prepared(ours, text, values()),
            prepared(theirs, text, values()),
            text,
        );
        for text in [
            "SELECT information_schema.columns.data_type FROM information_schema.columns WHERE \
             table_name = 'person'",
            "SELECT data_type FROM information_schema.columns c JOIN person p WHERE c.table_name = \
             'person'",
        ] {
            let error = ours.query_drop(text).expect_err(text).to_string();
            assert!(error.contains("strongroom: "), "{text}: {error}");
        }
    }
}
