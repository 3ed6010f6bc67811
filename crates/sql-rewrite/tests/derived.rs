//! Constants and parameters that reach a protected column through a derived table or an expression
//! are sealed for it, or the statement is refused. They are never sent in clear.

use crate::common::{describe, people, plan_one};

const CANARY: &str = "kanarienvogel";

/// Relations `v` with a column `x` that is made of the value: what stands before SELECT, and what
/// stands in FROM. `o` is a plain table.
const SOURCES: &[(&str, &str)] = &[
    ("", "(SELECT {value} AS x) v"),
    ("", "(SELECT upper({value})::text AS x) v"),
    ("", "(SELECT {value} || o.amount::text AS x FROM plain o) v"),
    (
        "",
        "(SELECT CASE WHEN o.id = 1 THEN {value} ELSE o.name::text END AS x FROM plain o) v",
    ),
    (
        "",
        "(SELECT COALESCE(o.name::text, {value}) AS x FROM plain o) v",
    ),
    ("", "(SELECT max({value}) AS x FROM plain o) v"),
    ("", "(SELECT x FROM (SELECT {value} AS x) w) v"),
    ("", "(SELECT * FROM (SELECT {value} AS x) w) v"),
    ("", "(SELECT w.* FROM (SELECT {value} AS x) w) v"),
    (
        "",
        "(SELECT {value} AS x UNION ALL SELECT name::text FROM plain) v",
    ),
    (
        "",
        "(SELECT name::text AS x FROM plain UNION SELECT {value}) v",
    ),
    (
        "",
        "(SELECT name::text AS x FROM plain EXCEPT SELECT {value}) v",
    ),
    ("", "(SELECT (SELECT {value}) AS x) v"),
    (
        "",
        "(SELECT (SELECT y FROM (SELECT {value} AS y) w) AS x) v",
    ),
    ("", "LATERAL (SELECT {value} AS x) v"),
    ("", "LATERAL (SELECT {value} || p.active::text AS x) v"),
    ("", "(VALUES ({value})) v(x)"),
    ("", "(VALUES ('a'), ({value})) v(x)"),
    (
        "",
        "(SELECT column1::text AS x FROM (VALUES ({value})) w) v",
    ),
    ("", "unnest(ARRAY[{value}]) AS v(x)"),
    ("", "unnest(ARRAY[{value}]) v(x)"),
    ("", "(SELECT unnest(ARRAY[{value}])::text AS x) v"),
    ("", "(SELECT w::text AS x FROM unnest(ARRAY[{value}]) w) v"),
    (
        "",
        "(SELECT w.w::text AS x FROM unnest(ARRAY[{value}]) w) v",
    ),
    ("", "regexp_split_to_table({value}, ',') AS v(x)"),
    (
        "",
        "(SELECT regexp_split_to_table::text AS x FROM regexp_split_to_table({value}, ',')) v",
    ),
    ("", "(SELECT k.*, {value} AS x FROM unknown_table k) v"),
    (
        "",
        "(SELECT x::text FROM (SELECT k.*, {value} AS x FROM unknown_table k) w) v",
    ),
    ("WITH v AS (SELECT {value} AS x)", "v"),
    ("WITH v(x) AS (SELECT {value})", "v"),
    ("WITH v(x) AS MATERIALIZED (VALUES ({value}))", "v"),
    (
        "WITH w AS (SELECT {value} AS y), v AS (SELECT y AS x FROM w)",
        "v",
    ),
    (
        "WITH w AS (SELECT {value} AS y), v AS (SELECT (SELECT y FROM w)::text AS x)",
        "v",
    ),
    (
        "WITH w AS (SELECT {value} AS y)",
        "(SELECT y::text AS x FROM w) v",
    ),
    (
        "WITH w AS (SELECT {value} AS y)",
        "(SELECT (SELECT y FROM w)::text AS x) v",
    ),
    (
        "WITH RECURSIVE v(x) AS (SELECT {value} UNION ALL SELECT x FROM v WHERE false)",
        "v",
    ),
    (
        "WITH RECURSIVE v(x) AS (SELECT name::text FROM plain UNION ALL SELECT {value} FROM v)",
        "v",
    ),
    (
        "",
        "plain o JOIN (SELECT {value} AS x, 1 AS id) v USING (id)",
    ),
    (
        "",
        "(SELECT {value} AS x) w JOIN (SELECT {value} AS x) v USING (x)",
    ),
    (
        "",
        "(SELECT {value} AS x) w NATURAL JOIN (SELECT {value} AS x) v",
    ),
];

