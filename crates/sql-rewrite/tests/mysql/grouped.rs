//! Columns that are sealed together: what of the rules and the server has to fit, and the plans.

use sql_plan::Rules;
use sql_rewrite::mysql::schema::build;
use sql_rewrite::{Schema, describe, plan};

use super::{MARIADB, row};

const RULES: &str = "[columns.\"shop.person\"]\n\
    name = { type = \"varchar(20)\", group = \"g\", not_null = true }\n\
    born = { type = \"date\", group = \"g\" }\n\
    score = { type = \"integer\", group = \"g\" }\n";

/// The columns of the table: name, type, and whether it may be NULL.
type Columns = [(&'static str, &'static str, &'static str)];

/// As the proxy makes them. The holder has the two bytes of the start, tag, nonce, and 16 * 7
/// bytes: a byte of bits, 81 of the name, and two of four.
const MADE: [(&str, &str, &str); 4] = [
    ("id", "int(11)", "0"),
    ("born", "varbinary(122)", "0"),
    ("name", "varbinary(0)", "1"),
    ("score", "varbinary(0)", "1"),
];

fn answers(columns: &Columns) -> Vec<Vec<Vec<Option<String>>>> {
    vec![
        vec![row(&["shop", "person", "BASE TABLE", "InnoDB"])],
        columns
            .iter()
            .map(|(name, kind, null)| row(&["shop", "person", name, kind, null, "0", ""]))
            .collect(),
        vec![],
        vec![],
        vec![],
        vec![row(&["%", "%"])],
        vec![],
        vec![row(&["shop", "person", "PRIMARY", "id", "1", "0", ""])],
    ]
}

fn schema(columns: &Columns) -> Schema {
    let rules = Rules::from_toml(RULES).expect("rules");
    build(&rules, &answers(columns), MARIADB, Some("shop"))
}

fn planned(statement: &str) -> String {
    let schema = schema(&MADE);
    match plan(statement, &schema) {
        Ok(planned) => describe(&planned[0].plan, &schema).trim_end().to_owned(),
        Err(refusal) => format!("refused: {}", refusal.message),
    }
}

#[test]
fn a_table_fits_whose_holder_alone_has_values() {
    let unfit = |columns: &Columns| {
        let unfit = schema(columns).unfit;
        let unfit = unfit.iter();
        unfit
            .map(|own| format!("{}: {}", own.column, own.problem))
            .collect::<Vec<_>>()
    };
    assert_eq!(unfit(&MADE), Vec::<String>::new());
    // No guard is needed where there is no room for plaintext.
    let made = schema(&MADE);
    let unguarded = made.unguarded_columns().map(|own| own.column.as_str());
    assert_eq!(unguarded.collect::<Vec<_>>(), ["born"]);
    for (place, column, part) in [
        (1, ("born", "varbinary(30)", "0"), "born: is varbinary(30)"),
        (
            1,
            ("born", "varbinary(122)", "1"),
            "born: has the values of its group",
        ),
        (
            2,
            ("name", "varbinary(0)", "0"),
            "name: is sealed with others, and NOT NULL",
        ),
        (2, ("name", "varchar(20)", "1"), "name: is varchar(20)"),
        (3, ("points", "int(11)", "1"), "score: is not there"),
    ] {
        let mut columns = MADE;
        columns[place] = column;
        let unfit = unfit(&columns);
        assert!(
            unfit.len() == 1 && unfit[0].starts_with(part),
            "{part}: {unfit:?}"
        );
    }
}

#[test]
fn members_are_used_by_who_may_do_the_same_with_all_columns() {
    let of_all = ["select,insert,update"; 4];
    let of_some = ["select", "select,update", "select", "select"];
    for (privileges, is_refused) in [(of_all, false), (of_some, true)] {
        let mut answers = answers(&MADE);
        for (row, own) in answers[1].iter_mut().zip(privileges) {
            row.extend([None, Some(own.to_owned())]);
        }
        let rules = Rules::from_toml(RULES).expect("rules");
        let schema = build(&rules, &answers, MARIADB, Some("shop"));
        for statement in [
            "SELECT score FROM person",
            "UPDATE person SET born = NULL, name = 'x', score = 1",
            "INSERT INTO person (id, name) VALUES (1, 'x')",
        ] {
            let refusal = plan(statement, &schema).err();
            assert_eq!(refusal.is_some(), is_refused, "{statement}: {refusal:?}");
        }
        let plain = plan("SELECT id FROM person", &schema);
        assert!(plain.is_ok(), "{plain:?}");
    }
}

#[test]
fn values_of_members_are_one_hole() {
    for (statement, expected) in [
        (
            "CREATE TABLE person (id INT PRIMARY KEY, born DATE, name VARCHAR(20) NOT NULL, score \
             INT DEFAULT NULL)",
            "one: CREATE TABLE person (id INT PRIMARY KEY, born VARBINARY(122) NOT NULL, name \
             VARBINARY(0), score VARBINARY(0), CONSTRAINT `strongroom_person` CHECK ((`born` IS \
             NULL OR (LENGTH(`born`) >= 28 AND LEFT(`born`, 2) = X'9D03')))) ENGINE=InnoDB",
        ),
        (
            "INSERT INTO person (id, name, born) VALUES (1, 'x', ?)",
            "one: INSERT INTO `shop`.`person` (id, `born`, `score`) VALUES (1, {together $1, \
             constant, null store born}, '')",
        ),
        (
            "INSERT INTO person (id, name) VALUES (1, ?) ON DUPLICATE KEY UPDATE score = \
             VALUES(score), born = VALUES(born), name = VALUES(name)",
            "one: INSERT INTO `shop`.`person` (id, `born`, `score`) VALUES (1, {together null, \
             $1, null store born}, '') ON DUPLICATE KEY UPDATE `born` = VALUES(`born`), `score` = \
             VALUES(`score`)",
        ),
        (
            "SELECT name, score FROM person",
            "one: SELECT `person`.`born` AS `name`, `person`.`born` AS `score` FROM \
             `shop`.`person`\n  outputs: name, score",
        ),
    ] {
        assert_eq!(planned(statement), expected, "{statement}");
    }
}

#[test]
fn what_the_server_would_do_with_members_is_refused() {
    for (statement, why) in [
        (
            "SELECT id FROM person WHERE name = 'x'",
            "sealed with others",
        ),
        (
            "SELECT id FROM person WHERE born IS NULL",
            "sealed with others",
        ),
        (
            "CREATE TABLE person (id INT PRIMARY KEY, born DATE, name VARCHAR(20), score INT)",
            "does not say NOT NULL",
        ),
        (
            "CREATE TABLE person (id INT PRIMARY KEY, born DATE NOT NULL, name VARCHAR(20) NOT \
             NULL, score INT)",
            "says NOT NULL",
        ),
        (
            "INSERT INTO person (id, name) SELECT id, 'x' FROM person",
            "",
        ),
        ("UPDATE person SET score = 1", "primary or unique key"),
        (
            "UPDATE person SET score = 1, name = 'x'",
            "primary or unique key",
        ),
        ("UPDATE person SET name = score WHERE id = 1", ""),
    ] {
        let said = planned(statement);
        assert!(
            said.starts_with("refused: ") && said.contains(why),
            "{statement}\n{said}"
        );
    }
}
