//! Which guards statements make, keep and refuse, and which checks of a server are guards.

use crate::dialect::postgres::parse::statements;
use crate::dialect::postgres::table_guard::tree::tests::EQUALITY;
use crate::dialect::postgres::table_guard::{GuardedColumn, TableGuard};
use crate::schema::{Answer, Guard, QUERIES};
use crate::{Plan, Rules, Schema};

const RULES: &str = r#"
[columns.people]
id = { type = "integer", mode = "equality" }
note = { type = "text" }
fee = { type = "integer" }
"#;

fn row(columns: &[&str]) -> Vec<Option<String>> {
    columns
        .iter()
        .map(|text| Some((*text).to_owned()))
        .collect()
}

fn rules() -> Rules {
    Rules::from_toml(RULES).expect("right rules")
}

/// A database with `people`, whose column `id` has a check.
fn answers(name: &str, stored: &str, is_valid: &str, holds: &str) -> Vec<Answer> {
    let mut answers: Vec<Answer> = vec![Vec::new(); QUERIES.len()];
    answers[0] = vec![row(&["public"])];
    let relation = ["10", "public", "people", "r", "false", "", "", "", "true"];
    answers[1] = vec![row(&relation)];
    let column = |number, name| row(&["10", number, name, "false", "false", "bytea"]);
    answers[2] = vec![column("1", "id"), column("2", "note")];
    answers[5] = vec![row(&[
        name, "c", "10", "1", "0", "", "77", stored, is_valid, holds,
    ])];
    answers
}

fn guard(columns: &[&str]) -> TableGuard {
    let rules = rules();
    let column = |name: &&str| {
        let rule = rules.column("public", "people", name).expect("a rule");
        let layout = crate::SealedForm::of(rule).layout(rule.logical, rule.mode);
        GuardedColumn::new(name, 1, layout)
    };
    TableGuard::new(columns.iter().map(column).collect()).expect("columns")
}

fn schema() -> Schema {
    Schema::build(
        &rules(),
        &answers(&guard(&["id"]).name(), EQUALITY, "true", "true"),
    )
    .expect("they fit")
}

fn sent_under(text: &str, schema: &Schema) -> String {
    let parsed = statements(text).expect("SQL that parses");
    match crate::ddl::plan(&parsed[0], schema) {
        Ok(Some(Plan::One(translated, _))) => translated.template.render(|_, _| panic!("a hole")),
        other => panic!("{text}\nbecomes {other:?}"),
    }
}

/// The text for the server, with the columns of its guard in place of that.
#[track_caller]
fn becomes(text: &str, expected: &str, columns: &[&str]) {
    let guard = guard(columns);
    let constraint = format!("CONSTRAINT {} CHECK ({})", guard.name(), guard.condition());
    assert_eq!(
        sent_under(text, &schema()).replace(&constraint, "GUARD"),
        expected
    );
}

#[test]
fn a_table_is_made_with_a_guard() {
    becomes(
        "CREATE TABLE people (id int PRIMARY KEY, note text, city text, CHECK (city <> ''))",
        "CREATE TABLE \"public\".people (id BYTEA PRIMARY KEY, note BYTEA, city TEXT, \
         CHECK (city <> ''), GUARD)",
        &["id", "note"],
    );
    becomes(
        "CREATE TABLE IF NOT EXISTS people (fee int)",
        "CREATE TABLE IF NOT EXISTS \"public\".people (fee BYTEA, GUARD)",
        &["fee"],
    );
    let mut rules = rules();
    rules.leaves_guards_out = true;
    let schema = Schema::build(&rules, &vec![Vec::new(); QUERIES.len()]).expect("nothing there");
    assert_eq!(
        sent_under("CREATE TABLE public.people (id int)", &schema),
        "CREATE TABLE public.people (id BYTEA)"
    );
}

#[test]
fn added_columns_and_remaining_columns_are_guarded() {
    becomes(
        "ALTER TABLE people ADD COLUMN fee int",
        "ALTER TABLE \"public\".people ADD COLUMN fee BYTEA, ADD GUARD NOT VALID",
        &["fee"],
    );
    // Another guard has it.
    assert_eq!(
        sent_under(
            "ALTER TABLE people ADD COLUMN IF NOT EXISTS id int",
            &schema()
        ),
        "ALTER TABLE \"public\".people ADD COLUMN IF NOT EXISTS id BYTEA"
    );
    let mut schema = schema();
    schema.guards[0].columns = vec!["id".to_owned(), "note".to_owned()];
    for leaves_guards_out in [false, true] {
        schema.leaves_guards_out = leaves_guards_out;
        let id = guard(&["id"]);
        assert_eq!(
            sent_under("ALTER TABLE people DROP COLUMN note", &schema),
            format!(
                "ALTER TABLE \"public\".people DROP COLUMN note, ADD CONSTRAINT {} CHECK ({}) NOT \
                 VALID",
                id.name(),
                id.condition()
            )
        );
    }
    assert_eq!(
        sent_under(
            "ALTER TABLE people DROP COLUMN note, DROP COLUMN id",
            &schema
        ),
        "ALTER TABLE \"public\".people DROP COLUMN note, DROP COLUMN id"
    );
}

