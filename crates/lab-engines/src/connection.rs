//! A connection to an SQLite library, linked or loaded.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use lab::answer::{Answers, Value};
use lab::engine::{Cause, Connection, Contention, Durability, EngineError};
use sqlite_api::{Error, Library, Script, Statement, Value as SqliteValue};

/// Name of the database file in the folder of a pass.
pub(crate) const DATABASE_FILE: &str = "speed.db";

/// Settings that every engine of this kind reports.
const COMMON_PRAGMAS: [&str; 7] = [
    "journal_mode",
    "synchronous",
    "cache_size",
    "page_size",
    "mmap_size",
    "locking_mode",
    "busy_timeout",
];

/// How long a connection waits for another one's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Where SQLite writes a transaction before it writes to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journal {
    /// A rollback journal, which is deleted afterwards: SQLite's default.
    Rollback,
    /// A write-ahead log.
    Log,
}

/// Options for opening a database.
pub(crate) struct Opening {
    /// Which SQLite.
    pub(crate) library: &'static Library,
    /// The file.
    pub(crate) uri: String,
    /// Run before everything else. They may contain a key: no error and no report shows them.
    pub(crate) key_pragmas: Vec<String>,
    pub(crate) journal: Journal,
    pub(crate) durability: Durability,
    /// Size of the memory map that SQLite reads through.
    pub(crate) map_bytes: u64,
    /// Values to report besides the common settings: a name, and the query for its value.
    pub(crate) reports: Vec<(&'static str, &'static str)>,
    /// How the library was compiled, if known.
    pub(crate) compiled: Option<String>,
}

impl Opening {
    /// SQLite's own defaults, except that transactions are durable.
    pub(crate) fn new(library: &'static Library, uri: String) -> Self {
        Self {
            library,
            uri,
            key_pragmas: vec![],
            journal: Journal::Rollback,
            durability: Durability::Full,
            map_bytes: 0,
            reports: vec![],
            compiled: None,
        }
    }

    /// Creates the database: one small transaction makes SQLite write the file.
    pub(crate) fn create(&self) -> Result<(), Cause> {
        let connection = self.connect()?;
        connection.execute("PRAGMA user_version = 1")?;
        Ok(connection.close()?)
    }

    /// Opens the database.
    pub(crate) fn open(self) -> Result<SqliteConnection, Cause> {
        let inner = self.connect()?;
        Ok(SqliteConnection {
            inner,
            library: self.library,
            reports: self.reports,
            compiled: self.compiled,
        })
    }

    /// SQLite opens a file when it first reads from it, so this reads.
    fn connect(&self) -> Result<sqlite_api::Connection, Cause> {
        let connection = self.library.open(&self.uri)?;
        connection.set_busy_timeout(BUSY_TIMEOUT)?;
        for (pragma, number) in self.key_pragmas.iter().zip(1..) {
            let statement = format!("PRAGMA {pragma}");
            connection.execute(&statement).map_err(|error| {
                let source = connection.without_words(&error);
                KeyPragmaError { number, source }
            })?;
        }
        if self.journal == Journal::Log {
            let mode = connection.first_text("PRAGMA journal_mode = WAL")?;
            if mode.as_deref() != Some("wal") {
                return Err("the engine has no write-ahead log".into());
            }
        }
        connection.execute(match self.durability {
            Durability::Full => "PRAGMA synchronous = FULL",
            // With a write-ahead log this is what it means.
            Durability::Delayed => "PRAGMA synchronous = NORMAL",
            Durability::None => "PRAGMA synchronous = OFF",
        })?;
        if self.map_bytes > 0 {
            connection.execute(&format!("PRAGMA mmap_size = {}", self.map_bytes))?;
        }
        connection.execute("SELECT count(*) FROM sqlite_schema")?;
        Ok(connection)
    }
}

/// A key was not taken.
#[derive(Debug, thiserror::Error)]
#[error("pragma {number} of those that give the key failed")]
struct KeyPragmaError {
    number: usize,
    source: Error,
}

/// An open database, and what it can tell of its settings.
pub(crate) struct SqliteConnection {
    inner: sqlite_api::Connection,
    library: &'static Library,
    reports: Vec<(&'static str, &'static str)>,
    compiled: Option<String>,
}

/// The URI of a file, with parameters `name=value`.
pub(crate) fn uri(path: &Path, parameters: &[(&str, &str)]) -> String {
    let mut uri = format!("file:{}", escaped(&path.to_string_lossy()));
    for (place, (name, value)) in parameters.iter().enumerate() {
        let mark = if place == 0 { '?' } else { '&' };
        uri.push(mark);
        uri.push_str(name);
        uri.push('=');
        uri.push_str(&escaped(value));
    }
    uri
}

/// Percent-encodes everything except unreserved characters (RFC 3986, section 2.3) and `/`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            _ => write!(escaped, "%{byte:02X}").expect("writing to a String cannot fail"),
        }
    }
    escaped
}

