//! The same SQLite on encrypted files, through the VFS `strongroom`.

use std::fs;
use std::path::Path;

use lab::engine::Cause;
use sqlite_api::Library;

use crate::connection::{DATABASE_FILE, Opening, uri};
use crate::engine::{LOG, NOSYNC, SYNC, SqliteEngine, Storage};

/// The cipher of new files by default.
const DEFAULT_CIPHER: &str = "aegis-256x2";

/// The others.
const FURTHER_CIPHERS: [&str; 3] = ["aegis-256", "aes-256-gcm", "xchacha20-poly1305"];

/// Name of the key file in the folder of a pass.
const KEY_FILE: &str = "key";

const KEY_BYTES: usize = 32;

/// Settings that Strongroom reports.
const REPORTS: [(&str, &str); 3] = [
    ("strongroom_cipher", "PRAGMA strongroom_cipher"),
    ("strongroom_status", "PRAGMA strongroom_status"),
    ("strongroom_version", "PRAGMA strongroom_version"),
];

/// Files sealed with one cipher.
#[derive(Clone, Copy)]
struct Sealed {
    cipher: &'static str,
    /// Whether pages carry versions, so that older copies are detected.
    freshness: bool,
}

pub(crate) fn family() -> Vec<SqliteEngine> {
    let mut family = Vec::new();
    family.extend(members("strongroom".to_owned(), DEFAULT_CIPHER, false));
    for cipher in FURTHER_CIPHERS {
        family.extend(members(format!("strongroom-{cipher}"), cipher, false));
    }
    let name = "strongroom-freshness".to_owned();
    family.extend(members(name, DEFAULT_CIPHER, true));
    family
}

fn members(name: String, cipher: &'static str, freshness: bool) -> [SqliteEngine; 3] {
    let versions = if freshness { ", with versions" } else { "" };
    let description = format!("SQLite on pages sealed with {cipher}{versions}, read through a map");
    let sealed = Sealed { cipher, freshness };
    [SYNC, NOSYNC, LOG]
        .map(|variant| variant.engine("strongroom", &name, &description, Some(cipher), sealed))
}

impl Storage for Sealed {
    fn prepare(&self, folder: &Path) -> Result<(), Cause> {
        let mut key = [0u8; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| error.to_string())?;
        Ok(fs::write(folder.join(KEY_FILE), key)?)
    }

    fn opening(&self, folder: &Path, new: bool) -> Result<Opening, Cause> {
        sqlite_linked::register()?;
        let key = folder.join(KEY_FILE);
        let key = key.to_string_lossy();
        let mut parameters = vec![("vfs", "strongroom"), ("key_file", &key)];
        if new && self.cipher != DEFAULT_CIPHER {
            parameters.push(("cipher", self.cipher));
        }
        if new && self.freshness {
            parameters.push(("freshness", "on"));
        }
        let uri = uri(&folder.join(DATABASE_FILE), &parameters);
        let mut opening = Opening::new(Library::linked(), uri);
        opening.reports = REPORTS.to_vec();
        Ok(opening)
    }
}
