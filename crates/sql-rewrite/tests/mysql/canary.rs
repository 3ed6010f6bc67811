//! Generated statements of MySQL: no text for the server has a constant that meets a protected
//! column, and no text makes the planner panic.

use proptest::prelude::*;
use sql_rewrite::mysql::MySql;
use sql_rewrite::{describe, plan};

use super::{people, servers};

const CANARY: &str = "4242424242";

fn column() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "number",
        "p.number",
        "NUMBER",
        "`number`",
        "p.`Number`",
        "name",
        "p.name",
    ])
}

fn constant() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        format!("{CANARY}"),
        format!("-{CANARY}"),
        format!("'{CANARY}'"),
        format!("\"{CANARY}\""),
        format!("('{CANARY}')"),
        format!("'\\\\{CANARY}'"),
        format!("'{CANARY}\\'x'"),
        format!("'x' '{CANARY}'"),
        format!("{CANARY} + 1"),
        format!("1 - -{CANARY}"),
        format!("ABS({CANARY})"),
        format!("concat('{CANARY}', ?)"),
        format!("N'{CANARY}'"),
        format!("_utf8mb4'{CANARY}'"),
        format!("DATE '{CANARY}'"),
        format!("CAST('{CANARY}' AS SIGNED)"),
        format!("(SELECT {CANARY})"),
        format!("/*! {CANARY} */"),
        format!("/* {CANARY} */ 5"),
        format!("5 -- {CANARY}\n"),
        format!("{CANARY}e0"),
        format!("{CANARY}.5"),
        format!("BINARY '{CANARY}'"),
        format!("TRUE = '{CANARY}'"),
        format!("@x = '{CANARY}'"),
        format!("(@x := '{CANARY}')"),
    ])
}

fn predicate() -> impl Strategy<Value = String> {
    let operators = vec![
        "=", "<>", "!=", "<=>", "<", ">=", "LIKE", "NOT LIKE", "REGEXP", "||", "&&", "^", "+", "-",
        "DIV", "IS NOT", "->",
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
    let part = prop_oneof![leaf, list, between, row];
    prop::collection::vec(part, 1..3).prop_map(|parts| parts.join(" AND "))
}

fn statement() -> impl Strategy<Value = String> {
    let select = (column(), predicate())
        .prop_map(|(column, condition)| format!("SELECT {column} FROM person p WHERE {condition}"));
    let having = (column(), constant()).prop_map(|(column, constant)| {
        format!("SELECT {column} FROM person p GROUP BY {column} HAVING {column} = {constant}")
    });
    let shown = (column(), constant())
        .prop_map(|(column, constant)| format!("SELECT {column} = {constant} AS x FROM person p"));
    let insert = (constant(), constant()).prop_map(|(one, other)| {
        format!("INSERT INTO person (name, number) VALUES ({one}, {other})")
    });
    let whole = (constant(), constant())
        .prop_map(|(one, other)| format!("INSERT INTO person VALUES (1, {one}, {other})"));
    let conflict = (constant(), constant()).prop_map(|(one, other)| {
        format!(
            "INSERT INTO person (number) VALUES ({one}) ON DUPLICATE KEY UPDATE number = {other}"
        )
    });
    let update = (column(), constant(), predicate()).prop_map(|(column, constant, condition)| {
        format!("UPDATE person p SET {column} = {constant} WHERE {condition}")
    });
    let computed = (column(), constant()).prop_map(|(column, constant)| {
        format!("UPDATE person p SET {column} = {column} + {constant} WHERE id = 1")
    });
    let delete = predicate().prop_map(|condition| format!("DELETE FROM person WHERE {condition}"));
    let join = predicate().prop_map(|condition| {
        format!("SELECT c.number FROM card c JOIN person p ON c.number = p.number AND {condition}")
    });
    let joined = (column(), constant(), predicate()).prop_map(|(column, constant, condition)| {
        format!(
            "UPDATE person p JOIN card c ON c.number = p.number SET {column} = {constant}, \
             c.number = {constant} WHERE {condition}"
        )
    });
    let deleted = predicate().prop_map(|condition| {
        format!("DELETE c, p FROM card c JOIN person p ON c.number = p.number AND {condition}")
    });
    prop_oneof![
        select, having, shown, insert, whole, conflict, update, computed, delete, join, joined,
        deleted
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn no_constant_for_a_protected_column_is_sent(statement in statement()) {
        // Names may be told.
        let has_names = |own: &MySql| own.ansi_quotes && statement.contains('"');
        for own in servers().into_iter().filter(|own| !has_names(own)) {
            let schema = people(own);
            match plan(&statement, &schema) {
                Ok(planned) => {
                    for planned in planned {
                        let sent = describe(&planned.plan, &schema);
                        prop_assert!(!sent.contains(CANARY), "{statement}\n{sent}");
                        let shown = format!("{:?}", planned.plan);
                        prop_assert!(!shown.contains(CANARY), "{statement}\n{shown}");
                    }
                }
                Err(refusal) => {
                    let shown = format!("{refusal:?}");
                    prop_assert!(!shown.contains(CANARY), "{statement}\n{shown}");
                    let is_doubt = sql_rewrite::is_of_second_proof(&refusal.message);
                    prop_assert!(!is_doubt, "only the verifier refuses {statement}\n{shown}");
                }
            }
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "SELECT", "FROM", "person", "WHERE", "number", "=", "'x'", "?", "(", ")", ",", "*",
                "UPDATE", "SET", "INSERT INTO", "VALUES", "AND", "OR", "NOT", "NULL", "GROUP BY",
                "ORDER BY", "LIMIT", "1", "sum(id)", "JOIN", "ON", "card", "USING", "id", "UNION",
                "AS", "p", ".", "DEFAULT", "FOR UPDATE", "IN", "LIKE", ";", "CASE", "WHEN", "`",
                "\"", "'", "\\", "#", "--", "\n", "/*", "*/", "/*!50000", "@", "0x", "CREATE TABLE",
                "INT", "VARCHAR(20)", "BIGINT", "name", "KEY", "PRIMARY KEY", "FOREIGN KEY",
                "REFERENCES", "CHECK", "ENGINE=InnoDB", "DROP TABLE", "\u{1}", "\u{2}", "0\u{2}",
                "é", "\0",
            ]),
            0..25,
        ),
        is_apart in any::<bool>(),
    ) {
        let text = words.join(if is_apart { " " } else { "" });
        for own in servers() {
            let schema = people(own);
            let _ = plan(&text, &schema);
            let _ = sql_rewrite::explain::statements(&text, &schema);
        }
    }
}
