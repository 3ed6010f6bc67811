//! Columns of tables that are there: they come, go and change beside protected ones.

use mysql::prelude::Queryable as _;
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::{Lab, assert_refused};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.person\"]
number = { type = \"bigint\", mode = \"equality\" }
note = { type = \"varchar(20)\" }
born = { type = \"date\" }
";

const TABLES: [&str; 1] = [
    "CREATE TABLE person (id INT PRIMARY KEY, number BIGINT, note VARCHAR(20), born DATE, tag \
     VARCHAR(10))",
];

const PLAIN: [&str; 11] = [
    "INSERT INTO person VALUES (1, 4242424201, 'canary', '2020-02-29', 'a'), (2, NULL, NULL, NULL, \
     NULL)",
    "ALTER TABLE person ADD COLUMN x INT NOT NULL DEFAULT 7 AFTER id, ADD Y DATETIME DEFAULT NULL",
    "ALTER TABLE person MODIFY x BIGINT COMMENT 'more', ADD KEY by_x (x, number)",
    "ALTER TABLE person CHANGE COLUMN x z BIGINT NOT NULL FIRST",
    "ALTER TABLE person RENAME COLUMN z TO w",
    "ALTER TABLE person ALTER COLUMN w SET DEFAULT 9",
    "INSERT INTO person (id, number) VALUES (3, 4242424203)",
    "SELECT * FROM person ORDER BY id",
    "ALTER TABLE person ALTER w DROP DEFAULT, DROP COLUMN y, DROP tag",
    "SELECT * FROM person WHERE number = 4242424201",
    "ALTER TABLE person DROP KEY by_x, DROP w",
];

/// Behind the two that drop columns, the rules of these protect nothing, and the others are kept.
const SEALED: [&str; 9] = [
    "ALTER TABLE person DROP COLUMN note",
    "ALTER TABLE person ADD COLUMN note VARCHAR(20) NULL AFTER id",
    "SELECT * FROM person ORDER BY id",
    "UPDATE person SET note = 'canary' WHERE number = 4242424201",
    "ALTER TABLE person DROP number, DROP born",
    "ALTER TABLE person ADD born DATE",
    "ALTER TABLE person ADD number BIGINT UNIQUE, ADD COLUMN tag INT",
    "INSERT INTO person (id, note, number, born) VALUES (4, 'canary', 4242424204, '2000-01-01')",
    "SELECT * FROM person ORDER BY id",
];

#[test]
fn columns_come_go_and_change_beside_protected_ones() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, RULES, &TABLES) else {
            continue;
        };
        for statement in PLAIN {
            same(&mut lab, statement, vec![]);
        }
        for statement in SEALED {
            if !statement.starts_with("ALTER") {
                same(&mut lab, statement, vec![]);
                continue;
            }
            // For its guard the server copies a table that it changes in place otherwise, and says
            // how many rows there were.
            lab.ours.query_drop(statement).expect(statement);
            lab.theirs.query_drop(statement).expect(statement);
        }
        let shown: Option<(String, String)> = lab
            .ours
            .query_first("SHOW CREATE TABLE person")
            .expect("a table");
        let (_, shown) = shown.expect("a table");
        assert!(!shown.contains("strongroom_"), "{shown}");
        if brand == Brand::MariaDb {
            let mut past = lab.past();
            for statement in [
                "UPDATE person SET note = 'plain'",
                "UPDATE person SET number = '4242'",
                "UPDATE person SET born = '2020-02-29'",
            ] {
                let error = past.query_drop(statement).expect_err(statement);
                assert!(error.to_string().contains("4025"), "{statement}: {error}");
            }
        }
    }
}

#[test]
fn a_protected_column_keeps_its_name_and_its_type() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, RULES, &TABLES) else {
            continue;
        };
        for statement in [
            "ALTER TABLE person MODIFY note VARCHAR(20)",
            "ALTER TABLE person CHANGE note other VARCHAR(20)",
            "ALTER TABLE person RENAME COLUMN note TO other",
            "ALTER TABLE person ALTER note SET DEFAULT 'x'",
            "ALTER TABLE person ALTER tag SET DEFAULT (UPPER(note))",
            "ALTER TABLE person ADD x INT AS (number + 1)",
            "ALTER TABLE person ADD x INT CHECK (number > 1)",
            "ALTER TABLE person ADD `ü` INT",
            "ALTER TABLE person CONVERT TO CHARACTER SET latin1",
            "ALTER TABLE person RENAME TO other",
        ] {
            lab.ours.query_drop(statement).expect_err(statement);
        }
        let drop = "ALTER TABLE person DROP note";
        lab.ours.query_drop(drop).expect(drop);
        for statement in [
            "SELECT id FROM person",
            "ALTER TABLE person ADD note VARCHAR(20) NOT NULL",
            "ALTER TABLE person ADD note VARCHAR(21)",
            "ALTER TABLE person ADD note VARCHAR(20) DEFAULT 'x'",
            "ALTER TABLE person RENAME COLUMN tag TO note",
            "ALTER TABLE person CHANGE tag note VARCHAR(20)",
            "ALTER TABLE person ADD other VARCHAR(20)",
        ] {
            lab.ours.query_drop(statement).expect_err(statement);
        }
        let add = "ALTER TABLE person ADD note VARCHAR(20)";
        lab.ours.query_drop(add).expect(add);
        lab.ours
            .query_drop("SELECT note FROM person")
            .expect("it fits");
    }
}

