//! What the way through the proxy costs, without rules: the same statements to the server itself
//! and through a proxy, in turn, so that what else the machine does meets both alike.
//!
//! `cargo xtask bench proxy [--rounds N] [--seconds N] [--clients N] [--workers N] [--unix]
//! [--socket]` runs it, with a server of its own, its disk not waited for. A pair of windows is one
//! of each; the order within a pair alternates. Clients speak TCP to either. With `--socket` they
//! reach the proxy, as beside a program on the same machine, by its socket of the file system; with
//! `--unix` the proxy reaches the server by the server's. Proxy and clients are processes of their
//! own, as in earnest.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Child;
use std::time::{Duration, Instant};

use server_testkit::Postgres;

#[path = "pass_through/client.rs"]
mod client;
#[path = "pass_through/serving.rs"]
mod serving;

use client::{ACCOUNTS, Address, Client, Load};

/// The argument by which the program is the proxy.
const SERVE: &str = "--serve";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, serve, upstream, workers, socket] = &*arguments
        && serve == SERVE
    {
        return serving::until_killed("postgres", upstream, workers, socket);
    }
    if !server_testkit::is_installed() {
        println!("There is no PostgreSQL on this machine.");
        return;
    }
    let (rounds, seconds) = (option("--rounds", 5), option("--seconds", 2));
    let clients = option("--clients", 8);
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let sockets = tempfile::tempdir().expect("a temporary folder");
    give_away(sockets.path());
    let folder = sockets.path().display().to_string();
    let server = Postgres::start_with(&[("unix_socket_directories", &folder)]);
    fill(&server);
    let upstream = match has("--unix") {
        true => format!("{folder}/.s.PGSQL.{}", server.port()),
        false => format!("127.0.0.1:{}", server.port()),
    };
    // 0: as many as the proxy has by itself.
    let proxy = Proxy::start(&upstream, option("--workers", 0), has("--socket"));
    let way = if has("--socket") { "its socket" } else { "TCP" };
    println!(
        "{rounds} pairs of windows of {seconds} s; clients to the proxy by {way}, the proxy to \
         {upstream}"
    );
    println!("{TITLE}");
    let window = Duration::from_secs(seconds);
    for (load, clients) in [
        (Load::Select, 1),
        (Load::Select, clients),
        (Load::Transfer, clients),
    ] {
        let pairs: Vec<Pair> = (0..rounds)
            .map(|round| Pair::measure(round, load, clients, window, &server, &proxy))
            .collect();
        report(load, clients, &pairs);
    }
}

fn option(name: &str, default: u64) -> u64 {
    let value = std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1);
    value.map_or(default, |text| {
        text.parse().expect("the option's value is a number")
    })
}

/// The server's user makes its socket there.
fn give_away(folder: &std::path::Path) {
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, everybody).expect("own folder");
    // Whoever is not the superuser runs the server himself.
    let _ = chown(folder, Some(65534), Some(65534));
}

fn fill(server: &Postgres) {
    let script = format!(
        "CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL, filler text);
         CREATE TABLE teller (id integer PRIMARY KEY, balance integer NOT NULL)
             WITH (fillfactor = 10);
         CREATE TABLE history (account integer, teller integer, change integer, at timestamp);
         INSERT INTO account SELECT id, 0, repeat('x', 80) FROM generate_series(1, {ACCOUNTS}) id;
         INSERT INTO teller SELECT id, 0 FROM generate_series(1, 100) id;
         VACUUM ANALYZE account; VACUUM ANALYZE teller"
    );
    for statement in script.split(';') {
        server
            .connect()
            .batch_execute(statement)
            .expect("the tables are made");
    }
}

/// A proxy in a process of its own.
struct Proxy {
    child: Child,
    address: Address,
    /// Holds its socket.
    _folder: tempfile::TempDir,
}

