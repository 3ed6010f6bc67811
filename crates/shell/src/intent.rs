//! Whether command-line arguments would write anything: if not, a database that does not exist is
//! probably a mistyped name.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

/// Dot commands that write to the database, create it, or open another.
const WRITING: [&str; 6] = [
    ".decrypt", ".encrypt", ".import", ".open", ".read", ".rekey",
];

/// Whether these statements and dot commands, one per argument, write nothing to an empty database.
/// A statement that fails, such as a query of a missing table, writes nothing.
#[must_use]
pub fn only_reads(arguments: &[String]) -> bool {
    let Ok(empty) = Connection::open_in_memory() else {
        return false;
    };
    arguments.iter().all(|argument| {
        let text = argument.trim_start();
        match text.split_whitespace().next() {
            Some(name) if name.starts_with('.') => !WRITING.contains(&name),
            _ => statements_read(&empty, text),
        }
    })
}

fn statements_read(empty: &Connection, text: &str) -> bool {
    let mut batch = Batch::new(empty, text);
    loop {
        match batch.next() {
            Ok(Some(statement)) if statement.readonly() => {}
            Ok(Some(_)) => return false,
            Ok(None) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    fn reads(arguments: &[&str]) -> bool {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        only_reads(&arguments)
    }

    #[test]
    fn queries_of_missing_tables_create_nothing() {
        for arguments in [
            &["select 1"][..],
            &["select * from t; select 2"],
            &[".tables", ".mode json", " .schema t"],
            &["-- a comment", "PRAGMA page_count"],
            &["insert into t values(1)"],
        ] {
            assert!(reads(arguments), "{arguments:?}");
        }
    }

    #[test]
    fn whatever_makes_something_is_seen() {
        for arguments in [
            &["create table t(a)"][..],
            &["select 1; create table t(a)"],
            &["select 1", "create table t(a)", "select * from t"],
            &[".mode json", ".import a.csv t"],
            &["PRAGMA user_version = 5"],
            &["PRAGMA journal_mode = wal"],
            &["VACUUM"],
        ] {
            assert!(!reads(arguments), "{arguments:?}");
        }
    }
}
