//! Schema, DDL and catalogue queries against a PostgreSQL server: the schema is built from its
//! answers, and it accepts the rewritten texts.
#![cfg(unix)]

use postgres::{Client, SimpleQueryMessage};
use sql_plan::{Plan, Rules};
use sql_rewrite::{ASKED, Dialect, Schema, SchemaError, answers_of, catalogue, ddl};

mod changed;
mod clients;
mod shadows;
mod text_search;
mod tpcc;

/// Rows as text.
type Rows = Vec<Vec<Option<String>>>;

fn ask(client: &mut Client, text: &str) -> Rows {
    let answer = client
        .simple_query(text)
        .unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    answer
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let column = |at| row.get(at).map(str::to_owned);
                Some((0..row.len()).map(column).collect())
            }
            _ => None,
        })
        .collect()
}

fn build(client: &mut Client, rules: &Rules) -> Result<Schema, Vec<SchemaError>> {
    ask(client, "BEGIN");
    let answers = ASKED.iter().map(|query| ask(client, query)).collect();
    ask(client, "COMMIT");
    Schema::build(rules, &answers_of(answers))
}

fn rules(text: &str) -> Rules {
    Rules::from_toml(text).expect("right rules")
}

/// The text that goes to the server for a statement of DDL.
fn for_server(text: &str, schema: &Schema) -> String {
    let statements = Dialect::Postgres.statements(text).expect("SQL that parses");
    match ddl::plan(&statements[0], schema) {
        Ok(Some(Plan::Pass(_))) => text.to_owned(),
        Ok(Some(Plan::One(translated, _))) => translated.template.render(|_, _| {}),
        other => panic!("{text}\n{other:?}"),
    }
}

/// Runs statements of DDL, each planned over the schema as it then is.
fn run(client: &mut Client, rules: &Rules, statements: &[&str]) -> Schema {
    for text in statements {
        let schema = build(client, rules).expect("rules and server fit");
        ask(client, &for_server(text, &schema));
    }
    build(client, rules).expect("rules and server fit")
}

/// The text that goes to the server for a query on catalogues.
fn shown(text: &str, schema: &Schema) -> String {
    match catalogue::plan(text, schema) {
        Some(Plan::Pass(_)) => text.to_owned(),
        Some(Plan::One(translated, _)) => translated
            .template
            .render(|hole, out| out.push_str(&format!("${}", hole + 1))),
        other => panic!("{text}\nis no query on catalogues: {other:?}"),
    }
}

fn problems(client: &mut Client, rules: &Rules) -> Vec<String> {
    let errors = build(client, rules).err().unwrap_or_default();
    errors.iter().map(SchemaError::to_string).collect()
}

#[track_caller]
fn assert_problem(client: &mut Client, rules: &Rules, part: &str) {
    let problems = problems(client, rules);
    assert!(
        problems.iter().any(|problem| problem.contains(part)),
        "{part}: {problems:#?}"
    );
}

const PEOPLE: &str = r#"
[columns.people]
id = { type = "integer", mode = "equality", domain = "person" }
name = { type = "varchar(40)", mode = "equality" }
note = { type = "text" }
"#;

const TABLES: &[&str] = &[
    "CREATE TABLE people (id int PRIMARY KEY, name varchar(40) NOT NULL, note text, city text)",
    "CREATE TABLE plain (a int, b text)",
];

