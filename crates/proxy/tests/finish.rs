//! Queries that the proxy finishes, on a real server: each also over a plain table with the same
//! rows. Rows, types, counts and errors are the same.

use crate::common::Setup;
use postgres::error::SqlState;
use postgres::{Client, SimpleQueryMessage};

const RULES: &str = r#"
[columns.item]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(20)" }
kind = { type = "char(6)" }
note = { type = "text" }
price = { type = "numeric(10,2)" }
quantity = { type = "integer" }
weight = { type = "double precision" }
made = { type = "date" }
seen = { type = "timestamptz" }

[columns.order_line]
ol_w_id = { type = "integer", mode = "equality", domain = "warehouse", accept_leakage = true }
ol_o_id = { type = "integer", mode = "order", bits = 31 }
ol_amount = { type = "numeric(6,2)" }

[columns.customer]
c_id = { type = "integer", mode = "equality" }
c_last = { type = "varchar(16)", mode = "equality" }
c_first = { type = "varchar(16)" }
"#;

const COLUMNS: &str = "(id integer PRIMARY KEY, shelf integer, name varchar(20), kind char(6), \
                       note text, price numeric(10,2), quantity integer, weight double precision, \
                       made date, seen timestamptz)";

const ROWS: &str = "\
    (1, 1, 'CANARYb', 'x', NULL, 10.50, 3, 0.5, '2001-02-03', '2001-02-03 04:05Z'), \
    (2, 1, 'CANARYB', 'xy', 'CANARY long', 0.25, NULL, 1e10, '1999-12-31', NULL), \
    (3, 2, 'CANARYa', 'x', 'CANARY', NULL, 3, NULL, NULL, '2020-02-29 23:59:59.5+02'), \
    (4, 2, NULL, NULL, '', 99999999.99, 7, -0.5, '2001-02-03', '1990-01-01 00:00Z'), \
    (5, NULL, 'CANARYä', 'y', 'CANARY_%', 10.50, -1, 0.5, '2010-10-10', '2001-02-03 04:05Z')";

fn start_with(more: &str) -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start_with(RULES, more);
    assert_eq!(setup.psql(&format!("CREATE TABLE item {COLUMNS}")), "");
    let plain = setup.server.connect().batch_execute(&format!(
        "CREATE TABLE plain {COLUMNS}; INSERT INTO plain VALUES {}",
        ROWS.replace("CANARY", "plain!")
    ));
    plain.expect("made past the proxy");
    let insert = format!("INSERT INTO item VALUES {ROWS}");
    assert_eq!(setup.psql(&insert), "");
    Some(setup)
}

fn start() -> Option<Setup> {
    start_with("")
}

type Rows = Vec<Vec<Option<String>>>;

fn simple(client: &mut Client, sql: &str) -> Result<(Vec<String>, Rows, u64), String> {
    let messages = client.simple_query(sql).map_err(|error| {
        let code = error.code().map(|code| code.code().to_owned());
        code.unwrap_or_else(|| error.to_string())
    })?;
    let (mut names, mut rows, mut count) = (Vec::new(), Vec::new(), 0);
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                names = columns.iter().map(|one| one.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let field = |place| row.get(place).map(|text| text.replace("plain!", "CANARY"));
                rows.push((0..row.len()).map(field).collect());
            }
            SimpleQueryMessage::CommandComplete(tag) => count = tag,
            _ => {}
        }
    }
    Ok((names, rows, count))
}

