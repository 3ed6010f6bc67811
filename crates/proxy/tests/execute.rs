//! Statements that the proxy carries out in steps, on a real server: increments, alone, in
//! batches, and by many clients at once.

use std::thread;

use crate::common::Setup;
use postgres::error::SqlState;

const RULES: &str = r#"
[columns.counter]
id = { type = "integer", mode = "equality" }
c = { type = "integer" }
money = { type = "numeric(12,2)" }
name = { type = "varchar(8)" }
"#;

const CREATE: &str = "CREATE TABLE counter (id integer PRIMARY KEY, c integer, \
                      money numeric(12,2), name varchar(8), plain integer)";

fn start() -> Option<Setup> {
    if !server_testkit::is_installed() {
        return None;
    }
    let setup = Setup::start(RULES);
    assert_eq!(setup.psql(CREATE), "");
    let insert = "INSERT INTO counter VALUES (1, 10, 1.50, 'CANARYa', 1), \
                  (2, 20, 2.50, 'CANARYb', 2), (3, NULL, NULL, NULL, 3)";
    assert_eq!(setup.psql(insert), "");
    Some(setup)
}

#[test]
fn increments_by_literals_and_parameters() {
    let Some(setup) = start() else { return };
    assert_eq!(
        setup.psql(
            "UPDATE counter SET c = c + 1, money = money * 2 WHERE id = 1 RETURNING c, money, plain"
        ),
        "11|3.00|1\n"
    );
    let mut client = setup.connect();
    let text = "UPDATE counter SET c = c + $1, plain = $2 WHERE id = $3";
    let changed = client.execute(text, &[&5, &77, &1]);
    assert_eq!(changed.expect("changed"), 1);
    let statement = client.prepare(text).expect("prepared");
    assert_eq!(statement.params().len(), 3);
    assert_eq!(
        client
            .execute(&statement, &[&-1, &78, &2])
            .expect("changed"),
        1
    );
    assert_eq!(client.execute(&statement, &[&1, &79, &9]).expect("none"), 0);
    let changed = client.execute("UPDATE counter SET name = name || 'x', c = c - 1", &[]);
    assert_eq!(changed.expect("all rows"), 3);
    let all = "SELECT id, c, money, name, plain FROM counter ORDER BY plain";
    assert_eq!(
        setup.psql(all),
        "3||||3\n1|15|3.00|CANARYax|77\n2|18|2.50|CANARYbx|78\n"
    );
    let rows = client.query(
        "UPDATE counter SET c = c + 1 WHERE plain > $1 RETURNING id, c, plain",
        &[&50],
    );
    let rows = rows.expect("rows");
    let mut returned: Vec<(i32, i32, i32)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    returned.sort_unstable();
    assert_eq!(returned, [(1, 16, 77), (2, 19, 78)]);
    drop(client);
    setup.assert_unseen(&["CANARYa", "CANARYb"]);
}

#[test]
fn errors_are_those_of_the_server_and_undo_the_statement() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    for (text, code) in [
        ("UPDATE counter SET c = c + 2147483647", "22003"),
        ("UPDATE counter SET c = c / 0 WHERE id = 1", "22012"),
        ("UPDATE counter SET name = name || 'muchlonger'", "22001"),
        ("UPDATE counter SET money = money * 10000000000", "22003"),
    ] {
        let error = client.execute(text, &[]).expect_err(text);
        let found = error.code().map(SqlState::code);
        assert_eq!(found, Some(code), "{text}");
        let error = client.batch_execute(text).expect_err(text);
        assert_eq!(error.code().map(SqlState::code), Some(code), "{text}");
    }
    assert_eq!(
        setup.psql("SELECT c, name FROM counter WHERE id = 1"),
        "10|CANARYa\n"
    );
}

#[test]
fn a_script_is_one_transaction() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let script = "UPDATE counter SET c = c + 1 WHERE id = 1; \
                  INSERT INTO counter (id, c) VALUES (4, 40); \
                  UPDATE counter SET c = c + 1 WHERE id = 4; \
                  INSERT INTO counter (id, c) VALUES (1, 0)";
    let error = client.batch_execute(script).expect_err("the key is there");
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(setup.psql("SELECT c FROM counter WHERE id = 1"), "10\n");
    assert_eq!(setup.psql("SELECT c FROM counter WHERE id = 4"), "");
    let script = "BEGIN; UPDATE counter SET c = c + 1 WHERE id = 1; SAVEPOINT a; \
                  UPDATE counter SET c = c + 100 WHERE id = 1; ROLLBACK TO a; \
                  UPDATE counter SET c = c + 10 WHERE id = 1; COMMIT; \
                  SELECT c FROM counter WHERE id = 1";
    assert_eq!(setup.psql(script), "21\n");
}

