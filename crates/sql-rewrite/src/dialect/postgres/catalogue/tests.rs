//! Which texts are queries on catalogues, and how they are rewritten.

use crate::schema::{Answer, QUERIES};
use crate::{Effects, Plan, Rules, Schema};

fn schema() -> Schema {
    let rules = Rules::from_toml(
        "[columns.people]\nname = { type = \"varchar(40)\", mode = \"equality\" }\n\
         fee = { type = \"numeric(6,2)\", default = \"17.25\" }",
    )
    .expect("right rules");
    let row = |columns: &[&str]| {
        columns
            .iter()
            .map(|text| Some((*text).to_owned()))
            .collect()
    };
    let mut answers: Vec<Answer> = vec![Vec::new(); QUERIES.len()];
    answers[0] = vec![row(&["public"])];
    answers[1] = vec![row(&["10", "public", "people", "r", "false"])];
    answers[2] = vec![
        row(&["10", "1", "name", "false", "false", "bytea"]),
        row(&["10", "2", "fee", "false", "false", "bytea"]),
    ];
    answers[3] = vec![row(&["20", "i", "10", "1", "1", "false", "true"])];
    answers[8] = vec![
        row(&["columns", "table_name"]),
        row(&["columns", "data_type"]),
        row(&["pg_attribute", "attname"]),
        row(&["pg_attribute", "atttypid"]),
    ];
    Schema::build(&rules, &answers).expect("rules and answers fit")
}

/// The text for the server, with `[n]` for each parameter.
fn shown(text: &str) -> Option<String> {
    match super::plan(text, &schema())? {
        Plan::Pass(effects) => {
            assert_eq!(effects, Effects::default());
            Some(text.to_owned())
        }
        Plan::One(translated, _) => Some(translated.template.render(|hole, out| {
            out.push_str(&format!("[{hole}]"));
        })),
        other => panic!("{text}\nbecomes {other:?}"),
    }
}

/// The text with what stands for a catalogue cut out of it.
#[track_caller]
fn becomes(text: &str, expected: &str) {
    let shown = shown(text).unwrap_or_else(|| panic!("{text}\nis no query on catalogues"));
    let attributes = super::shown::attributes(&schema()).expect("columns are protected");
    let columns = super::shown::columns(&schema()).expect("columns are protected");
    let short = shown
        .replace(&attributes, "ATTRIBUTES")
        .replace(&columns, "COLUMNS");
    assert_eq!(short, expected);
}

#[test]
fn catalogues_in_from_are_replaced() {
    for (text, expected) in [
        (
            "SELECT attname FROM pg_attribute",
            "SELECT attname FROM (ATTRIBUTES) AS pg_attribute",
        ),
        (
            "select a.attname from pg_catalog.pg_attribute a where a.attnum > 0",
            "select a.attname from (ATTRIBUTES) a where a.attnum > 0",
        ),
        (
            "SELECT 1 FROM pg_class c, PG_CATALOG.PG_ATTRIBUTE AS a WHERE c.oid = a.attrelid;",
            "SELECT 1 FROM pg_class c, (ATTRIBUTES) AS a WHERE c.oid = a.attrelid;",
        ),
        (
            "SELECT pg_attribute.attname FROM pg_class JOIN pg_attribute ON true",
            "SELECT pg_attribute.attname FROM pg_class JOIN (ATTRIBUTES) AS pg_attribute ON true",
        ),
        (
            "SELECT pg_catalog.pg_attribute.attname, pg_catalog . \"pg_attribute\".* FROM \
             pg_catalog.pg_class JOIN pg_catalog.pg_attribute ON \
             pg_catalog.pg_class.oid = pg_catalog.pg_attribute.attrelid",
            "SELECT pg_attribute.attname, \"pg_attribute\".* FROM \
             pg_catalog.pg_class JOIN (ATTRIBUTES) AS pg_attribute ON \
             pg_catalog.pg_class.oid = pg_attribute.attrelid",
        ),
        (
            "SELECT information_schema.columns.data_type FROM information_schema.columns",
            "SELECT columns.data_type FROM (COLUMNS) AS columns",
        ),
        (
            "SELECT 1 FROM (pg_class c LEFT JOIN \"pg_attribute\" a ON c.oid = a.attrelid)",
            "SELECT 1 FROM (pg_class c LEFT JOIN (ATTRIBUTES) a ON c.oid = a.attrelid)",
        ),
        (
            "SELECT (SELECT count(*) FROM pg_attribute WHERE true) FROM pg_class",
            "SELECT (SELECT count(*) FROM (ATTRIBUTES) AS pg_attribute WHERE true) FROM pg_class",
        ),
        (
            "SELECT 1 FROM unnest('{1}'::int2[]) WITH ORDINALITY cols(colid, arridx) \
             JOIN pg_attribute AS ca ON cols.colid = ca.attnum",
            "SELECT 1 FROM unnest('{1}'::int2[]) WITH ORDINALITY cols(colid, arridx) \
             JOIN (ATTRIBUTES) AS ca ON cols.colid = ca.attnum",
        ),
        (
            "SELECT * FROM information_schema.columns WHERE table_name = 'people'",
            "SELECT * FROM (COLUMNS) AS columns WHERE table_name = 'people'",
        ),
        (
            "SELECT 1 FROM pg_attribute WHERE attname = $2 AND attrelid = $1",
            "SELECT 1 FROM (ATTRIBUTES) AS pg_attribute WHERE attname = [0] AND attrelid = [1]",
        ),
        (
            "WITH c AS (SELECT * FROM pg_attribute) SELECT 1 FROM c -- pg_attribute",
            "WITH c AS (SELECT * FROM (ATTRIBUTES) AS pg_attribute) SELECT 1 FROM c \
             -- pg_attribute",
        ),
    ] {
        becomes(text, expected);
    }
}

