//! Overhead of direct mode over the bare library: an engine's connection runs a list of `SELECT 1`
//! and keeps the rows; the baseline only prepares, steps and finalises the same statements.
//!
//! Run it with `cargo xtask bench direct [--statements N] [--rounds N]`. Both run in turn; the best
//! rounds are printed, in processor time.

use std::hint::black_box;

use lab::answer::Answers;
use lab::engine::EngineOptions;
use sqlite_api::Library;

const STATEMENT: &str = "SELECT 1;";

fn main() {
    let count = option("--statements", 500_000);
    let rounds = option("--rounds", 10);
    let folder = tempfile::tempdir().expect("there is room for a small file");
    let engine = lab_engines::named("sqlite-nosync", &EngineOptions::default());
    let engine = engine.expect("it is always there");
    engine.create(folder.path()).expect("SQLite works");
    let mut connection = engine.open(folder.path()).expect("SQLite works");
    let alone = Library::linked().open(":memory:").expect("memory is there");
    let statements = vec![STATEMENT; count];
    let (mut kept, mut bare) = (vec![], vec![]);
    for _ in 0..rounds {
        kept.push(nanoseconds(count, || {
            let mut answers = Answers::default();
            let ran = connection.run(&statements, &mut answers);
            ran.expect("it cannot fail");
            black_box(answers.row_count());
        }));
        bare.push(nanoseconds(count, || {
            for statement in &statements {
                let prepared = alone.prepare(black_box(statement));
                let mut prepared = prepared.expect("it is SQL").expect("it is a statement");
                while prepared.step().expect("it cannot fail") {}
            }
        }));
    }
    let (kept, bare) = (best(&kept), best(&bare));
    println!("{STATEMENT}  {rounds} rounds of {count}; the best, ns of processor time a statement");
    println!("  direct mode, rows kept   {kept:7.1}");
    println!("  statements alone         {bare:7.1}");
    println!("  difference               {:7.1}", kept - bare);
}

fn option(name: &str, default: usize) -> usize {
    let value = std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1);
    value.map_or(default, |text| {
        text.parse().expect("the option's value is a number")
    })
}

fn processor_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn best(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

fn nanoseconds(statements: usize, work: impl FnOnce()) -> f64 {
    let start = processor_seconds();
    work();
    (processor_seconds() - start) * 1e9 / statements as f64
}