#[test]
fn guards_of_earlier_statements_of_a_text_are_known() {
    let text = "CREATE TABLE people (id int, note text); ALTER TABLE people DROP COLUMN note";
    let schema = Schema::build(&rules(), &vec![Vec::new(); QUERIES.len()]).expect("nothing there");
    let schema = Schema {
        search_path: vec!["public".to_owned()],
        ..schema
    };
    let planned = crate::plan(text, &schema).expect("it can be done");
    let Plan::One(translated, _) = &planned[1].plan else {
        panic!("{:?}", planned[1]);
    };
    let sent = translated.template.render(|_, _| panic!("a hole"));
    assert!(sent.contains(&guard(&["id"]).name()), "{sent}");
}

/// A guard of members of a group is kept apart from others, which compare other members.
#[test]
fn members_that_are_added_have_a_guard_of_their_own() {
    let rules = Rules::from_toml(
        "[columns.people]\nid = { type = \"integer\", mode = \"equality\" }\n\
         note = { type = \"text\", group = \"g\" }\nfee = { type = \"integer\", group = \"g\" }\n\
         city = { type = \"text\", group = \"g\" }\n",
    );
    let mut answers = answers("other", "", "true", "true");
    answers[5].clear();
    answers[2].push(row(&["10", "3", "fee", "false", "false", "bytea"]));
    let mut schema = Schema::build(&rules.expect("right rules"), &answers).expect("they fit");
    let due = schema.guards_due();
    assert_eq!(due[0].columns, ["fee", "id", "note"]);
    let of_two =
        "byteacat\"(pg_catalog.\"substr\"(\"note\", 2, 1), \"fee\") OPERATOR(pg_catalog.>=)";
    assert!(due[0].add.as_ref().is_some_and(|add| add.contains(of_two)));

    let sent = sent_under("ALTER TABLE people ADD COLUMN city text", &schema);
    let empty = r#""city" OPERATOR(pg_catalog.<) E'\\x00'::pg_catalog.bytea"#;
    let members = r#"(pg_catalog."substr"("note", 2, 1), "city") OPERATOR(pg_catalog.>=) E'\\x03'"#;
    for part in [empty, members] {
        assert!(sent.contains(part), "{sent}");
    }
    assert!(!sent.contains("\"fee\""), "{sent}");
    schema.guards.push(Guard {
        oid: 77,
        relation: 10,
        schema: "public".to_owned(),
        table: "people".to_owned(),
        name: "strongroom_guard_1".to_owned(),
        columns: ["id", "note", "fee"].map(str::to_owned).to_vec(),
        is_valid: true,
    });
    let sent = sent_under(
        "ALTER TABLE people DROP COLUMN id, ADD COLUMN city text",
        &schema,
    );
    assert_eq!(sent.matches("ADD CONSTRAINT").count(), 2, "{sent}");
    assert!(sent.contains(of_two) && sent.contains(members), "{sent}");
    schema.leaves_guards_out = true;
    let parsed = statements("ALTER TABLE people ADD COLUMN city text").expect("SQL that parses");
    let refusal = crate::ddl::plan(&parsed[0], &schema).expect_err("without a guard");
    assert!(refusal.message.contains("older rules"), "{refusal:?}");
}

#[test]
fn names_of_guards_are_refused() {
    for text in [
        "ALTER TABLE people DROP CONSTRAINT strongroom_guard_1",
        "ALTER TABLE people DROP CONSTRAINT Strongroom_Guard",
        "ALTER TABLE people RENAME CONSTRAINT strongroom_guard TO other",
        "ALTER TABLE people RENAME CONSTRAINT other TO strongroom_guard",
        "ALTER TABLE people ADD CONSTRAINT strongroom_guard CHECK (true)",
        "ALTER TABLE people ADD CONSTRAINT strongroom_guard PRIMARY KEY (id)",
        "CREATE TABLE people (id int, CONSTRAINT strongroom_guard_x CHECK (true))",
        "CREATE TABLE people (id int CONSTRAINT strongroom_guard NOT NULL)",
    ] {
        let parsed = statements(text).expect(text);
        let refusal = crate::ddl::plan(&parsed[0], &schema()).expect_err(text);
        assert_eq!(refusal.sqlstate, "0A000");
        assert!(refusal.message.contains("name of a guard"), "{refusal:?}");
    }
}

#[test]
fn a_guard_is_recognised_by_name_and_condition() {
    let name = guard(&["id"]).name();
    let schema = schema();
    assert_eq!(schema.guards.len(), 1);
    assert!(schema.guards[0].is_valid);
    let unguarded: Vec<&str> = schema
        .unguarded_columns()
        .map(|own| own.column.as_str())
        .collect();
    assert_eq!(unguarded, ["note"]);
    let due = schema.guards_due();
    assert_eq!(due[0].columns, ["note"]);
    assert_eq!(due[0].validate.len(), 1);

    let young = Schema::build(&rules(), &answers(&name, EQUALITY, "false", "true"));
    let young = young.expect("it is one");
    assert!(!young.guards[0].is_valid);
    assert_eq!(young.guards_due()[0].validate.len(), 2);

    let other = EQUALITY.replace("-112 ]", "-111 ]");
    for (name, stored, holds) in [
        (name.as_str(), other.as_str(), "true"),
        (&name, EQUALITY, "false"),
        (&name, "", "true"),
        ("strongroom_guard", EQUALITY, "true"),
        ("strongroom_guard_00000000", EQUALITY, "true"),
    ] {
        let answers = answers(name, stored, "true", holds);
        let errors = Schema::build(&rules(), &answers).expect_err("it is no guard");
        let said = errors[0].to_string();
        assert!(said.contains("columns guard"), "{said}");
    }
}
