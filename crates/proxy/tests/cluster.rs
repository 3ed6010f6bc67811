//! Clusters whose server with all sessions is killed under load: no transaction that a client was
//! told is committed may be lost, and clients are to be back soon.
//!
//! `cargo xtask suites cluster` runs them: they take minutes, and need Galera.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use postgres::{Client, NoTls};
use server_testkit::mysql::MySql;
use server_testkit::{Galera, Postgres};

use crate::common::proxy_before;

const CLIENTS: u64 = 8;
/// How long they work before the server is killed, and after the others serve.
const WORK: Duration = Duration::from_secs(8);
/// How long a client may be without a committed transaction.
const BACK_WITHIN: Duration = Duration::from_secs(10);

/// How long a node may take to get everything from another one.
const SYNCED_WITHIN: Duration = Duration::from_secs(60);

const RULES: &str = "[columns.\"shop.ledger\"]\nname = { type = \"varchar(40)\" }\n";
const RULES_OF_POSTGRES: &str = "[columns.ledger]\nname = { type = \"text\" }\n";

/// What clients of one run have in common.
#[derive(Default)]
struct Load {
    next: AtomicU64,
    is_over: AtomicBool,
    acknowledged: Mutex<BTreeSet<u64>>,
    longest_pause: Mutex<Duration>,
    connections: AtomicU64,
    failures: AtomicU64,
}

impl Load {
    /// Carries out transactions until the end, over one connection after the other.
    fn run<C>(&self, connect: impl Fn() -> Option<C>, transact: impl Fn(&mut C, u64) -> bool) {
        let mut last = Instant::now();
        while !self.is_over.load(Ordering::SeqCst) {
            let Some(mut client) = connect() else {
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            self.connections.fetch_add(1, Ordering::SeqCst);
            while !self.is_over.load(Ordering::SeqCst) {
                let number = self.next.fetch_add(1, Ordering::SeqCst);
                if !transact(&mut client, number) {
                    self.failures.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                self.acknowledged.lock().expect("no panic").insert(number);
                let mut longest = self.longest_pause.lock().expect("no panic");
                *longest = longest.max(last.elapsed());
                last = Instant::now();
            }
        }
    }

    /// What a server has: numbers of rows, and how many the counters say.
    #[track_caller]
    fn check(&self, server: &str, rows: &BTreeSet<u64>, counted: u64) {
        let acknowledged = self.acknowledged.lock().expect("no panic");
        let lost: Vec<_> = acknowledged.difference(rows).collect();
        println!(
            "{server}: {} rows, {} acknowledged, {} lost",
            rows.len(),
            acknowledged.len(),
            lost.len()
        );
        assert!(lost.is_empty(), "{server} lost {lost:?}");
        assert_eq!(
            counted,
            rows.len() as u64,
            "{server}: a transaction by half"
        );
    }

    #[track_caller]
    fn check_pause(&self) {
        let longest = *self.longest_pause.lock().expect("no panic");
        println!(
            "the longest pause of a client: {:.1} s; {} connections, {} transactions failed",
            longest.as_secs_f64(),
            self.connections.load(Ordering::SeqCst),
            self.failures.load(Ordering::SeqCst)
        );
        assert!(longest < BACK_WITHIN, "{longest:?}");
    }
}

fn options(port: u16, database: Option<&str>) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some("worker"))
        .db_name(database)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(Duration::from_secs(5)))
}

/// Waits until a node is one of so many, and has what they have.
fn wait_until_synced(node: &MySql, size: usize) {
    let state = || -> Option<(String, String)> {
        let mut client = Conn::new(options(node.port(), None)).ok()?;
        let status = |client: &mut Conn, name: &str| -> Option<String> {
            let query = format!("SHOW GLOBAL STATUS LIKE '{name}'");
            let row: (String, String) = client.query_first(query).ok()??;
            Some(row.1)
        };
        let size = status(&mut client, "wsrep_cluster_size")?;
        Some((size, status(&mut client, "wsrep_local_state")?))
    };
    let wanted = Some((size.to_string(), "4".to_owned()));
    let since = Instant::now();
    while state() != wanted {
        let log = std::fs::read_to_string(node.folder().join("log")).unwrap_or_default();
        assert!(since.elapsed() < SYNCED_WITHIN, "it does not join:\n{log}");
        thread::sleep(Duration::from_millis(100));
    }
}

fn transact_in_mysql(client: &mut Conn, number: u64) -> bool {
    let counter = number % CLIENTS;
    let statements = [
        "BEGIN".to_owned(),
        format!("INSERT INTO ledger VALUES ({number}, 'CANARY {number}')"),
        format!("UPDATE counter SET n = n + 1 WHERE id = {counter}"),
        "COMMIT".to_owned(),
    ];
    let done = statements
        .iter()
        .try_for_each(|text| client.query_drop(text));
    done.is_ok()
}

fn check_node(load: &Load, node: &MySql) {
    let mut client = Conn::new(options(node.port(), Some("shop"))).expect("it runs");
    let rows: Vec<u64> = client.query("SELECT id FROM ledger").expect("rows");
    let counted: Option<u64> = client
        .query_first("SELECT sum(n) FROM counter")
        .expect("a row");
    let rows = rows.into_iter().collect();
    load.check(
        &format!("node {}", node.port()),
        &rows,
        counted.unwrap_or(0),
    );
}