#[test]
fn rules_apply_to_tables_views_and_partitions() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    let schema = build(&mut client, &rules).expect("an empty server fits");
    assert_eq!(schema.find(None, "people").expect("it has rules").oid, 0);
    run(&mut client, &rules, TABLES);
    let schema = run(
        &mut client,
        &rules,
        &[
            "CREATE VIEW named AS SELECT name AS title, p.city, upper(p.city) AS big FROM people p",
            "CREATE VIEW of_view AS SELECT title FROM named WHERE city = 'x'",
            "CREATE VIEW joined AS SELECT p.id, q.city FROM people p JOIN people q ON p.id = q.id",
            "CREATE VIEW counted AS SELECT count(*) AS n FROM people",
        ],
    );
    let people = schema.find(None, "people").expect("it is there");
    assert!(people.oid != 0);
    assert_eq!(people.unique_keys, [vec![0]]);
    let protected = |table: &str| -> Vec<(String, Option<String>)> {
        let table = schema.find(None, table).expect("it is there");
        assert!(!table.opaque, "{}", table.name);
        let name = |id| schema.column(id).column.clone();
        let columns = table.columns.iter();
        columns
            .map(|column| (column.name.clone(), column.protected.map(name)))
            .collect()
    };
    let pair = |name: &str, of: Option<&str>| (name.to_owned(), of.map(str::to_owned));
    assert_eq!(
        protected("people"),
        [
            pair("id", Some("id")),
            pair("name", Some("name")),
            pair("note", Some("note")),
            pair("city", None)
        ]
    );
    assert_eq!(
        protected("named"),
        [
            pair("title", Some("name")),
            pair("city", None),
            pair("big", None)
        ]
    );
    assert_eq!(protected("of_view"), [pair("title", Some("name"))]);
    assert_eq!(
        protected("joined"),
        [pair("id", Some("id")), pair("city", None)]
    );
    assert_eq!(protected("counted"), [pair("n", None)]);
    assert!(schema.protected[1].not_null && !schema.protected[2].not_null);
}

#[test]
fn views_that_compute_from_protected_columns_are_opaque() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    run(&mut client, &rules, TABLES);
    // Views that the server was given directly.
    for (name, query) in [
        (
            "upper_name",
            "SELECT upper(encode(name, 'hex')) FROM people",
        ),
        ("whole", "SELECT city, people FROM people"),
        ("counted_rows", "SELECT count(people.*) FROM people"),
        (
            "sub",
            "SELECT 1 AS x FROM plain WHERE EXISTS (SELECT FROM people WHERE note <> '')",
        ),
        (
            "over",
            "SELECT row_number() OVER (ORDER BY name) FROM people",
        ),
        (
            "set",
            "SELECT name FROM people UNION SELECT note FROM people",
        ),
    ] {
        ask(&mut client, &format!("CREATE VIEW {name} AS {query}"));
        let schema = build(&mut client, &rules).expect("views are no error");
        assert!(
            schema.find(None, name).expect("it is there").opaque,
            "{name}"
        );
    }
}

#[test]
fn partitions_are_protected_as_their_parent_is() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    let schema = run(
        &mut client,
        &rules,
        &[
            "CREATE TABLE people (id int PRIMARY KEY, name varchar(40), note text, city text) \
             PARTITION BY HASH (id)",
            "CREATE TABLE people_0 PARTITION OF people FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
            "CREATE TABLE people_1 PARTITION OF people FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ],
    );
    for name in ["people", "people_0", "people_1"] {
        let table = schema.find(None, name).expect("it is there");
        let ids: Vec<_> = table
            .columns
            .iter()
            .filter_map(|column| column.protected)
            .collect();
        assert_eq!(ids.len(), 3, "{name}");
        assert_eq!(schema.column(ids[0]).table, "people");
        assert_eq!(table.unique_keys, [vec![0]], "{name}");
    }
    let with_child = format!("{PEOPLE}\n[columns.people_1]\nnote = {{ type = \"text\" }}");
    assert_problem(&mut client, &self::rules(&with_child), "a rule of its own");
}

#[test]
fn a_parent_without_the_rule_of_its_child_is_reported() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    ask(
        &mut client,
        "CREATE TABLE above (id bytea, note bytea); CREATE TABLE between () INHERITS (above); \
         CREATE TABLE people (name bytea) INHERITS (between)",
    );
    let rules = rules(PEOPLE);
    let part = "public.people.note: is written through public.above too";
    assert_problem(&mut client, &rules, part);
    let with_parent = PEOPLE.replace("[columns.people]", "[columns.above]");
    let with_parent = self::rules(&with_parent.replace("name", "title"));
    let schema = build(&mut client, &with_parent).expect("the rule of the parent is the child's");
    assert!(
        schema
            .find(None, "people")
            .expect("it is there")
            .is_protected()
    );
}

