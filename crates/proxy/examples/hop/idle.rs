//! The memory of the proxy for clients that ask nothing.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::SERVE;
use crate::hops::Hop;
use crate::latency::connect;
use crate::servers::{MariaDb, PASSWORD, USER};

const CLIENTS: usize = 400;
/// Each is a process of its own.
const CLIENTS_WITH_TLS: usize = 60;

/// A proxy with many clients in clear, and one with some that use TLS.
pub fn measure(server: &MariaDb) {
    println!();
    let upstream = format!("127.0.0.1:{}", server.port());
    let proxy = Hop::of_own("Strongroom", &[SERVE, "mysql", &upstream]);
    // The first ones pay for what all share.
    let first: Vec<_> = (0..20).map(|_| connect(proxy.port)).collect();
    let before = resident_kib(&proxy);
    let clients: Vec<_> = (0..CLIENTS).map(|_| connect(proxy.port)).collect();
    told("an idle client", &proxy, before, clients.len());
    drop((first, clients, proxy));

    let proxy = Hop::of_own("Strongroom", &[SERVE, "mysql", &upstream]);
    let first: Vec<_> = (0..10).map(|_| with_tls(proxy.port)).collect();
    std::thread::sleep(Duration::from_secs(2));
    let before = resident_kib(&proxy);
    let clients: Vec<_> = (0..CLIENTS_WITH_TLS)
        .map(|_| with_tls(proxy.port))
        .collect();
    std::thread::sleep(Duration::from_secs(4));
    told("an idle client with TLS", &proxy, before, clients.len());
    for mut client in first.into_iter().chain(clients) {
        let ended = client.try_wait().expect("a child");
        assert!(ended.is_none(), "a client has ended: it could not connect");
        client.kill().expect("it runs");
        client.wait().expect("it ends");
    }
}

fn told(what: &str, proxy: &Hop, before: u64, clients: usize) {
    let more = resident_kib(proxy).saturating_sub(before);
    let each = more / u64::try_from(clients).expect("few");
    println!("memory of the proxy for {what}: {each} KiB");
}

fn resident_kib(proxy: &Hop) -> u64 {
    let process = proxy.process().expect("it is a process");
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.expect("its memory")
}

/// The program `mariadb`, which connects and then waits for statements.
fn with_tls(port: u16) -> Child {
    Command::new("mariadb")
        .args(["--no-defaults", "--ssl", "--host=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg(format!("--user={USER}"))
        .env("MYSQL_PWD", PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("MariaDB's client is installed")
}
