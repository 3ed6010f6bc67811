//! What sealing in process costs, beside the way through the proxy: one row by its key, asked of
//! the server itself, through the proxy, and through a connector in this process.
//!
//! `cargo xtask bench client [--steps N] [--finished]` runs it, with a server of its own, its disk
//! not waited for. Each step asks every way once, in an order that turns, so that what else the
//! machine does meets all alike. The proxy is a process of its own. All ways go by TCP; all clients
//! are tokio-postgres in one thread, one waiting at a time. `--finished` measures a query that a
//! finisher answers.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use server_testkit::Postgres;
use strongroom_postgres::tokio_postgres::{Client, Config, NoTls, Statement};
use strongroom_postgres::{Connector, Options};

#[path = "in_process_cost/finished.rs"]
mod finished;

/// The argument by which the program is the proxy.
const SERVE: &str = "--serve";
const ROWS: u64 = 100_000;
const STEPS: u64 = 20_000;
/// Steps that are not counted: caches fill, plans are made.
const WARM_STEPS: u64 = 2_000;
const RULES: &str = r#"
[columns.sealed_account]
id = { type = "integer", mode = "equality" }
balance = { type = "integer" }
holder = { type = "varchar(60)" }
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, serve, file] = &*arguments
        && serve == SERVE
    {
        let file = file.clone();
        // The proxy has a runtime of its own.
        let serving = std::thread::spawn(move || serve_until_killed(Path::new(&file)));
        return serving.join().expect("the proxy runs");
    }
    if !server_testkit::is_installed() {
        println!("There is no PostgreSQL on this machine.");
        return;
    }
    // It connects as one that waits, which a thread of the runtime may not.
    let server = std::thread::spawn(Postgres::start)
        .join()
        .expect("a server");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("strongroom.toml");
    std::fs::write(folder.path().join("columns.key"), [0x5a; 32]).expect("own folder");
    let text = format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:{}\"\n\
         [keys]\nfile = \"columns.key\"\n{}{RULES}{}",
        server.port(),
        finish(),
        finished::RULES
    );
    std::fs::write(&file, text).expect("own folder");
    let proxy = Proxy::start(&file);
    let connector = Connector::new(Options::read(&file).expect("options")).expect("a connector");

    let direct: Config = server.url().parse().expect("the server's URL");
    let mut through = Config::new();
    through.host("127.0.0.1").port(proxy.port).user("postgres");
    if std::env::args().any(|argument| argument == "--finished") {
        let (direct, through) = (connect(&direct).await, connect(&through).await);
        let steps = usize::try_from(option("--steps", 500)).expect("a number of steps");
        return finished::measure(&direct, &through, steps).await;
    }
    fill(&connect_within(&connector, &direct).await).await;
    let mut ways = vec![
        Way::new("direct", "account", connect(&direct).await).await,
        Way::new("proxy", "account", connect(&through).await).await,
        Way::new(
            "in process",
            "account",
            connect_within(&connector, &direct).await,
        )
        .await,
        Way::new("proxy", "sealed_account", connect(&through).await).await,
        Way::new(
            "in process",
            "sealed_account",
            connect_within(&connector, &direct).await,
        )
        .await,
    ];
    let steps = option("--steps", STEPS);
    let mut random = 1;
    for step in 0..WARM_STEPS + steps {
        let id = next(&mut random);
        let first = usize::try_from(step).expect("a small number") % ways.len();
        for index in 0..ways.len() {
            let place = (first + index) % ways.len();
            ways[place].ask(id, step >= WARM_STEPS).await;
        }
    }
    report(&mut ways, steps);
}

fn option(name: &str, default: u64) -> u64 {
    let value = std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1);
    value.map_or(default, |text| {
        text.parse().expect("the option's value is a number")
    })
}

/// The proxy's own section on the finisher; PostgreSQL does not run as root.
fn finish() -> String {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let run_as = if is_root { "run_as = \"nobody\"\n" } else { "" };
    format!("[finish]\nengine = \"postgres\"\n{run_as}")
}

/// Numbers of rows, in no order (the generator is that of Knuth's MMIX).
fn next(random: &mut u64) -> i32 {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    i32::try_from((*random >> 33) % ROWS).expect("a row's number")
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.expect("connected");
    tokio::spawn(connection);
    client
}

async fn connect_within(connector: &Connector, config: &Config) -> Client {
    let (client, connection) = connector.connect(config).await.expect("connected");
    tokio::spawn(connection);
    client
}

async fn fill(client: &Client) {
    for table in ["account", "sealed_account"] {
        let create = format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, balance integer, holder varchar(60))"
        );
        client.batch_execute(&create).await.expect("created");
        for first in (0..ROWS).step_by(1000) {
            let rows: Vec<String> = (first..first + 1000)
                .map(|id| format!("({id}, {}, 'holder of account {id}')", id * 7))
                .collect();
            let insert = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
            client.batch_execute(&insert).await.expect("inserted");
        }
        let vacuum = format!("VACUUM ANALYZE {table}");
        client.batch_execute(&vacuum).await.expect("analyzed");
    }
}

/// One way to ask.
struct Way {
    name: &'static str,
    table: &'static str,
    client: Client,
    select: Statement,
    latencies_us: Vec<f64>,
}

impl Way {
    async fn new(name: &'static str, table: &'static str, client: Client) -> Self {
        let text = format!("SELECT balance, holder FROM {table} WHERE id = $1");
        let select = client.prepare(&text).await.expect("prepared");
        Self {
            name,
            table,
            client,
            select,
            latencies_us: Vec::new(),
        }
    }

    async fn ask(&mut self, id: i32, is_counted: bool) {
        let start = Instant::now();
        let row = self.client.query_one(&self.select, &[&id]).await;
        let latency = start.elapsed();
        assert_eq!(row.expect("a row").get::<_, i32>(0), id * 7);
        if is_counted {
            self.latencies_us.push(latency.as_secs_f64() * 1e6);
        }
    }
}

/// The value below which this share lies.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

fn report(ways: &mut [Way], steps: u64) {
    println!("{steps} steps, one row by its key; microseconds, and what is added to direct");
    println!("way         table             p50   added     p99   added   pairs: median added");
    let direct = ways[0].latencies_us.clone();
    for way in ways {
        let of = &way.latencies_us;
        let pairs: Vec<f64> = of
            .iter()
            .zip(&direct)
            .map(|(own, base)| own - base)
            .collect();
        let (p50, p99) = (quantile(of, 0.5), quantile(of, 0.99));
        println!(
            "{:11} {:15} {p50:5.0} {:+7.1} {p99:7.0} {:+7.1} {:+21.1}",
            way.name,
            way.table,
            p50 - quantile(&direct, 0.5),
            p99 - quantile(&direct, 0.99),
            quantile(&pairs, 0.5),
        );
    }
}

fn serve_until_killed(file: &Path) {
    let config = configuration::Config::read(file).expect("the configuration");
    let server = proxy::Server::start(&config).expect("the proxy starts");
    let address = server.address().expect("a bound socket has an address");
    println!("{}", address.port());
    server.run(proxy::stop_signal());
}

/// A proxy in a process of its own.
struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("the own program"))
            .arg(SERVE)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the own program runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("the proxy says its port");
        let port = line.trim().parse().expect("a port");
        Self { child, port }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
