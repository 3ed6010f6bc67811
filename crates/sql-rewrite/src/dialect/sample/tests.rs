//! Shared code asks the dialect: statements are planned and verified in [`Dialect::Sample`].

use column_value::LogicalType;

use crate::{
    Column, ColumnId, Dialect, Mode, Plan, ProtectedColumn, RelationKind, Schema, Table, plan,
};

/// `PERSON(ID, MAIL, VISITS)`, where `MAIL` and `VISITS` are protected, and `ID` is the key.
fn people() -> Schema {
    let protected = |id, column: &str, logical, mode| ProtectedColumn {
        id: ColumnId(id),
        schema: "MAIN".to_owned(),
        table: "PERSON".to_owned(),
        column: column.to_owned(),
        logical,
        mode,
        domain: format!("column:MAIN.PERSON.{column}"),
        form: crate::SealedForm::default(),
        default: None,
        draws: None,
        not_null: false,
        checks: Default::default(),
    };
    let column = |(number, (name, protected)): (i16, (&str, Option<u32>))| Column {
        name: name.to_owned(),
        written: None,
        number,
        not_null: false,
        has_default: false,
        is_generated: false,
        protected: protected.map(ColumnId),
        physical: Some(LogicalType::Integer),
    };
    let columns = [("ID", None), ("MAIL", Some(0)), ("VISITS", Some(1))];
    let person = Table {
        schema: "MAIN".to_owned(),
        name: "PERSON".to_owned(),
        oid: 1,
        kind: RelationKind::Table,
        columns: (1..).zip(columns).map(column).collect(),
        unique_keys: vec![vec![0]],
        has_primary_key: true,
        opaque: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: crate::RowRules::default(),
    };
    let mut schema = Schema {
        dialect: Dialect::Sample,
        search_path: vec!["MAIN".to_owned()],
        protected: vec![
            protected(0, "MAIL", LogicalType::Text, Mode::Equality),
            protected(1, "VISITS", LogicalType::Integer, Mode::Random),
        ],
        ..Schema::default()
    };
    let name = (person.schema.clone(), person.name.clone());
    schema.tables.insert(name, person);
    schema
}

/// Plans a statement, and compares the plan as lines.
#[track_caller]
fn assert_plan(statement: &str, expected: &str) {
    let schema = people();
    let described = match plan(statement, &schema) {
        Ok(planned) => crate::describe(&planned[0].plan, &schema),
        Err(refusal) => format!("refused: {}", refusal.message),
    };
    assert_eq!(described.trim_end(), expected, "{statement}");
}

#[test]
fn names_parameters_and_quotes_are_those_of_the_dialect() {
    assert_plan(
        "select id, mail from person where mail = ? and id > ?",
        "one: SELECT id, mail FROM `MAIN`.`PERSON` WHERE mail = {$1 match MAIL} AND id > {$2 \
         plain}\n  outputs: -, MAIL",
    );
    assert_plan(
        "select p.* from Person p where p.mail = 'a@example.com'",
        "one: SELECT `P`.`ID`, `P`.`MAIL`, `P`.`VISITS` FROM `MAIN`.`PERSON` p WHERE p.mail = \
         {constant match MAIL}\n  outputs: -, MAIL, VISITS",
    );
    assert_plan(
        "insert into person (id, mail, visits) values (?, ?, 1)",
        "one: INSERT INTO `MAIN`.`PERSON` (id, mail, visits) VALUES ({$1 plain}, {$2 store MAIL}, \
         {constant store VISITS})",
    );
    assert_plan(
        "delete from person where mail in (?, ?) and id = ?",
        "one: DELETE FROM `MAIN`.`PERSON` WHERE mail IN ({$1 match MAIL}, {$2 match MAIL}) AND id \
         = {$3 plain}",
    );
}

#[test]
fn a_quoted_name_in_small_letters_is_another_name() {
    assert_plan(
        "select `person`.id from `person`",
        "refused: relation \"person\" does not exist",
    );
    assert_plan(
        "select `MAIL` from `PERSON`",
        "one: SELECT `MAIL` FROM `MAIN`.`PERSON`\n  outputs: MAIL",
    );
}

#[test]
fn rows_are_found_again_by_the_locator_of_the_dialect() {
    assert_plan(
        "update person set visits = visits + 1 where id = ?",
        "read: SELECT `PERSON`.ROW_KEY, visits FROM `MAIN`.`PERSON` WHERE id = {$1 plain} FOR \
         UPDATE\n  outputs: -, VISITS\ncompute: VISITS = (#1 + constant::integer)\nwrite: UPDATE \
         `MAIN`.`PERSON` SET visits = {computed 0 store VISITS} WHERE `PERSON`.ROW_KEY = {locator \
         0 plain}\nwrite by key: UPDATE `MAIN`.`PERSON` SET visits = {computed 0 store VISITS} \
         WHERE id = {$1 plain}\n  locks: PERSON by (ID), reads ()",
    );
    assert_plan(
        "select row_key from person",
        "one: SELECT row_key FROM `MAIN`.`PERSON`",
    );
}

#[test]
fn a_column_without_a_name_is_called_as_the_dialect_says() {
    assert_plan(
        "select min(mail) from person",
        "fetch: SELECT array_agg(mail) FROM `MAIN`.`PERSON`\n  outputs: Minimum of MAIL\nproject: \
         EXPRESSION = #0",
    );
    assert_plan(
        "select x.expression, x.mail from (select 1 + 1, mail from person) x",
        "one: SELECT x.expression, x.mail FROM (SELECT 1 + 1 AS `EXPRESSION`, mail FROM \
         `MAIN`.`PERSON`) x\n  outputs: -, MAIL",
    );
}

#[test]
fn the_server_is_given_holes_of_the_dialect() {
    let planned = plan("select mail from person where mail = ?", &people());
    let planned = planned.expect("a plan");
    let Plan::One(translated, _) = &planned[0].plan else {
        panic!("the server answers it");
    };
    assert_eq!(
        Dialect::Sample.with_parameters(&translated.template),
        "SELECT mail FROM `MAIN`.`PERSON` WHERE mail = ?1"
    );
}

#[test]
fn a_leak_is_refused_in_every_dialect() {
    for statement in [
        "insert into person (id) select mail from person",
        "update person set id = mail",
    ] {
        let refused = plan(statement, &people()).expect_err(statement);
        let message = "protected column PERSON.MAIL would be stored in a column that is not \
                       protected";
        assert!(refused.message.ends_with(message), "{}", refused.message);
    }
}
