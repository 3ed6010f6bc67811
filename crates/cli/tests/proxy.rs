//! `strongroom proxy` as a process: signals and kills.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::{Client, IsolationLevel, NoTls, Transaction};
use server_testkit::Postgres;

use proxy_process::{Proxy, plaintexts, wait_for};

const RULES: &str = r#"
[columns.pair]
id = { type = "integer", mode = "equality" }
name = { type = "text" }

[columns.batch]
id = { type = "integer", mode = "equality" }
name = { type = "text" }

[columns.account]
name = { type = "text" }
balance = { type = "bigint" }
"#;
const CREATE: &str = "CREATE TABLE pair (id integer, half integer, name text)";

/// Accounts between which transactions move money, and the initial balance of each.
const ACCOUNTS: i32 = 5;
const BALANCE: i64 = 1_000_000;
/// Rows of each COPY.
const BATCH_ROWS: i32 = 3;

/// The tables that the load writes to.
fn make_tables(proxy: &Proxy) {
    let mut client = proxy.connect().unwrap();
    for text in [
        CREATE,
        "CREATE TABLE batch (id integer, number integer, name text)",
        "CREATE TABLE account (id integer PRIMARY KEY, name text, balance bigint NOT NULL)",
    ] {
        client.batch_execute(text).unwrap();
    }
    for id in 0..ACCOUNTS {
        let text = "INSERT INTO account VALUES ($1, 'CANARY', $2)";
        client.execute(text, &[&id, &BALANCE]).unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_is_named_to_the_operator_and_to_clients_of_the_machine() {
    // Nobody listens there: the system gives a port to only one socket.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let proxy = Proxy::start(&address.port().to_string(), "", "");
    let told = format!("{address}: Connection refused");
    wait_for(|| proxy.log().contains("the server cannot be reached"));
    let error = proxy.connect().err().unwrap();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "08006");
    assert!(error.message().contains(&told), "{}", error.message());
    assert!(proxy.log().contains(&told), "{}", proxy.log());
}

#[test]
fn a_signal_lets_transactions_end_and_then_the_program() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut proxy = Proxy::start(&server.port().to_string(), RULES, "drain_seconds = 60");
    let mut busy = proxy.connect().unwrap();
    busy.batch_execute(CREATE).unwrap();
    let mut idle = proxy.connect().unwrap();
    idle.batch_execute("SELECT 1").unwrap();
    busy.batch_execute("BEGIN").unwrap();
    busy.execute("INSERT INTO pair VALUES ($1, 1, $2)", &[&7, &"CANARY7"])
        .unwrap();
    proxy.signal("TERM");
    // New clients are refused, and idle ones are told.
    wait_for(|| TcpStream::connect(proxy.address).is_err());
    wait_for(|| idle.is_closed() || idle.batch_execute("SELECT 1").is_err());
    assert!(proxy.is_running(), "a transaction is open");
    busy.execute("INSERT INTO pair VALUES ($1, 2, $2)", &[&7, &"CANARY7"])
        .unwrap();
    // The session ends together with the answer; the client may report either.
    let _ = busy.batch_execute("COMMIT");
    assert!(proxy.wait().success());
    let count = server.connect().query_one("SELECT count(*) FROM pair", &[]);
    assert_eq!(count.unwrap().get::<_, i64>(0), 2);
    assert_eq!(plaintexts(&server), Vec::<String>::new());
}

#[test]
fn the_drain_ends_after_its_time() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let mut proxy = Proxy::start(&server.port().to_string(), RULES, "drain_seconds = 1");
    let mut busy = proxy.connect().unwrap();
    busy.batch_execute("BEGIN").unwrap();
    proxy.signal("TERM");
    assert!(proxy.wait().success());
    let error = busy.batch_execute("COMMIT").unwrap_err();
    let code = error.code().map(|code| code.code().to_owned());
    assert!(
        code.is_none() || code.as_deref() == Some("57P01"),
        "{error:?}"
    );
}

/// What a client wrote and knows to be committed, and the errors that it saw.
#[derive(Default)]
struct Log {
    committed: Vec<i32>,
    errors: Vec<Option<String>>,
}

/// Clients that write until they are stopped: each transaction inserts a pair of rows, several rows
/// by COPY, and moves an amount between two accounts.
struct Load {
    stop: Arc<AtomicBool>,
    log: Arc<Mutex<Log>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(address: Arc<Mutex<SocketAddr>>, from: i32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let log = Arc::new(Mutex::new(Log::default()));
        let threads = (0..4).map(|number| {
            let (stop, log, address) = (Arc::clone(&stop), Arc::clone(&log), Arc::clone(&address));
            thread::spawn(move || {
                let mut id = from + number;
                while !stop.load(Ordering::Relaxed) {
                    let at = *address.lock().unwrap();
                    let url = format!("postgres://postgres@{at}/postgres");
                    if let Err(error) = work(&url, &mut id, &stop, &log) {
                        let code = error.code().map(|code| code.code().to_owned());
                        log.lock().unwrap().errors.push(code);
                        // A client that cannot connect tries again.
                        thread::sleep(Duration::from_millis(5));
                    }
                }
            })
        });
        let threads = threads.collect();
        Self { stop, log, threads }
    }

