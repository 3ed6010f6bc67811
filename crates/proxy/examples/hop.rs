//! What a hop between client and server costs, whoever makes it: nothing, a forwarder that does the
//! least, PgBouncer before PostgreSQL, HAProxy, and the proxy without rules.
//!
//! `cargo xtask bench hop [--server mariadb] [--rounds N] [--seconds N] [--clients N] [--tpcc
//! PROGRAM]` runs it, with a server of its own, its disk not waited for. `pgbench` is the client of
//! PostgreSQL, `sysbench` that of MariaDB, with prepared statements. With `--tpcc
//! target/release/strongroom` the lab's TPC-C runs as well, which fills its tables for each window.
//! In each round every hop has a window of its own, in an order that turns, so that what else the
//! machine does meets all alike. All speak TCP; each is a process of its own.
//!
//! Before MariaDB it also shows the time of a SELECT by key, and the memory of idle clients.

use std::path::Path;
use std::process::Command;

use server_testkit::mysql::Brand;

#[path = "hop/forwarder.rs"]
mod forwarder;
#[path = "hop/hops.rs"]
mod hops;
#[path = "hop/idle.rs"]
mod idle;
#[path = "hop/latency.rs"]
mod latency;
#[path = "hop/servers.rs"]
mod servers;
#[path = "pass_through/serving.rs"]
mod serving;

use hops::Hop;
use servers::{MariaDb, Postgres, Server};

/// Arguments by which the program is a hop.
const SERVE: &str = "--serve";
const FORWARD: &str = "--forward";
/// Beyond this share between the slowest and the fastest window without a hop, something else had
/// the processors.
const SPREAD_MAX: f64 = 0.15;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &*arguments {
        [_, serve, protocol, upstream] if serve == SERVE => {
            return serving::until_killed(protocol, upstream, "0", "");
        }
        [_, forward, upstream] if forward == FORWARD => {
            return forwarder::until_killed(upstream.parse().expect("a port"));
        }
        _ => {}
    }
    let option = |name: &str| {
        let at = arguments.iter().position(|own| own == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u32| {
        option(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let asked = Asked {
        rounds: number("--rounds", 5),
        seconds: number("--seconds", 4),
        clients: number("--clients", 8),
        tpcc: option("--tpcc"),
    };
    match option("--server").as_deref() {
        None | Some("postgres") if !server_testkit::is_installed() => {
            println!("There is no PostgreSQL on this machine.");
        }
        None | Some("postgres") => measure(&Postgres::start(), &asked),
        Some("mariadb") if !Brand::MariaDb.is_installed() => {
            println!("There is no MariaDB on this machine.");
        }
        Some("mariadb") => {
            let server = MariaDb::start();
            measure(&server, &asked);
            latency::measure(&server, asked.rounds);
            idle::measure(&server);
        }
        Some(_) => println!("--server is postgres or mariadb"),
    }
}

/// What the arguments ask for.
struct Asked {
    rounds: u32,
    seconds: u32,
    clients: u32,
    /// The lab's program.
    tpcc: Option<String>,
}

/// All loads through all hops.
fn measure(server: &impl Server, asked: &Asked) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Those that may not be root read their files there.
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), everybody).expect("own folder");
    let hops = server.hops(folder.path());
    let (rounds, seconds, clients) = (asked.rounds, asked.seconds, asked.clients);
    println!("{rounds} rounds of windows of {seconds} s, {clients} clients");
    let mut loads: Vec<Load> = server.loads().into_iter().map(Load::Own).collect();
    loads.extend(asked.tpcc.clone().map(Load::Tpcc));
    for load in loads {
        let mut measured: Vec<Vec<Window>> = hops.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds as usize {
            for place in 0..hops.len() {
                let at = (round + place) % hops.len();
                let window = load.measure(&hops[at], server, (clients, seconds), folder.path());
                measured[at].push(window);
            }
        }
        report(&load, &hops, &measured);
    }
}

