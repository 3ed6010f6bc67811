//! Names that may be those of a protected table without being found as one, and statements that
//! name none.

use crate::common::{assert_plan, assert_refused, assert_starts, describe, people, plan_one};
use sql_plan::{Plan, Refusal};
use sql_rewrite::{RelationKind, Schema, plan};

fn refusal(text: &str, schema: &Schema) -> Refusal {
    match plan(text, schema) {
        Err(refusal) => refusal,
        Ok(planned) => panic!("{text}\n{planned:?}"),
    }
}

fn assert_passes(statement: &str, schema: &Schema) {
    let planned = plan(statement, schema);
    let planned = planned.unwrap_or_else(|refusal| panic!("{statement}\n{refusal:?}"));
    let mut plans = planned.iter().map(|one| &one.plan);
    assert!(
        plans.all(|plan| matches!(plan, Plan::Pass(_))),
        "{statement}"
    );
}

#[test]
fn only_is_a_relation_without_its_children() {
    for (statement, expected) in [
        (
            "SELECT name FROM ONLY person",
            "one: SELECT name FROM ONLY \"public\".person",
        ),
        (
            "SELECT p.name FROM ONLY ( public . person ) p WHERE mail = 'x'",
            "one: SELECT p.name FROM ONLY \"public\".person p WHERE mail = {constant match mail}",
        ),
        (
            "UPDATE ONLY person SET name = 'x'",
            "one: UPDATE ONLY \"public\".person SET name = {constant store name}",
        ),
        (
            "DELETE FROM only person WHERE mail = 'x'",
            "one: DELETE FROM ONLY \"public\".person WHERE mail = {constant match mail}",
        ),
        (
            "SELECT mail FROM visit JOIN ONLY person ON id = person_id",
            "one: SELECT mail FROM \"public\".visit JOIN ONLY \"public\".person ON id = person_id",
        ),
        (
            "WITH \"only\" AS (SELECT 1 AS name) SELECT name FROM only person",
            "one: WITH \"only\" AS (SELECT 1 AS name) SELECT name FROM ONLY \"public\".person",
        ),
        (
            "SELECT amount, note FROM ONLY plain, ONLY visit",
            "one: SELECT amount, note FROM ONLY \"public\".\"plain\", ONLY \"public\".visit",
        ),
        (
            "UPDATE ONLY person SET visits = visits + 1 WHERE id = 1",
            "read: SELECT person.ctid, person.tableoid, visits FROM ONLY \"public\".person",
        ),
        (
            "DECLARE c CURSOR FOR SELECT name FROM ONLY public.person",
            "one: DECLARE c CURSOR FOR SELECT name FROM ONLY \"public\".person",
        ),
        (
            "TABLE ONLY visit",
            "one: SELECT visit.visit_id, visit.person_id, visit.note, visit.\"at\" \
             FROM ONLY \"public\".visit",
        ),
        (
            "SELECT note FROM visit WHERE person_id IN (TABLE plain)",
            "error",
        ),
    ] {
        match expected {
            "error" => assert_refused(statement),
            _ => assert_starts(statement, expected),
        }
    }
}

#[test]
fn a_child_may_have_a_row_of_the_key_that_only_finds() {
    for statement in [
        "SELECT visits FROM ONLY person WHERE id = 1 FOR UPDATE",
        "UPDATE ONLY person SET visits = visits + 1 WHERE id = 1",
    ] {
        let plan = describe(statement, &people());
        assert!(
            !plan.contains("locks:") && !plan.contains("by key:"),
            "{plan}"
        );
        let plan = describe(&statement.replace("ONLY ", ""), &people());
        assert!(
            plan.contains("locks:") || plan.contains("by key:"),
            "{plan}"
        );
    }
}

#[test]
fn only_and_statements_of_names_are_refused_elsewhere() {
    for statement in [
        "ALTER TABLE person ADD COLUMN more text, CLUSTER ON person_pkey",
        "ALTER TABLE person RENAME name TO other, ALTER COLUMN id SET STATISTICS 5",
        "CREATE PUBLICATION p FOR TABLE person WHERE (active)",
        "INSERT INTO plain (name) SELECT name FROM ONLY person",
        "INSERT INTO plain TABLE person",
        "CREATE TABLE copy AS SELECT * FROM ONLY person",
        "CREATE TABLE copy AS TABLE person",
        "SELECT (SELECT \"only\" FROM ONLY person)",
        "SELECT name FROM only only person",
        "SELECT name FROM \"\u{2}only\".person",
        "SELECT name FROM ONLY a.b.public.person",
    ] {
        assert_refused(statement);
    }
}

