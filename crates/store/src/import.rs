//! Databases of other programs into encrypted ones: from SQLCipher, and from plain SQLite.
//!
//! SQLite itself makes the copy, from pages that the VFS opens on the way: nothing plain reaches
//! the disk. The copy is made beside its destination, every page of it is opened, its structure
//! is checked, and the rows of each table are counted in both; then it gets its name.

mod compare;
mod original;
mod sqlcipher;

use crate::KeyToken;
use crate::convert::{
    ConvertError, EncryptOptions, Overwrite, Source, attached, check_names, copy_error,
    encrypted_beside, file_error, lock_exclusively, open_existing_plain, settle,
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

/// What wrote the source.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// SQLite itself.
    Plain,
    /// SQLCipher.
    Sqlcipher(&'a SqlcipherSource),
}

/// What becomes of the original, when the copy takes its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// It is kept, under its name and `.before-import`.
    Keep,
    /// It is removed, once the copy is verified and synced.
    Remove,
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// How SQLCipher had written the source.
    pub parameters: Option<Parameters>,
    /// Tables that were compared.
    pub tables: u64,
    /// Rows in all of them.
    pub rows: u64,
    /// Where the original is, if it was kept under another name.
    pub original: Option<PathBuf>,
}

/// Why nothing was imported. Source and destination are as before.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The copy could not be made.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The key or the parameters do not fit, or the file is none of SQLCipher's.
    #[error("{path}: {source}")]
    Sqlcipher {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: DetectError,
    },
    /// The source cannot be read.
    #[error("cannot read {path}: {}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Read {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
        /// What the storage engine said.
        detail: Option<String>,
    },
    /// A transaction was never finished.
    #[error(
        "{0} has a journal of a transaction that was interrupted: it must be rolled back by the \
         program that wrote it; open it once with SQLCipher, read from it, close it, and import \
         again"
    )]
    HotJournal(PathBuf),
    /// Some of the content is in the log, and the database is to be replaced.
    #[error(
        "{0} has a write-ahead log with content; before it is replaced in place, open it once with \
         SQLCipher and run PRAGMA wal_checkpoint(TRUNCATE), or import it into another file, which \
         reads the log too"
    )]
    LogLeft(PathBuf),
    /// The database needs more than SQLite.
    #[error(
        "the copy failed: {0}. The database relies on something that only the program which made \
         it defines. Let that program make a copy without it, or drop it there, and import again"
    )]
    Needs(String),
    /// A transaction was committed meanwhile.
    #[error(
        "{0} was changed while it was copied, so the rows cannot be compared; import it again when \
         no program writes to it"
    )]
    Changed(PathBuf),
    /// The copy has other rows than the source.
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
    /// The name under which the original would be kept is taken.
    #[error("{0} exists already; move it away, or say --remove-original")]
    Kept(PathBuf),
    /// The original could not be kept.
    #[error(
        "cannot keep the original as {path}: {source}; import into another file, or say \
         --remove-original"
    )]
    Keep {
        /// Where it was to be kept.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Imports a database into a new encrypted file. The source may be in use.
///
/// # Errors
/// When the source cannot be read, or the copy not be written or not be proven equal; nothing is
/// changed then.
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

/// Imports a database and gives the copy its name, under an exclusive lock.
///
/// # Errors
/// As [`import_copy`], and when another program has the source open.
pub fn import_in_place(
    path: &Path,
    form: Form,
    token: &KeyToken,
    options: EncryptOptions,
    original: Original,
    progress: &Progress,
) -> Result<Imported, ImportError> {
    file_kind_of_existing(path)?;
    // A link stays a link: what it points to is replaced.
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
    original::remove_remains(path);
    if let Err(error) = settle(beside, path, Overwrite::Always) {
        // The original has its name still; that it has a second one would mislead.
        kept.iter().for_each(|kept| drop(fs::remove_file(kept)));
        return Err(error.into());
    }
    imported.original = kept;
    Ok(imported)
}

/// What all steps of an import know.
struct Import<'a> {
    path: &'a Path,
    token: &'a KeyToken,
    options: EncryptOptions,
    progress: &'a Progress,
}

/// An open source. The connection ends before what it reads through.
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
                // Says what is wrong with the file before anything is attached.
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

    /// The source as it is, or attached to a connection whose copies get pages of another size.
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
            // The copy is one state of the source; the rows are those of a later one.
            Err(_) if counts.data_version != version => {
                return Err(ImportError::Changed(self.path.to_owned()));
            }
            compared => compared?,
        }
        if opened.was_wal {
            copy.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
                .map_err(|source| copy_error(&copy, source))?;
        }
        // Takes the log of the copy with it.
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

/// Fails where there is no file, before its path is made out.
fn file_kind_of_existing(path: &Path) -> Result<(), ImportError> {
    match file_kind(path)? {
        crate::database::FileKind::Missing => Err(OpenError::Missing(path.to_owned()).into()),
        _ => Ok(()),
    }
}

/// What SQLite says when a database needs what it does not have; it has no code for it.
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
