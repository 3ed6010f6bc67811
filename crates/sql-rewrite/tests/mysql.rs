//! Statements are planned as a server of MySQL would read them, or refused.

mod by_collation;
mod canary;
mod grouped;
#[cfg(unix)]
mod server;
mod shapes;

use sql_plan::Rules;
use sql_rewrite::mysql::schema::{build, check_rules};
use sql_rewrite::mysql::statement::may_name;
use sql_rewrite::mysql::{ModeError, MySql};
use sql_rewrite::{Schema, describe, explain, plan};

const MARIADB: MySql = MySql {
    is_mariadb: true,
    version: 101_119,
    ansi_quotes: false,
    plain_backslashes: false,
    folds_tables: false,
    is_lax: false,
    rounds_seconds: false,
    refuses_zero_dates: false,
    offset_s: Some(0),
};

fn rules() -> Rules {
    let text = "[columns.\"shop.person\"]\nname = { type = \"varchar(20)\" }\n\
                number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }\n\
                [columns.\"shop.card\"]\n\
                number = { type = \"bigint\", mode = \"equality\", domain = \"n\" }\n";
    Rules::from_toml(text).expect("rules")
}

fn row(parts: &[&str]) -> Vec<Option<String>> {
    parts.iter().map(|part| Some((*part).to_owned())).collect()
}

/// MariaDB as it is by default and in another SQL mode, and a MySQL that keeps no checks.
pub fn servers() -> [MySql; 3] {
    let ansi = MySql {
        ansi_quotes: true,
        plain_backslashes: true,
        ..MARIADB
    };
    let mysql = MySql {
        is_mariadb: false,
        version: 80_015,
        ..MARIADB
    };
    [MARIADB, ansi, mysql]
}

/// What a server with these tables answers to what it is asked.
fn answers() -> Vec<Vec<Vec<Option<String>>>> {
    let table = |name| row(&["shop", name, "BASE TABLE", "InnoDB"]);
    let column = |table, name, kind| row(&["shop", table, name, kind, "1", "0", ""]);
    vec![
        vec![
            table("card"),
            table("person"),
            table("plain"),
            row(&["shop", "shown", "VIEW", ""]),
        ],
        vec![
            column("card", "number", "varbinary(17)"),
            column("person", "id", "int(11)"),
            column("person", "name", "varbinary(121)"),
            column("person", "number", "varbinary(17)"),
            column("plain", "id", "int(11)"),
            column("plain", "note", "varchar(20)"),
        ],
        vec![row(&[
            "shop",
            "shown",
            "select `shop`.`person`.`id` AS `id` from `shop`.`person`",
        ])],
        vec![
            row(&["harmless", "BEGIN SELECT 1; END"]),
            row(&["writer", "BEGIN INSERT INTO person VALUES (1, 'x', 2); END"]),
            row(&["caller", "BEGIN CALL writer(); END"]),
            vec![Some("hidden".to_owned()), None],
        ],
        vec![],
        vec![row(&["%", "%"])],
        vec![],
    ]
}

pub fn people(own: MySql) -> Schema {
    let schema = build(&rules(), &answers(), own, Some("shop"));
    assert_eq!(schema.unfit, []);
    schema
}

fn described(statement: &str, own: MySql) -> String {
    let schema = people(own);
    match plan(statement, &schema) {
        Ok(planned) => describe(&planned[0].plan, &schema).trim_end().to_owned(),
        Err(refusal) => format!("refused: {}", refusal.message),
    }
}

#[track_caller]
fn assert_plan(statement: &str, expected: &str) {
    assert_eq!(described(statement, MARIADB), expected, "{statement}");
}

#[track_caller]
fn assert_refused(statement: &str, reason: &str) {
    let said = described(statement, MARIADB);
    assert!(
        said.starts_with("refused: ") && said.contains(reason),
        "{statement}\n{said}"
    );
}