#[test]
fn an_alias_without_as_is_sent_with_as() {
    assert_starts(
        "SELECT * FROM unknown person WHERE name = 'x'",
        "one: SELECT * FROM unknown AS person WHERE name = 'x'",
    );
}

#[test]
fn a_name_that_the_path_does_not_find_is_refused() {
    let mut schema = people();
    schema.search_path = vec!["empty".to_owned()];
    for statement in [
        "SELECT name FROM person",
        "UPDATE person SET name = 'x'",
        "INSERT INTO person (name) VALUES ('x')",
        "DELETE FROM person WHERE name = 'x'",
        "COPY person FROM STDIN",
        "ALTER TABLE person ADD a int",
    ] {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("refused"), "{statement}\n{plan}");
    }
    assert!(describe("SELECT name FROM public.person", &schema).contains("outputs: name"));
    assert!(describe("SELECT name FROM other.person", &schema).starts_with("one:"));
    // A schema that was made or renamed since.
    assert_eq!(
        refusal("SELECT name FROM moved.person", &schema).sqlstate,
        "42P01"
    );
}

#[test]
fn a_view_or_partition_that_is_not_on_the_path_counts_as_well() {
    let mut schema = people();
    let mut view = schema.tables[&("public".to_owned(), "person".to_owned())].clone();
    view.name = "shown".to_owned();
    view.kind = RelationKind::View;
    schema
        .tables
        .insert(("public".to_owned(), "shown".to_owned()), view);
    schema.search_path = vec!["other".to_owned()];
    assert_eq!(
        refusal("SELECT * FROM shown WHERE name = 'x'", &schema).sqlstate,
        "42P01"
    );
}

