//! Import of databases from SQLCipher and plain SQLite into encrypted ones.
//!
//! SQLite itself makes the copy, from pages that the VFS decrypts on the fly, so no plaintext
//! reaches the disk. The copy is made beside its destination. Every page of it is opened, its
//! structure is checked, and the rows of each table are counted in both databases; then it is
//! renamed.

mod compare;
mod original;
mod sqlcipher;

use crate::KeyToken;
use crate::convert::{
    ConvertError, EncryptOptions, Overwrite, Source, attached, check_names, copy_error,
    encrypted_beside, file_error, lock_exclusively, open_existing_plain, put_in_place,
    remove_remains, settle,
};
use crate::database::{Access, OpenError, file_kind, open_encrypted, uri};
use crate::progress::Progress;
use crate::replace::{FileBeside, copy_permissions};
use rusqlite::Connection;
use sqlcipher_format::detect::DetectError;
use sqlcipher_format::parameters::Parameters;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub(crate) use original::KEPT;
pub use sqlcipher::SqlcipherSource;

/// The format of the source.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// SQLite itself.
    Plain,
    /// SQLCipher.
    Sqlcipher(&'a SqlcipherSource),
}

/// What happens to the original when the copy takes its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// It is kept, with `.before-import` appended to its name.
    Keep,
    /// It is removed after the copy was verified and synced.
    Remove,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The source's parameters, if it is from SQLCipher.
    pub parameters: Option<Parameters>,
    /// The number of tables compared.
    pub tables: u64,
    /// The number of rows in all of them.
    pub rows: u64,
    /// The path of the original, if it was kept under another name.
    pub original: Option<PathBuf>,
}