#[test]
fn values_of_protected_columns_become_holes() {
    assert_plan(
        "INSERT INTO person (id, name, number) VALUES (1, 'O''Neill \\'x\\'', 5), (?, ?, ?)",
        "one: INSERT INTO `shop`.`person` (id, name, number) VALUES (1, {constant store name}, \
         {constant store number}), ({$1 plain}, {$2 store name}, {$3 store number})",
    );
    assert_plan(
        "SELECT * FROM person WHERE number = ? AND id > ?",
        "one: SELECT `person`.`id`, `person`.`name`, `person`.`number` FROM `shop`.`person` WHERE \
         number = {$1 match number} AND id > {$2 plain}\n  outputs: -, name, number",
    );
    assert_plan(
        "SELECT p.name, c.number FROM person p JOIN card c ON c.number = p.number ORDER BY p.id \
         LIMIT ?, 3",
        "one: SELECT p.name, c.number FROM `shop`.`person` p JOIN `shop`.`card` c ON c.number = \
         p.number ORDER BY p.id LIMIT 3 OFFSET {$1 plain}\n  outputs: name, number",
    );
    assert_plan(
        "UPDATE `person` SET name = \"x\\\\y\" WHERE number IN (1, 2)",
        "one: UPDATE `shop`.`person` SET name = {constant store name} WHERE number IN ({constant \
         match number}, {constant match number})",
    );
    assert_plan(
        "UPDATE person p SET p.number = ? WHERE p.id = 1",
        "one: UPDATE `shop`.`person` p SET number = {$1 store number} WHERE p.id = 1",
    );
    assert_plan(
        "DELETE FROM shop.person WHERE number = 3",
        "one: DELETE FROM `shop`.`person` WHERE number = {constant match number}",
    );
    assert_plan(
        "SELECT COUNT(*), COUNT(number) AS known FROM person",
        "one: SELECT COUNT(*), COUNT(number) AS known FROM `shop`.`person`",
    );
    assert_plan(
        "UPDATE person SET id = 0x4a WHERE id = x'4A' AND id <> ' _strongroom_text X''41''' AND \
         number = 3",
        "one: UPDATE `shop`.`person` SET id = 0x4a WHERE id = X'4A' AND id <> ' _strongroom_text \
         X''41''' AND number = {constant match number}",
    );
}

#[test]
fn what_is_read_in_other_ways_is_refused() {
    for (statement, reason) in [
        (
            "SELECT id FROM person WHERE number = 1 || id = 2",
            "operator",
        ),
        ("SELECT id FROM person WHERE id ^ 2 = 1", "operator"),
        ("SELECT id FROM person WHERE !id", "operator"),
        ("SELECT id /*!50000 , name */ FROM person", "comment"),
        ("SELECT id /*M! , name */ FROM person", "comment"),
        ("SELECT id FROM person WHERE id LIKE 1 = 2", "parentheses"),
        ("SELECT id 'x' FROM person", "text behind"),
        ("SELECT _latin1'x' FROM person", "text behind"),
        ("SELECT id FROM person; SELECT 1", "another statement"),
        ("SELECT count (id) FROM person", "blank"),
        ("SELECT id+1 FROM person", "has no name"),
        ("SELECT id+1 FROM person WHERE id + 1 > 2", "has no name"),
        ("SELECT id+1, (id + 1) FROM person", "has no name"),
        ("DELETE IGNORE FROM person", "key word"),
        ("REPLACE DELAYED person VALUES (1, 'x', 2)", "key word"),
        (
            "INSERT INTO person (id, name) SELECT id, note FROM plain ON DUPLICATE KEY UPDATE id = \
             2",
            "ON DUPLICATE",
        ),
        ("SELECT name INTO @v FROM person", "INTO"),
        ("SELECT @v := name FROM person", ":="),
        ("HANDLER person OPEN", "HANDLER"),
        ("SELECT id FROM person a JOIN card A ON 1 = 1", "case"),
        ("SELECT id FROM shown", ""),
        ("CALL writer()", ""),
        ("CALL caller()", ""),
        ("CALL hidden()", ""),
        ("PREPARE s FROM @x", "PREPARE"),
        ("EXECUTE IMMEDIATE concat('a', 'b')", "IMMEDIATE"),
        ("SELECT name FROM person ORDER BY name", "mode"),
        ("SELECT id FROM person WHERE name = 'x'", "mode random"),
        ("SELECT id FROM person WHERE number > 1", "mode"),
        (
            "INSERT INTO plain (note) VALUES ((SELECT name FROM person))",
            "",
        ),
        ("UPDATE person SET id = number", ""),
        ("UPDATE person SET number = number + 1", ""),
        ("CREATE TABLE other LIKE person", ""),
        ("CREATE TABLE other AS SELECT * FROM person", ""),
        ("RENAME TABLE plain TO person", ""),
        ("ALTER TABLE person MODIFY name VARCHAR(20)", ""),
        ("CREATE TEMPORARY TABLE person (id INT)", ""),
    ] {
        assert_refused(statement, reason);
    }
}

