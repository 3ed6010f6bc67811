//! Clusters whose server with all sessions is killed under the load of TPC-C: no transaction that a
//! client was told is committed may be lost, the tables must satisfy the conditions of TPC-C, and
//! clients are to be back soon.
//!
//! `cargo xtask suites cluster` runs them: they take minutes, and need Galera.

mod client;
mod terminal;

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lab::results::TestSample;
use mysql::Conn;
use mysql::prelude::Queryable;
use postgres::Client as PostgresClient;
use server_testkit::mysql::MySql;
use server_testkit::{Galera, Postgres};
use workloads::tpcc::consistency::Acknowledged;
use workloads::tpcc::schema::TABLES;
use workloads::tpcc::{Isolation, Step};

use crate::common::proxy_before;
use crate::mysql::several::{AGREED, agree};
use client::{Client, options};
use terminal::Cluster;

const TERMINALS: u32 = 8;
/// How long they work before the server is killed, and after each event.
const WORK: Duration = Duration::from_secs(10);
/// How soon each terminal that lost its server must have committed again.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// How long a node may take to get everything from another one.
const SYNCED_WITHIN: Duration = Duration::from_secs(60);

/// All columns of TPC-C are protected.
const RULES: &str = include_str!("../../../examples/tpcc-columns/100.toml");
const RULES_OF_MYSQL: &str = include_str!("../../../examples/tpcc-columns/mysql/100.toml");

const BEFORE_GALERA: &str = "protocol = \"mysql\"\nself_signed_tls = \"off\"\n\
                             [proxy.monitor]\nuser = \"watch\"";

/// What a server has: the numbers in the ledger, and how many orders, payments and deliveries they
/// stand for.
const LEDGER: &str = "SELECT number, orders, payments, deliveries FROM ledger";

/// A row of the ledger.
type Entry = [u64; 4];

/// Fills the tables, lets terminals work while `events` come to pass, and returns the run.
fn run_terminals<C: Client>(port: u16, seconds: u32, events: impl FnOnce() + Send) -> Cluster<C> {
    let cluster = Cluster::<C>::behind(port);
    let folder = Path::new("");
    let mut sample = TestSample::default();
    lab::tpcc::make_tables(&cluster, folder, 0, &mut sample).expect("the tables");
    assert_eq!(sample.contradiction, None);
    let step = Step {
        scale: 0,
        terminals: TERMINALS,
        isolation: Isolation::ReadCommitted,
        seconds,
    };
    thread::scope(|scope| {
        scope.spawn(events);
        // What it says of commits is left aside: some were not acknowledged.
        let mut acknowledged = Acknowledged::default();
        lab::tpcc::run_step(&cluster, folder, &step, &mut acknowledged, &mut sample)
            .expect("terminals outlive a server");
    });
    let run = sample.terminals().expect("a run");
    println!(
        "{} transactions, {} conflicts, {} deadlocks and losses, {} given up",
        run.committed, run.conflicts, run.deadlocks, run.given_up
    );
    cluster
}

/// Checks that a server's ledger has all that was acknowledged.
#[track_caller]
fn check_ledger<C>(cluster: &Cluster<C>, server: &str, ledger: &[Entry]) {
    let acknowledged = cluster.run.acknowledged();
    let rows: BTreeSet<u64> = ledger.iter().map(|row| row[0]).collect();
    let lost: Vec<_> = acknowledged.difference(&rows).collect();
    println!(
        "{server}: {} acknowledged, {} found, {} lost",
        acknowledged.len(),
        rows.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "{server} lost {lost:?}");
}

/// Checks, through the proxy, that the tables have what the ledger has and no more, and that
/// terminals had lost their server and were back in time.
#[track_caller]
fn check<C: Client>(cluster: &Cluster<C>, ledger: &[Entry]) {
    let sum = |column: usize| ledger.iter().map(|row| row[column]).sum();
    let acknowledged = Acknowledged {
        orders: sum(1),
        payments: sum(2),
        deliveries: sum(3),
    };
    let violation = lab::tpcc::check(cluster, Path::new(""), 0, acknowledged).expect("rows");
    assert_eq!(violation, None);
    let outages = cluster.run.outages();
    let longest = outages.iter().max().expect("the server was killed");
    println!(
        "{} losses of a server; the longest until the next commit: {:.1} s; clients heard {:?}",
        outages.len(),
        longest.as_secs_f64(),
        cluster.run.heard()
    );
    assert!(outages.len() >= TERMINALS as usize, "{outages:?}");
    assert!(*longest < BACK_WITHIN, "{longest:?}");
}

