//! The full run of power cuts, with one thread per processor.
//!
//! Run it with `cargo xtask faults [--cuts N] [--seed S] [--minutes M] [--replay CUT]`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::case::Case;
use testkit::cut::{Cut, Failure, repeat, sweep};
use testkit::plan::cases;

/// The parsed arguments.
struct Request {
    cuts: u64,
    seed: u64,
    minutes: u64,
    replay: Option<Cut>,
    only: String,
}

/// Results of one kind of run.
#[derive(Default)]
struct Line {
    runs: u64,
    effects: u64,
    cuts: u64,
    failures: u64,
    seconds: f64,
}

fn main() -> ExitCode {
    let request = match parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(cut) = &request.replay {
        return replay(cut);
    }
    run(&request)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut request = Request {
        cuts: 100_000,
        seed: 1,
        minutes: 60,
        replay: None,
        only: String::new(),
    };
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| format!("{name} takes a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} takes a number"));
        match name.as_str() {
            "--cuts" => request.cuts = number()?,
            "--seed" => request.seed = number()?,
            "--minutes" => request.minutes = number()?,
            "--replay" => request.replay = Some(value.parse()?),
            "--only" => request.only = value,
            _ => return Err(format!("{name} is not known")),
        }
    }
    Ok(request)
}

fn replay(cut: &Cut) -> ExitCode {
    match repeat(cut) {
        Ok(image) => {
            let sizes = image.files.iter().map(|(name, bytes)| (name, bytes.len()));
            println!("{cut}: as promised; {:?}", sizes.collect::<Vec<_>>());
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("{cut}: {what}");
            ExitCode::FAILURE
        }
    }
}

/// State shared by the threads.
struct Work<'a> {
    request: &'a Request,
    deadline: Instant,
    /// The seed of the next round, and the remaining cases of this one.
    queue: Mutex<(u64, Vec<Case>)>,
    cuts: AtomicU64,
    lines: Mutex<BTreeMap<(String, String), Line>>,
    failures: Mutex<Vec<Failure>>,
}

impl Work<'_> {
    /// Goes through all kinds in rounds; each round has a new seed.
    fn next(&self) -> Option<Case> {
        if self.cuts.load(Ordering::Relaxed) >= self.request.cuts || Instant::now() > self.deadline
        {
            return None;
        }
        let mut queue = self.queue.lock().expect("no thread panics with it");
        while queue.1.is_empty() {
            queue.1 = cases(queue.0);
            let only = &self.request.only;
            queue.1.retain(|case| case.to_string().contains(only));
            queue.0 += 1;
        }
        queue.1.pop()
    }

    fn go(&self) {
        while let Some(case) = self.next() {
            let start = Instant::now();
            let outcome = sweep(&case, 2, 2);
            let mut lines = self.lines.lock().expect("no thread panics with it");
            let side = format!("{:?}", case.side);
            let line = lines.entry((case.kind(), side)).or_default();
            line.runs += 1;
            line.seconds += start.elapsed().as_secs_f64();
            match outcome {
                Ok(outcome) => {
                    line.cuts += outcome.cuts;
                    line.effects += outcome.effects as u64;
                    line.failures += outcome.failures.len() as u64;
                    self.cuts.fetch_add(outcome.cuts, Ordering::Relaxed);
                    let mut failures = self.failures.lock().expect("as above");
                    failures.extend(outcome.failures);
                }
                Err(what) => {
                    println!("the run itself failed: {what}");
                    line.failures += 1;
                }
            }
        }
    }
}

fn run(request: &Request) -> ExitCode {
    const FAILURES_SHOWN: usize = 20;
    let start = Instant::now();
    let work = Work {
        request,
        deadline: start + Duration::from_secs(60 * request.minutes),
        queue: Mutex::new((request.seed, Vec::new())),
        cuts: AtomicU64::new(0),
        lines: Mutex::default(),
        failures: Mutex::default(),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work.go());
        }
    });
    let failures = work.failures.into_inner().expect("every thread has ended");
    for failure in failures.iter().take(FAILURES_SHOWN) {
        println!("{failure}");
    }
    let lines = work.lines.into_inner().expect("every thread has ended");
    println!("| run | SQLite | workloads | effects | power cuts | failures | seconds |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    let mut total = Line::default();
    for ((kind, side), line) in &lines {
        print_line(kind, side, line);
        total.runs += line.runs;
        total.effects += line.effects;
        total.cuts += line.cuts;
        total.failures += line.failures;
        total.seconds += line.seconds;
    }
    print_line("all", "", &total);
    let seconds = start.elapsed().as_secs();
    println!(
        "seeds from {}, {threads} threads, {seconds} s",
        request.seed
    );
    if total.failures == 0 && total.cuts > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn print_line(kind: &str, side: &str, line: &Line) {
    println!(
        "| {kind} | {side} | {} | {} | {} | {} | {:.1} |",
        line.runs, line.effects, line.cuts, line.failures, line.seconds
    );
}
