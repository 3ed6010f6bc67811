//! Plans for the finisher: what the server is sent, and what the finisher evaluates.

use sql_rewrite::{Schema, describe, plan};

use crate::common::people;

fn schema() -> Schema {
    let mut schema = people();
    schema.catalogue.finisher.is_there = true;
    schema
}

fn described(statement: &str) -> String {
    let schema = schema();
    match plan(statement, &schema) {
        Ok(plans) => describe(&plans[0].plan, &schema),
        Err(refusal) => format!("refused: {}\n", refusal.message),
    }
}

#[track_caller]
fn assert_plan(statement: &str, lines: &[&str]) {
    let described = described(statement);
    let own: Vec<&str> = described.lines().collect();
    assert_eq!(own, lines, "{statement}");
}

#[test]
fn a_query_becomes_one_over_arrays() {
    assert_plan(
        "SELECT date_trunc('month', born), count(*) FROM person GROUP BY 1",
        &[
            "fetch: SELECT person.born FROM \"public\".person AS person",
            "  outputs: born",
            "finisher: WITH strongroom_0 (born) AS (SELECT born FROM unnest(CAST($1 AS date[])) \
             AS strongroom_rows (born)) SELECT date_trunc('month', born), count(*) FROM \
             strongroom_0 AS person GROUP BY 1",
        ],
    );
}

#[test]
fn relations_are_fetched_in_one_statement_with_the_conditions_that_the_server_decides() {
    assert_plan(
        "SELECT active FROM person a WHERE a.mail = $1 AND EXISTS \
         (SELECT 1 FROM visit WHERE note = a.name AND visit_id = 4)",
        &[
            "fetch: SELECT 0, a.\"name\", a.mail, a.active, CAST(NULL AS INTEGER), \
             CAST(NULL AS BYTEA) FROM \"public\".person AS a WHERE (a.mail = {$1 match mail}) \
             UNION ALL SELECT 1, CAST(NULL AS BYTEA), CAST(NULL AS BYTEA), \
             CAST(NULL AS INTEGER), visit.visit_id, visit.note FROM \"public\".visit AS visit \
             WHERE (visit_id = 4)",
            "  outputs: -, name, mail, -, -, note",
            "finisher: WITH strongroom_0 (\"name\", mail, active) AS (SELECT CAST(\"name\" AS \
             character varying(20)), mail, active FROM unnest(CAST($2 AS character varying[]), \
             CAST($3 AS text[]), CAST($4 AS integer[])) AS strongroom_rows (\"name\", mail, \
             active)), \
             strongroom_1 (visit_id, note) AS (SELECT visit_id, note FROM \
             unnest(CAST($5 AS integer[]), CAST($6 AS text[])) AS strongroom_rows \
             (visit_id, note)) SELECT active FROM strongroom_0 a WHERE a.mail = $1 AND EXISTS \
             (SELECT 1 FROM strongroom_1 AS visit WHERE note = a.name AND visit_id = 4)",
        ],
    );
}

#[test]
fn the_time_is_that_of_the_server() {
    assert_plan(
        "SELECT active FROM person WHERE now() > born",
        &[
            "fetch: SELECT 0, person.born, person.active, CAST(NULL AS TIMESTAMP WITH TIME ZONE) \
             FROM \"public\".person AS person UNION ALL SELECT 1, CAST(NULL AS BYTEA), \
             CAST(NULL AS INTEGER), pg_catalog.now()",
            "  outputs: -, born, -, -",
            "finisher: WITH strongroom_0 (born, active) AS (SELECT born, active FROM \
             unnest(CAST($1 AS date[]), CAST($2 AS integer[])) AS strongroom_rows (born, \
             active)), strongroom_server (\"now\") AS (SELECT \"now\" FROM \
             unnest(CAST($3 AS timestamp with time zone[])) AS strongroom_rows (\"now\")) \
             SELECT active FROM strongroom_0 AS person WHERE (SELECT \"now\" FROM \
             strongroom_server) > born",
        ],
    );
}

/// The conditions of the fetch.
fn fetched_where(statement: &str) -> String {
    let described = described(statement);
    let fetch = described.lines().next().unwrap_or_default().to_owned();
    let found = fetch.split_once(" WHERE ");
    found.map_or_else(String::new, |(_, conditions)| conditions.to_owned())
}

