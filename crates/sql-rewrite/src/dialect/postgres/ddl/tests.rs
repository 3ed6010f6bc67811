//! Which statements that change the schema are rewritten, and which are refused.

use crate::dialect::postgres::parse::statements;
use crate::schema::{Answer, QUERIES};
use crate::{Effects, Plan, Refusal, Rules, Schema};

mod drawn;
mod indexes;
mod refusals;
mod schemas;

const RULES: &str = r#"
[columns.people]
id = { type = "integer", mode = "equality", domain = "person" }
name = { type = "varchar(40)", mode = "equality" }
note = { type = "text" }
born = { type = "date", mode = "order" }
fee = { type = "numeric(6,2)", default = "0" }
since = { type = "timestamp", default = "CURRENT_TIMESTAMP" }
badge = { type = "integer", mode = "equality" }
chief = { type = "integer", mode = "equality", domain = "person" }

[columns.visits]
person = { type = "integer", mode = "equality", domain = "person" }
doctor = { type = "integer", mode = "equality", domain = "doctor" }
reason = { type = "text" }

[columns."app.later"]
secret = { type = "text" }
"#;

/// A database that has `people` (with a plain column `city`), a plain table, and a function. Guards
/// have tests of their own.
fn schema() -> Schema {
    let mut rules = Rules::from_toml(RULES).expect("right rules");
    rules.leaves_guards_out = true;
    Schema::build(&rules, &answers()).expect("rules and answers fit")
}

fn row(columns: &[&str]) -> Vec<Option<String>> {
    let value = |text: &&str| (*text != "-").then(|| (*text).to_owned());
    columns.iter().map(value).collect()
}

fn answers() -> Vec<Answer> {
    let mut answers: Vec<Answer> = vec![Vec::new(); QUERIES.len()];
    answers[0] = vec![row(&["public"])];
    answers[1] = vec![
        row(&["10", "public", "people", "r", "false", "-", "-", "-"]),
        row(&["11", "public", "plain", "r", "false", "-", "-", "-"]),
    ];
    let column = |table, number, name, kind| row(&[table, number, name, "false", "false", kind]);
    answers[2] = vec![
        column("10", "1", "id", "bytea"),
        column("10", "2", "name", "bytea"),
        column("10", "3", "note", "bytea"),
        column("10", "4", "born", "bytea"),
        column("10", "5", "since", "bytea"),
        column("10", "6", "city", "text"),
        column("11", "1", "a", "integer"),
        column("11", "2", "b", "text"),
    ];
    answers[3] = vec![row(&[
        "20",
        "people_pkey",
        "10",
        "1",
        "1",
        "true",
        "true",
        "true",
    ])];
    answers[7] = vec![row(&[
        "count_people",
        "CREATE FUNCTION … SELECT count(*) FROM people",
    ])];
    answers
}

fn planned(text: &str) -> Result<Option<Plan>, Refusal> {
    let text = crate::dialect::postgres::forms::for_parser(text);
    let statements = statements(&text).expect("SQL that parses");
    super::plan(&statements[0], &schema())
}

/// The text for the server of a statement that is written anew.
#[track_caller]
fn becomes(text: &str, expected: &str) {
    match planned(text) {
        Ok(Some(Plan::One(translated, effects))) => {
            assert!(effects.changes_schema, "{text}");
            let rendered = translated.template.render(|_, _| panic!("no hole in DDL"));
            assert_eq!(rendered, expected);
        }
        other => panic!("{text}\nbecomes {other:?}"),
    }
}

#[track_caller]
fn passes(text: &str) {
    match planned(text) {
        Ok(Some(Plan::Pass(_))) => {}
        other => panic!("{text}\ndoes not pass: {other:?}"),
    }
}

#[track_caller]
fn refused(text: &str, part: &str) {
    match planned(text) {
        Err(refusal) => {
            let message = format!("{} {:?}", refusal.message, refusal.hint);
            assert!(message.contains(part), "{text}\n{message}");
        }
        other => panic!("{text}\nis not refused: {other:?}"),
    }
}

