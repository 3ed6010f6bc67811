//! When the map of a database is dropped: each new map costs a page fault for every few pages read.

use rusqlite::Connection;
use testkit::database::{Side, open, run, text};
use testkit::disk::{Device, Disk};

const SUM: &str = "SELECT count(*) || ' ' || sum(length(x)) FROM t";

fn connect() -> Connection {
    let connection = open(&Side::Strongroom.uri("/a.db")).expect("opens");
    run(&connection, "PRAGMA cache_size=3").expect("sets");
    connection
}

/// Keeps the first rows, without the space of the others.
fn shorten(connection: &Connection, rows: u32) {
    let sql = format!("DELETE FROM t WHERE rowid > {rows}; VACUUM");
    run(connection, &sql).expect("runs");
}

#[test]
fn a_file_is_mapped_anew_after_it_was_cut_by_others_only() {
    let disk = Disk::new(Device {
        map: true,
        ..Device::UNIX
    });
    disk.enter();
    let connection = connect();
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
                INSERT INTO t SELECT zeroblob(3000) FROM n";
    run(&connection, &format!("CREATE TABLE t(x); {rows}")).expect("runs");
    let sum = |rows: u32| {
        let before = disk.maps();
        let found = text(&connection, SUM).expect("reads");
        assert_eq!(found, format!("{rows} {}", rows * 3000));
        disk.maps() - before
    };
    assert_eq!(sum(400), 1);

    shorten(&connection, 300);
    assert_eq!(sum(300), 0, "its own cut leaves the map");

    shorten(&connect(), 200);
    assert_eq!(
        sum(200),
        1,
        "behind the end of a file that others cut its map would fault"
    );
}