#[test]
fn a_condition_stays_behind_where_it_would_lose_rows_or_reveal_a_value() {
    for (statement, conditions) in [
        // An outer join fills the columns with NULL.
        (
            "SELECT p.active FROM person p LEFT JOIN visit v ON v.note = p.name \
             WHERE v.visit_id = 3",
            "",
        ),
        (
            "SELECT p.active FROM person p FULL JOIN visit v ON v.note = p.name \
             WHERE p.active = 3",
            "",
        ),
        // The name may be that of a column of the query in FROM.
        (
            "SELECT name FROM person p, (SELECT 1 AS active) t WHERE active = 1 AND \
             lower(name) = 'x'",
            "",
        ),
        // A value that meets a protected column may not go in clear beside a computed one.
        (
            "SELECT active FROM person WHERE round(salary) = $1 AND active + 1 = $1",
            "",
        ),
        // What is compared with a plain column by name is public.
        (
            "SELECT active FROM person WHERE round(salary) = $1 AND active = $1",
            "(active = {$1 plain})",
        ),
    ] {
        assert_eq!(fetched_where(statement), conditions, "{statement}");
    }
}

#[test]
fn only_rows_with_a_partner_are_fetched_where_the_server_can_tell() {
    let visits_of = "EXISTS (SELECT 1 FROM person AS p WHERE (v.person_id = p.id) AND (p.mail = \
                     {$1 match mail}))";
    for (statement, person, visit) in [
        // Each of the tables limits the other.
        (
            "SELECT lower(v.note) FROM person p JOIN visit v ON v.person_id = p.id \
             WHERE p.mail = $1 AND v.visit_id > 5",
            "(p.mail = {$1 match mail}) AND (EXISTS (SELECT 1 FROM visit AS v WHERE \
             (p.id = v.person_id) AND (v.visit_id > 5)))",
            &*format!("(v.visit_id > 5) AND ({visits_of})",),
        ),
        // An outer join keeps the rows of the first.
        (
            "SELECT lower(v.note) FROM person p LEFT JOIN visit v ON v.person_id = p.id \
             AND v.visit_id > 5 WHERE p.mail = $1",
            "(p.mail = {$1 match mail})",
            &*format!("(v.visit_id > 5) AND ({visits_of})"),
        ),
        // A query within has the table around.
        (
            "SELECT (SELECT max(round(v.visit_id)) FROM visit v WHERE v.person_id = p.id AND \
             lower(v.note) = 'x') FROM person p WHERE p.mail = $1",
            "(p.mail = {$1 match mail})",
            &*format!("({visits_of})"),
        ),
        // Conditions that the server cannot decide stay behind, and partners without others.
        (
            "SELECT 1 FROM person p JOIN visit v ON v.person_id = p.id \
             WHERE p.mail = $1 AND lower(p.name) = 'x' AND lower(v.note) = 'x'",
            "(p.mail = {$1 match mail})",
            &*format!("({visits_of})"),
        ),
        (
            "SELECT lower(v.note) FROM person p JOIN visit v ON v.note = p.name \
             WHERE p.mail = $1",
            "(p.mail = {$1 match mail})",
            "",
        ),
        (
            "SELECT 1 FROM person p FULL JOIN visit v ON v.person_id = p.id \
             WHERE p.mail = $1 AND lower(v.note) = 'x'",
            "",
            "",
        ),
        // The name is that of another relation.
        (
            "SELECT (SELECT max(lower(v.note)) FROM visit v, (SELECT 1 AS id) p \
             WHERE v.person_id = p.id) FROM person p WHERE p.mail = $1",
            "(p.mail = {$1 match mail})",
            "",
        ),
    ] {
        assert_eq!(
            conditions_of(statement, "person AS p"),
            person,
            "{statement}"
        );
        assert_eq!(conditions_of(statement, "visit AS v"), visit, "{statement}");
    }
}

