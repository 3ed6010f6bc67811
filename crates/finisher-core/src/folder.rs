//! The folder of a server: private, in memory where the system offers that, and removed also when
//! its proxy was killed.
//!
//! 1. A folder has its final name only while it holds a file `lock` that its proxy has locked. It
//!    is made under another name, and renamed.
//! 2. Who finds a folder whose lock is free may remove it: its proxy is gone. The process number in
//!    the name is for people; numbers are used again, and other name spaces have others.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::{Gid, Uid, User};

use crate::error::HostError;

/// How the names of folders begin.
const NAME: &str = "strongroom-finisher-";
const LOCK: &str = "lock";
/// An empty server has up to 40 MB, each database of PostgreSQL 8 MB more.
const SPACE_MIN: u64 = 128 << 20;
/// What the systems accept as the path of a socket is a little more.
pub const SOCKET_PATH_SIZE_MAX: usize = 100;
/// Names that others may have taken before one is free.
const TRIES_MAX: usize = 1000;

/// Numbers the folders of this process.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// Who runs a server, and who connects to it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Who runs the server.
    pub uid: Uid,
    /// The group of that.
    pub gid: Gid,
    /// It is another user than this process has.
    pub is_other: bool,
    /// The name of the user who connects: this process's.
    pub name: String,
}

impl Owner {
    /// The user of this name, or this process's own.
    ///
    /// # Errors
    /// There is no such user, or the server cannot run as that one.
    pub fn find(run_as: Option<&str>) -> Result<Self, HostError> {
        let own = Uid::effective();
        let name = name_of(own)?;
        let user = match run_as {
            None => None,
            Some(run_as) => {
                let unknown = || HostError::UnknownUser {
                    name: run_as.to_owned(),
                };
                let user = User::from_name(run_as).ok().flatten();
                Some(user.ok_or_else(unknown)?)
            }
        };
        let (uid, gid) = user.map_or((own, Gid::effective()), |user| (user.uid, user.gid));
        if uid.is_root() {
            return Err(HostError::Root);
        }
        if uid != own && !own.is_root() {
            let name = run_as.unwrap_or_default().to_owned();
            return Err(HostError::NotRoot { name });
        }
        Ok(Self {
            uid,
            gid,
            is_other: uid != own,
            name,
        })
    }

    /// Makes it the owner of a file of this process.
    fn give(&self, path: &Path) -> io::Result<()> {
        match self.is_other {
            true => chown(path, Some(self.uid.as_raw()), Some(self.gid.as_raw())),
            false => Ok(()),
        }
    }
}

fn name_of(uid: Uid) -> Result<String, HostError> {
    let user = User::from_uid(uid).ok().flatten();
    user.map(|user| user.name)
        .ok_or_else(|| HostError::UnknownUser {
            name: uid.to_string(),
        })
}

/// Where folders are made.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder that they are made in.
    pub path: PathBuf,
    /// Nothing in it reaches a disk, but for swap.
    pub is_memory: bool,
}

impl Place {
    /// The folder of the options, or one in memory, or at last one for temporary files.
    pub fn choose(folder: Option<&Path>, owner: &Owner) -> Self {
        let place = Self::find(folder, owner);
        if !place.is_memory {
            tracing::warn!(
                folder = %place.path.display(),
                "the finisher's folder is not in memory, so that rows may reach a disk: it gets no \
                 temporary files, and queries fail that need them. Name a folder on a tmpfs, or \
                 give /dev/shm {} MiB",
                SPACE_MIN >> 20
            );
        }
        place
    }