#[test]
#[ignore = "it takes minutes and needs Galera: cargo xtask suites cluster"]
fn galera_loses_no_acknowledged_transaction_when_a_node_is_killed() {
    assert!(Galera::is_installed(), "install galera-4 and rsync");
    let sql = "CREATE USER worker@localhost;\nGRANT ALL ON *.* TO worker@localhost;\n\
               CREATE USER watch@localhost;\nCREATE DATABASE shop;\n";
    let mut galera = Galera::start(3, sql);
    for node in &galera.nodes {
        wait_until_synced(node, 3);
    }
    let upstream = galera
        .nodes
        .iter()
        .map(|node| format!("\"127.0.0.1:{}\"", node.port()));
    let upstream = format!("[{}]", upstream.collect::<Vec<_>>().join(", "));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let more = "protocol = \"mysql\"\nself_signed_tls = \"off\"\n\
                [proxy.monitor]\nuser = \"watch\"";
    let proxy = proxy_before(&folder, &upstream, RULES, more);
    let port = proxy.address.port();
    let mut client = Conn::new(options(port, Some("shop"))).expect("the proxy runs");
    for statement in [
        "CREATE TABLE ledger (id BIGINT PRIMARY KEY, name VARCHAR(40))",
        "CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT NOT NULL)",
        "INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)",
    ] {
        client.query_drop(statement).expect(statement);
    }
    let load = Load::default();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let connect = || Conn::new(options(port, Some("shop"))).ok();
                load.run(connect, transact_in_mysql);
            });
        }
        thread::sleep(WORK);
        let before = load.acknowledged.lock().expect("no panic").len();
        galera.nodes[0].crash();
        thread::sleep(WORK);
        let after = load.acknowledged.lock().expect("no panic").len();
        println!(
            "{before} transactions before the kill, {} in {WORK:?} behind it",
            after - before
        );
        galera.start_again(0);
        wait_until_synced(&galera.nodes[0], 3);
        thread::sleep(WORK);
        load.is_over.store(true, Ordering::SeqCst);
    });
    for node in &galera.nodes {
        wait_until_synced(node, 3);
        check_node(&load, node);
    }
    load.check_pause();
    drop(proxy);
}

fn transact_in_postgres(client: &mut Client, number: u64) -> bool {
    let counter = number % CLIENTS;
    let text = format!(
        "BEGIN; INSERT INTO ledger VALUES ({number}, 'CANARY {number}'); \
         UPDATE counter SET n = n + 1 WHERE id = {counter}; COMMIT"
    );
    client.batch_execute(&text).is_ok()
}

/// How far a standby has received what the primary wrote, in bytes.
fn received(standby: &Postgres) -> i64 {
    let query = "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint";
    standby
        .connect()
        .query_one(query, &[])
        .expect("a standby")
        .get(0)
}

#[test]
#[ignore = "it takes a minute: cargo xtask suites cluster"]
fn postgres_loses_no_acknowledged_transaction_when_a_standby_takes_over() {
    assert!(server_testkit::is_installed(), "install PostgreSQL");
    let mut primary = Postgres::start();
    let standbys = [primary.start_standby(&[]), primary.start_standby(&[])];
    let waits = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'";
    let reload = "SELECT pg_reload_conf()";
    for server in [&primary, &standbys[0], &standbys[1]] {
        let mut client = server.connect();
        client.batch_execute(waits).expect("the superuser may");
        client.batch_execute(reload).expect("the superuser may");
    }
    let servers = [&primary, &standbys[0], &standbys[1]];
    let upstream = servers.map(|server| format!("\"127.0.0.1:{}\"", server.port()));
    let upstream = format!("[{}]", upstream.join(", "));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let more = "target_session_attrs = \"read-write\"";
    let proxy = proxy_before(&folder, &upstream, RULES_OF_POSTGRES, more);
    let url = format!(
        "postgres://postgres@127.0.0.1:{}/postgres?connect_timeout=5",
        proxy.address.port()
    );
    let mut client = Client::connect(&url, NoTls).expect("the proxy runs");
    let create = "CREATE TABLE ledger (id bigint PRIMARY KEY, name text); \
                  CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL); \
                  INSERT INTO counter SELECT i, 0 FROM generate_series(0, 7) i";
    client.batch_execute(create).expect("made");
    let load = Load::default();
    let mut promoted = &standbys[0];
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| load.run(|| Client::connect(&url, NoTls).ok(), transact_in_postgres));
        }
        thread::sleep(WORK);
        primary.crash();
        // Time for the standbys to write down what they have received.
        thread::sleep(Duration::from_secs(1));
        let mut other = &standbys[1];
        if received(other) > received(promoted) {
            std::mem::swap(&mut promoted, &mut other);
        }
        promoted.promote();
        let follow = format!(
            "ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port={} user=postgres'",
            promoted.port()
        );
        let mut client = other.connect();
        client.batch_execute(&follow).expect("the superuser may");
        client.batch_execute(reload).expect("the superuser may");
        thread::sleep(WORK);
        load.is_over.store(true, Ordering::SeqCst);
    });
    let mut client = promoted.connect();
    let rows = client.query("SELECT id FROM ledger", &[]).expect("rows");
    let rows = rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect();
    let counted = client.query_one("SELECT sum(n)::bigint FROM counter", &[]);
    let counted: i64 = counted.expect("a row").get(0);
    load.check("the new primary", &rows, counted as u64);
    load.check_pause();
    drop(proxy);
}
