//! Unmodified SQLite.

use std::path::Path;

use lab::engine::Cause;
use sqlite_api::Library;

use crate::connection::{DATABASE_FILE, Opening, uri};
use crate::engine::{LOG, NOSYNC, SYNC, SqliteEngine, Storage, Variant};

/// The linked SQLite, with or without a memory map.
struct Plain {
    map_bytes: u64,
}

/// Size of the memory map of engines that have one: larger than any workload's database.
const MAP_BYTES: u64 = 1 << 30;

pub(crate) fn family() -> Vec<SqliteEngine> {
    let engine = |variant: Variant, name: &str, description: &str, map_bytes| {
        variant.engine("sqlite", name, description, None, Plain { map_bytes })
    };
    let reference = "sqlite";
    let mut sqlite = engine(SYNC, reference, "SQLite, not encrypted; the reference", 0);
    sqlite.profile.base = None;
    let mut again = engine(SYNC, "sqlite-again", "the same a second time: the noise", 0);
    again.profile.control = true;
    let mut nosync = engine(NOSYNC, reference, "SQLite", 0);
    nosync.profile.base = Some(reference.to_owned());
    let mut log = engine(LOG, reference, "SQLite", 0);
    log.profile.base = Some(reference.to_owned());
    let (map, words) = ("sqlite-mmap", "SQLite that reads through a memory map");
    vec![
        sqlite,
        again,
        nosync,
        log,
        engine(SYNC, map, words, MAP_BYTES),
        engine(NOSYNC, map, words, MAP_BYTES),
    ]
}

impl Storage for Plain {
    fn opening(&self, folder: &Path, _new: bool) -> Result<Opening, Cause> {
        let uri = uri(&folder.join(DATABASE_FILE), &[]);
        let mut opening = Opening::new(Library::linked(), uri);
        opening.map_bytes = self.map_bytes;
        Ok(opening)
    }
}
