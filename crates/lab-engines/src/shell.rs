//! The shell of SQLite-based engines: runs a script and writes its rows as CSV.
//!
//! It does what SQLite's own shell does with `-csv`, and as little else as possible, since the time
//! of the whole process is measured.

use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;

use lab::engine::{EngineError, EngineOptions};
use serde::{Deserialize, Serialize};
use sqlite_api::{Error, Script, Statement};

/// The subcommand that makes the program this shell.
pub const COMMAND: &str = "lab-shell";

/// Environment variable that says what to open: it may contain a key, which an argument would show
/// to everybody on the machine.
pub const REQUEST_VARIABLE: &str = "STRONGROOM_LAB_SHELL";

/// What to open.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) engine: String,
    pub(crate) options: EngineOptions,
    pub(crate) folder: PathBuf,
}

/// Why a script failed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The environment variable is not set.
    #[error("the shell of the lab is started by `compare`, not by hand")]
    Request,
    /// There is no such engine, or it is of another kind.
    #[error("there is no engine `{name}` with this shell")]
    Engine {
        /// The name asked for.
        name: String,
    },
    /// The database cannot be opened or closed.
    #[error(transparent)]
    Database(#[from] EngineError),
    /// A statement failed.
    #[error("statement {number} of the script failed")]
    Statement {
        /// Its number, from 1.
        number: usize,
        /// SQLite's error.
        source: Error,
    },
    /// Standard input or output failed, or the input is not UTF-8.
    #[error("the script cannot be read, or its rows cannot be written")]
    Pipe(#[from] io::Error),
}

/// Runs the script in `input` on the database that `request` names.
///
/// # Errors
///
/// The first failure; rows before it are written.
pub fn run(
    request: Option<&str>,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<(), ShellError> {
    let request = request.and_then(|request| serde_json::from_str(request).ok());
    let request: Request = request.ok_or(ShellError::Request)?;
    let engine = crate::sqlite_engines(&request.options)
        .into_iter()
        .find(|engine| engine.profile.name == request.engine);
    let engine = engine.ok_or(ShellError::Engine {
        name: request.engine,
    })?;
    let connection = engine.connect(&request.folder)?;
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let ran = connection.run_script(&Script::new(text), |row| write_row(&mut output, row));
    // Rows before a failure are shown.
    output.flush()?;
    ran.map_err(|(number, source)| ShellError::Statement { number, source })??;
    Ok(lab::engine::Connection::close(Box::new(connection))?)
}

fn write_row(output: &mut impl Write, row: &Statement<'_>) -> io::Result<()> {
    for column in 0..row.column_count() {
        if column > 0 {
            output.write_all(b",")?;
        }
        if let Some(text) = row.text(column) {
            write_value(output, text)?;
        }
    }
    output.write_all(b"\n")
}

/// A value as CSV; an empty text is a pair of quotes, to distinguish it from NULL.
fn write_value(output: &mut impl Write, text: &[u8]) -> io::Result<()> {
    let special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    if !text.is_empty() && !text.iter().any(special) {
        return output.write_all(text);
    }
    output.write_all(b"\"")?;
    for part in text.split_inclusive(|byte| *byte == b'"') {
        output.write_all(part)?;
        if part.ends_with(b"\"") {
            output.write_all(b"\"")?;
        }
    }
    output.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_csv_needs_it() {
        for (text, written) in [
            ("a b'c", "a b'c"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("\"x\" \"", "\"\"\"x\"\" \"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut output = Vec::new();
            write_value(&mut output, text.as_bytes()).expect("memory is there");
            assert_eq!(String::from_utf8_lossy(&output), written);
        }
    }
}
