//! The same SQLite on encrypted files, through the VFS `strongroom`.

use std::fs;
use std::path::Path;

use lab::engine::{Cause, Connection, Durability, Engine, EngineError, Profile};

use workloads::Dialect;

use crate::connection::{self, DATABASE_FILE, SqliteConnection, uri};

/// The cipher of a new file for which none is named.
const DEFAULT_CIPHER: &str = "aegis-256x2";

/// The others.
const FURTHER_CIPHERS: [&str; 3] = ["aegis-256", "aes-256-gcm", "xchacha20-poly1305"];

/// Name of the key file in the folder of a pass.
const KEY_FILE: &str = "key";

const KEY_BYTES: usize = 32;

/// Strongroom with one cipher under one setting of `synchronous`.
pub(crate) struct Strongroom {
    profile: Profile,
    cipher: &'static str,
    /// Whether pages tell their version, so that an older copy of one is found.
    freshness: bool,
}

pub(crate) fn family() -> Vec<Strongroom> {
    let mut family = Vec::new();
    family.extend(members("strongroom".to_owned(), DEFAULT_CIPHER, false));
    for cipher in FURTHER_CIPHERS {
        family.extend(members(format!("strongroom-{cipher}"), cipher, false));
    }
    let name = "strongroom-freshness".to_owned();
    family.extend(members(name, DEFAULT_CIPHER, true));
    family
}

/// One that waits for disks, and one that does not.
fn members(name: String, cipher: &'static str, freshness: bool) -> [Strongroom; 2] {
    let versions = if freshness { ", with versions" } else { "" };
    let engine = |name, base: &str, durability, words: &str| Strongroom {
        profile: Profile {
            name,
            description: format!(
                "SQLite on pages sealed with {cipher}{versions}, read through a map{words}"
            ),
            family: "strongroom".to_owned(),
            dialect: Dialect::Sqlite,
            base: Some(base.to_owned()),
            durability,
            cipher: Some(cipher.to_owned()),
            control: false,
        },
        cipher,
        freshness,
    };
    let nosync = format!("{name}-nosync");
    [
        engine(name, "sqlite", Durability::Full, ""),
        engine(
            nosync,
            "sqlite-nosync",
            Durability::None,
            ", not waiting for disks",
        ),
    ]
}

impl Strongroom {
    fn uri(&self, folder: &Path, new: bool) -> String {
        let key = folder.join(KEY_FILE);
        let key = key.to_string_lossy();
        let mut parameters = vec![("vfs", "strongroom"), ("key_file", &key)];
        if new && self.cipher != DEFAULT_CIPHER {
            parameters.push(("cipher", self.cipher));
        }
        if new && self.freshness {
            parameters.push(("freshness", "on"));
        }
        uri(&folder.join(DATABASE_FILE), &parameters)
    }
}

fn write_key(folder: &Path) -> Result<(), Cause> {
    let mut key = [0u8; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| error.to_string())?;
    Ok(fs::write(folder.join(KEY_FILE), key)?)
}

impl Engine for Strongroom {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        sqlite_linked::register().map_err(|error| EngineError::Create(error.into()))?;
        write_key(folder).map_err(EngineError::Create)?;
        connection::create(&self.uri(folder, true), self.profile.durability)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        sqlite_linked::register().map_err(|error| EngineError::Open(error.into()))?;
        let uri = self.uri(folder, false);
        let extra = [
            "strongroom_cipher",
            "strongroom_status",
            "strongroom_version",
        ];
        Ok(Box::new(SqliteConnection::open(
            &uri,
            self.profile.durability,
            &extra,
        )?))
    }
}
