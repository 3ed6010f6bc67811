//! Statements that clients and mappers send.

use crate::common::{assert_plan, assert_refused, assert_starts, describe, people, plan_one, tpcc};
use column_value::LogicalType;
use sql_plan::{ColumnId, ObjectEffect, OutputKind, Plan, Translated};
use sql_rewrite::{Objects, RelationKind, Schema, plan, plan_with};

fn one(statement: &str, schema: &Schema) -> Translated {
    match plan_one(statement, schema) {
        Ok(Plan::One(translated, _)) => translated,
        other => panic!("{statement}\n{other:?}"),
    }
}

fn id(schema: &Schema, name: &str) -> ColumnId {
    let mut columns = schema.protected.iter();
    columns.find(|own| own.column == name).expect("a column").id
}

#[test]
fn rows_are_locked_in_every_way() {
    for lock in [
        "FOR UPDATE",
        "FOR NO KEY UPDATE",
        "FOR SHARE",
        "FOR KEY SHARE",
        "FOR UPDATE OF p",
        "FOR NO KEY UPDATE OF p",
        "FOR NO KEY UPDATE SKIP LOCKED",
        "FOR KEY SHARE OF p NOWAIT",
    ] {
        let plan = describe(
            &format!("SELECT active FROM person p WHERE id = $1 {lock}"),
            &people(),
        );
        let expected = format!("WHERE id = {{$1 match id}} {lock}\n");
        assert!(plan.contains(&expected), "{lock}\n{plan}");
        assert_eq!(
            plan.contains("locks: person"),
            lock.contains("UPDATE"),
            "{plan}"
        );
    }
    // TPC-C, Payment: the proxy sorts, the server locks.
    let plan = describe(
        "SELECT c_first, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND \
         c_last = $3 ORDER BY c_first FOR UPDATE",
        &tpcc(),
    );
    assert!(plan.starts_with("fetch:"), "{plan}");
    assert!(plan.contains("{$3 match c_last} FOR UPDATE"), "{plan}");
    assert!(plan.contains("order by: #0"), "{plan}");
    assert_refused("SELECT id FROM person ORDER BY name LIMIT 1 FOR UPDATE SKIP LOCKED");
}

#[test]
fn a_locking_select_has_a_variant_with_the_numbers_that_it_leaves_out() {
    let schema = people();
    let [name, salary, visits] = ["name", "salary", "visits"].map(|name| id(&schema, name));
    let wider_of = |text: &str| one(text, &schema).locks.and_then(|locks| locks.wider);
    for lock in ["FOR UPDATE", "FOR NO KEY UPDATE"] {
        let text = format!("SELECT name, active FROM person WHERE id = $1 {lock}");
        let wider = wider_of(&text).expect("it reads more");
        let text = wider
            .template
            .render(|hole, out| out.push_str(&format!("<{hole}>")));
        assert_eq!(
            text,
            format!(
                "SELECT name, active, salary, visits FROM \"public\".person WHERE id = <0> {lock}"
            )
        );
        let kinds: Vec<_> = wider
            .outputs
            .iter()
            .map(|one| (one.kind, one.hidden))
            .collect();
        assert_eq!(
            kinds,
            [
                (OutputKind::Sealed(name), false),
                (OutputKind::Plain, false),
                (OutputKind::Sealed(salary), true),
                (OutputKind::Sealed(visits), true)
            ]
        );
        let read: Vec<_> = wider.locks.expect("still").read;
        let read: Vec<_> = read.iter().map(|one| (one.column, one.output)).collect();
        assert_eq!(read, [(name, 0), (salary, 2), (visits, 3)]);
    }
    let plain = wider_of("SELECT active FROM person WHERE id = $1 FOR UPDATE");
    assert_eq!(plain.expect("it reads more").outputs.len(), 3);
    for statement in [
        "SELECT visits, name, salary FROM person WHERE id = $1 FOR UPDATE",
        "SELECT name FROM person WHERE id = $1",
        "SELECT name FROM person WHERE active = $1 FOR UPDATE",
        "SELECT name FROM person WHERE id = $1 FOR SHARE",
        // The alias renames the columns: its `id` is `mail`.
        "SELECT a FROM person AS p (a, b, id) WHERE id = $1 FOR UPDATE",
    ] {
        assert_eq!(wider_of(statement), None, "{statement}");
    }
}