/// What clients do over and over.
enum Load {
    /// By the server's own program.
    Own(servers::Load),
    /// The lab's program.
    Tpcc(String),
}

/// What was done in a window.
struct Window {
    per_second: f64,
    /// Processor time of the hop for each transaction, in microseconds.
    hop_us: f64,
}

impl Load {
    fn name(&self) -> &'static str {
        match self {
            Self::Own(load) => load.name,
            Self::Tpcc(_) => "TPC-C, READ COMMITTED",
        }
    }

    /// Statements in a transaction. None: they differ, and the hop also sees the tables filled.
    fn statements(&self) -> Option<f64> {
        match self {
            Self::Own(load) => Some(load.statements),
            Self::Tpcc(_) => None,
        }
    }

    fn measure(
        &self,
        hop: &Hop,
        server: &impl Server,
        (clients, seconds): (u32, u32),
        folder: &Path,
    ) -> Window {
        let spent = || hop.process().map(serving::processor_time);
        let before = spent();
        let per_second = match self {
            Self::Own(load) => server.per_second(load, hop.port, (clients, seconds)),
            Self::Tpcc(program) => {
                let target = (server.product(), &*server.url(hop.port));
                tpcc(program, target, (clients, seconds), folder)
            }
        };
        let hop_us = match (before, spent()) {
            (Some(before), Some(after)) => (after - before).as_secs_f64() * 1e6,
            _ => 0.0,
        };
        let transactions = per_second * f64::from(seconds);
        Window {
            per_second,
            hop_us: hop_us / transactions.max(1.0),
        }
    }
}

/// Committed transactions per second of the lab's TPC-C.
fn tpcc(
    program: &str,
    (product, url): (&str, &str),
    (clients, seconds): (u32, u32),
    folder: &Path,
) -> f64 {
    let out = folder.join("tpcc");
    // Of the window before.
    let _ = std::fs::remove_dir_all(&out);
    let ran = Command::new(program)
        .args(["compare", "--workload", "tpcc", "--engines"])
        .arg(format!("{product}-url"))
        .args([&*format!("--{product}-url-env"), "STRONGROOM_HOP_URL"])
        .args(["--isolation", "read-committed", "--repetitions", "1"])
        .args(["--terminals", &clients.to_string()])
        .args(["--seconds", &seconds.to_string()])
        .arg("--out")
        .arg(&out)
        .env("STRONGROOM_HOP_URL", url)
        .output()
        .expect("the lab's program runs");
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let results = std::fs::read_to_string(out.join("results.jsonl")).expect("results");
    let (_, rest) = results.split_once("\"committed\":").expect("a count");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let committed: f64 = digits.parse().expect("a number");
    committed / f64::from(seconds)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

fn report(load: &Load, hops: &[Hop], measured: &[Vec<Window>]) {
    println!();
    println!(
        "{:22} per second     lost   us of the hop per transaction, statement",
        load.name()
    );
    let direct = &measured[0];
    for (hop, windows) in hops.iter().zip(measured) {
        let pairs = windows.iter().zip(direct);
        let lost = median(pairs.map(|(own, base)| 1.0 - own.per_second / base.per_second));
        let per_second = median(windows.iter().map(|own| own.per_second));
        let hop_us = median(windows.iter().map(|own| own.hop_us));
        let statements = load.statements().filter(|_| hop.process().is_some());
        let cost = statements.map(|count| format!("{hop_us:10.1} {:10.1}", hop_us / count));
        let lost = match hop.process() {
            Some(_) => format!("{:6.1} %", lost * 100.0),
            None => format!("{:>8}", "-"),
        };
        println!(
            "{:22} {per_second:10.0} {lost} {}",
            hop.name,
            cost.unwrap_or_default()
        );
    }
    let all = || direct.iter().map(|own| own.per_second);
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let spread = (most - least) / most;
    if spread > SPREAD_MAX {
        println!(
            "The windows without a hop differ by {:.0} %: something else has the processors, and \
             small differences mean nothing.",
            spread * 100.0
        );
    }
}
