//! No file contains anything readable that comes from content, whatever happens to the process.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use common::files::{PAGE_SIZE, failure, in_own_process, is_inside, own_process};
use common::{Room, last_error, open_uri, text};
use keyring::Credential;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use sqlite_linked::KeyToken;

const CANARY: &str = "canary-that-sings-in-clear";
const NUMBER: i64 = 0x1357_9bdf_0246_8ace;
const REAL: f64 = 1.234_567_890_123_456_7e-89;

/// Everything that must not appear in a file: text, numbers as SQLite stores them (big-endian), and
/// what SQLite itself writes into databases.
fn needles() -> Vec<Vec<u8>> {
    vec![
        CANARY.as_bytes().to_vec(),
        // UTF-16 text would look different; the tail catches text that spans pages.
        b"sings-in-clear".to_vec(),
        NUMBER.to_be_bytes().to_vec(),
        NUMBER.to_le_bytes().to_vec(),
        REAL.to_be_bytes().to_vec(),
        b"SQLite format 3".to_vec(),
        b"CREATE TABLE".to_vec(),
        b"singers".to_vec(),
    ]
}

fn assert_hidden(path: &Path, when: &str) {
    let bytes = std::fs::read(path).expect("readable");
    for needle in needles() {
        let found = bytes
            .windows(needle.len())
            .position(|window| window == needle);
        assert_eq!(
            found,
            None,
            "{when}: {} in {}",
            needle.escape_ascii(),
            path.display()
        );
    }
}

fn assert_all_hidden(room: &Room, when: &str) {
    for path in room.files() {
        if path.is_file() {
            assert_hidden(&path, when);
        }
    }
}

fn create(connection: &Connection) {
    connection
        .execute_batch("CREATE TABLE singers(a INTEGER PRIMARY KEY, b TEXT, c INT, d REAL)")
        .expect("creates");
}

/// Inserts rows full of content that must not be visible.
fn insert(connection: &Connection, rows: i64) {
    let mut statement = connection
        .prepare("INSERT INTO singers(b, c, d) VALUES(?1, ?2, ?3)")
        .expect("prepares");
    for row in 0..rows {
        let b = format!("{row} {}", CANARY.repeat(4));
        statement.execute((b, NUMBER, REAL)).expect("inserts");
    }
}

const UPDATE: &str = "UPDATE singers SET b = b || 'canary-that-sings-in-clear' WHERE a % 2";
const MODES: [&str; 6] = ["delete", "truncate", "persist", "memory", "off", "wal"];

#[test]
fn the_needles_are_found_in_a_plain_database() {
    let room = Room::new();
    let plain = Connection::open(room.path("plain.db")).expect("opens");
    create(&plain);
    insert(&plain, 10);
    let bytes = std::fs::read(room.path("plain.db")).expect("readable");
    let little_endian = NUMBER.to_le_bytes().to_vec();
    for needle in needles()
        .into_iter()
        .filter(|needle| *needle != little_endian)
    {
        assert!(
            memchr::memmem::find(&bytes, &needle).is_some(),
            "{}",
            needle.escape_ascii()
        );
    }
}

#[test]
fn no_journal_mode_writes_content_in_clear() {
    for mode in MODES {
        let room = Room::new();
        let connection = room.open("x.db");
        assert_eq!(
            text(&connection, &format!("PRAGMA journal_mode={mode}")),
            mode
        );
        connection
            .execute_batch("PRAGMA cache_size=5")
            .expect("sets");
        create(&connection);
        connection.execute_batch("BEGIN").expect("begins");
        insert(&connection, 1000);
        assert_all_hidden(&room, &format!("{mode}, first transaction"));
        connection.execute_batch("COMMIT").expect("commits");
        assert_all_hidden(&room, &format!("{mode}, committed"));
        connection
            .execute_batch(&format!("BEGIN; {UPDATE}"))
            .expect("updates");
        assert_all_hidden(&room, &format!("{mode}, changes spilled"));
        if mode != "off" {
            connection.execute_batch("SAVEPOINT inner").expect("begins");
            insert(&connection, 500);
            connection
                .execute_batch("UPDATE singers SET c = c + 1; ROLLBACK TO inner")
                .expect("rolls back");
            assert_all_hidden(&room, &format!("{mode}, savepoint rolled back"));
            connection.execute_batch("ROLLBACK").expect("rolls back");
            assert_all_hidden(&room, &format!("{mode}, rolled back"));
            assert_eq!(text(&connection, "SELECT count(*) FROM singers"), "1000");
        }
        drop(connection);
        assert_all_hidden(&room, &format!("{mode}, closed"));
    }
}

