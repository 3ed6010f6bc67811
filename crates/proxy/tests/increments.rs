//! Increments of many sessions at once, before a real server.

use crate::common::Setup;
use crate::common::leaks::CANARY;
use postgres::{Client, NoTls};

const RULES: &str = "\
[columns.account]
name = { type = \"text\" }
balance = { type = \"bigint\" }
code = { type = \"integer\", mode = \"equality\" }
";

const TABLE: &str = "\
CREATE TABLE account (
    id integer PRIMARY KEY,
    name text NOT NULL,
    balance bigint NOT NULL,
    code integer
)";

const INCREMENT: &str = "UPDATE account SET balance = balance + 5 WHERE id = $1";

fn fill(client: &mut Client) {
    for id in 1..=3 {
        let name = format!("{CANARY} {id}");
        let text = "INSERT INTO account VALUES ($1, $2, $3, 7)";
        client
            .execute(text, &[&id, &name, &i64::from(100 * id)])
            .expect("a row");
    }
}

/// The table with its rows, and who made it.
fn filled() -> (Setup, Client) {
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    client.batch_execute(TABLE).expect("it is made");
    fill(&mut client);
    (setup, client)
}

fn balances(client: &mut Client) -> Vec<i64> {
    let rows = client.query("SELECT balance FROM account ORDER BY id", &[]);
    let rows = rows.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Each increment of a transaction that is kept is there, and no other.
#[test]
fn increments_of_many_sessions_are_all_there() {
    const SESSIONS: usize = 4;
    const TRANSACTIONS: i64 = 40;
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, mut client) = filled();
    let port = setup.proxy.address.port();
    let work = move || {
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let mut client = Client::connect(&url, NoTls).expect("the proxy runs");
        let statement = client.prepare(INCREMENT).expect("it is planned");
        for number in 0..TRANSACTIONS {
            let mut transaction = client.transaction().expect("a block");
            for id in [1, 2, 1] {
                transaction.execute(&statement, &[&id]).expect("a row");
            }
            if number % 4 == 0 {
                transaction.rollback().expect("it is taken back");
            } else {
                let mut inner = transaction.savepoint("point").expect("a savepoint");
                inner.execute(&statement, &[&3]).expect("a row");
                match number % 4 {
                    1 => inner.rollback().expect("to the savepoint"),
                    _ => inner.commit().expect("it is kept"),
                }
                transaction.commit().expect("it is written");
            }
        }
    };
    let sessions: Vec<_> = (0..SESSIONS).map(|_| std::thread::spawn(work)).collect();
    for session in sessions {
        session.join().expect("it does its transactions");
    }
    let committed = SESSIONS as i64 * TRANSACTIONS * 3 / 4;
    let kept = SESSIONS as i64 * TRANSACTIONS / 2;
    assert_eq!(
        balances(&mut client),
        [100 + 10 * committed, 200 + 5 * committed, 300 + 5 * kept]
    );
}

/// A SELECT that locks a row reads columns that others increment, too. Whether they do is not known
/// any more, or not yet, after the schema has changed: the prepared statement means the same.
#[test]
fn a_statement_that_locks_rows_outlives_changes_of_the_schema() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, mut client) = filled();
    let mut other = setup.connect();
    let lock = "SELECT name FROM account WHERE id = $1 FOR UPDATE";
    let narrow = client.prepare(lock).expect("no increment is known");
    other.execute(INCREMENT, &[&1]).expect("incremented");
    let wide = client.prepare(lock).expect("an increment is known");
    let reads = |client: &mut Client, what: &str| {
        for statement in [&narrow, &wide] {
            let mut transaction = client.transaction().expect("begun");
            let row = transaction.query_one(statement, &[&1]).expect(what);
            assert_eq!(row.get::<_, String>(0), format!("{CANARY} 1"));
            assert_eq!(transaction.execute(INCREMENT, &[&1]).expect(what), 1);
            transaction.commit().expect("kept");
        }
    };
    reads(&mut client, "nothing has changed");
    for number in 0..3 {
        let change = format!("CREATE TABLE other_{number} (id integer)");
        other.batch_execute(&change).expect("made");
        if number == 1 {
            other.execute(INCREMENT, &[&2]).expect("incremented");
        }
        reads(&mut client, &change);
    }
    assert_eq!(balances(&mut client), [145, 205, 300]);
}
