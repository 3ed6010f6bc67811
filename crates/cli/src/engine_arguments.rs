//! Arguments that add engines which the program does not know by itself.

use std::collections::HashSet;
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

    /// Variable that holds the URL of a PostgreSQL that runs already, as the engine `postgres-url`;
    /// it works in a schema of its own there, and removes it
    #[arg(long, value_name = "VARIABLE")]
    postgres_url_env: Option<String>,

    /// Variable that holds the URL of a MySQL or MariaDB that runs already, as the engine
    /// `mysql-url`; it works in a database of its own there, and removes it
    #[arg(long, value_name = "VARIABLE")]
    mysql_url_env: Option<String>,

    /// File that describes a database with a shell, as a further engine (for `--mode script`)
    #[arg(long = "engine-file", value_name = "FILE")]
    files: Vec<PathBuf>,
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
        let variables = [
            (lab_engines::POSTGRES, &self.postgres_url_env),
            (lab_engines::MYSQL, &self.mysql_url_env),
        ];
        for (product, variable) in variables {
            let named = variable
                .clone()
                .map(|variable| (product.to_owned(), variable));
            options.url_variables.extend(named);
        }
        let mut names: Vec<String> = Vec::new();
        for path in &self.files {
            let name = lab_engines::described_name(path)?;
            if names.contains(&name) {
                bail!("two files describe an engine `{name}`; give one of them another name");
            }
            names.push(name);
            // A worker may run in another folder.
            options
                .files
                .push(path.canonicalize().unwrap_or_else(|_| path.clone()));
        }
        let mut names = HashSet::new();
        for engine in lab_engines::all(&options) {
            let name = &engine.profile().name;
            if !names.insert(name.clone()) {
                bail!("two engines would have the name `{name}`; give yours another");
            }
        }
        Ok(options)
    }
}