/// Works until it is killed, in the journal mode and file of the environment.
fn work_until_killed() {
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&std::env::var("SECRECY_URI").expect("set"));
    let mode = std::env::var("SECRECY_MODE").expect("set");
    text(&connection, &format!("PRAGMA journal_mode={mode}"));
    connection
        .execute_batch("PRAGMA cache_size=5")
        .expect("sets");
    create(&connection);
    insert(&connection, 200);
    connection
        .execute_batch(&format!("BEGIN; {UPDATE}"))
        .expect("updates");
    insert(&connection, 500);
    eprintln!("at work");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_process_leaves_nothing_in_clear() {
    const TEST: &str = "a_killed_process_leaves_nothing_in_clear";
    if is_inside(TEST) {
        return work_until_killed();
    }
    for mode in ["delete", "truncate", "persist", "wal"] {
        let room = Room::new();
        let mut child = own_process(TEST)
            .env("SECRECY_URI", room.uri("x.db", ""))
            .env("SECRECY_MODE", mode)
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("at work"))),
            "{mode}: the process ended early"
        );
        child.kill().expect("kills");
        child.wait().expect("ended");
        let names: Vec<_> = room.files();
        assert!(names.len() >= 2, "{mode}: a journal is left: {names:?}");
        assert_all_hidden(&room, &format!("{mode}, killed"));
        let connection = room.open("x.db");
        assert_eq!(
            text(&connection, "SELECT count(*) FROM singers"),
            "200",
            "{mode}"
        );
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok", "{mode}");
    }
}

/// The temporary files that this process has open, through its descriptors, since they are already
/// unlinked.
#[cfg(target_os = "linux")]
fn open_temporary_files() -> Vec<std::path::PathBuf> {
    std::fs::read_dir("/proc/self/fd")
        .expect("readable")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            std::fs::read_link(path)
                .is_ok_and(|target| target.to_string_lossy().ends_with("(deleted)"))
        })
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn temporary_files_hold_nothing_in_clear() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().to_str().expect("text").to_owned();
    in_own_process(
        "temporary_files_hold_nothing_in_clear",
        &[("SQLITE_TMPDIR", &name)],
        || {
            let room = Room::new();
            let connection = room.open("x.db");
            connection
                .execute_batch("PRAGMA temp_store=FILE; PRAGMA cache_size=5")
                .expect("sets");
            create(&connection);
            connection.execute_batch("BEGIN").expect("begins");
            insert(&connection, 20_000);
            connection.execute_batch("COMMIT").expect("commits");
            let look = |what: &str| {
                let files = open_temporary_files();
                let size = |path| std::fs::metadata(path).expect("there").len();
                let largest = files.iter().map(size).max();
                assert!(largest > Some(100_000), "{what} uses a file: {largest:?}");
                for path in files {
                    assert_hidden(&path, what);
                }
            };
            let mut sorted = connection
                .prepare("SELECT b, c, d FROM singers ORDER BY b DESC, c")
                .expect("prepares");
            let mut rows = sorted.query([]).expect("runs");
            rows.next().expect("sorts").expect("a row");
            look("a sort");
            drop(rows);
            connection
                .execute_batch(
                    "CREATE TEMP TABLE singers_too AS SELECT * FROM singers;
                     PRAGMA temp.cache_size=5;
                     UPDATE temp.singers_too SET b = b || '!';",
                )
                .expect("makes a temporary table");
            look("a temporary table");
            connection
                .execute_batch("BEGIN; UPDATE temp.singers_too SET b = b || '?'")
                .expect("updates");
            look("a temporary table in a transaction");
            connection.execute_batch("ROLLBACK").expect("rolls back");
            assert_eq!(
                text(
                    &connection,
                    "SELECT count(*) FROM singers_too WHERE b LIKE '%!'"
                ),
                "20000"
            );
            assert_all_hidden(&room, "with temporary files");
            connection
                .execute_batch("VACUUM")
                .expect("vacuums through a temporary database");
        },
    );
}