    fn committed(&self) -> usize {
        self.log.lock().unwrap().committed.len()
    }

    fn end(self) -> Log {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

/// What the transaction with that number moves: to the lower account, and to the higher one. Rows
/// are locked in order, so that there are no deadlocks.
fn moves(id: i32) -> [(i32, i64); 2] {
    let from = id % ACCOUNTS;
    let to = (from + 1 + id / ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS;
    let amount = i64::from(1 + id % 100);
    let mut moves = [(from, -amount), (to, amount)];
    moves.sort_unstable();
    moves
}

fn copy_batch(transaction: &mut Transaction<'_>, id: i32) -> Result<(), postgres::Error> {
    let rows = (1..=BATCH_ROWS).map(|number| format!("{id}\t{number}\tCANARY{id}\n"));
    let rows: String = rows.collect();
    let mut writer = transaction.copy_in("COPY batch FROM STDIN")?;
    // So few bytes stay in the writer's buffer until the end.
    writer.write_all(rows.as_bytes()).unwrap();
    assert_eq!(writer.finish()?, u64::from(BATCH_ROWS.unsigned_abs()));
    Ok(())
}

fn work(
    url: &str,
    id: &mut i32,
    stop: &AtomicBool,
    log: &Mutex<Log>,
) -> Result<(), postgres::Error> {
    let mut client = Client::connect(url, NoTls)?;
    let insert = client.prepare("INSERT INTO pair VALUES ($1, $2, $3)")?;
    let add = client.prepare("UPDATE account SET balance = balance + $1 WHERE id = $2")?;
    while !stop.load(Ordering::Relaxed) {
        *id += 4;
        let name = format!("CANARY{id}");
        let mut transaction = client.transaction()?;
        transaction.execute(&insert, &[id, &1, &name])?;
        transaction.execute(&insert, &[id, &2, &name])?;
        copy_batch(&mut transaction, *id)?;
        for (account, amount) in moves(*id) {
            assert_eq!(transaction.execute(&add, &[&amount, &account])?, 1);
        }
        transaction.commit()?;
        log.lock().unwrap().committed.push(*id);
    }
    Ok(())
}

/// Sums of the row numbers by transaction; every name opens and belongs to its row.
fn sums(transaction: &mut Transaction<'_>, query: &str) -> BTreeMap<i32, i32> {
    let mut sums = BTreeMap::new();
    for row in transaction.query(query, &[]).unwrap() {
        let (id, number, name): (i32, i32, String) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(name, format!("CANARY{id}"));
        *sums.entry(id).or_insert(0) += number;
    }
    sums
}

/// Every transaction is complete or absent, every one that a client knows of is there, each value
/// opens, and nothing is in clear.
fn assert_whole(server: &Postgres, proxy: &Proxy, log: &Log) {
    let mut client = proxy.connect().unwrap();
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead);
    let mut transaction = transaction.start().unwrap();
    let halves = sums(&mut transaction, "SELECT id, half, name FROM pair");
    for (id, sum) in &halves {
        assert_eq!(*sum, 3, "pair {id} is not whole");
    }
    let batches = sums(&mut transaction, "SELECT id, number, name FROM batch");
    for (id, sum) in &batches {
        assert_eq!(
            *sum,
            (1..=BATCH_ROWS).sum::<i32>(),
            "batch {id} is not whole"
        );
    }
    assert!(
        halves.keys().eq(batches.keys()),
        "a transaction has a pair without a batch, or a batch without a pair"
    );
    for id in &log.committed {
        assert!(
            halves.contains_key(id),
            "transaction {id} was committed and is lost"
        );
    }
    let mut balances: BTreeMap<i32, i64> = (0..ACCOUNTS).map(|id| (id, BALANCE)).collect();
    for (account, amount) in halves.keys().flat_map(|id| moves(*id)) {
        *balances.entry(account).or_default() += amount;
    }
    let rows = transaction.query("SELECT id, balance FROM account", &[]);
    let found: BTreeMap<i32, i64> = rows
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    assert_eq!(
        found, balances,
        "money is not where the transactions moved it"
    );
    assert_eq!(found.values().sum::<i64>(), i64::from(ACCOUNTS) * BALANCE);
    transaction.commit().unwrap();
    // The server's codes for shutdown and startup, and the proxy's; no code means that the socket
    // was closed.
    let known = ["08006", "57P01", "57P02", "57P03"];
    for code in log.errors.iter().flatten() {
        assert!(known.contains(&code.as_str()), "a client saw {code}");
    }
    assert_eq!(plaintexts(server), Vec::<String>::new());
}

/// A seed that a failure prints, and that can be set for another run.
fn seed() -> u64 {
    let seed = std::env::var("STRONGROOM_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(5);
    println!("STRONGROOM_SEED={seed}");
    seed
}

/// Numbers below a bound (SplitMix64).
fn below(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % bound
}

/// Lets the load commit a random number of further transactions.
fn wait_a_random_while(load: &Load, state: &mut u64) {
    let wanted = load.committed() + 1 + usize::try_from(below(state, 40)).unwrap();
    wait_for(|| load.committed() >= wanted);
}

#[test]
fn a_proxy_that_is_killed_leaves_whole_rows() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[("log_statement", "all")]);
    let port = server.port().to_string();
    let mut proxy = Proxy::start(&port, RULES, "");
    make_tables(&proxy);
    let address = Arc::new(Mutex::new(proxy.address));
    let load = Load::start(Arc::clone(&address), 0);
    let mut state = seed();
    for _ in 0..10 {
        wait_a_random_while(&load, &mut state);
        proxy.kill();
        proxy = Proxy::start(&port, RULES, "");
        *address.lock().unwrap() = proxy.address;
    }
    wait_a_random_while(&load, &mut state);
    let log = load.end();
    println!(
        "{} committed, {} errors",
        log.committed.len(),
        log.errors.len()
    );
    assert_whole(&server, &proxy, &log);
}

#[test]
fn a_server_that_is_killed_leaves_whole_rows() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut server = Postgres::start_with(&[("log_statement", "all")]);
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    make_tables(&proxy);
    let load = Load::start(Arc::new(Mutex::new(proxy.address)), 0);
    let mut state = seed();
    for _ in 0..4 {
        wait_a_random_while(&load, &mut state);
        server.crash();
        server.start_again();
    }
    wait_a_random_while(&load, &mut state);
    let log = load.end();
    println!(
        "{} committed, {} errors",
        log.committed.len(),
        log.errors.len()
    );
    assert_whole(&server, &proxy, &log);
}

