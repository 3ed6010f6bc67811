//! Messages contain no secret: errors, SQLite's log, panics, and `Debug` output.
#![expect(
    unsafe_code,
    reason = "SQLite's log is configured through its C interface"
)]

mod common;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;

use common::files::{failure, in_own_process};
use common::{Room, last_error, open_uri, text};
use crypto::cipher::Cipher;
use crypto::mask::FieldMask;
use crypto::page::PageSealer;
use crypto::secret::{Key, SecretBytes};
use keyring::Credential;
use keyring::source::KeySource;
use sqlite_linked::KeyToken;

/// A passphrase and a raw key, no part of which appears in a message by chance.
const PASSPHRASE: &str = "Zw7!quorn-velvet-oxbow";
const DIGITS: &str = "9d17e45bc83a7106f2ad4e902bd6681fb37c05ea5984c13e9640df228b67f01d";

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn say(text: impl Into<String>) {
    SAID.lock().expect("no panic here").push(text.into());
}

extern "C" fn log(_: *mut c_void, code: c_int, message: *const c_char) {
    // SAFETY: SQLite passes a terminated message.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    say(format!("log {code}: {message}"));
}

fn listen() {
    // SAFETY: SQLite was not used yet in this process, and the callback has the type that this
    // operation takes (sqlite.org/c3ref/c_config_covering_index_scan.html).
    let code = unsafe {
        rusqlite::ffi::sqlite3_config(
            rusqlite::ffi::SQLITE_CONFIG_LOG,
            log as extern "C" fn(*mut c_void, c_int, *const c_char),
            std::ptr::null_mut::<c_void>(),
        )
    };
    assert_eq!(code, rusqlite::ffi::SQLITE_OK);
    std::panic::set_hook(Box::new(|panic| say(format!("panic: {panic}"))));
}

/// The bytes of a key as `Debug` prints a slice.
fn as_numbers() -> String {
    format!("{:?}", key_bytes()).replace(['[', ']'], "")
}

fn key_bytes() -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("hexadecimal") as u8;
    let pairs = DIGITS.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn assert_nothing_told() {
    let said = std::mem::take(&mut *SAID.lock().expect("no panic here"));
    assert!(
        said.iter().any(|line| line.starts_with("log ")),
        "the log is heard"
    );
    let (digits, numbers) = (DIGITS.to_uppercase(), as_numbers());
    for line in said.iter().map(|line| without_statement(line)) {
        let upper = line.to_uppercase();
        let tells = line.contains(&PASSPHRASE[..8])
            || line.contains(&PASSPHRASE[8..])
            || upper.contains(&digits[..16])
            || upper.contains(&digits[40..56])
            || line.contains(&numbers[..20]);
        assert!(!tells, "{line}");
    }
}

/// If a statement fails while it is prepared, as pragmas do, SQLite appends the statement to the
/// VFS's message. We cannot change that; see the test below.
fn without_statement(line: &str) -> &str {
    match line.split_once(" in \"PRAGMA") {
        Some((said, _)) if line.starts_with("log ") => said,
        _ => line,
    }
}

/// Collects errors and results of one connection.
fn listen_to(connection: &rusqlite::Connection) {
    say(last_error(connection));
    for pragma in ["status", "keys", "cipher", "version"] {
        say(text(connection, &format!("PRAGMA strongroom_{pragma}")));
    }
}

fn wrong_keys(room: &Room) {
    drop(room.open("x.db").execute_batch("CREATE TABLE t(a)"));
    for sql in [
        format!("PRAGMA key='{PASSPHRASE}'"),
        format!("PRAGMA key=\"x'{DIGITS}'\""),
        format!("PRAGMA hexkey='{DIGITS}'"),
        format!("PRAGMA hexkey='{DIGITS}0'"),
        format!("PRAGMA rekey='{PASSPHRASE}'"),
        format!("PRAGMA strongroom_key_add='{PASSPHRASE}'"),
        format!("PRAGMA strongroom_rekey='{PASSPHRASE}'"),
        format!("PRAGMA strongroom_key_remove='{PASSPHRASE}'"),
        format!("PRAGMA strongroom_rotate='{PASSPHRASE}'"),
        format!("PRAGMA textkey='{PASSPHRASE}'"),
    ] {
        let connection = room.open_keyless("x.db");
        let failure = failure(&connection, &sql);
        // The driver may repeat the statement; SQLite and the engine must not.
        say(failure.message.replace(&sql, ""));
        say(failure.detail);
        listen_to(&connection);
    }
}

