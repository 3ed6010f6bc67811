//! SQLite's allocations fail in turn: a clean error, and all that was committed is there when there
//! is memory again.

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
                let mut number = 1 + random.below(stride);
                let mut held = None;
                loop {
                    let what = format!("{kind:?}, allocation {number}, lasting: {lasting}");
                    let shortage = Shortage { number, lasting };
                    let lift = |_: &testkit::disk::Disk| {
                        let struck = allocator::struck() > 0;
                        allocator::set_shortage(None);
                        struck
                    };
                    let strike = |_: &testkit::disk::Disk| {
                        allocator::set_shortage(Some(shortage));
                    };
                    match beginning.run(strike, lift) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(message) => panic!("seed {seed}, {what}: {message}"),
                    }
                    let held_now = allocator::held();
                    assert_eq!(
                        *held.get_or_insert(held_now),
                        held_now,
                        "{what}: memory is lost"
                    );
                    number += 1 + random.below(stride);
                }
                assert!(number > 100, "{kind:?}: only {number} allocations");
            }
        }
    }
}

#[test]
fn strongroom_bears_a_lack_of_memory() {
    fail_each(Side::Strongroom, 25);
}

/// Where this fails the harness expects more than SQLite promises.
#[test]
fn stock_sqlite_bears_a_lack_of_memory() {
    fail_each(Side::Stock, 40);
}