#[test]
fn elements_of_an_array_that_is_a_parameter_are_sealed() {
    assert_plan(
        "SELECT active FROM person WHERE mail = ANY($1) AND id <> ALL($2::bigint[])",
        "one: SELECT active FROM \"public\".person WHERE mail = ANY({$1 each match mail}) \
         AND id <> ALL({$2 each match id})",
    );
    assert_plan(
        "SELECT active FROM person WHERE id = ANY('{}')",
        "one: SELECT active FROM \"public\".person WHERE id = ANY({constant each match id})",
    );
    assert_plan(
        "SELECT active FROM person WHERE $1 IS NULL OR mail = ANY($1)",
        "one: SELECT active FROM \"public\".person WHERE {$1 each match mail} IS NULL \
         OR mail = ANY({$1 each match mail})",
    );
    assert_plan(
        "SELECT active FROM person WHERE name = ANY($1) AND salary <> ALL('{1,NULL}')",
        "fetch: SELECT name, salary, active FROM \"public\".person\n  outputs: name, salary, -\n\
         filter: ((#0 in any $1::text[]) and not ((#1 in (constant::numeric, null::numeric))))\n\
         project: active = #2",
    );
    // In clear, or as a value elsewhere.
    assert_refused("SELECT id FROM person WHERE mail = ANY($1) AND cardinality($1) > 0");
    assert_refused("SELECT id FROM person WHERE mail = ANY($1) OR mail = $1");
    assert_refused("SELECT id FROM person WHERE mail = ANY($1::date[])");
    assert_refused("SELECT id FROM person WHERE mail = ANY('{1,2}'::date[])");
    assert_refused("SELECT id FROM person WHERE id = ANY($1 || ARRAY[1])");
}

#[test]
fn arrays_are_searched_as_lists() {
    assert_plan(
        "SELECT id FROM person WHERE mail = ANY(ARRAY[$1, 'x']::text[])",
        "one: SELECT id FROM \"public\".person WHERE \
         mail IN ({$1 match mail}, {constant match mail})\n  outputs: id",
    );
    assert_plan(
        "SELECT active FROM person WHERE mail <> ALL('{a,\"b c\",NULL}')",
        "one: SELECT active FROM \"public\".person WHERE \
         mail NOT IN ({constant match mail}, {constant match mail}, {null match mail})",
    );
    assert_plan(
        "SELECT active FROM person WHERE id = ANY (SELECT person_id FROM visit)",
        "one: SELECT active FROM \"public\".person WHERE \
         id IN (SELECT person_id FROM \"public\".visit)",
    );
    assert_starts("SELECT id FROM person WHERE active = ANY($1)", "one:");
    assert_refused("SELECT id FROM person WHERE born < ANY($1)");
    assert_refused("SELECT id FROM person WHERE mail = ALL(ARRAY['x', 'y'])");
    assert_refused("SELECT id FROM person WHERE name = ANY(upper($1))");
}

#[test]
fn recursive_queries_are_planned() {
    assert_starts(
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) \
         SELECT name, i FROM person, n WHERE active = i",
        "one: WITH RECURSIVE n AS",
    );
    assert_plan(
        "WITH RECURSIVE r (key) AS (SELECT person_id FROM visit WHERE person_id = $1 UNION \
         SELECT p.id FROM person p JOIN r ON p.id = r.key) SELECT key FROM r WHERE key = $2",
        "one: WITH RECURSIVE r (key) AS (SELECT person_id FROM \"public\".visit WHERE \
         person_id = {$1 match person_id} UNION SELECT p.id FROM \"public\".person p \
         JOIN r ON p.id = r.key) SELECT key FROM r WHERE key = {$2 match person_id}\n  \
         outputs: person_id",
    );
    assert_refused(
        "WITH RECURSIVE r AS (SELECT 'x' AS m UNION ALL SELECT mail FROM person) SELECT m FROM r",
    );
    assert_refused(
        "WITH RECURSIVE r AS (SELECT mail FROM person UNION ALL SELECT 'x' FROM r) SELECT 1",
    );
}

