//! Handles on folders and files that stay valid when somebody renames them.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// An open folder.
pub(crate) struct Folder {
    /// A path to this folder that survives renames, if the system has such paths; else the one it
    /// was opened with.
    path: PathBuf,
    #[cfg(unix)]
    opened: File,
}

impl Folder {
    #[cfg(unix)]
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let opened = File::open(&path)?;
        let path = match name_by_descriptor(&opened) {
            Some(name) => name,
            None => {
                expect_unmovable(&opened.metadata()?)?;
                path
            }
        };
        Ok(Folder { path, opened })
    }

    #[cfg(not(unix))]
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        Ok(Folder { path })
    }

    /// Fails if the path now points to another folder, or is a symbolic link.
    fn expect_at(self, path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        Identity::of(&self.opened.metadata()?).expect(&fs::symlink_metadata(path)?)?;
        #[cfg(not(unix))]
        fs::symlink_metadata(path)?;
        Ok(self)
    }

    /// The path of a file in it.
    pub(crate) fn entry(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Makes new names in it durable.
    #[cfg(unix)]
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.opened.sync_all()
    }

    /// Directories cannot be opened on this system, which makes names durable by itself.
    #[cfg(not(unix))]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Linux has a path for each open descriptor (proc_pid_fd(5)), which resolves to exactly that
/// folder. `None` if /proc is not mounted, or on other systems.
#[cfg(unix)]
fn name_by_descriptor(opened: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    if !cfg!(target_os = "linux") {
        return None;
    }
    let name = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    let same = Identity::of(&fs::metadata(&name).ok()?) == Identity::of(&opened.metadata().ok()?);
    same.then_some(name)
}

/// Fails if other users could move entries of a folder.
#[cfg(unix)]
fn expect_unmovable(metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    /// In a folder with this bit, only the owner of a file can rename or remove it.
    const STICKY: u32 = 0o1000;
    let mode = metadata.permissions().mode();
    if mode & 0o022 == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "other users may write to its folder, and could put another file in its place; choose \
         another folder, or `chmod go-w` this one",
    ))
}

/// The name of the copy in a private folder.
pub(crate) const COPY: &str = "copy";

/// Files that SQLite may leave beside the copy when it is interrupted.
const REMAINS: [&str; 4] = ["copy", "copy-journal", "copy-wal", "copy-shm"];

/// Suffix of the name of a private folder.
const PART: &str = ".part";

/// Whether a folder of this name belongs to an unfinished copy of the file `of`.
pub(crate) fn is_unfinished_copy(folder: &str, of: &str) -> bool {
    let middle = folder
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(of))
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(PART));
    middle.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// A new folder that only its owner can enter. Dropping it removes it, together with the copy.
pub(crate) struct PrivateFolder {
    folder: Folder,
    around: Folder,
    name: String,
}

impl PrivateFolder {
    /// Creates it in a folder, with a name derived from that of the final file.
    pub(crate) fn new(around: Folder, name: &str) -> io::Result<Self> {
        let random = u64::from_le_bytes(keyring::random_array().map_err(io::Error::other)?);
        let name = format!(".{name}.{random:016x}{PART}");
        let path = around.entry(&name);
        make_folder(&path)?;
        let opened = Folder::open(path.clone());
        let folder = match opened.and_then(|folder| folder.expect_at(&path)) {
            Ok(folder) => folder,
            Err(error) => {
                let _ = fs::remove_dir(&path);
                return Err(error);
            }
        };
        Ok(PrivateFolder {
            folder,
            around,
            name,
        })
    }

    /// The folder that contains it.
    pub(crate) fn around(&self) -> &Folder {
        &self.around
    }

    /// The path of a file in it.
    pub(crate) fn entry(&self, name: &str) -> PathBuf {
        self.folder.entry(name)
    }

    /// Fails unless only the file's creator can enter the folder: between creating and opening it,
    /// somebody may have replaced it with his own.
    #[cfg(unix)]
    pub(crate) fn expect_owner_of(&self, file: &Metadata) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let folder = self.folder.opened.metadata()?;
        if folder.mode() & 0o077 == 0 && folder.uid() == file.uid() {
            Ok(())
        } else {
            Err(replaced())
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn expect_owner_of(&self, _file: &Metadata) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        for name in REMAINS {
            // Most of these do not exist.
            let _ = fs::remove_file(self.folder.entry(name));
        }
        // If somebody has moved it away, only an empty folder is left.
        let _ = fs::remove_dir(self.around.entry(&self.name));
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no mode to set"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    #[cfg(unix)]
    device_and_number: (u64, u64),
}

impl Identity {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity {
            device_and_number: (metadata.dev(), metadata.ino()),
        }
    }

    /// This system has no stable identity for files, and does not let files in use be renamed.
    #[cfg(not(unix))]
    pub(crate) fn of(_metadata: &Metadata) -> Self {
        Identity {}
    }

    /// Fails if it is another file.
    pub(crate) fn expect(self, found: &Metadata) -> io::Result<()> {
        if self == Identity::of(found) {
            Ok(())
        } else {
            Err(replaced())
        }
    }
}

fn replaced() -> io::Error {
    io::Error::other(
        "another program put a file of its own in place of the copy while it was made; choose a \
         folder that others cannot write to",
    )
}