/// Prepares one statement, steps it to its end and keeps its rows.
fn run_one(
    connection: &sqlite_api::Connection,
    statement: &str,
    answers: &mut Answers,
) -> Result<(), Error> {
    if let Some(mut prepared) = connection.prepare(statement)? {
        let columns = prepared.column_count();
        while prepared.step()? {
            for column in 0..columns {
                answers.push(owned(prepared.value(column)));
            }
            answers.end_row();
        }
    }
    answers.end_statement();
    Ok(())
}

/// Result codes `SQLITE_BUSY` and `SQLITE_LOCKED`; extended codes contain them in their low bits.
const LOCKED_CODES: [i32; 2] = [5, 6];

/// The error for a failed statement.
fn failed(error: Error, number: usize, statement: &str) -> EngineError {
    let is_locked = LOCKED_CODES.contains(&(error.code & 0xff));
    let contention = is_locked.then_some(Contention::Busy);
    EngineError::of_statement(contention, number, statement, error.into())
}

fn owned(value: SqliteValue<'_>) -> Value {
    match value {
        SqliteValue::Null => Value::Null,
        SqliteValue::Integer(number) => Value::Integer(number),
        SqliteValue::Real(number) => Value::Real(number),
        SqliteValue::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        SqliteValue::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

impl SqliteConnection {
    /// Runs the statements of a script and passes each row to `take`. An error contains the number
    /// of its statement, from 1.
    pub(crate) fn run_script<E>(
        &self,
        script: &Script,
        mut take: impl FnMut(&Statement<'_>) -> Result<(), E>,
    ) -> Result<Result<(), E>, (usize, Error)> {
        let mut offset = 0;
        for number in 1.. {
            let failed = |error| (number, error);
            let prepared = self.inner.prepare_next(script, &mut offset);
            let Some(mut statement) = prepared.map_err(failed)? else {
                break;
            };
            while statement.step().map_err(failed)? {
                if let Err(error) = take(&statement) {
                    return Ok(Err(error));
                }
            }
        }
        Ok(Ok(()))
    }

    /// The compile options in which the library differs from the linked SQLite.
    fn differing_options(&self) -> Result<Option<String>, Error> {
        let linked = Library::linked();
        if std::ptr::eq(linked, self.library) {
            return Ok(None);
        }
        let of_linked = linked.open(":memory:")?.compile_options()?;
        let options = self.inner.compile_options()?;
        let lacking = |some: &[String], others: &[String], sign: char| -> Vec<String> {
            let only = some.iter().filter(|option| !others.contains(option));
            only.map(|option| format!("{sign}{option}")).collect()
        };
        let mut differing = lacking(&options, &of_linked, '+');
        differing.extend(lacking(&of_linked, &options, '-'));
        Ok(Some(differing.join(" ")))
    }

    fn report(&self) -> Result<Vec<(String, String)>, Error> {
        let mut settings = vec![("sqlite".to_owned(), self.library.version().to_owned())];
        let common = COMMON_PRAGMAS.map(|name| (name, format!("PRAGMA {name}")));
        let own = self.reports.iter();
        let own = own.map(|(name, query)| (*name, (*query).to_owned()));
        for (name, query) in common.into_iter().chain(own) {
            // A VFS that does not know a pragma returns no row.
            let value = self.inner.first_text(&query)?;
            settings.extend(value.map(|value| (name.to_owned(), value)));
        }
        let differing = self.differing_options()?;
        let name = "compile_options_beside_sqlite";
        settings.extend(differing.map(|options| (name.to_owned(), options)));
        let compiled = self.compiled.clone();
        settings.extend(compiled.map(|how| ("compiled".to_owned(), how)));
        Ok(settings)
    }
}

impl Connection for SqliteConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        for (statement, number) in statements.iter().zip(1..) {
            run_one(&self.inner, statement, answers)
                .map_err(|error| failed(error, number, statement))?;
        }
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        self.report()
            .map_err(|error| EngineError::Settings(error.into()))
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.inner
            .close()
            .map_err(|error| EngineError::Close(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_break_out_of_its_uri() {
        assert_eq!(
            uri(
                Path::new("/a b/ü?x#y%z.db"),
                &[("vfs", "v"), ("key_file", "/k&m")]
            ),
            "file:/a%20b/%C3%BC%3Fx%23y%25z.db?vfs=v&key_file=/k%26m"
        );
    }

    #[test]
    fn a_key_pragma_that_fails_does_not_show_the_key() {
        let mut opening = Opening::new(Library::linked(), ":memory:".to_owned());
        opening.key_pragmas = vec!["cache_size = 100".into(), "key = hunter2 hunter2".into()];
        let error = opening.connect().err().expect("it is no pragma");
        let message = lab::engine::whole_message(error.as_ref());
        assert!(message.contains("pragma 2"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}
