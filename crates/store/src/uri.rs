//! Paths as SQLite URI file names (<https://www.sqlite.org/uri.html>).

use std::io;
use std::path::Path;

/// The VFS that encrypts.
const STRONGROOM_VFS: &str = "strongroom";

/// Builds a URI file name.
pub(crate) struct FileUri(String);

impl FileUri {
    /// The URI of a path, which is made absolute so that no part of it is parsed as an authority.
    ///
    /// # Errors
    ///
    /// If the current directory is unknown or the path is empty.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut uri = "file://".to_owned();
        if cfg!(windows) {
            uri.push('/');
        }
        for byte in path_bytes(&path) {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    uri.push(char::from(byte));
                }
                b'\\' | b':' if cfg!(windows) => {
                    uri.push(if byte == b':' { ':' } else { '/' });
                }
                _ => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        Ok(FileUri(uri))
    }

    /// Selects the encrypting VFS for the file.
    pub(crate) fn through_strongroom(self) -> Self {
        self.with("vfs", STRONGROOM_VFS)
    }

    /// Adds a parameter. Names and values must contain only letters, digits, `-` and `_`.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0.push_str(&format!("{name}={value}"));
        self
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rusqlite::{Connection, OpenFlags};

    #[test]
    fn every_character_of_a_name_survives() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a b.db", "50%.db", "a?b=c&d#e.db", "ü'\".db", "file:x.db"] {
            let path = directory.path().join(name);
            let uri = FileUri::new(&path).unwrap();
            let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(uri.as_str(), flags).unwrap();
            connection.execute_batch("CREATE TABLE t(a)").unwrap();
            assert!(path.exists(), "{name}");
        }
    }

    #[test]
    fn parameters_follow_the_path() {
        let uri = FileUri::new(Path::new("/x?y"))
            .unwrap()
            .through_strongroom()
            .with("key_token", "3");
        assert_eq!(uri.as_str(), "file:///x%3Fy?vfs=strongroom&key_token=3");
        assert_eq!(
            FileUri::new(Path::new("//x")).unwrap().as_str(),
            "file:////x"
        );
    }
}
