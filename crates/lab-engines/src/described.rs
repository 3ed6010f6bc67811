//! Any other database that has a shell, as a file of the user's describes it.
//!
//! ```toml
//! name = "duckdb"
//! description = "DuckDB by its shell"
//! dialect = "postgres"                  # sqlite, postgres or mysql: the SQL it is given
//! durability = "full"                   # full, delayed or none: what it claims
//! output = "csv"                        # csv or tsv: how the shell writes rows, without a head
//! script = ["duckdb", "-csv", "-noheader", "-bail", "-nullvalue", "", "{folder}/speed.duckdb"]
//! version = ["duckdb", "--version"]
//! create = ["duckdb", "{folder}/speed.duckdb", "-c", "SELECT 1"]    # where it is needed
//! base = "sqlite"                       # the engine its times are divided by
//! ```
//!
//! Commands are programs with their arguments; no shell of the system reads them. `{folder}` stands
//! for the empty folder of the pass. The script's shell must end with a status other than 0 when a
//! statement fails.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::answer::Answers;
use lab::engine::{
    Cause, Connection, Durability, Engine, EngineError, EngineOptions, Profile, ScriptCommand,
    ScriptOutput,
};
use serde::Deserialize;
use workloads::Dialect;

use crate::server::find;

/// The file, as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Description {
    name: String,
    description: String,
    dialect: Dialect,
    durability: Durability,
    output: ScriptOutput,
    script: Vec<String>,
    version: Vec<String>,
    create: Option<Vec<String>>,
    base: Option<String>,
}

/// Why a file does not describe an engine.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// It cannot be read.
    #[error("cannot read the description of an engine in {path}", path = .path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a valid description.
    #[error("{path} describes no engine", path = .path.display())]
    Toml {
        /// The path.
        path: PathBuf,
        /// The position and the reason.
        source: Box<toml::de::Error>,
    },
    /// The name is not usable on a command line.
    #[error(
        "{path} names its engine `{name}`; a name is made of small letters, digits and `-`, and no \
         other engine has it",
        path = .path.display()
    )]
    Name {
        /// The path.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A command without a program.
    #[error("{path} has an empty command `{command}`; it needs a program", path = .path.display())]
    Empty {
        /// The path.
        path: PathBuf,
        /// The command.
        command: &'static str,
    },
}

/// The name of the engine that a file describes.
///
/// # Errors
///
/// If it describes none.
pub fn name_in(path: &Path) -> Result<String, DescriptionError> {
    Ok(read(path)?.profile.name)
}

/// The engines of all description files.
pub(crate) fn family(options: &EngineOptions) -> Vec<Described> {
    options
        .files
        .iter()
        .filter_map(|path| read(path).ok())
        .collect()
}

fn read(path: &Path) -> Result<Described, DescriptionError> {
    let owned = || path.to_owned();
    let text = fs::read_to_string(path);
    let text = text.map_err(|source| DescriptionError::File {
        path: owned(),
        source,
    })?;
    let read: Description = toml::from_str(&text).map_err(|error| DescriptionError::Toml {
        path: owned(),
        source: Box::new(error),
    })?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let known = crate::all(&EngineOptions::default());
    let is_taken = known
        .iter()
        .any(|engine| engine.profile().name == read.name);
    if read.name.is_empty() || !read.name.bytes().all(is_plain) || is_taken {
        let (path, name) = (owned(), read.name);
        return Err(DescriptionError::Name { path, name });
    }
    let commands = [
        ("script", Some(&read.script)),
        ("version", Some(&read.version)),
        ("create", read.create.as_ref()),
    ];
    for (command, words) in commands {
        if words.is_some_and(|words| words.first().is_none_or(String::is_empty)) {
            let path = owned();
            return Err(DescriptionError::Empty { path, command });
        }
    }
    Ok(Described {
        profile: Profile {
            family: read.name.clone(),
            name: read.name,
            description: read.description,
            dialect: read.dialect,
            base: read.base,
            durability: read.durability,
            cipher: None,
            control: false,
        },
        output: read.output,
        script: read.script,
        version: read.version,
        create: read.create,
    })
}

/// An engine that has only a shell.
pub(crate) struct Described {
    profile: Profile,
    output: ScriptOutput,
    script: Vec<String>,
    version: Vec<String>,
    create: Option<Vec<String>>,
}

fn filled_in(words: &[String], folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    words
        .iter()
        .map(|word| word.replace("{folder}", &folder))
        .collect()
}

/// The output of a command, given as program and arguments.
fn output(words: &[String]) -> Result<String, Cause> {
    let (program, arguments) = words.split_first().ok_or("an empty command")?;
    let ended = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let ended = ended.map_err(|error| format!("cannot start {program}: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !ended.status.success() {
        return Err(format!("{program}: {}: {}", ended.status, said(&ended.stderr)).into());
    }
    Ok(said(&ended.stdout))
}

impl Engine for Described {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        let program = self.script.first()?;
        let is_there = find(&[program], &[]).is_some() || Path::new(program).is_file();
        (!is_there).then(|| format!("the program `{program}` is not there"))
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        let Some(words) = &self.create else {
            return Ok(());
        };
        output(&filled_in(words, folder)).map_err(EngineError::Create)?;
        Ok(())
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let version = filled_in(&self.version, folder);
        Ok(Box::new(Shell { version }))
    }

    fn script_command(&self, folder: &Path) -> Option<ScriptCommand> {
        let words = filled_in(&self.script, folder);
        let (program, arguments) = words.split_first()?;
        Some(ScriptCommand {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: vec![],
            output: self.output,
        })
    }
}

/// Stands in for a connection, since there is none.
struct Shell {
    version: Vec<String>,
}

impl Connection for Shell {
    fn run(&mut self, statements: &[&str], _: &mut Answers) -> Result<(), EngineError> {
        let statement = statements.first().copied().unwrap_or_default().to_owned();
        let source = "an engine that a file describes has a shell alone: add `--mode script`";
        Err(EngineError::Statement {
            number: 1,
            statement,
            source: source.into(),
        })
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        let version = output(&self.version).map_err(EngineError::Settings)?;
        Ok(vec![("version".to_owned(), version)])
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