#[test]
fn queries_with_writing_ctes_are_planned() {
    assert_plan(
        "WITH gone AS (DELETE FROM person WHERE mail = 'x' RETURNING id, name) \
         SELECT id, name FROM gone",
        "one: WITH gone AS (DELETE FROM \"public\".person WHERE mail = {constant match mail} \
         RETURNING id, name) SELECT id, name FROM gone\n  outputs: id, name",
    );
    assert_plan(
        "WITH one AS (SELECT id FROM person WHERE mail = 'x') \
         INSERT INTO visit (person_id, note) SELECT id, 'y' FROM one RETURNING note",
        "one: WITH one AS (SELECT id FROM \"public\".person WHERE mail = {constant match mail}) \
         INSERT INTO \"public\".visit (person_id, note) SELECT id, {constant store note} \
         FROM one RETURNING note\n  outputs: note",
    );
    assert_refused(
        "WITH w AS (INSERT INTO person (name) VALUES (upper('x')) RETURNING id) SELECT * FROM w",
    );
    // What the proxy finishes may fail behind what was written.
    assert_refused("WITH w AS (DELETE FROM visit RETURNING note) SELECT max(note) FROM w");
    let two = "WITH w AS (DELETE FROM visit RETURNING person_id) DELETE FROM person USING w \
               WHERE person.id = w.person_id";
    let Ok(Plan::One(_, effects)) = plan_one(two, &people()) else {
        panic!("{two}");
    };
    assert!(effects.forgets_locks);
}

#[test]
fn copy_takes_queries_that_the_server_executes_alone() {
    assert_plan(
        "COPY (SELECT p.*, note FROM person p JOIN visit ON person_id = p.id WHERE at > 5) \
         TO STDOUT WITH (FORMAT csv, HEADER)",
        "copy: COPY (SELECT p.\"id\", p.\"name\", p.mail, p.born, p.salary, p.visits, p.active, \
         note FROM \"public\".person p JOIN \"public\".visit ON person_id = p.id WHERE at > 5) \
         TO STDOUT WITH (FORMAT csv, DELIMITER ',', NULL '', QUOTE '\"', ESCAPE '\"', \
         HEADER true)\n  \
         fields: id, name, mail, born, salary, visits, -, note",
    );
    assert_plan(
        "COPY person (name, active) FROM STDIN",
        "copy: COPY \"public\".person (\"name\", active, visits) FROM STDIN WITH (FORMAT text, \
         DELIMITER '\t', NULL '\\N')\n  fields: name, -\n  added: visits constant",
    );
    assert_plan(
        "copy public.person (visits, active) from stdin with delimiter '|' null 'x'",
        "copy: COPY \"public\".person (visits, active) FROM STDIN WITH (FORMAT text, \
         DELIMITER '|', NULL 'x')\n  fields: visits, -",
    );
    assert_starts(
        "COPY person TO STDOUT (FORMAT binary)",
        "copy: COPY \"public\".person (\"id\"",
    );
    for statement in [
        "COPY (INSERT INTO person (id, mail) VALUES (1, 'x') RETURNING id) TO STDOUT",
        "COPY (SELECT name FROM person ORDER BY name) TO STDOUT",
        "COPY (SELECT name FROM person WHERE active = $1) TO STDOUT",
        "COPY (SELECT name FROM person) TO '/file'",
        "COPY person TO PROGRAM 'cat'",
        "COPY person FROM '/file'",
        "COPY person FROM STDIN (FORMAT csv, FORCE_QUOTE (name))",
    ] {
        assert_refused(statement);
    }
}

