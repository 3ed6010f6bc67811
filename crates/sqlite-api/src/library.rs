//! An SQLite library, linked or loaded.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::functions::Functions;

/// An SQLite library, linked or loaded.
pub struct Library {
    functions: Functions,
    version: String,
}

/// Why a file could not be loaded as SQLite.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file does not exist.
    #[error("there is no file {path}", path = .path.display())]
    Missing {
        /// The path given.
        path: PathBuf,
    },
    /// A statically linked program has no dynamic loader.
    #[error(
        "this program is static and cannot load {path}; the program of the packages for Linux \
         (.deb, .rpm), or one that cargo builds on this machine, can",
        path = .path.display()
    )]
    Static {
        /// The path given.
        path: PathBuf,
    },
    /// The system's loader refuses the file.
    #[error(
        "{path} is not a shared library that this machine can load",
        path = .path.display()
    )]
    NotALibrary {
        /// The path given.
        path: PathBuf,
        /// The loader's error.
        source: libloading::Error,
    },
    /// A shared library that lacks SQLite's functions.
    #[error(
        "{path} is not SQLite: it has no function {function}",
        path = .path.display()
    )]
    NotSqlite {
        /// The path given.
        path: PathBuf,
        /// The first function that is missing.
        function: &'static str,
    },
    /// Built without mutexes.
    #[error(
        "{path} was built with SQLITE_THREADSAFE=0; build it with SQLITE_THREADSAFE=1",
        path = .path.display()
    )]
    WithoutThreads {
        /// The path given.
        path: PathBuf,
    },
}

/// Libraries loaded so far, which are never unloaded.
static LOADED: Mutex<Vec<(PathBuf, &'static Library)>> = Mutex::new(Vec::new());

impl Library {
    /// The SQLite that is linked into the program.
    pub fn linked() -> &'static Library {
        static LINKED: OnceLock<Library> = OnceLock::new();
        LINKED.get_or_init(|| Library::new(Functions::linked()))
    }

    /// Loads SQLite from a shared library, which stays loaded until the process ends. A name
    /// without a folder that is not an existing file is searched in the system's library path.
    ///
    /// # Errors
    ///
    /// If there is no such file, or it is not an SQLite that threads may use.
    pub fn load(path: &Path) -> Result<&'static Library, LoadError> {
        let bare = path.components().count() == 1 && !path.exists();
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(_) if bare => path.to_owned(),
            Err(_) => {
                return Err(LoadError::Missing {
                    path: path.to_owned(),
                });
            }
        };
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, library)) = loaded.iter().find(|(path, _)| *path == found) {
            return Ok(library);
        }
        let library: &'static Library = Box::leak(Box::new(Library::read(&found)?));
        loaded.push((found, library));
        Ok(library)
    }

    fn read(path: &Path) -> Result<Library, LoadError> {
        if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
            return Err(LoadError::Static {
                path: path.to_owned(),
            });
        }
        // SAFETY: the code that a library runs when loaded is the responsibility of whoever names
        // it.
        let loaded = unsafe { libloading::Library::new(path) };
        let loaded = loaded.map_err(|source| LoadError::NotALibrary {
            path: path.to_owned(),
            source,
        })?;
        // SAFETY: a library with all of SQLite's names is taken for SQLite; below it stays loaded.
        let functions = unsafe { Functions::loaded(&loaded) };
        let functions = functions.map_err(|function| LoadError::NotSqlite {
            path: path.to_owned(),
            function,
        })?;
        // SAFETY: takes no arguments and returns a constant.
        if unsafe { (functions.threadsafe)() } == 0 {
            return Err(LoadError::WithoutThreads {
                path: path.to_owned(),
            });
        }
        std::mem::forget(loaded);
        Ok(Library::new(functions))
    }

    fn new(functions: Functions) -> Self {
        // SAFETY: SQLite returns a text that it never frees.
        let version = unsafe { CStr::from_ptr((functions.libversion)()) };
        let version = version.to_string_lossy().into_owned();
        Self { functions, version }
    }

    /// The version of SQLite that it is, or is derived from.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }
}