#[test]
fn other_uses_of_a_catalogue_name_are_kept() {
    for text in [
        "SELECT 'pg_attribute'::pg_catalog.regclass",
        "SELECT oid FROM pg_class WHERE relname = 'pg_attribute'",
        "SELECT pg_attribute FROM pg_class pg_attribute",
        "SELECT 1 FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(people)$' \
         COLLATE pg_catalog.default",
    ] {
        becomes(text, text);
    }
}

#[test]
fn texts_that_may_touch_protected_tables_are_no_catalogue_queries() {
    for text in [
        "SELECT name FROM people, pg_class",
        "SELECT name FROM \"people\", pg_class",
        "SELECT 1 FROM pg_class WHERE EXISTS (SELECT 1 FROM public.people)",
        "INSERT INTO log SELECT relname FROM pg_class",
        "WITH w AS (DELETE FROM log RETURNING 1) SELECT * FROM w, pg_class",
        "SELECT * INTO copy FROM pg_class",
        "SELECT query_to_xml('SELECT * FROM people WHERE name = ''hunter2''', true, true, '') \
         FROM pg_class",
        "SELECT run('SELECT * FROM people') FROM pg_class",
        "SELECT * FROM dblink('SELECT * FROM people') FROM pg_class",
        "SELECT pg_read_file('people') FROM pg_class",
        "SELECT 1 FROM U&\"peopl\\0065\", pg_class",
        "SELECT $$people$$ FROM pg_class",
        "SELECT 1 FROM pg_class; DELETE FROM log",
        "SELECT 1",
        "UPDATE pg_attribute SET attname = 'x'",
    ] {
        assert_eq!(super::plan(text, &schema()), None, "{text}");
    }
}

#[test]
fn no_default_is_shown_to_the_server() {
    let columns = super::shown::columns(&schema()).expect("columns are protected");
    assert!(!columns.contains("17.25"), "{columns}");
}

#[test]
fn columns_of_indexes_are_shown_too() {
    let attributes = super::shown::attributes(&schema()).expect("columns are protected");
    assert!(
        attributes.contains("(20::pg_catalog.oid, 1::pg_catalog.int2"),
        "{attributes}"
    );
}

/// The same with two guards of `people`.
fn guarded() -> Schema {
    let mut schema = schema();
    for (oid, name) in [(31, "strongroom_guard_1"), (30, "strongroom_guard_2")] {
        schema.guards.push(crate::Guard {
            oid,
            relation: 10,
            schema: "public".to_owned(),
            table: "people".to_owned(),
            name: name.to_owned(),
            columns: vec!["name".to_owned()],
            is_valid: true,
        });
    }
    let columns = ["oid", "relname", "relchecks"];
    schema.catalogue.class_columns = columns.map(str::to_owned).to_vec();
    schema
}

#[test]
fn guards_are_hidden() {
    let shown = |text: &str| match super::plan(text, &guarded()) {
        Some(Plan::One(translated, _)) => translated.template.render(|_, _| panic!("no hole")),
        Some(Plan::Pass(_)) => text.to_owned(),
        other => panic!("{text}\nbecomes {other:?}"),
    };
    assert_eq!(
        shown("SELECT c.tableoid, conname FROM pg_catalog.pg_constraint c WHERE contype = 'c'"),
        "SELECT c.tableoid, conname FROM (SELECT c.tableoid, c.* FROM pg_catalog.pg_constraint \
         AS c WHERE c.oid <> ALL ('{30,31}'::pg_catalog.oid[])) c WHERE contype = 'c'"
    );
    assert_eq!(
        shown("SELECT pg_catalog.pg_class.relchecks FROM pg_catalog.pg_class"),
        "SELECT pg_class.relchecks FROM (SELECT c.\"oid\", c.\"relname\", \
         (c.relchecks - COALESCE(m.guards, 0))::pg_catalog.int2 AS relchecks FROM \
         pg_catalog.pg_class AS c LEFT JOIN (VALUES (10::pg_catalog.oid, 2)) AS m (relid, guards) \
         ON m.relid = c.oid) AS pg_class"
    );
    let names = shown("SELECT constraint_name FROM information_schema.check_constraints");
    assert!(
        names.contains("('public', 'strongroom_guard_1')"),
        "{names}"
    );
    for text in [
        "SELECT oid FROM pg_class WHERE relname = 'x'",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM information_schema.key_column_usage",
        "SELECT pg_catalog.pg_get_constraintdef(1)",
    ] {
        assert_eq!(shown(text), text);
    }
    // Without guards all stay.
    becomes(
        "SELECT * FROM pg_constraint, pg_class, information_schema.table_constraints",
        "SELECT * FROM pg_constraint, pg_class, information_schema.table_constraints",
    );
}
