//! Increments whose outcome is known before they are written, before a real server.

use std::iter::empty;

use crate::common::Setup;
use crate::common::leaks::CANARY;
use crate::common::wire::{SYNC, Session, put_text};
use postgres::{Client, NoTls};
use wire_postgres::frontend::{write_bind, write_execute, write_parse};

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

/// What a session last had the server do, as the server tells.
fn last(setup: &Setup, backend: i32) -> String {
    let row = setup.server.connect().query_one(
        "SELECT query, state FROM pg_stat_activity WHERE pid = $1",
        &[&backend],
    );
    let row = row.expect("the session is there");
    assert_eq!(row.get::<_, String>(1), "idle in transaction");
    row.get(0)
}

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

/// Whether the write of an increment waits for the next statement, with this done to the table
/// past the proxy.
fn is_late(done: &str, increment: &str) -> bool {
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    client.batch_execute(TABLE).expect("it is made");
    let past = setup.server.connect().batch_execute(done);
    past.expect("the server does it");
    // Another session looks at the schema as it is now.
    setup
        .connect()
        .batch_execute("CREATE TABLE other (a integer)")
        .expect("it is made");
    let mut client = setup.connect();
    fill(&mut client);
    let backend = client.query_one("SELECT pg_backend_pid()", &[]);
    let backend = backend.expect("a number").get(0);
    let mut transaction = client.transaction().expect("a block");
    assert_eq!(
        transaction.execute(increment, &[&1]).expect("it is told"),
        1
    );
    let last = last(&setup, backend);
    let is_late = last.contains("FOR NO KEY UPDATE");
    assert!(is_late || last.starts_with("UPDATE"), "{last}");
    let told = transaction.query_one("SELECT balance FROM account WHERE id = 1", &[]);
    assert_eq!(told.expect("its row").get::<_, i64>(0), 105);
    transaction.commit().expect("it is written");
    assert_eq!(balances(&mut client), [105, 200, 300]);
    is_late
}

const INCREMENT: &str = "UPDATE account SET balance = balance + 5 WHERE id = $1";

#[test]
fn only_what_the_server_cannot_refuse_is_late() {
    if !server_testkit::is_installed() {
        return;
    }
    assert!(is_late("SELECT 1", INCREMENT));
    assert!(is_late("CREATE INDEX x ON account (code)", INCREMENT));
    for done in [
        "CREATE INDEX x ON account (balance)",
        "CREATE INDEX x ON account (code) WHERE id > 5",
        "ALTER TABLE account ADD CHECK (id > 0)",
        "ALTER TABLE account ENABLE ROW LEVEL SECURITY",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
         CREATE TRIGGER t BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION f()",
        "CREATE TABLE child () INHERITS (account)",
        "GRANT UPDATE (id) ON account TO PUBLIC",
        "CREATE PUBLICATION p FOR TABLE account",
        "CREATE PUBLICATION p FOR ALL TABLES",
        // Whole schemas since PostgreSQL 15.
        "DO $$ BEGIN IF current_setting('server_version_num')::integer >= 150000 \
         THEN EXECUTE 'CREATE PUBLICATION p FOR TABLES IN SCHEMA public'; \
         ELSE CREATE PUBLICATION p FOR ALL TABLES; END IF; END $$",
    ] {
        assert!(!is_late(done, INCREMENT), "{done}");
    }
    let with_returning = format!("{INCREMENT} RETURNING id");
    assert!(!is_late("SELECT 1", &with_returning));
}

/// Each of many transactions at once ends as if none had been late.
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

/// Behind an error the server writes nothing, so nobody is told that it did.
#[test]
fn nothing_is_told_late_behind_a_batch_that_fails() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, mut client) = filled();
    let mut session = Session::connect(setup.proxy.address.port());
    let mut prepare = Vec::new();
    write_parse(b"u", INCREMENT.as_bytes(), empty(), &mut prepare);
    prepare.extend_from_slice(SYNC);
    session.say(&prepare);
    session.query("BEGIN");
    let mut increment = Vec::new();
    let names = (&b""[..], &b"u"[..]);
    let one = |out: &mut Vec<u8>| {
        out.extend_from_slice(b"\0\0\0\x011");
        Ok::<_, ()>(())
    };
    write_bind(names, [0].into_iter(), one, empty(), &mut increment).expect("it is written");
    write_execute(b"", 0, &mut increment);
    increment.extend_from_slice(SYNC);
    // Then the row is known, and what writes it is prepared: the third time is late.
    for _ in 0..3 {
        let answer = session.say(&increment);
        assert_eq!(answer.tag.trim_end_matches('\0'), "UPDATE 1");
    }
    let mut batches = Vec::new();
    put_text("SELECT 1/0", &mut batches);
    batches.extend_from_slice(SYNC);
    batches.extend_from_slice(&increment);
    let failed = session.say(&batches);
    assert_eq!((&*failed.code, &*failed.tag), ("22012", ""));
    let left_out = session.answer();
    assert_eq!((&*left_out.code, &*left_out.tag), ("25P02", ""));
    session.query("ROLLBACK");
    assert_eq!(balances(&mut client), [100, 200, 300]);
}

/// The server dies between what the client was told and COMMIT: nothing of it is there.
#[test]
fn what_was_told_and_not_committed_is_lost_with_the_session() {
    if !server_testkit::is_installed() {
        return;
    }
    let (setup, mut client) = filled();
    let backend: i32 = client
        .query_one("SELECT pg_backend_pid()", &[])
        .expect("a number")
        .get(0);
    let mut transaction = client.transaction().expect("a block");
    transaction.execute(INCREMENT, &[&1]).expect("it is told");
    setup
        .server
        .connect()
        .execute("SELECT pg_terminate_backend($1)", &[&backend])
        .expect("the session ends");
    assert!(transaction.commit().is_err(), "it cannot be committed");
    drop(client);
    assert_eq!(balances(&mut setup.connect()), [100, 200, 300]);
}
