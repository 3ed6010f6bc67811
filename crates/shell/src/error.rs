//! Errors of a statement or dot command, with their messages.

use std::io;
use std::path::PathBuf;
use store::system_error;
use thiserror::Error;

/// Why a statement or dot command failed.
#[derive(Debug, Error)]
pub enum ShellError {
    /// SQLite refused it.
    #[error("{}", sql_message(.0))]
    Sql(#[from] rusqlite::Error),
    /// SQLite refused it, and the storage engine has a more specific message.
    #[error("{}; {detail}", sql_message(.source))]
    Storage {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: String,
    },
    /// The disk of the database has no room, or the database may not grow.
    #[error(
        "{}; make room where {path} is, and for temporary files (or raise PRAGMA max_page_count, \
         if that is set)",
        sql_message(.source)
    )]
    Full {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The main database.
        path: PathBuf,
    },
    /// A key was refused in a script that relies on it.
    #[error("{0}; the rest was not run, since it counts on the key")]
    KeyNotTaken(Box<ShellError>),
    /// The database is encrypted and no key was given.
    #[error(
        "the database is encrypted and still locked; open it with .decrypt, or start the shell \
         with --key-file, --passphrase-file or another key option"
    )]
    Locked,
    /// A file could not be opened, or a key does not fit.
    #[error(transparent)]
    Open(#[from] store::database::OpenError),
    /// A conversion of a whole file failed.
    #[error(transparent)]
    Convert(#[from] store::convert::ConvertError),
    /// A change of keys failed.
    #[error(transparent)]
    Keys(#[from] store::keys::KeysError),
    /// A dump failed.
    #[error(transparent)]
    Dump(#[from] crate::dump::DumpError),
    /// An import failed.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// A line of the input is not valid UTF-8.
    #[error("the line is not UTF-8 text; convert the input first")]
    NotUnicode,
    /// Results could not be written.
    #[error("cannot write the output: {}", system_error::sentence(.0))]
    Output(#[from] io::Error),
    /// A file that the user named could not be used.
    #[error("cannot open {path}: {}", system_error::sentence(.source))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No passphrase could be asked for.
    #[error(
        "no passphrase was given and none can be asked for here ({0}); write it behind the \
         command, or use --passphrase-file"
    )]
    NoPrompt(#[source] io::Error),
    /// The key that was named for the session could not be read.
    #[error("{0}; the database before stays open")]
    NamedKey(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The two passphrases differ.
    #[error("the two passphrases differ; nothing was changed")]
    PassphrasesDiffer,
    /// An empty passphrase.
    #[error("an empty passphrase protects nothing; nothing was changed")]
    EmptyPassphrase,
    /// A dot command that does not exist.
    #[error("there is no command .{name}{}; .help lists all", suggested(.nearest))]
    UnknownCommand {
        /// What was typed.
        name: String,
        /// The most similar command.
        nearest: Option<&'static str>,
    },
    /// An abbreviation of several commands.
    #[error(".{name} could be .{}; write it out", .candidates.join(" or ."))]
    AmbiguousCommand {
        /// What was typed.
        name: String,
        /// The commands it could stand for.
        candidates: Vec<&'static str>,
    },
    /// A dot command with wrong arguments.
    #[error("usage: {0}")]
    Usage(&'static str),
    /// A word that is not among those allowed.
    #[error("{what} {word:?} is unknown; possible are: {possible}")]
    UnknownWord {
        /// What the word denotes.
        what: &'static str,
        /// The word.
        word: String,
        /// All allowed words.
        possible: String,
    },
    /// The command is not possible in this state.
    #[error(transparent)]
    State(#[from] StateError),
    /// Files that include each other.
    #[error(".read goes deeper than {0} files; one of them reads itself")]
    ReadTooDeep(usize),
}

impl ShellError {
    /// Whether the reader of the output has closed it.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let source = match self {
            ShellError::Output(source) => source,
            ShellError::Dump(crate::dump::DumpError::Output(source)) => source,
            _ => return false,
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Why a command is not possible for the open database.
#[derive(Debug, Error)]
pub enum StateError {
    /// Encryption needs a file.
    #[error("the database is in memory only; .open a file first")]
    InMemory,
    /// `.encrypt` on an encrypted database.
    #[error("{0} is encrypted already; .decrypt opens it, .rekey changes its passphrase")]
    AlreadyEncrypted(PathBuf),
    /// `.decrypt` and similar commands on a plain database.
    #[error("{0} is a plain SQLite database; .encrypt makes it an encrypted one")]
    NotEncrypted(PathBuf),
    /// `.decrypt` on a file that does not exist or is empty.
    #[error("{0} does not exist yet, or is empty; .encrypt makes it an encrypted database")]
    NothingThere(PathBuf),
    /// A command that needs exclusive use of the database.
    #[error("a transaction is open; COMMIT or ROLLBACK first")]
    InTransaction,
    /// Attached databases and temporary tables would be lost.
    #[error("databases are attached or temporary tables exist; DETACH and DROP them first")]
    HasAttached,
    /// `.encrypt` in a read-only session.
    #[error("the database was opened read-only; start again without --readonly")]
    ReadOnly,
    /// `PRAGMA key` on a plain database, where it would have no effect.
    #[error(
        "PRAGMA key does not encrypt an existing plain database, and was not passed on; \
         .encrypt does"
    )]
    KeyPragmaOnPlain,
    /// The cipher of a file cannot be changed.
    #[error(
        "the cipher is chosen when a database is made; `strongroom encrypt --cipher NAME` \
         makes a copy with another one"
    )]
    CipherFixed,
    /// An existing file would be overwritten.
    #[error("{0} exists already; choose another name, or say --force")]
    Exists(PathBuf),
    /// Results would overwrite the database.
    #[error("{0} is the open database; results do not go there")]
    OutputIsDatabase(PathBuf),
}

fn suggested(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|name| format!(" (did you mean .{name}?)"))
        .unwrap_or_default()
}

/// SQLite's message, with the position in the text if known.
fn sql_message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqliteFailure(code, None) => code.to_string(),
        rusqlite::Error::SqlInputError {
            msg, sql, offset, ..
        } => {
            match usize::try_from(*offset)
                .ok()
                .and_then(|offset| excerpt(sql, offset))
            {
                Some(excerpt) => format!("{msg}\n{excerpt}"),
                None => msg.clone(),
            }
        }
        other => other.to_string(),
    }
}

/// Characters shown on each side of the position.
const EXCERPT_SIDE: usize = 36;

fn excerpt(sql: &str, offset: usize) -> Option<String> {
    let before = sql.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |index| index + 1);
    let line = sql[line_start..].lines().next()?;
    let column = before[line_start..].chars().count();
    let first = column.saturating_sub(EXCERPT_SIDE);
    let shown: String = line.chars().skip(first).take(2 * EXCERPT_SIDE).collect();
    let shown = shown.replace(char::is_control, " ");
    let indent = " ".repeat(column - first);
    Some(format!("  {shown}\n  {indent}^--- error here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_points_at_the_spot() {
        let sql = "select 1,\n  ü, form;";
        let offset = sql.find("form").unwrap();
        assert_eq!(
            excerpt(sql, offset).unwrap(),
            "    ü, form;\n       ^--- error here"
        );
        assert_eq!(excerpt("x", 5), None);
        let long = format!("select {}, form", "a".repeat(500));
        let text = excerpt(&long, long.find("form").unwrap()).unwrap();
        assert!(text.lines().all(|line| line.chars().count() < 90), "{text}");
    }
}