#[test]
fn the_rows_of_each_table_that_is_locked_are_locked_as_they_are_fetched() {
    let rows = "SELECT lower(v.note) FROM person p JOIN visit v ON v.person_id = p.id";
    for (locks, person, visit) in [
        ("FOR UPDATE", " FOR UPDATE", " FOR UPDATE"),
        ("FOR NO KEY UPDATE OF v", "", " FOR NO KEY UPDATE"),
        (
            "FOR SHARE OF p NOWAIT FOR KEY SHARE OF v",
            " FOR SHARE NOWAIT",
            " FOR KEY SHARE",
        ),
        ("FOR UPDATE OF p, v", " FOR UPDATE", " FOR UPDATE"),
    ] {
        let described = described(&format!("{rows} {locks}"));
        let fetch = described.lines().next().unwrap_or_default();
        let end = |table: &str, locks: &str| format!("\"public\".{table}{locks}");
        for (table, locks) in [("person AS p", person), ("visit AS v", visit)] {
            let end = end(table, locks);
            let is_there = match locks {
                "" => !fetch.contains(&format!("{end} FOR")) && fetch.contains(&end),
                _ => fetch.contains(&format!("{end})")),
            };
            assert!(is_there, "{locks}: {fetch}");
        }
    }
}

#[test]
fn a_condition_with_a_query_goes_to_the_server_if_it_can_decide_it() {
    for (statement, conditions) in [
        (
            "SELECT 1 FROM person p WHERE lower(p.name) = 'x' AND p.id IN \
             (SELECT person_id FROM visit WHERE visit_id = 4)",
            "(p.id IN (SELECT person_id FROM visit WHERE visit_id = 4))",
        ),
        (
            "SELECT 1 FROM person p WHERE lower(p.name) = 'x' AND EXISTS \
             (SELECT 1 FROM visit WHERE visit.person_id = p.id)",
            "(EXISTS (SELECT 1 FROM visit WHERE visit.person_id = p.id))",
        ),
        (
            "SELECT 1 FROM person p WHERE lower(p.name) = 'x' AND EXISTS \
             (SELECT 1 FROM visit WHERE visit.person_id = p.id AND lower(note) = 'x')",
            "",
        ),
        // Another table of the query is not there.
        (
            "SELECT 1 FROM person p, plain q WHERE lower(p.name) = 'x' AND EXISTS \
             (SELECT 1 FROM visit v WHERE v.person_id = p.id AND v.visit_id = q.id)",
            "",
        ),
    ] {
        assert_eq!(
            conditions_of(statement, "person AS p"),
            conditions,
            "{statement}"
        );
    }
}

/// The conditions of the first table of this name and alias in the fetch.
fn conditions_of(statement: &str, table: &str) -> String {
    let described = described(statement);
    let fetch = described.lines().next().unwrap_or_default().to_owned();
    let fetch = fetch.replace("\"public\".", "");
    let mut legs = fetch.split(" UNION ALL ");
    let found = legs.find_map(|leg| leg.split_once(" FROM ")?.1.strip_prefix(table));
    let rest = found.unwrap_or_else(|| panic!("{statement}: {described}"));
    rest.strip_prefix(" WHERE ").unwrap_or(rest).to_owned()
}

#[test]
fn what_the_finisher_cannot_know_is_refused() {
    for (statement, words) in [
        (
            "SELECT (pg_control_init()).blocks_per_segment FROM person WHERE round(salary) = 1",
            "function pg_control_init",
        ),
        (
            "SELECT * FROM person, pg_control_init() WHERE round(salary) = 1",
            "pg_control_init",
        ),
        ("SELECT own.f(salary) FROM person", "function own.f"),
        (
            "SELECT 'person'::regclass, round(salary) FROM person",
            "type regclass",
        ),
        (
            "SELECT round(salary) AS strongroom_0 FROM person",
            "the name strongroom_0",
        ),
        ("SELECT ctid, round(salary) FROM person", "column ctid"),
        (
            "SELECT p.active FROM person p, visit v WHERE round(p.salary) = length(v.note) \
             FOR UPDATE OF q",
            "relation \"q\" in FOR UPDATE",
        ),
    ] {
        let described = described(statement);
        let is_refused = described.starts_with("refused: ") && described.contains(words);
        assert!(is_refused, "{statement}: {described}");
    }
}

