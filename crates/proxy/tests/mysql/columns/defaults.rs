//! Defaults of protected columns, which rules have and the proxy fills in, beside plain columns
//! with the same defaults.

use std::fs;

use mysql::{Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_shown_alike, finish, on_each};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.item\"]
a = { type = \"integer\", default = \"5\" }
b = { type = \"integer unsigned\", mode = \"equality\", default = \"'7'\" }
c = { type = \"varchar(20)\", default = \"'it''s \\\\ canary'\" }
d = { type = \"numeric(6,2)\", default = \"-1.5\" }
e = { type = \"double precision\", default = \"0.25\" }
f = { type = \"date\", mode = \"order\", default = \"'2024-01-02'\" }
g = { type = \"timestamp(3)\", default = \"'2024-01-02 03:04:05.5'\" }
h = { type = \"timestamp(0)\", mode = \"equality\", default = \"CURRENT_TIMESTAMP\" }
i = { type = \"timestamp(3)\", mode = \"order\", default = \"CURRENT_TIMESTAMP(3)\" }
j = { type = \"tinyint(1)\", default = \"TRUE\" }
k = { type = \"varchar(9)\" }
[columns.\"shop.pair\"]
x = { type = \"integer\", group = \"g\", default = \"8\", not_null = true }
y = { type = \"timestamp(0)\", group = \"g\", default = \"CURRENT_TIMESTAMP\" }
z = { type = \"varchar(9)\", group = \"g\" }
";

const TABLES: [&str; 3] = [
    "CREATE TABLE item (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 5, b INT UNSIGNED DEFAULT 7 \
     UNIQUE COMMENT 'n', c VARCHAR(20) NOT NULL DEFAULT 'it''s \\\\ canary', d DECIMAL(6,2) \
     DEFAULT -1.50, e DOUBLE DEFAULT 0.25, f DATE DEFAULT '2024-01-02', g DATETIME(3) NOT NULL \
     DEFAULT '2024-01-02 03:04:05.5', h DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, i DATETIME(3) \
     DEFAULT CURRENT_TIMESTAMP(3), j BOOLEAN DEFAULT TRUE, k VARCHAR(9) DEFAULT NULL, n INT \
     DEFAULT 3)",
    "CREATE TABLE pair (id INT PRIMARY KEY, x INT NOT NULL DEFAULT 8, y DATETIME DEFAULT \
     CURRENT_TIMESTAMP, z VARCHAR(9))",
    "CREATE TABLE source (id INT PRIMARY KEY, n INT)",
];

const MOMENT: &str = "SET timestamp = 1700000000.987654";

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| Lab::with(brand, RULES, &TABLES))
}

#[test]
fn rows_without_a_value_get_the_default() {
    for mut lab in labs() {
        for statement in [
            MOMENT,
            "INSERT INTO item (id, b) VALUES (1, 1)",
            "INSERT INTO item (id, b, a, k) VALUES (2, 2, DEFAULT, DEFAULT), (3, 3, 9, 'x')",
            "INSERT INTO item VALUES (4, 4, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, \
             DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT)",
            "INSERT INTO item SET id = 5, b = NULL, h = '2000-01-01 00:00:00'",
            "INSERT INTO item (id) VALUES (6)",
            "INSERT INTO item (id) VALUES (7)",
            "INSERT IGNORE INTO item (id) VALUES (7)",
            "REPLACE INTO item (id, b) VALUES (1, 11)",
            "REPLACE INTO item (id) VALUES (8)",
            "INSERT INTO source (id, n) VALUES (20, 1), (21, 2)",
            "INSERT INTO item (id, n, b) SELECT id, n, 20 FROM source WHERE id = 20",
            "INSERT INTO item (id, n, b) SELECT id, n, NULL FROM source ORDER BY id",
            "INSERT INTO item (id, n, b) SELECT id, n, NULL FROM source WHERE id > 20 LIMIT 5",
            "INSERT INTO item (id, b) VALUES (1, 3) ON DUPLICATE KEY UPDATE a = VALUES(a), h = \
             VALUES(h), k = 'y'",
            "UPDATE item SET a = DEFAULT, h = DEFAULT, i = DEFAULT, k = DEFAULT WHERE id = 3",
            "UPDATE item SET h = NOW(), i = CURRENT_TIMESTAMP(3) WHERE id = 2",
            "INSERT INTO item (id, a) VALUES (30, NULL)",
            "INSERT INTO item (id, b, h) VALUES (31, NULL, NOW())",
            "SELECT COUNT(*) AS c FROM item WHERE h = '2023-11-14 22:13:20'",
            "SELECT id FROM item WHERE i >= '2023-11-14 00:00:00' ORDER BY i, id",
            "INSERT INTO pair (id) VALUES (1)",
            "INSERT INTO pair (id, z) VALUES (2, 'a'), (3, DEFAULT)",
            "INSERT INTO pair (id, y, x) VALUES (4, NULL, DEFAULT), (5, DEFAULT, 1)",
            "SELECT * FROM pair ORDER BY id",
            "SELECT * FROM item ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
        same(
            &mut lab,
            "INSERT INTO item (id, b, k) VALUES (?, ?, ?), (?, 41, DEFAULT)",
            vec![Value::Int(40), Value::Int(40), Value::NULL, Value::Int(41)],
        );
        same(
            &mut lab,
            "INSERT INTO pair (id, x) VALUES (?, ?)",
            vec![Value::Int(40), Value::Int(40)],
        );
        for statement in [
            "SELECT * FROM item ORDER BY id",
            "SELECT * FROM pair ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
        // The server has no default to show.
        let log = fs::read(lab.log()).expect("a log");
        let log = String::from_utf8_lossy(&log);
        let ours = log.lines().filter(|line| line.contains("x'"));
        let mut clear = ours.filter(|line| line.contains("it's") || line.contains("it''s"));
        assert_eq!(clear.next(), None);
    }
}

/// The moment of an insertion is that of the server's clock, anew for each statement.
#[test]
fn a_moment_is_that_of_the_statement() {
    for mut lab in labs() {
        for text in [
            "INSERT INTO item (id, b) VALUES (1, 1)",
            "DO SLEEP(1.1)",
            "INSERT INTO item (id, b) VALUES (2, 2); INSERT INTO item (id, b) VALUES (3, 3)",
        ] {
            lab.ours.query_drop(text).expect(text);
        }
        let text = "SELECT i FROM item ORDER BY id";
        let moments: Vec<String> = lab.ours.query(text).expect(text);
        assert!(
            moments[0] < moments[1] && moments[1] <= moments[2],
            "{moments:?}"
        );
        let text = "SELECT TIMESTAMPDIFF(SECOND, ?, NOW()) < 60 AND TIMESTAMPDIFF(SECOND, ?, \
                    NOW()) >= 0";
        let values = (&moments[0], &moments[2]);
        let is_now: Option<bool> = lab.ours.exec_first(text, values).expect(text);
        assert_eq!(is_now, Some(true), "{moments:?}");
        // Counts are those of the statement, and not of the proxy's question.
        let text = "INSERT INTO item (id, b, n) VALUES (9, 9, ROW_COUNT())";
        lab.ours.query_drop(text).expect_err(text);
        for (text, count) in [
            ("INSERT INTO item (id, b) VALUES (11, 11), (12, 12)", 2),
            ("UPDATE item SET h = DEFAULT, n = 4 WHERE id > 10", 2),
        ] {
            lab.ours.query_drop(text).expect(text);
            let counted: Option<i64> = lab.ours.query_first("SELECT ROW_COUNT()").expect(text);
            assert_eq!(counted, Some(count), "{text}");
        }
    }
}

#[test]
fn tables_with_defaults_are_shown_as_they_were_declared() {
    for mut lab in labs() {
        for table in ["item", "pair", "source"] {
            assert_shown_alike(&mut lab, table);
        }
        // What was shown makes the same table again.
        let shown: Option<(String, String)> = lab
            .ours
            .query_first("SHOW CREATE TABLE item")
            .expect("a table");
        lab.ours.query_drop("DROP TABLE item").expect("it goes");
        lab.ours
            .query_drop(shown.expect("a table").1)
            .expect("it comes again");
        let text = "INSERT INTO item (id) VALUES (1)";
        lab.ours.query_drop(text).expect(text);
    }
}

#[test]
fn a_table_is_declared_with_the_defaults_of_its_rules() {
    for mut lab in labs() {
        let create = |x: &str, y: &str| {
            format!("CREATE TABLE pair (id INT, x INT NOT NULL {x}, y DATETIME {y}, z VARCHAR(9))")
        };
        let text = "DROP TABLE pair";
        lab.ours.query_drop(text).expect(text);
        for (x, y, reason) in [
            ("DEFAULT 9", "DEFAULT CURRENT_TIMESTAMP", "another default"),
            ("", "DEFAULT CURRENT_TIMESTAMP", "another default"),
            ("DEFAULT 8", "", "another default"),
            ("DEFAULT 8", "DEFAULT NULL", "another default"),
            (
                "DEFAULT 8",
                "DEFAULT '2024-01-01 00:00:00'",
                "another default",
            ),
            (
                "DEFAULT (4 + 4)",
                "DEFAULT CURRENT_TIMESTAMP",
                "another default",
            ),
            (
                "DEFAULT 8",
                "DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
                "ON UPDATE CURRENT_TIMESTAMP",
            ),
        ] {
            let text = create(x, y);
            let error = lab.ours.query_drop(&text).expect_err(&text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        // A row for some of the columns names them, as to the server.
        for client in [&mut lab.ours, &mut lab.theirs] {
            let text = "INSERT INTO item VALUES (1, 2)";
            client.query_drop(text).expect_err(text);
        }
        let text = create("DEFAULT '8'", "DEFAULT NOW()");
        lab.ours.query_drop(&text).expect(&text);
        for text in [
            "ALTER TABLE item DROP COLUMN d",
            "ALTER TABLE item ADD COLUMN d DECIMAL(6,2)",
            "INSERT INTO item (id) VALUES (1)",
        ] {
            lab.ours.query_drop(text).expect(text);
        }
        lab.ours
            .query_drop("ALTER TABLE item DROP COLUMN d")
            .expect("it goes");
        let text = "ALTER TABLE item ADD COLUMN d DECIMAL(6,2) DEFAULT -1.5";
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains("rows that are there"), "{error}");
    }
}

#[test]
fn rows_that_the_finisher_computes_get_defaults() {
    let rules = format!("{RULES}{}", finish("mariadb"));
    let Some(mut lab) = Lab::with(Brand::MariaDb, &rules, &TABLES) else {
        return;
    };
    for statement in [
        MOMENT,
        "INSERT INTO item (id, b, k) VALUES (1, 1, UPPER('ab')), (2, 2, 'c')",
        "INSERT INTO item (id, b, a, k) VALUES (3, 3, DEFAULT, UPPER('ab'))",
        "INSERT INTO item (id, k, b) SELECT id + 10, CONCAT(k, 'x'), NULL FROM item WHERE a > 4",
        "UPDATE item SET i = NOW(3), h = DATE_ADD(h, INTERVAL 1 DAY) WHERE a < 9",
        "SELECT id, a, c, g, h, i, k FROM item WHERE h > '2023-11-15 00:00:00' AND c LIKE \
         '%ca%' ORDER BY id",
        "SELECT * FROM item ORDER BY id",
    ] {
        same(&mut lab, statement, vec![]);
    }
}
