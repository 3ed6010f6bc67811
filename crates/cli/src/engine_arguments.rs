//! Arguments that add engines which the program does not know by itself.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use lab::engine::{EngineOptions, Library};

/// Engines that the user describes.
#[derive(Debug, Args)]
pub struct EngineArguments {
    /// Shared library with SQLite's interface, as a further engine; it is named after its file
    #[arg(long = "sqlite-library", value_name = "PATH")]
    libraries: Vec<PathBuf>,

    /// Pragma that is run first on every connection of these libraries, as "key = 'secret'"; others
    /// on this machine can see it, so give a key that protects nothing
    #[arg(long = "key-pragma", value_name = "PRAGMA", requires = "libraries")]
    key_pragmas: Vec<String>,
}

impl EngineArguments {
    /// What makes these engines, in this process and in workers.
    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        let mut options = EngineOptions::default();
        for path in &self.libraries {
            let name = lab_engines::library_name(path);
            if options.libraries.iter().any(|library| library.name == name) {
                bail!("two libraries have the name `{name}`; give one of the files another");
            }
            options.libraries.push(Library {
                name,
                // A worker may run in another folder; a bare name is looked for by the system.
                path: path.canonicalize().unwrap_or_else(|_| path.clone()),
                pragmas: self.key_pragmas.clone(),
            });
        }
        Ok(options)
    }
}
