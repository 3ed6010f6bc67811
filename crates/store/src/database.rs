//! Detection of file kinds, and opening of databases.

use crate::KeyToken;
use crate::first_bytes::first_bytes;
use crate::replace::folder_of;
use crate::uri::FileUri;
use crypto::cipher::Cipher;
use page_codec::header::{HeaderError, HeaderRegion, REGION_SIZE};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a database could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file could not be examined.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not exist, and must not be created.
    #[error("there is no file {0}; check the name")]
    Missing(PathBuf),
    /// The file is empty, and content was expected.
    #[error("{0} is empty: there is no database in it yet")]
    Empty(PathBuf),
    /// An encrypted database was expected.
    #[error("{path}: {source}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first bytes.
        source: HeaderError,
    },
    /// A plain database was expected.
    #[error("{0} is encrypted already")]
    Encrypted(PathBuf),
    /// The encrypting VFS could not be registered.
    #[error("the encrypting file layer did not start: {0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The key does not open the file.
    #[error("{path}: {message}")]
    WrongKey {
        /// The file.
        path: PathBuf,
        /// The storage engine's message.
        message: String,
    },
    /// The file is not an encrypted database, or is one that cannot be used.
    #[error("{path}: {message}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The storage engine's message.
        message: String,
    },
    /// The folder for a new file does not exist.
    #[error("cannot open {path}: there is no folder {folder}; make it, or check the name")]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The missing folder.
        folder: PathBuf,
    },
    /// The operating system refuses to open the file.
    #[error(
        "cannot open {0}: the system refuses; check that it is a file, and the permissions of it \
         and of its folder"
    )]
    Refused(PathBuf),
    /// SQLite could not open or read the file.
    #[error("{path}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

/// The access that is requested to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and write; the file is created if it does not exist.
    Create,
    /// Read and write an existing file.
    Write,
    /// Read only.
    Read,
}

impl Access {
    fn flags(self) -> OpenFlags {
        let access = match self {
            Access::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        access | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }
}

/// The kind of a file, from its first bytes.
#[derive(Debug)]
pub enum FileKind {
    /// There is no file.
    Missing,
    /// An empty file, which SQLite treats as a new database.
    Empty,
    /// A plain SQLite database.
    Plain,
    /// An encrypted database with a readable header.
    Encrypted(Box<HeaderRegion>),
    /// None of these; the error says why.
    Other(HeaderError),
}

/// Determines the kind of a file from its first bytes.
///
/// # Errors
///
/// If the file exists and cannot be read.
pub fn file_kind(path: &Path) -> Result<FileKind, OpenError> {
    let failed = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let region = match first_bytes(path, REGION_SIZE) {
        Ok(region) => region,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileKind::Missing),
        Err(error) => return Err(failed(error)),
    };
    if region.is_empty() {
        return Ok(FileKind::Empty);
    }
    Ok(match HeaderRegion::parse(&region) {
        Ok(region) => FileKind::Encrypted(Box::new(region)),
        Err(HeaderError::PlainSqlite) => FileKind::Plain,
        Err(error) => FileKind::Other(error),
    })
}

/// Fails unless the file is an encrypted database.
pub(crate) fn expect_encrypted(path: &Path) -> Result<(), OpenError> {
    let path = path.to_owned();
    Err(match file_kind(&path)? {
        FileKind::Encrypted(_) => return Ok(()),
        FileKind::Missing => OpenError::Missing(path),
        FileKind::Empty => OpenError::Empty(path),
        FileKind::Plain => OpenError::Header {
            path,
            source: HeaderError::PlainSqlite,
        },
        FileKind::Other(source) => OpenError::Header { path, source },
    })
}

/// Opens a database through SQLite's default VFS; `None` as path means an in-memory database.
///
/// # Errors
///
/// If SQLite cannot open the file.
pub fn open_plain(path: Option<&Path>, access: Access) -> Result<Connection, OpenError> {
    register()?;
    let Some(path) = path else {
        let in_memory = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_in_memory_with_flags(Access::Create.flags())?;
            // SQLite opens temporary files with the VFS of the main database. The default VFS would
            // not seal content of an encrypted database that is attached.
            connection.execute_batch("PRAGMA temp_store=MEMORY")?;
            Ok(connection)
        };
        return in_memory().map_err(|source| OpenError::Sqlite {
            path: PathBuf::from(":memory:"),
            source,
        });
    };
    open(path, &plain_uri(path)?, access)
}

