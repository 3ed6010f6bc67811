//! `strongroom proxy` as a process: signals, kills, slow clients, very many clients.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use postgres::{Client, NoTls};
use server_testkit::Postgres;

use proxy_process::{PATIENCE, Proxy, plaintexts, startup, wait_for};

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

#[test]
fn a_slow_client_holds_the_server_up_and_takes_no_memory() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    // A table with rules, so that each row is opened.
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
    let mut writer = proxy.connect().unwrap();
    let insert = writer
        .prepare("INSERT INTO pair VALUES ($1, 1, $2)")
        .unwrap();
    let name = format!("CANARY{}", "x".repeat(100_000));
    for id in 0..400 {
        writer.execute(&insert, &[&id, &name]).unwrap();
    }
    let before = proxy.memory_kib("VmRSS");
    for query in ["SELECT name FROM pair", "SELECT repeat('x', 40000000)"] {
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&startup()).unwrap();
        proxy_process::read_until_ready(&mut socket);
        let size = u32::try_from(query.len() + 5).unwrap();
        let message = [b"Q", &size.to_be_bytes()[..], query.as_bytes(), b"\0"].concat();
        let at_begin = proxy.metric("server_bytes_total");
        socket.write_all(&message).unwrap();
        // Nobody reads: what comes from the server comes to a stop.
        let mut last = (0, 0);
        wait_for(|| {
            thread::sleep(Duration::from_millis(50));
            let now = proxy.metric("server_bytes_total");
            last = if now == last.0 && now > at_begin {
                (now, last.1 + 1)
            } else {
                (now, 0)
            };
            last.1 == 10
        });
        let taken = last.0 - at_begin;
        assert!(
            taken < 20_000_000,
            "{taken} bytes were taken for a client that reads nothing"
        );
        let mut bytes = 0;
        let mut buffer = vec![0; 1 << 16];
        while bytes < 40_000_000 {
            match socket.read(&mut buffer).unwrap() {
                0 => panic!("the proxy gave up after {bytes} bytes"),
                size => bytes += size,
            }
        }
        let most = proxy.memory_kib("VmHWM");
        println!("{query}: {taken} bytes held; memory {before} KiB before, {most} KiB at most");
        assert!(most < before + 24 * 1024, "{most} KiB, {before} before");
    }
}

#[test]
fn statements_without_end_take_no_memory() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    let mut client = proxy.connect().unwrap();
    client.batch_execute(CREATE).unwrap();
    client
        .batch_execute("CREATE TABLE plain (a integer)")
        .unwrap();
    let round = |client: &mut Client| {
        for number in 0..1500 {
            client.batch_execute("SELECT count(*) FROM plain").unwrap();
            let insert = "INSERT INTO pair VALUES ($1, 1, $2)";
            client.execute(insert, &[&number, &"CANARY"]).unwrap();
            // Texts that differ: the cache of plans has a limit.
            let text = format!("DELETE FROM pair WHERE id = {number} AND half = 1");
            client.batch_execute(&text).unwrap();
            assert!(
                client
                    .batch_execute("SELECT upper(name) FROM pair")
                    .is_err()
            );
        }
        proxy.memory_kib("VmRSS")
    };
    let sizes: Vec<u64> = (0..4).map(|_| round(&mut client)).collect();
    println!("memory after each round: {sizes:?} KiB");
    assert!(sizes[3] < sizes[1] + 1024, "{sizes:?} KiB");
}

/// Descriptors of this process and of the proxy: two for each connection. Gives how many
/// connections there can be.
fn connections_possible(wanted: usize) -> usize {
    let needed = 2 * wanted as u64 + 600;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // The superuser may go beyond the limit.
    let raised = setrlimit(Resource::RLIMIT_NOFILE, needed, needed.max(hard));
    if raised.is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    }
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    wanted.min(usize::try_from((soft - 600) / 2).unwrap())
}

/// A server that lets everybody in and answers each statement with nothing: a real one would need a
/// process for each connection.
fn start_fake_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut sockets = Vec::new();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut packet = vec![0; startup().len()];
            socket.read_exact(&mut packet).unwrap();
            socket
                .write_all(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I")
                .unwrap();
            let mut query = [0; 14];
            socket.read_exact(&mut query).unwrap();
            socket
                .write_all(b"C\0\0\0\x0dSELECT 0\0Z\0\0\0\x05I")
                .unwrap();
            sockets.push(socket);
        }
    });
    address
}

#[test]
fn ten_thousand_idle_connections_take_little_memory() {
    let count = connections_possible(10_000);
    if count < 10_000 {
        println!("descriptors allow {count} connections only");
    }
    let upstream = start_fake_server();
    let proxy = Proxy::start(&upstream.port().to_string(), "", "workers = 2");
    let open = || {
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&startup()).unwrap();
        proxy_process::read_until_ready(&mut socket);
        socket.write_all(b"Q\0\0\0\x0dSELECT 1\0").unwrap();
        proxy_process::read_until_ready(&mut socket);
        socket
    };
    // What the first ones make is there for all.
    let first: Vec<TcpStream> = (0..100).map(|_| open()).collect();
    let before = proxy.memory_kib("VmRSS");
    let since = Instant::now();
    let sockets: Vec<TcpStream> = (100..count).map(|_| open()).collect();
    let after = proxy.memory_kib("VmRSS");
    let each = (after - before) as f64 / sockets.len() as f64;
    println!(
        "{count} connections in {:.1} s: {each:.1} KiB each, {after} KiB in all",
        since.elapsed().as_secs_f64()
    );
    assert_eq!(proxy.metric("connections_open"), count as u64);
    assert!(each <= 64.0, "{each} KiB for each idle connection");
    drop(sockets);
    drop(first);
    wait_for(|| proxy.metric("connections_open") == 0);
}
