//! An SQLite that the user names, as a shared library.

use std::path::{Path, PathBuf};

use lab::engine::{Cause, EngineOptions, Library as Named};
use sqlite_api::Library;

use crate::connection::{DATABASE_FILE, Opening, uri};
use crate::engine::{NOSYNC, SYNC, SqliteEngine, Storage};

struct Foreign {
    path: PathBuf,
    pragmas: Vec<String>,
}

/// Cipher name for a library that is given a key.
const UNKNOWN_CIPHER: &str = "the library's own";

pub(crate) fn family(options: &EngineOptions) -> Vec<SqliteEngine> {
    let libraries = options.libraries.iter();
    libraries.flat_map(members).collect()
}

fn members(library: &Named) -> [SqliteEngine; 2] {
    let Named {
        name,
        path,
        pragmas,
    } = library;
    let description = format!("the SQLite in {}", path.display());
    let cipher = (!pragmas.is_empty()).then_some(UNKNOWN_CIPHER);
    [SYNC, NOSYNC].map(|variant| {
        let storage = Foreign {
            path: path.clone(),
            pragmas: pragmas.clone(),
        };
        let mut engine = variant.engine("library", name, &description, cipher, storage);
        engine.options.libraries = vec![library.clone()];
        engine
    })
}

/// The engine name for a library: its file name up to the first dot.
pub fn library_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty());
    stem.unwrap_or("library").to_lowercase()
}

impl Storage for Foreign {
    fn opening(&self, folder: &Path, _new: bool) -> Result<Opening, Cause> {
        let library = Library::load(&self.path)?;
        let uri = uri(&folder.join(DATABASE_FILE), &[]);
        let mut opening = Opening::new(library, uri);
        opening.key_pragmas.clone_from(&self.pragmas);
        Ok(opening)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_file() {
        for (path, name) in [
            ("/usr/lib/libsqlite3.so.0", "libsqlite3"),
            ("libSQLCipher.dylib", "libsqlcipher"),
            ("/x/.hidden.so", "hidden"),
            ("/", "library"),
        ] {
            assert_eq!(library_name(Path::new(path)), name);
        }
    }
}
