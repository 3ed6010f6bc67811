//! Encrypted SQLite databases for Rust programs: a [`rusqlite::Connection`] whose file is sealed.
//!
//! ```
//! use strongroom::{OpenOptions, generate_key_file};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (key_path, path) = (folder.path().join("my.key"), folder.path().join("new.db"));
//! generate_key_file(&key_path)?; // 256 random bits; keep a copy elsewhere
//! let database = OpenOptions::new().key_file(&key_path).create(true).open(&path)?;
//! database.execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES('sealed')")?;
//! # drop(database);
//!
//! let database = OpenOptions::new().key_file(&key_path).open(&path)?;
//! let a: String = database.query_row("SELECT a FROM t", [], |row| row.get(0))?;
//! assert_eq!(a, "sealed");
//! # Ok(())
//! # }
//! ```
//!
//! Everything else is SQLite, linked in, and [`rusqlite`]. The key is checked when the database is
//! opened. It is handed to the storage engine inside the process: no SQL text, no URI and no error
//! holds it, and it is wiped. Whether `ATTACH`, backups and temporary files are encrypted too is
//! told by the manual, `docs/manual.md`, section 13, and by the threat model.
#![forbid(unsafe_code)]

mod open;

pub use crypto::cipher::Cipher;
pub use crypto::secret::{Key, SecretBytes};
pub use keyring::source::KeySourceError;
pub use keyring::{Credential, EntropyError, random_key};
pub use open::{Error, OpenOptions, open};
pub use rusqlite;
pub use store::database::{OpenError, Status, last_error, status};
pub use store::key_file::{KeyFileError, generate as generate_key_file};
