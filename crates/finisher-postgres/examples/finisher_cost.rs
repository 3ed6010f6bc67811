//! What a finisher costs: time of a question over more and more rows, and memory.
//!
//! `cargo run --release -p strongroom-finisher-postgres --example finisher_cost -- [user]`
//!
//! The user is needed where root runs it: PostgreSQL does not run as root.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use finisher_postgres::{FinisherOptions, Finishers};
use session_postgres::finisher::{
    FinisherAnswer, FinisherExecution, FinisherKind, FinisherRequest,
};

const QUERY: &str = "SELECT a, count(*), max(b) FROM unnest($1::int4[], $2::text[]) AS t(a, b) \
                     GROUP BY a ORDER BY a";
const JOIN: &str = "SELECT count(*) FROM unnest($1::int4[], $2::text[]) AS t(a, b) \
                    JOIN unnest($1::int4[], $2::text[]) AS u(a, b) ON t.b = u.b";
const ROUNDS: usize = 500;
const CONNECTIONS: usize = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir_in("/dev/shm")
        .expect("a folder in memory");
    let finishers = Finishers::new(FinisherOptions {
        run_as: std::env::args().nth(1),
        folder: Some(place.path().to_owned()),
        connections_max: CONNECTIONS,
        ..FinisherOptions::default()
    });
    let major = (13..30).rev().find(|major| finishers.offers(*major));
    let kind = Arc::new(FinisherKind {
        major: major.expect("PostgreSQL is installed"),
        locale_provider: "c".to_owned(),
        collate: "C".to_owned(),
        ctype: "C".to_owned(),
        icu_locale: String::new(),
        collation_version: String::new(),
        named_types: Vec::new(),
        extensions: Vec::new(),
        search_path: Vec::new(),
    });
    let since = Instant::now();
    ask(&finishers, question(&kind, QUERY, 1)).await;
    println!(
        "first answer, with the start of the server: {:?}",
        since.elapsed()
    );
    report_memory(place.path(), "1 connection");
    for (name, query) in [("groups", QUERY), ("join", JOIN)] {
        for rows in [1, 100, 1_000, 10_000] {
            let p50 = p50(&finishers, &question(&kind, query, rows)).await;
            println!("{name} of {rows:>6} rows: p50 {p50:?}");
        }
    }
    let many = (0..200).map(|_| {
        let (finishers, request) = (finishers.clone(), question(&kind, QUERY, 1_000));
        tokio::spawn(async move { ask(&finishers, request).await })
    });
    for asked in many.collect::<Vec<_>>() {
        asked.await.expect("an answer");
    }
    report_memory(place.path(), "8 connections, after answers");
    let other = Arc::new(FinisherKind {
        locale_provider: String::new(),
        ..FinisherKind::clone(&kind)
    });
    let since = Instant::now();
    ask(&finishers, question(&other, QUERY, 1)).await;
    println!("first answer of another database: {:?}", since.elapsed());
    report_memory(place.path(), "two databases");
    let since = Instant::now();
    finishers.end().await;
    println!("end: {:?}", since.elapsed());
}

fn question(kind: &Arc<FinisherKind>, query: &str, rows: usize) -> FinisherRequest {
    let numbers: Vec<String> = (0..rows).map(|row| (row % 10).to_string()).collect();
    let texts: Vec<String> = (0..rows).map(|row| format!("\"name {row}\"")).collect();
    let array = |values: &[String]| Some(format!("{{{}}}", values.join(",")).into_bytes());
    FinisherRequest {
        kind: Arc::clone(kind),
        settings: Arc::default(),
        query: query.into(),
        parameter_types: Arc::default(),
        execution: Some(FinisherExecution {
            formats: vec![0, 0],
            values: vec![array(&numbers), array(&texts)],
            result_formats: Box::new([]),
            answer_size_max: 64 << 20,
        }),
    }
}

async fn ask(finishers: &Finishers, request: FinisherRequest) {
    match finishers.ask(request).await {
        FinisherAnswer::Rows(_) => {}
        other => panic!("{other:?}"),
    }
}

async fn p50(finishers: &Finishers, request: &FinisherRequest) -> Duration {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let request = request.clone();
        let since = Instant::now();
        ask(finishers, request).await;
        times.push(since.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

/// The proportional set size of the server's processes, and its files, which are in memory.
fn report_memory(place: &Path, when: &str) {
    let folder = fs::read_dir(place).expect("a folder").next();
    let folder = folder.expect("a server").expect("an entry").path();
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).expect("it runs");
    let server = lock.lines().next().expect("a line").to_owned();
    let children = format!("/proc/{server}/task/{server}/children");
    let children = fs::read_to_string(children).expect("Linux");
    let processes: Vec<&str> = children
        .split_whitespace()
        .chain([server.as_str()])
        .collect();
    let kib: u64 = processes.iter().map(|process| pss_kib(process)).sum();
    println!(
        "memory, {when}: {} processes, {} MiB of processes (PSS), {} MiB of files",
        processes.len(),
        kib >> 10,
        size(&folder) >> 20
    );
}

fn pss_kib(process: &str) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn size(folder: &PathBuf) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => size(&entry.path()),
            Ok(about) => about.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