const WITH_DEFAULTS: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.item\"]
a = { type = \"integer\", mode = \"equality\", default = \"5\" }
b = { type = \"varchar(20)\", mode = \"equality\", collation = \"binary\", default = \"'canary'\" }
c = { type = \"date\", mode = \"order\", default = \"'2024-01-02'\" }
d = { type = \"bigint\", mode = \"equality\", equality = \"compact\", default = \"-7\" }
e = { type = \"integer\", default = \"5\" }
f = { type = \"timestamp(0)\", mode = \"equality\", default = \"CURRENT_TIMESTAMP\" }
";

/// The table gets its columns one by one, as a migration adds them.
#[test]
fn rows_that_are_there_get_the_default_of_a_column_that_comes() {
    let declared = "CREATE TABLE item (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 5, b VARCHAR(20) \
                    COLLATE utf8mb4_bin DEFAULT 'canary', c DATE NOT NULL DEFAULT '2024-01-02', d \
                    BIGINT DEFAULT -7, e INT DEFAULT 5, f DATETIME DEFAULT CURRENT_TIMESTAMP)";
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, WITH_DEFAULTS, &[declared]) else {
            continue;
        };
        let done = |lab: &mut Lab, statement: &str| {
            lab.ours.query_drop(statement).expect(statement);
            let declared = "b VARCHAR(20) COLLATE utf8mb4_bin";
            let twin = statement.replace("b VARCHAR(20)", declared);
            lab.theirs.query_drop(twin).expect(statement);
        };
        let fill = "INSERT INTO item (id, f) VALUES (1, '2024-01-02'), (2, NULL)";
        same(&mut lab, fill, vec![]);
        done(
            &mut lab,
            "ALTER TABLE item DROP a, DROP b, DROP c, DROP d, DROP e, DROP f",
        );
        for statement in [
            "ALTER TABLE item ADD e INT DEFAULT 5",
            "ALTER TABLE item ADD f DATETIME DEFAULT CURRENT_TIMESTAMP",
            "ALTER TABLE item ADD a INT NOT NULL DEFAULT 6",
            "ALTER TABLE item ADD a INT NOT NULL",
        ] {
            assert_refused(&mut lab, statement);
        }
        let error = lab
            .ours
            .prep("ALTER TABLE item ADD a INT NOT NULL DEFAULT 5")
            .expect_err("it is a text");
        assert!(error.to_string().contains("strongroom: "), "{error}");
        for statement in [
            "ALTER TABLE item ADD COLUMN a INT NOT NULL DEFAULT 5 AFTER id",
            "ALTER TABLE item ADD b VARCHAR(20) DEFAULT 'canary', ADD c DATE \
             NOT NULL DEFAULT '2024-01-02', ADD KEY by_c (c)",
            "ALTER TABLE item ADD d BIGINT DEFAULT -7 COMMENT 'it''s'",
            "ALTER TABLE item ADD e INT, ADD f DATETIME NULL",
        ] {
            done(&mut lab, statement);
        }
        for statement in [
            "SELECT id, a, b, c, d FROM item ORDER BY id",
            "SELECT id FROM item WHERE a = 5 AND b = 'canary' AND d = -7 ORDER BY id",
            "SELECT id FROM item WHERE c >= '2024-01-02' ORDER BY c, id",
            "INSERT INTO item (id, e, f) VALUES (3, 1, NULL)",
            "UPDATE item SET a = a + 1 WHERE id = 1",
            "SELECT id, a, b, c, d FROM item ORDER BY id",
        ] {
            same(&mut lab, statement, vec![]);
        }
        let stored = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'shop' \
                      AND table_name = 'item' AND column_default IS NOT NULL AND column_default \
                      <> 'NULL'";
        let left: Option<u32> = lab.past().query_first(stored).expect(stored);
        assert_eq!(left, Some(0), "the server has no default");
        let shown: Option<(String, String)> = lab
            .ours
            .query_first("SHOW CREATE TABLE item")
            .expect("a table");
        assert!(shown.expect("a table").1.contains("DEFAULT 'canary'"));
        let log = std::fs::read(lab.log()).expect("a log");
        let log = String::from_utf8_lossy(&log);
        let ours = log
            .lines()
            .filter(|line| line.contains("varbinary") || line.contains("VARBINARY"));
        assert_eq!(ours.filter(|line| line.contains("canary")).count(), 0);
    }
}
