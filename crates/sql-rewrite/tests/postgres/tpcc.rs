//! The DDL of TPC-C under the rules of `examples/tpcc-columns`: a server accepts what the proxy
//! makes of it.

use sql_plan::{Mode, Rules};

use super::{ask, rules, run, shown};

const SETS: [(&str, &str); 4] = [
    (
        "20",
        include_str!("../../../../examples/tpcc-columns/20.toml"),
    ),
    (
        "50",
        include_str!("../../../../examples/tpcc-columns/50.toml"),
    ),
    (
        "100",
        include_str!("../../../../examples/tpcc-columns/100.toml"),
    ),
    (
        "sensitive",
        include_str!("../../../../examples/tpcc-columns/sensitive.toml"),
    ),
];

/// Tables in an order that foreign keys allow, and their primary keys (TPC-C 1.3).
const TABLES: [(&str, &str); 9] = [
    ("warehouse", "w_id"),
    ("item", "i_id"),
    ("stock", "s_w_id, s_i_id"),
    ("district", "d_w_id, d_id"),
    ("customer", "c_w_id, c_d_id, c_id"),
    ("history", ""),
    ("oorder", "o_w_id, o_d_id, o_id"),
    ("new_order", "no_w_id, no_d_id, no_o_id"),
    ("order_line", "ol_w_id, ol_d_id, ol_o_id, ol_number"),
];

/// Foreign keys: table, columns, table referred to; half of them without its columns.
const FOREIGN_KEYS: [(&str, &str, &str); 10] = [
    ("stock", "s_w_id", "warehouse (w_id)"),
    ("stock", "s_i_id", "item"),
    ("district", "d_w_id", "warehouse"),
    ("customer", "c_w_id, c_d_id", "district (d_w_id, d_id)"),
    ("history", "h_c_w_id, h_c_d_id, h_c_id", "customer"),
    ("history", "h_w_id, h_d_id", "district (d_w_id, d_id)"),
    (
        "oorder",
        "o_w_id, o_d_id, o_c_id",
        "customer (c_w_id, c_d_id, c_id)",
    ),
    ("new_order", "no_w_id, no_d_id, no_o_id", "oorder"),
    (
        "order_line",
        "ol_w_id, ol_d_id, ol_o_id",
        "oorder (o_w_id, o_d_id, o_id)",
    ),
    ("order_line", "ol_supply_w_id, ol_i_id", "stock"),
];

/// All DDL in clear. The rules for all columns have the types.
fn statements() -> Vec<String> {
    let all = rules(SETS[2].1);
    let mut statements: Vec<String> = TABLES
        .iter()
        .map(|(table, key)| {
            let mut parts: Vec<String> = all.tables[*table]
                .iter()
                .map(|(column, rule)| {
                    let default = rule
                        .default
                        .as_deref()
                        .map(|text| format!(" DEFAULT {text}"));
                    format!("{column} {}{}", rule.logical, default.unwrap_or_default())
                })
                .collect();
            if !key.is_empty() {
                parts.push(format!("PRIMARY KEY ({key})"));
            }
            format!("CREATE TABLE {table} ({})", parts.join(", "))
        })
        .collect();
    statements.extend(FOREIGN_KEYS.iter().map(|(table, columns, other)| {
        format!(
            "ALTER TABLE {table} ADD CONSTRAINT fkey_{}_{table} FOREIGN KEY ({columns}) \
             REFERENCES {other} ON DELETE CASCADE",
            columns.replace(", ", "_")
        )
    }));
    statements.push("CREATE INDEX idx_order ON oorder (o_w_id, o_d_id, o_c_id, o_id)".to_owned());
    let by_name = "CREATE INDEX idx_customer_name ON customer (c_w_id, c_d_id, c_last, c_first)";
    statements.push(by_name.to_owned());
    statements
}

fn rule_count(rules: &Rules) -> usize {
    rules.tables.values().map(|columns| columns.len()).sum()
}

#[test]
fn tables_keys_and_indexes_of_each_set_are_accepted() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let statements = statements();
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    for (name, set) in SETS {
        let rules = rules(set);
        let schema = run(&mut client, &rules, &statements);
        let found = ask(
            &mut client,
            "SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND attnum > 0 \
             AND a.atttypid = 'bytea'::regtype",
        );
        assert_eq!(found[0][0], Some(rule_count(&rules).to_string()), "{name}");
        let query = "SELECT count(*) FROM pg_catalog.pg_attribute a \
                     JOIN pg_class c ON c.oid = a.attrelid \
                     WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 \
                     AND a.atttypid = 'bytea'::regtype";
        let told = ask(&mut client, &shown(query, &schema));
        assert_eq!(told[0][0].as_deref(), Some("0"), "{name}");
        let keys = ask(
            &mut client,
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f'",
        );
        assert_eq!(keys[0][0].as_deref(), Some("10"), "{name}");
        for (table, key) in TABLES {
            let table = schema.find(None, table).expect("it was created");
            let columns = |places: &Vec<usize>| {
                let names = places.iter().map(|at| table.columns[*at].name.clone());
                names.collect::<Vec<_>>().join(", ")
            };
            assert_eq!(
                table.unique_keys.first().map(columns).unwrap_or_default(),
                key
            );
        }
        let names: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
        ask(
            &mut client,
            &format!("DROP TABLE {} CASCADE", names.join(", ")),
        );
    }
}

#[test]
fn the_tpcc_rules_allow_no_more_than_needed() {
    let rules = rules(SETS[2].1);
    let count = |mode: Mode| {
        let all = rules.tables.values().flat_map(|columns| columns.values());
        all.filter(|rule| rule.mode == mode).count()
    };
    assert_eq!((count(Mode::Equality), count(Mode::Order)), (25, 4));
}