/// Queries over the table `item`, as they are over the table `plain`.
const QUERIES: &[&str] = &[
    "SELECT sum(price), avg(price), min(price), max(price), count(price), count(*) FROM item",
    "SELECT sum(quantity) AS total, avg(quantity), sum(weight), avg(weight) FROM item",
    "SELECT min(name), max(kind), min(made), max(seen) FROM item",
    "SELECT sum(quantity) FROM item WHERE id = 99",
    "SELECT count(DISTINCT price), sum(DISTINCT quantity) FROM item",
    "SELECT count(*) FILTER (WHERE price > 1) FROM item",
    "SELECT id, name FROM item ORDER BY name, id",
    "SELECT id FROM item ORDER BY price DESC NULLS LAST, id DESC LIMIT 3 OFFSET 1",
    "SELECT id, shelf FROM item ORDER BY kind, made, id",
    "SELECT id FROM item WHERE name LIKE 'CANARY%' AND name NOT LIKE '%B' ORDER BY name",
    "SELECT id FROM item WHERE note ILIKE '%\\_\\%' ORDER BY price",
    "SELECT id FROM item WHERE price BETWEEN 1 AND 11 ORDER BY id DESC, price",
    "SELECT id FROM item WHERE price = 10.5 AND kind = 'x' ORDER BY price",
    "SELECT id FROM item WHERE quantity IN (3, 7) ORDER BY quantity, id",
    "SELECT id FROM item WHERE made < '2005-01-01' AND shelf = 1 ORDER BY made",
    "SELECT id FROM item WHERE seen = '2001-02-03 04:05Z' ORDER BY seen, id",
    "SELECT id FROM item WHERE NOT (quantity > 2) ORDER BY quantity",
    "SELECT id, quantity * price, price + 1, -quantity FROM item ORDER BY price, id",
    "SELECT id, CASE WHEN price > 5 THEN 'dear' ELSE 'cheap' END FROM item ORDER BY price, id",
    "SELECT id, COALESCE(note, 'none') AS called FROM item ORDER BY price, id",
    "SELECT id, CAST(price AS integer), note || '!' FROM item ORDER BY price, id",
    "SELECT kind, count(*), sum(quantity) FROM item GROUP BY kind ORDER BY kind",
    "SELECT shelf, sum(price) FROM item GROUP BY shelf ORDER BY shelf",
    "SELECT price, count(*) FROM item GROUP BY price HAVING count(*) > 1",
    "SELECT DISTINCT price FROM item ORDER BY price",
    "SELECT DISTINCT kind, quantity FROM item ORDER BY kind, quantity",
    "SELECT id FROM item WHERE price / quantity > 1 AND quantity <> 0 ORDER BY price",
    "SELECT price / (quantity - 3) FROM item",
    "SELECT quantity * 2000000000 FROM item",
    "SELECT CAST(note AS integer) FROM item",
    "SELECT id FROM item ORDER BY price LIMIT -1",
    "SELECT id, power(quantity - 2, 2), quantity ^ 2 FROM item ORDER BY quantity, id",
    "SELECT power(quantity - 3, -1) FROM item",
    "SELECT power(weight, 0.5) FROM item",
    "SELECT power(weight, 99) FROM item",
    // An aggregate within another query: the server gathers, the proxy computes.
    "SELECT shelf, total FROM (SELECT shelf, sum(price) AS total FROM item GROUP BY shelf) t \
     WHERE total > 5 ORDER BY total",
    "SELECT t.shelf, t.n, t.s FROM (SELECT shelf, count(*) AS n, sum(quantity) AS s, max(id) AS m \
     FROM item GROUP BY shelf) t WHERE t.n <> t.s AND m > 2 ORDER BY t.n, t.shelf",
    "SELECT shelf FROM (SELECT shelf, sum(quantity) FILTER (WHERE id = 2) AS s FROM item \
     GROUP BY shelf) t WHERE s IS NULL ORDER BY shelf",
    "SELECT id, total - price, total IS NULL FROM (SELECT i.id, i.price, (SELECT sum(j.price) \
     FROM item j WHERE j.shelf = i.shelf) AS total FROM item i) t ORDER BY price, id",
    "SELECT count(*) FROM (SELECT price, (SELECT avg(j.price) FROM item j) AS mean FROM item) t \
     WHERE price < mean",
    "WITH t AS (SELECT shelf, avg(price) AS mean, min(name) AS first FROM item GROUP BY shelf) \
     SELECT shelf, mean, first FROM t WHERE mean > 1 ORDER BY mean",
    "SELECT * FROM (SELECT shelf, sum(price), max(made), min(kind), avg(weight) FROM item \
     GROUP BY shelf) t ORDER BY sum, shelf",
    "SELECT count(*), sum(s) FROM (SELECT q.s FROM (SELECT shelf, sum(quantity) AS s FROM item \
     GROUP BY shelf) q WHERE q.shelf IS NOT NULL) r WHERE s > 0",
    "SELECT i.id, n FROM item i JOIN (SELECT id, count(*) AS n FROM item GROUP BY id ORDER BY id) \
     t ON t.id = i.id WHERE i.price > n ORDER BY i.price, n, i.id",
    "SELECT s / (s - 3) FROM (SELECT id, sum(quantity) AS s FROM item GROUP BY id) t",
    // Constants are cast to the limits of a type.
    "SELECT id, price * '1.5'::numeric(2,0), note || 'abcdef'::varchar(3) FROM item \
     ORDER BY price, id",
    "SELECT id FROM item WHERE price > '10.496'::numeric(4,2) ORDER BY price, id",
    "SELECT id FROM item WHERE kind = 'xyz'::char(2) ORDER BY price",
    "SELECT price * '100'::numeric(2,0) FROM item",
];