fn bad_sources(room: &Room) {
    std::fs::write(room.path("long"), PASSPHRASE.repeat(400)).expect("writable");
    std::fs::write(room.path("none"), format!("{DIGITS}{PASSPHRASE}")).expect("writable");
    for (parameter, name) in [
        ("key_file", "long"),
        ("key_file", "none"),
        ("passphrase_file", "long"),
        ("passphrase_file", "none"),
    ] {
        let path = room.path(name).display().to_string();
        let uri = format!("file:{}?vfs=strongroom", room.path("x.db").display());
        let connection = open_uri(&format!("{uri}&{parameter}={path}"));
        say(failure(&connection, "SELECT * FROM t").message);
        listen_to(&connection);
        let source = KeySource::File(room.path(name));
        for outcome in [
            source.read_raw_key().map(|_| ()),
            source.read_passphrase().map(|_| ()),
        ] {
            say(format!("{outcome:?} {source:?}"));
            say(outcome
                .err()
                .map_or_else(String::new, |error| error.to_string()));
        }
    }
    let command = KeySource::Command(format!("echo {DIGITS}0; exit 3"));
    let error = command.read_raw_key().expect_err("no key");
    say(format!("{error} {error:?}"));
}

fn printed_values() {
    let key = || Key::from_slice(&key_bytes()).expect("32 bytes");
    let passphrase = || SecretBytes::new(PASSPHRASE.into());
    for credential in [
        Credential::Passphrase(passphrase()),
        Credential::raw_key(key()),
        Credential::key_file(key()),
    ] {
        say(format!(
            "{credential:?} {:?}",
            KeyToken::new(credential.duplicate())
        ));
        let created = keyring::slots::create(Cipher::Aegis256X2, 4096, &credential);
        let (header, _) = created.expect("creates");
        say(format!("{header:?}"));
        let other = Credential::raw_key(Key::from_bytes([1; 32]));
        say(format!(
            "{:?}",
            keyring::slots::unlock(&header, &other).err()
        ));
    }
    for cipher in Cipher::ALL {
        say(format!(
            "{:?} {:?}",
            PageSealer::new(cipher, &key()),
            FieldMask::new(&key())
        ));
    }
    let panicked = std::panic::catch_unwind(|| panic!("{:?} {:?}", key(), passphrase()));
    assert!(panicked.is_err());
}

#[test]
fn no_message_contains_a_secret() {
    in_own_process("no_message_contains_a_secret", &[], || {
        listen();
        let room = Room::new();
        wrong_keys(&room);
        bad_sources(&room);
        printed_values();
        drop(std::panic::take_hook());
        assert_nothing_told();
    });
}

/// We do not control SQLite's own messages. The threat model says so.
#[test]
fn sqlite_repeats_in_its_log_a_pragma_that_fails() {
    in_own_process("sqlite_repeats_in_its_log_a_pragma_that_fails", &[], || {
        listen();
        let room = Room::new();
        drop(room.open("x.db").execute_batch("CREATE TABLE t(a)"));
        let sql = format!("PRAGMA key='{PASSPHRASE}'");
        failure(&room.open_keyless("x.db"), &sql);
        drop(std::panic::take_hook());
        let said = SAID.lock().expect("no panic here").concat();
        assert!(said.contains(&sql), "{said}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn no_descriptor_is_left_open() {
    in_own_process("no_descriptor_is_left_open", &[], || {
        let room = Room::new();
        let descriptors = || {
            std::fs::read_dir("/proc/self/fd")
                .expect("readable")
                .count()
        };
        let use_all = || {
            let connection = room.open("x.db");
            text(&connection, "PRAGMA journal_mode=wal");
            connection
                .execute_batch("CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES(1)")
                .expect("writes");
            text(&connection, "PRAGMA strongroom_rotate");
            text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            text(&connection, "PRAGMA journal_mode=delete");
            text(&connection, "PRAGMA strongroom_rotate=100000");
            drop(connection);
            let keyless = room.open_keyless("x.db");
            failure(&keyless, "SELECT * FROM t");
            std::fs::write(room.path("short.db"), "Strongroom").expect("writable");
            failure(&room.open("short.db"), "SELECT 1 FROM t");
        };
        use_all();
        let before = descriptors();
        for _ in 0..10 {
            use_all();
        }
        assert_eq!(descriptors(), before);
    });
}