#[test]
fn protected_columns_become_bytea_and_keep_their_keys() {
    becomes(
        "CREATE TABLE people (id int PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, note text, \
         born date, since timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, city text DEFAULT 'x')",
        "CREATE TABLE \"public\".people (id BYTEA PRIMARY KEY, name BYTEA NOT NULL UNIQUE, \
         note BYTEA, born BYTEA, since BYTEA NOT NULL, city TEXT DEFAULT 'x')",
    );
    becomes(
        "CREATE TABLE IF NOT EXISTS public.visits (person int REFERENCES people (id) ON DELETE \
         CASCADE, at timestamp DEFAULT now(), reason text DEFAULT NULL, UNIQUE (person, at))",
        "CREATE TABLE IF NOT EXISTS public.visits (person BYTEA \
         REFERENCES \"public\".people (id) ON DELETE CASCADE, at TIMESTAMP DEFAULT now(), \
         reason BYTEA, UNIQUE (person, at))",
    );
}

#[test]
fn type_names_of_dumps_are_understood() {
    for kind in [
        "character varying(40)",
        "varchar(40)",
        "pg_catalog.varchar(40)",
    ] {
        assert!(
            planned(&format!("CREATE TABLE people (name {kind})")).is_ok(),
            "{kind}"
        );
    }
    for kind in ["timestamp", "timestamp without time zone"] {
        assert!(
            planned(&format!("CREATE TABLE people (since {kind})")).is_ok(),
            "{kind}"
        );
    }
    // The catalogue tells them apart, though both have six digits.
    assert!(planned("CREATE TABLE people (since timestamp(6))").is_err());
    for kind in ["int", "integer", "int4"] {
        assert!(
            planned(&format!("CREATE TABLE people (id {kind})")).is_ok(),
            "{kind}"
        );
    }
}

#[test]
fn a_dump_is_restored() {
    becomes(
        "CREATE TABLE public.people (\n    id integer NOT NULL,\n    name character varying(40) \
         DEFAULT NULL::character varying,\n    note text,\n    since timestamp without time zone \
         DEFAULT CURRENT_TIMESTAMP NOT NULL,\n    city text DEFAULT 'x'::text\n)",
        "CREATE TABLE public.people (id BYTEA NOT NULL, name BYTEA, note BYTEA, \
         since BYTEA NOT NULL, city TEXT DEFAULT 'x'::TEXT)",
    );
    becomes(
        "ALTER TABLE ONLY public.people ADD CONSTRAINT people_pkey PRIMARY KEY (id)",
        "ALTER TABLE ONLY public.people ADD CONSTRAINT people_pkey PRIMARY KEY (id)",
    );
    becomes(
        "CREATE INDEX by_name ON public.people USING btree (name, note)",
        "CREATE INDEX by_name ON public.people USING BTREE (name)",
    );
    becomes(
        "ALTER TABLE public.people OWNER TO postgres",
        "ALTER TABLE public.people OWNER TO postgres",
    );
}

#[test]
fn another_type_than_that_of_the_rule_is_refused() {
    for kind in [
        "varchar(41)",
        "text",
        "char(40)",
        "bytea",
        "serial",
        "varchar(40)[]",
    ] {
        refused(
            &format!("CREATE TABLE people (name {kind})"),
            "the rule says",
        );
    }
    refused("CREATE TABLE people (since timestamp(3))", "the rule says");
    refused("CREATE TABLE people (id serial)", "come from a sequence");
}

#[test]
fn no_default_reaches_the_server() {
    refused(
        "CREATE TABLE people (note text DEFAULT 'hunter2')",
        "not that of its rule",
    );
    refused(
        "CREATE TABLE people (since timestamp DEFAULT '2020-01-01')",
        "not that of its rule",
    );
    refused(
        "ALTER TABLE people ALTER note SET DEFAULT 'hunter2'",
        "not that of its rule",
    );
    becomes(
        "CREATE TABLE people (since timestamp DEFAULT now(), note text DEFAULT NULL::text, \
         fee decimal(6,2) DEFAULT '0.00'::numeric)",
        "CREATE TABLE \"public\".people (since BYTEA, note BYTEA, fee BYTEA)",
    );
    let refusal = planned("CREATE TABLE people (note text DEFAULT 'hunter2')").expect_err("above");
    assert!(!format!("{refusal:?}").contains("hunter2"));
}

#[test]
fn random_columns_cannot_be_keys() {
    refused("CREATE TABLE people (note text UNIQUE)", "mode \"random\"");
    refused(
        "CREATE TABLE people (id int, note text, PRIMARY KEY (id, note))",
        "mode \"random\"",
    );
    refused(
        "ALTER TABLE people ADD CONSTRAINT k UNIQUE (note)",
        "mode \"random\"",
    );
    refused(
        "CREATE UNIQUE INDEX i ON people (id, note)",
        "mode \"random\"",
    );
}

