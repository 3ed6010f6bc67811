//! Benchmark of Strongroom against stock SQLite in one process, interleaved, as ratios.
//!
//! Run it with `cargo xtask bench [--rounds N] [--pages N] [--only NAME]`. CPU is user and system
//! time of this process; pragmas and page size are the same on both sides. Each round runs every
//! contender once, in an order that rotates from round to round.

use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};

/// A contender: a name, its URI parameters, and pragmas to run after opening.
struct Contender {
    name: &'static str,
    file: &'static str,
    parameters: &'static str,
    pragmas: &'static str,
}

const STOCK: Contender = Contender {
    name: "stock",
    file: "plain.db",
    parameters: "",
    pragmas: "",
};
const STOCK_MAP: Contender = Contender {
    name: "stock+mmap",
    file: "plain.db",
    parameters: "",
    pragmas: "PRAGMA mmap_size=2000000000;",
};
const CONTENDERS: [Contender; 8] = [
    STOCK,
    Contender {
        name: "stock-again",
        ..STOCK
    },
    STOCK_MAP,
    Contender {
        name: "strongroom",
        file: "aegis-256x2.db",
        parameters: "vfs=strongroom&key_file=key&cipher=aegis-256x2",
        pragmas: "",
    },
    Contender {
        name: "strongroom, no map",
        file: "aegis-256x2.db",
        parameters: "vfs=strongroom&key_file=key&cipher=aegis-256x2&mmap=off",
        pragmas: "",
    },
    Contender {
        name: "aegis-256",
        file: "aegis-256.db",
        parameters: "vfs=strongroom&key_file=key&cipher=aegis-256",
        pragmas: "",
    },
    Contender {
        name: "aes-256-gcm",
        file: "aes-256-gcm.db",
        parameters: "vfs=strongroom&key_file=key&cipher=aes-256-gcm",
        pragmas: "",
    },
    Contender {
        name: "xchacha20-poly1305",
        file: "xchacha20-poly1305.db",
        parameters: "vfs=strongroom&key_file=key&cipher=xchacha20-poly1305",
        pragmas: "",
    },
];

struct Options {
    rounds: usize,
    rows: usize,
    only: Option<String>,
    contenders: Vec<usize>,
}

type Work = fn(&Connection, usize);

/// Title, pragmas and work of each benchmark.
const WORKS: [(&str, &str, Work); 6] = [
    ("full scan, cache too small", "PRAGMA cache_size=100;", scan),
    (
        "100,000 random reads, one transaction",
        "PRAGMA cache_size=100;",
        point_reads,
    ),
    (
        "100,000 random reads, a transaction each",
        "PRAGMA cache_size=100;",
        point_reads_alone,
    ),
    (
        "update of a quarter of all pages in WAL, and checkpoint",
        "PRAGMA cache_size=100; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; \
         PRAGMA wal_autocheckpoint=0;",
        update_and_checkpoint,
    ),
    (
        "update of a quarter of all pages, rollback journal",
        "PRAGMA cache_size=100; PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF;",
        update,
    ),
    (
        "5,000 transactions of one row, rollback journal",
        "PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF;",
        small_transactions,
    ),
];

/// A measured interval.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu_ns: f64,
    wall_ns: f64,
}

fn main() {
    sqlite_linked::register().expect("registers");
    if let [_, option, name] = &std::env::args().collect::<Vec<_>>()[..]
        && option == "--memory"
    {
        return print_memory(name);
    }
    let options = options();
    let folder = tempfile::tempdir().expect("a folder");
    std::env::set_current_dir(folder.path()).expect("enters the folder");
    std::fs::write("key", "5a".repeat(32)).expect("a key file");
    println!(
        "{}: rounds {}, rows {}",
        env!("CARGO_PKG_NAME"),
        options.rounds,
        options.rows
    );
    let mut made = std::collections::HashSet::new();
    for &index in &options.contenders {
        let contender = &CONTENDERS[index];
        if made.insert(contender.file) {
            fill(contender, options.rows);
        }
    }
    let size = std::fs::metadata("plain.db")
        .map(|data| data.len())
        .unwrap_or(0);
    println!(
        "database: {} pages of 4,096 bytes, cache_size=100\n",
        size / 4096
    );
    for (title, pragmas, work) in WORKS {
        if options
            .only
            .as_ref()
            .is_none_or(|only| title.contains(only.as_str()))
        {
            compare(&options, title, |contender| {
                let connection = open(contender);
                run(&connection, pragmas);
                // An unmeasured warm-up: page cache, maps and statements are warm on every side.
                work(&connection, options.rows);
                measure(|| work(&connection, options.rows))
            });
        }
    }
    if options
        .only
        .as_ref()
        .is_none_or(|only| "open".contains(only.as_str()))
    {
        compare(&options, "open, first read, close", |contender| {
            const TIMES: usize = 200;
            let cost = measure(|| {
                for _ in 0..TIMES {
                    let connection = open(contender);
                    count_schema(&connection);
                }
            });
            Cost {
                cpu_ns: cost.cpu_ns / TIMES as f64,
                wall_ns: cost.wall_ns / TIMES as f64,
            }
        });
        passphrase_cache(&options);
        memory();
    }
}

