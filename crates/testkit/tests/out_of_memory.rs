//! SQLite's allocations fail in turn: a clean error, and all committed transactions are there when
//! memory is available again.

use testkit::allocator::{self, Shortage};
use testkit::database::Side;
use testkit::faulty_run::{Beginning, Kind};
use testkit::random::{Random, seeds};

fn fail_each(side: Side, stride: u64) {
    allocator::install();
    for seed in seeds([1]) {
        let mut random = Random::of(&[seed, 6]);
        for mode in ["delete", "wal"] {
            let map = side == Side::Strongroom;
            let kind = Kind { side, mode, map };
            let beginning = Beginning::new(kind).expect("with memory");
            for lasting in [false, true] {
                let strike = |_: &testkit::disk::Disk, number| {
                    allocator::set_shortage(Some(Shortage { number, lasting }));
                };
                let lift = |_: &testkit::disk::Disk| {
                    let struck = allocator::struck() > 0;
                    allocator::set_shortage(None);
                    struck
                };
                let number = beginning.run_each(&mut random, stride, strike, lift);
                let number = number.unwrap_or_else(|message| {
                    panic!("seed {seed}, {kind:?}, lasting: {lasting}: {message}")
                });
                assert!(number > 100, "{kind:?}: only {number} allocations");
            }
        }
    }
}

#[test]
fn strongroom_bears_a_lack_of_memory() {
    fail_each(Side::Strongroom, 25);
}

/// If this fails, the harness expects more than SQLite guarantees.
#[test]
fn stock_sqlite_bears_a_lack_of_memory() {
    fail_each(Side::Stock, 40);
}