/// The script of each pgbench client. Rows are locked in order.
const SCRIPT: &[u8] = b"\\set id random(1, 1000000000)\n\\set amount random(1, 100)\n\
    \\set low random(0, 1)\n\\set high random(2, 4)\nBEGIN;\n\
    INSERT INTO pair VALUES (:id, 1, 'CANARY');\nINSERT INTO pair VALUES (:id, 2, 'CANARY');\n\
    UPDATE account SET balance = balance - :amount WHERE id = :low;\n\
    UPDATE account SET balance = balance + :amount WHERE id = :high;\nCOMMIT;\n";

#[test]
fn clients_that_are_killed_leave_whole_rows_and_no_connections() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[("log_statement", "all")]);
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    make_tables(&proxy);
    let file = server.add_file("load.sql", SCRIPT);
    let mut state = seed();
    let mut direct = server.connect();
    let count = "SELECT count(*) FROM pair";
    for mode in ["simple", "extended", "prepared"].iter().cycle().take(9) {
        let before: i64 = direct.query_one(count, &[]).unwrap().get(0);
        let mut clients = server
            .program(proxy.address.port(), "pgbench")
            .args(["-n", "-c", "4", "-T", "600", "-M", mode, "-f"])
            .arg(&file)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let wanted = before + 1 + i64::try_from(below(&mut state, 200)).unwrap();
        wait_for(|| direct.query_one(count, &[]).unwrap().get::<_, i64>(0) >= wanted);
        clients.kill().unwrap();
        clients.wait().unwrap();
    }
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
                  AND pid <> pg_backend_pid()";
    wait_for(|| direct.query_one(others, &[]).unwrap().get::<_, i64>(0) == 0);
    let halves = "SELECT count(*) FILTER (WHERE half = 1) = count(*) FILTER (WHERE half = 2) \
                  FROM pair";
    assert!(direct.query_one(halves, &[]).unwrap().get::<_, bool>(0));
    let mut client = proxy.connect().unwrap();
    let names = client.query("SELECT name FROM pair", &[]).unwrap();
    assert!(names.iter().all(|row| row.get::<_, &str>(0) == "CANARY"));
    let rows = client.query("SELECT balance FROM account", &[]).unwrap();
    let balances: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(balances.len(), ACCOUNTS as usize);
    assert_eq!(balances.iter().sum::<i64>(), i64::from(ACCOUNTS) * BALANCE);
    assert!(balances.iter().any(|balance| *balance != BALANCE));
    std::fs::remove_file(file).unwrap();
    assert_eq!(plaintexts(&server), Vec::<String>::new());
}
