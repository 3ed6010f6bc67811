//! What is computed from protected columns is what the server would have computed, of the same
//! type: before a real server, beside a plain table.

use crate::common::texts::{Text, answer, assert_refused};
use crate::common::{Setup, with_twin};
use postgres::Client;
use postgres::types::{FromSql, ToSql, Type};

const ITEMS: &str = r#"
[columns.item]
name = { type = "text", mode = "equality" }
qty = { type = "integer" }
small = { type = "smallint" }
"#;

/// A table of items with numbers that are protected, a plain one with the same, and one of numbers.
fn start_with_items() -> Option<(Setup, Client)> {
    let columns = "(id integer PRIMARY KEY, name text, qty integer, small smallint, n integer)";
    let rows = "(1, 'a', 1, 2, 10), (2, 'b', 3, NULL, 20), (3, 'c', NULL, 5, 30)";
    let (setup, mut client) = with_twin(ITEMS, "item", columns, rows)?;
    let numbers = "CREATE TABLE number (a integer, b numeric, c smallint); \
                   INSERT INTO number VALUES (1, 1.5, 1), (2, 2.0, 1)";
    client.batch_execute(numbers).expect("plain numbers");
    Some((setup, client))
}

/// The bytes of a value, whatever its type.
#[derive(Debug, PartialEq)]
struct Bytes(Vec<u8>);