/// Why nothing was imported. Source and destination are unchanged.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The copy could not be made.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The key or the parameters are wrong, or the file is not from SQLCipher.
    #[error("{path}: {source}")]
    Sqlcipher {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: DetectError,
    },
    /// The source cannot be read.
    #[error("cannot read {path}: {}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Read {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: Option<String>,
    },
    /// The source has a hot journal.
    #[error(
        "{0} has a journal of a transaction that was interrupted: it must be rolled back by the \
         program that wrote it; open it once with SQLCipher, read from it, close it, and import \
         again"
    )]
    HotJournal(PathBuf),
    /// The log has content, and the database is to be replaced.
    #[error(
        "{0} has a write-ahead log with content; before it is replaced in place, open it once with \
         SQLCipher and run PRAGMA wal_checkpoint(TRUNCATE), or import it into another file, which \
         reads the log too"
    )]
    LogLeft(PathBuf),
    /// The database depends on extensions that this SQLite lacks.
    #[error(
        "the copy failed: {0}. The database relies on something that only the program which made \
         it defines. Let that program make a copy without it, or drop it there, and import again"
    )]
    Needs(String),
    /// Another connection committed a transaction meanwhile.
    #[error(
        "{0} was changed while it was copied, so the rows cannot be compared; import it again when \
         no program writes to it"
    )]
    Changed(PathBuf),
    /// The copy's rows differ from the source's.
    #[error(
        "the copy was thrown away: table {table} has {copied} rows there, and {source_rows} in the \
         source; check the source with PRAGMA integrity_check"
    )]
    Rows {
        /// The table.
        table: String,
        /// Rows in the copy.
        copied: i64,
        /// Rows in the source.
        source_rows: i64,
    },
    /// The name for keeping the original is taken.
    #[error("{0} exists already; move it away, or say --remove-original")]
    Kept(PathBuf),
    /// The original could not be renamed.
    #[error(
        "cannot keep the original as {path}: {source}; import into another file, or say \
         --remove-original"
    )]
    Keep {
        /// The new name.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Imports a database into a new encrypted file. The source may be in use.
///
/// # Errors
///
/// If the source cannot be read, the copy cannot be written, or its equality cannot be proven;
/// nothing is changed then.
pub fn import_copy(
    source: &Path,
    form: Form,
    target: &Path,
    token: &KeyToken,
    options: EncryptOptions,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<Imported, ImportError> {
    check_names(source, target, overwrite)?;
    let import = Import {
        path: source,
        token,
        options,
        progress,
    };
    let opened = import.open(form, false)?;
    let (beside, imported) = import.copy(&opened, target)?;
    settle(beside, target, overwrite)?;
    Ok(imported)
}

/// Imports a database and replaces it with the copy, under an exclusive lock.
///
/// # Errors
///
/// As for [`import_copy`], and if another program has the source open.
pub fn import_in_place(
    path: &Path,
    form: Form,
    token: &KeyToken,
    options: EncryptOptions,
    original: Original,
    progress: &Progress,
) -> Result<Imported, ImportError> {
    file_kind_of_existing(path)?;
    // A symbolic link is kept: its target is replaced.
    let path = &fs::canonicalize(path).map_err(|source| file_error(path, source))?;
    let import = Import {
        path,
        token,
        options: EncryptOptions {
            page_size: None,
            ..options
        },
        progress,
    };
    let kept = original::name_for(path, original)?;
    let mut opened = import.open(form, true)?;
    opened.was_wal = match form {
        Form::Plain => {
            lock_exclusively(path, &opened.source.connection)?.eq_ignore_ascii_case("wal")
        }
        Form::Sqlcipher(_) => sqlcipher::lock_exclusively(path, &opened.source.connection)?,
    };
    let (beside, mut imported) = import.copy(&opened, path)?;
    if let Some(kept) = &kept {
        original::keep(path, kept)?;
    }
    let replaced =
        remove_remains(path).and_then(|()| put_in_place(beside, path, Overwrite::Always));
    if let Err(error) = replaced {
        // The original still has its name, so a second name would be misleading.
        kept.iter().for_each(|kept| drop(fs::remove_file(kept)));
        return Err(error.into());
    }
    imported.original = kept;
    Ok(imported)
}

/// What all steps of an import share.
struct Import<'a> {
    path: &'a Path,
    token: &'a KeyToken,
    options: EncryptOptions,
    progress: &'a Progress,
}

/// An open source. The connection is dropped before the page source it reads through.
struct Opened {
    source: Source,
    parameters: Option<Parameters>,
    was_wal: bool,
    _pages: Option<sqlite_linked::PageSourceToken>,
}

impl Import<'_> {
    fn open(&self, form: Form, alone: bool) -> Result<Opened, ImportError> {
        let mut opened = match form {
            Form::Plain => {
                // Reports a problem with the file before anything is attached.
                let connection = open_existing_plain(self.path)?;
                let source = self.source(connection, || Ok(uri(self.path)?))?;
                Opened {
                    source,
                    parameters: None,
                    was_wal: false,
                    _pages: None,
                }
            }
            Form::Sqlcipher(sqlcipher) => {
                let (pages, parameters) = sqlcipher.detect(self.path)?;
                let connection = sqlcipher::open(self.path, &pages, alone)?;
                let name = || Ok(sqlcipher::name_of(self.path, &pages)?);
                Opened {
                    source: self.source(connection, name)?,
                    parameters: Some(parameters),
                    was_wal: false,
                    _pages: Some(pages),
                }
            }
        };
        let Source { connection, schema } = &opened.source;
        let mode: String = connection
            .query_row(&format!("PRAGMA {schema}.journal_mode"), [], |row| {
                row.get(0)
            })
            .map_err(|error| self.read_error(connection, error))?;
        opened.was_wal = mode.eq_ignore_ascii_case("wal");
        Ok(opened)
    }

    /// The source itself, or attached to a connection whose copies get another page size.
    fn source(
        &self,
        connection: Connection,
        name: impl FnOnce() -> Result<crate::uri::FileUri, ImportError>,
    ) -> Result<Source, ImportError> {
        match self.options.page_size {
            None => Ok(Source {
                connection,
                schema: "main",
            }),
            Some(page_size) => Ok(attached(&connection, &name()?, page_size)?),
        }
    }

    /// Makes the copy beside its destination and proves it equal.
    fn copy(&self, opened: &Opened, target: &Path) -> Result<(FileBeside, Imported), ImportError> {
        let Source { connection, schema } = &opened.source;
        let read_error = |error| self.read_error(connection, error);
        let version = compare::data_version(connection, schema).map_err(read_error)?;
        let cipher = self.options.cipher;
        let beside = encrypted_beside(&opened.source, target, self.token, cipher, self.progress)
            .map_err(explain)?;
        let path = beside.path();
        let copy = open_encrypted(path, Access::Write, Some(self.token), None)?;
        compare::check_whole(&copy).map_err(explain)?;
        let counts = compare::count_rows(connection, schema).map_err(read_error)?;
        match counts.expect_same(&copy) {
            // The rows were counted in a later state of the source than the copy's.
            Err(_) if counts.data_version != version => {
                return Err(ImportError::Changed(self.path.to_owned()));
            }
            compared => compared?,
        }
        if opened.was_wal {
            copy.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
                .map_err(|source| copy_error(&copy, source))?;
        }
        // Also removes the log of the copy.
        copy.close()
            .map_err(|(copy, source)| copy_error(&copy, source))?;
        copy_permissions(self.path, path).map_err(|source| file_error(target, source))?;
        let imported = Imported {
            parameters: opened.parameters,
            tables: counts.tables(),
            rows: counts.rows(),
            original: None,
        };
        Ok((beside, imported))
    }

    fn read_error(&self, connection: &Connection, source: rusqlite::Error) -> ImportError {
        ImportError::Read {
            path: self.path.to_owned(),
            detail: crate::database::last_error(connection),
            source,
        }
    }
}

/// Fails if the file does not exist, before its path is resolved.
fn file_kind_of_existing(path: &Path) -> Result<(), ImportError> {
    match file_kind(path)? {
        crate::database::FileKind::Missing => Err(OpenError::Missing(path.to_owned()).into()),
        _ => Ok(()),
    }
}

/// SQLite's messages for missing extensions; there is no error code for them.
const LACKS: [&str; 4] = [
    "no such collation sequence",
    "no such module",
    "no such function",
    "no such tokenizer",
];

fn explain(error: ConvertError) -> ImportError {
    match &error {
        ConvertError::Copy { source, .. } => {
            let text = source.to_string();
            match LACKS.iter().find_map(|lack| text.find(lack)) {
                Some(begin) => ImportError::Needs(text[begin..].to_owned()),
                None => error.into(),
            }
        }
        _ => error.into(),
    }
}
