//! Relations in rewritten statements are qualified, so that the search path of the server does not
//! matter.

use super::{Plan, Refusal, Schema, schema};

fn sent(text: &str, schema: &Schema) -> Result<String, Refusal> {
    let mut planned = crate::plan(text, schema)?;
    match planned.pop().expect("one statement").plan {
        Plan::One(translated, _) => Ok(translated.template.render(|_, _| panic!("no hole"))),
        other => panic!("{text}\nbecomes {other:?}"),
    }
}

/// Unqualified names of new relations go into `app`.
fn behind_app() -> Schema {
    let mut schema = schema();
    schema.search_path.insert(0, "app".to_owned());
    schema
}

#[test]
fn relations_in_a_rewritten_statement_are_qualified() {
    let foreign_key = "FOREIGN KEY (id) REFERENCES";
    for (text, expected) in [
        (
            "CREATE TABLE IF NOT EXISTS later (secret text)",
            "CREATE TABLE IF NOT EXISTS app.later (secret BYTEA)",
        ),
        (
            "CREATE TABLE public.visits (person int REFERENCES people, \
             FOREIGN KEY (person) REFERENCES people (id))",
            "CREATE TABLE public.visits (person BYTEA REFERENCES \"public\".people, \
             FOREIGN KEY (person) REFERENCES \"public\".people(id))",
        ),
        (
            "CREATE TABLE kid () INHERITS (plain, people)",
            "CREATE TABLE app.kid () INHERITS (\"public\".plain, \"public\".people)",
        ),
        (
            "CREATE TABLE kid PARTITION OF people DEFAULT",
            "CREATE TABLE app.kid PARTITION OF \"public\".people DEFAULT",
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT people.name, a FROM people, plain",
            "CREATE OR REPLACE VIEW app.v AS SELECT people.name, a \
             FROM \"public\".people, \"public\".plain",
        ),
        (
            "CREATE VIEW public.v AS SELECT name FROM ONLY people",
            "CREATE VIEW public.v AS SELECT name FROM ONLY \"public\".people",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT name FROM people WITH NO DATA",
            "CREATE MATERIALIZED VIEW app.v AS SELECT name FROM \"public\".people WITH NO DATA",
        ),
        (
            "CREATE POLICY p ON people USING (city = current_user)",
            "CREATE POLICY p ON \"public\".people USING (city = current_user)",
        ),
        (
            &format!("ALTER TABLE people ADD {foreign_key} people (id)"),
            &format!("ALTER TABLE \"public\".people ADD {foreign_key} \"public\".people(id)"),
        ),
        (
            "ALTER TABLE people ADD COLUMN boss int REFERENCES plain (a)",
            "ALTER TABLE \"public\".people ADD COLUMN boss INT REFERENCES \"public\".plain (a)",
        ),
    ] {
        assert_eq!(sent(text, &behind_app()).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_foreign_key_means_the_table_that_the_search_path_finds() {
    // `app` is not on the search path: `visits` is the one in `public`, which has rules.
    let text = "CREATE TABLE app.visits (person int REFERENCES visits (person))";
    let refusal = sent(text, &schema()).expect_err(text);
    assert!(
        refusal.message.contains("a protected column"),
        "{refusal:?}"
    );
    // Before `public` on it, the new table is found first.
    let text = "CREATE TABLE later (secret text, a int PRIMARY KEY, b int REFERENCES later)";
    assert_eq!(
        sent(text, &behind_app()).as_deref(),
        Ok(
            "CREATE TABLE app.later (secret BYTEA, a INT PRIMARY KEY, b INT REFERENCES \
            app.later)"
        )
    );
}
