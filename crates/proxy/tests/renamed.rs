//! Tables that get another name: what has a domain opens under a name with the same rules.

use crate::common::Setup;

const RULES: &str = r#"
[columns.member]
code = { type = "text", mode = "equality", domain = "code" }
age = { type = "integer", mode = "equality", domain = "age" }

[columns.fellow]
code = { type = "text", mode = "equality", domain = "code" }
age = { type = "integer", mode = "equality", domain = "age" }

[columns.guest]
code = { type = "text", mode = "equality", domain = "code" }
token = { type = "text", mode = "equality", domain = "code" }
note = { type = "text" }

[columns.visitor]
code = { type = "text", mode = "equality", domain = "code" }
token = { type = "text", mode = "equality", domain = "code" }
note = { type = "text" }

[columns.other_age]
code = { type = "text", mode = "equality", domain = "code" }
age = { type = "bigint", mode = "equality", domain = "age" }

[columns.more]
code = { type = "text", mode = "equality", domain = "code" }
age = { type = "integer", mode = "equality", domain = "age" }
city = { type = "text" }
"#;

const SCRIPT: [&str; 4] = [
    "CREATE TABLE member (id integer PRIMARY KEY, code text UNIQUE, age integer, city text)",
    "CREATE TABLE guest (id integer PRIMARY KEY, code text, note text)",
    "INSERT INTO member VALUES (1, 'CANARYa', 20, 'x'), (2, 'CANARYb', 30, 'y')",
    "INSERT INTO guest VALUES (1, 'CANARYa', 'CANARYn')",
];

fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    for text in SCRIPT {
        assert_eq!(setup.psql(text), "", "{text}");
    }
    Some(setup)
}

#[test]
fn a_table_whose_columns_have_domains_is_renamed() {
    let Some(setup) = start() else { return };
    assert_eq!(setup.psql("ALTER TABLE member RENAME TO fellow"), "");
    let rows = setup.psql("SELECT * FROM fellow WHERE code = 'CANARYb'");
    assert_eq!(rows.trim(), "2|CANARYb|30|y");
    assert_eq!(
        setup.psql("INSERT INTO fellow VALUES (3, 'CANARYc', 40, 'z')"),
        ""
    );
    assert_eq!(
        setup.psql("UPDATE fellow SET age = age + 1 WHERE id = 3"),
        ""
    );
    let rows = setup.psql("SELECT age FROM fellow ORDER BY id");
    assert_eq!(
        rows.split_whitespace().collect::<Vec<_>>(),
        ["20", "30", "41"]
    );
    let error = setup.psql("INSERT INTO fellow VALUES (4, 'CANARYc', 1, '')");
    assert!(error.contains("duplicate key"), "{error}");
    // The first name is free again.
    assert_eq!(setup.psql(SCRIPT[0]), "");
    assert_eq!(setup.psql(SCRIPT[2]), "");
    let both = "SELECT count(*) FROM member JOIN fellow USING (code)";
    assert_eq!(setup.psql(both).trim(), "2");
}

#[test]
fn what_would_not_open_under_its_new_name_is_not_renamed() {
    let Some(setup) = start() else { return };
    for text in [
        // It has no domain.
        "ALTER TABLE guest RENAME TO visitor",
        // The guard has its name.
        "ALTER TABLE guest RENAME COLUMN code TO token",
        // No rule.
        "ALTER TABLE member RENAME TO person",
        // Another type.
        "ALTER TABLE member RENAME TO other_age",
        // A plain column would get a rule.
        "ALTER TABLE member RENAME TO more",
        "ALTER TABLE member RENAME COLUMN city TO age",
    ] {
        let error = setup.psql(text);
        assert!(
            error.contains("could not be read") || error.contains("cannot be"),
            "{text}: {error}"
        );
    }
    let rows = setup.psql("SELECT code FROM member ORDER BY id");
    assert_eq!(
        rows.split_whitespace().collect::<Vec<_>>(),
        ["CANARYa", "CANARYb"]
    );
}