/// The URI of a plain database, opened through the encrypting VFS so that its temporary files are
/// sealed.
pub(crate) fn plain_uri(path: &Path) -> Result<FileUri, OpenError> {
    Ok(uri(path)?.through_strongroom().with("plain", "on"))
}

/// Opens an encrypted database, or creates one. Without a token it stays locked until `PRAGMA key`;
/// with one, the key is tried at once. SQL cannot change its keys, because injected SQL could lock
/// the owner out.
///
/// # Errors
///
/// If the file cannot be opened or the key does not open it.
pub fn open_encrypted(
    path: &Path,
    access: Access,
    token: Option<&KeyToken>,
    cipher: Option<Cipher>,
) -> Result<Connection, OpenError> {
    open_keyed(path, access, token, cipher, "off")
}

/// Like [`open_encrypted`], for a connection that changes keys, regardless of the environment's
/// setting for keys in SQL. The changes come from this program's own pragmas, or from a person who
/// types SQL.
///
/// # Errors
///
/// As for [`open_encrypted`].
pub fn open_for_key_changes(
    path: &Path,
    access: Access,
    token: Option<&KeyToken>,
    cipher: Option<Cipher>,
) -> Result<Connection, OpenError> {
    open_keyed(path, access, token, cipher, "on")
}

fn open_keyed(
    path: &Path,
    access: Access,
    token: Option<&KeyToken>,
    cipher: Option<Cipher>,
    keys_in_sql: &str,
) -> Result<Connection, OpenError> {
    register()?;
    let uri = encrypted_uri(path, token, cipher)?.with("keys_in_sql", keys_in_sql);
    let connection = open(path, &uri, access)?;
    if token.is_some() {
        try_key(path, &connection)?;
    }
    Ok(connection)
}

/// Opens an encrypted database for verification only, without a memory map: if the disk fails or
/// the file is truncated, a system call returns an error, whereas a map would crash the process.
pub(crate) fn open_for_check(
    path: &Path,
    access: Access,
    token: &KeyToken,
) -> Result<Connection, OpenError> {
    register()?;
    let uri = encrypted_uri(path, Some(token), None)?.with("mmap", "off");
    let connection = open(path, &uri, access)?;
    try_key(path, &connection)?;
    Ok(connection)
}

/// The URI of an encrypted database.
pub(crate) fn encrypted_uri(
    path: &Path,
    token: Option<&KeyToken>,
    cipher: Option<Cipher>,
) -> Result<FileUri, OpenError> {
    let mut uri = uri(path)?.through_strongroom();
    if let Some(token) = token {
        uri = uri.with("key_token", &token.number().to_string());
    }
    if let Some(cipher) = cipher {
        uri = uri.with("cipher", cipher.name());
    }
    Ok(uri)
}

/// The URI of a plain database.
pub(crate) fn uri(path: &Path) -> Result<FileUri, OpenError> {
    FileUri::new(path).map_err(|source| OpenError::File {
        path: path.to_owned(),
        source,
    })
}

/// Opens a database by a URI for the VFS.
pub(crate) fn open_uri(
    path: &Path,
    uri: &FileUri,
    access: Access,
) -> Result<Connection, OpenError> {
    register()?;
    open(path, uri, access)
}

fn open(path: &Path, uri: &FileUri, access: Access) -> Result<Connection, OpenError> {
    Connection::open_with_flags(uri.as_str(), access.flags())
        .map_err(|source| open_error(path, access, source))
}

/// SQLite's own message for a file that cannot be opened contains the URI and no reason.
fn open_error(path: &Path, access: Access, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    if source.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return OpenError::Sqlite { path, source };
    }
    match folder_of(&path) {
        folder if folder.is_dir() && access != Access::Create && !path.exists() => {
            OpenError::Missing(path)
        }
        folder if folder.is_dir() => OpenError::Refused(path),
        folder => OpenError::NoFolder { path, folder },
    }
}

