//! Leaks and wrong answers that other products of this kind have had, one test each.

use crate::common::{assert_plan, assert_refused, assert_starts, describe, people, plan_one};
use sql_plan::Plan;

#[test]
fn on_conflict_do_update_seals_what_it_sets() {
    assert_plan(
        "INSERT INTO person (id, mail, visits) VALUES (1, 'a', 1) \
         ON CONFLICT (id) DO UPDATE SET mail = 'b', name = EXCLUDED.name, salary = $1",
        "one: INSERT INTO \"public\".person (id, mail, visits) VALUES ({constant store id}, \
         {constant store mail}, {constant store visits}) ON CONFLICT(id) DO UPDATE SET \
         mail = {constant store mail}, name = EXCLUDED.name, salary = {$1 store salary}",
    );
}

#[test]
fn on_conflict_on_a_random_column_never_fires_and_is_refused() {
    assert_refused("INSERT INTO person (name) VALUES ('x') ON CONFLICT (name) DO NOTHING");
}

#[test]
fn a_parameter_tested_for_null_goes_sealed_to_both_places() {
    let expected = "one: SELECT id FROM \"public\".person WHERE {$1 match mail} IS NULL OR \
                    mail = {$1 match mail}\n  outputs: id";
    assert_plan(
        "SELECT id FROM person WHERE $1 IS NULL OR mail = $1",
        expected,
    );
    assert_plan(
        "SELECT id FROM person WHERE $1::text IS NULL OR mail = $1::text",
        expected,
    );
}

#[test]
fn the_proxy_groups_and_sorts_random_columns() {
    assert_starts("SELECT DISTINCT name FROM person", "fetch: SELECT name");
    assert_starts(
        "SELECT count(DISTINCT name) FROM person",
        "fetch: SELECT name",
    );
    assert_starts(
        "SELECT name, count(*) FROM person GROUP BY name",
        "fetch: SELECT name",
    );
    assert_starts(
        "SELECT id FROM person ORDER BY name",
        "fetch: SELECT id, name",
    );
    assert_refused("SELECT row_number() OVER (ORDER BY name) FROM person");
    assert_refused("SELECT row_number() OVER (PARTITION BY name) FROM person");
}

#[test]
fn the_server_does_what_the_mode_allows() {
    assert_starts("SELECT DISTINCT mail FROM person", "one:");
    assert_starts("SELECT count(DISTINCT mail) FROM person", "one:");
    assert_starts("SELECT mail, count(*) FROM person GROUP BY mail", "one:");
    assert_starts("SELECT id FROM person ORDER BY born", "one:");
    assert_starts(
        "SELECT row_number() OVER (ORDER BY born) FROM person",
        "one:",
    );
    assert_plan(
        "SELECT max(born) FROM person",
        "one: SELECT (array_agg(born ORDER BY born DESC NULLS LAST))[1] AS \"max\" \
         FROM \"public\".person\n  outputs: born",
    );
}

#[test]
fn select_into_is_refused() {
    assert_refused("SELECT * INTO copy FROM person");
    assert_refused("CREATE TABLE copy AS SELECT * FROM person");
}

#[test]
fn within_group_is_refused() {
    assert_refused("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY salary) FROM person");
    assert_refused("SELECT mode() WITHIN GROUP (ORDER BY mail) FROM person");
}

#[test]
fn operands_in_either_order_mean_the_same() {
    assert_refused("SELECT id FROM person WHERE 'x' @@ name");
    assert_refused("SELECT id FROM person WHERE name @@ 'x'");
    assert_starts(
        "SELECT id FROM person WHERE 'x' = mail",
        "one: SELECT id FROM \"public\".person \
         WHERE {constant match mail} = mail",
    );
}

#[test]
fn paths_into_protected_values_are_refused() {
    assert_refused("SELECT name -> 'a' ->> 'b' FROM person");
    assert_refused("SELECT name['a'] FROM person");
    assert_refused("SELECT (person).name FROM person");
    assert_refused("SELECT person FROM person");
    assert_refused("SELECT to_json(person) FROM person");
    assert_refused("SELECT count(person.*) FROM person");
}