#[test]
fn foreign_keys_need_one_domain() {
    refused(
        "CREATE TABLE visits (doctor int REFERENCES people (id))",
        "same `domain`",
    );
    refused(
        "CREATE TABLE visits (doctor int REFERENCES people)",
        "same `domain`",
    );
    refused(
        "CREATE TABLE visits (person int REFERENCES plain (a))",
        "is not protected",
    );
    refused(
        "CREATE TABLE other (p int REFERENCES people (id))",
        "refers to a protected column",
    );
    refused(
        "CREATE TABLE other (p int REFERENCES people)",
        "refers to a protected column",
    );
    refused(
        "ALTER TABLE plain ADD FOREIGN KEY (a) REFERENCES people (id)",
        "protected column",
    );
    refused(
        "CREATE TABLE visits (person int REFERENCES people ON DELETE SET DEFAULT)",
        "SET DEFAULT",
    );
    passes("CREATE TABLE other (p int REFERENCES plain (a))");
}

#[test]
fn a_foreign_key_may_refer_to_its_own_table() {
    becomes(
        "CREATE TABLE visits (person int PRIMARY KEY REFERENCES visits (person))",
        "CREATE TABLE \"public\".visits (person BYTEA PRIMARY KEY \
         REFERENCES \"public\".visits (person))",
    );
    refused(
        "CREATE TABLE visits (person int PRIMARY KEY, doctor int REFERENCES visits)",
        "same `domain`",
    );
}

#[test]
fn checks_do_not_look_at_ciphertext() {
    refused(
        "CREATE TABLE people (id int CHECK (id > 0))",
        "its rule does not have the check people_id_check",
    );
    refused(
        "CREATE TABLE people (id int, CHECK (people.id > 0))",
        "write the column alone",
    );
    refused(
        "CREATE TABLE people (name varchar(40), CHECK (length(name) > 3))",
        "its rule does not have the check people_name_check",
    );
    refused(
        "CREATE TABLE people (id int, name varchar(40), CHECK (length(name) > id))",
        "compute on ciphertext",
    );
    refused(
        "CREATE TABLE people (name varchar(40), CHECK (people IS NOT NULL))",
        "ciphertext",
    );
    refused(
        "CREATE TABLE people (id int, twice int GENERATED ALWAYS AS (id * 2) STORED)",
        "ciphertext",
    );
    // The reader of the catalogues would take them for checks of ciphertext.
    refused(
        "CREATE TABLE people (id int, city text, CHECK (city <> '' AND id IS NOT NULL))",
        "compute on ciphertext",
    );
    refused(
        "CREATE TABLE people (id int, named boolean GENERATED ALWAYS AS (id IS NULL) STORED)",
        "compute on ciphertext",
    );
    refused(
        "CREATE POLICY p ON people USING (id IS NOT NULL)",
        "sees ciphertext",
    );
    becomes(
        "CREATE TABLE people (id int NOT NULL, city text, CHECK (city <> ''))",
        "CREATE TABLE \"public\".people (id BYTEA NOT NULL, city TEXT, CHECK (city <> ''))",
    );
}

#[test]
fn generated_values_of_protected_columns_are_refused() {
    refused(
        "CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY)",
        "come from a sequence",
    );
    refused(
        "CREATE TABLE people (name varchar(40) COLLATE \"C\")",
        "no collation",
    );
    refused(
        "ALTER TABLE people ALTER id ADD GENERATED ALWAYS AS IDENTITY",
        "must not know",
    );
}

#[test]
fn names_in_associated_data_cannot_be_changed() {
    refused("ALTER TABLE people RENAME TO persons", "could not be read");
    refused(
        "ALTER TABLE people RENAME COLUMN name TO title",
        "could not be read",
    );
    refused(
        "ALTER TABLE people RENAME COLUMN city TO name",
        "could not be read",
    );
    refused(
        "ALTER TABLE plain RENAME TO visits",
        "protected table visits",
    );
    refused(
        "ALTER TABLE people RENAME TO visits",
        "protected table visits",
    );
    refused("ALTER TABLE people ALTER name TYPE text", "cannot convert");
    becomes(
        "ALTER TABLE people RENAME COLUMN city TO town",
        "ALTER TABLE \"public\".people RENAME COLUMN city TO town",
    );
}