/// Where it meets a protected text `c` of person `p`: what is selected, and the condition.
const MEETINGS: &[(&str, &str)] = &[
    ("p.active", "p.c = v.x"),
    ("p.active", "v.x = p.c"),
    ("p.active", "p.c = v.x::text"),
    ("p.active", "p.c <> (v.x)"),
    ("p.active", "p.c < v.x"),
    ("p.active", "p.c IN (v.x, 'b')"),
    ("p.active", "v.x IN (p.c, p.c)"),
    ("p.active", "p.c BETWEEN v.x AND v.x"),
    ("p.active", "p.c IS DISTINCT FROM v.x"),
    ("p.active", "NOT (p.c IS NOT DISTINCT FROM v.x)"),
    ("p.active", "p.c LIKE v.x"),
    ("p.active", "v.x LIKE p.c"),
    ("p.active", "p.c ILIKE v.x || '%'"),
    ("p.active", "p.c ~ v.x"),
    ("p.active", "p.c || v.x = 'b'"),
    ("p.active", "lower(p.c) = lower(v.x)"),
    ("p.active", "lower(p.c) = v.x"),
    ("p.active", "trim(p.c) || '' = v.x"),
    ("p.active", "COALESCE(p.c, v.x) = 'b'"),
    ("p.active", "NULLIF(p.c, v.x) IS NULL"),
    ("p.active", "(p.c, p.active) = (v.x, 1)"),
    ("p.active", "p.c = ANY (ARRAY[v.x])"),
    ("p.active", "CASE p.c WHEN v.x THEN true END"),
    (
        "p.active",
        "CASE WHEN lower(p.c) = v.x THEN true ELSE false END",
    ),
    ("p.active", "p.active = 1 OR lower(p.c) = v.x"),
    ("p.c || v.x", "true"),
    ("COALESCE(p.c, v.x)", "true"),
    ("COALESCE(v.x, p.c)", "true"),
    ("CASE WHEN p.active = 1 THEN p.c ELSE v.x END", "true"),
    ("CASE WHEN lower(p.c) = v.x THEN 1 ELSE 2 END", "true"),
    ("lower(p.c) = v.x", "true"),
    ("(SELECT lower(p.c) = v.x)", "true"),
    ("count(*)", "lower(p.c) = v.x GROUP BY p.active"),
    (
        "p.active",
        "true GROUP BY p.active HAVING max(lower(p.c)) = max(v.x)",
    ),
    (
        "p.active",
        "true GROUP BY p.active, p.c, v.x HAVING lower(p.c) = v.x",
    ),
    ("count(*) FILTER (WHERE lower(p.c) = v.x)", "true"),
    ("max(p.c || v.x)", "true"),
    ("p.active", "true ORDER BY p.c || v.x"),
    ("p.active", "lower(p.c) = (SELECT v.x)"),
    ("p.active", "lower(p.c) = (SELECT max(v.x) FROM plain)"),
    ("p.active", "lower(p.c) = ANY (SELECT v.x)"),
    (
        "p.active",
        "EXISTS (SELECT 1 FROM plain WHERE lower(p.c) = v.x)",
    ),
];

/// Statements in which the value meets a protected column.
fn statements(value: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for (with, from) in SOURCES {
        for (selected, condition) in MEETINGS {
            for column in ["mail", "name"] {
                let tables = match from.starts_with("LATERAL") {
                    true => format!("person p CROSS JOIN {from}"),
                    false => format!("person p, {from}"),
                };
                let statement = format!("{with} SELECT {selected} FROM {tables} WHERE {condition}");
                let statement = statement
                    .replace("{value}", value)
                    .replace("p.c", &format!("p.{column}"));
                statements.push(statement);
            }
        }
        let joined =
            format!("{with} SELECT p.active FROM person p JOIN {from} ON lower(p.name) = v.x");
        statements.push(joined.replace("{value}", value));
        let updates = [
            format!("{with} UPDATE person SET name = (SELECT x::text FROM {from}) WHERE id = 1"),
            format!("{with} UPDATE person SET name = name || (SELECT x::text FROM {from})"),
            format!("{with} UPDATE person p SET name = v.x FROM {from} WHERE p.id = 1"),
            format!("{with} INSERT INTO person (name) SELECT x FROM {from}"),
            format!("{with} DELETE FROM person p USING {from} WHERE lower(p.name) = v.x"),
        ];
        statements.extend(updates.map(|statement| statement.replace("{value}", value)));
    }
    statements
}

/// Whether a description of a plan has the first parameter in clear.
fn sends_parameter(sent: &str) -> bool {
    sent.contains("{$1 plain}")
}

