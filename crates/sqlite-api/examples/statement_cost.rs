//! What a statement costs beyond SQLite: `SELECT 1` prepared, stepped to its end and finalised,
//! through this crate and by bare calls of the same functions as a C program makes them.
//!
//! `cargo xtask bench statement [--statements N] [--rounds N]` runs it. Both loops run in turn;
//! the best rounds are printed, in processor time. With `--library PATH` the crate drives that
//! library, for which there are no bare calls here: a C program that loads it makes them.
#![expect(unsafe_code, reason = "the bare calls are what is compared with")]

use std::hint::black_box;

use libsqlite3_sys as linked;
use sqlite_api::{Connection, Library, Value};

const STATEMENT: &str = "SELECT 1;";

fn main() {
    let statements = option("--statements", 1_000_000);
    let rounds = option("--rounds", 10);
    let library = match argument("--library") {
        Some(path) => Library::load(path.as_ref()).expect("the library can be loaded"),
        None => Library::linked(),
    };
    let connection = library.open(":memory:").expect("memory is there");
    let bare = Bare::open();
    let (mut by_crate, mut by_hand) = (vec![], vec![]);
    for _ in 0..rounds {
        by_crate.push(nanoseconds(statements, || through_crate(&connection)));
        by_hand.push(nanoseconds(statements, || bare.run()));
    }
    let (through, bare) = (best(&by_crate), best(&by_hand));
    println!(
        "{STATEMENT}  {rounds} rounds of {statements}; the best, ns of processor time a statement"
    );
    println!("  through sqlite-api         {through:7.1}");
    if std::ptr::eq(library, Library::linked()) {
        println!("  bare calls of C functions  {bare:7.1}");
        println!("  difference                 {:7.1}", through - bare);
    }
}

fn option(name: &str, default: u32) -> u32 {
    let number = |text: String| text.parse().expect("the option's value is a number");
    argument(name).map_or(default, number)
}

fn argument(name: &str) -> Option<String> {
    std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1)
}

fn processor_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn best(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

fn nanoseconds(statements: u32, mut one: impl FnMut()) -> f64 {
    let start = processor_seconds();
    (0..statements).for_each(|_| one());
    (processor_seconds() - start) * 1e9 / f64::from(statements)
}

fn through_crate(connection: &Connection) {
    let prepared = connection.prepare(black_box(STATEMENT));
    let mut statement = prepared.expect("it is SQL").expect("it is a statement");
    while statement.step().expect("it cannot fail") {
        if let Value::Integer(number) = statement.value(0) {
            black_box(number);
        }
    }
}

/// A connection without any care.
struct Bare(*mut linked::sqlite3);

impl Bare {
    fn open() -> Self {
        let mut raw = std::ptr::null_mut();
        let flags = linked::SQLITE_OPEN_READWRITE
            | linked::SQLITE_OPEN_CREATE
            | linked::SQLITE_OPEN_NOMUTEX;
        // SAFETY: a name, a place for the handle, no VFS.
        unsafe {
            linked::sqlite3_open_v2(c":memory:".as_ptr(), &raw mut raw, flags, std::ptr::null())
        };
        Self(raw)
    }

    fn run(&self) {
        let mut statement = std::ptr::null_mut();
        let text = black_box(c"SELECT 1;");
        // SAFETY: the handle stays open; the statement is finalised after its last use.
        unsafe {
            let tail = std::ptr::null_mut();
            linked::sqlite3_prepare_v2(self.0, text.as_ptr(), -1, &raw mut statement, tail);
            while linked::sqlite3_step(statement) == linked::SQLITE_ROW {
                if linked::sqlite3_column_type(statement, 0) == linked::SQLITE_INTEGER {
                    black_box(linked::sqlite3_column_int64(statement, 0));
                }
            }
            linked::sqlite3_finalize(statement);
        }
    }
}
