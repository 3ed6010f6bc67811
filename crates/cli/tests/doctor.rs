//! `strongroom doctor` on real files: each finding, and that looking changes nothing.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use store::KeyToken;
use store::database::{Access, open_encrypted};
use support::{Place, Run};

const PAGE_SIZE: u64 = 4096;
const REGION_SIZE: u64 = 8192;

/// A plain and an encrypted database, both private, and the keys of the latter.
fn place() -> Place {
    let place = Place::new();
    for key in ["key", "other"] {
        place.key(key);
    }
    place.plain_database("plain.db");
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
    place.add_key("a.db", "key", "other");
    for name in ["plain.db", "a.db"] {
        permit(&place, name, 0o600);
    }
    place
}

fn permit(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
}

/// Runs the program on a file, and checks that no file in the folder has changed.
#[track_caller]
fn doctor(place: &Place, arguments: &[&str]) -> Run {
    let content = || -> BTreeMap<_, _> {
        let entries = fs::read_dir(place.folder()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        files
            .map(|path| (path.clone(), fs::read(path).ok()))
            .collect()
    };
    let before = content();
    let run = place.run(&[&["doctor"], arguments].concat());
    assert!(before == content(), "something was changed");
    run
}

/// Asserts the status, and that these words occur on one line.
#[track_caller]
fn expect(run: &Run, status: i32, words: &[&str]) {
    assert_eq!(run.status, status, "{run:?}");
    let mut lines = run.output.lines();
    let found = lines.any(|line| words.iter().all(|word| line.contains(word)));
    assert!(found, "{words:?} in {run:?}");
}

fn cut(place: &Place, name: &str, size: u64) {
    let file = OpenOptions::new()
        .write(true)
        .open(place.path(name))
        .unwrap();
    file.set_len(size).unwrap();
}

/// Changes the bytes of a file.
fn alter(place: &Place, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = place.bytes(name);
    change(&mut bytes);
    place.write(name, bytes);
}

#[test]
fn sound_files_are_named_and_nothing_is_wrong() {
    let place = place();
    let run = doctor(&place, &["a.db"]);
    expect(
        &run,
        0,
        &[
            "a.db: an encrypted database",
            "format version 1, aegis-256x2",
        ],
    );
    expect(&run, 0, &["key slot 0: key-file"]);
    expect(&run, 0, &["key slot 1: key-file"]);
    expect(&run, 0, &["pages were not opened", "--key-file"]);
    expect(&run, 0, &["nothing is wrong"]);
    assert!(
        !run.output.contains("advice") && run.messages.is_empty(),
        "{run:?}"
    );
    let run = doctor(&place, &["plain.db"]);
    expect(
        &run,
        0,
        &[
            "a plain SQLite database, not encrypted",
            "pages of 4096 bytes",
        ],
    );
    expect(&run, 0, &["nothing is wrong"]);
    place.write("empty.db", "");
    permit(&place, "empty.db", 0o600);
    expect(&doctor(&place, &["empty.db"]), 0, &["empty file"]);
    let run = doctor(&place, &["a.db", "--key-file", "key"]);
    expect(&run, 0, &["pages opened: "]);
}

#[test]
fn the_kind_of_other_files_is_unknown() {
    let place = place();
    expect(&doctor(&place, &["none.db"]), 2, &["no such file"]);
    place.write("text", "a text of some length\n".repeat(200));
    expect(
        &doctor(&place, &["text"]),
        2,
        &["problem: ", "check the name"],
    );
    let sealed = place.bytes("a.db")[REGION_SIZE as usize..][..2 * PAGE_SIZE as usize].to_vec();
    place.write("my sealed.db", sealed);
    let command = "`strongroom import --from sqlcipher 'my sealed.db' COPY`";
    expect(
        &doctor(&place, &["my sealed.db"]),
        2,
        &["problem: ", "compressed", command],
    );
    let run = doctor(&place, &["."]);
    assert!(
        run.status == 2 && run.messages.contains("strongroom: "),
        "{run:?}"
    );
}

#[test]
fn one_key_or_eight_are_worth_a_word() {
    let place = place();
    place
        .run(&["key", "remove", "a.db", "0", "--key-file", "other"])
        .fine();
    let advice = ["advice: one key alone", "`strongroom key add a.db`"];
    expect(&doctor(&place, &["a.db"]), 0, &advice);
    for number in 0..7 {
        let name = format!("more{number}");
        place.key(&name);
        let add = [
            "key",
            "add",
            "a.db",
            "--key-file",
            "other",
            "--new-key-file",
            &name,
        ];
        place.run(&add).fine();
    }
    let advice = [
        "advice: all 8 key slots",
        "`strongroom key remove a.db SLOT`",
    ];
    expect(&doctor(&place, &["a.db"]), 0, &advice);
}

#[test]
fn damage_of_the_header_is_found_and_mended() {
    let place = place();
    let sound = place.bytes("a.db");
    alter(&place, "a.db", |bytes| bytes[100] ^= 1);
    let run = doctor(&place, &["a.db"]);
    expect(
        &run,
        1,
        &[
            "problem: copy 1 of the header",
            "`strongroom key change a.db`",
        ],
    );
    expect(&run, 1, &["1 problem"]);
    let change = [
        "key",
        "change",
        "a.db",
        "--key-file",
        "key",
        "--new-key-file",
        "key",
    ];
    place.run(&change).fine();
    expect(&doctor(&place, &["a.db"]), 0, &["nothing is wrong"]);

    place.write("a.db", &sound);
    alter(&place, "a.db", |bytes| {
        bytes[100] ^= 1;
        bytes[4096 + 100] ^= 1;
    });
    expect(
        &doctor(&place, &["a.db"]),
        1,
        &["problem: ", "damaged in both of its copies"],
    );

    place.write("a.db", &sound);
    alter(&place, "a.db", |bytes| {
        bytes.remove(13);
    });
    expect(&doctor(&place, &["a.db"]), 1, &["problem: ", "binary mode"]);
}

/// Offsets are those of docs/page-format.md.
#[test]
fn a_newer_format_asks_for_a_newer_program() {
    let place = place();
    alter(&place, "a.db", |bytes| {
        for copy in bytes[..REGION_SIZE as usize].chunks_mut(4096) {
            copy[18] = 2;
            let (content, checksum) = copy.split_at_mut(4096 - 32);
            checksum.copy_from_slice(&crypto::mac::checksum(content));
        }
    });
    expect(
        &doctor(&place, &["a.db"]),
        1,
        &["problem: ", "format version 2", "newer Strongroom"],
    );
}

#[test]
fn files_that_were_cut_are_found() {
    let place = place();
    let size = place.bytes("a.db").len() as u64;
    cut(&place, "a.db", size - 100);
    let last = (size - REGION_SIZE) / PAGE_SIZE;
    let page = format!("3996 bytes into page {last}:");
    expect(
        &doctor(&place, &["a.db"]),
        1,
        &["problem: ", &page, "`strongroom verify a.db`"],
    );
    cut(&place, "a.db", REGION_SIZE);
    expect(
        &doctor(&place, &["a.db"]),
        1,
        &["problem: ", "all its pages were cut off"],
    );
    let size = place.bytes("plain.db").len() as u64;
    cut(&place, "plain.db", size - PAGE_SIZE);
    let told = format!("{size} by its header");
    expect(&doctor(&place, &["plain.db"]), 1, &["problem: ", &told]);
}

#[test]
fn a_rotation_that_stopped_is_found_and_finished() {
    let place = place();
    let start = "PRAGMA strongroom_rotate='start';";
    place
        .run_with(&["shell", "a.db", "--key-file", "key"], start)
        .fine();
    let finding = [
        "problem: a change of the data key",
        "`strongroom rekey a.db`",
    ];
    expect(&doctor(&place, &["a.db"]), 1, &finding);
    place.run(&["rekey", "a.db", "--key-file", "key"]).fine();
    let run = doctor(&place, &["a.db"]);
    assert!(
        run.status == 0 && !run.output.contains("problem"),
        "{run:?}"
    );
}

/// Copies the encrypted database while it is open, as a killed program would leave it.
fn killed(place: &Place, copy: &str, sql: &str) {
    let key = keyring::source::KeySource::File(place.path("key"))
        .read_raw_key()
        .unwrap();
    let token = KeyToken::new(keyring::Credential::key_file(key));
    let connection =
        open_encrypted(&place.path("a.db"), Access::Write, Some(&token), None).unwrap();
    copy_in_use(place, &connection, "a.db", copy, sql);
}

fn copy_in_use(place: &Place, connection: &Connection, name: &str, copy: &str, sql: &str) {
    connection.execute_batch(sql).unwrap();
    for suffix in ["", "-wal", "-journal"] {
        let path = place.path(&format!("{name}{suffix}"));
        if path.exists() {
            fs::copy(path, place.path(&format!("{copy}{suffix}"))).unwrap();
        }
    }
}

const IN_LOG: &str = "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0; \
    DELETE FROM t WHERE id=1; DELETE FROM t WHERE id=2";
const HALF_DONE: &str = "PRAGMA journal_mode=delete; PRAGMA cache_size=1; BEGIN; \
    UPDATE t SET data=randomblob(500)";

#[test]
fn a_log_is_named_and_brought_in() {
    let place = place();
    killed(&place, "copy.db", IN_LOG);
    let run = doctor(&place, &["copy.db"]);
    let command = "`strongroom shell copy.db 'PRAGMA wal_checkpoint(TRUNCATE)'`";
    let advice = [
        "advice: copy.db-wal",
        "holds 2 finished transactions",
        command,
    ];
    expect(&run, 0, &advice);
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    place
        .run(&["shell", "copy.db", "--key-file", "key", checkpoint])
        .fine();
    assert!(!doctor(&place, &["copy.db"]).output.contains("advice"));

    let connection = Connection::open(place.path("plain.db")).unwrap();
    copy_in_use(&place, &connection, "plain.db", "lost.db", IN_LOG);
    let advice = ["advice: lost.db-wal", "holds 2 finished transactions"];
    expect(&doctor(&place, &["lost.db"]), 0, &advice);
    fs::remove_file(place.path("lost.db")).unwrap();
    let orphan = ["problem: lost.db-wal", "was removed, moved or emptied"];
    expect(&doctor(&place, &["lost.db"]), 2, &orphan);
    place.write("lost.db", "");
    permit(&place, "lost.db", 0o600);
    expect(&doctor(&place, &["lost.db"]), 1, &orphan);
}

#[test]
fn a_hot_journal_is_found_and_rolled_back() {
    let place = place();
    killed(&place, "copy.db", HALF_DONE);
    let command = "`strongroom shell copy.db .tables`";
    let finding = ["problem: copy.db-journal", "do not remove it", command];
    expect(&doctor(&place, &["copy.db"]), 1, &finding);
    place
        .run(&["shell", "copy.db", "--key-file", "key", ".tables"])
        .fine();
    let run = doctor(&place, &["copy.db", "--key-file", "key"]);
    expect(&run, 0, &["nothing is wrong"]);

    let connection = Connection::open(place.path("plain.db")).unwrap();
    copy_in_use(&place, &connection, "plain.db", "half.db", HALF_DONE);
    expect(
        &doctor(&place, &["half.db"]),
        1,
        &["problem: half.db-journal"],
    );
    place.run(&["shell", "half.db", ".tables"]).fine();
    expect(&doctor(&place, &["half.db"]), 0, &["nothing is wrong"]);
    // A finished journal that was kept is not hot.
    let kept = "PRAGMA journal_mode=persist; DELETE FROM t WHERE id=1";
    let persistent = Connection::open(place.path("half.db")).unwrap();
    copy_in_use(&place, &persistent, "half.db", "kept.db", kept);
    assert!(place.exists("kept.db-journal"));
    expect(&doctor(&place, &["kept.db"]), 0, &["nothing is wrong"]);
}

#[test]
fn remains_beside_the_file_are_named() {
    let place = place();
    let folder = ".a.db.0123456789abcdef.part";
    fs::create_dir(place.path(folder)).unwrap();
    fs::create_dir(place.path(".b.db.0123456789abcdef.part")).unwrap();
    fs::create_dir(place.path(".a.db.part")).unwrap();
    let run = doctor(&place, &["a.db"]);
    expect(
        &run,
        1,
        &[
            "problem: ",
            "conversion or backup",
            &format!("`rm -r {folder}`"),
        ],
    );
    expect(&run, 1, &["1 problem"]);
    let import = [
        "import",
        "--from",
        "plain",
        "plain.db",
        "--in-place",
        "--new-key-file",
        "key",
    ];
    place.run(&import).fine();
    let advice = [
        "advice: plain.db.before-import",
        "`rm plain.db.before-import`",
    ];
    expect(&doctor(&place, &["plain.db"]), 0, &advice);
}

#[test]
fn access_by_other_users_is_reported() {
    let place = place();
    permit(&place, "plain.db", 0o644);
    let finding = [
        "problem: the file can be read by other users",
        "`chmod 600`",
    ];
    expect(&doctor(&place, &["plain.db"]), 1, &finding);
    permit(&place, "a.db", 0o644);
    let advice = ["advice: other users", "try passphrases", "`chmod 600 a.db`"];
    expect(&doctor(&place, &["a.db"]), 0, &advice);
    permit(&place, "a.db", 0o666);
    let finding = ["problem: the file can be changed by other users"];
    expect(&doctor(&place, &["a.db"]), 1, &finding);
    permit(&place, "a.db", 0o600);
    fs::create_dir(place.path("open")).unwrap();
    permit(&place, "open", 0o777);
    fs::copy(place.path("a.db"), place.path("open/a.db")).unwrap();
    let finding = ["problem: the file can be replaced", "`chmod go-w`"];
    expect(&doctor(&place, &["open/a.db"]), 1, &finding);
}

#[test]
fn with_a_key_pages_are_opened() {
    let place = place();
    let pages = (place.bytes("a.db").len() as u64 - REGION_SIZE) / PAGE_SIZE;
    alter(&place, "a.db", |bytes| {
        let last = bytes.len() - 1000;
        bytes[last] ^= 1;
    });
    expect(&doctor(&place, &["a.db"]), 0, &["nothing is wrong"]);
    let finding = format!("problem: 1 of {pages} pages do not open, the first is page {pages};");
    expect(
        &doctor(&place, &["a.db", "--key-file", "key"]),
        1,
        &[&finding],
    );
    place.key("stranger");
    let run = doctor(&place, &["a.db", "--key-file", "stranger"]);
    expect(&run, 1, &["problem: wrong key", "`strongroom key list`"]);
    let run = doctor(&place, &["a.db", "--key-file", "none"]);
    assert!(run.status == 2 && run.messages.contains("none"), "{run:?}");
}