#[test]
fn names_are_folded_and_cut_as_the_server_does() {
    assert_starts(
        "SELECT name FROM PERSON",
        "one: SELECT name FROM \"public\".person",
    );
    assert_starts("SELECT name FROM \"person\"", "one:");
    // Another table, which is not there.
    assert_refused("SELECT name FROM \"Person\" WHERE name = 'x'");
    assert_refused(r#"SELECT name FROM U&"\0070erson""#);
    assert_starts("SELECT name FROM base.public.person", "one:");
    let long = "k".repeat(63);
    let mut schema = people();
    let mut table = schema.tables[&("public".to_owned(), "person".to_owned())].clone();
    table.name.clone_from(&long);
    schema
        .tables
        .insert(("public".to_owned(), long.clone()), table);
    let plan = describe(
        &format!("SELECT name FROM {long}more WHERE name = 'x'"),
        &schema,
    );
    assert!(plan.contains(&format!("\"public\".{long}\n")), "{plan}");
}

#[test]
fn other_relations_do_not_hide_a_protected_table() {
    for statement in [
        "CREATE TEMP TABLE person (a int)",
        "CREATE TABLE pg_temp.person (a int)",
        "CREATE TEMPORARY TABLE visit (a int)",
        "CREATE TEMP VIEW shown AS SELECT name FROM person",
        "ALTER TABLE plain RENAME TO person",
        "CREATE FOREIGN TABLE remote (name bytea) SERVER s OPTIONS (table_name 'person')",
    ] {
        assert_refused(statement);
    }
    let mut schema = people();
    schema.search_path = vec!["other".to_owned(), "public".to_owned()];
    let plan = describe("CREATE TEMP TABLE person (a int)", &schema);
    assert!(plan.starts_with("refused"), "{plan}");
    let foreign = ("other".to_owned(), "person".to_owned());
    schema.tables.get_mut(&foreign).expect("it is there").kind = RelationKind::Foreign;
    let plan = describe("INSERT INTO other.person VALUES (1, 'x')", &schema);
    assert!(plan.contains("may be the protected table"), "{plan}");
}

#[test]
fn a_schema_with_protected_tables_keeps_its_name() {
    let schema = people();
    assert!(
        refusal("ALTER SCHEMA public RENAME TO old", &schema)
            .message
            .contains("public")
    );
    assert!(
        refusal("alter schema \"public\" rename to x", &schema)
            .message
            .contains("public")
    );
    assert_passes("ALTER SCHEMA other RENAME TO another", &schema);
    assert_passes("ALTER SCHEMA public OWNER TO somebody", &schema);
    refusal(
        "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO other",
        &schema,
    );
}

#[test]
fn functions_that_run_texts_are_refused() {
    let mut schema = people();
    schema.suspect_functions = vec!["runs".to_owned()];
    for statement in [
        "SELECT query_to_xml($1, true, true, '')",
        "SELECT query_to_xml('select * from per' || 'son', true, true, '')",
        "SELECT \"query_to_xml\" ($1, true, true, '')",
        "SELECT pg_catalog.query_to_xml($1, true, true, '') FROM pg_class",
        "SELECT DISTINCT ON (oid) query_to_xml('select 1 from person', true, true, '') \
         FROM pg_class",
        "SELECT 1 OPERATOR(pg_catalog.=) runs('person') FROM pg_class",
        "SELECT * FROM dblink('', $1) AS t (a int)",
        "CREATE VIEW v AS SELECT query_to_xml('select * from per' || 'son', true, true, '')",
        "SELECT ts_stat('select 1 from per'\n'son')",
        "SELECT runs($1)",
        "CALL runs('x')",
        "DO $$ BEGIN EXECUTE 'insert into per' || 'son values (1)'; END $$",
        "DO LANGUAGE plpython3u $$ plpy.execute('x') $$",
        "DO $$ BEGIN PERFORM runs('x'); END $$",
        "DO $$ BEGIN INSERT INTO person (name) VALUES ('x'); END $$",
        "CREATE TRIGGER t AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION runs()",
    ] {
        let plan = plan(statement, &schema);
        assert!(plan.is_err(), "{statement}\n{plan:?}");
    }
    for statement in [
        "DO $$ BEGIN INSERT INTO plain VALUES (1); END $$",
        "CALL other_procedure('x')",
        "DROP FUNCTION dblink(text)",
        "SELECT query_to_xml FROM plain",
    ] {
        assert_passes(statement, &schema);
    }
    // Without rules there is nothing to keep.
    assert_passes("DO $$ BEGIN EXECUTE 'x'; END $$", &Schema::default());
}

#[test]
fn statements_are_planned_over_the_effects_of_earlier_ones() {
    let schema = people();
    for text in [
        "SET search_path = other; SELECT name FROM person",
        "SELECT set_config('search_path', 'other', false); SELECT name FROM person",
        "SET ROLE somebody; UPDATE person SET name = 'x'",
        "SET TimeZone TO 'UTC'; UPDATE person SET born = 'today'",
        "SET LOCAL TIME ZONE 'UTC'; UPDATE person SET born = 'today'",
        "RESET DateStyle; UPDATE person SET born = '1/2/3'",
        "SET NAMES 'LATIN1'; SELECT name FROM person",
        "CREATE FUNCTION f(t text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END'; \
         SELECT f('person')",
        "CREATE FUNCTION f() RETURNS void LANGUAGE sql BEGIN ATOMIC; SELECT 1 FROM person; END",
        "ALTER VIEW person_view RENAME TO w; ALTER TABLE person ENABLE TRIGGER t; SELECT w FROM w \
         WHERE w = 'x' AND person = 1",
        "SET \"search_path\" = other; SELECT name FROM person",
        "SET TIME ZONE 'UTC'; SELECT name FROM person",
        "SET DateStyle TO 'ISO, DMY'; INSERT INTO person (born) VALUES ('1/2/2003')",
        "SET LOCAL client_encoding TO 'LATIN1'; UPDATE person SET name = 'x'",
        "RESET ALL; UPDATE person SET visits = visits + 1",
        "SELECT set_config('TimeZone', 'UTC', true); COPY person FROM STDIN",
        "CALL other_procedure('x'); SELECT name FROM person",
        "COMMIT; SELECT name FROM person",
        "ROLLBACK; SELECT name FROM person",
        "SAVEPOINT a; ROLLBACK TO b; SELECT name FROM person",
        "SAVEPOINT a; RELEASE a; ROLLBACK TO a; SELECT name FROM person",
        "SAVEPOINT a; CREATE VIEW v AS SELECT mail FROM person; ROLLBACK TO a; \
         SELECT mail FROM v",
        "BEGIN; CREATE VIEW v AS SELECT mail FROM person; ROLLBACK; SELECT mail FROM v",
        "BEGIN; ALTER TABLE plain ADD a int; PREPARE TRANSACTION 'x'; SELECT name FROM person",
        "SELECT set_config('TimeZone', name, false) FROM person",
    ] {
        refusal(text, &schema);
    }
    let before = "SELECT born FROM person WHERE mail = 'x'; SET TimeZone TO 'UTC'";
    assert!(plan(before, &schema).is_ok());
    for text in [
        "SET application_name = 'x'; SELECT name FROM person",
        "BEGIN; UPDATE person SET name = 'x'; COMMIT; SELECT name FROM person",
        "BEGIN; UPDATE person SET name = 'x'; ROLLBACK; SELECT name FROM person",
        "BEGIN; CREATE TABLE new (a int); COMMIT; SELECT name FROM person",
        "SAVEPOINT a; UPDATE person SET name = 'x'; ROLLBACK TO SAVEPOINT a; \
         SELECT name FROM person",
        "SET TIME ZONE 'UTC'; TRUNCATE person",
    ] {
        plan(text, &schema).expect(text);
    }
    let child = "CREATE TABLE more () INHERITS (person); INSERT INTO more (name) VALUES ('x')";
    let planned = plan(child, &schema).expect("a plan");
    assert!(sql_rewrite::describe(&planned[1].plan, &schema).contains("{constant store name}"));
    let view = "CREATE VIEW v AS SELECT mail AS m FROM person; SELECT m FROM v WHERE m = 'x'";
    let planned = plan(view, &schema).expect("a plan");
    assert!(sql_rewrite::describe(&planned[1].plan, &schema).contains("{constant match mail}"));
    refusal(
        "ALTER TABLE visit ALTER note SET NOT NULL; SELECT renamed FROM elsewhere",
        &schema,
    );
}

#[test]
fn constants_that_would_end_elsewhere_with_another_setting_are_refused() {
    assert_refused(r"SELECT name FROM person WHERE active = '\' -- ' OR name = 'x'");
    assert_starts(r"SELECT id FROM person WHERE mail = 'C:\dir'", "one:");
    assert_starts(r"SELECT id FROM person WHERE mail = E'it\'s'", "one:");
}

#[test]
fn statements_without_row_values_pass() {
    let schema = people();
    for statement in [
        "NOTIFY changes, 'person 5'",
        "LISTEN person",
        "SET application_name = 'person'",
        "SET work_mem TO person",
        "SHOW person",
        "LOCK TABLE person IN EXCLUSIVE MODE",
        "VACUUM (ANALYZE) person",
        "REFRESH MATERIALIZED VIEW CONCURRENTLY public.person WITH NO DATA",
        "ALTER SEQUENCE public.numbers OWNED BY public.person.id",
        "ALTER TABLE person CLUSTER ON person_pkey",
        "ALTER TABLE ONLY public.person ALTER COLUMN name SET STATISTICS 50",
        "ALTER TABLE ONLY public.person ALTER COLUMN name SET STORAGE external",
        "CREATE PUBLICATION p FOR TABLE person",
        "ALTER PUBLICATION p ADD TABLE ONLY public.person",
        "ALTER VIEW public.person OWNER TO somebody",
        "ALTER MATERIALIZED VIEW person OWNER TO \"a b\"",
        "COMMENT ON COLUMN person.name IS 'a name'",
        "TRUNCATE person",
        "GRANT SELECT ON person TO somebody",
    ] {
        assert_passes(statement, &schema);
    }
    let planned = plan_one("SET search_path = person", &schema).expect("a plan");
    let Plan::Pass(effects) = planned else {
        panic!("{planned:?}");
    };
    assert!(effects.changes_settings);
}

#[test]
fn refusals_name_the_table() {
    let schema = people();
    for statement in [
        "SELECT query_to_xml('select * from person', true, true, '')",
        "MERGE INTO person USING visit ON id = person_id WHEN MATCHED THEN DELETE",
        "SELECT * FROM person TABLESAMPLE SYSTEM (length('x'))",
        "SELECT \u{1} FROM person",
        "DO $$ UPDATE person $$",
        "SELECT name, rank() OVER (ORDER BY name) FROM person",
        "COPY person TO '/file'",
        "SELECT id FROM person WHERE name SIMILAR TO 'x'",
        "CALL f('person')",
        "CREATE RULE r AS ON INSERT TO person DO NOTHING",
    ] {
        let message = refusal(statement, &schema).message;
        assert!(message.contains("person"), "{statement}\n{message}");
    }
}

#[test]
fn texts_are_bounded() {
    let schema = people();
    let deep = format!(
        "SELECT id FROM person WHERE active = {}1{}",
        "(".repeat(200),
        ")".repeat(200)
    );
    assert_eq!(refusal(&deep, &schema).sqlstate, "54001");
    for link in [
        " + 1",
        " + f(1, 2)",
        " || '1'",
        " OR active = 1",
        " UNION SELECT 1",
        " + CASE WHEN true THEN 1",
        " + CASE WHEN true THEN 1 END",
    ] {
        let chain = format!(
            "SELECT id FROM person WHERE active = 1{}",
            link.repeat(100_000)
        );
        assert_eq!(refusal(&chain, &schema).sqlstate, "54001", "{link}");
    }
    let large = format!(
        "SELECT id FROM person WHERE mail = '{}'",
        "x".repeat(9 << 20)
    );
    assert_eq!(refusal(&large, &schema).sqlstate, "54000");
    assert_plan(
        "SELECT id FROM person WHERE mail = 'x'",
        "one: SELECT id FROM \"public\".person WHERE mail = {constant match mail}\n  outputs: id",
    );
}

/// The longest chains that are taken, on the stack of a small thread.
#[test]
fn accepted_statements_fit_on_a_small_stack() {
    let links = [
        (" + 1", 990),
        (" || '1'", 490),
        (" OR active = 1", 330),
        (" OR mail = 'x'", 330),
        (" AND name LIKE 'x'", 330),
        (" UNION SELECT 1", 490),
        (" || (active + 1)", 490),
    ];
    let texts = links.map(|(link, count)| {
        let conditions = link.repeat(count);
        (
            link,
            format!("SELECT id FROM person WHERE active = 1{conditions}"),
        )
    });
    let arms = "WHEN active = 1 THEN 'x' ".repeat(10_000);
    let of_arms = format!("UPDATE person SET mail = CASE {arms}END");
    for (link, text) in texts.into_iter().chain([("WHEN", of_arms)]) {
        let run = move || {
            let refusal = plan(&text, &people()).err();
            assert_ne!(
                refusal.map(|refusal| refusal.sqlstate.as_str()),
                Some("54001"),
                "{link}"
            );
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
        thread.expect("a thread").join().expect("no panic");
    }
}

#[test]
fn text_that_the_server_reads_otherwise_is_refused() {
    for statement in [
        "SELECT id FROM person WHERE active = 0x1F",
        "SELECT 0b11 FROM person",
        "INSERT INTO person (id) VALUES (1_000)",
        r"INSERT INTO person (name) VALUES (E'\v')",
        "INSERT INTO person (name) VALUES (E'\\6'\n'3')",
        "SELECT 'x' 'y' FROM person",
        "SELECT citext 'x' FROM person",
        "SELECT p.id, name 'x' FROM person p",
        "UPDATE person SET mail = 'x' RETURNING citext '5'",
    ] {
        assert_refused(statement);
    }
    assert_plan(
        "SELECT active FROM person WHERE mail = 'a' -- '\n  'b'",
        "one: SELECT active FROM \"public\".person WHERE mail = {constant match mail}",
    );
    assert_plan(
        "SELECT 'a'\n'b', active FROM visit, person",
        "one: SELECT 'ab', active FROM \"public\".visit, \"public\".person",
    );
}

#[test]
fn every_statement_that_renames_is_checked() {
    for kind in [
        "SEQUENCE",
        "INDEX",
        "VIEW",
        "MATERIALIZED VIEW",
        "FOREIGN TABLE",
        "TABLE",
    ] {
        assert_refused(&format!("ALTER {kind} person RENAME TO y"));
        assert_refused(&format!("ALTER {kind} person SET SCHEMA other"));
    }
    assert_passes("ALTER SEQUENCE s OWNED BY person.id", &people());
}

#[test]
fn a_name_that_only_some_servers_take_for_a_protected_one_is_refused() {
    for statement in [
        "ALTER TABLE person ALTER COLUMN MAİL SET DEFAULT 'x'",
        "CREATE VIEW v AS SELECT plain.x FROM VİSİT AS plain",
        "CREATE TABLE VİSİT (visit_id integer DEFAULT 5)",
    ] {
        let refusal = refusal(statement, &people());
        assert_eq!(refusal.sqlstate, "42P01", "{statement}: {refusal:?}");
    }
    for statement in [
        "SELECT active AS \"MAİL\" FROM person",
        "SELECT active AS ÜRÜN FROM person",
    ] {
        assert_starts(statement, "one: SELECT active AS ");
    }
}