#[test]
fn objects_that_would_use_ciphertext_are_reported() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    let table = "CREATE TABLE people (id bytea PRIMARY KEY, name bytea, note bytea, city text)";
    for (statement, part) in [
        (
            "ALTER TABLE people ALTER name TYPE text USING ''",
            "is text in the server, not bytea",
        ),
        (
            "ALTER TABLE people ALTER note SET DEFAULT '\\x00'",
            "has a default in the server",
        ),
        (
            "ALTER TABLE people ADD CHECK (length(name) > 3)",
            "would check ciphertext",
        ),
        ("CREATE UNIQUE INDEX u ON people (note)", "unique index u"),
        (
            "ALTER TABLE people ADD size int GENERATED ALWAYS AS (length(note)) STORED",
            "a generated column",
        ),
        (
            "CREATE POLICY p ON people USING (name <> '')",
            "row-level security",
        ),
        (
            "CREATE TABLE child (p bytea REFERENCES people (id))",
            "it refers to a protected column",
        ),
    ] {
        ask(
            &mut client,
            "DROP TABLE IF EXISTS people CASCADE; DROP TABLE IF EXISTS child",
        );
        ask(&mut client, table);
        assert_eq!(problems(&mut client, &rules), Vec::<String>::new());
        ask(&mut client, statement);
        assert_problem(&mut client, &rules, part);
    }
    ask(&mut client, "DROP TABLE people CASCADE; DROP TABLE child");
    ask(
        &mut client,
        "CREATE TABLE people (id bytea, name bytea) PARTITION BY RANGE (id)",
    );
    assert_problem(&mut client, &rules, "PARTITION BY HASH");
    ask(
        &mut client,
        "DROP TABLE people; CREATE VIEW people AS SELECT ''::bytea AS name",
    );
    assert_problem(&mut client, &rules, "only tables can be protected");
}

#[test]
fn functions_and_triggers_on_protected_tables_are_known() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules(PEOPLE);
    run(&mut client, &rules, TABLES);
    for statement in [
        "CREATE FUNCTION direct() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM people'",
        "CREATE FUNCTION calls() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN direct(); END'",
        "CREATE FUNCTION runs(t text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE t; END'",
        "CREATE FUNCTION harmless() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM plain'",
        "CREATE FUNCTION atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC; \
         SELECT count(*) FROM people; END",
        "CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER t BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION fires()",
        "CREATE RULE r AS ON DELETE TO plain DO INSTEAD NOTHING",
    ] {
        ask(&mut client, statement);
    }
    let schema = build(&mut client, &rules).expect("rules and server fit");
    assert_eq!(
        schema.suspect_functions,
        ["atomic", "calls", "direct", "runs"]
    );
    assert!(
        schema
            .find(None, "people")
            .expect("it is there")
            .has_triggers
    );
    assert!(
        schema
            .find(None, "plain")
            .expect("it is there")
            .has_triggers
    );
}

#[test]
fn the_search_path_says_which_table_is_meant() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let rules = rules("[columns.\"app.people\"]\nname = { type = \"text\" }");
    ask(
        &mut client,
        "CREATE SCHEMA app; CREATE TABLE public.people (name text)",
    );
    ask(
        &mut client,
        "CREATE TABLE app.people (name bytea); SET search_path = app, public",
    );
    let schema = build(&mut client, &rules).expect("rules and server fit");
    assert_eq!(schema.search_path, ["app", "public"]);
    assert!(
        schema
            .find(None, "people")
            .expect("it is there")
            .is_protected()
    );
    assert!(
        !schema
            .find(Some("public"), "people")
            .expect("it is there")
            .is_protected()
    );
}
