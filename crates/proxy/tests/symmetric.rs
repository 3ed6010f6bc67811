//! `BETWEEN SYMMETRIC`, as in a plain twin.

use crate::common::Setup;
use crate::common::texts::{Text, answer, code};

const RULES: &str = r#"
[columns.item]
price = { type = "numeric(10,2)" }
count = { type = "integer", mode = "order" }
name = { type = "text", mode = "equality" }
"#;

#[test]
fn bounds_come_in_any_order() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with_finisher(RULES);
    let mut client = setup.connect();
    for table in ["item", "plain"] {
        let make = format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, price numeric(10,2), count integer, \
             name text, made date)"
        );
        client.batch_execute(&make).expect(&make);
        let insert = format!(
            "INSERT INTO {table} SELECT g, g * 1.5, 20 - g, 'name ' || g, date '2024-01-01' + g \
             FROM generate_series(1, 12) g"
        );
        client.batch_execute(&insert).expect(&insert);
    }
    for query in [
        "SELECT id FROM item WHERE price BETWEEN SYMMETRIC 9 AND 3 ORDER BY id",
        "SELECT id FROM item WHERE price NOT BETWEEN SYMMETRIC 9 AND 3 AND id > 2 ORDER BY id",
        "SELECT id FROM item WHERE count BETWEEN SYMMETRIC 15 AND 11 ORDER BY id",
        "SELECT id FROM item WHERE name BETWEEN SYMMETRIC 'name 5' AND 'name 2' ORDER BY id",
        "SELECT id FROM item WHERE id BETWEEN SYMMETRIC 7 AND 3 AND name = 'name 5'",
        "SELECT id, name FROM item WHERE id BETWEEN SYMMETRIC 7 AND 3 ORDER BY id",
        "SELECT id FROM item WHERE count BETWEEN ASYMMETRIC 11 AND 15 ORDER BY id",
        "SELECT id, price BETWEEN SYMMETRIC count AND CASE WHEN id > 3 AND price < 9 THEN 1 END \
         FROM item ORDER BY id",
        "SELECT id FROM item WHERE made BETWEEN SYMMETRIC '2024-01-09' AND '2024-01-05' AND price \
         > 2 ORDER BY id",
        "UPDATE item SET name = 'other' WHERE price BETWEEN SYMMETRIC 9 AND 3 RETURNING id",
        "DELETE FROM item WHERE count NOT BETWEEN SYMMETRIC 15 AND 11 RETURNING id",
        "SELECT count(*) FROM item WHERE price BETWEEN SYMMETRIC 'x' AND 3",
    ] {
        let mut said =
            |query: &str| answer(&mut client, query).map_err(|error| code(&error).to_owned());
        let own = said(query);
        assert_eq!(own, said(&query.replace("item", "plain")), "{query}");
        if !query.contains("'x'") {
            assert!(own.is_ok_and(|rows| !rows.is_empty()), "{query}");
        }
    }
    let mut ids = |table: &str| -> Vec<i32> {
        let query =
            format!("SELECT id FROM {table} WHERE price BETWEEN SYMMETRIC $1 AND $2 ORDER BY id");
        let rows = client.query(&query, &[&Text("13.50"), &Text("1.50")]);
        rows.expect("rows").iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(ids("item"), ids("plain"));
}
