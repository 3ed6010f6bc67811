//! `strongroom rekey` on real files: in use, interrupted, and with other keys removed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::process::Stdio;
use support::{Place, program};

/// An encrypted database of a few megabytes.
fn filled(place: &Place, journal_mode: &str) {
    place.key("key");
    let script = format!(
        "PRAGMA journal_mode={journal_mode};
         CREATE TABLE t(id INTEGER PRIMARY KEY, data);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO t SELECT i, randomblob(1000) FROM n;
         CREATE TABLE sum AS SELECT sum(length(data)) AS s FROM t;"
    );
    sql(place, &script);
}

fn sql(place: &Place, script: &str) -> String {
    place
        .run_with(&["shell", "--key-file", "key", "a.db"], script)
        .fine()
}

fn epochs(place: &Place) -> (u64, u64) {
    let json = place.run(&["inspect", "--json", "a.db"]).fine();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let size = value["page_size"].as_u64().unwrap() as usize;
    let bytes = place.bytes("a.db");
    let old = bytes[8192..]
        .chunks(size)
        .filter(|page| page[page.len() - 4..] == 1_u32.to_le_bytes())
        .count();
    (value["epoch"].as_u64().unwrap(), old as u64)
}

#[test]
fn every_page_gets_the_new_key() {
    for journal_mode in ["DELETE", "WAL"] {
        let place = Place::new();
        filled(&place, journal_mode);
        assert!(epochs(&place).1 > 500);
        let run = place.run(&["rekey", "a.db", "--key-file", "key"]);
        assert!(
            run.messages.contains("under data key 2"),
            "{}",
            run.messages
        );
        run.fine();
        assert_eq!(epochs(&place), (2, 0));
        let check = sql(&place, "PRAGMA integrity_check; SELECT count(*) FROM t;");
        assert_eq!(check, "ok\n3000\n");
        place.run(&["verify", "a.db", "--key-file", "key"]).fine();
        let run = place.run(&["rekey", "a.db", "--key-file", "key"]);
        assert!(
            run.messages.contains("under data key 3"),
            "{}",
            run.messages
        );
    }
}

#[test]
fn a_writer_and_a_rekey_do_not_hinder_each_other() {
    for journal_mode in ["DELETE", "WAL"] {
        let place = Place::new();
        filled(&place, journal_mode);
        let inserts =
            "INSERT INTO t(data) SELECT data FROM t WHERE id = abs(random()) % 3000 + 1;\n";
        let script = format!("PRAGMA busy_timeout=60000;\n{}", inserts.repeat(300));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| sql(&place, &script));
            let rate = ["rekey", "a.db", "--key-file", "key", "--rate", "10"];
            place.run(&rate).fine();
            writer.join().expect("the writer wrote");
        });
        // The log's content goes into the file under the new key.
        sql(&place, "PRAGMA wal_checkpoint(TRUNCATE);");
        assert_eq!(epochs(&place), (2, 0));
        let check = sql(&place, "PRAGMA integrity_check; SELECT count(*) FROM t;");
        assert_eq!(check, "ok\n3300\n");
    }
}

#[test]
fn a_rekey_that_is_killed_goes_on() {
    let place = Place::new();
    filled(&place, "DELETE");
    for delay_ms in [5, 20, 40, 80] {
        let mut child = program(place.folder())
            .args(["rekey", "a.db", "--key-file", "key", "--rate", "10"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let check = sql(&place, "PRAGMA integrity_check; SELECT count(*) FROM t;");
        assert_eq!(check, "ok\n3000\n");
    }
    place.run(&["rekey", "a.db", "--key-file", "key"]).fine();
    assert_eq!(epochs(&place).1, 0);
    place.run(&["verify", "a.db", "--key-file", "key"]).fine();
    assert!(!place.exists("a.db-rekey"));
}

#[test]
fn an_unfinished_rotation_is_reported() {
    const REMARK: &str = "rotation     not finished: pages under epoch 1 remain";
    let place = Place::new();
    filled(&place, "DELETE");
    let inspect = || place.run(&["inspect", "a.db"]).fine();
    assert!(!inspect().contains("rotation"), "{}", inspect());
    sql(&place, "PRAGMA strongroom_rotate='start';");
    assert!(inspect().contains(REMARK), "{}", inspect());
    place.run(&["rekey", "a.db", "--key-file", "key"]).fine();
    assert!(!inspect().contains("rotation"), "{}", inspect());
}

#[test]
fn other_keys_can_be_shut_out() {
    let place = Place::new();
    filled(&place, "DELETE");
    place.key("other");
    place.add_key("a.db", "key", "other");
    place.run(&["rekey", "a.db", "--key-file", "key"]).fine();
    place.run(&["verify", "a.db", "--key-file", "other"]).fine();
    let alone = ["rekey", "a.db", "--key-file", "key", "--drop-other-keys"];
    let run = place.run(&alone);
    assert!(
        run.messages.contains("only the key used here"),
        "{}",
        run.messages
    );
    run.fine();
    let refused = place
        .run(&["verify", "a.db", "--key-file", "other"])
        .failed();
    assert!(refused.contains("wrong key"), "{refused}");
    place.run(&["verify", "a.db", "--key-file", "key"]).fine();
}

#[test]
fn plain_databases_are_refused() {
    let place = Place::new();
    place.key("key");
    place.plain_database("plain.db");
    let refused = place
        .run(&["rekey", "plain.db", "--key-file", "key"])
        .failed();
    assert!(refused.contains("plain SQLite database"), "{refused}");
}

#[test]
fn freshness_comes_and_goes_with_a_rekey() {
    let place = Place::new();
    filled(&place, "DELETE");
    for wish in ["on", "off"] {
        let arguments = ["rekey", "a.db", "--key-file", "key", "--freshness", wish];
        place.run(&arguments).fine();
        let answer = sql(
            &place,
            "PRAGMA strongroom_freshness; PRAGMA integrity_check;",
        );
        assert_eq!(answer, format!("{wish}\nok\n"));
        let told = place.run(&["inspect", "a.db"]).fine();
        assert!(told.contains(&format!("freshness    {wish}")), "{told}");
    }
}
