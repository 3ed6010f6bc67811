//! SQLCipher databases as sources of an import.

use crate::database::{Access, FileKind, OpenError, file_kind, last_error, open_uri, uri};
use crate::first_bytes::first_bytes;
use crate::import::ImportError;
use crate::replace::beside;
use crate::uri::FileUri;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use sqlcipher_format::detect::{BEGINNING_SIZE, Known, detect};
use sqlcipher_format::key::{Salt, SourceKey};
use sqlcipher_format::page::PageOpener;
use sqlcipher_format::parameters::Parameters;
use sqlite_linked::{PageSource, PageSourceToken};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Key and parameters of a SQLCipher database.
#[derive(Debug)]
pub struct SqlcipherSource {
    /// The key.
    pub key: SourceKey,
    /// The salt, if neither the file nor the key contains it.
    pub salt: Option<Salt>,
    /// What is known of the parameters.
    pub known: Known,
}

/// The pages of one file, for the VFS.
struct Pages(PageOpener);

impl PageSource for Pages {
    fn page_size(&self) -> u32 {
        self.0.parameters().page_size
    }

    fn open_page(
        &self,
        number: u32,
        stored: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.0.open_page(number, stored, plain)?)
    }
}

/// How often the beginning of a file is reread while a program writes to it.
const READS_MAX: usize = 3;

impl SqlcipherSource {
    /// Detects the parameters of a file.
    pub(super) fn detect(&self, path: &Path) -> Result<(PageSourceToken, Parameters), ImportError> {
        let mut beginning = read_beginning(path)?;
        let candidates = self.known.candidates();
        let mut reads = 1;
        let opener = loop {
            let source = match detect(&self.key, self.salt, &candidates, &beginning) {
                Ok(opener) => break opener,
                Err(source) => source,
            };
            // No lock is held yet, so a page may have been read while it was written.
            let before = std::mem::replace(&mut beginning, read_beginning(path)?);
            if before == beginning || reads == READS_MAX {
                let path = path.to_owned();
                return Err(ImportError::Sqlcipher { path, source });
            }
            reads += 1;
        };
        let parameters = *opener.parameters();
        Ok((PageSourceToken::new(Arc::new(Pages(opener))), parameters))
    }
}

fn read_beginning(path: &Path) -> Result<Vec<u8>, ImportError> {
    match file_kind(path)? {
        FileKind::Missing => return Err(OpenError::Missing(path.to_owned()).into()),
        FileKind::Empty => return Err(OpenError::Empty(path.to_owned()).into()),
        FileKind::Encrypted(_) => return Err(OpenError::Encrypted(path.to_owned()).into()),
        // A file with a plaintext header looks plain.
        FileKind::Plain | FileKind::Other(_) => {}
    }
    Ok(
        first_bytes(path, BEGINNING_SIZE).map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })?,
    )
}

/// The URI under which the VFS presents the file as plain pages.
pub(super) fn name_of(path: &Path, pages: &PageSourceToken) -> Result<FileUri, OpenError> {
    let number = pages.number().to_string();
    Ok(uri(path)?.through_strongroom().with("page_source", &number))
}

/// Opens the file, exclusively if it will be replaced, and reads from it once.
pub(super) fn open(
    path: &Path,
    pages: &PageSourceToken,
    alone: bool,
) -> Result<Connection, ImportError> {
    // The VFS refuses all writes. A connection with write access removes, when it closes, the empty
    // log that it has created.
    let connection = open_uri(path, &name_of(path, pages)?, Access::Write)?;
    if alone {
        let in_place = (|| {
            connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
            // SQLite would remove a log by name, and by then the name belongs to the copy's log.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        })();
        in_place.map_err(|error| read_error(path, &connection, error))?;
    }
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(|error| read_error(path, &connection, error))?;
    Ok(connection)
}

/// Locks the file exclusively; returns whether it is in WAL mode.
pub(super) fn lock_exclusively(path: &Path, connection: &Connection) -> Result<bool, ImportError> {
    let locked = connection
        .execute_batch("BEGIN EXCLUSIVE; COMMIT")
        .and_then(|()| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)));
    let mode: String = locked.map_err(|error| read_error(path, connection, error))?;
    let log = beside(path, "-wal");
    if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return Err(ImportError::LogLeft(path.to_owned()));
    }
    Ok(mode.eq_ignore_ascii_case("wal"))
}

fn read_error(path: &Path, connection: &Connection, source: rusqlite::Error) -> ImportError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        // The only write that reading can require is rolling back a journal.
        Some(ErrorCode::ReadOnly) => ImportError::HotJournal(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            crate::convert::ConvertError::InUse(path).into()
        }
        _ => ImportError::Read {
            path,
            detail: last_error(connection),
            source,
        },
    }
}
