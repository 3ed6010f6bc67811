//! The session's open database: its connection, and the key it was opened with.

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
    /// Shared with completion.
    connection: Rc<Connection>,
    token: Option<KeyToken>,
    /// Whether the encrypting VFS serves it.
    through_strongroom: bool,
    /// Includes the cipher to use if it becomes encrypted.
    pub(crate) options: OpenOptions,
}

impl Database {
    /// Opens a file, or an in-memory database. An encrypted file without a credential stays locked.
    /// A new or plain file is opened with SQLite's default VFS, unless a credential requests
    /// encryption.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, the key does not open it, or a key is given for a plain file.
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

    /// The shared connection; does not keep the database open.
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

    /// The key that it was opened with, if any.
    pub(crate) fn token(&self) -> Option<&KeyToken> {
        self.token.as_ref()
    }

    /// Records the credential that opens it from now on.
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

    /// Whether SQLite's default VFS serves it.
    pub(crate) fn is_plain_file(&self) -> bool {
        self.path.is_some() && !self.through_strongroom
    }

    /// A remark for the user about a file that is not, or will not be, encrypted.
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

    /// Fails if reopening the file would lose something.
    pub(crate) fn check_idle(&self) -> Result<(), ShellError> {
        if !self.connection.is_autocommit() {
            return Err(StateError::InTransaction.into());
        }
        if self.is_locked() {
            // A locked database has nothing to lose.
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

/// A database that was opened, possibly still locked.
pub struct Opened {
    /// The database.
    pub database: Database,
    /// Why the key was refused; the database is then locked.
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

/// How often a person may try a passphrase.
const ATTEMPTS: u32 = 3;

/// Asks for the passphrase of a locked database, a few times. Without an answer it stays locked.
///
/// # Errors
///
/// If nobody can be asked, or the file cannot be opened.
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

/// The wanted access, reduced to reading in a read-only session.
pub(crate) fn access(options: OpenOptions, wanted: Access) -> Access {
    if options.read_only {
        Access::Read
    } else {
        wanted
    }
}