/// Private memory of connections that have each read and written, beyond that of stock SQLite. Each
/// side is measured in a separate process, because memory that one has freed would be reused by the
/// other.
fn memory() {
    let of = |name: &str| -> i64 {
        let program = std::env::current_exe().expect("this program");
        let output = std::process::Command::new(program)
            .args(["--memory", name])
            .output();
        let text = String::from_utf8(output.expect("runs").stdout).expect("text");
        text.trim().parse().expect("a number")
    };
    let (stock, strongroom) = (of("stock"), of("strongroom"));
    println!(
        "memory: {stock} KiB per connection on stock, {strongroom} KiB on Strongroom ({:+} KiB)",
        strongroom - stock
    );
}

/// The child process of [`memory`], in the parent's folder.
fn print_memory(name: &str) {
    const CONNECTIONS: u64 = 50;
    let anonymous_kib = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    };
    let contender = CONTENDERS
        .iter()
        .find(|one| one.name == name)
        .expect("a contender");
    let before = anonymous_kib();
    let connections: Vec<Connection> = (0..CONNECTIONS)
        .map(|_| {
            let connection = open(contender);
            run(&connection, "PRAGMA cache_size=100; PRAGMA synchronous=OFF");
            run(&connection, "UPDATE t SET b=b+7 WHERE a<=200");
            connection
        })
        .collect();
    println!("{}", anonymous_kib().saturating_sub(before) / CONNECTIONS);
    drop(connections);
}

fn options() -> Options {
    let mut options = Options {
        rounds: 11,
        rows: 52_000,
        only: None,
        contenders: (0..CONTENDERS.len()).collect(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--rounds" => options.rounds = value.parse().expect("a number of rounds"),
            "--pages" => options.rows = 2 * value.parse::<usize>().expect("a number of pages"),
            "--only" => options.only = Some(value),
            "--contenders" => {
                options.contenders = (0..CONTENDERS.len())
                    .filter(|index| {
                        *index == 0 || value.split(',').any(|name| name == CONTENDERS[*index].name)
                    })
                    .collect();
            }
            unknown => panic!("unknown option {unknown}"),
        }
    }
    options
}

fn open(contender: &Contender) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?{}", contender.file, contender.parameters);
    let connection = Connection::open_with_flags(uri, flags).expect("opens");
    run(&connection, contender.pragmas);
    connection
}

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn count_schema(connection: &Connection) {
    let count: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .expect("reads");
    assert_eq!(count, 1);
}

/// Rows of about 2,000 bytes: two per page.
fn fill(contender: &Contender, rows: usize) {
    let connection = open(contender);
    run(
        &connection,
        "PRAGMA synchronous=OFF; CREATE TABLE t(a INTEGER PRIMARY KEY, b INT, c BLOB)",
    );
    run(
        &connection,
        &format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{rows})
             INSERT INTO t SELECT i, i*7, randomblob(1990) FROM n"
        ),
    );
    assert!(Path::new(contender.file).exists());
}

fn scan(connection: &Connection, _rows: usize) {
    for _ in 0..3 {
        let sum: i64 = connection
            .query_row("SELECT sum(b) FROM t", [], |row| row.get(0))
            .expect("scans");
        assert!(sum > 0);
    }
}

fn point_reads(connection: &Connection, rows: usize) {
    run(connection, "BEGIN");
    point_reads_alone(connection, rows);
    run(connection, "COMMIT");
}

