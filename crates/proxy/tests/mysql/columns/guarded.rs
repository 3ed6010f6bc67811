//! Foreign keys that the server writes by (`ON UPDATE CASCADE`, `SET NULL`) beside the guard of a
//! table, which may not name their columns.

use mysql::prelude::Queryable as _;
use server_testkit::mysql::Brand;

use super::inserted::same;
use super::lab::Lab;

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.account\"]
number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
[columns.\"shop.moved\"]
number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
note = { type = \"varchar(20)\" }
[columns.\"shop.emptied\"]
number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
note = { type = \"varchar(20)\" }
[columns.\"shop.later\"]
left = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
other = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
note = { type = \"varchar(20)\" }
[columns.\"shop.alone\"]
number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }
";

const TABLES: [&str; 5] = [
    "CREATE TABLE account (number BIGINT PRIMARY KEY)",
    "CREATE TABLE moved (id INT PRIMARY KEY, number BIGINT, note VARCHAR(20), FOREIGN KEY (number) \
     REFERENCES account (number) ON UPDATE CASCADE ON DELETE CASCADE)",
    "CREATE TABLE emptied (id INT PRIMARY KEY, number BIGINT, note VARCHAR(20), CONSTRAINT \
     of_account FOREIGN KEY (number) REFERENCES account (number) ON UPDATE SET NULL ON DELETE \
     SET NULL)",
    "CREATE TABLE later (id INT PRIMARY KEY, `left` BIGINT, other BIGINT, note VARCHAR(20), KEY \
     (`left`), KEY (other))",
    "CREATE TABLE alone (number BIGINT, FOREIGN KEY (number) REFERENCES account (number) ON DELETE \
     SET NULL)",
];

/// What both do. The name of a column of `later` is that of a function in the guard, too.
const STATEMENTS: [&str; 19] = [
    "INSERT INTO account VALUES (4242424201), (2), (3), (4)",
    "INSERT INTO later VALUES (1, 4242424201, NULL, 'canary'), (2, NULL, 3, 'two')",
    "ALTER TABLE later ADD CONSTRAINT by_number FOREIGN KEY (`left`) REFERENCES account (number) \
     ON UPDATE CASCADE",
    "ALTER TABLE later ADD CONSTRAINT of_other FOREIGN KEY (other) REFERENCES account (number) ON \
     DELETE SET NULL",
    "INSERT INTO later VALUES (3, 4, 4, NULL)",
    "INSERT INTO moved VALUES (1, 4242424201, 'canary'), (2, 3, 'x'), (3, NULL, NULL)",
    "INSERT INTO emptied VALUES (1, 4242424201, 'canary'), (2, 2, 'x'), (3, NULL, NULL)",
    "INSERT INTO alone VALUES (2), (NULL)",
    "UPDATE account SET number = 4242424207 WHERE number = 4242424201",
    "DELETE FROM account WHERE number IN (2, 3)",
    "SELECT * FROM account WHERE number = 4242424207",
    "SELECT * FROM moved ORDER BY id",
    "SELECT * FROM emptied ORDER BY id",
    "SELECT * FROM later ORDER BY id",
    "SELECT COUNT(*) AS c, COUNT(number) AS n FROM alone",
    "ALTER TABLE later DROP FOREIGN KEY of_other",
    "ALTER TABLE later ADD UNIQUE KEY (`left`, other)",
    "UPDATE later SET note = 'last' WHERE `left` = 4242424207",
    "SELECT note FROM later WHERE `left` = 4242424207",
];

#[test]
fn foreign_keys_write_columns_of_guarded_tables() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = Lab::with(brand, RULES, &TABLES) else {
            continue;
        };
        for statement in STATEMENTS {
            same(&mut lab, statement, vec![]);
        }
        for table in ["moved", "emptied", "later", "alone"] {
            let show = format!("SHOW CREATE TABLE {table}");
            let shown: Option<(String, String)> = lab.ours.query_first(&show).expect("a table");
            let (_, shown) = shown.expect("a table");
            assert!(!shown.contains("strongroom_"), "{shown}");
        }
        if brand == Brand::MariaDb {
            assert_plaintext_is_refused(&lab);
        }
    }
}

/// Past the proxy, plaintext is refused by the guard, or by the key.
fn assert_plaintext_is_refused(lab: &Lab) {
    let mut past = lab.past();
    for (statement, code) in [
        ("INSERT INTO account VALUES ('4242')", 4025),
        ("INSERT INTO moved VALUES (9, NULL, 'plain')", 4025),
        ("INSERT INTO moved VALUES (9, '4242', NULL)", 1452),
        ("UPDATE emptied SET note = 'plain'", 4025),
        ("UPDATE emptied SET number = '4242' WHERE id = 2", 1452),
        ("INSERT INTO later VALUES (9, NULL, NULL, 'plain')", 4025),
        ("INSERT INTO later VALUES (9, '4242', NULL, NULL)", 1452),
        ("INSERT INTO alone VALUES ('4242')", 1452),
    ] {
        let error = past.query_drop(statement).expect_err(statement);
        let said = error.to_string();
        assert!(said.contains(&code.to_string()), "{statement}: {said}");
    }
}
