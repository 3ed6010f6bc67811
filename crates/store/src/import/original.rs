//! What becomes of an original whose name the copy takes.

use crate::import::{ImportError, Original};
use crate::replace::{beside, sync_directory};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What stands behind the name of an original that is kept.
pub(crate) const KEPT: &str = ".before-import";

/// Where the original is to be kept, if it is.
pub(super) fn name_for(path: &Path, original: Original) -> Result<Option<PathBuf>, ImportError> {
    match original {
        Original::Remove => Ok(None),
        Original::Keep => {
            let kept = beside(path, KEPT);
            match kept.symlink_metadata() {
                // What counts is that the link refuses too.
                Ok(_) => Err(ImportError::Kept(kept)),
                Err(_) => Ok(Some(kept)),
            }
        }
    }
}

/// Gives the original its second name, which survives a power failure before the first is taken.
pub(super) fn keep(path: &Path, kept: &Path) -> Result<(), ImportError> {
    let linked = fs::hard_link(path, kept).and_then(|()| sync_directory(path));
    linked.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => ImportError::Kept(kept.to_owned()),
        _ => ImportError::Keep {
            path: kept.to_owned(),
            source,
        },
    })
}

/// Removes what lies beside the original and has no content: its empty log, the index of the log,
/// and a journal that is not hot. The caller holds the original exclusively. They would otherwise
/// lie beside the copy.
pub(super) fn remove_remains(path: &Path) {
    for suffix in ["-wal", "-shm", "-journal"] {
        // What stays is harmless: SQLite looks at salts and headers before it uses any of them.
        let _ = fs::remove_file(beside(path, suffix));
    }
}
