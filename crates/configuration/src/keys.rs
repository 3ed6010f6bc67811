//! Where the column root key and passwords are, and how they are read.

use std::io::ErrorKind;
use std::path::PathBuf;

use crypto::secret::SecretBytes;
use keyring::source::{KeySource, KeySourceError};
use serde::Deserialize;
use session_core::Root;

/// `[keys]`: exactly one of the sources.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysConfig {
    /// A file of `strongroom columns create-key`.
    pub file: Option<PathBuf>,
    /// A variable of the environment.
    pub environment: Option<String>,
    /// A command that prints the key.
    pub command: Option<String>,
    /// A descriptor that the program has given itself.
    #[serde(skip)]
    pub descriptor: Option<i32>,
}

/// The source of a password: exactly one. A variable of the environment is not supported, since
/// other processes may read it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordConfig {
    /// A file that holds it, and a line's end at most.
    pub file: Option<PathBuf>,
    /// A command that prints it.
    pub command: Option<String>,
}

/// Why a key or password cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// None or several.
    #[error("[keys] names exactly one of file, environment and command")]
    NotOne,
    /// The same, of a password.
    #[error("a password below [proxy] names exactly one of file and command")]
    NotOnePassword,
    /// The source holds something else.
    #[error(
        "{place} does not hold the column key: 32 bytes or 64 hexadecimal digits are wanted, \
         {size} bytes were read. Restore it from its copy: another key opens nothing that is \
         sealed. Only where nothing is sealed yet, `strongroom columns create-key FILE` writes a \
         new one"
    )]
    NotAKey {
        /// The source, in words.
        place: String,
        /// Bytes read.
        size: usize,
    },
    /// There is no such file.
    #[error(
        "there is no file {path} with the column key. Restore it from its copy; only where nothing \
         is sealed yet, `strongroom columns create-key {path}` writes a new one"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The source.
    #[error(transparent)]
    Source(KeySourceError),
}

impl From<KeySourceError> for KeysError {
    fn from(error: KeySourceError) -> Self {
        match error {
            KeySourceError::NotAKey { place, size } => Self::NotAKey { place, size },
            other => Self::Source(other),
        }
    }
}

impl KeysConfig {
    /// The source that it names.
    ///
    /// # Errors
    /// It names none, or several.
    pub fn source(&self) -> Result<KeySource, KeysError> {
        if let Some(descriptor) = self.descriptor {
            return Ok(KeySource::Descriptor(descriptor));
        }
        match (&self.file, &self.environment, &self.command) {
            (Some(path), None, None) => Ok(KeySource::File(path.clone())),
            (None, Some(name), None) => Ok(KeySource::Environment(name.clone())),
            (None, None, Some(command)) => Ok(KeySource::Command(command.clone())),
            _ => Err(KeysError::NotOne),
        }
    }

    /// Reads the root key from that source.
    ///
    /// # Errors
    /// The key cannot be read.
    pub fn read(&self) -> Result<Root, KeysError> {
        let source = self.source()?;
        let key = source.read_raw_key().map_err(|error| match error {
            KeySourceError::File { path, source } if source.kind() == ErrorKind::NotFound => {
                KeysError::Missing { path }
            }
            other => other.into(),
        })?;
        warn_if_exposed(&source);
        Ok(Root::new(key))
    }
}

/// Logs a warning if others than its owner may read a file.
pub fn warn_if_exposed(source: &KeySource) {
    if let Some(exposed) = source.exposure() {
        tracing::warn!("{exposed}");
    }
}

impl PasswordConfig {
    /// The source that it names.
    ///
    /// # Errors
    /// It names none, or both.
    pub fn source(&self) -> Result<KeySource, KeysError> {
        match (&self.file, &self.command) {
            (Some(path), None) => Ok(KeySource::File(path.clone())),
            (None, Some(command)) => Ok(KeySource::Command(command.clone())),
            _ => Err(KeysError::NotOnePassword),
        }
    }

    /// The password itself.
    ///
    /// # Errors
    /// As [`Self::source`], or the source gives none.
    pub fn read(&self) -> Result<SecretBytes, KeysError> {
        Ok(self.source()?.read_passphrase()?)
    }
}