/// A plain copy of an encrypted database, page for page: what an attacker who knows the whole
/// plaintext has.
fn plain_twin(source: &Connection, path: &Path) {
    let mut plain = Connection::open(path).expect("opens");
    Backup::new(source, &mut plain)
        .expect("begins")
        .run_to_completion(1000, Duration::ZERO, None)
        .expect("copies");
}

fn pages(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).expect("readable");
    bytes.chunks_exact(PAGE_SIZE).map(<[u8]>::to_vec).collect()
}

fn big_endian(bytes: &[u8], offset: usize) -> u32 {
    u32::from_be_bytes(bytes[offset..offset + 4].try_into().expect("4 bytes"))
}

/// sqlite.org/fileformat2.html, section 3: the checksum of a page image in a rollback journal.
fn journal_checksum(nonce: u32, page: &[u8]) -> u32 {
    (0..)
        .map(|step| page.len() as isize - 200 - 200 * step)
        .take_while(|offset| *offset > 0)
        .fold(nonce, |sum, offset| {
            sum.wrapping_add(page[offset as usize].into())
        })
}

/// How many of a journal's records contain the checksum of their plaintext.
fn checksums_told(journal: &[u8], plaintext: &[Vec<u8>]) -> (usize, usize) {
    let nonce = big_endian(journal, 12);
    let sector_size = big_endian(journal, 20) as usize;
    assert_eq!(big_endian(journal, 24) as usize, PAGE_SIZE);
    let records: Vec<&[u8]> = journal[sector_size..]
        .chunks_exact(4 + PAGE_SIZE + 4)
        .collect();
    let in_clear = records.iter().filter(|record| {
        let Some(page) = plaintext.get((big_endian(record, 0) as usize).wrapping_sub(1)) else {
            return false;
        };
        big_endian(record, 4 + PAGE_SIZE) == journal_checksum(nonce, page)
    });
    (in_clear.count(), records.len())
}

#[test]
fn a_journal_contains_no_checksum_of_known_plaintext() {
    let room = Room::new();
    let connection = room.open("x.db");
    create(&connection);
    insert(&connection, 100);
    plain_twin(&connection, &room.path("twin.db"));
    let plaintext = pages(&room.path("twin.db"));
    let stock = Connection::open(room.path("twin.db")).expect("opens");
    let journal_during = |connection: &Connection, name: &str| {
        connection
            .execute_batch("PRAGMA cache_size=100; BEGIN; UPDATE singers SET c = c + 1")
            .expect("updates");
        // What is gathered is written out at the latest together with the pages.
        connection
            .execute_batch("PRAGMA cache_size=1; UPDATE singers SET c = c + 1")
            .expect("spills");
        let journal = std::fs::read(room.path(&format!("{name}-journal"))).expect("a journal");
        connection.execute_batch("ROLLBACK").expect("rolls back");
        journal
    };
    let (told, records) = checksums_told(&journal_during(&stock, "twin.db"), &plaintext);
    assert!(
        told == records && told >= 3,
        "stock SQLite: {told} of {records}"
    );
    let journal = journal_during(&connection, "x.db");
    let (told, records) = checksums_told(&journal, &plaintext);
    assert!(told == 0 && records >= 3, "{told} of {records}");
}

type WalChecksum = (u32, u32);

/// sqlite.org/fileformat2.html, section 4.2.
fn wal_checksum(native_little_endian: bool, start: WalChecksum, bytes: &[u8]) -> WalChecksum {
    bytes.chunks_exact(8).fold(start, |(one, two), pair| {
        let word = |offset: usize| {
            let word: [u8; 4] = pair[offset..offset + 4].try_into().expect("4 bytes");
            if native_little_endian {
                u32::from_le_bytes(word)
            } else {
                u32::from_be_bytes(word)
            }
        };
        let one = one.wrapping_add(word(0)).wrapping_add(two);
        (one, two.wrapping_add(word(4)).wrapping_add(one))
    })
}

/// The checksums of all frames, computed from the log's header, which is in clear, and the
/// plaintext of the pages.
fn checksums_of_plaintext(wal: &[u8], plaintext: &[Vec<u8>]) -> Vec<(WalChecksum, WalChecksum)> {
    let little_endian = big_endian(wal, 0) & 1 == 0;
    let mut sum = (big_endian(wal, 24), big_endian(wal, 28));
    wal[32..]
        .chunks_exact(24 + PAGE_SIZE)
        .map(|frame| {
            sum = wal_checksum(little_endian, sum, &frame[..8]);
            sum = wal_checksum(
                little_endian,
                sum,
                &plaintext[big_endian(frame, 0) as usize - 1],
            );
            (sum, (big_endian(frame, 16), big_endian(frame, 20)))
        })
        .collect()
}