/// Waits until a node is one of so many, and has what they have.
fn wait_until_synced(node: &MySql, size: usize) {
    let state = || -> Option<[String; 2]> {
        let mut client = Conn::new(options(node.port(), None)).ok()?;
        let mut status = |name: &str| -> Option<String> {
            let query = format!("SHOW GLOBAL STATUS LIKE '{name}'");
            let row: (String, String) = client.query_first(query).ok()??;
            Some(row.1)
        };
        Some([status("wsrep_cluster_size")?, status("wsrep_local_state")?])
    };
    let wanted = Some([size.to_string(), "4".to_owned()]);
    let since = Instant::now();
    while state() != wanted {
        let log = std::fs::read_to_string(node.folder().join("log")).unwrap_or_default();
        assert!(since.elapsed() < SYNCED_WITHIN, "it does not join:\n{log}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// What a node has: the ledger, and a checksum of each table.
fn content(node: &MySql) -> (Vec<Entry>, Vec<(String, Option<u64>)>) {
    let mut client = Conn::new(options(node.port(), Some("tpcc"))).expect("it runs");
    let wait = "SET SESSION wsrep_sync_wait = 1";
    client.query_drop(wait).expect("it has the others' commits");
    let rows = client.query_map(LEDGER, |(a, b, c, d)| [a, b, c, d]);
    let names = TABLES.map(|table| table.name).join(", ");
    let checksums = client.query(format!("CHECKSUM TABLE ledger, {names}"));
    let mut rows: Vec<Entry> = rows.expect("rows");
    rows.sort_unstable();
    (rows, checksums.expect("checksums"))
}

/// Nodes with an account for clients and one for the monitor, neither with a password.
fn start_galera(count: usize) -> Galera {
    assert!(Galera::is_installed(), "install galera-4 and rsync");
    let sql = "CREATE USER worker@localhost;\nGRANT ALL ON *.* TO worker@localhost;\n\
               CREATE USER watch@localhost;\nCREATE DATABASE tpcc;\nCREATE DATABASE shop;\n";
    let galera = Galera::start(count, sql);
    for node in &galera.nodes {
        wait_until_synced(node, count);
    }
    galera
}

/// Nodes as TOML.
fn addresses<'n>(nodes: impl IntoIterator<Item = &'n MySql>) -> String {
    let addresses = nodes
        .into_iter()
        .map(|node| format!("\"127.0.0.1:{}\"", node.port()));
    format!("[{}]", addresses.collect::<Vec<_>>().join(", "))
}

#[test]
#[ignore = "it takes minutes and needs Galera: cargo xtask suites cluster"]
fn galera_loses_no_acknowledged_transaction_when_a_node_is_killed() {
    let mut galera = start_galera(3);
    let upstream = addresses(&galera.nodes);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let proxy = proxy_before(&folder, &upstream, RULES_OF_MYSQL, BEFORE_GALERA);
    let cluster = run_terminals::<Conn>(proxy.address.port(), 45, || {
        thread::sleep(WORK);
        galera.nodes[0].crash();
        thread::sleep(WORK);
        galera.start_again(0);
        wait_until_synced(&galera.nodes[0], 3);
    });
    for node in &galera.nodes {
        wait_until_synced(node, 3);
    }
    let contents: Vec<_> = galera.nodes.iter().map(content).collect();
    for (node, (ledger, checksums)) in galera.nodes.iter().zip(&contents) {
        check_ledger(&cluster, &format!("node {}", node.port()), ledger);
        assert_eq!((ledger, checksums), (&contents[0].0, &contents[0].1));
    }
    check(&cluster, &contents[0].0);
}

#[test]
#[ignore = "it needs Galera: cargo xtask suites cluster"]
fn two_proxies_before_nodes_of_their_own_agree() {
    let galera = start_galera(2);
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let [first, second] = [0, 1].map(|index| &galera.nodes[index]);
    let upstreams = [addresses([first, second]), addresses([second, first])];
    let proxies = [0, 1].map(|index| {
        let (folder, upstream) = (&folders[index], &upstreams[index]);
        proxy_before(folder, upstream, AGREED, BEFORE_GALERA)
    });
    let connect = |port| Conn::new(options(port, Some("shop"))).expect("it runs");
    let mut clients = [0, 1].map(|index| connect(proxies[index].address.port()));
    let mut servers = [first, second].map(|node| connect(node.port()));
    for (client, node) in clients.iter_mut().zip([first, second]) {
        let port: Option<u16> = client.query_first("SELECT @@port").expect("a row");
        assert_eq!(port, Some(node.port()));
    }
    for server in &mut servers {
        let wait = "SET SESSION wsrep_sync_wait = 1";
        server.query_drop(wait).expect("it has the others' commits");
    }
    agree(&mut clients, &mut servers);
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
    let proxy = proxy_before(&folder, &upstream, RULES, more);
    let [mut promoted, mut other] = [&standbys[0], &standbys[1]];
    let cluster = run_terminals::<PostgresClient>(proxy.address.port(), 25, || {
        thread::sleep(WORK);
        primary.crash();
        // Time for the standbys to write down what they have received.
        thread::sleep(Duration::from_secs(1));
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
    });
    let mut client = promoted.connect();
    let version: String = client
        .query_one("SHOW server_version", &[])
        .expect("it")
        .get(0);
    let rows = client.query(LEDGER, &[]).expect("rows");
    let number = |row: &postgres::Row, column: usize| u64::from(row.get::<_, i32>(column) as u32);
    let ledger = rows
        .iter()
        .map(|row| [0, 1, 2, 3].map(|column| number(row, column)));
    let ledger: Vec<_> = ledger.collect();
    check_ledger(&cluster, &format!("PostgreSQL {version}"), &ledger);
    check(&cluster, &ledger);
}
