//! Columns whose texts are found by a collation: what the server gets, and what it does not.

use sql_plan::Rules;
use sql_rewrite::mysql::schema::build;
use sql_rewrite::{Schema, describe, plan};

use super::{MARIADB, row};

fn schema() -> Schema {
    let rule = "type = \"varchar(20)\", mode = \"equality\", collation = \"utf8mb4_general_ci\"";
    let text = format!(
        "[columns.\"shop.person\"]\nmail = {{ {rule}, domain = \"m\" }}\nname = {{ {rule} }}\n\
         [columns.\"shop.account\"]\nmail = {{ {rule}, domain = \"m\" }}\n"
    );
    let rules = Rules::from_toml(&text).expect("rules");
    let table = |name| row(&["shop", name, "BASE TABLE", "InnoDB", "utf8mb4_unicode_ci"]);
    let column = |table, name, kind| row(&["shop", table, name, kind, "1", "0", ""]);
    let mut answers = vec![
        vec![table("account"), table("person")],
        vec![
            column("account", "mail", "varbinary(138)"),
            column("person", "id", "int(11)"),
            column("person", "mail", "varbinary(138)"),
            column("person", "name", "varbinary(138)"),
        ],
    ];
    answers.resize(9, Vec::new());
    let key = |sub_part, whole| row(&["shop", "person", "mail", "mail", whole, "0", sub_part]);
    answers[5] = vec![row(&["%", "%"])];
    answers[7] = vec![key("18", "0")];
    let schema = build(&rules, &answers, MARIADB, Some("shop"));
    assert_eq!(schema.unfit, []);
    assert_eq!(
        schema.tables[&("shop".to_owned(), "person".to_owned())].unique_keys,
        [[1]]
    );
    schema
}

fn said(text: &str) -> String {
    let schema = schema();
    match plan(text, &schema) {
        Ok(planned) => describe(&planned[0].plan, &schema).trim_end().to_owned(),
        Err(refusal) => format!("refused: {}", refusal.message),
    }
}

#[test]
fn what_is_equal_lies_between_a_token_and_its_end() {
    for (text, expected) in [
        (
            "SELECT id FROM person WHERE mail = ? AND id > 1",
            "one: SELECT id FROM `shop`.`person` WHERE (mail BETWEEN {$1 match mail} AND {$1 match \
             end mail}) AND id > 1",
        ),
        (
            "DELETE FROM person WHERE 'x' <> mail",
            "one: DELETE FROM `shop`.`person` WHERE (mail NOT BETWEEN {constant match mail} AND \
             {constant match end mail})",
        ),
        (
            "UPDATE person SET name = ? WHERE name NOT IN ('x', ?)",
            "one: UPDATE `shop`.`person` SET name = {$1 store name} WHERE (NOT (name BETWEEN \
             {constant match name} AND {constant match end name} OR name BETWEEN {$2 match name} \
             AND {$2 match end name}))",
        ),
        (
            "SELECT p.id FROM person p JOIN account a ON a.mail = p.mail",
            "one: SELECT p.id FROM `shop`.`person` p JOIN `shop`.`account` a ON (LEFT(a.mail, 18) \
             = LEFT(p.mail, 18) AND a.mail BETWEEN LEFT(p.mail, 18) AND CONCAT(LEFT(p.mail, 18), \
             _binary X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF') AND p.mail BETWEEN LEFT(a.mail, 18) AND \
             CONCAT(LEFT(a.mail, 18), _binary X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'))",
        ),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn what_else_compares_them_is_refused_without_a_finisher() {
    for text in [
        "SELECT id FROM person WHERE mail > 'x'",
        "SELECT id FROM person WHERE mail BETWEEN 'x' AND 'y'",
        "SELECT id FROM person WHERE mail <=> 'x'",
        "SELECT id FROM person WHERE mail = name",
        "SELECT id FROM person WHERE mail = 5",
        "SELECT id FROM person WHERE (mail, name) = ('x', 'y')",
        "SELECT id FROM person WHERE LEFT(mail, 18) = 'x'",
        "SELECT mail FROM person GROUP BY mail",
        "SELECT DISTINCT mail FROM person",
        "SELECT COUNT(DISTINCT mail) FROM person",
        "SELECT id FROM person ORDER BY mail",
        "SELECT MIN(mail) FROM person",
        "SELECT mail FROM person UNION SELECT mail FROM account",
        "SELECT id FROM person JOIN account USING (mail)",
        "SELECT id FROM person WHERE mail IN (SELECT mail FROM account)",
        "INSERT INTO account SELECT mail FROM person",
        "UPDATE person SET mail = name",
        "UPDATE person JOIN account ON person.mail = account.mail SET person.mail = account.mail",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE account (mail)",
        "ALTER TABLE account ADD FOREIGN KEY (mail) REFERENCES person (mail)",
    ] {
        let said = said(text);
        assert!(said.starts_with("refused: "), "{text}\n{said}");
    }
}

#[test]
fn keys_are_over_tokens() {
    for (text, expected) in [
        (
            "CREATE UNIQUE INDEX u ON person (name, id)",
            "one: CREATE UNIQUE INDEX u ON person(name(18), id)",
        ),
        (
            "ALTER TABLE person ADD UNIQUE KEY u (`name`)",
            "one: ALTER TABLE person ADD UNIQUE KEY u (`name`(18))",
        ),
        (
            "CREATE TABLE account (mail VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, KEY k \
             (mail))",
            "one: CREATE TABLE account (mail VARBINARY(138), PRIMARY KEY (mail(18)), KEY k \
             (mail(18)), CONSTRAINT `strongroom_account` CHECK ((`mail` IS NULL OR (LENGTH(`mail`) \
             >= 58 AND LEFT(`mail`, 1) = X'A9')))) ENGINE=InnoDB",
        ),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
    for text in [
        "CREATE TABLE account (mail VARCHAR(20) COLLATE utf8mb4_unicode_ci)",
        "CREATE TABLE account (mail VARCHAR(20), KEY (mail(5)))",
    ] {
        let said = said(text);
        assert!(said.starts_with("refused: "), "{text}\n{said}");
    }
}
