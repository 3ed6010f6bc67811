//! The part that all SQLite-based engines share: they differ in how they open a file.

use std::ffi::OsString;
use std::path::Path;

use lab::engine::{
    Cause, Connection, Durability, Engine, EngineError, EngineOptions, Profile, ScriptCommand,
    ScriptOutput, whole_message,
};
use workloads::Dialect;

use crate::connection::{Journal, Opening, SqliteConnection};
use crate::shell::{self, Request};

/// How a kind of database is stored.
pub(crate) trait Storage {
    /// Creates what must exist before a database is created, such as a key.
    fn prepare(&self, _folder: &Path) -> Result<(), Cause> {
        Ok(())
    }

    /// The options for opening the database in the folder, or for creating it if it is new.
    fn opening(&self, folder: &Path, new: bool) -> Result<Opening, Cause>;
}

/// An SQLite-based engine.
pub(crate) struct SqliteEngine {
    pub(crate) profile: Profile,
    pub(crate) journal: Journal,
    pub(crate) storage: Box<dyn Storage>,
    /// Options that recreate this engine in another process.
    pub(crate) options: EngineOptions,
}

/// A durability, with the settings that provide it.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    /// Suffix to the name of the family's first engine.
    suffix: &'static str,
    /// Suffix to its description.
    words: &'static str,
    /// The engine that its times are divided by.
    pub(crate) base: &'static str,
    durability: Durability,
    journal: Journal,
}

/// Waits for the disk at each commit: SQLite's default.
pub(crate) const SYNC: Variant = Variant {
    suffix: "",
    words: "",
    base: "sqlite",
    durability: Durability::Full,
    journal: Journal::Rollback,
};

/// Never waits for the disk.
pub(crate) const NOSYNC: Variant = Variant {
    suffix: "-nosync",
    words: ", not waiting for disks",
    base: "sqlite-nosync",
    durability: Durability::None,
    journal: Journal::Rollback,
};

/// Waits for the disk at each commit, which goes to a write-ahead log.
pub(crate) const LOG: Variant = Variant {
    suffix: "-wal",
    words: ", with a write-ahead log synced at each commit",
    base: "sqlite-wal",
    durability: Durability::Full,
    journal: Journal::Log,
};

impl Variant {
    /// The engine for this variant of a storage.
    pub(crate) fn engine(
        self,
        family: &str,
        name: &str,
        description: &str,
        cipher: Option<&str>,
        storage: impl Storage + 'static,
    ) -> SqliteEngine {
        SqliteEngine {
            profile: Profile {
                name: format!("{name}{}", self.suffix),
                description: format!("{description}{}", self.words),
                family: family.to_owned(),
                dialect: Dialect::Sqlite,
                base: Some(self.base.to_owned()),
                durability: self.durability,
                cipher: cipher.map(str::to_owned),
                control: false,
            },
            journal: self.journal,
            storage: Box::new(storage),
            options: EngineOptions::default(),
        }
    }
}

impl SqliteEngine {
    fn opening(&self, folder: &Path, new: bool) -> Result<Opening, Cause> {
        Ok(Opening {
            journal: self.journal,
            durability: self.profile.durability,
            ..self.storage.opening(folder, new)?
        })
    }

    /// Opens the database in the folder.
    pub(crate) fn connect(&self, folder: &Path) -> Result<SqliteConnection, EngineError> {
        let opened = self.opening(folder, false).and_then(Opening::open);
        opened.map_err(EngineError::Open)
    }
}

impl Engine for SqliteEngine {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        let created = self.storage.prepare(folder);
        let created = created.and_then(|()| self.opening(folder, true)?.create());
        created.map_err(EngineError::Create)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        Ok(Box::new(self.connect(folder)?))
    }

    fn missing(&self) -> Option<String> {
        let opening = self.storage.opening(Path::new(""), false);
        opening.err().map(|error| whole_message(error.as_ref()))
    }

    fn script_command(&self, folder: &Path) -> Option<ScriptCommand> {
        let request = Request {
            engine: self.profile.name.clone(),
            options: self.options.clone(),
            folder: folder.to_owned(),
        };
        let request = serde_json::to_string(&request).ok()?;
        Some(ScriptCommand {
            program: std::env::current_exe().ok()?,
            arguments: vec![OsString::from(shell::COMMAND)],
            environment: vec![(shell::REQUEST_VARIABLE.into(), request.into())],
            output: ScriptOutput::Csv,
        })
    }
}
