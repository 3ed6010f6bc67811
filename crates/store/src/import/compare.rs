//! Checks that a copy is intact, and has the same rows as its source.

use crate::convert::{ConvertError, copy_error};
use crate::import::ImportError;
use rusqlite::Connection;

/// A number that changes whenever another connection commits.
pub(super) fn data_version(connection: &Connection, schema: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {schema}.data_version"), [], |row| {
        row.get(0)
    })
}

/// Row counts of all tables in one state of a database.
pub(super) struct Counts {
    tables: Vec<(String, i64)>,
    pub(super) data_version: i64,
}

/// Counts the rows of all tables with pages, including the shadow tables of virtual tables.
pub(super) fn count_rows(connection: &Connection, schema: &str) -> rusqlite::Result<Counts> {
    let transaction = connection.unchecked_transaction()?;
    let names = format!(
        "SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND rootpage > 0 \
         ORDER BY name"
    );
    let names: Vec<String> = transaction
        .prepare(&names)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let count = |name: String| {
        let count = row_count(&transaction, schema, &name)?;
        Ok((name, count))
    };
    Ok(Counts {
        tables: names
            .into_iter()
            .map(count)
            .collect::<rusqlite::Result<_>>()?,
        data_version: data_version(&transaction, schema)?,
    })
}

/// Scans the table itself: an index might need collations that are not available.
fn row_count(connection: &Connection, schema: &str, table: &str) -> rusqlite::Result<i64> {
    let table = table.replace('"', "\"\"");
    let sql = format!("SELECT count(*) FROM {schema}.\"{table}\" NOT INDEXED");
    connection.query_row(&sql, [], |row| row.get(0))
}

impl Counts {
    pub(super) fn tables(&self) -> u64 {
        self.tables.len() as u64
    }

    pub(super) fn rows(&self) -> u64 {
        self.tables
            .iter()
            .map(|(_, rows)| rows.unsigned_abs())
            .sum()
    }

    /// Fails unless the copy has the same tables with the same number of rows.
    pub(super) fn expect_same(&self, copy: &Connection) -> Result<(), ImportError> {
        for (table, source_rows) in &self.tables {
            let copied = row_count(copy, "main", table).map_err(|error| copy_error(copy, error))?;
            if copied != *source_rows {
                return Err(ImportError::Rows {
                    table: table.clone(),
                    copied,
                    source_rows: *source_rows,
                });
            }
        }
        Ok(())
    }
}

/// Runs SQLite's own integrity check over every table, index and free page of the copy.
pub(super) fn check_whole(copy: &Connection) -> Result<(), ConvertError> {
    let answer: String = copy
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|source| copy_error(copy, source))?;
    if answer == "ok" {
        Ok(())
    } else {
        Err(ConvertError::Unsound(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    }

    #[test]
    fn a_missing_row_and_a_missing_table_are_found() {
        let tables = "CREATE TABLE a(x); CREATE TABLE \"b\"\"c\"(x PRIMARY KEY) WITHOUT ROWID;
                      INSERT INTO a VALUES (1), (2); INSERT INTO \"b\"\"c\" VALUES (1);";
        let source = database(tables);
        let counts = count_rows(&source, "main").unwrap();
        assert_eq!((counts.tables(), counts.rows()), (2, 3));
        counts.expect_same(&database(tables)).unwrap();
        let fewer = database(&format!("{tables} DELETE FROM a WHERE x = 1"));
        let error = counts.expect_same(&fewer).unwrap_err();
        let ImportError::Rows {
            table,
            copied,
            source_rows,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((table.as_str(), copied, source_rows), ("a", 1, 2));
        let without = database(&format!("{tables} DROP TABLE a"));
        assert!(counts.expect_same(&without).is_err());
    }
}
