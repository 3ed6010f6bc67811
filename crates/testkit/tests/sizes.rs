//! Sizes of files are not queried where that makes a commit slower.

use testkit::database::{Side, open, run};
use testkit::disk::{Device, Disk};

fn sizes_before_sync(side: Side, mode: &str) -> u64 {
    let disk = Disk::new(Device::UNIX);
    disk.enter();
    let connection = open(&side.uri("/a.db")).expect("opens");
    run(&connection, &format!("PRAGMA journal_mode={mode}")).expect("runs");
    run(&connection, "PRAGMA synchronous=full; CREATE TABLE t(a)").expect("runs");
    let insert = || run(&connection, "INSERT INTO t VALUES(1)").expect("runs");
    // The last write of a creation is synced with the first transaction.
    insert();
    let before = disk.sizes_before_sync();
    for _ in 0..10 {
        insert();
    }
    disk.sizes_before_sync() - before
}

/// A check after the journal's end, where a header of another transaction may be, queried the size
/// between a write and its sync: synced commits took 1.07 times as long.
#[test]
fn a_commit_asks_for_no_size_that_stock_sqlite_does_not_ask_for() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let stock = sizes_before_sync(Side::Stock, mode);
        let encrypted = sizes_before_sync(Side::Strongroom, mode);
        assert!(encrypted <= stock, "{mode}: {encrypted} against {stock}");
    }
}
