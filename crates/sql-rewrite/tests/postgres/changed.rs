//! A schema of which only what a statement names was read again is the one that is read as a whole.

use postgres::Client;
use sql_plan::{Plan, Rules};
use sql_rewrite::{
    ASKED_OF_CHANGED, CatalogueFacts, Schema, SeenColumns, changed_of, names_text, plan,
};

use super::{ask, build, rules};

const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality", domain = "person" }
name = { type = "text", default = "'x'" }
[columns.visit]
person = { type = "integer", mode = "equality", domain = "person" }
note = { type = "text" }
late = { type = "date", mode = "order" }
"#;

/// Statements, and whether what they name is enough.
const STATEMENTS: &[(bool, &str)] = &[
    (
        true,
        "CREATE TABLE plain (id integer PRIMARY KEY, a text COLLATE \"C\", name text)",
    ),
    (true, "CREATE UNIQUE INDEX ON plain (a)"),
    // The first table with rules may give functions another meaning.
    (
        false,
        "CREATE TABLE person (id integer PRIMARY KEY, name text, city text)",
    ),
    (
        true,
        "CREATE TABLE visit (person integer REFERENCES person, note text, n integer)",
    ),
    (true, "CREATE INDEX ON visit (person, n)"),
    (true, "ALTER TABLE visit ADD COLUMN late date"),
    (
        true,
        "ALTER TABLE person ALTER city SET NOT NULL, ALTER name SET NOT NULL",
    ),
    (
        true,
        "ALTER TABLE plain ADD COLUMN more numeric(5,2) DEFAULT 1",
    ),
    (true, "ALTER TABLE visit ADD CHECK (n > 0)"),
    (
        true,
        "CREATE TABLE \"Odd \"\"name\" (id bigserial, at date GENERATED ALWAYS AS (NULL) STORED)",
    ),
    (
        true,
        "CREATE TABLE parts (id integer, at date) PARTITION BY RANGE (at)",
    ),
    (false, "CREATE TABLE part PARTITION OF parts DEFAULT"),
    (false, "CREATE VIEW shown AS SELECT id, name FROM person"),
    (false, "ALTER TABLE person ADD COLUMN age integer"),
    (false, "CREATE TABLE child () INHERITS (visit)"),
    (false, "DROP TABLE plain"),
    (true, "CREATE TABLE plain (id integer)"),
    (false, "ALTER TABLE plain RENAME TO other"),
];

/// What was read again on top of a schema; None: that is not enough.
fn changed(
    client: &mut Client,
    before: &Schema,
    rules: &Rules,
    names: &[String],
) -> Option<Schema> {
    let names = names.iter().map(String::as_str);
    let list = names_text(names.clone()).replace('\'', "''");
    ask(client, "BEGIN");
    let asked = ASKED_OF_CHANGED.iter().map(|query| {
        let query = query.replace("$1", &format!("'{list}'"));
        ask(client, &query)
    });
    let answers = changed_of(asked.collect());
    ask(client, "COMMIT");
    before.with_changed(rules, names, &answers?, &SeenColumns::new())
}

#[track_caller]
fn assert_same(own: &Schema, whole: &Schema, text: &str) {
    assert_eq!(*own.tables, *whole.tables, "{text}");
    assert_eq!(own.protected, whole.protected, "{text}");
    assert_eq!(own.suspect_functions, whole.suspect_functions, "{text}");
    assert_eq!(own.hidden_defaults, whole.hidden_defaults, "{text}");
    let sorted = |schema: &Schema| {
        let mut facts = CatalogueFacts::clone(&schema.catalogue);
        facts.index_columns.sort_unstable();
        let mut guards: Vec<String> = schema.guards.iter().map(|one| format!("{one:?}")).collect();
        guards.sort_unstable();
        (facts, guards)
    };
    assert_eq!(sorted(own), sorted(whole), "{text}");
}

#[test]
fn what_a_statement_names_is_enough_to_know_what_it_changed() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(RULES);
    ask(
        &mut client,
        "CREATE FUNCTION runs() RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE ''x''; END'",
    );
    let mut before = build(&mut client, &rules).expect("rules and server fit");
    for (is_enough, text) in STATEMENTS {
        let planned = plan(text, &before).expect(text);
        let only = planned[0].plan.effects().changes_only.clone();
        let sent = match &planned[0].plan {
            Plan::One(translated, _) => translated.template.render(|_, _| {}),
            _ => (*text).to_owned(),
        };
        ask(&mut client, &sent);
        let whole = build(&mut client, &rules).expect("rules and server fit");
        let own = only.and_then(|names| changed(&mut client, &before, &rules, &names));
        assert_eq!(own.is_some(), *is_enough, "{text}");
        if let Some(own) = own {
            assert_same(&own, &whole, text);
        }
        before = whole;
    }
    // What is gone, or was made anew under the same name, is not overlooked.
    ask(
        &mut client,
        "DROP TABLE visit CASCADE; CREATE TABLE visit (note bytea)",
    );
    assert!(changed(&mut client, &before, &rules, &["visit".to_owned()]).is_none());
    ask(&mut client, "DROP TABLE visit");
    assert!(changed(&mut client, &before, &rules, &["visit".to_owned()]).is_none());
}