#[test]
fn paths_into_protected_json_are_refused() {
    for path in [
        "content -> 'a'",
        "content ->> 'a'",
        "content -> 'a' ->> 'b'",
        "(content -> 'a') -> 0 ->> 'b'",
        "content -> $1 ->> 'b'",
        "content #> '{a,b}'",
        "content #>> '{a,b}'",
        "content['a']['b']",
        "content::jsonb -> 'a'",
        "json_extract_path_text(content, 'a', 'b')",
        "CASE WHEN true THEN content END -> 'a'",
    ] {
        assert_refused(&format!("SELECT {path} FROM document"));
        assert_refused(&format!("SELECT 1 FROM document WHERE {path} = 'x'"));
        assert_refused(&format!("SELECT 1 FROM document WHERE {path} = $2"));
        assert_refused(&format!("SELECT 1 FROM document ORDER BY {path}"));
        assert_refused(&format!("SELECT count(*) FROM document GROUP BY {path}"));
        assert_refused(&format!("DELETE FROM document WHERE {path} = 'x'"));
        assert_refused(&format!(
            "INSERT INTO plain (name) SELECT {path} FROM document"
        ));
        assert_refused(&format!("UPDATE document SET content = {path}"));
    }
    assert_plan(
        "SELECT content FROM document WHERE document_id = 1",
        "one: SELECT content FROM \"public\".document WHERE document_id = 1\n  outputs: content",
    );
}

#[test]
fn one_parameter_in_two_roles_is_two_values() {
    assert_plan(
        "UPDATE person SET mail = $1 WHERE mail = $1",
        "one: UPDATE \"public\".person SET mail = {$1 store mail} WHERE mail = {$1 match mail}",
    );
    assert_plan(
        "UPDATE person SET mail = $1, active = $1 WHERE id = $2",
        "one: UPDATE \"public\".person SET mail = {$1 store mail}, active = {$1 plain} \
         WHERE id = {$2 match id}",
    );
}

#[test]
fn a_parameter_that_is_sealed_and_computed_with_in_clear_is_refused() {
    assert_refused("SELECT md5($1) FROM person WHERE mail = $1");
    // The proxy computes it.
    assert_starts(
        "SELECT upper($1) FROM person WHERE mail = $1",
        "fetch: SELECT 1 FROM",
    );
    // The proxy limits: the parameter is not sent.
    assert_starts(
        "SELECT id FROM person WHERE mail = $1 LIMIT $1",
        "fetch: SELECT id FROM",
    );
}

#[test]
fn a_table_of_the_same_name_in_another_schema_is_another_table() {
    assert_plan(
        "SELECT id, name FROM other.person WHERE name = 'x'",
        "one: SELECT id, name FROM \"other\".person WHERE name = 'x'",
    );
    assert_starts(
        "SELECT name FROM public.person",
        "one: SELECT name FROM \"public\".person",
    );
}

#[test]
fn a_computed_value_is_not_stored_in_clear() {
    assert_plan(
        "UPDATE person SET name = name || 'suffix' WHERE id = 1",
        "read: SELECT person.ctid, person.tableoid, name FROM \"public\".person WHERE \
         id = {constant match id} FOR NO KEY UPDATE\n  outputs: -, -, name\n\
         compute: name = (#2 || constant::text)\n\
         write: UPDATE \"public\".person SET name = {computed 0 store name} WHERE \
         person.ctid = {locator 0 plain} AND person.tableoid = {locator 1 plain}\n\
         write by key: UPDATE \"public\".person SET name = {computed 0 store name} WHERE \
         id = {constant match id}\n  locks: person by (id), reads ()",
    );
    assert_refused("INSERT INTO person (id, name) VALUES (1, upper('x'))");
    assert_refused("UPDATE person SET name = md5('x')");
    assert_starts(
        "UPDATE person SET name = upper('x')",
        "read: SELECT person.ctid, person.tableoid FROM",
    );
    assert_refused("INSERT INTO plain (id, name) SELECT visits, name FROM person");
    assert_refused("UPDATE plain SET name = person.name FROM person");
    assert_refused("UPDATE person SET active = visits + 1");
}

#[test]
fn a_join_that_stores_is_sealed_or_refused() {
    assert_plan(
        "UPDATE person SET mail = 'x', active = v.at FROM visit v WHERE v.person_id = person.id",
        "one: UPDATE \"public\".person SET mail = {constant store mail}, active = v.at \
         FROM \"public\".visit v WHERE v.person_id = person.id",
    );
    assert_refused(
        "UPDATE person SET mail = v.m FROM (VALUES (1, 'x')) v (i, m) WHERE active = v.i",
    );
    assert_refused("UPDATE person SET mail = note FROM visit WHERE person_id = person.id");
}

