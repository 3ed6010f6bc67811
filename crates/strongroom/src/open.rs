//! Opening a database with a key.

use std::path::{Path, PathBuf};

use crypto::cipher::Cipher;
use crypto::secret::Key;
use keyring::Credential;
use keyring::source::{KeySource, KeySourceError};
use rusqlite::Connection;
use store::KeyToken;
use store::database::{Access, OpenError, open_encrypted, open_for_key_changes, status};
use thiserror::Error;

/// Why a database was not opened.
#[derive(Debug, Error)]
pub enum Error {
    /// No key was named.
    #[error(
        "no key was given: name one by key_file, passphrase_file, passphrase or key; a database \
         without encryption is opened by rusqlite itself"
    )]
    NoKey,
    /// More than one key was named.
    #[error("more than one key was given; give one")]
    SeveralKeys,
    /// To be created, and not to be written.
    #[error("a database cannot be created read-only; leave out create or read_only")]
    CreateReadOnly,
    /// The file that holds the key or passphrase could not be read, or holds none.
    #[error(transparent)]
    Key(#[from] KeySourceError),
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Opens an encrypted database that exists, for reading and writing.
///
/// # Errors
/// When the file does not exist, cannot be opened, or does not open with this key.
pub fn open(path: impl AsRef<Path>, credential: Credential) -> Result<Connection, Error> {
    OpenOptions::new().credential(credential).open(path)
}

/// How a database is to be opened; one key has to be named.
///
/// It may be used several times, for example by a pool of connections.
#[derive(Debug, Default)]
#[must_use]
pub struct OpenOptions {
    secrets: Vec<Secret>,
    cipher: Option<Cipher>,
    create: bool,
    read_only: bool,
    keys_in_sql: bool,
}

#[derive(Debug)]
enum Secret {
    Held(Credential),
    KeyFile(PathBuf),
    PassphraseFile(PathBuf),
}

impl OpenOptions {
    /// No key yet; a file that exists, for reading and writing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A key in a file: 32 bytes, or 64 hexadecimal digits. It is read when a database is opened.
    pub fn key_file(self, path: impl Into<PathBuf>) -> Self {
        self.secret(Secret::KeyFile(path.into()))
    }

    /// A passphrase in a file, without one closing line end.
    pub fn passphrase_file(self, path: impl Into<PathBuf>) -> Self {
        self.secret(Secret::PassphraseFile(path.into()))
    }

    /// A passphrase. What is handed over as a `String` or `Vec` is wiped; who hands over a
    /// reference wipes his own.
    pub fn passphrase(self, passphrase: impl Into<Vec<u8>>) -> Self {
        self.credential(Credential::passphrase(passphrase))
    }

    /// A 256-bit key.
    pub fn key(self, key: Key) -> Self {
        self.credential(Credential::raw_key(key))
    }

    /// A passphrase or a key.
    pub fn credential(self, credential: Credential) -> Self {
        self.secret(Secret::Held(credential))
    }

    /// The cipher of a new database; of one that exists it stands in the file.
    pub fn cipher(mut self, cipher: Cipher) -> Self {
        self.cipher = Some(cipher);
        self
    }

    /// Whether a file that does not exist, or is empty, becomes a new database. Without this it is
    /// an error: a database that was there yesterday is not silently begun anew.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether nothing may be written.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether `PRAGMA rekey`, `strongroom_key_add` and `strongroom_key_remove` may change keys.
    /// Without this they are refused, whatever the environment says: injected SQL could lock the
    /// owner out by them, and SQLite carries them out under `EXPLAIN` too.
    pub fn keys_in_sql(mut self, keys_in_sql: bool) -> Self {
        self.keys_in_sql = keys_in_sql;
        self
    }

    /// Opens a database.
    ///
    /// A new one is on disk with its first write. A passphrase takes about 0.2 s and 64 MiB for
    /// the first connection of a process to a file; those after it take nothing to speak of.
    ///
    /// # Errors
    /// When not exactly one key was named, the key or the file cannot be read, the file does not
    /// exist and is not to be created, or it does not open with this key.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Connection, Error> {
        let path = path.as_ref();
        let access = self.access()?;
        let token = KeyToken::new(self.read_key()?);
        let open = match self.keys_in_sql {
            true => open_for_key_changes,
            false => open_encrypted,
        };
        let connection = open(path, access, Some(&token), self.cipher)?;
        let is_new = status(&connection).is_some_and(|status| status.state == "new");
        if is_new && !self.create {
            return Err(OpenError::Empty(path.to_owned()).into());
        }
        Ok(connection)
    }

    fn secret(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    fn access(&self) -> Result<Access, Error> {
        match (self.create, self.read_only) {
            (true, true) => Err(Error::CreateReadOnly),
            (true, false) => Ok(Access::Create),
            (false, false) => Ok(Access::Write),
            (false, true) => Ok(Access::Read),
        }
    }

    fn read_key(&self) -> Result<Credential, Error> {
        let file = |path: &PathBuf| KeySource::File(path.clone());
        match self.secrets.as_slice() {
            [] => Err(Error::NoKey),
            [Secret::Held(credential)] => Ok(credential.duplicate()),
            [Secret::KeyFile(path)] => Ok(Credential::key_file(file(path).read_raw_key()?)),
            [Secret::PassphraseFile(path)] => {
                Ok(Credential::Passphrase(file(path).read_passphrase()?))
            }
            _ => Err(Error::SeveralKeys),
        }
    }
}