#[test]
fn values_that_reach_a_protected_column_indirectly_are_not_sent_in_clear() {
    let schema = people();
    for value in [
        format!("'{CANARY}'::text"),
        format!("CAST('{CANARY}' AS text)"),
        format!("text '{CANARY}'"),
        format!("E'{CANARY}'::varchar"),
        "$1::text".to_owned(),
        "CAST($1 AS varchar)".to_owned(),
    ] {
        for statement in statements(&value) {
            for statement in [statement.clone(), format!("EXPLAIN {statement}")] {
                if plan_one(&statement, &schema).is_ok() {
                    let sent = describe(&statement, &schema);
                    assert!(!sent.contains(CANARY), "{statement}\n{sent}");
                    assert!(!sends_parameter(&sent), "{statement}\n{sent}");
                }
            }
        }
    }
}

/// The same relations beside a protected column that they do not meet.
#[test]
fn values_that_meet_no_protected_column_are_sent() {
    let schema = people();
    let mut planned = 0;
    for (with, from) in SOURCES
        .iter()
        .filter(|(_, from)| !from.starts_with("LATERAL"))
    {
        let statement = format!("{with} SELECT lower(p.name), v.x FROM person p, {from}");
        let statement = statement.replace("{value}", "'a'::text");
        planned += usize::from(plan_one(&statement, &schema).is_ok());
    }
    assert!(planned > SOURCES.len() / 2, "only {planned} are planned");
}

/// Rows of constants are written out, and what they hold is sealed beside its column.
#[test]
fn a_constant_that_reaches_a_column_indirectly_is_sealed_where_possible() {
    let expected = "one: SELECT p.active FROM \"public\".person p WHERE \
                    p.mail = {$1 match mail}";
    for text in [
        "WITH v AS (SELECT $1::text AS x) SELECT p.active FROM person p, v WHERE p.mail = v.x",
        "WITH v(x) AS (VALUES ($1)) SELECT p.active FROM person p, v WHERE p.mail = v.x",
        "SELECT p.active FROM person p, (SELECT $1 AS x) v WHERE p.mail = v.x",
        "SELECT p.active FROM person p CROSS JOIN (SELECT $1 AS x) v WHERE p.mail = v.x",
        "SELECT p.active FROM person p, LATERAL (SELECT $1 AS x) v WHERE p.mail = x",
        "WITH w AS (SELECT $1 AS x) SELECT p.active FROM person p, w v WHERE p.mail = v.x",
    ] {
        assert_eq!(describe(text, &people()).trim_end(), expected, "{text}");
    }
    let joined = "SELECT p.active FROM person p JOIN (SELECT 'a' AS x) v ON p.mail = v.x \
                  WHERE p.active = 1 OR p.active = 2";
    let expected = "one: SELECT p.active FROM \"public\".person p WHERE \
                    (p.active = 1 OR p.active = 2) AND (p.mail = {constant match mail})";
    let plan = describe(joined, &people());
    assert!(plan.starts_with(expected), "{plan}");
    for shown in ["p.active", "p.active, v.x"] {
        let text =
            format!("SELECT {shown} FROM person p, (SELECT 'a%' AS x) v WHERE p.name LIKE v.x");
        let plan = describe(&text, &people());
        assert!(
            plan.starts_with("fetch: ") && !plan.contains("a%"),
            "{plan}"
        );
    }
}

/// Where the constant would mean something else than its name did, the statement is refused.
#[test]
fn a_row_of_constants_is_inlined_only_where_that_means_the_same() {
    for text in [
        // The order and the groups would be by the number of a column.
        "SELECT p.id FROM person p, (SELECT 1 AS x) v WHERE p.visits > v.x ORDER BY v.x",
        "SELECT count(*) FROM person p, (SELECT 1 AS x) v WHERE p.visits > v.x GROUP BY v.x",
        // The name may mean a column of the table, or of another relation.
        "SELECT p.id FROM person p, (SELECT 'a' AS active) v WHERE p.name LIKE active",
        "SELECT p.id FROM person p, (SELECT 'a' AS x) v WHERE EXISTS \
         (SELECT 1 FROM plain v WHERE v.name = p.name || v.x)",
        // A row that is there or not.
        "SELECT p.id FROM person p LEFT JOIN (SELECT 'a' AS x) v ON p.mail = v.x",
        "SELECT p.id FROM person p, (SELECT 'a' AS x WHERE false) v WHERE p.mail = v.x",
        "SELECT p.id FROM person p, (SELECT 'a' AS x LIMIT 0) v WHERE p.mail = v.x",
        "SELECT p.id FROM person p, (VALUES ('a'), ('b')) v(x) WHERE p.mail = v.x",
        // All columns are shown.
        "SELECT * FROM person p, (SELECT 'a' AS x) v WHERE p.mail = v.x",
        // The query of WITH is read elsewhere too.
        "WITH v AS (SELECT 'a' AS x) SELECT p.id FROM person p, v WHERE p.mail = v.x AND \
         p.active IN (SELECT 1 FROM v)",
    ] {
        let plan = describe(text, &people());
        assert!(plan.starts_with("refused"), "{text}\n{plan}");
    }
}
