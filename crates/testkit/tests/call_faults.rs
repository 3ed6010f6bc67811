//! Each call of the base VFS fails in turn, once or permanently: a clean error, no wrong data, and
//! all committed transactions are there when the fault is gone.

use testkit::allocator;
use testkit::database::Side;
use testkit::disk::Disk;
use testkit::fault::{Fault, Kind as FaultKind};
use testkit::faulty_run::{Beginning, Kind};
use testkit::random::{Random, seeds};

const MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];

/// Fails each call of a run in turn, skipping up to `stride - 1` in between.
fn fail_each(side: Side, fault: FaultKind, stride: u64) {
    allocator::install();
    for seed in seeds([1]) {
        let mut random = Random::of(&[seed, 5]);
        for (index, mode) in MODES.into_iter().enumerate() {
            let map = side == Side::Strongroom && index % 2 == 0;
            let kind = Kind { side, mode, map };
            let beginning = Beginning::new(kind).expect("without a fault");
            for lasting in [false, true] {
                let number = fail_each_call(&beginning, fault, lasting, stride, &mut random);
                let number = number.unwrap_or_else(|message| {
                    panic!("seed {seed}, {kind:?}, {fault:?}, lasting: {lasting}: {message}")
                });
                assert!(number > 4, "{kind:?}: only {number} calls");
            }
        }
    }
}

/// Returns the number of calls that a run makes.
fn fail_each_call(
    beginning: &Beginning,
    kind: FaultKind,
    lasting: bool,
    stride: u64,
    random: &mut Random,
) -> Result<u64, String> {
    let strike = |disk: &Disk, number| {
        disk.set_fault(Some(Fault {
            kind,
            call: None,
            number,
            lasting,
        }));
    };
    let lift = |disk: &Disk| {
        let struck = disk.struck() > 0;
        disk.set_fault(None);
        struck
    };
    beginning.run_each(random, stride, strike, lift)
}

/// If a read is short, a journal that is being played back undoes the change, or its pages are
/// lost.
#[test]
fn a_read_is_short_after_a_power_cut_during_a_change_of_page_size() {
    allocator::install();
    for seed in seeds([1]) {
        let mut random = Random::of(&[seed, 6]);
        let mut hot = 0;
        for (index, mode) in ["delete", "truncate", "persist"].into_iter().enumerate() {
            let kind = Kind {
                side: Side::Strongroom,
                mode,
                map: index % 2 == 0,
            };
            let cuts = Beginning::amid_page_size_change(kind, &mut random, 3);
            for beginning in cuts.expect("without a fault") {
                hot += usize::from(beginning.has_hot_journal());
                for fault in [FaultKind::ShortRead, FaultKind::Device] {
                    let run = fail_each_call(&beginning, fault, false, 3, &mut random);
                    run.unwrap_or_else(|message| {
                        panic!("seed {seed}, {kind:?}, {fault:?}: {message}")
                    });
                }
            }
        }
        assert!(hot > 1, "seed {seed}: only {hot} journals to play back");
    }
}

#[test]
fn the_device_fails() {
    fail_each(Side::Strongroom, FaultKind::Device, 3);
}

#[test]
fn the_disk_is_full() {
    fail_each(Side::Strongroom, FaultKind::Full, 2);
}

#[test]
fn the_base_vfs_has_no_memory() {
    fail_each(Side::Strongroom, FaultKind::NoMemory, 1);
}

#[test]
fn reads_are_short() {
    fail_each(Side::Strongroom, FaultKind::ShortRead, 2);
}

/// If this fails, the harness expects more than SQLite guarantees.
#[test]
fn stock_sqlite_bears_the_same() {
    fail_each(Side::Stock, FaultKind::Device, 3);
    fail_each(Side::Stock, FaultKind::Full, 3);
}