#[test]
fn explain_shows_what_the_server_does() {
    assert_plan(
        "EXPLAIN (ANALYZE, BUFFERS false) SELECT name FROM person WHERE mail = 'x'",
        "one: EXPLAIN (ANALYZE, BUFFERS false) SELECT name FROM \"public\".person WHERE \
         mail = {constant match mail}",
    );
    assert_plan(
        "EXPLAIN SELECT sum(salary) FROM person WHERE mail = $1",
        "one: EXPLAIN SELECT salary FROM \"public\".person WHERE mail = {$1 match mail}",
    );
    assert_starts(
        "EXPLAIN VERBOSE UPDATE person SET visits = visits + 1 WHERE id = 1",
        "one: EXPLAIN VERBOSE SELECT person.ctid",
    );
    assert_refused("EXPLAIN SELECT name FROM person WHERE name SIMILAR TO 'x'");
}

#[test]
fn joins_by_names_merge_columns() {
    let mut schema = people();
    let visit = ("public".to_owned(), "visit".to_owned());
    let columns = &mut schema.tables.get_mut(&visit).expect("it is there").columns;
    columns[1].name = "id".to_owned();
    let plan = describe(
        "SELECT * FROM person JOIN visit USING (id) WHERE id = 5",
        &schema,
    );
    assert!(plan.contains("WHERE id = {constant match id}"), "{plan}");
    assert!(
        plan.contains("outputs: id, name, mail, born, salary, visits, -, -, note, -"),
        "{plan}"
    );
    let natural = describe("SELECT note FROM person NATURAL JOIN visit", &schema);
    assert!(natural.starts_with("one:"), "{natural}");
    let columns = &mut schema.tables.get_mut(&visit).expect("it is there").columns;
    columns[2].name = "name".to_owned();
    let natural = describe("SELECT at FROM person NATURAL JOIN visit", &schema);
    assert!(
        natural.starts_with("refused"),
        "both names are of mode random: {natural}"
    );
    assert_refused("SELECT * FROM person NATURAL JOIN unknown");
    assert_refused("SELECT * FROM person JOIN plain USING (id)");
}

#[test]
fn many_rows_are_updated_at_once() {
    assert_plan(
        "UPDATE person SET mail = 'x', born = $1, name = DEFAULT WHERE active > 5",
        "one: UPDATE \"public\".person SET mail = {constant store mail}, \
         born = {$1 store born}, name = {null store name} WHERE active > 5",
    );
    assert_starts(
        "UPDATE person SET visits = visits + 1 WHERE mail IN ('x', 'y')",
        "read: SELECT person.ctid, person.tableoid, visits FROM \"public\".person WHERE \
         mail IN ({constant match mail}, {constant match mail}) FOR NO KEY UPDATE",
    );
    assert_plan(
        "UPDATE person SET (mail, active) = ('x', 2), born = NULL WHERE id BETWEEN 1 AND 2",
        "refused 0A000: < on protected column person.id: it has mode equality, the server needs \
         mode order",
    );
}

#[test]
fn the_proxy_finishes_whole_tables_too() {
    assert_starts(
        "SELECT p.* FROM person p WHERE name LIKE 'a%'",
        "fetch: SELECT name, p.\"id\", p.\"name\", p.mail, p.born, p.salary, p.visits, p.active \
         FROM",
    );
    let plan = describe("SELECT rank() OVER (ORDER BY name) FROM person", &people());
    assert!(plan.contains("window function rank"), "{plan}");
    assert!(plan.contains("person.name"), "{plan}");
}