#[test]
fn parameters_keep_their_numbers_in_any_order() {
    assert_plan(
        "SELECT id FROM person WHERE born < $3 AND mail = $1 AND active = $2 ORDER BY born",
        "one: SELECT id FROM \"public\".person WHERE born < {$3 bound born} AND \
         mail = {$1 match mail} AND active = {$2 plain} ORDER BY born\n  outputs: id",
    );
}

#[test]
fn a_case_that_stores_is_sealed_or_refused() {
    assert_refused("INSERT INTO person (name) VALUES (CASE WHEN true THEN 'x' END)");
    assert_starts(
        "UPDATE person SET name = CASE WHEN active THEN name ELSE 'x' END",
        "refused",
    );
}

#[test]
fn values_of_a_list_never_meet_a_protected_column_in_clear() {
    assert_refused("SELECT * FROM person JOIN (VALUES ('x')) v(m) ON mail = m");
    assert_refused("SELECT id FROM person WHERE mail IN (SELECT 'x')");
    assert_refused("SELECT mail FROM person UNION SELECT 'x'");
    assert_refused("SELECT id FROM person WHERE mail = ANY(ARRAY[md5('x')])");
    assert_refused("SELECT id FROM person WHERE mail = ANY(SELECT 'x')");
    // The proxy computes it.
    assert_starts(
        "SELECT id FROM person WHERE ('x', active) IN ((mail, 1), (active, 2))",
        "fetch: SELECT mail, active, id FROM \"public\".person\n",
    );
    assert_refused("SELECT id FROM person WHERE (1, 'x') = (SELECT active, name FROM person)");
    assert_refused("WITH v AS (SELECT lower('x') AS m) SELECT id FROM person, v WHERE mail = m");
}

#[test]
fn defaults_that_the_server_cannot_know_are_filled_in() {
    assert_plan(
        "INSERT INTO person (id, mail) VALUES ($1, $2), ($3, DEFAULT)",
        "one: INSERT INTO \"public\".person (id, mail, visits) VALUES ({$1 store id}, \
         {$2 store mail}, {constant store visits}), ({$3 store id}, {null store mail}, \
         {constant store visits})",
    );
    assert_plan(
        "INSERT INTO person DEFAULT VALUES",
        "one: INSERT INTO \"public\".person (visits) VALUES ({constant store visits})",
    );
}

#[test]
fn columns_of_one_domain_are_joined_and_others_are_not() {
    assert_plan(
        "SELECT p.*, v.note FROM person p LEFT JOIN visit AS v ON v.person_id = p.id \
         WHERE p.mail IN ($1, 'x') AND born BETWEEN $2 AND $3",
        "one: SELECT p.\"id\", p.\"name\", p.mail, p.born, p.salary, p.visits, p.active, v.note \
         FROM \"public\".person p LEFT JOIN \"public\".visit AS v ON v.person_id = p.id \
         WHERE p.mail IN ({$1 match mail}, {constant match mail}) \
         AND born BETWEEN {$2 bound born} AND {$3 bound born}\n  \
         outputs: id, name, mail, born, salary, visits, -, note",
    );
    // The proxy judges pairs of rows, where none is made up for those that find none.
    assert_starts(
        "SELECT 1 FROM person JOIN visit ON visit_id = person.id AND visit_id > 3",
        "fetch: SELECT visit_id, person.id FROM \"public\".person JOIN \"public\".visit ON true \
         WHERE visit_id > 3",
    );
    assert_refused("SELECT 1 FROM person LEFT JOIN visit ON visit_id = person.id");
    assert_refused("SELECT 1 FROM person LEFT JOIN visit ON note = mail");
}

