//! Creation of key files.

use crate::replace::sync_directory;
use crypto::secret::Key;
use keyring::EntropyError;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

/// Why no key file was written.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file exists.
    #[error("{0} exists already and is not overwritten: it may hold the only key of a database")]
    Exists(PathBuf),
    /// The file could not be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The random generator failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// The 64 hexadecimal digits of a key, with capacity for a newline.
pub fn digits(key: &Key) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(65));
    for byte in key.expose() {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    text
}

/// Writes a new 256-bit key as 64 hexadecimal digits into a new file that only its owner can read.
///
/// # Errors
///
/// If the file exists or cannot be written.
pub fn generate(path: &Path) -> Result<(), KeyFileError> {
    let key = keyring::random_key()?;
    let mut text = digits(&key);
    text.push('\n');
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        sync_directory(path)
    });
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
        _ => KeyFileError::File {
            path: path.to_owned(),
            source,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyring::source::KeySource;

    #[test]
    fn a_generated_key_is_read_back_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        generate(&path).unwrap();
        let source = KeySource::File(path.clone());
        let first = source.read_raw_key().unwrap();
        assert!(source.exposure().is_none());
        assert!(matches!(generate(&path), Err(KeyFileError::Exists(_))));
        assert!(source.read_raw_key().unwrap().constant_time_eq(&first));
        generate(&directory.path().join("other")).unwrap();
        let other = KeySource::File(directory.path().join("other"))
            .read_raw_key()
            .unwrap();
        assert!(!other.constant_time_eq(&first));
    }
}
