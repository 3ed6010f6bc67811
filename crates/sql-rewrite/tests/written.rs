//! What a statement writes: through views, from queries and joins, and by values in `FROM`.

use crate::common::{assert_refused, assert_starts, describe, people};
use column_value::LogicalType;
use sql_plan::{Plan, Refusal};
use sql_rewrite::{Objects, plan, plan_with};

/// `visits` has a default.
#[test]
fn inserts_through_a_view_that_hides_a_default_are_refused() {
    let schema = people();
    let view = "CREATE VIEW v AS SELECT active FROM person";
    for text in [
        format!("{view}; INSERT INTO v (active) VALUES (1)"),
        format!("{view}; CREATE VIEW w AS SELECT active FROM v; INSERT INTO w VALUES (1)"),
        "CREATE VIEW v AS SELECT id FROM person; INSERT INTO v VALUES (1)".to_owned(),
    ] {
        let refusal = plan(&text, &schema).expect_err(&text);
        assert!(refusal.message.contains("does not show it"), "{refusal}");
    }
    for text in [
        "MERGE INTO v USING plain ON false WHEN NOT MATCHED THEN INSERT VALUES (1)",
        "CREATE TEMPORARY VIEW w AS SELECT active FROM v",
        "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'INSERT INTO v VALUES (1)'",
        "DO $$ BEGIN INSERT INTO v VALUES (1); END $$",
    ] {
        let text = format!("{view}; {text}");
        plan(&text, &schema).expect_err(&text);
    }
    for text in ["UPDATE v SET active = 2", "DELETE FROM v"] {
        let text = format!("{view}; {text}");
        plan(&text, &schema).expect(&text);
    }
    // No row comes through a join.
    let text = "CREATE VIEW v AS SELECT p.active FROM person p JOIN visit ON person_id = p.id; \
                SELECT active FROM v";
    let planned = plan(text, &schema).expect("two plans");
    assert!(matches!(planned[1].plan, Plan::Pass(_)), "{planned:?}");
}

#[test]
fn insert_without_a_column_list_fills_the_first_columns() {
    for (source, columns) in [
        (
            "SELECT visit_id, person_id FROM visit UNION ALL SELECT visit_id, person_id FROM visit",
            "visit_id, person_id",
        ),
        (
            "(SELECT visit_id, person_id FROM visit)",
            "visit_id, person_id",
        ),
        ("((SELECT visit_id FROM visit))", "visit_id"),
        ("VALUES (1, 2)", "visit_id, person_id"),
    ] {
        assert_starts(
            &format!("INSERT INTO visit {source}"),
            &format!("one: INSERT INTO \"public\".visit ({columns}) "),
        );
    }
    // How many there are, nobody knows.
    assert_starts(
        "INSERT INTO plain SELECT u.* FROM unknown u, (SELECT count(*) FROM person) c",
        "one: INSERT INTO \"public\".\"plain\" SELECT u.* FROM ",
    );
    assert_starts(
        "INSERT INTO person (SELECT id FROM person)",
        "one: INSERT INTO \"public\".person (\"id\", visits) (SELECT id, {constant store visits} ",
    );
}

#[test]
fn a_join_merges_values_of_one_type() {
    let mut schema = people();
    let own = "(SELECT id AS person_id FROM person) p";
    let joins = [
        format!("SELECT person_id FROM {own} RIGHT JOIN visit USING (person_id)"),
        format!("SELECT person_id FROM {own} NATURAL FULL JOIN visit"),
        format!("SELECT note FROM {own} JOIN visit USING (person_id)"),
        "CREATE VIEW v AS SELECT person_id FROM visit FULL JOIN other USING (person_id)".to_owned(),
    ];
    let mut other = schema.tables[&("public".to_owned(), "person".to_owned())].clone();
    other.name = "other".to_owned();
    other.columns.truncate(1);
    other.columns[0].name = "person_id".to_owned();
    let name = ("public".to_owned(), "other".to_owned());
    schema.tables.insert(name, other);
    for statement in &joins {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("one:"), "{statement}\n{plan}");
    }
    let mut columns = schema.protected.iter_mut();
    let person_id = columns.find(|own| own.column == "person_id");
    person_id.expect("a column").logical = LogicalType::BigInt;
    for statement in &joins {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("refused 0A000"), "{statement}\n{plan}");
    }
    let by_name = format!("SELECT v.note FROM {own} JOIN visit v ON p.person_id = v.person_id");
    for statement in [
        by_name.as_str(),
        "CREATE VIEW v AS SELECT visit.person_id FROM visit JOIN other USING (person_id)",
    ] {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("one:"), "{statement}\n{plan}");
    }
}

