//! Arguments that add user-defined engines.

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
    /// The options that create these engines, in this process and in workers.
    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        let mut options = EngineOptions::default();
        for path in &self.libraries {
            let name = lab_engines::library_name(path);
            if options.libraries.iter().any(|library| library.name == name) {
                bail!("two libraries have the name `{name}`; give one of the files another");
            }
            options.libraries.push(Library {
                name,
                // A worker may run in another folder; a bare name is searched by the system.
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

/// The arguments that request these engines again, without keys, since a page shows them.
pub fn arguments(options: &EngineOptions) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
    for library in &options.libraries {
        add("--sqlite-library", library.path.display().to_string());
    }
    // All libraries have the same pragmas.
    let pragmas = options.libraries.first().map(|library| &library.pragmas);
    for pragma in pragmas.into_iter().flatten() {
        add("--key-pragma", without_key(pragma));
    }
    for path in &options.files {
        add("--engine-file", path.display().to_string());
    }
    for (product, variable) in &options.url_variables {
        add(&format!("--{product}-url-env"), variable.clone());
    }
    arguments
}

/// A pragma in a form that may be shown: the choice of a cipher is needed to repeat a run; anything
/// that may be a key, or part of one, is removed.
fn without_key(pragma: &str) -> String {
    const SHOWN: [&str; 5] = ["cipher", "kdf_iter", "legacy", "header", "page_size"];
    // Without a value the pragma is unknown.
    let end = pragma.find(['=', '(']).unwrap_or(0);
    let name = pragma[..end].trim();
    let lower = name.to_lowercase();
    if SHOWN.iter().any(|part| lower.contains(part)) && !lower.contains("salt") {
        return pragma.to_owned();
    }
    match name {
        "" => "…".to_owned(),
        name => format!("{name} = '…'"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn all_that_describes_engines_is_repeated() {
        let library = |name: &str| Library {
            name: name.to_owned(),
            path: format!("/lib/{name}.so").into(),
            pragmas: vec!["cipher = 'aegis'".to_owned(), "key = 'secret'".to_owned()],
        };
        let options = EngineOptions {
            libraries: vec![library("one"), library("two")],
            files: vec!["own.toml".into()],
            url_variables: vec![
                (lab_engines::POSTGRES.to_owned(), "P_URL".to_owned()),
                (lab_engines::MYSQL.to_owned(), "M_URL".to_owned()),
            ],
        };
        let repeated = arguments(&options);
        let expected = "--sqlite-library|/lib/one.so|--sqlite-library|/lib/two.so|\
                        --key-pragma|cipher = 'aegis'|--key-pragma|key = '…'|\
                        --engine-file|own.toml|--postgres-url-env|P_URL|--mysql-url-env|M_URL";
        assert_eq!(repeated.join("|"), expected);
        let command = crate::compare::Args::try_parse_from(
            [&["compare".to_owned()], repeated.as_slice()].concat(),
        );
        let engines = command.unwrap().further;
        assert_eq!((engines.libraries.len(), engines.key_pragmas.len()), (2, 2));
        assert_eq!(engines.mysql_url_env.as_deref(), Some("M_URL"));
    }

    #[test]
    fn no_key_is_repeated() {
        for (pragma, shown) in [
            ("key = 'secret'", "key = '…'"),
            ("hexkey('secret')", "hexkey = '…'"),
            ("\"key\"='secret'", "\"key\" = '…'"),
            ("main.key = secret", "main.key = '…'"),
            ("cipher_salt = \"x'00'\"", "cipher_salt = '…'"),
            ("secret", "…"),
            ("cipher = 'aegis'", "cipher = 'aegis'"),
            ("cipher_page_size(4096)", "cipher_page_size(4096)"),
        ] {
            assert_eq!(without_key(pragma), shown);
        }
    }
}