#[test]
fn answers_to_a_simple_query_are_those_of_a_plain_table() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for sql in QUERIES {
        let plain = sql.replace("item", "plain").replace("CANARY", "plain!");
        let wanted = simple(&mut client, &plain);
        assert_eq!(simple(&mut client, sql), wanted, "{sql}");
    }
}

#[test]
fn answers_to_the_extended_protocol_are_those_of_a_plain_table() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for sql in QUERIES {
        let plain = sql.replace("item", "plain").replace("CANARY", "plain!");
        let described = |client: &mut Client, sql: &str| {
            let statement = client.prepare(sql).map_err(|error| error.code().cloned())?;
            let columns = statement.columns().iter();
            let columns = columns.map(|column| (column.name().to_owned(), column.type_().clone()));
            let columns: Vec<_> = columns.collect();
            let rows = client.query(&statement, &[]);
            let rows = rows.map_err(|error| error.code().cloned())?;
            // Values come in binary, and are the same where the bytes are.
            let shown = rows.iter().map(|row| {
                let field = |place| {
                    let bytes: Option<Raw> = row.get(place);
                    bytes.map(|raw| String::from_utf8_lossy(&raw.0).replace("plain!", "CANARY"))
                };
                (0..row.len()).map(field).collect::<Vec<_>>()
            });
            Ok::<_, Option<SqlState>>((columns, shown.collect::<Vec<_>>()))
        };
        let wanted = described(&mut client, &plain);
        assert_eq!(described(&mut client, sql), wanted, "{sql}");
    }
}

/// The bytes of a value of any type.
struct Raw(Vec<u8>);

impl<'a> postgres::types::FromSql<'a> for Raw {
    fn from_sql(
        _: &postgres::types::Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &postgres::types::Type) -> bool {
        true
    }
}

#[test]
fn parameters_take_part_in_what_is_computed() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for (sql, count) in [
        ("SELECT id FROM item WHERE quantity > $1 ORDER BY price", 3),
        (
            "SELECT id FROM item WHERE shelf = 1 AND quantity >= $1 ORDER BY price",
            1,
        ),
        ("SELECT quantity + $1 FROM item WHERE price > 1", 3),
    ] {
        let rows = client.query(sql, &[&2]).expect("rows");
        assert_eq!(rows.len(), count, "{sql}");
    }
    let rows = client.query(
        "SELECT id FROM item WHERE name LIKE $1 ORDER BY name",
        &[&"CANARY_"],
    );
    let ids: Vec<i32> = rows.expect("rows").iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [2, 3, 1, 5]);
    let cut = "SELECT id FROM item WHERE name = $1::varchar(7) ORDER BY name";
    let rows = client.query(cut, &[&"CANARYb and more"]).expect("rows");
    assert_eq!(rows.len(), 1, "it is cut to CANARYb");
    let limited = "SELECT id FROM item ORDER BY price LIMIT $1";
    assert_eq!(client.query(limited, &[&2_i64]).expect("rows").len(), 2);
    let none: Option<i64> = None;
    assert_eq!(client.query(limited, &[&none]).expect("rows").len(), 5);
}

