//! Generated statements: no text for the server has a constant that meets a protected column.

use crate::common::people;
use proptest::prelude::*;
use sql_rewrite::plan;

const CANARY: &str = "kanarienvogel";

fn column() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "id", "name", "mail", "born", "salary", "visits", "p.mail", "p.name",
    ])
}

fn constant() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        format!("'{CANARY}'"),
        format!("E'{CANARY}\\n'"),
        format!("$q${CANARY}$q$"),
        format!("'{CANARY}'::text"),
        format!("CAST('{CANARY}' AS varchar)"),
        format!("('{CANARY}')"),
        format!("DATE '{CANARY}'"),
        format!("N'{CANARY}'"),
        format!("U&'{CANARY}'"),
        format!("upper('{CANARY}')"),
        format!("'x' || '{CANARY}'"),
        format!("COALESCE('{CANARY}', $1)"),
        format!("(SELECT '{CANARY}')"),
        format!("CASE WHEN true THEN '{CANARY}' END"),
        format!("ARRAY['{CANARY}']"),
        format!("ANY(ARRAY['{CANARY}'])"),
        format!("ROW('{CANARY}')"),
        format!("$1 || '{CANARY}'"),
    ])
}

fn predicate() -> impl Strategy<Value = String> {
    let operators = vec![
        "=",
        "<>",
        "<",
        ">=",
        "LIKE",
        "ILIKE",
        "IS DISTINCT FROM",
        "~",
        "||",
        "@@",
        "SIMILAR TO",
        "NOT LIKE",
        "IS NOT DISTINCT FROM",
        "->",
    ];
    let leaf = (
        column(),
        prop::sample::select(operators),
        constant(),
        any::<bool>(),
    )
        .prop_map(|(column, operator, constant, swapped)| match swapped {
            true => format!("{constant} {operator} {column}"),
            false => format!("{column} {operator} {constant}"),
        });
    let list = (column(), constant(), constant())
        .prop_map(|(column, one, other)| format!("{column} IN ({one}, {other})"));
    let between = (column(), constant(), constant())
        .prop_map(|(column, one, other)| format!("{column} BETWEEN {one} AND {other}"));
    let row = (column(), column(), constant(), constant())
        .prop_map(|(a, b, one, other)| format!("({a}, {b}) = ({one}, {other})"));
    let nullif = (column(), constant())
        .prop_map(|(column, constant)| format!("NULLIF({column}, {constant}) IS NULL"));
    let case = (column(), constant())
        .prop_map(|(column, constant)| format!("CASE {column} WHEN {constant} THEN true END"));
    let part = prop_oneof![leaf, list, between, row, nullif, case];
    prop::collection::vec(part, 1..3).prop_map(|parts| parts.join(" AND "))
}

fn statement() -> impl Strategy<Value = String> {
    let select = (column(), predicate())
        .prop_map(|(column, condition)| format!("SELECT {column} FROM person p WHERE {condition}"));
    let having = (column(), column(), constant()).prop_map(|(key, column, constant)| {
        format!("SELECT {key} FROM person p GROUP BY {key} HAVING max({column}) = {constant}")
    });
    let insert = (constant(), constant()).prop_map(|(one, other)| {
        format!("INSERT INTO person AS p (name, mail) VALUES ({one}, {other})")
    });
    let insert_select = (constant(), column()).prop_map(|(one, column)| {
        format!("INSERT INTO person (name, mail) SELECT {one}, {column} FROM person p")
    });
    let conflict = (constant(), predicate()).prop_map(|(one, condition)| {
        format!(
            "INSERT INTO person AS p (id) VALUES (1) ON CONFLICT (id) \
             DO UPDATE SET mail = {one} WHERE {condition}"
        )
    });
    let update = (column(), constant(), predicate()).prop_map(|(column, constant, condition)| {
        let column = column.trim_start_matches("p.");
        format!("UPDATE person p SET {column} = {constant} WHERE {condition}")
    });
    let computed = (column(), constant()).prop_map(|(column, constant)| {
        let column = column.trim_start_matches("p.");
        format!("UPDATE person p SET {column} = {column} || {constant} WHERE id = 1")
    });
    let delete =
        predicate().prop_map(|condition| format!("DELETE FROM person p WHERE {condition}"));
    let join = predicate().prop_map(|condition| {
        format!("SELECT 1 FROM visit v JOIN person p ON v.person_id = p.id AND {condition}")
    });
    let derived = predicate()
        .prop_map(|condition| format!("SELECT * FROM (SELECT * FROM person) p WHERE {condition}"));
    let exists = predicate().prop_map(|condition| {
        format!("SELECT 1 FROM plain WHERE EXISTS (SELECT 1 FROM person p WHERE {condition})")
    });
    prop_oneof![
        select,
        having,
        insert,
        insert_select,
        conflict,
        update,
        computed,
        delete,
        join,
        derived,
        exists
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_constant_for_a_protected_column_is_sent(statement in statement()) {
        let schema = people();
        match plan(&statement, &schema) {
            Ok(planned) => {
                for planned in planned {
                    let sent = sql_rewrite::describe(&planned.plan, &schema);
                    prop_assert!(!sent.contains(CANARY), "{statement}\n{sent}");
                    let shown = format!("{:?}", planned.plan);
                    prop_assert!(!shown.contains(CANARY), "{statement}\n{shown}");
                }
            }
            Err(refusal) => {
                let shown = format!("{refusal:?}");
                prop_assert!(!shown.contains(CANARY), "{statement}\n{shown}");
            }
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "SELECT", "FROM", "person", "WHERE", "mail", "=", "'x'", "$1", "(", ")", ",", "*",
                "UPDATE", "SET", "INSERT INTO", "VALUES", "AND", "OR", "NOT", "NULL", "GROUP BY",
                "ORDER BY", "LIMIT", "1", "sum(salary)", "JOIN", "ON", "visit", "USING", "id",
                "UNION", "AS", "p", ".", "DEFAULT", "RETURNING", "FOR UPDATE", "IN", "LIKE", ";",
                "CASE", "WHEN", "THEN", "END", "WITH", "name", "||", "::", "text", "E'\\001'",
            ]),
            0..25,
        )
    ) {
        let _ = plan(&words.join(" "), &people());
    }
}
