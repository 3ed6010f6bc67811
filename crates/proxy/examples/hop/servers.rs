//! The servers behind the hops, each with the program that loads it.

use std::path::Path;
use std::process::{Command, Output};

use server_testkit::mysql::{Brand, MySql};

use crate::hops::Hop;
use crate::{FORWARD, SERVE};

/// A server behind the hops.
pub trait Server {
    /// As the lab names engines of its protocol.
    fn product(&self) -> &'static str;

    /// The ways to it, the direct one first.
    fn hops(&self, folder: &Path) -> Vec<Hop>;

    fn loads(&self) -> Vec<Load>;

    /// Transactions of a load in a second, through a port.
    fn per_second(&self, load: &Load, port: u16, times: (u32, u32)) -> f64;

    /// A database of its own for the lab, through a port.
    fn url(&self, port: u16) -> String;
}

/// A load of the server's own program.
pub struct Load {
    pub name: &'static str,
    /// Statements in a transaction.
    pub statements: f64,
    /// What the program calls it.
    script: &'static str,
}

pub struct Postgres(server_testkit::Postgres);

impl Postgres {
    pub fn start() -> Self {
        let server = server_testkit::Postgres::start_with(&[("max_connections", "100")]);
        let filled = server.run("pgbench", &["-i", "-s", "10", "-q", "postgres"]);
        assert!(filled.status.success(), "pgbench fills its tables");
        Self(server)
    }
}

impl Server for Postgres {
    fn product(&self) -> &'static str {
        "postgres"
    }

    fn hops(&self, folder: &Path) -> Vec<Hop> {
        let port = self.0.port();
        let mut hops = own_hops("postgres", port);
        hops.splice(2..2, Hop::haproxy(folder, port));
        hops.splice(2..2, Hop::pgbouncer(folder, port));
        hops
    }

    fn loads(&self) -> Vec<Load> {
        [
            ("pgbench -S", 1.0, "select-only"),
            ("pgbench, TPC-B", 7.0, "tpcb-like"),
        ]
        .map(Load::new)
        .into()
    }

    fn per_second(&self, load: &Load, port: u16, (clients, seconds): (u32, u32)) -> f64 {
        let (clients, seconds) = (clients.to_string(), seconds.to_string());
        let mut arguments = vec!["-n", "-M", "prepared", "-b", load.script];
        arguments.extend(["-c", &clients, "-T", &seconds, "postgres"]);
        number_in(&self.0.run_at(port, "pgbench", &arguments), "tps = ")
    }

    fn url(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }
}

/// MariaDB, with rows of sysbench.
pub struct MariaDb(MySql);

/// The database of sysbench.
pub const DATABASE: &str = "sysbench";
pub const USER: &str = "teller";
pub const PASSWORD: &str = "teller";
/// Rows in its table.
pub const ROWS: u32 = 100_000;

impl MariaDb {
    pub fn start() -> Self {
        let arguments = [
            "--innodb_flush_log_at_trx_commit=0",
            "--innodb_buffer_pool_size=512M",
            "--max_connections=1000",
        ];
        let first = format!(
            "CREATE DATABASE {DATABASE};\n\
             CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';\n\
             GRANT ALL ON *.* TO {USER}@localhost;\n"
        );
        let server = Self(MySql::start(Brand::MariaDb, &arguments, &[], &first));
        let filled = server.sysbench(server.0.port(), "oltp_read_write", 1, &["prepare"]);
        let errors = String::from_utf8_lossy(&filled.stdout);
        assert!(
            filled.status.success(),
            "sysbench fills its table: {errors}"
        );
        server
    }

    pub fn port(&self) -> u16 {
        self.0.port()
    }

    fn sysbench(&self, port: u16, script: &str, clients: u32, more: &[&str]) -> Output {
        Command::new("sysbench")
            .args([script, "--db-driver=mysql", "--mysql-host=127.0.0.1"])
            .arg(format!("--mysql-port={port}"))
            .arg(format!("--mysql-user={USER}"))
            .arg(format!("--mysql-password={PASSWORD}"))
            .arg(format!("--mysql-db={DATABASE}"))
            .arg(format!("--table-size={ROWS}"))
            .arg(format!("--threads={clients}"))
            .args(["--tables=1", "--mysql-ssl=off"])
            .args(more)
            .output()
            .expect("sysbench is installed (Debian's package sysbench)")
    }
}

impl Server for MariaDb {
    fn product(&self) -> &'static str {
        "mysql"
    }

    fn hops(&self, folder: &Path) -> Vec<Hop> {
        let port = self.0.port();
        let mut hops = own_hops("mysql", port);
        hops.splice(2..2, Hop::haproxy(folder, port));
        hops
    }

    fn loads(&self) -> Vec<Load> {
        // A transaction of the second one is BEGIN, ten SELECTs by key, four of ranges, four that
        // write, COMMIT.
        [
            ("sysbench, SELECT by key", 1.0, "oltp_point_select"),
            ("sysbench, reads and writes", 20.0, "oltp_read_write"),
        ]
        .map(Load::new)
        .into()
    }

    fn per_second(&self, load: &Load, port: u16, (clients, seconds): (u32, u32)) -> f64 {
        let time = format!("--time={seconds}");
        let said = self.sysbench(port, load.script, clients, &[&time, "run"]);
        number_in(&said, "transactions:") / f64::from(seconds)
    }

    fn url(&self, port: u16) -> String {
        format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}")
    }
}

impl Load {
    fn new((name, statements, script): (&'static str, f64, &'static str)) -> Self {
        Self {
            name,
            statements,
            script,
        }
    }
}

/// Nothing, the forwarder and the proxy.
fn own_hops(protocol: &str, port: u16) -> Vec<Hop> {
    let upstream = format!("127.0.0.1:{port}");
    vec![
        Hop::direct(port),
        Hop::of_own("forwarder", &[FORWARD, &port.to_string()]),
        Hop::of_own("Strongroom", &[SERVE, protocol, &upstream]),
    ]
}

/// The first number behind a text that a program has said.
fn number_in(said: &Output, before: &str) -> f64 {
    let text = String::from_utf8_lossy(&said.stdout);
    let found = text.split_once(before).and_then(|(_, rest)| {
        let rest = rest.trim_start();
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        rest[..end?].parse().ok()
    });
    let errors = String::from_utf8_lossy(&said.stderr);
    found.unwrap_or_else(|| panic!("there is no result: {text}{errors}"))
}
