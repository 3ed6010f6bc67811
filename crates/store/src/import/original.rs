//! Keeps or removes the original whose name the copy takes.

use crate::import::{ImportError, Original};
use crate::replace::{beside, sync_directory};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Suffix of the name of an original that is kept.
pub(crate) const KEPT: &str = ".before-import";

/// The name under which the original is kept, if it is.
pub(super) fn name_for(path: &Path, original: Original) -> Result<Option<PathBuf>, ImportError> {
    match original {
        Original::Remove => Ok(None),
        Original::Keep => {
            let kept = beside(path, KEPT);
            match kept.symlink_metadata() {
                // Only for an early error; the link refuses as well.
                Ok(_) => Err(ImportError::Kept(kept)),
                Err(_) => Ok(Some(kept)),
            }
        }
    }
}

/// Links the original under its second name, durably, before the first name is taken.
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
