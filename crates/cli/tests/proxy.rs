//! `strongroom proxy` as a process: signals and kills.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::{Client, NoTls};
use server_testkit::Postgres;

use proxy_process::{Proxy, plaintexts, wait_for};

const RULES: &str = "[columns.pair]\nid = { type = \"integer\", mode = \"equality\" }\n\
                     name = { type = \"text\" }\n";
const CREATE: &str = "CREATE TABLE pair (id integer, half integer, name text)";

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
    // Nobody new, and whoever is idle is told.
    wait_for(|| TcpStream::connect(proxy.address).is_err());
    wait_for(|| idle.is_closed() || idle.batch_execute("SELECT 1").is_err());
    assert!(proxy.is_running(), "a transaction is open");
    busy.execute("INSERT INTO pair VALUES ($1, 2, $2)", &[&7, &"CANARY7"])
        .unwrap();
    // With the answer comes the end of the session, which the client may name instead.
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

/// Clients that write pairs of rows, each pair in a transaction, until they are told to stop.
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
                    if let Err(error) = write_pairs(&url, &mut id, &stop, &log) {
                        let code = error.code().map(|code| code.code().to_owned());
                        log.lock().unwrap().errors.push(code);
                        // Whoever cannot connect tries again.
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

fn write_pairs(
    url: &str,
    id: &mut i32,
    stop: &AtomicBool,
    log: &Mutex<Log>,
) -> Result<(), postgres::Error> {
    let mut client = Client::connect(url, NoTls)?;
    let insert = client.prepare("INSERT INTO pair VALUES ($1, $2, $3)")?;
    while !stop.load(Ordering::Relaxed) {
        *id += 4;
        let name = format!("CANARY{id}");
        let mut transaction = client.transaction()?;
        transaction.execute(&insert, &[id, &1, &name])?;
        transaction.execute(&insert, &[id, &2, &name])?;
        transaction.commit()?;
        log.lock().unwrap().committed.push(*id);
    }
    Ok(())
}

/// Every pair is whole and opens, every one that a client knows of is there, nothing is in clear.
fn assert_whole(server: &Postgres, proxy: &Proxy, log: &Log) {
    let mut client = proxy.connect().unwrap();
    let rows = client
        .query("SELECT id, half, name FROM pair", &[])
        .unwrap();
    let mut halves = std::collections::BTreeMap::new();
    for row in rows {
        let (id, half, name): (i32, i32, String) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(name, format!("CANARY{id}"));
        *halves.entry(id).or_insert(0) += half;
    }
    for (id, sum) in &halves {
        assert_eq!(*sum, 3, "pair {id} is not whole");
    }
    for id in &log.committed {
        assert!(
            halves.contains_key(id),
            "pair {id} was committed and is lost"
        );
    }
    // The server's own words for its end and its start, and the proxy's; none: the socket closed.
    let known = ["08006", "57P01", "57P02", "57P03"];
    for code in log.errors.iter().flatten() {
        assert!(known.contains(&code.as_str()), "a client saw {code}");
    }
    assert_eq!(plaintexts(server), Vec::<String>::new());
}

/// A seed that a failure prints, and another run may be given.
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

/// Lets the load commit a few more, a random number of them: that is the moment.
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
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
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
    println!("{} pairs, {} errors", log.committed.len(), log.errors.len());
    assert_whole(&server, &proxy, &log);
}

#[test]
fn a_server_that_is_killed_leaves_whole_rows() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut server = Postgres::start_with(&[("log_statement", "all")]);
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
    let load = Load::start(Arc::new(Mutex::new(proxy.address)), 0);
    let mut state = seed();
    for _ in 0..4 {
        wait_a_random_while(&load, &mut state);
        server.crash();
        server.start_again();
    }
    wait_a_random_while(&load, &mut state);
    let log = load.end();
    println!("{} pairs, {} errors", log.committed.len(), log.errors.len());
    assert_whole(&server, &proxy, &log);
}

#[test]
fn clients_that_are_killed_leave_whole_rows_and_no_connections() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start_with(&[("log_statement", "all")]);
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
    let file = server.add_file(
        "pair.sql",
        b"\\set id random(1, 1000000000)\nBEGIN;\nINSERT INTO pair VALUES (:id, 1, 'CANARY');\n\
         INSERT INTO pair VALUES (:id, 2, 'CANARY');\nCOMMIT;\n",
    );
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
    let names = proxy.connect().unwrap().query("SELECT name FROM pair", &[]);
    assert!(
        names
            .unwrap()
            .iter()
            .all(|row| row.get::<_, &str>(0) == "CANARY")
    );
    std::fs::remove_file(file).unwrap();
    assert_eq!(plaintexts(&server), Vec::<String>::new());
}