#[test]
fn what_is_not_understood_is_refused() {
    for statement in [
        "DO $$ BEGIN UPDATE person SET name = 'x'; END $$",
        "SELECT query_to_xml('select * from person', true, true, '')",
        "MERGE INTO person USING visit ON id = person_id WHEN MATCHED THEN DELETE",
        "SELECT * FROM ROWS FROM (f()) , person",
        r#"SELECT * FROM U&"\0070erson""#,
        "SELECT id FROM person WHERE name SIMILAR TO 'x'",
        "WITH RECURSIVE a AS (SELECT name FROM b), b AS (SELECT name FROM person) \
         SELECT * FROM a",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1 from person'",
        "SELECT \u{1} FROM person",
        "EXPLAIN SELECT * FROM person WHERE mail = 'x' garbage(",
    ] {
        assert_refused(statement);
    }
}

#[test]
fn table_names_in_constants_are_allowed_elsewhere() {
    let schema = people();
    for statement in [
        "SELECT 1",
        "INSERT INTO plain VALUES (1, 'x')",
        "BEGIN",
        "SHOW all",
    ] {
        assert!(
            matches!(plan_one(statement, &schema), Ok(Plan::Pass(_))),
            "{statement}"
        );
    }
    assert_starts("SELECT 'person'", "one: SELECT 'person'");
    assert_starts(
        "INSERT INTO plain (name) VALUES ('person''s')",
        "one: INSERT INTO",
    );
}

#[test]
fn the_server_evaluates_the_conditions_that_it_can() {
    assert_plan(
        "SELECT name, sum(salary) AS total FROM person WHERE mail = $1 AND name LIKE 'a%' \
         AND active GROUP BY name HAVING sum(salary) > 10 ORDER BY total DESC LIMIT 5",
        "fetch: SELECT name, salary FROM \"public\".person WHERE mail = {$1 match mail}\
         \u{20}AND active\n\
         \u{20} outputs: name, salary\n\
         filter: (#0 like constant::text)\n\
         group by: #0\n\
         aggregate: Sum(#1)\n\
         having: (aggregate 0 > constant::integer)\n\
         project: name = group 0 character varying(20)\n\
         project: total = aggregate 0 numeric\n\
         order by: aggregate 0 desc nulls first\n\
         limit: constant::integer",
    );
}

#[test]
fn a_constant_that_is_tested_beside_its_column_is_not_sent() {
    // Drivers that write values into texts write them at each place of a parameter.
    assert_plan(
        "SELECT active FROM person WHERE 'x' IS NULL OR mail = 'x' OR 'x'::text = ''",
        "one: SELECT active FROM \"public\".person WHERE CAST(false AS BOOLEAN) OR \
         mail = {constant match mail} OR CAST(false AS BOOLEAN)",
    );
    assert_plan(
        "SELECT active FROM person WHERE 5 <> 0 AND 1 = 1 AND id = 5 AND NULL = 'x'",
        "one: SELECT active FROM \"public\".person WHERE CAST(true AS BOOLEAN) AND CAST(true AS \
         BOOLEAN) AND id = {constant match id} AND CAST(NULL AS BOOLEAN)",
    );
    assert_plan(
        "SELECT active FROM person WHERE 'x' IS NULL OR name = 'x'",
        "fetch: SELECT name, active FROM \"public\".person\n  outputs: name, -\n\
         filter: (constant::boolean or (#0 = constant::text))\nproject: active = #1",
    );
    assert_plan(
        "SELECT active FROM person WHERE $1 IS NULL OR name = $1",
        "fetch: SELECT name, active FROM \"public\".person\n  outputs: name, -\n\
         filter: (($1::text) is null or (#0 = $1::text))\nproject: active = #1",
    );
    assert_plan(
        "SELECT active FROM person WHERE ($1 IS NULL OR active = 5) AND name = $1",
        "fetch: SELECT active = 5, name, active FROM \"public\".person\n  outputs: -, name, -\n\
         filter: ((($1::text) is null or #0) and (#1 = $1::text))\nproject: active = #2",
    );
    for condition in [
        "length('x') = 0 OR mail = 'x'",
        "length('x') = 0 OR name = 'x'",
        "length($1) = 0 OR name = $1",
        "'x' < 'y' AND mail = 'x'",
        "name = 'x' AND active = length(text 'x')",
    ] {
        assert_refused(&format!("SELECT id FROM person WHERE {condition}"));
        assert_refused(&format!("DELETE FROM person WHERE {condition}"));
    }
    assert_refused("UPDATE person SET visits = visits + $1 WHERE active = abs($1)");
    assert_refused("SELECT 'x' FROM person WHERE mail = 'x' UNION SELECT 'y'");
    assert_starts("SELECT 'x' FROM person WHERE mail = 'x'", "fetch: SELECT 1");
    assert_starts(
        "SELECT active FROM person WHERE mail = 'x' AND active = 'x'",
        "one:",
    );
}