impl<'a> FromSql<'a> for Bytes {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The type of the column `x` as the client is told, and its values.
fn typed(
    client: &mut Client,
    sql: &str,
    declared: &[Type],
    value: &str,
) -> (Type, Vec<Option<Bytes>>) {
    let statement = client.prepare_typed(sql, declared).expect(sql);
    let mut columns = statement.columns().iter();
    let column = columns.find(|column| column.name() == "x").expect(sql);
    let text = Text(value);
    let values = [&text as &(dyn ToSql + Sync)];
    let rows = client.query(&statement, &values[..declared.len()]);
    let rows = rows.expect(sql);
    let values = rows.iter().map(|row| row.get("x")).collect();
    (column.type_().clone(), values)
}

#[test]
fn numbers_keep_the_type_that_they_are_computed_in() {
    let Some((_setup, mut client)) = start_with_items() else {
        return;
    };
    let mut check = |sql: &str, declared: &[Type], value: &str| {
        let wanted = typed(&mut client, &sql.replace("item", "plain"), declared, value);
        let given = typed(&mut client, sql, declared, value);
        assert_eq!(given, wanted, "{sql}, {declared:?} {value}");
    };
    for (declared, value) in [
        (Type::NUMERIC, "1.5"),
        (Type::FLOAT8, "1.5"),
        (Type::INT8, "3"),
        (Type::INT4, "3"),
    ] {
        for sql in [
            "SELECT id, qty * $1 AS x FROM item ORDER BY id",
            "SELECT -(small + $1) AS x FROM item ORDER BY id",
            "SELECT sum(qty * $1) AS x FROM item",
            "SELECT COALESCE(qty, $1) AS x FROM item ORDER BY id",
            "SELECT COALESCE(small * $1, qty) AS x FROM item ORDER BY id",
            "SELECT COALESCE(sum(qty * $1), 0) AS x FROM item",
            "SELECT CASE WHEN qty > 1 THEN qty ELSE $1 END AS x FROM item ORDER BY id",
            "SELECT CASE WHEN qty > 1 THEN small * $1 ELSE NULL END AS x FROM item ORDER BY id",
        ] {
            check(sql, std::slice::from_ref(&declared), value);
        }
    }
    for sql in [
        "SELECT u.x + i.qty AS x FROM item i, \
         (SELECT a AS x FROM number UNION ALL SELECT b FROM number) u \
         WHERE u.x <> 2 ORDER BY u.x, i.id",
        "SELECT u.x + i.qty AS x FROM item i, \
         (SELECT c AS x FROM number UNION SELECT a FROM number) u ORDER BY u.x, i.id",
        "SELECT a + qty AS x FROM number JOIN (SELECT b AS a FROM number) m USING (a), item \
         ORDER BY id",
        "SELECT CAST(b AS integer) + qty AS x FROM number, item ORDER BY b, id",
    ] {
        check(sql, &[], "");
    }
}

#[test]
fn expressions_mean_what_they_mean_to_the_server() {
    let Some((setup, mut client)) = start_with_items() else {
        return;
    };
    for sql in [
        "SELECT id, (NULL OR TRUE), (NULL AND FALSE), (NULL OR FALSE), (NULL = 1) FROM item \
         ORDER BY id",
        "SELECT id FROM item WHERE NULL OR TRUE ORDER BY id",
        "SELECT id, qty ISNULL, name isnull, qty NOTNULL FROM item ORDER BY id",
        "SELECT id FROM item WHERE small ISNULL",
        "SELECT s.\"case\", s.\"int4\" FROM (SELECT CASE WHEN id > 1 THEN id ELSE 0 END, \
         (id + 1)::integer FROM item) s ORDER BY 2",
    ] {
        let wanted = answer(&mut client, &sql.replace("item", "plain")).expect(sql);
        assert_eq!(answer(&mut client, sql).expect(sql), wanted, "{sql}");
    }
    let mut owner = setup.server.connect();
    owner
        .batch_execute(
            "CREATE SCHEMA stats; \
             CREATE AGGREGATE stats.avg (integer) (SFUNC = int4larger, STYPE = integer)",
        )
        .expect("an aggregate of that name");
    assert_refused(&mut client, "SELECT stats.avg(qty) FROM item");
    let update = "UPDATE item SET qty = qty + 1, n = (SELECT max(n) FROM item) + 1";
    assert_refused(&mut client, update);
    for table in ["item", "plain"] {
        let update = format!("{update} WHERE id = 1").replace("item", table);
        client.batch_execute(&update).expect(&update);
        let select = format!("SELECT qty, n FROM {table} ORDER BY id");
        let rows = answer(&mut client, &select).expect(&select);
        assert_eq!(rows, ["2|31", "3|20", "NULL|30"], "{select}");
    }
}

/// Else a name is looked for around the query, and a constant goes to the server in clear.
#[test]
fn columns_without_a_name_are_found_by_that_of_the_server() {
    let Some((_setup, mut client)) = start_with_items() else {
        return;
    };
    client
        .batch_execute("UPDATE item SET name = 'CANARYname' WHERE id = 2")
        .expect("an item");
    for query in [
        "SELECT CASE WHEN c.id > 0 THEN c.name ELSE c.name END FROM item c",
        "SELECT (SELECT c.name FROM item c WHERE id = 2 UNION SELECT c.name FROM item c \
         WHERE id = 2)",
    ] {
        let exists = format!("EXISTS (SELECT 1 FROM ({query}) s WHERE name = 'CANARYname')");
        let sql = format!(
            "SELECT p.id FROM plain p, item k WHERE p.id = k.id AND {exists} ORDER BY p.id"
        );
        let found = answer(&mut client, &sql).expect(&sql);
        assert_eq!(found, ["1", "2", "3"], "{sql}");
    }
}

/// A constant that comes to a protected column as the row of a query is sealed beside it.
#[test]
fn rows_of_constants_find_what_they_find_in_a_plain_table() {
    let Some((_setup, mut client)) = start_with_items() else {
        return;
    };
    for (rows, what, condition) in [
        ("WITH v AS (SELECT 'b'::text AS x)", ", v", "i.name = v.x"),
        ("", ", (SELECT 'b' AS x) v", "i.name = v.x OR i.name = 'c'"),
        ("", " JOIN (VALUES ('b')) v(x) ON i.name = v.x", "i.n < 100"),
        ("", " CROSS JOIN (SELECT 2 AS x) v", "i.qty > v.x"),
        ("", ", LATERAL (SELECT 3 AS x) v", "i.qty + x = 6"),
        ("", ", (SELECT 'b%' AS x) v", "i.name LIKE v.x"),
        ("", ", (SELECT 'z' AS x) v", "COALESCE(i.name, v.x) <> 'a'"),
        ("", ", (SELECT NULL::text AS x) v", "i.name = v.x"),
        ("", ", (SELECT 'b' AS x) v", "i.name || '!' = v.x || '!'"),
        (
            "",
            ", (SELECT 'b' AS x) v",
            "i.id IN (SELECT n.a FROM number n WHERE i.name = v.x)",
        ),
    ] {
        let sql =
            format!("{rows} SELECT i.id, v.x FROM item i{what} WHERE {condition} ORDER BY i.id");
        let wanted = answer(&mut client, &sql.replace("item", "plain")).expect(&sql);
        assert_eq!(answer(&mut client, &sql).expect(&sql), wanted, "{sql}");
    }
    let by_parameter = "SELECT i.id AS x FROM item i, (SELECT $1::text AS v) w WHERE i.name = w.v";
    let given = typed(&mut client, by_parameter, &[Type::TEXT], "b");
    let of_plain = by_parameter.replace("item", "plain");
    let wanted = typed(&mut client, &of_plain, &[Type::TEXT], "b");
    assert_eq!(given, wanted);
}