    fn find(folder: Option<&Path>, owner: &Owner) -> Self {
        if let Some(folder) = folder {
            return Self {
                path: folder.to_owned(),
                is_memory: is_tmpfs(folder),
            };
        }
        // That of a login belongs to its user: nobody else can enter it.
        let of_login = env::var_os("XDG_RUNTIME_DIR").filter(|_| !owner.is_other);
        let in_memory = [Some("/dev/shm".into()), of_login.map(PathBuf::from)];
        let mut in_memory = in_memory.into_iter().flatten();
        match in_memory.find(|path: &PathBuf| is_tmpfs(path) && is_usable(path)) {
            Some(path) => Self {
                path,
                is_memory: true,
            },
            None => {
                let path = env::temp_dir();
                let is_memory = is_tmpfs(&path);
                Self { path, is_memory }
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn is_tmpfs(path: &Path) -> bool {
    use nix::sys::statfs::{TMPFS_MAGIC, statfs};
    statfs(path).is_ok_and(|about| about.filesystem_type() == TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_tmpfs(_path: &Path) -> bool {
    false
}

/// Whether a server fits there, and this process may make folders. Containers often have little.
fn is_usable(path: &Path) -> bool {
    let may_write = nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok();
    may_write && has_space(path)
}

#[cfg(target_os = "linux")]
fn has_space(path: &Path) -> bool {
    let about = nix::sys::statvfs::statvfs(path);
    about.is_ok_and(|about| about.blocks_available() * about.fragment_size() >= SPACE_MIN)
}

#[cfg(not(target_os = "linux"))]
fn has_space(_path: &Path) -> bool {
    true
}

/// A folder that only its owner can enter, locked while this value lives, and then removed.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    owner: Owner,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one, and removes what proxies left there that are gone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(place: &Place, owner: &Owner) -> Result<Self, HostError> {
        sweep(&place.path, owner);
        let made = Self::make(&place.path, owner);
        made.map_err(|error| HostError::Folder {
            path: place.path.clone(),
            error,
        })
    }

    fn make(parent: &Path, owner: &Owner) -> io::Result<Self> {
        for _ in 0..TRIES_MAX {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let name = format!("{NAME}{}-{number}", process::id());
            let new = parent.join(format!(".{name}"));
            match DirBuilder::new().mode(0o700).create(&new) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let path = parent.join(name);
            match lock_and_name(&new, &path, owner) {
                Ok(lock) => {
                    return Ok(Self {
                        path,
                        owner: owner.clone(),
                        _lock: lock,
                    });
                }
                Err(error) => {
                    drop(fs::remove_dir_all(&new));
                    let is_taken = matches!(
                        error.kind(),
                        io::ErrorKind::DirectoryNotEmpty
                            | io::ErrorKind::AlreadyExists
                            | io::ErrorKind::NotADirectory
                            | io::ErrorKind::PermissionDenied
                    );
                    if !(is_taken && fs::symlink_metadata(&path).is_ok()) {
                        return Err(error);
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only the owner can read.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, HostError> {
        let path = self.path.join(name);
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(&path)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
            .and_then(|()| self.owner.give(&path));
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err(HostError::Folder { path, error }),
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // The keeper has removed it already, unless it was killed, or may not write in the parent.
        drop(fs::remove_dir_all(&self.path));
    }
}

fn lock_and_name(new: &Path, path: &Path, owner: &Owner) -> io::Result<File> {
    let lock = new.join(LOCK);
    let mut options = File::options();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&lock)?;
    file.lock()?;
    owner.give(&lock)?;
    owner.give(new)?;
    fs::rename(new, path)?;
    Ok(file)
}

/// Removes the folders of proxies that are gone.
fn sweep(parent: &Path, owner: &Owner) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(NAME);
        if is_named && is_left(&entry.path(), owner) {
            match fs::remove_dir_all(entry.path()) {
                Ok(()) => tracing::info!(
                    folder = %entry.path().display(),
                    "removed what the finisher of a proxy left that is gone"
                ),
                // Another proxy may be doing the same.
                Err(error) => tracing::debug!(%error, "a finisher's folder stays"),
            }
        }
    }
}

/// Whether it is a folder of the owner's, and nobody holds its lock.
fn is_left(folder: &Path, owner: &Owner) -> bool {
    let own = |about: fs::Metadata| about.is_dir() && about.uid() == owner.uid.as_raw();
    // Whoever may write in the parent may have put a link there.
    if !fs::symlink_metadata(folder).is_ok_and(own) {
        return false;
    }
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut options = File::options();
    match options
        .write(true)
        .custom_flags(flags)
        .open(folder.join(LOCK))
    {
        Ok(lock) => lock.try_lock().is_ok(),
        // Its keeper was removing it.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn owner() -> Owner {
        Owner {
            uid: Uid::effective(),
            gid: Gid::effective(),
            is_other: false,
            name: "somebody".to_owned(),
        }
    }

    fn place(path: &Path) -> Place {
        Place {
            path: path.to_owned(),
            is_memory: false,
        }
    }

    #[test]
    fn folders_of_living_proxies_stay_and_others_go() {
        let parent = tempfile::tempdir().expect("a folder");
        let place = place(parent.path());
        let living = PrivateFolder::create(&place, &owner()).expect("made");
        let left = parent.path().join(format!("{NAME}1-0"));
        let removing = parent.path().join(format!("{NAME}1-1"));
        let other = parent.path().join("other");
        for folder in [&left, &removing, &other] {
            fs::create_dir(folder).expect("made");
        }
        fs::write(left.join(LOCK), "").expect("written");
        fs::write(left.join("rows"), "secret").expect("written");
        let next = PrivateFolder::create(&place, &owner()).expect("made");
        assert!(living.path().is_dir() && next.path().is_dir() && other.is_dir());
        assert!(!left.exists() && !removing.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn links_are_not_followed() {
        let parent = tempfile::tempdir().expect("a folder");
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).expect("made");
        let link = parent.path().join(format!("{NAME}1-0"));
        std::os::unix::fs::symlink(&precious, link).expect("made");
        let made = PrivateFolder::create(&place(parent.path()), &owner()).expect("made");
        assert!(precious.is_dir());
        drop(made);
    }

    #[test]
    fn nobody_else_can_enter() {
        let parent = tempfile::tempdir().expect("a folder");
        let made = PrivateFolder::create(&place(parent.path()), &owner()).expect("made");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(made.path()) & 0o777, 0o700);
        let file = made.write("name", "text").expect("written");
        assert_eq!(mode(&file) & 0o777, 0o600);
    }

    #[test]
    fn users_are_those_of_the_system() {
        let unknown = Owner::find(Some("no such user"));
        assert!(matches!(unknown, Err(HostError::UnknownUser { .. })));
        assert!(matches!(Owner::find(Some("root")), Err(HostError::Root)));
    }
}