#[test]
fn a_locked_row_is_written_by_what_was_read() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let lock = client
        .prepare("SELECT c FROM counter WHERE id = $1 FOR UPDATE")
        .expect("prepared");
    let add = client
        .prepare("UPDATE counter SET c = c + $2, money = money + 1 WHERE id = $1")
        .expect("prepared");
    for _ in 0..3 {
        let mut transaction = client.transaction().expect("begun");
        let row = transaction.query_one(&lock, &[&1]).expect("one row");
        let before: i32 = row.get(0);
        assert_eq!(transaction.execute(&add, &[&1, &1]).expect("changed"), 1);
        let mut inner = transaction.savepoint("a").expect("begun");
        assert_eq!(inner.execute(&add, &[&1, &100]).expect("changed"), 1);
        inner.rollback().expect("rolled back");
        assert_eq!(transaction.execute(&add, &[&1, &1]).expect("changed"), 1);
        let row = transaction.query_one(&lock, &[&1]).expect("one row");
        assert_eq!(row.get::<_, i32>(0), before + 2);
        transaction.commit().expect("committed");
    }
    assert_eq!(
        setup.psql("SELECT c, money FROM counter WHERE id = 1"),
        "16|7.50\n"
    );
}

/// The numbers that increments need are read with the lock only if its user may read them.
#[test]
fn a_lock_reads_no_column_that_its_user_may_not_read() {
    let Some(setup) = start() else { return };
    let mut direct = setup.server.connect();
    direct
        .batch_execute(
            "CREATE ROLE clerk; GRANT SELECT (id, name), UPDATE (name) ON counter TO clerk",
        )
        .expect("granted");
    // A session of its own, whose first statement reads the catalogues anew.
    setup.psql("CREATE TABLE other (a integer)");
    let mut owner = setup.connect();
    let increment = "UPDATE counter SET c = c + 1 WHERE id = 1";
    owner.batch_execute(increment).expect("changed");
    let mut clerk = setup.connect();
    clerk.batch_execute("SET ROLE clerk; BEGIN").expect("begun");
    let lock = "SELECT name FROM counter WHERE id = 1 FOR UPDATE";
    let row = clerk.query_one(lock, &[]).expect("the clerk may");
    assert_eq!(row.get::<_, &str>(0), "CANARYa");
    let code = clerk.batch_execute(increment).expect_err("he may not");
    assert_eq!(code.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
}

const CLIENTS: i32 = 8;
const TIMES: i32 = 200;

/// Increments one row by many clients at once, each by `act`.
fn at_once(setup: &Setup, act: impl Fn(&mut postgres::Client) + Sync) {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = setup.connect();
                for _ in 0..TIMES {
                    act(&mut client);
                }
            });
        }
    });
}

#[test]
fn nothing_is_lost_between_clients() {
    let Some(setup) = start() else { return };
    at_once(&setup, |client| {
        let text = "UPDATE counter SET c = c + 1 WHERE id = 1";
        client.batch_execute(text).expect("changed");
    });
    at_once(&setup, |client| {
        let text = "UPDATE counter SET c = c + $1, money = money + $1 WHERE id = $2";
        assert_eq!(client.execute(text, &[&1, &1]).expect("changed"), 1);
    });
    at_once(&setup, |client| {
        let mut transaction = client.transaction().expect("begun");
        transaction
            .query_one("SELECT name FROM counter WHERE id = 1 FOR UPDATE", &[])
            .expect("one row");
        let text = "UPDATE counter SET c = c + 1 WHERE id = 1";
        assert_eq!(transaction.execute(text, &[]).expect("changed"), 1);
        transaction.commit().expect("committed");
    });
    let sum = 10 + 3 * CLIENTS * TIMES;
    assert_eq!(
        setup.psql("SELECT c FROM counter WHERE id = 1"),
        format!("{sum}\n")
    );
}

#[test]
fn what_cannot_be_serialised_fails_as_the_server_says() {
    let Some(setup) = start() else { return };
    let (mut one, mut other) = (setup.connect(), setup.connect());
    let begin = "BEGIN ISOLATION LEVEL SERIALIZABLE";
    one.batch_execute(begin).expect("begun");
    one.query_one("SELECT c FROM counter WHERE id = 1", &[])
        .expect("one row");
    other
        .execute("UPDATE counter SET c = c + 1 WHERE id = 1", &[])
        .expect("changed");
    let text = "UPDATE counter SET c = c + 1 WHERE id = 1";
    let error = one.execute(text, &[]).expect_err("it read the old one");
    assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
    one.batch_execute("ROLLBACK").expect("rolled back");
    assert_eq!(setup.psql("SELECT c FROM counter WHERE id = 1"), "11\n");
}

#[test]
fn many_rows_of_many_parameters_are_inserted_at_once() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let rows: Vec<String> = (0..700)
        .map(|row| format!("(${}, ${}, ${})", 3 * row + 1, 3 * row + 2, 3 * row + 3))
        .collect();
    let text = format!(
        "INSERT INTO counter (id, c, plain) VALUES {}",
        rows.join(", ")
    );
    let values: Vec<i32> = (0..2100).map(|place| 1000 + place).collect();
    let parameters: Vec<&(dyn postgres::types::ToSql + Sync)> =
        values.iter().map(|value| value as _).collect();
    assert_eq!(client.execute(&text, &parameters).expect("inserted"), 700);
    assert_eq!(
        setup.psql("SELECT c, plain FROM counter WHERE id = 3097"),
        "3098|3099\n"
    );
}
