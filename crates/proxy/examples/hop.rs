//! What a hop between client and PostgreSQL costs, whoever makes it: nothing, a forwarder that does
//! the least, PgBouncer, HAProxy, and the proxy without rules.
//!
//! `cargo xtask bench hop [--rounds N] [--seconds N] [--clients N] [--tpcc PROGRAM]` runs it, with
//! a server of its own, its disk not waited for. `pgbench` is the client, with prepared statements.
//! With `--tpcc target/release/strongroom` the lab's TPC-C runs as well, which fills its tables for
//! each window. In each round every hop has a window of its own, in an order that turns, so that
//! what else the machine does meets all alike. All speak TCP; each is a process of its own.

use std::path::Path;
use std::process::Command;

use server_testkit::Postgres;

#[path = "hop/forwarder.rs"]
mod forwarder;
#[path = "hop/hops.rs"]
mod hops;
#[path = "pass_through/serving.rs"]
mod serving;

use hops::Hop;

/// Arguments by which the program is a hop.
const SERVE: &str = "--serve";
const FORWARD: &str = "--forward";
/// Beyond this share between the slowest and the fastest window without a hop, something else had
/// the processors.
const SPREAD_MAX: f64 = 0.15;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &*arguments {
        [_, serve, upstream] if serve == SERVE => return serving::until_killed(upstream, "0", ""),
        [_, forward, upstream] if forward == FORWARD => {
            return forwarder::until_killed(upstream.parse().expect("a port"));
        }
        _ => {}
    }
    if !server_testkit::is_installed() {
        println!("There is no PostgreSQL on this machine.");
        return;
    }
    let option = |name: &str| {
        let at = arguments.iter().position(|own| own == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u32| {
        option(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (rounds, seconds) = (number("--rounds", 5), number("--seconds", 4));
    let clients = number("--clients", 8);
    let server = Postgres::start_with(&[("max_connections", "100")]);
    let filled = server.run("pgbench", &["-i", "-s", "10", "-q", "postgres"]);
    assert!(filled.status.success(), "pgbench fills its tables");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Those that may not be root read their files there.
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), everybody).expect("own folder");
    let port = server.port().to_string();
    let upstream = format!("127.0.0.1:{port}");
    let mut hops = vec![
        Hop::direct(server.port()),
        Hop::of_own("forwarder", &[FORWARD, &port]),
    ];
    hops.extend(Hop::pgbouncer(folder.path(), server.port()));
    hops.extend(Hop::haproxy(folder.path(), server.port()));
    hops.push(Hop::of_own("Strongroom", &[SERVE, &upstream]));
    println!("{rounds} rounds of windows of {seconds} s, {clients} clients");
    let mut loads = vec![Load::Select, Load::Transfer];
    loads.extend(option("--tpcc").map(Load::Tpcc));
    for load in loads {
        let mut measured: Vec<Vec<Window>> = hops.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds as usize {
            for place in 0..hops.len() {
                let at = (round + place) % hops.len();
                let window = load.measure(&hops[at], &server, (clients, seconds), folder.path());
                measured[at].push(window);
            }
        }
        report(&load, &hops, &measured);
    }
}

/// What clients do over and over.
enum Load {
    Select,
    Transfer,
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
            Self::Select => "pgbench -S",
            Self::Transfer => "pgbench, TPC-B",
            Self::Tpcc(_) => "TPC-C, READ COMMITTED",
        }
    }

    /// Statements in a transaction. None: they differ, and the hop also sees the tables filled.
    fn statements(&self) -> Option<f64> {
        match self {
            Self::Select => Some(1.0),
            Self::Transfer => Some(7.0),
            Self::Tpcc(_) => None,
        }
    }

    fn measure(
        &self,
        hop: &Hop,
        server: &Postgres,
        (clients, seconds): (u32, u32),
        folder: &Path,
    ) -> Window {
        let spent = || hop.process().map(serving::processor_time);
        let before = spent();
        let per_second = match self {
            Self::Tpcc(program) => tpcc(program, hop.port, (clients, seconds), folder),
            _ => pgbench(
                matches!(self, Self::Select),
                hop.port,
                server,
                (clients, seconds),
            ),
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

fn pgbench(is_select: bool, port: u16, server: &Postgres, (clients, seconds): (u32, u32)) -> f64 {
    let (clients, seconds) = (clients.to_string(), seconds.to_string());
    let mut arguments = vec!["-n", "-M", "prepared", "-c", &clients, "-T", &seconds];
    if is_select {
        arguments.push("-S");
    }
    arguments.push("postgres");
    let said = server.run_at(port, "pgbench", &arguments);
    let text = String::from_utf8_lossy(&said.stdout);
    let found = text.lines().find_map(|line| {
        let rest = line.strip_prefix("tps = ")?;
        rest.split(' ').next()?.parse().ok()
    });
    let errors = String::from_utf8_lossy(&said.stderr);
    found.unwrap_or_else(|| panic!("pgbench gives no result: {errors}"))
}

/// Committed transactions per second of the lab's TPC-C.
fn tpcc(program: &str, port: u16, (clients, seconds): (u32, u32), folder: &Path) -> f64 {
    let out = folder.join("tpcc");
    // Of the window before.
    let _ = std::fs::remove_dir_all(&out);
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let ran = Command::new(program)
        .args(["compare", "--workload", "tpcc", "--engines", "postgres-url"])
        .args(["--postgres-url-env", "STRONGROOM_HOP_URL"])
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
