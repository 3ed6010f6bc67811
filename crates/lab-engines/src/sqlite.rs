//! SQLite as it comes.

use std::path::Path;

use lab::engine::{Connection, Durability, Engine, EngineError, Profile};

use crate::connection::{self, DATABASE_FILE, SqliteConnection, uri};

/// SQLite under one setting of `synchronous`.
pub(crate) struct Sqlite {
    profile: Profile,
}

pub(crate) fn family() -> [Sqlite; 3] {
    let engine = |name: &str, base: Option<&str>, durability, control, description: &str| Sqlite {
        profile: Profile {
            name: name.to_owned(),
            description: description.to_owned(),
            base: base.map(str::to_owned),
            durability,
            cipher: None,
            control,
        },
    };
    let (full, none) = (Durability::Full, Durability::None);
    [
        engine(
            "sqlite",
            None,
            full,
            false,
            "SQLite, not encrypted; the reference",
        ),
        engine(
            "sqlite-again",
            Some("sqlite"),
            full,
            true,
            "the same a second time: the noise",
        ),
        engine(
            "sqlite-nosync",
            Some("sqlite"),
            none,
            false,
            "SQLite that does not wait for disks",
        ),
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
        let connection = SqliteConnection::open(&Self::uri(folder), self.profile.durability, &[])?;
        Ok(Box::new(connection))
    }
}