#[test]
fn a_portal_gives_some_rows_at_a_time() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    for sql in [
        "SELECT id FROM item ORDER BY name, id",
        "SELECT id FROM item WHERE quantity IS NULL OR quantity > -5",
    ] {
        let portal = transaction.bind(sql, &[]).expect("bound");
        let mut counts = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 2).expect("rows");
            counts.push(rows.len());
            if rows.len() < 2 {
                break;
            }
        }
        assert_eq!(counts, [2, 2, 1], "{sql}");
        assert!(
            transaction
                .query_portal(&portal, 2)
                .expect("none")
                .is_empty()
        );
    }
    transaction.commit().expect("nothing failed");
}

#[test]
fn a_failure_ends_the_transaction_and_not_the_session() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    let failed = transaction.query("SELECT price / (quantity - 3) FROM item", &[]);
    let error = failed.expect_err("a quantity is 3");
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    let next = transaction
        .query("SELECT 1", &[])
        .expect_err("it has failed");
    assert_eq!(next.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    transaction.rollback().expect("rolled back");
    let sum = client.query_one("SELECT sum(quantity) FROM item", &[]);
    assert_eq!(sum.expect("it goes on").get::<_, i64>(0), 12);

    let script = "SELECT 1; SELECT sum(quantity) FROM item; SELECT 2";
    assert_eq!(setup.psql(script), "1\n12\n2\n");
    let script = "INSERT INTO item (id, quantity) VALUES (6, 3); \
                  SELECT 1 / (quantity - 3) FROM item; SELECT 2";
    assert!(setup.psql(script).contains("division by zero"));
    assert_eq!(
        setup.psql("SELECT count(quantity) FROM item"),
        "4\n",
        "one transaction"
    );
}

#[test]
fn a_hundred_thousand_rows_are_the_limit() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    client.batch_execute("DELETE FROM item").expect("deleted");
    let mut transaction = client.transaction().expect("begun");
    for block in 0..200 {
        let rows = (0..500).map(|number| {
            let id = block * 500 + number;
            format!("({id}, {}, {}, {}.25)", id % 7, id % 1000, id % 100)
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO item (id, shelf, quantity, price) VALUES {rows}");
        transaction.batch_execute(&insert).expect("inserted");
    }
    transaction.commit().expect("committed");
    let row = client
        .query_one(
            "SELECT count(*), sum(quantity), max(price) FROM item WHERE price > 0",
            &[],
        )
        .expect("100,000 rows");
    assert_eq!(row.get::<_, i64>(0), 100_000);
    assert_eq!(row.get::<_, i64>(1), 49_950_000);
    let top = client.query(
        "SELECT id FROM item ORDER BY quantity DESC, id LIMIT 3",
        &[],
    );
    let top: Vec<i32> = top.expect("rows").iter().map(|row| row.get(0)).collect();
    assert_eq!(top, [999, 1999, 2999]);
    let all = client.query("SELECT id FROM item ORDER BY quantity, id", &[]);
    assert_eq!(all.expect("rows").len(), 100_000);

    client
        .batch_execute("INSERT INTO item (id, quantity) VALUES (100000, 1)")
        .expect("one more");
    let failed = client.query("SELECT sum(quantity) FROM item", &[]);
    let failed = failed.expect_err("a row too many");
    let error = failed.as_db_error().expect("of the proxy");
    assert_eq!(error.code(), &SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert!(
        error.message().contains("public.item"),
        "{}",
        error.message()
    );
    assert!(error.message().contains("100000"), "{}", error.message());
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("max_finish_rows"))
    );
    let narrowed = client.query_one("SELECT sum(quantity) FROM item WHERE shelf = 3", &[]);
    assert!(narrowed.is_ok());
}

#[test]
fn what_is_kept_of_a_query_is_bounded() {
    let Some(setup) = start_with("max_finish_bytes = 2000") else {
        return;
    };
    let long = "x".repeat(1000);
    for id in 10..15 {
        let insert = format!("INSERT INTO item (id, note) VALUES ({id}, '{long}')");
        assert_eq!(setup.psql(&insert), "");
    }
    let said = setup.psql("SELECT note FROM item ORDER BY note");
    assert!(
        said.contains("2000 bytes") && said.contains("public.item"),
        "{said}"
    );
    assert_eq!(
        setup.psql("SELECT count(*) FROM item WHERE note > 'x'"),
        "5\n"
    );
}