#[test]
fn a_comment_and_capitals_of_an_alias_change_nothing() {
    assert_plan(
        "/* set by app */ UPDATE person SET id = 1",
        "one: UPDATE `shop`.`person` SET id = 1",
    );
    assert_plan(
        "/* desc: a list */ DELETE P FROM person AS P JOIN plain AS q ON P.id = q.id",
        "one: DELETE P FROM `shop`.`person` AS P JOIN `shop`.`plain` AS q ON P.id = q.id",
    );
    assert_refused("/* x */ HANDLER person OPEN", "HANDLER");
    assert_refused("/*!50000 HANDLER */ person OPEN", "");
    assert_refused(
        "DELETE Q FROM person AS p JOIN plain AS r ON p.id = r.id",
        "alias",
    );
}

#[test]
fn a_file_is_loaded_by_digits_of_sealed_values() {
    assert_plan(
        "LOAD DATA LOW_PRIORITY LOCAL INFILE 'a''b.csv' REPLACE INTO TABLE person CHARACTER SET \
         utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n' \
         IGNORE 1 LINES (number, id) SET name = 'x';",
        "one: LOAD DATA low_priority LOCAL INFILE 'a''b.csv' replace INTO TABLE `shop`.`person` \
         CHARACTER SET utf8mb4 FIELDS TERMINATED BY x'09' ESCAPED BY x'5c' LINES TERMINATED BY \
         x'0a' (@strongroom_2, `id`) SET `number` = UNHEX(IF(@strongroom_2 = '!', \
         18446744073709551615 + LENGTH(@strongroom_2), @strongroom_2)), `name` = {constant store \
         name}",
    );
    for (statement, reason) in [
        (
            "LOAD DATA INFILE 'x' INTO TABLE person",
            "file of the server",
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE person LINES STARTING BY 'x'",
            "marks",
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE person (id, @n) SET name = @n",
            "marks",
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE person (id, id, name)",
            "twice",
        ),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE shown", "shown"),
        ("LOAD XML LOCAL INFILE 'x' INTO TABLE person", "XML"),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE person (id) SET name = 'x', number = 1",
            "without a field",
        ),
    ] {
        assert_refused(statement, reason);
    }
    for statement in [
        "LOAD DATA LOCAL INFILE 'person.csv' INTO TABLE plain SET note = 'person'",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE elsewhere (@a) SET n = @a + 1",
    ] {
        assert_plan(statement, "pass");
    }
}

#[test]
fn what_names_no_protected_table_passes() {
    for statement in [
        "SELECT * FROM plain WHERE note || id",
        "CALL harmless()",
        "SET sql_mode = ''",
        "CREATE TABLE elsewhere (id INT)",
    ] {
        assert_plan(statement, "pass");
    }
}

#[test]
fn quotes_are_read_as_the_mode_has_them() {
    let [_, ansi, _] = servers();
    let statement = "UPDATE \"person\" SET name = 'a\\' WHERE id = 1";
    assert_eq!(
        described(statement, ansi),
        "one: UPDATE `shop`.`person` SET name = {constant store name} WHERE id = 1"
    );
    assert!(
        described(statement, MARIADB).starts_with("refused"),
        "the text does not end"
    );
}