/// The pages after a transaction that writes each changed page once, and its log.
fn one_transaction_in_wal(room: &Room, connection: &Connection, name: &str) -> Vec<u8> {
    text(connection, "PRAGMA journal_mode=wal");
    text(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    connection
        .execute_batch("UPDATE singers SET c = c + 1")
        .expect("updates");
    std::fs::read(room.path(&format!("{name}-wal"))).expect("a log")
}

#[test]
fn a_log_contains_no_checksum_of_known_plaintext_and_its_index_contains_one() {
    let room = Room::new();
    let connection = room.open("x.db");
    create(&connection);
    insert(&connection, 100);
    plain_twin(&connection, &room.path("twin.db"));
    let stock = Connection::open(room.path("twin.db")).expect("opens");
    let wal = one_transaction_in_wal(&room, &stock, "twin.db");
    plain_twin(&stock, &room.path("after.db"));
    let sums = checksums_of_plaintext(&wal, &pages(&room.path("after.db")));
    assert!(
        sums.len() >= 3
            && sums
                .iter()
                .all(|(from_plaintext, told)| from_plaintext == told)
    );

    let mut wal = one_transaction_in_wal(&room, &connection, "x.db");
    // The first frame continues the checksum of the header as SQLite wrote it.
    let shown = page_codec::wal::show_log_header(wal.first_chunk().expect("a header"));
    wal[..shown.len()].copy_from_slice(&shown);
    plain_twin(&connection, &room.path("after-too.db"));
    let sums = checksums_of_plaintext(&wal, &pages(&room.path("after-too.db")));
    assert!(sums.len() >= 3);
    for (frame, (from_plaintext, told)) in sums.iter().enumerate() {
        assert_ne!(from_plaintext.0, told.0, "frame {frame}");
        assert_ne!(from_plaintext.1, told.1, "frame {frame}");
        let header = &wal[32 + frame * (24 + PAGE_SIZE)..][..24];
        assert_ne!(
            header[8..16],
            wal[16..24],
            "the salts of frame {frame} are hidden too"
        );
    }
    what_the_index_shows(&room, &connection, &wal, sums.last().expect("frames").0);
}

/// The `-shm` file, which SQLite writes through shared memory, past every VFS
/// (sqlite.org/walformat.html, section 2). While the database is open or after a crash it shows
/// page numbers and counts, which the log shows too, and *one* checksum that depends on content:
/// the 64-bit sum over all frames up to the last committed one (`aFrameCksum`, offset 24).
fn what_the_index_shows(room: &Room, connection: &Connection, wal: &[u8], last: WalChecksum) {
    let index = std::fs::read(room.path("x.db-shm")).expect("an index");
    let native =
        |offset: usize| u32::from_ne_bytes(index[offset..offset + 4].try_into().expect("4 bytes"));
    let frames: Vec<u32> = wal[32..]
        .chunks_exact(24 + PAGE_SIZE)
        .map(|frame| big_endian(frame, 0))
        .collect();
    assert_eq!(native(16) as usize, frames.len(), "mxFrame");
    assert_eq!(
        native(20).to_string(),
        text(connection, "PRAGMA page_count"),
        "nPage"
    );
    assert_eq!((native(24), native(28)), last, "aFrameCksum");
    assert_eq!(index[32..40], wal[16..24], "aSalt");
    assert_eq!(index[..48], index[48..96], "the header stands there twice");
    for (position, page) in frames.iter().enumerate() {
        assert_eq!(native(136 + 4 * position), *page, "aPgno");
    }
    // After the page numbers of the first block comes a hash table of 16-bit frame numbers.
    let numbers_end = 136 + 4 * 4062;
    assert!(
        index[136 + 4 * frames.len()..numbers_end]
            .iter()
            .all(|byte| *byte == 0)
    );
    let indexed: BTreeSet<u16> = index[numbers_end..32 * 1024]
        .chunks_exact(2)
        .map(|pair| u16::from_ne_bytes(pair.try_into().expect("2 bytes")))
        .filter(|number| *number != 0)
        .collect();
    assert_eq!(indexed.into_iter().map(usize::from).collect::<Vec<_>>(), {
        (1..=frames.len()).collect::<Vec<_>>()
    });
}

#[test]
fn the_index_is_gone_when_the_last_connection_has_closed() {
    let room = Room::new();
    let connection = room.open("x.db");
    text(&connection, "PRAGMA journal_mode=wal");
    create(&connection);
    assert!(room.path("x.db-shm").exists());
    drop(connection);
    assert!(!room.path("x.db-shm").exists() && !room.path("x.db-wal").exists());
}

const SECRET: &str = "a passphrase nobody may read";
const SECRET_KEY: &str = "c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77c0ffee88";

fn assert_no_secret(said: &str) {
    let lower = said.to_lowercase();
    for secret in ["nobody may read", "c0ffee", "192, 255, 238"] {
        assert!(!lower.contains(secret), "{said}");
    }
}

#[test]
fn debug_output_contains_no_secret() {
    let key = || keyring::source::parse_raw_key(SECRET_KEY.as_bytes()).expect("a key");
    for credential in [
        Credential::passphrase(SECRET),
        Credential::raw_key(key()),
        Credential::key_file(key()),
    ] {
        assert_no_secret(&format!("{credential:?} {credential:#?}"));
        assert_no_secret(&format!("{:?}", KeyToken::new(credential)));
    }
    assert_no_secret(&format!("{:?}", key()));
    let secret = crypto::secret::SecretBytes::new(SECRET.as_bytes().to_vec());
    assert_no_secret(&format!("{secret:?}"));
}

#[test]
fn messages_and_answers_contain_no_secret() {
    let room = Room::new();
    std::fs::write(room.path("bad-key"), format!("{SECRET_KEY}{SECRET_KEY}")).expect("writable");
    drop(room.open("x.db").execute_batch("CREATE TABLE t(a)"));
    let connection = room.open_keyless("x.db");
    let raw = format!("PRAGMA key=\"x'{SECRET_KEY}'\"");
    let wrong = [
        format!("PRAGMA key='{SECRET}'"),
        raw.clone(),
        format!("PRAGMA hexkey='{SECRET_KEY}0'"),
        format!("PRAGMA key=\"x'{SECRET_KEY}0'\""),
        format!("PRAGMA textkey='{SECRET}'"),
        format!("PRAGMA strongroom_rekey='{SECRET}'"),
        format!("PRAGMA strongroom_key_remove='{SECRET}'"),
        format!("PRAGMA rekey='{SECRET}'"),
        format!("PRAGMA strongroom_key_add='{SECRET}'"),
        format!("PRAGMA strongroom_no_such_thing='{SECRET}'"),
        "SELECT * FROM t".to_owned(),
    ];
    for sql in wrong {
        let failure = failure(&connection, &sql);
        // The driver may repeat the statement; SQLite and the engine must not.
        let said = failure.message.replace(&sql, "");
        assert_no_secret(&format!("{said} {}", failure.detail));
    }
    let bad = format!(
        "file:{}?vfs=strongroom&key_file={}",
        room.path("x.db").display(),
        room.path("bad-key").display()
    );
    let bad = open_uri(&bad);
    failure(&bad, "SELECT * FROM t");
    assert_no_secret(&last_error(&bad));
    let new = room.open_keyless("new.db");
    let mut said = text(&new, &raw);
    new.execute_batch("CREATE TABLE t(a)").expect("creates");
    for sql in [
        &format!("PRAGMA strongroom_key_add=\"x'{SECRET_KEY}'\""),
        "PRAGMA strongroom_keys",
        "PRAGMA strongroom_status",
        "PRAGMA strongroom_cipher",
        "PRAGMA strongroom_verify",
        "PRAGMA strongroom_version",
        "PRAGMA strongroom_last_error",
        &format!("PRAGMA rekey=\"x'{SECRET_KEY}'\""),
        "SELECT group_concat(sql) FROM sqlite_schema",
    ] {
        said.push_str(&text(&new, sql));
    }
    assert_no_secret(&said);
    for path in room.files() {
        let bytes = std::fs::read(&path).expect("readable");
        for secret in [
            &b"nobody may read"[..],
            &[0xc0, 0xff, 0xee, 0x11, 0xc0, 0xff],
            b"c0ffee11",
        ] {
            let is_there = memchr::memmem::find(&bytes, secret).is_some();
            assert!(!is_there, "{}", path.display());
        }
    }
}
