//! Protected columns of a real server, through the proxy: what clients see, and what the server
//! does not.

use crate::common::Setup;
use postgres::error::SqlState;
use postgres::types::Type;

const RULES: &str = r#"
[columns.customer]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(16)" }
place = { type = "text", mode = "equality" }
credit = { type = "bigint", mode = "order", bits = 32 }
born = { type = "date" }
"#;

const CREATE: &str = "CREATE TABLE customer (id integer PRIMARY KEY, name varchar(16) NOT NULL, \
                      place text, credit bigint, born date, plain integer)";

fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    assert_eq!(setup.psql(CREATE), "");
    Some(setup)
}

#[test]
fn literals_and_parameters_come_back_and_never_reach_the_server() {
    let Some(setup) = start() else { return };
    let insert = "INSERT INTO customer VALUES \
                  (1, 'CANARYone', 'CANARYtown', 1000, '2001-02-03', 7), \
                  (2, 'CANARYtwo', NULL, 2000, NULL, 8)";
    assert_eq!(setup.psql(insert), "");
    let select = "SELECT * FROM customer WHERE id = 1";
    assert_eq!(
        setup.psql(select),
        "1|CANARYone|CANARYtown|1000|2001-02-03|7\n"
    );

    let mut client = setup.connect();
    let insert =
        "INSERT INTO customer (id, name, place, credit, plain) VALUES ($1, $2, $3, $4, $5)";
    let inserted = client.execute(insert, &[&3, &"CANARYtri", &"CANARYtown", &3000_i64, &9]);
    assert_eq!(inserted.expect("inserted"), 1);
    let select = client
        .prepare("SELECT id, name, credit, born, plain FROM customer WHERE id = $1")
        .expect("prepared");
    assert_eq!(select.params(), [Type::INT4]);
    let types: Vec<&Type> = select
        .columns()
        .iter()
        .map(postgres::Column::type_)
        .collect();
    let wanted = [
        Type::INT4,
        Type::VARCHAR,
        Type::INT8,
        Type::DATE,
        Type::INT4,
    ];
    assert_eq!(types, wanted.iter().collect::<Vec<_>>());
    for (id, name, credit, plain) in [(2, "CANARYtwo", 2000_i64, 8), (3, "CANARYtri", 3000, 9)] {
        let row = client.query_one(&select, &[&id]).expect("one row");
        assert_eq!(row.get::<_, i32>(0), id);
        assert_eq!(row.get::<_, &str>(1), name);
        assert_eq!(row.get::<_, i64>(2), credit);
        assert_eq!(row.get::<_, i32>(4), plain);
    }
    let town = client.query(
        "SELECT id FROM customer WHERE place = $1 ORDER BY credit DESC",
        &[&"CANARYtown"],
    );
    let ids: Vec<i32> = town.expect("rows").iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [3, 1]);
    drop(client);
    setup.assert_unseen(&["CANARYone", "CANARYtwo", "CANARYtri", "CANARYtown"]);
}

#[test]
fn rows_are_changed_and_deleted_by_key() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    client
        .batch_execute(
            "INSERT INTO customer VALUES (1, 'a', 'x', 1, NULL, 1), (2, 'b', 'x', 2, NULL, 2)",
        )
        .expect("inserted");
    let changed = client.execute(
        "UPDATE customer SET name = $1, plain = plain + 1 WHERE id = $2",
        &[&"CANARYnew", &2],
    );
    assert_eq!(changed.expect("changed"), 1);
    let deleted = client.execute("DELETE FROM customer WHERE id = $1", &[&1]);
    assert_eq!(deleted.expect("deleted"), 1);
    assert_eq!(
        setup.psql("SELECT id, name, plain FROM customer"),
        "2|CANARYnew|3\n"
    );
    setup.assert_unseen(&["CANARYnew"]);
}

#[test]
fn values_are_checked_as_the_server_would() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let too_long = client.execute(
        "INSERT INTO customer (id, name) VALUES (1, $1)",
        &[&"CANARYmuchlongerthansixteen"],
    );
    let error = too_long.expect_err("17 characters and more");
    assert_eq!(error.code(), Some(&SqlState::STRING_DATA_RIGHT_TRUNCATION));
    let null = client.execute("INSERT INTO customer (id, name) VALUES (1, NULL)", &[]);
    assert_eq!(
        null.expect_err("NOT NULL").code(),
        Some(&SqlState::NOT_NULL_VIOLATION)
    );
    client
        .execute("INSERT INTO customer (id, name) VALUES (1, 'a')", &[])
        .expect("inserted");
    let twice = client.execute("INSERT INTO customer (id, name) VALUES ($1, 'b')", &[&1]);
    assert_eq!(
        twice.expect_err("the key is there").code(),
        Some(&SqlState::UNIQUE_VIOLATION)
    );
    setup.assert_unseen(&["CANARYmuchlonger"]);
}

#[test]
fn a_refusal_ends_the_transaction_as_an_error_of_the_server_does() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    let refused = transaction.execute(
        "SELECT name FROM customer WHERE md5(name) = 'CANARYname'",
        &[],
    );
    let error = refused.expect_err("the server has no clear text for the function");
    assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    let next = transaction
        .query("SELECT 1", &[])
        .expect_err("the transaction has failed");
    assert_eq!(next.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    transaction.rollback().expect("rolled back");
    assert_eq!(
        client
            .query_one("SELECT 1", &[])
            .expect("goes on")
            .get::<_, i32>(0),
        1
    );

    let script = "BEGIN; SELECT 1; COMMIT";
    assert_eq!(setup.psql(script), "1\n");
    let said = setup.psql("SELECT name FROM customer WHERE md5(name) = 'CANARYname'");
    assert!(said.contains("customer"), "{said}");
    setup.assert_unseen(&["CANARYname"]);
}

#[test]
fn a_table_made_in_a_transaction_is_protected_in_it() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    let mut transaction = client.transaction().expect("begun");
    transaction.batch_execute(CREATE).expect("made");
    transaction
        .execute(
            "INSERT INTO customer (id, name) VALUES (1, 'CANARYearly')",
            &[],
        )
        .expect("inserted");
    let row = transaction.query_one("SELECT name FROM customer WHERE id = 1", &[]);
    assert_eq!(row.expect("one row").get::<_, &str>(0), "CANARYearly");
    transaction.rollback().expect("rolled back");
    let gone = client
        .query("SELECT name FROM customer", &[])
        .expect_err("no table");
    assert!(gone.code().is_some());
    setup.assert_unseen(&["CANARYearly"]);
}

#[test]
fn plain_tables_and_plain_values_pass() {
    let Some(setup) = start() else { return };
    let said = setup.psql(
        "CREATE TABLE plain (a integer, b text); INSERT INTO plain VALUES (1, 'x'), (2, NULL); \
         SELECT * FROM plain ORDER BY a",
    );
    assert_eq!(said, "1|x\n2|\n");
    let port = setup.proxy.address.port();
    let made = setup
        .server
        .run_at(port, "pgbench", &["-i", "-q", "-s", "1"]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    for mode in ["simple", "extended", "prepared"] {
        let run = ["-M", mode, "-c", "4", "-t", "20", "-n"];
        let ran = setup.server.run_at(port, "pgbench", &run);
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("actually processed: 80/80"), "{mode}: {said}");
    }
}
