//! The open database of a session: its connection, and the key it was opened with.

use crate::console::Console;
use crate::error::{ShellError, StateError};
use crypto::cipher::Cipher;
use keyring::Credential;
use rusqlite::Connection;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use store::KeyToken;
use store::database::{Access, FileKind, OpenError, file_kind, open_for_key_changes, open_plain};

/// How the session opens databases.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Nothing may be changed.
    pub read_only: bool,
    /// The cipher of a new encrypted database.
    pub cipher: Option<Cipher>,
}

/// An open database, or a locked one.
pub struct Database {
    path: Option<PathBuf>,
    /// Whoever completes a line looks at it too.
    connection: Rc<Connection>,
    token: Option<KeyToken>,
    /// Served by the encrypting VFS.
    through_strongroom: bool,
    /// The cipher for the day it becomes encrypted.
    pub(crate) options: OpenOptions,
}

impl Database {
    /// Opens a file, or a database in memory. An encrypted file without a credential stays
    /// locked; a new or plain file goes through SQLite's ordinary file layer, unless a
    /// credential says that it is to be encrypted.
    ///
    /// # Errors
    /// When the file cannot be opened, the key does not fit, or a key is given for a plain file.
    pub fn open(
        path: Option<&Path>,
        credential: Option<Credential>,
        options: OpenOptions,
    ) -> Result<Self, OpenError> {
        let kind = path.map(file_kind).transpose()?;
        let token = credential.map(KeyToken::new);
        let plain = |access| {
            Ok(Database {
                path: path.map(Path::to_owned),
                connection: Rc::new(open_plain(path, access)?),
                token: None,
                through_strongroom: false,
                options,
            })
        };
        match (path, kind, &token) {
            (Some(path), Some(FileKind::Encrypted(_)), _) => {
                Self::encrypted(path, access(options, Access::Write), token, options)
            }
            (Some(path), Some(FileKind::Missing | FileKind::Empty), Some(_))
                if !options.read_only =>
            {
                Self::encrypted(path, access(options, Access::Create), token, options)
            }
            (Some(path), Some(FileKind::Plain), Some(_)) => Err(OpenError::Header {
                path: path.to_owned(),
                source: page_codec::header::HeaderError::PlainSqlite,
            }),
            (Some(path), Some(FileKind::Other(source)), _) => Err(OpenError::Header {
                path: path.to_owned(),
                source,
            }),
            (Some(path), Some(FileKind::Missing), _) if options.read_only => {
                Err(OpenError::Missing(path.to_owned()))
            }
            _ => plain(access(options, Access::Create)),
        }
    }

    /// Opens through the encrypting VFS.
    pub(crate) fn encrypted(
        path: &Path,
        access: Access,
        token: Option<KeyToken>,
        options: OpenOptions,
    ) -> Result<Self, OpenError> {
        let connection = open_for_key_changes(path, access, token.as_ref(), options.cipher)?;
        Ok(Database {
            path: Some(path.to_owned()),
            connection: Rc::new(connection),
            token,
            through_strongroom: true,
            options,
        })
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connection, to be looked at while the database stays open.
    pub(crate) fn shared_connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// The file; `None` for a database in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The file, for a command that needs one.
    pub(crate) fn file(&self) -> Result<&Path, StateError> {
        self.path.as_deref().ok_or(StateError::InMemory)
    }

    /// What it was opened with, if it was opened with a key.
    pub(crate) fn token(&self) -> Option<&KeyToken> {
        self.token.as_ref()
    }

    /// From now on this credential opens it.
    pub(crate) fn set_token(&mut self, token: KeyToken) {
        self.token = Some(token);
    }

    /// Whether the encrypting VFS serves it.
    pub fn through_strongroom(&self) -> bool {
        self.through_strongroom
    }

    /// Whether it is encrypted and no key has opened it yet.
    pub fn is_locked(&self) -> bool {
        self.through_strongroom
            && store::database::status(&self.connection)
                .is_some_and(|status| status.state == "locked")
    }

    /// Whether SQLite's ordinary file layer serves it.
    pub(crate) fn is_plain_file(&self) -> bool {
        self.path.is_some() && !self.through_strongroom
    }

    /// What a person should hear about a file that is not encrypted, or is not going to be.
    pub fn plain_remark(&self) -> Option<String> {
        let path = self.path.as_ref().filter(|_| self.is_plain_file())?;
        let name = path.display();
        Some(match file_kind(path) {
            Ok(FileKind::Missing | FileKind::Empty) => format!(
                "{name} will be created without encryption; .encrypt first makes it an encrypted \
                 database."
            ),
            _ => format!("{name} is not encrypted; .encrypt makes it so."),
        })
    }

    /// Refuses while something would be lost by opening the file anew.
    pub(crate) fn check_idle(&self) -> Result<(), ShellError> {
        if !self.connection.is_autocommit() {
            return Err(StateError::InTransaction.into());
        }
        if self.is_locked() {
            // Nothing could be asked of it, and nothing is lost.
            return Ok(());
        }
        let others: i64 = self.connection.query_row(
            "SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', 'temp')",
            [],
            |row| row.get(0),
        )?;
        let temporary: i64 =
            self.connection
                .query_row("SELECT count(*) FROM sqlite_temp_schema", [], |row| {
                    row.get(0)
                })?;
        if others + temporary > 0 {
            return Err(StateError::HasAttached.into());
        }
        Ok(())
    }
}

/// A database that was opened, perhaps without its key.
pub struct Opened {
    /// The database.
    pub database: Database,
    /// Why the key was not taken; the database is locked then.
    pub refused: Option<OpenError>,
}

impl From<Database> for Opened {
    fn from(database: Database) -> Self {
        Opened {
            database,
            refused: None,
        }
    }
}

/// Passphrases that a person may try.
const ATTEMPTS: u32 = 3;

/// Asks a person for the passphrase of a locked database, a few times. Without an answer it stays
/// locked.
///
/// # Errors
/// When nobody can be asked, or the file not be opened.
pub fn ask_until_open(
    database: Database,
    path: &Path,
    console: &mut dyn Console,
    messages: &mut dyn Write,
) -> Result<Opened, ShellError> {
    let options = database.options;
    for attempt in 1..=ATTEMPTS {
        if !database.is_locked() {
            break;
        }
        let secret = console
            .ask_secret("Passphrase: ")
            .map_err(ShellError::NoPrompt)?;
        if secret.is_empty() {
            break;
        }
        match Database::open(Some(path), Some(Credential::Passphrase(secret)), options) {
            Ok(opened) => return Ok(opened.into()),
            Err(error @ OpenError::WrongKey { .. }) if attempt < ATTEMPTS => {
                writeln!(messages, "Error: {error}")?;
            }
            Err(error @ OpenError::WrongKey { .. }) => {
                let refused = Some(error);
                return Ok(Opened { database, refused });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(database.into())
}

/// The access that is wanted, unless everything is read-only.
pub(crate) fn access(options: OpenOptions, wanted: Access) -> Access {
    if options.read_only {
        Access::Read
    } else {
        wanted
    }
}