impl Proxy {
    fn start(upstream: &str, workers: u64, by_socket: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join(".s.proxy");
        let named = if by_socket {
            socket.display().to_string()
        } else {
            String::new()
        };
        let workers = workers.to_string();
        let (child, port) = serving::spawn(&[SERVE, upstream, &workers, &named]);
        let address = match by_socket {
            true => Address::Socket(socket),
            false => Address::Port(port),
        };
        Self {
            child,
            address,
            _folder: folder,
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What clients did in a window, with the server itself or through the proxy.
struct Window {
    per_second: f64,
    /// Of each statement or transaction, in order of size.
    latencies_us: Vec<f64>,
    round_trips: usize,
}

impl Window {
    fn measure(address: &Address, load: Load, clients: u64, time: Duration) -> Self {
        let clients: Vec<Client> = (0..clients)
            .map(|seed| Client::connect(address, load, seed))
            .collect();
        let start = Instant::now();
        let threads: Vec<_> = clients
            .into_iter()
            .map(|client| std::thread::spawn(move || client.work(time)))
            .collect();
        let mut latencies_us = Vec::new();
        for thread in threads {
            latencies_us.extend(thread.join().expect("the client works"));
        }
        let seconds = start.elapsed().as_secs_f64();
        latencies_us.sort_by(f64::total_cmp);
        Self {
            per_second: latencies_us.len() as f64 / seconds,
            round_trips: latencies_us.len() * load.round_trips(),
            latencies_us,
        }
    }

    fn quantile(&self, share: f64) -> f64 {
        let index = (self.latencies_us.len() as f64 * share) as usize;
        self.latencies_us.get(index).copied().unwrap_or(f64::NAN)
    }
}

struct Pair {
    direct: Window,
    through: Window,
    /// Processor time of the proxy for a message and its answer.
    proxy_us: f64,
}

impl Pair {
    fn measure(
        round: u64,
        load: Load,
        clients: u64,
        time: Duration,
        server: &Postgres,
        proxy: &Proxy,
    ) -> Self {
        let server = Address::Port(server.port());
        let direct = || Window::measure(&server, load, clients, time);
        let through = || {
            let before = serving::processor_time(proxy.child.id());
            let window = Window::measure(&proxy.address, load, clients, time);
            let spent = serving::processor_time(proxy.child.id()) - before;
            let proxy_us = spent.as_secs_f64() * 1e6 / window.round_trips.max(1) as f64;
            (window, proxy_us)
        };
        // Whichever comes first alternates: a machine that slows down favours neither.
        let (direct, (through, proxy_us)) = if round.is_multiple_of(2) {
            let first = direct();
            (first, through())
        } else {
            let first = through();
            (direct(), first)
        };
        Self {
            direct,
            through,
            proxy_us,
        }
    }
}

const TITLE: &str = "load      clients  direct/s proxy/s  ratio (lowest..highest)  \
                     p50 direct  added   p99 direct  added   proxy CPU/round trip";

fn report(load: Load, clients: u64, pairs: &[Pair]) {
    let of = |value: &dyn Fn(&Pair) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let middle = |value: &dyn Fn(&Pair) -> f64| {
        let values = of(value);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let ratios = of(&|pair| pair.through.per_second / pair.direct.per_second);
    let added = |share: f64| {
        middle(&move |pair: &Pair| pair.through.quantile(share) - pair.direct.quantile(share))
    };
    println!(
        "{:10}{clients:6} {:9.0} {:8.0}  {:.3} ({:.3}..{:.3})  {:11.0} us {:+7.0} us {:8.0} us \
         {:+7.0} us {:10.1} us",
        load.name(),
        middle(&|pair| pair.direct.per_second),
        middle(&|pair| pair.through.per_second),
        middle(&|pair| pair.through.per_second / pair.direct.per_second),
        ratios.first().copied().unwrap_or(f64::NAN),
        ratios.last().copied().unwrap_or(f64::NAN),
        middle(&|pair| pair.direct.quantile(0.5)),
        added(0.5),
        middle(&|pair| pair.direct.quantile(0.99)),
        added(0.99),
        middle(&|pair| pair.proxy_us),
    );
}