#[test]
fn columns_are_added_and_dropped() {
    becomes(
        "ALTER TABLE people DROP COLUMN note, ADD COLUMN street text",
        "ALTER TABLE \"public\".people DROP COLUMN note, ADD COLUMN street TEXT",
    );
    becomes(
        "ALTER TABLE people ADD COLUMN IF NOT EXISTS note text NOT NULL",
        "ALTER TABLE \"public\".people ADD COLUMN IF NOT EXISTS note BYTEA NOT NULL",
    );
    refused(
        "ALTER TABLE people ADD COLUMN note text DEFAULT 'hunter2'",
        "not that of its rule",
    );
    becomes(
        "ALTER TABLE people ALTER COLUMN name SET NOT NULL",
        "ALTER TABLE \"public\".people ALTER COLUMN name SET NOT NULL",
    );
    passes("ALTER TABLE plain ADD COLUMN c text DEFAULT 'x'");
    passes("DROP TABLE people");
    passes("TRUNCATE people");
}

#[test]
fn a_column_is_added_with_its_key() {
    becomes(
        "ALTER TABLE people ADD COLUMN badge int CONSTRAINT own UNIQUE",
        "ALTER TABLE \"public\".people ADD COLUMN badge BYTEA CONSTRAINT own UNIQUE",
    );
    becomes(
        "ALTER TABLE people ADD badge int PRIMARY KEY",
        "ALTER TABLE \"public\".people ADD badge BYTEA PRIMARY KEY",
    );
    becomes(
        "ALTER TABLE people ADD COLUMN chief int REFERENCES people (id) ON DELETE SET NULL",
        "ALTER TABLE \"public\".people ADD COLUMN chief BYTEA REFERENCES \"public\".people (id) \
         ON DELETE SET NULL",
    );
    becomes(
        "ALTER TABLE people ADD COLUMN chief int UNIQUE REFERENCES people",
        "ALTER TABLE \"public\".people ADD COLUMN chief BYTEA UNIQUE \
         REFERENCES \"public\".people",
    );
    refused(
        "ALTER TABLE people ADD COLUMN fee numeric(6,2) UNIQUE",
        "a key needs equality",
    );
    refused(
        "ALTER TABLE people ADD COLUMN badge int REFERENCES people (id)",
        "foreign key to people",
    );
    refused(
        "ALTER TABLE people ADD COLUMN chief int REFERENCES plain (a)",
        "foreign key to plain",
    );
}

#[test]
fn a_column_is_added_without_what_the_server_cannot_seal() {
    refused(
        "ALTER TABLE people ADD COLUMN fee numeric(6,2) DEFAULT 0",
        "without DEFAULT",
    );
    refused(
        "ALTER TABLE people ADD fee numeric(6,2) DEFAULT '0'::numeric NULL",
        "for the rows that are there",
    );
    // Rows that are there make the server refuse it.
    becomes(
        "ALTER TABLE people ADD COLUMN fee numeric(6,2) DEFAULT 0 NOT NULL",
        "ALTER TABLE \"public\".people ADD COLUMN fee BYTEA NOT NULL",
    );
    becomes(
        "ALTER TABLE people ADD COLUMN fee numeric(6,2)",
        "ALTER TABLE \"public\".people ADD COLUMN fee BYTEA",
    );
    becomes(
        "ALTER TABLE people ADD COLUMN reason text, ADD COLUMN street text DEFAULT 'x'",
        "ALTER TABLE \"public\".people ADD COLUMN reason TEXT, ADD COLUMN street TEXT DEFAULT 'x'",
    );
}

#[test]
fn a_plain_column_is_not_computed_from_ciphertext() {
    refused(
        "ALTER TABLE people ALTER COLUMN city TYPE text USING name::text",
        "USING over protected columns",
    );
    refused(
        "ALTER TABLE people ALTER city SET DATA TYPE bytea USING people.note",
        "compute on ciphertext",
    );
    refused(
        "ALTER TABLE people ALTER COLUMN city TYPE text USING people::text",
        "compute on ciphertext",
    );
    refused(
        "ALTER TABLE plain ALTER a TYPE bigint USING count_people()",
        "its ciphertext",
    );
    refused(
        "ALTER TABLE plain ALTER a SET DEFAULT count_people()",
        "its ciphertext",
    );
    refused(
        "CREATE TABLE other (a int DEFAULT count_people())",
        "its ciphertext",
    );
    becomes(
        "ALTER TABLE people ALTER COLUMN city TYPE varchar(9) USING upper(city)",
        "ALTER TABLE \"public\".people ALTER COLUMN city TYPE VARCHAR(9) USING upper(city)",
    );
    becomes(
        "ALTER TABLE people ALTER COLUMN city SET DEFAULT 'x'",
        "ALTER TABLE \"public\".people ALTER COLUMN city SET DEFAULT 'x'",
    );
    passes("ALTER TABLE plain ALTER a TYPE bigint USING a + 1");
}