#[test]
fn views_that_the_server_writes_through_are_written() {
    let mut schema = people();
    let mut view = schema.tables[&("public".to_owned(), "person".to_owned())].clone();
    view.name = "shown".to_owned();
    view.kind = RelationKind::View;
    let name = ("public".to_owned(), "shown".to_owned());
    schema.tables.insert(name.clone(), view);
    let plan = describe("INSERT INTO shown (id, mail) VALUES (1, 'x')", &schema);
    assert!(
        plan.contains("{constant store mail}, {constant store visits}"),
        "{plan}"
    );
    let plan = describe("UPDATE shown SET mail = 'x' WHERE mail = 'y'", &schema);
    assert!(
        plan.contains("{constant store mail} WHERE mail = {constant match mail}"),
        "{plan}"
    );
    let Ok(Plan::One(_, effects)) = plan_one("DELETE FROM shown", &schema) else {
        panic!("it is planned");
    };
    assert!(effects.forgets_locks);
    // `visits` has a default, and would be NULL.
    let view = schema.tables.get_mut(&name).expect("it is there");
    view.columns.truncate(3);
    let mut columns = schema.protected.iter();
    let visits = columns.find(|own| own.column == "visits").expect("it is");
    schema.hidden_defaults.insert(name.clone(), vec![visits.id]);
    let plan = describe("INSERT INTO shown (id, mail) VALUES (1, 'x')", &schema);
    assert!(plan.contains("does not show it"), "{plan}");
    schema
        .tables
        .get_mut(&name)
        .expect("it is there")
        .has_triggers = true;
    let plan = describe("DELETE FROM shown", &schema);
    assert!(plan.starts_with("refused"), "{plan}");
}

#[test]
fn tables_are_made_and_filled_in_one_text() {
    let mut schema = people();
    schema
        .tables
        .remove(&("public".to_owned(), "visit".to_owned()));
    let text = "CREATE TABLE visit (visit_id int PRIMARY KEY, person_id int, note text, at int); \
                CREATE INDEX ON visit (person_id); \
                INSERT INTO visit VALUES (1, 2, 'x', 3); \
                SELECT note FROM visit WHERE person_id = 2; -- visit";
    let planned = plan(text, &schema).expect("a plan");
    let plans: Vec<String> = planned
        .iter()
        .map(|one| sql_rewrite::describe(&one.plan, &schema))
        .collect();
    assert_eq!(
        plans[2],
        "one: INSERT INTO \"public\".visit (visit_id, person_id, note, \"at\") VALUES \
         (1, {constant store person_id}, {constant store note}, 3)\n"
    );
    assert!(plans[3].ends_with("outputs: note\n"), "{plans:?}");
}

/// The plan of a statement of a session, which knows its effects afterwards.
fn run_with(text: &str, objects: &mut Objects) -> String {
    let schema = people();
    let planned = match plan_with(text, &schema, objects) {
        Ok(mut planned) => planned.remove(0).plan,
        Err(refusal) => return format!("refused {refusal}"),
    };
    if let Plan::Pass(effects) | Plan::One(_, effects) = &planned {
        objects.note(effects);
    }
    sql_rewrite::describe(&planned, &schema)
}

#[test]
fn statements_are_prepared_by_sql() {
    let run = run_with;
    let mut objects = Objects::default().including(std::iter::empty());
    let prepared = run(
        "PREPARE find (text, int) AS SELECT name FROM person WHERE mail = $1 AND \
                        active > $2",
        &mut objects,
    );
    assert!(
        prepared.starts_with("one: PREPARE find AS SELECT pg_catalog.current_setting"),
        "{prepared}"
    );
    assert_eq!(
        run("EXECUTE find ('x', 5)", &mut objects),
        "one: SELECT name FROM \"public\".person WHERE mail = {constant match mail} AND \
         active > CAST(5 AS INT)\n  outputs: name\n"
    );
    assert!(run("EXECUTE find ('x')", &mut objects).starts_with("refused wrong number"));
    assert!(run("EXECUTE find (md5('x'), 5)", &mut objects).starts_with("refused"));
    assert_eq!(
        run(
            "EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE find (NULL, NULL)",
            &mut objects
        ),
        "one: EXPLAIN (VERBOSE, FORMAT JSON) SELECT name FROM \"public\".person WHERE mail = \
         {null match mail} AND active > CAST(NULL AS INT)\n"
    );
    assert!(run("CREATE TABLE t AS EXECUTE find ('x', 5)", &mut objects).starts_with("refused"));
    assert!(run("EXECUTE other ('x')", &mut objects).starts_with("pass"));
    assert!(run("DEALLOCATE find", &mut objects).starts_with("pass"));
    assert!(run("EXECUTE find ('x', 5)", &mut objects).starts_with("pass"));
    // A session that does not tell what messages have prepared is told nothing.
    for text in ["EXECUTE other ('x')", "EXPLAIN EXECUTE other ('x')"] {
        assert_refused(text);
    }
}