#[test]
fn tables_are_made_for_sealed_values() {
    assert_plan(
        "CREATE TABLE person (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, number BIGINT UNIQUE, \
         note TEXT DEFAULT 'x\\\\y') ENGINE=InnoDB",
        "one: CREATE TABLE person (id INT PRIMARY KEY, name VARBINARY(121) NOT NULL, number \
         VARBINARY(17) UNIQUE, note TEXT DEFAULT 'x\\\\y', CONSTRAINT `strongroom_person` CHECK \
         ((`name` IS NULL OR (LENGTH(`name`) >= 41 AND LEFT(`name`, 1) = X'9D')) AND (`number` IS \
         NULL OR (LENGTH(`number`) >= 17 AND LEFT(`number`, 1) = X'90')))) ENGINE = InnoDB",
    );
    for (statement, reason) in [
        (
            "CREATE TABLE person (id INT, name VARCHAR(21), number BIGINT)",
            "declared",
        ),
        ("CREATE TABLE person (id INT, name VARCHAR(20))", "number"),
        (
            "CREATE TABLE person (name VARCHAR(20) DEFAULT 'x', number BIGINT)",
            "another default",
        ),
        (
            "CREATE TABLE person (name VARCHAR(20) UNIQUE, number BIGINT)",
            "mode random",
        ),
        (
            "CREATE TABLE person (name VARCHAR(20), number BIGINT, KEY (name(3)))",
            "part",
        ),
        (
            "CREATE TABLE person (name VARCHAR(20), number BIGINT) ENGINE=MyISAM",
            "option",
        ),
        (
            "CREATE TABLE other (name VARCHAR(20), FOREIGN KEY (name) REFERENCES person (name))",
            "",
        ),
    ] {
        assert_refused(statement, reason);
    }
    assert_plan("DROP TABLE person", "pass");
    assert_plan("TRUNCATE TABLE person", "pass");
}

#[test]
fn rules_that_are_not_kept_are_told() {
    let text = "[columns.person]\na = { type = \"bigint\" }\n[columns.\"shop.t\"]\n\
                b = { type = \"uuid\" }\n\
                c = { type = \"varchar(3)\", mode = \"equality\" }\n";
    let rules = Rules::from_toml(text).expect("rules");
    let errors = check_rules(&rules);
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn modes_that_change_meanings_are_refused() {
    let own = MARIADB.with_mode("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION");
    assert_eq!(own, Ok(MARIADB));
    let [_, ansi, _] = servers();
    let own = MARIADB.with_mode("ANSI_QUOTES,NO_BACKSLASH_ESCAPES,strict_all_tables");
    assert_eq!(own, Ok(ansi));
    for mode in ["", "NO_ENGINE_SUBSTITUTION", "ANSI_QUOTES"] {
        assert_eq!(MARIADB.with_mode(mode), Err(ModeError::NotStrict), "{mode}");
    }
    for mode in [
        "ORACLE",
        "HIGH_NOT_PRECEDENCE",
        "EMPTY_STRING_IS_NULL",
        "NEW_ONE",
    ] {
        let all = format!("STRICT_ALL_TABLES,{mode}");
        assert_eq!(
            MARIADB.with_mode(&all),
            Err(ModeError::Unknown(mode.to_owned()))
        );
    }
}

#[test]
fn bytes_that_are_no_text_may_name_a_table() {
    let schema = people(MARIADB);
    for text in [
        &b"INSERT INTO PERSON VALUES ('\xe9')"[..],
        b"SELECT '\xe9' FROM /*!50000card*/",
        b"CALL writer('\xe9')",
        b"SELECT * FROM shown WHERE x = '\xe9'",
        b"EXECUTE IMMEDIATE concat('\xe9')",
        b"SELECT '\xe9', 'per\\son'",
    ] {
        assert!(may_name(text, &schema), "{text:?}");
    }
    assert!(!may_name(b"INSERT INTO plain VALUES (1, '\xe9')", &schema));
}

#[test]
fn statements_of_a_text_end_where_the_server_ends_them() {
    let text = "SELECT id FROM person WHERE number = 1 # a;b\n; SELECT ';\\';' ;\n\
                -- c;d\nSELECT `a;b` FROM plain /* ; */";
    let reports = explain::statements(text, &people(MARIADB));
    let texts: Vec<&str> = reports.iter().map(|report| report.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "SELECT id FROM person WHERE number = 1",
            "SELECT ';\\';'",
            "SELECT `a;b` FROM plain"
        ]
    );
    let hidden = "SELECT 1 /*! ; DROP TABLE plain */ ; SELECT 2";
    assert_eq!(
        explain::statements(hidden, &people(MARIADB)).len(),
        1,
        "not understood"
    );
}

