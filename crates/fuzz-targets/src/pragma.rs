//! Pragmas and URI parameters as a user, or SQL from anywhere, may write them.

use std::sync::LazyLock;

use rusqlite::Connection;

use crate::files::{Room, TEMPLATES, answer, open};
use crate::input::Input;
use crate::sealed::{self, Sealer};
use crypto::cipher::Cipher;

const NAMES: &[&str] = &[
    "key",
    "hexkey",
    "textkey",
    "rekey",
    "hexrekey",
    "cipher",
    "cipher_page_size",
    "cipher_integrity_check",
    "strongroom_rekey",
    "strongroom_key_add",
    "strongroom_key_remove",
    "strongroom_keys",
    "strongroom_cipher",
    "strongroom_status",
    "strongroom_verify",
    "strongroom_last_error",
    "strongroom_mmap",
    "strongroom_rotate",
    "strongroom_version",
    "strongroom_anything",
    "page_size",
];

static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let template = &TEMPLATES[0];
    let header = sealed::header(Cipher::Aegis256X2, template.page_size);
    Sealer::new(Cipher::Aegis256X2).database(&header, &template.image)
});

/// Takes URI parameters, then pragmas with their values.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let room = Room::new();
    if how & 3 != 3 {
        room.write("x.db", &FILE);
    }
    let count = usize::from(input.byte() % 32);
    let parameters = text(input.take(count));
    let connection = match how & 3 {
        0 => open(&format!("{}&{parameters}", room.uri("x.db"))),
        1 => open(&room.uri("x.db")),
        _ => room.open("x.db"),
    };
    let Ok(connection) = connection else {
        return;
    };
    while !input.is_empty() {
        let name = input.one_of(NAMES);
        let form = input.byte();
        let count = usize::from(form >> 2);
        let value = value(&connection, name, &text(input.take(count)));
        let sql = match form & 3 {
            0 => format!("PRAGMA {name}"),
            1 => format!("PRAGMA {name}({})", quoted(&value)),
            2 => format!("PRAGMA main.{name}={}", quoted(&value)),
            _ => format!("PRAGMA {name}={}", quoted(&value)),
        };
        let _ = answer(&connection, &sql);
    }
    let status = answer(&connection, "PRAGMA strongroom_status");
    if status.contains("\"encrypted\"") && how & 3 != 3 {
        let rows = answer(&connection, "SELECT count(*) FROM t");
        assert!(rows.ends_with(": 52|\n"), "{rows}");
    }
}

/// A passphrase would be stretched: a sixth of a second for nothing new.
fn value(connection: &Connection, name: &str, value: &str) -> String {
    let stretches = matches!(name, "key" | "rekey" | "strongroom_key_add");
    let is_locked = || answer(connection, "PRAGMA strongroom_status").contains("\"locked\"");
    if !stretches || value.starts_with("x'") || value.starts_with("token=") || is_locked() {
        value.to_owned()
    } else {
        format!("x'{value}'")
    }
}

/// Raw keys come about too seldom by chance.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace(['\0', '#'], "");
    text.replace("KEY", &"11".repeat(32))
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
