//! Errors of copies and conversions.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use thiserror::Error;

use super::size_of;
use crate::database::{OpenError, last_error};
use crate::verify::VerifyError;

/// SQLite's message, without the numeric code.
fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

/// Why a copy was not made. Nothing was changed.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// A database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The destination exists.
    #[error("{0} exists already; choose another name, or say --force to replace it")]
    Exists(PathBuf),
    /// The destination is a folder.
    #[error("{0} is a folder; name the file to make in it")]
    Folder(PathBuf),
    /// The destination is a conventional name for standard output.
    #[error(
        "a database is not written from its beginning to its end, so it cannot go to standard \
         output; name a file, or ./- for one of that name"
    )]
    StandardOutput,
    /// There is no room for the copy.
    #[error(
        "the disk of {path} is full: a copy takes about {} MB; make room there, or name a file on \
         another disk",
        .size.div_ceil(1_000_000)
    )]
    DiskFull {
        /// The destination.
        path: PathBuf,
        /// Bytes of the source.
        size: u64,
    },
    /// Source and destination are one file.
    #[error(
        "source and destination are the same file, {0}; give the copy a name of its own, or use \
         .encrypt in `strongroom shell`, which encrypts in place"
    )]
    SameFile(PathBuf),
    /// A file operation failed.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other connections hold the database.
    #[error("{0} is in use by another program; close it there and try again")]
    InUse(PathBuf),
    /// SQLite could not make the copy.
    #[error("the copy failed: {}", .detail.clone().unwrap_or_else(|| message(.source)))]
    Copy {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: Option<String>,
    },
    /// The copy failed its verification.
    #[error(
        "the copy was thrown away: it does not read back soundly ({0}); check the source with \
         PRAGMA integrity_check"
    )]
    Unsound(String),
    /// The copy could not be read back.
    #[error("the copy was thrown away: {0}")]
    Verify(#[from] VerifyError),
    /// The caller asked to stop.
    #[error("stopped; the copy was thrown away")]
    Stopped,
    /// SQLite does not support this page size.
    #[error("{0} is no page size: it is a power of two from 512 to 65536")]
    PageSize(u32),
}

pub(crate) fn file_error(path: &Path, source: io::Error) -> ConvertError {
    ConvertError::File {
        path: path.to_owned(),
        source,
    }
}

/// Makes a copy; if the disk is full, the error names the destination.
pub(crate) fn with_room<T>(
    target: &Path,
    connection: &Connection,
    schema: &str,
    copy: impl FnOnce() -> Result<T, ConvertError>,
) -> Result<T, ConvertError> {
    copy().or_else(|error| match error {
        ConvertError::Copy { source, .. }
            if source.sqlite_error_code() == Some(ErrorCode::DiskFull) =>
        {
            let path = target.to_owned();
            let size = size_of(connection, schema)?;
            Err(ConvertError::DiskFull { path, size })
        }
        other => Err(other),
    })
}

pub(crate) fn copy_error(connection: &Connection, source: rusqlite::Error) -> ConvertError {
    ConvertError::Copy {
        detail: last_error(connection),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_full_disk_names_the_copy_and_its_size() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(3000000))")
            .unwrap();
        let full = Connection::open_in_memory().unwrap();
        let copied = with_room(Path::new("there/copy.db"), &connection, "main", || {
            full.execute_batch("PRAGMA max_page_count = 2; CREATE TABLE t(a)")
                .and_then(|()| full.execute_batch("INSERT INTO t VALUES(zeroblob(100000))"))
                .map_err(|error| copy_error(&full, error))
        });
        assert_eq!(
            copied.unwrap_err().to_string(),
            "the disk of there/copy.db is full: a copy takes about 4 MB; make room there, or name \
             a file on another disk"
        );
    }
}
