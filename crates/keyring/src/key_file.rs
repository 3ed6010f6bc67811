//! Key files: which files are accepted, and whether other users of this machine have access.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Opens a regular file. Anything else is refused before it is opened: opening a pipe without a
/// writer would block, and opening a device can have side effects.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    expect_regular(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Non-blocking, because the name may point to a pipe by now.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    expect_regular(&file.metadata()?)?;
    Ok(file)
}

fn expect_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file; what a pipe gives is read by its descriptor",
    ))
}

/// A key file that users other than its owner can read or replace.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the key file {path} {}", .exposure)]
pub struct ExposedKeyFile {
    path: PathBuf,
    exposure: Exposure,
}

impl ExposedKeyFile {
    /// What others can do, and how to stop it.
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }
}

/// Access to a file by users other than its owner.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Exposure {
    /// They can read it.
    #[error(
        "can be read by other users of this machine (mode {mode:03o}); `chmod 600` on it closes \
         that"
    )]
    Readable {
        /// Its permissions.
        mode: u32,
    },
    /// They can write to it, so they can choose the key of whatever is created next.
    #[error(
        "can be changed by other users of this machine (mode {mode:03o}); `chmod 600` on it \
         closes that"
    )]
    Writable {
        /// Its permissions.
        mode: u32,
    },
    /// They can replace it.
    #[error(
        "can be replaced by other users of this machine, who may write to its folder {folder} \
         (mode {mode:03o}); `chmod go-w` on the folder closes that"
    )]
    Replaceable {
        /// Its folder.
        folder: PathBuf,
        /// The folder's permissions.
        mode: u32,
    },
}

pub(crate) fn exposed(path: &Path) -> Option<ExposedKeyFile> {
    // Anything else is refused when it is read. The remedy would do harm to a folder.
    if !path.is_file() {
        return None;
    }
    Some(ExposedKeyFile {
        path: path.to_owned(),
        exposure: reachable(path)?,
    })
}

/// Access to a secret file by users other than its owner.
#[cfg(unix)]
pub fn reachable(path: &Path) -> Option<Exposure> {
    exposure_of_file(path).or_else(|| replaceable(path))
}

/// How users other than its owner could change a file's content, which they may read.
#[cfg(unix)]
pub fn changeable(path: &Path) -> Option<Exposure> {
    match mode_of(path)? & 0o777 {
        mode if mode & 0o022 != 0 => Some(Exposure::Writable { mode }),
        _ => replaceable(path),
    }
}

#[cfg(unix)]
fn mode_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(path).ok()?.mode() & 0o7777)
}

#[cfg(unix)]
fn exposure_of_file(path: &Path) -> Option<Exposure> {
    let mode = mode_of(path)? & 0o777;
    match mode {
        _ if mode & 0o044 != 0 => Some(Exposure::Readable { mode }),
        _ if mode & 0o022 != 0 => Some(Exposure::Writable { mode }),
        _ => None,
    }
}

#[cfg(unix)]
fn exposure_of_folder(path: &Path) -> Option<Exposure> {
    /// In a folder with this bit, only the owner of a file can rename or remove it.
    const STICKY: u32 = 0o1000;
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let mode = mode_of(folder)?;
    (mode & 0o022 != 0 && mode & STICKY == 0).then(|| Exposure::Replaceable {
        folder: folder.to_owned(),
        mode,
    })
}

#[cfg(unix)]
fn replaceable(path: &Path) -> Option<Exposure> {
    // A link can be replaced in its own folder, and its target in the target's folder.
    let resolved = std::fs::canonicalize(path).ok()?;
    [path, &resolved].into_iter().find_map(exposure_of_folder)
}

/// Not implemented on this system.
#[cfg(not(unix))]
pub fn changeable(_path: &Path) -> Option<Exposure> {
    None
}

/// Not implemented on this system.
#[cfg(not(unix))]
pub fn reachable(_path: &Path) -> Option<Exposure> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::source::{KeySource, KeySourceError};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// A separate folder for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("strongroom-key-file-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
            Folder(path)
        }

        fn key(&self) -> PathBuf {
            let path = self.0.join("key");
            fs::write(&path, [7; 32]).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn told(path: &Path) -> String {
        let exposed = KeySource::File(path.to_owned()).exposure();
        exposed.map_or_else(String::new, |exposed| exposed.to_string())
    }

    #[test]
    fn a_key_file_open_to_others_is_noticed() {
        let folder = Folder::new("modes");
        let key = folder.key();
        for (mode, danger) in [
            (0o600, ""),
            (0o400, ""),
            (0o640, "can be read"),
            (0o604, "can be read"),
            (0o666, "can be read"),
            (0o620, "can be changed"),
            (0o602, "can be changed"),
        ] {
            fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
            let told = told(&key);
            assert_eq!(told.is_empty(), danger.is_empty(), "{mode:o}: {told}");
            assert!(told.contains(danger), "{mode:o}: {told}");
        }
    }

    #[test]
    fn a_key_file_in_a_folder_open_to_others_is_noticed() {
        let folder = Folder::new("folder");
        let key = folder.key();
        for (mode, replaceable) in [
            (0o700, false),
            (0o755, false),
            (0o770, true),
            (0o702, true),
            (0o1777, false),
        ] {
            fs::set_permissions(&folder.0, Permissions::from_mode(mode)).unwrap();
            let told = told(&key);
            assert_eq!(told.contains("can be replaced"), replaceable, "{mode:o}");
        }
        fs::set_permissions(&folder.0, Permissions::from_mode(0o777)).unwrap();
        let other = Folder::new("link");
        let link = other.0.join("link");
        std::os::unix::fs::symlink(&key, &link).unwrap();
        assert!(told(&link).contains("can be replaced"));
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let folder = Folder::new("kinds");
        let (pipe, socket, link) = ["pipe", "socket", "link"]
            .map(|name| folder.0.join(name))
            .into();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &socket, &folder.0, &PathBuf::from("/dev/zero")] {
            for error in [
                KeySource::File(path.clone()).read_raw_key().map(drop),
                KeySource::File(path.clone()).read_passphrase().map(drop),
            ] {
                let error = error.unwrap_err();
                assert!(matches!(error, KeySourceError::File { .. }), "{error}");
                assert!(error.to_string().contains("not a regular file"), "{error}");
            }
        }
        std::os::unix::fs::symlink(folder.key(), &link).unwrap();
        assert!(KeySource::File(link).read_raw_key().is_ok());
    }
}