#[test]
fn the_shapes_of_tpcc_are_finished() {
    let Some(setup) = start() else { return };
    setup
        .psql("CREATE TABLE order_line (ol_w_id integer, ol_o_id integer, ol_amount numeric(6,2))");
    setup.psql(
        "CREATE TABLE customer (c_id integer PRIMARY KEY, c_last varchar(16), c_first varchar(16))",
    );
    setup.psql("INSERT INTO order_line VALUES (1, 7, 10.50), (1, 7, 0.25), (1, 8, 3), (2, 7, 4)");
    setup.psql(
        "INSERT INTO customer VALUES (1, 'CANARYBAR', 'CANARYc'), (2, 'CANARYBAR', 'CANARYa'), \
         (3, 'CANARYBAR', 'CANARYb'), (4, 'CANARYOUGHT', 'CANARYa')",
    );
    let mut client = setup.connect();
    let sum = client
        .prepare(
            "SELECT SUM(OL_AMOUNT) AS OL_TOTAL FROM order_line WHERE OL_O_ID = $1 AND OL_W_ID = $2",
        )
        .expect("prepared");
    assert_eq!(sum.columns()[0].name(), "ol_total");
    assert_eq!(sum.columns()[0].type_(), &postgres::types::Type::NUMERIC);
    let texts = |sql: &str| setup.psql(sql);
    let of = |order: u32| {
        texts(&format!(
            "SELECT SUM(OL_AMOUNT) AS OL_TOTAL FROM order_line \
             WHERE OL_O_ID = {order} AND OL_W_ID = 1"
        ))
    };
    assert_eq!(of(7), "10.75\n");
    assert_eq!(of(9), "\n", "NULL on no rows");
    let by_name = client
        .prepare("SELECT C_FIRST, C_ID FROM customer WHERE C_LAST = $1 ORDER BY C_FIRST")
        .expect("prepared");
    let rows = client.query(&by_name, &[&"CANARYBAR"]).expect("rows");
    let ids: Vec<i32> = rows.iter().map(|row| row.get(1)).collect();
    assert_eq!(ids, [2, 3, 1]);
    assert_eq!(rows[0].get::<_, &str>(0), "CANARYa");
}

#[test]
fn a_computed_bound_is_the_servers() {
    let Some(setup) = start_with("max_finish_rows = 1\n") else {
        return;
    };
    setup
        .psql("CREATE TABLE order_line (ol_w_id integer, ol_o_id integer, ol_amount numeric(6,2))");
    setup.psql("INSERT INTO order_line (ol_o_id) VALUES (0), (7), (20), (21), (40), (2147483647)");
    let mut client = setup.connect();
    let above = client
        .prepare("SELECT ol_o_id FROM order_line WHERE ol_o_id < 41 AND ol_o_id >= $1 - 20")
        .expect("prepared");
    assert_eq!(above.params(), [postgres::types::Type::INT4]);
    let count = |client: &mut Client, bound: Option<i32>| {
        let rows = client.query(&above, &[&bound]);
        rows.map(|rows| rows.len())
            .map_err(|error| error.code().cloned())
    };
    for (bound, wanted) in [
        (Some(0), 5),
        (Some(27), 4),
        (Some(41), 2),
        (Some(61), 0),
        (None, 0),
    ] {
        assert_eq!(count(&mut client, bound), Ok(wanted), "{bound:?}");
    }
    let beyond = Err(Some(SqlState::NUMERIC_VALUE_OUT_OF_RANGE));
    assert_eq!(count(&mut client, Some(i32::MIN)), beyond);
    for (condition, wanted) in [
        ("ol_o_id > 41 - 20 - 1", "3"),
        ("ol_o_id <= (10 + 10.5)", "3"),
        ("40 - 33 > ol_o_id", "1"),
        ("ol_o_id > 2147483647::bigint + 1", "0"),
    ] {
        let sql = format!("SELECT count(*) FROM order_line WHERE {condition}");
        assert_eq!(setup.psql(&sql), format!("{wanted}\n"), "{condition}");
    }
}