#[test]
fn a_call_that_only_the_server_can_make_fails_and_is_in_no_condition_of_a_fetch() {
    let described = described(
        "SELECT pg_try_advisory_lock(1), round(salary) FROM person WHERE active AND \
         pg_try_advisory_lock(id) AND lower(name) = 'x'",
    );
    let (fetch, finisher) = described.split_once("finisher: ").expect("two halves");
    assert!(!fetch.contains("advisory"), "{fetch}");
    let call = "strongroom_calls.failing(CASE WHEN false THEN \
                pg_catalog.\"pg_try_advisory_lock\"(1) END, 'pg_try_advisory_lock') AS \
                pg_try_advisory_lock";
    assert!(finisher.contains(call), "{finisher}");
}

#[test]
fn a_function_of_a_user_that_hides_one_of_the_server_is_refused() {
    let statement = "SELECT date_trunc('month', born) FROM person";
    let mut schema = schema();
    schema.catalogue.finisher.shadows = vec!["date_trunc".to_owned()];
    let refusal = plan(statement, &schema).expect_err("it may be the user's");
    assert!(refusal.message.contains("date_trunc"), "{refusal:?}");
}

#[test]
fn without_a_finisher_nothing_changes() {
    let statement = "SELECT date_trunc('month', born) FROM person";
    let refusal = plan(statement, &people()).expect_err("no finisher");
    assert!(!refusal.message.contains("finisher"), "{refusal:?}");
}

#[test]
fn rows_that_are_computed_are_inserted_as_arrays() {
    assert_plan(
        "INSERT INTO person (id, name, active) SELECT * FROM UNNEST($1::int[], $2::text[], \
         $3::int[]) ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING name, active",
        &[
            "fetch: SELECT 1",
            "  outputs: -",
            "finisher: WITH strongroom_server (strongroom_row) AS (SELECT strongroom_row FROM \
             unnest(CAST($4 AS integer[])) AS strongroom_rows (strongroom_row)) SELECT * FROM \
             UNNEST($1::INT[], $2::TEXT[], $3::INT[])",
            "write: INSERT INTO \"public\".person (id, name, active, visits) SELECT \
             strongroom_rows.c0, strongroom_rows.c1, strongroom_rows.c2, strongroom_rows.c3 FROM \
             UNNEST({computed 0 each store id}, {computed 1 each store name}, {computed 2 plain}, \
             {computed 3 each store visits}) AS strongroom_rows (c0, c1, c2, c3) ON CONFLICT(id) \
             DO UPDATE SET name = EXCLUDED.name RETURNING name, active",
            "  outputs: name, -",
        ],
    );
}

#[test]
fn what_is_the_same_for_all_rows_stays_with_the_server() {
    assert_plan(
        "INSERT INTO visit (visit_id, note, at) SELECT nextval('visits'), upper(name), $1 FROM \
         person WHERE lower(mail) = 'x'",
        &[
            "fetch: SELECT person.\"name\", person.mail FROM \"public\".person AS person",
            "  outputs: name, mail",
            "finisher: WITH strongroom_0 (\"name\", mail) AS (SELECT CAST(\"name\" AS character \
             varying(20)), mail FROM unnest(CAST($2 AS character varying[]), CAST($3 AS text[])) \
             AS strongroom_rows (\"name\", mail)) SELECT NULL, upper(name), NULL FROM \
             strongroom_0 AS person WHERE \
             lower(mail) = 'x'",
            "write: INSERT INTO \"public\".visit (visit_id, note, at) SELECT nextval('visits'), \
             strongroom_rows.c0, {$1 plain} FROM UNNEST({computed 0 each store note}) AS \
             strongroom_rows (c0)",
        ],
    );
}