#[test]
fn views_show_protected_columns_and_compute_nothing() {
    for query in [
        "SELECT id, name AS title, city FROM people",
        "SELECT p.name FROM people AS p JOIN people AS q ON p.id = q.id WHERE q.city = 'x'",
        "SELECT DISTINCT name FROM people WHERE note IS NOT NULL",
        "SELECT name, count(*) FROM people GROUP BY name",
    ] {
        let own = query.replace(" people", " \"public\".people");
        let own = format!("CREATE VIEW \"public\".v AS {own}");
        becomes(&format!("CREATE VIEW v AS {query}"), &own);
    }
    for query in [
        "SELECT upper(name) FROM people",
        "SELECT people FROM people",
        "SELECT count(people.*) FROM people",
        "SELECT * FROM people",
        "SELECT city FROM people WHERE name = 'hunter2'",
        "SELECT city FROM people ORDER BY name",
        "SELECT DISTINCT note FROM people",
        "SELECT city FROM people WHERE id IN (SELECT a FROM plain)",
        "SELECT city FROM people UNION SELECT b FROM plain",
        "SELECT p.city FROM people p JOIN plain ON plain.a = p.id",
        "SELECT count_people()",
        "WITH w AS (SELECT name FROM people) SELECT name FROM w",
    ] {
        refused(&format!("CREATE VIEW v AS {query}"), "a view may select");
    }
    refused(
        "CREATE TEMPORARY VIEW v AS SELECT name FROM people",
        "one connection only",
    );
    passes("CREATE VIEW v AS SELECT upper(b) FROM plain");
}

#[test]
fn copies_of_protected_tables_are_refused() {
    refused(
        "CREATE TABLE copy AS SELECT * FROM people",
        "where no rule is",
    );
    refused(
        "CREATE MATERIALIZED VIEW copy AS SELECT upper(name) FROM people",
        "a view may",
    );
    refused("CREATE TABLE people AS SELECT 1 AS id", "CREATE TABLE … AS");
    refused("CREATE TABLE copy (LIKE people)", "a pattern for LIKE");
    refused("CREATE TEMPORARY TABLE people (id int)", "temporary");
    refused("CREATE TABLE pg_temp.people (id int)", "temporary");
    for text in [
        "CREATE TEMP TABLE kid () INHERITS (people)",
        "CREATE TABLE pg_temp.kid () INHERITS (plain, people)",
        "CREATE TEMP TABLE kid PARTITION OF people DEFAULT",
    ] {
        refused(text, "in clear");
    }
    passes("CREATE TEMP TABLE kid () INHERITS (plain)");
    passes("CREATE TABLE copy AS SELECT * FROM plain");
}

#[test]
fn partitions_by_ciphertext_are_by_hash() {
    refused(
        "CREATE TABLE people (id int, born date) PARTITION BY RANGE (born)",
        "partition",
    );
    refused(
        "CREATE TABLE people (id int, note text) PARTITION BY HASH (note)",
        "partition",
    );
    becomes(
        "CREATE TABLE people (id int) PARTITION BY HASH (id)",
        "CREATE TABLE \"public\".people (id BYTEA) PARTITION BY HASH(id)",
    );
    becomes(
        "CREATE TABLE people (id int, city text) PARTITION BY LIST (city)",
        "CREATE TABLE \"public\".people (id BYTEA, city TEXT) PARTITION BY LIST(city)",
    );
}

#[test]
fn queries_are_no_ddl_and_comments_pass() {
    for text in [
        "SELECT 1",
        "INSERT INTO people VALUES (1)",
        "BEGIN",
        "SET search_path = app",
    ] {
        assert_eq!(planned(text), Ok(None), "{text}");
    }
    for text in [
        "COMMENT ON TABLE people IS 'x'",
        "GRANT SELECT ON people TO public",
    ] {
        passes(text);
    }
    assert_eq!(
        planned("TRUNCATE people"),
        Ok(Some(Plan::Pass(Effects {
            forgets_locks: true,
            ..Effects::default()
        })))
    );
}
