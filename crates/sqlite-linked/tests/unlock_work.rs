//! The work that a hostile header can demand is bounded, and the bound can be set.

mod common;

use common::files::{assert_refused, edit, failure, in_own_process};
use common::{Room, open_uri, text};
use crypto::kdf::Argon2idParameters;
use keyring::slots::passphrases_stretched;
use page_codec::header::{COPY_SIZE, HeaderRegion, REGION_SIZE, Slot, SlotKind};
use rusqlite::Connection;

/// Fills seven slots of a file with unknown passphrases of that cost.
fn fill_slots(room: &Room, name: &str, kdf: Argon2idParameters) {
    room.open(name)
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    edit(&room.path(name), |bytes| {
        let mut header = HeaderRegion::parse(bytes).expect("whole").header;
        for (number, place) in header.slots.iter_mut().enumerate().skip(1) {
            *place = Some(Slot {
                kind: SlotKind::Passphrase,
                kdf: Some(kdf),
                salt: [number as u8; 16],
                nonce: [0; 24],
                wrapped: [0; 48],
            });
        }
        for copy in bytes[..REGION_SIZE].chunks_mut(COPY_SIZE) {
            copy.copy_from_slice(&header.to_copy());
        }
    });
}

fn open(room: &Room, name: &str, more: &str) -> Connection {
    let file = room.path(name).display().to_string();
    open_uri(&format!("file:{file}?vfs=strongroom{more}"))
}

#[test]
fn a_hostile_header_costs_no_more_than_the_limit() {
    const TEST: &str = "a_hostile_header_costs_no_more_than_the_limit";
    const DEFAULT: Argon2idParameters = Argon2idParameters::DEFAULT;
    in_own_process(TEST, &[], || {
        let room = Room::new();
        let gibibyte = Argon2idParameters {
            memory_kib: 1 << 20,
            ..DEFAULT
        };
        let passes = Argon2idParameters {
            passes: 64,
            ..DEFAULT
        };
        for (name, cost, more, tried) in [
            ("memory.db", gibibyte, "", 0),
            ("passes.db", passes, "", 0),
            ("plain.db", DEFAULT, "", 4),
            ("less.db", DEFAULT, "&unlock_work=1", 1),
            ("more.db", DEFAULT, "&unlock_work=7", 7),
        ] {
            fill_slots(&room, name, cost);
            let connection = open(&room, name, more);
            let before = passphrases_stretched();
            let refused = failure(&connection, "PRAGMA key='a passphrase'");
            assert_eq!(passphrases_stretched() - before, tried, "{name}");
            let named = refused.message.contains("unlock_work=");
            assert_eq!(named, tried < 7, "{refused:?}");
        }
        // A raw key is not slowed down by slots that it does not open.
        let before = passphrases_stretched();
        let key = format!("PRAGMA hexkey='{}'", "11".repeat(32));
        let refused = failure(&open(&room, "memory.db", ""), &key);
        assert!(refused.message.contains("altered"), "{refused:?}");
        assert_eq!(passphrases_stretched(), before);
    });
}

#[test]
fn eight_passphrases_of_one_file_take_the_work_of_one() {
    const TEST: &str = "eight_passphrases_of_one_file_take_the_work_of_one";
    in_own_process(TEST, &[], || {
        let room = Room::new();
        let first = room.open("x.db");
        first.execute_batch("CREATE TABLE t(a)").expect("creates");
        for number in 1..8 {
            let sql = format!("PRAGMA strongroom_key_add='passphrase {number}'");
            assert_eq!(text(&first, &sql), number.to_string());
        }
        for number in [1, 7] {
            let before = passphrases_stretched();
            let key = format!("PRAGMA key='passphrase {number}'");
            assert_eq!(text(&open(&room, "x.db", ""), &key), "ok");
            assert_eq!(passphrases_stretched() - before, 1);
        }
    });
}

#[test]
fn an_invalid_limit_is_refused() {
    let room = Room::new();
    for limit in ["0", "-1", "many", "100000", ""] {
        let connection = open(&room, "x.db", &format!("&unlock_work={limit}"));
        assert_refused(&connection, "SELECT * FROM t", "a number from 1 to 20000");
    }
}