#[test]
fn a_plain_column_gets_no_value_that_a_protected_one_took_part_in() {
    for source in [
        "SELECT upper(name) FROM person",
        "SELECT p.name FROM person p WHERE upper(p.name) = 'X'",
        "SELECT n FROM (SELECT upper(name) AS n FROM person) AS amount",
        "SELECT amount.name FROM (SELECT upper(name) AS name FROM person) AS amount",
        "SELECT count(*) FROM person WHERE upper(name) = 'X'",
        "SELECT row_number() OVER (ORDER BY name) FROM person",
        "SELECT active FROM person WHERE upper(name) = 'X' UNION ALL SELECT 1",
        "SELECT (SELECT max(upper(name)) FROM person) FROM plain",
        "SELECT CASE WHEN upper(name) = 'X' THEN 1 END FROM person",
        "SELECT person FROM person WHERE upper(name) = 'X'",
        "WITH plain AS (SELECT upper(name) AS amount FROM person) SELECT amount FROM plain",
        "WITH x AS (SELECT upper(name) AS amount FROM person) SELECT amount FROM x",
        "SELECT name FROM plain JOIN person USING (name)",
        "VALUES ((SELECT max(upper(name)) FROM person))",
        "SELECT cardinality(ARRAY(SELECT upper(name) FROM person)) FROM plain",
        "SELECT \"user\" FROM person AS \"user\" WHERE upper(name) = 'X'",
    ] {
        let described = described(&format!("INSERT INTO plain (amount) {source}"));
        assert!(described.starts_with("refused: "), "{source}: {described}");
    }
    for source in [
        "SELECT active FROM person WHERE upper(name) = 'X'",
        "SELECT p.active + 1 FROM person p JOIN plain o ON o.amount = p.active ORDER BY \
         upper(p.name)",
        "SELECT abs(at) FROM visit WHERE upper(note) = 'X'",
    ] {
        let described = described(&format!("INSERT INTO plain (amount) {source}"));
        assert!(described.contains("{computed 0 plain}"), "{described}");
    }
}

#[test]
fn rows_that_are_there_are_returned_for_the_finisher_and_written_one_by_one() {
    assert_plan(
        "INSERT INTO person AS p (id, name, active) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE \
         SET name = upper(EXCLUDED.name) || $4, active = p.active + EXCLUDED.active WHERE \
         p.salary > 5 RETURNING name",
        &[
            "fetch: SELECT 1",
            "  outputs: -",
            "finisher: WITH strongroom_server (strongroom_row) AS (SELECT strongroom_row FROM \
             unnest(CAST($5 AS integer[])) AS strongroom_rows (strongroom_row)), strongroom_pairs \
             AS (SELECT upper(EXCLUDED.name) || $4 FROM (SELECT CAST(NULL AS integer) AS \
             strongroom_row, CAST(NULL AS character varying(20)) AS \"name\", CAST(NULL AS \
             numeric(10,2)) AS salary) AS p, (SELECT CAST(NULL AS integer) AS strongroom_row, \
             CAST(NULL AS character varying(20)) AS \"name\", CAST(NULL AS numeric(10,2)) AS \
             salary) AS excluded WHERE p.salary > 5) VALUES (CAST($1 AS INTEGER), CAST($2 AS \
             VARCHAR), CAST($3 AS INTEGER))",
            "write: INSERT INTO \"public\".person AS p (id, name, active, visits) SELECT \
             strongroom_rows.c0, strongroom_rows.c1, strongroom_rows.c2, strongroom_rows.c3 FROM \
             UNNEST({computed 0 each store id}, {computed 1 each store name}, {computed 2 plain}, \
             {computed 3 each store visits}) AS strongroom_rows (c0, c1, c2, c3) ON CONFLICT(id) \
             DO UPDATE SET name = p.name, active = p.active RETURNING p.ctid, p.tableoid, p.xmax \
             <> 0, p.\"name\", p.salary, name",
            "  outputs: - hidden, - hidden, - hidden, name hidden, salary hidden, name",
            "finisher: WITH strongroom_0 (strongroom_row, \"name\", salary) AS (SELECT \
             strongroom_row, CAST(\"name\" AS character varying(20)), CAST(salary AS \
             numeric(10,2)) FROM unnest(CAST($5 AS integer[]), CAST($6 AS \
             character varying[]), CAST($7 AS numeric[])) AS strongroom_rows \
             (strongroom_row, \"name\", salary)), strongroom_1 (strongroom_row, \"name\", salary) \
             AS (SELECT strongroom_row, CAST(\"name\" AS character varying(20)), CAST(NULL AS \
             numeric(10,2)) FROM unnest(CAST($8 AS integer[]), CAST($9 AS character varying[])) AS \
             strongroom_rows (strongroom_row, \"name\")) SELECT p.strongroom_row, \
             upper(EXCLUDED.name) || $4 FROM strongroom_0 AS p, strongroom_1 AS excluded WHERE \
             p.strongroom_row = excluded.strongroom_row AND (p.salary > 5) ORDER BY 1",
            "update: UPDATE \"public\".person AS p SET active = p.active + CAST({computed 1 \
             plain} AS INTEGER), name = {computed 0 store name} WHERE p.ctid = {locator 0 plain} \
             AND p.tableoid = {locator 1 plain} RETURNING name",
            "  outputs: name",
        ],
    );
}