/// Relations share their names, and of this statement PostgreSQL takes any of them (ALTER INDEX:
/// "RenameStmt" is spared the check of its kind).
#[test]
fn alter_index_renames_no_table() {
    for statement in [
        "ALTER INDEX person RENAME TO gone",
        "ALTER INDEX public.person RENAME TO gone",
        "ALTER INDEX plain RENAME TO person",
        "ALTER INDEX plain RENAME TO public.person",
        "ALTER INDEX IF EXISTS person RENAME TO gone",
        "ALTER INDEX \"person\" RENAME TO gone",
    ] {
        assert_refused(statement);
    }
    assert_starts("ALTER INDEX person_name_key RENAME TO other_key", "pass");
}

/// A prepared statement may be called as a word that stands behind EXECUTE elsewhere.
#[test]
fn the_word_after_execute_may_name_a_statement() {
    for name in ["function", "procedure", "on", "FUNCTION", "\"on\""] {
        for statement in [
            format!("EXPLAIN EXECUTE {name}('x')"),
            format!("EXPLAIN (ANALYZE) EXECUTE /* so */ {name} ('x')"),
            format!("CREATE TEMP TABLE t AS EXECUTE {name}('x')"),
            format!("CREATE TABLE t AS EXECUTE {name}('x') WITH NO DATA"),
        ] {
            assert_refused(&statement);
        }
    }
    assert_starts(
        "CREATE TRIGGER t AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION f()",
        "pass",
    );
    assert_starts(
        "CREATE TRIGGER t AFTER INSERT ON plain EXECUTE PROCEDURE f()",
        "pass",
    );
}

/// What was meant for the protected table would be stored in clear in one that the search path
/// finds first (`CREATE TABLE app.person`, `ALTER ROLE … SET search_path`).
#[test]
fn a_table_of_the_same_name_earlier_on_the_search_path_is_not_taken_for_it() {
    let mut schema = people();
    schema.search_path = vec!["other".to_owned(), "public".to_owned()];
    for statement in [
        "INSERT INTO person VALUES (1, 'x')",
        "INSERT INTO Person (name) SELECT 'x'",
        "UPDATE person SET name = 'x'",
        "DELETE FROM person WHERE name = 'x'",
        "SELECT * FROM plain, person WHERE person.name = 'x'",
        "WITH w AS (INSERT INTO person VALUES (1, 'x') RETURNING 1) SELECT 1 FROM w",
        "COPY person FROM STDIN",
        "COPY (SELECT name FROM person WHERE name = 'x') TO STDOUT",
    ] {
        let plan = describe(statement, &schema);
        assert!(plan.starts_with("refused F0000"), "{statement}\n{plan}");
    }
    for statement in [
        "INSERT INTO other.person VALUES (1, 'x')",
        "INSERT INTO public.person (name) VALUES ('x')",
        "WITH person AS (SELECT 1 AS id) SELECT id FROM person",
    ] {
        let plan = describe(statement, &schema);
        assert!(!plan.starts_with("refused"), "{statement}\n{plan}");
    }
}

#[test]
fn a_turkish_capital_does_not_hide_a_name() {
    let mut schema = people();
    for column in &mut schema.protected {
        column.table = column.table.replace("visit", "visit_i");
    }
    let plan = describe("INSERT INTO VİSİT_İ (note) VALUES ('x')", &schema);
    assert!(plan.starts_with("refused"), "{plan}");
}

/// A WINDOW clause that no function used went to the server as it was.
#[test]
fn windows_of_a_query_that_the_proxy_finishes_are_refused() {
    assert_refused(
        "SELECT count(DISTINCT name) FROM person WINDOW w AS (ORDER BY mail = 'kanarienvogel')",
    );
    assert_refused("SELECT id FROM person WHERE name LIKE 'x%' WINDOW w AS (PARTITION BY $1)");
}

/// To the server it is no alias, and to the parser it was.
#[test]
fn an_alias_of_insert_needs_as() {
    assert_refused("INSERT INTO unknown person (id, mail) VALUES (1, 'x')");
}
