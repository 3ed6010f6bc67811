//! Safe replacement of files: a new file is written beside the old one, synced and renamed; on
//! failure it is removed.

use crate::folder::{COPY, Folder, Identity, PrivateFolder};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Whether an existing file may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// The operation fails if the file exists.
    Never,
    /// The file is replaced atomically once the new one is complete.
    Always,
}

/// An empty file in a private folder beside its destination. Dropping it removes both.
///
/// Invariants:
///
/// 1. Others cannot write to the private folder. If they can write to its parent folder, they can
///    move it or replace it with another; so both folders are accessed through descriptors if the
///    system supports that, and otherwise such a parent is refused.
/// 2. The file that gets the final name is the one that was created here, identified by device and
///    inode number.
/// 3. No descriptor on the file itself is kept: closing one would drop the POSIX locks of a
///    connection on the file.
pub(crate) struct FileBeside {
    path: PathBuf,
    identity: Identity,
    private: PrivateFolder,
}

impl FileBeside {
    pub(crate) fn new(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let around = Folder::open(folder_of(target))?;
        let private = PrivateFolder::new(around, &name)?;
        let path = private.entry(COPY);
        let made = make_private(&path)?.metadata()?;
        private.expect_owner_of(&made)?;
        Ok(FileBeside {
            path,
            identity: Identity::of(&made),
            private,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file, renames it, and syncs the directory.
    pub(crate) fn settle(self, target: &Path, overwrite: Overwrite) -> io::Result<()> {
        let copy = File::open(&self.path)?;
        self.identity.expect(&copy.metadata()?)?;
        copy.sync_all()?;
        drop(copy);
        let around = self.private.around();
        let target = match target.file_name() {
            Some(name) => around.entry(name),
            None => target.to_owned(),
        };
        let copy = TempPath::try_from_path(self.path.clone())?;
        match overwrite {
            Overwrite::Never => copy.persist_noclobber(&target)?,
            Overwrite::Always => copy.persist(&target)?,
        }
        self.identity.expect(&fs::symlink_metadata(&target)?)?;
        around.sync()
    }
}

/// The folder of a file, which need not exist.
pub(crate) fn folder_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The path with a suffix appended to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes log, index and journal of a database that is replaced: they would belong to the new
/// file, and those of a plain database hold plaintext.
///
/// # Errors
///
/// The first file that could not be removed, and why.
pub(crate) fn remove_side_files(path: &Path) -> Result<(), (PathBuf, io::Error)> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let side = beside(path, suffix);
        match fs::remove_file(&side) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((side, error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Creates a file that only its owner can read.
fn make_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a new name durable.
#[cfg(unix)]
pub(crate) fn sync_directory(target: &Path) -> io::Result<()> {
    File::open(folder_of(target))?.sync_all()
}

/// Directories cannot be opened on this system, which makes names durable by itself.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_target: &Path) -> io::Result<()> {
    Ok(())
}

/// Copies the permissions of one file to another.
pub(crate) fn copy_permissions(source: &Path, target: &Path) -> io::Result<()> {
    fs::set_permissions(target, fs::metadata(source)?.permissions())
}