fn point_reads_alone(connection: &Connection, rows: usize) {
    let mut statement = connection
        .prepare("SELECT b FROM t WHERE a=?1")
        .expect("prepares");
    let mut state = 12_345_u64;
    for _ in 0..100_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let row = (state >> 33) % rows as u64 + 1;
        let value: i64 = statement
            .query_row([row as i64], |row| row.get(0))
            .expect("reads");
        assert_eq!(value % 7, 0);
    }
}

fn update(connection: &Connection, rows: usize) {
    run(
        connection,
        &format!("UPDATE t SET b=b+7 WHERE a<={}", rows / 4),
    );
}

fn update_and_checkpoint(connection: &Connection, rows: usize) {
    update(connection, rows);
    run(connection, "PRAGMA wal_checkpoint(PASSIVE)");
}

fn small_transactions(connection: &Connection, rows: usize) {
    let mut statement = connection
        .prepare("UPDATE t SET b=b+7 WHERE a=?1")
        .expect("prepares");
    for index in 0..5_000 {
        let row = (index * 7_919 % rows + 1) as i64;
        statement.execute([row]).expect("updates");
    }
}

/// Opens the file a second time with the same passphrase while it is open, compared with a raw key.
fn passphrase_cache(options: &Options) {
    let changes_keys = Contender {
        parameters: "vfs=strongroom&keys_in_sql=on&key_file=key",
        ..CONTENDERS[3]
    };
    run(
        &open(&changes_keys),
        "PRAGMA strongroom_key_add='a passphrase'",
    );
    let with = |key: &str| {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
        let uri = format!("file:{}?vfs=strongroom", CONTENDERS[3].file);
        let connection = Connection::open_with_flags(uri, flags).expect("opens");
        run(&connection, &format!("PRAGMA key=\"{key}\""));
        count_schema(&connection);
        connection
    };
    let start = Instant::now();
    let first = with("a passphrase");
    let derivation = start.elapsed();
    let raw = format!("x'{}'", "5a".repeat(32));
    let mut differences = Vec::new();
    for _ in 0..options.rounds {
        const TIMES: u32 = 100;
        let time = |key: &str| {
            let cost = measure(|| (0..TIMES).for_each(|_| drop(with(key))));
            cost.wall_ns / f64::from(TIMES)
        };
        differences.push((time("a passphrase") - time(&raw)) / 1_000.0);
    }
    differences.sort_by(f64::total_cmp);
    println!(
        "passphrase: first open {} ms, second open with it {:+.1} µs over a raw key",
        derivation.as_millis(),
        differences[differences.len() / 2]
    );
    drop(first);
}

fn compare(options: &Options, title: &str, mut work: impl FnMut(&Contender) -> Cost) {
    let count = options.contenders.len();
    let mut costs = vec![Vec::new(); count];
    for round in 0..options.rounds {
        for turn in 0..count {
            let turn = if round % 2 == 0 {
                turn
            } else {
                count - 1 - turn
            };
            let index = (turn + round / 2) % count;
            costs[index].push(work(&CONTENDERS[options.contenders[index]]));
        }
    }
    println!("{title}");
    for (position, &index) in options.contenders.iter().enumerate() {
        let ratio = |pick: fn(&Cost) -> f64| {
            median(
                costs[position]
                    .iter()
                    .zip(&costs[0])
                    .map(|(a, b)| pick(a) / pick(b)),
            )
        };
        let cpu_ms = median(costs[position].iter().map(|cost| cost.cpu_ns / 1e6));
        let wall_ms = median(costs[position].iter().map(|cost| cost.wall_ns / 1e6));
        println!(
            "  {:<20} CPU {cpu_ms:>10.3} ms  {:.3}   wall {wall_ms:>10.3} ms  {:.3}",
            CONTENDERS[index].name,
            ratio(|cost| cost.cpu_ns),
            ratio(|cost| cost.wall_ns)
        );
    }
    println!();
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(work: impl FnOnce()) -> Cost {
    let (cpu, start) = (cpu_ns(), Instant::now());
    work();
    Cost {
        cpu_ns: cpu_ns() - cpu,
        wall_ns: start.elapsed().as_nanos() as f64,
    }
}

/// User and system time of this process, in ns.
fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
