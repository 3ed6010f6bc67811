//! A single bit of one file flips while the database is closed. The result is the original content,
//! that of an earlier commit if a log ends sooner, or an error; never other content.
//!
//! The tests `tamper*.rs` of `sqlite-linked` check *which* of these it is for selected positions.

use rusqlite::Connection;
use testkit::database::{Side, digest, open, run};
use testkit::disk::{Device, Disk, Image};
use testkit::random::{Random, seeds};
use testkit::record::drain;

const NAME: &str = "/a.db";
/// One in this many bytes is flipped.
const STRIDE: u64 = 12;

fn connect() -> rusqlite::Result<Connection> {
    open(&Side::Strongroom.uri(NAME))
}

/// The files after some statements, with the connection still open, and the digest after each
/// statement.
fn leave(statements: &[&str]) -> (Image, Vec<u64>) {
    let disk = Disk::new(Device::UNIX);
    disk.enter();
    let connection = connect().expect("opens");
    run(&connection, "PRAGMA page_size=512; PRAGMA cache_size=3").expect("sets");
    let content = || digest(&connection, &["main"]).expect("reads");
    let mut digests = vec![content()];
    for statement in statements.iter().flat_map(|sql| sql.split(';')) {
        drain(&connection, statement).expect("runs");
        digests.push(content());
    }
    (disk.image(), digests)
}

/// How often a flip had each result.
#[derive(Debug, Default)]
struct Count {
    flips: u64,
    errors: u64,
}

/// Flips bits throughout a file, and calls `judge` for each database that can be read.
fn flip_all_over(
    image: &Image,
    file: &str,
    judge: impl Fn(&Connection) -> Result<(), String>,
) -> Count {
    let mut count = Count::default();
    for seed in seeds([1]) {
        let mut random = Random::of(&[seed, 7]);
        for offset in 0..image.files[file].len() {
            if !random.once_in(STRIDE) {
                continue;
            }
            let mut flipped = image.clone();
            let bit = random.below(8);
            flipped.files.get_mut(file).expect("there")[offset] ^= 1 << bit;
            let disk = Disk::with(Device::UNIX, &flipped);
            disk.enter();
            count.flips += 1;
            let connection = connect().expect("an open reads no page");
            let readable = digest(&connection, &["main"]).is_ok();
            count.errors += u64::from(!readable);
            if readable && let Err(what) = judge(&connection) {
                panic!("seed {seed}, bit {bit} of byte {offset} of {file}: {what}");
            }
            drop(connection);
            assert_eq!(disk.open_files(), 0, "byte {offset} of {file}");
        }
    }
    assert!(count.flips > 100, "{file}: {count:?}");
    count
}

fn is_one_of(states: &[u64]) -> impl Fn(&Connection) -> Result<(), String> {
    move |connection| {
        let found = digest(connection, &["main"]).map_err(|error| error.to_string())?;
        let known = states.contains(&found);
        known.then_some(()).ok_or("other content".to_owned())
    }
}

const TABLE: &str = "CREATE TABLE t(a INTEGER PRIMARY KEY, b);
    INSERT INTO t WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<30)
    SELECT i, printf('old %d %.*c', i, 150, 'x') FROM n";
const UPDATE: &str = "UPDATE t SET b = printf('new %d %.*c', a, 150, 'y')";

#[test]
fn of_a_database() {
    let (image, digests) = leave(&[TABLE]);
    let count = flip_all_over(&image, NAME, is_one_of(&digests[2..]));
    // Most of the file is pages with content.
    assert!(count.errors * 2 > count.flips, "{count:?}");
}

#[test]
fn of_a_log_and_the_database_below_it() {
    let update = ["UPDATE t SET b = b || '1'", "UPDATE t SET b = b || '2'"];
    let (image, digests) = leave(&["PRAGMA journal_mode=wal", TABLE, update[0], update[1]]);
    let count = flip_all_over(&image, "/a.db-wal", is_one_of(&digests));
    assert_eq!(count.errors, 0, "a log that is damaged ends: {count:?}");
    // The log is intact, and contains the last commit.
    flip_all_over(&image, NAME, is_one_of(&digests[digests.len() - 1..]));
}

/// A damaged journal ends its playback, as in stock SQLite: rows are old or new, as far as they can
/// be read.
#[test]
fn of_a_journal_that_is_played_back() {
    let (image, digests) = leave(&[TABLE, &format!("BEGIN; {UPDATE}")]);
    Disk::with(Device::UNIX, &image).enter();
    let found = digest(&connect().expect("opens"), &["main"]);
    let before = digests.len() - 3;
    assert_eq!(found.expect("reads"), digests[before], "it is hot");
    flip_all_over(&image, "/a.db-journal", |connection| {
        let mut statement = connection
            .prepare("SELECT a, b FROM t")
            .map_err(|error| error.to_string())?;
        let mut rows = statement.query([]).map_err(|error| error.to_string())?;
        while let Ok(Some(row)) = rows.next() {
            let (a, b): (i64, String) = (row.get_unwrap(0), row.get_unwrap(1));
            let known = [
                format!("old {a} {}", "x".repeat(150)),
                format!("new {a} {}", "y".repeat(150)),
            ];
            if !known.contains(&b) {
                return Err(format!("row {a} is {b}"));
            }
        }
        Ok(())
    });
}

#[test]
fn of_a_database_whose_data_key_is_rotated() {
    let start = "PRAGMA strongroom_rotate='start'";
    let (image, digests) = leave(&[TABLE, start, "PRAGMA strongroom_rotate=4"]);
    let count = flip_all_over(&image, NAME, is_one_of(&digests[2..]));
    assert!(count.errors * 2 > count.flips, "{count:?}");
}
