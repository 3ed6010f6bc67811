//! Results of statements, in a form that allows comparing two engines.

use rusqlite::Connection;
use rusqlite::types::Value;

/// Rows, or the primary code of the error.
pub type Answer = Result<Vec<Vec<Value>>, i32>;

/// The primary code of an error of SQLite.
pub fn code_of(error: rusqlite::Error) -> i32 {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => error.extended_code & 0xff,
        rusqlite::Error::SqlInputError { error, .. } => error.extended_code & 0xff,
        other => panic!("not an error of SQLite: {other}"),
    }
}

/// Runs a statement to its end.
pub fn ask(connection: &Connection, sql: &str) -> Answer {
    let rows = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
        rows.collect()
    };
    rows().map_err(code_of)
}
