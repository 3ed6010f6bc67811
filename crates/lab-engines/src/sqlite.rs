//! SQLite as it comes.

use std::path::Path;

use lab::engine::{Connection, Durability, Engine, EngineError, Profile};

use workloads::Dialect;

use crate::connection::{self, DATABASE_FILE, SqliteConnection, uri};

/// SQLite under one setting of `synchronous`, with or without a memory map.
pub(crate) struct Sqlite {
    profile: Profile,
    map_bytes: u64,
}

/// Size of the memory map of the engines that have one: more than any workload fills.
const MAP_BYTES: u64 = 1 << 30;

pub(crate) fn family() -> [Sqlite; 5] {
    let engine = |name: &str, base: Option<&str>, durability, description: &str| Sqlite {
        profile: Profile {
            name: name.to_owned(),
            description: description.to_owned(),
            family: "sqlite".to_owned(),
            dialect: Dialect::Sqlite,
            base: base.map(str::to_owned),
            durability,
            cipher: None,
            control: false,
        },
        map_bytes: 0,
    };
    let (full, none) = (Durability::Full, Durability::None);
    let base = Some("sqlite");
    let mut again = engine(
        "sqlite-again",
        base,
        full,
        "the same a second time: the noise",
    );
    again.profile.control = true;
    let mut map = engine(
        "sqlite-mmap",
        base,
        full,
        "SQLite that reads through a memory map",
    );
    map.map_bytes = MAP_BYTES;
    let mut map_nosync = engine(
        "sqlite-mmap-nosync",
        Some("sqlite-nosync"),
        none,
        "both of these",
    );
    map_nosync.map_bytes = MAP_BYTES;
    [
        engine("sqlite", None, full, "SQLite, not encrypted; the reference"),
        again,
        engine(
            "sqlite-nosync",
            base,
            none,
            "SQLite that does not wait for disks",
        ),
        map,
        map_nosync,
    ]
}

impl Sqlite {
    fn uri(folder: &Path) -> String {
        uri(&folder.join(DATABASE_FILE), &[])
    }
}

impl Engine for Sqlite {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        connection::create(&Self::uri(folder), self.profile.durability)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let mut connection =
            SqliteConnection::open(&Self::uri(folder), self.profile.durability, &[])?;
        if self.map_bytes > 0 {
            connection.map(self.map_bytes)?;
        }
        Ok(Box::new(connection))
    }
}
