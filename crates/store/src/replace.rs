//! New files beside old ones: written, synced, renamed; gone when anything fails.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Whether a file that exists may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// It stays, and the operation fails.
    Never,
    /// It is replaced, in one step, once the new file is complete.
    Always,
}

/// An empty file in the directory of its destination. Dropping it removes it.
///
/// No descriptor is kept: closing one would drop the POSIX locks of a connection on the file.
pub(crate) struct FileBeside {
    path: TempPath,
}

impl FileBeside {
    pub(crate) fn new(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".part")
            .make_in(folder_of(target), make_private)?
            .into_temp_path();
        Ok(FileBeside { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file, gives it its name, and syncs the directory.
    pub(crate) fn settle(self, target: &Path, overwrite: Overwrite) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        match overwrite {
            Overwrite::Never => self.path.persist_noclobber(target)?,
            Overwrite::Always => self.path.persist(target)?,
        }
        sync_directory(target)
    }
}

/// The folder that a file is in, or is to be in.
pub(crate) fn folder_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a file that only its owner reads. The library's own way adds a passing name to errors.
fn make_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a new name survive a power failure.
#[cfg(unix)]
pub(crate) fn sync_directory(target: &Path) -> io::Result<()> {
    File::open(folder_of(target))?.sync_all()
}

/// Elsewhere directories cannot be opened; the system writes names by itself.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_target: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives one file the permissions of another.
pub(crate) fn copy_permissions(source: &Path, target: &Path) -> io::Result<()> {
    fs::set_permissions(target, fs::metadata(source)?.permissions())
}
