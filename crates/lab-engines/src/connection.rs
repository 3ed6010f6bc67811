//! A connection through the SQLite that is linked into the program.

use std::fmt::Write;
use std::path::Path;

use lab::answer::{Answers, Value};
use lab::engine::{Connection, Durability, EngineError};
use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;

/// Name of the database file in the folder of a pass.
pub(crate) const DATABASE_FILE: &str = "speed.db";

/// Settings that every engine of this kind reports.
const COMMON_PRAGMAS: [&str; 6] = [
    "journal_mode",
    "synchronous",
    "cache_size",
    "page_size",
    "mmap_size",
    "locking_mode",
];

/// An open database, and what it can tell of its settings.
pub(crate) struct SqliteConnection {
    inner: rusqlite::Connection,
    pragmas: Vec<&'static str>,
}

/// Creates the database: one small transaction makes SQLite write the file.
pub(crate) fn create(uri: &str, durability: Durability) -> Result<(), EngineError> {
    let attempt = || -> rusqlite::Result<()> {
        let connection = connect(uri, durability)?;
        connection.execute_batch("PRAGMA user_version = 1")?;
        connection.close().map_err(|(_, error)| error)
    };
    attempt().map_err(|error| EngineError::Create(error.into()))
}

impl SqliteConnection {
    /// Opens the database. `extra_pragmas` are reported beside the common ones.
    pub(crate) fn open(
        uri: &str,
        durability: Durability,
        extra_pragmas: &[&'static str],
    ) -> Result<Self, EngineError> {
        let inner = connect(uri, durability).map_err(|error| EngineError::Open(error.into()))?;
        let pragmas = COMMON_PRAGMAS
            .iter()
            .chain(extra_pragmas)
            .copied()
            .collect();
        Ok(Self { inner, pragmas })
    }

    /// Lets SQLite read through a memory map of that size.
    pub(crate) fn map(&mut self, bytes: u64) -> Result<(), EngineError> {
        self.inner
            .query_row(&format!("PRAGMA mmap_size = {bytes}"), [], |_| Ok(()))
            .map_err(|error| EngineError::Open(error.into()))
    }
}

/// SQLite opens a file when it first reads from it, so this reads.
fn connect(uri: &str, durability: Durability) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open(uri)?;
    connection.execute_batch(match durability {
        Durability::Full => "PRAGMA synchronous = FULL",
        // With a write-ahead log this is what it means.
        Durability::Delayed => "PRAGMA synchronous = NORMAL",
        Durability::None => "PRAGMA synchronous = OFF",
    })?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
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

/// Percent-encodes everything but what can mean nothing else (RFC 3986, section 2.3) and `/`.
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
    connection: &rusqlite::Connection,
    statement: &str,
    answers: &mut Answers,
) -> rusqlite::Result<()> {
    let mut prepared = connection.prepare(statement)?;
    let columns = prepared.column_count();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            answers.push(owned(row.get_ref(column)?));
        }
        answers.end_row();
    }
    answers.end_statement();
    Ok(())
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

impl Connection for SqliteConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        for (statement, number) in statements.iter().zip(1..) {
            run_one(&self.inner, statement, answers).map_err(|error| EngineError::Statement {
                number,
                statement: (*statement).to_owned(),
                source: error.into(),
            })?;
        }
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        let mut settings = vec![("sqlite".to_owned(), rusqlite::version().to_owned())];
        for &pragma in &self.pragmas {
            let value = self
                .inner
                .query_row(&format!("PRAGMA {pragma}"), [], |row| {
                    Ok(text(row.get_ref(0)?))
                })
                .optional()
                .map_err(|error| EngineError::Settings(error.into()))?;
            // A file layer that does not know a pragma gives no row.
            settings.extend(value.map(|value| (pragma.to_owned(), value)));
        }
        Ok(settings)
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.inner
            .close()
            .map_err(|(_, error)| EngineError::Close(error.into()))
    }
}

fn text(value: ValueRef<'_>) -> String {
    match owned(value) {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
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
}