/// The server's statement takes ciphertexts: its name must not be used with plain ones.
#[test]
fn what_messages_have_prepared_is_executed_by_sql() {
    let run = run_with;
    let s1 = ObjectEffect::Prepares {
        name: "s1".to_owned(),
        types: Vec::new(),
        text: "INSERT INTO person (name) VALUES ($1)".to_owned(),
    };
    let mut both = Objects::default().including([s1].into_iter());
    let executed = run("execute \"s1\"('x')", &mut both);
    assert!(
        executed.contains("VALUES ({constant store name}, {constant store visits})"),
        "{executed}"
    );
    let explained = run("EXPLAIN ANALYZE EXECUTE s1('x')", &mut both);
    assert!(
        explained.starts_with("one: EXPLAIN ANALYZE INSERT INTO")
            && explained.contains("{constant store name}"),
        "{explained}"
    );
    for text in [
        "EXPLAIN CREATE TABLE t AS EXECUTE s1('x')",
        "EXPLAIN EXECUTE s1('x') EXECUTE s1('x')",
    ] {
        assert!(run(text, &mut both).starts_with("refused"), "{text}");
    }
    let schema = people();
    let text = "PREPARE a AS INSERT INTO person (mail) VALUES ($1); EXECUTE a('x')";
    let planned = plan(text, &schema).expect("a plan");
    assert!(sql_rewrite::describe(&planned[1].plan, &schema).contains("{constant store mail}"));
    assert!(
        !format!("{planned:?}").contains("VALUES ($1)"),
        "texts are not shown"
    );
}

#[test]
fn cursors_remember_their_columns() {
    let schema = people();
    let text = "DECLARE \"My c\" NO SCROLL CURSOR WITH HOLD FOR SELECT id, active FROM person \
                WHERE mail = 'x' FOR UPDATE";
    let Ok(Plan::One(declared, effects)) = plan_one(text, &schema) else {
        panic!("{text}");
    };
    assert_eq!(declared.outputs, []);
    assert_eq!(
        describe(text, &schema),
        "one: DECLARE \"My c\" NO SCROLL CURSOR WITH HOLD FOR SELECT id, active FROM \
         \"public\".person WHERE mail = {constant match mail} FOR UPDATE\n"
    );
    let mut objects = Objects::default();
    objects.note(&effects);
    let fetch = |text: &str, objects: &Objects| {
        assert!(objects.concern(text) || !text.to_lowercase().contains("fetch"));
        let planned = plan_with(text, &schema, objects).expect("a plan");
        sql_rewrite::describe(&planned[0].plan, &schema)
    };
    for text in [
        "FETCH FORWARD 5 FROM \"My c\"",
        "fetch \"My c\"",
        "FETCH ALL IN \"My c\"",
    ] {
        assert_eq!(
            fetch(text, &objects),
            format!("one: {text}\n  outputs: id, -\n")
        );
    }
    assert!(fetch("MOVE 5 FROM \"My c\"", &objects).starts_with("pass"));
    for (text, is_left) in [("DISCARD PLANS", true), ("CLOSE ALL", false)] {
        let Ok(Plan::Pass(effects)) = plan_one(text, &schema) else {
            panic!("it passes");
        };
        objects.note(&effects);
        assert_eq!(objects.concern("FETCH \"My c\""), is_left, "{text}");
    }
    for text in [
        "DECLARE c BINARY CURSOR FOR SELECT id FROM person",
        "DECLARE c CURSOR FOR SELECT sum(salary) FROM person",
        "UPDATE person SET name = 'x' WHERE CURRENT OF c",
    ] {
        assert_refused(text);
    }
    let text = "BEGIN; DECLARE c CURSOR FOR SELECT name FROM person; FETCH c; COMMIT";
    let planned = plan(text, &schema).expect("a plan");
    assert!(sql_rewrite::describe(&planned[2].plan, &schema).contains("outputs: name"));
}

