//! The names in the open database, read for completion.
//!
//! Never prompts and never waits: a database that is locked by encryption, or by another program,
//! offers no names.

use rusqlite::{Connection, Params};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// The names of the open database.
pub trait Names {
    /// The databases: `main` and the attached ones.
    fn databases(&self) -> Vec<String>;
    /// Tables and views of one database, or of all.
    fn tables(&self, database: Option<&str>) -> Vec<String>;
    /// The columns of a table or view; empty if there is none of that name.
    fn columns(&self, table: &str) -> Vec<String>;
}

/// Reads names from the database that is open at the time. Does not keep it open.
#[derive(Clone, Default)]
pub struct SchemaNames(Rc<RefCell<Weak<Connection>>>);

/// The most names that are offered.
const NAMES_MAX: u32 = 2000;

impl SchemaNames {
    pub(crate) fn set(&self, connection: &Rc<Connection>) {
        *self.0.borrow_mut() = Rc::downgrade(connection);
    }

    fn read(&self, sql: &str, parameters: impl Params) -> Vec<String> {
        let connection = self.0.borrow().upgrade();
        let read = |connection: Rc<Connection>| {
            without_patience(&connection, || {
                let mut statement = connection.prepare(sql)?;
                let names = statement.query_map(parameters, |row| row.get(0))?;
                names.collect()
            })
        };
        connection
            .and_then(|connection| read(connection).ok())
            .unwrap_or_default()
    }
}

/// Runs something with a busy timeout of zero.
fn without_patience<T>(
    connection: &Connection,
    act: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let usual_ms: i64 = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    connection.busy_timeout(Duration::ZERO)?;
    let done = act();
    connection.busy_timeout(Duration::from_millis(usual_ms.unsigned_abs()))?;
    done
}

impl Names for SchemaNames {
    fn databases(&self) -> Vec<String> {
        self.read("SELECT name FROM pragma_database_list ORDER BY seq", [])
    }

    fn tables(&self, database: Option<&str>) -> Vec<String> {
        let sql = format!(
            "SELECT DISTINCT name FROM pragma_table_list \
             WHERE (?1 IS NULL OR schema = ?1 COLLATE NOCASE) AND type <> 'shadow' \
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT {NAMES_MAX}"
        );
        self.read(&sql, [database])
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let sql = format!(
            "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1 \
             ORDER BY cid LIMIT {NAMES_MAX}"
        );
        self.read(&sql, [table])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_open_database() {
        let connection = Rc::new(Connection::open_in_memory().unwrap());
        connection
            .execute_batch(
                "CREATE TABLE books(id INTEGER PRIMARY KEY, title, length AS (1));
                 CREATE VIEW titles AS SELECT title FROM books;
                 CREATE VIEW broken AS SELECT * FROM none;
                 ATTACH ':memory:' AS attic; CREATE TABLE attic.old(a)",
            )
            .unwrap();
        connection
            .busy_timeout(Duration::from_millis(1234))
            .unwrap();
        let names = SchemaNames::default();
        assert!(names.tables(None).is_empty());
        names.set(&connection);
        assert_eq!(names.tables(None), ["books", "broken", "old", "titles"]);
        assert_eq!(names.tables(Some("ATTIC")), ["old"]);
        assert_eq!(names.databases(), ["main", "attic"]);
        assert_eq!(names.columns("Books"), ["id", "title", "length"]);
        assert_eq!(names.columns("titles"), ["title"]);
        assert!(names.columns("broken").is_empty() && names.columns("none").is_empty());
        let patience_ms: i64 = connection
            .query_row("PRAGMA busy_timeout", [], |row| row.get(0))
            .unwrap();
        assert_eq!(patience_ms, 1234);
        drop(connection);
        assert!(names.tables(None).is_empty());
    }

    #[test]
    fn completion_does_not_wait_for_a_locked_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch("CREATE TABLE t(a); BEGIN EXCLUSIVE")
            .unwrap();
        let connection = Rc::new(Connection::open(&path).unwrap());
        // A wait would never end.
        connection
            .busy_timeout(Duration::from_secs(1 << 20))
            .unwrap();
        let names = SchemaNames::default();
        names.set(&connection);
        assert!(names.tables(None).is_empty());
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(names.tables(None), ["t"]);
    }
}