#[test]
fn values_in_from_are_sealed_for_the_columns_that_they_go_to() {
    let plan = describe(
        "INSERT INTO person (name, salary, visits, active) \
         SELECT p0::VARCHAR, p1::NUMERIC(10, 2), p2::INTEGER, p3::INTEGER \
         FROM (VALUES ($1::VARCHAR, $2, $3::INTEGER, $4::INTEGER, 0), \
         ($5::VARCHAR, $6, $7::INTEGER, $8::INTEGER, 1)) \
         AS imp_sen(p0, p1, p2, p3, sen_counter) ORDER BY sen_counter \
         RETURNING person.active, person.active AS active__1",
        &people(),
    );
    for part in [
        "SELECT p0, p1, p2, p3::INTEGER FROM (VALUES ({$1 store name}, {$2 store salary}, ",
        "{$3 store visits}, {$4 plain}::INTEGER, 0), ({$5 store name}, {$6 store salary}, ",
        "ORDER BY sen_counter RETURNING",
    ] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
    for source in [
        "SELECT p0::VARCHAR(5) FROM (VALUES ($1, 0)) v(p0, n)",
        "SELECT upper(p0) FROM (VALUES ($1, 0)) v(p0, n)",
        "SELECT p0 FROM (VALUES ($1, 0)) v(p0, n) WHERE p0 <> ''",
        "SELECT p0 FROM (VALUES ($1, 0)) v(p0, n) ORDER BY p0",
        "SELECT p0 FROM (VALUES ($1, 0)) v(p0, n) ORDER BY 1",
        "SELECT DISTINCT p0 FROM (VALUES ($1, 0)) v(p0, n)",
        "SELECT v.* FROM (VALUES ($1)) v(p0)",
        "SELECT p0 FROM (VALUES ($1, $2)) v(p0, p1)",
        "SELECT p0 FROM (VALUES ($1), ('x')) v(p0)",
        "SELECT p0 FROM (VALUES (1), ('x')) v(p0)",
        "SELECT p0 FROM (VALUES ($1::VARCHAR), ($2)) v(p0)",
        "SELECT p0 FROM (VALUES (upper('x'))) v(p0)",
        "SELECT p0 FROM (VALUES (DEFAULT)) v(p0)",
        "SELECT p0 FROM (VALUES ($1) LIMIT 1) v(p0)",
    ] {
        assert_refused(&format!("INSERT INTO person (name) {source}"));
    }
    assert_refused("INSERT INTO person (name, mail) SELECT p0, p0 FROM (VALUES ($1)) v(p0)");
}

/// The server computes an argument once, and no column is in sight of it.
#[test]
fn arguments_of_execute_are_not_computed() {
    let schema = people();
    let mut objects = Objects::default().including(std::iter::empty());
    let mut run = |text: &str| {
        let mut planned = plan_with(text, &schema, &objects)?;
        let plan = planned.remove(0).plan;
        if let Plan::Pass(effects) | Plan::One(_, effects) = &plan {
            objects.note(effects);
        }
        Ok::<_, Refusal>(plan)
    };
    run("PREPARE find AS SELECT name FROM person WHERE mail = $1 AND active > $2").expect("a plan");
    for argument in ["nextval('s')", "active::int", "1 + random()"] {
        let refusal = run(&format!("EXECUTE find ('x', {argument})")).expect_err(argument);
        assert!(refusal.message.contains("computed"), "{refusal}");
    }
    for argument in ["-5", "'5'::oid", "(NULL)", "CURRENT_USER"] {
        let plan = run(&format!("EXECUTE find ('x', {argument})")).expect(argument);
        assert!(matches!(plan, Plan::One(..)), "{plan:?}");
    }
}