#[test]
fn bounds_are_computed_from_constants_before_they_are_sealed() {
    let schema = crate::common::tpcc();
    let plan = describe(
        "SELECT count(*) FROM order_line WHERE ol_o_id < $1 AND ol_o_id >= $2 - 20",
        &schema,
    );
    assert!(
        plan.starts_with(
            "one: SELECT count(*) FROM \"public\".order_line WHERE ol_o_id < {$1 bound ol_o_id} \
             AND ol_o_id >= {calculated bound ol_o_id}"
        ),
        "{plan}"
    );
    let turned = describe(
        "DELETE FROM new_order WHERE (30 - 5) + $1 > no_o_id",
        &schema,
    );
    assert!(
        turned.contains("{calculated bound no_o_id} > no_o_id"),
        "{turned}"
    );
    // What is sealed may not go in clear beside it.
    let clear = "SELECT $1, md5($1) FROM order_line WHERE ol_o_id >= $1 - 20";
    assert!(describe(clear, &schema).starts_with("refused 0A000"));
    // Not by the server: another mode, a column in it, no exact number.
    for condition in [
        "ol_amount > $1 - 1",
        "ol_o_id > ol_number - 1",
        "ol_o_id > $1::double precision - 1",
        "ol_o_id > $1 * 2",
    ] {
        let plan = describe(
            &format!("SELECT 1 FROM order_line WHERE {condition}"),
            &schema,
        );
        assert!(!plan.contains("calculated"), "{plan}");
    }
}

#[test]
fn plain_texts_are_sorted_by_the_server_alone() {
    let mut schema = people();
    let visit = ("public".to_owned(), "visit".to_owned());
    let visit = schema.tables.get_mut(&visit).expect("a table");
    let at = visit.position("at").expect("a column");
    visit.columns[at].physical = Some(LogicalType::Text);
    let is_refused = |statement: &str| describe(statement, &schema).starts_with("refused");
    for sorted in [
        "at",
        "at || note",
        "note || ', ' || at",
        "COALESCE(note, at)",
        "CASE WHEN note = 'x' THEN note ELSE at END",
        "upper(note || at)",
        "CAST(note || at AS varchar(3))",
    ] {
        let by = format!("SELECT note FROM visit ORDER BY note, {sorted}");
        assert!(is_refused(&by), "{by}");
        let named = format!("SELECT note, {sorted} AS s FROM visit ORDER BY note, s");
        assert!(is_refused(&named), "{named}");
        let least = format!("SELECT count(DISTINCT note), min({sorted}) FROM visit");
        assert!(is_refused(&least), "{least}");
    }
    for sorted in [
        "note || 'x'",
        "COALESCE(note, 'x')",
        "length(note || at)",
        "visit_id",
    ] {
        let by = format!("SELECT note FROM visit ORDER BY note, {sorted}");
        assert!(!is_refused(&by), "{by}: {}", describe(&by, &schema));
    }
    let grouped = "SELECT note || at, count(*) FROM visit GROUP BY note || at ORDER BY 1";
    assert!(is_refused(grouped));
}