#[test]
fn a_cursor_has_each_column_twice_and_one_of_the_server_beside_it() {
    let described =
        described("DECLARE c SCROLL CURSOR FOR SELECT upper(name) FROM person ORDER BY salary");
    let finisher = described
        .lines()
        .find_map(|line| line.strip_prefix("finisher: "));
    let finisher = finisher.unwrap_or_else(|| panic!("{described}"));
    let end = "SELECT strongroom_cursor.*, strongroom_cursor.* FROM (SELECT upper(name) FROM \
               strongroom_0 AS person ORDER BY salary) AS strongroom_cursor";
    assert!(finisher.ends_with(end), "{finisher}");
}

#[test]
fn a_plain_column_gets_nothing_that_protected_ones_took_part_in_where_rows_are_there() {
    for set in [
        "active = length(EXCLUDED.name)",
        "active = CASE WHEN person.name = EXCLUDED.name THEN 1 END",
        "active = length(person.name)",
        "active = (SELECT max(active) FROM person), name = upper(person.name)",
        "name = upper(EXCLUDED.name), active = EXCLUDED.name",
    ] {
        let described = described(&format!(
            "INSERT INTO person (id, name, active) VALUES (1, 'x', 2) ON CONFLICT (id) DO UPDATE \
             SET {set}"
        ));
        assert!(described.starts_with("refused: "), "{set}: {described}");
    }
}

#[test]
fn merge_asks_for_the_clause_of_each_pair_and_locks_what_may_have_a_partner() {
    let described = described(
        "MERGE INTO person p USING (VALUES ($1::integer, $2, $3::integer)) AS s (id, name, active) \
         ON p.id = s.id WHEN MATCHED AND p.salary > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET \
         name = s.name, active = s.active WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, \
         s.name)",
    );
    let fetch = described.lines().next();
    let expected = "fetch: SELECT p.ctid, p.tableoid, p.\"id\", p.\"name\", p.salary, p.active \
                    FROM \"public\".person AS p WHERE (p.id IN ({$1 match id})) FOR UPDATE";
    assert_eq!(fetch, Some(expected));
}

#[test]
fn merge_writes_no_value_of_a_protected_column_in_clear() {
    for (source, value) in [
        ("(VALUES (1)) AS s (id)", "length(p.name)"),
        ("(VALUES (1)) AS s (id)", "length(name)"),
        ("(VALUES (1)) AS s (id)", "length(p::text)"),
        ("(SELECT id, visits AS v FROM person) s", "s.v"),
        ("visit s", "length(s.note)"),
        (
            "(VALUES ((SELECT max(visits) FROM person))) AS s (id)",
            "s.id",
        ),
    ] {
        let text = format!(
            "MERGE INTO person p USING {source} ON p.visits = 1 WHEN MATCHED THEN UPDATE SET \
             active = {value}"
        );
        let described = described(&text);
        assert!(described.contains("not protected"), "{text}\n{described}");
    }
    for (source, value) in [
        ("(VALUES (1)) AS s (id)", "s.id + p.active"),
        ("visit s", "s.visit_id"),
        ("plain s", "s.id"),
        ("(SELECT id AS i FROM plain) s", "s.i"),
    ] {
        let text = format!(
            "MERGE INTO person p USING {source} ON p.visits = 1 WHEN MATCHED THEN UPDATE SET \
             active = {value}"
        );
        let described = described(&text);
        assert!(!described.contains("refused"), "{text}\n{described}");
    }
}