fn register() -> Result<(), OpenError> {
    sqlite_linked::register()
        .map(drop)
        .map_err(|error| OpenError::Engine(Box::new(error)))
}

/// Checks whether the key opened the header. Reads no page, so that a damaged page does not prevent
/// a verification.
fn try_key(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let path = path.to_owned();
    let message = || last_error(connection).unwrap_or_else(|| "it does not open".to_owned());
    match status(connection).map(|status| status.state).as_deref() {
        Some("encrypted" | "new") => Ok(()),
        Some("locked") => Err(OpenError::WrongKey {
            path,
            message: message(),
        }),
        _ => Err(OpenError::Unusable {
            path,
            message: message(),
        }),
    }
}

/// The storage engine's message for the last failure on an encrypted database.
pub fn last_error(connection: &Connection) -> Option<String> {
    let text: Option<String> = connection
        .query_row("PRAGMA strongroom_last_error", [], |row| row.get(0))
        .ok()?;
    text.filter(|text| !text.is_empty())
}

/// The result of `PRAGMA strongroom_status` for an open database.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Status {
    /// `encrypted`, `plain`, `new` or `locked`.
    pub state: String,
    /// The cipher, once it is chosen.
    #[serde(default)]
    pub cipher: Option<String>,
}

/// The state of an open database; `None` if the encrypting VFS does not serve it.
pub fn status(connection: &Connection) -> Option<Status> {
    let json: String = connection
        .query_row("PRAGMA strongroom_status", [], |row| row.get(0))
        .ok()?;
    serde_json::from_str(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_cannot_be_opened_is_named_once_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none/x.db");
        let error = open_plain(Some(&path), Access::Create).unwrap_err();
        assert!(matches!(error, OpenError::NoFolder { .. }), "{error}");
        let text = error.to_string();
        assert_eq!(text.matches("x.db").count(), 1, "{text}");
        let missing = directory.path().join("x.db");
        let error = open_plain(Some(&missing), Access::Write).unwrap_err();
        assert!(matches!(error, OpenError::Missing(_)), "{error}");
        let error = open_plain(Some(directory.path()), Access::Create).unwrap_err();
        assert!(matches!(error, OpenError::Refused(_)), "{error}");
    }

    #[test]
    fn the_first_bytes_identify_the_kind_of_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert!(matches!(
            file_kind(&path("none")).unwrap(),
            FileKind::Missing
        ));
        fs::write(path("empty"), b"").unwrap();
        assert!(matches!(
            file_kind(&path("empty")).unwrap(),
            FileKind::Empty
        ));
        fs::write(path("text"), b"hello").unwrap();
        assert!(matches!(
            file_kind(&path("text")).unwrap(),
            FileKind::Other(HeaderError::NotStrongroom)
        ));
        let connection = Connection::open(path("plain")).unwrap();
        connection.execute_batch("CREATE TABLE t(a)").unwrap();
        assert!(matches!(
            file_kind(&path("plain")).unwrap(),
            FileKind::Plain
        ));
        fs::write(path("damaged"), page_codec::header::MAGIC).unwrap();
        assert!(matches!(
            file_kind(&path("damaged")).unwrap(),
            FileKind::Other(HeaderError::Damaged)
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn looking_at_a_file_leaves_the_locks_of_open_connections() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let connection = open_plain(Some(&path), Access::Create).unwrap();
        connection
            .execute_batch("CREATE TABLE t(a); BEGIN IMMEDIATE")
            .unwrap();
        let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
        let is_locked = || {
            let locks = fs::read_to_string("/proc/locks").unwrap();
            locks
                .lines()
                .any(|line| line.contains(&inode) && line.contains("WRITE"))
        };
        assert!(is_locked(), "no lock to lose");
        for look in ["first", "second"] {
            assert!(matches!(file_kind(&path).unwrap(), FileKind::Plain));
            assert!(is_locked(), "gone after the {look} look");
        }
        connection.execute_batch("COMMIT").unwrap();
        assert!(!is_locked());
    }
}