/// The answers to `ASKED` with more rows, and why what they show is refused.
#[test]
fn what_reaches_protected_tables_is_found() {
    let said = |at: usize, row: Vec<Option<String>>, text: &str| {
        let mut answers = answers();
        answers[at].push(row);
        let schema = build(&rules(), &answers, MARIADB, Some("shop"));
        match plan(text, &schema) {
            Ok(planned) => describe(&planned[0].plan, &schema).trim_end().to_owned(),
            Err(refusal) => refusal.message,
        }
    };
    let insert = "INSERT INTO plain VALUES (1, 'x')";
    for (body, is_refused) in [
        ("SET NEW.id = 1", false),
        ("INSERT INTO card VALUES (NEW.id)", true),
        ("INSERT INTO /*!50000card*/ VALUES (NEW.id)", true),
        ("CALL writer()", true),
        ("PREPARE s FROM @x", true),
        ("", true),
    ] {
        let said = said(4, row(&["shop", "plain", body]), insert);
        assert_eq!(said.contains("has triggers"), is_refused, "{body}: {said}");
        assert_eq!(said == "pass", !is_refused, "{body}: {said}");
    }
    let writer = row(&["shop", "plain", "CALL writer()"]);
    for (text, passes) in [
        ("SELECT replace(note, 'a', 'b') AS x FROM plain;", true),
        ("SHOW CREATE TABLE plain", true),
        ("INSERT INTO plain VALUES (1, 'x')", false),
        ("WITH x AS (SELECT 1) UPDATE plain SET id = 1", false),
        ("SELECT 1; DELETE FROM PLAIN", false),
        ("SELECT 1 /*!; DELETE FROM plain */", false),
        ("SELECT 1 /*!50000; DELETE FROM /*!50000plain*/ */", false),
        ("LOAD DATA INFILE 'x' INTO TABLE `plain`", false),
    ] {
        let said = said(4, writer.clone(), text);
        assert_eq!(said == "pass", passes, "{text}: {said}");
        assert_eq!(said.contains("has triggers"), !passes, "{text}: {said}");
    }
    let own = said(
        4,
        row(&["shop", "card", "SET NEW.number = 1"]),
        "SELECT * FROM card",
    );
    assert!(own.contains("has triggers"), "{own}");
    let column = row(&["shop", "person", "x", "int(11)", "1", "0", "INVISIBLE"]);
    let invisible = said(1, column, "SELECT * FROM person");
    assert!(invisible.contains("invisible columns"), "{invisible}");
    let column = row(&["shop", "plain", "Big", "int(11)", "1", "0", ""]);
    let capital = said(1, column, "SELECT * FROM plain JOIN person ON 1 = 1");
    assert!(
        capital.contains("`plain`.`Big`, `person`.`id`"),
        "{capital}"
    );
}

/// The account has TRIGGER at these places, and sees triggers there.
#[test]
fn tables_whose_triggers_are_not_seen_are_closed() {
    let said = |grants: Vec<Vec<Option<String>>>, revokes: &str| {
        let mut answers = answers();
        answers[5] = grants;
        answers[6] = vec![row(&["partial_revokes", revokes])];
        let schema = build(&rules(), &answers, MARIADB, Some("shop"));
        match plan("INSERT INTO card VALUES (?)", &schema) {
            Ok(_) => "planned".to_owned(),
            Err(refusal) => refusal.message,
        }
    };
    for (grants, revokes, is_seen) in [
        (vec![row(&["%", "%"])], "OFF", true),
        (vec![row(&["%", "%"])], "ON", false),
        (vec![row(&["shop", "%"])], "ON", true),
        (vec![row(&["shop", "card"])], "OFF", true),
        (vec![row(&["shop", "person"])], "OFF", false),
        (vec![row(&["s%", "%"])], "OFF", false),
        (vec![], "OFF", false),
    ] {
        let said = said(grants.clone(), revokes);
        assert_eq!(said == "planned", is_seen, "{grants:?} {revokes}: {said}");
        assert_eq!(said.contains("does not see"), !is_seen, "{said}");
    }
}
