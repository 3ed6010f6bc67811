//! A process of a storm: executes one order after the other and answers each with one line.

use std::io::BufRead;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, MAIN_DB};

use crate::common::children::{Part, report};
use crate::common::{last_error, open_uri};
use crate::content::{Change, read_digest};

/// The first word of an answer from a worker without a connection.
const CLOSED: &str = "closed";

/// The pragma with which a storm gives key number `key`.
pub fn key_pragma(name: &str, key: u8) -> String {
    format!("PRAGMA {name}=\"x'{}'\"", format!("{key:02x}").repeat(32))
}

/// Rows as text, or SQLite's extended code with its message.
type Answer = Result<String, (i32, String)>;

struct Worker {
    path: String,
    connection: Option<Connection>,
}

/// Executes orders until they end.
pub fn work(part: &Part) {
    sqlite_linked::register().expect("registers");
    let mut worker = Worker {
        path: part.uri.clone(),
        connection: None,
    };
    report("ready");
    for order in std::io::stdin().lock().lines() {
        let answer = worker.obey(&order.expect("readable"));
        let (code, said) = match answer {
            Ok(said) => (0, said),
            Err((code, said)) => (code, said),
        };
        let state = match &worker.connection {
            Some(connection) if connection.is_autocommit() => "outside",
            Some(_) => "inside",
            None => CLOSED,
        };
        report(&format!("{code} {state} {}", said.replace('\n', " ")));
    }
}

impl Worker {
    fn obey(&mut self, order: &str) -> Answer {
        let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
        if verb == "close" {
            self.connection = None;
            return Ok(String::new());
        }
        if verb == "open" {
            return self.open(rest);
        }
        let connection = self.connection.as_ref().expect("open");
        match verb {
            "sql" => ask(connection, rest),
            "change" => {
                let (schema, change) = rest.split_once(' ').expect("two parts");
                let changed = Change::parse(change).run(connection, schema);
                changed
                    .map(|count| count.to_string())
                    .map_err(|error| failure(connection, &error))
            }
            "read" => read_digest(connection, rest).map_err(|error| failure(connection, &error)),
            "backup" => self.back_up(connection, rest),
            other => panic!("no order: {other}"),
        }
    }

    /// `KEY PARAMETERS PRAGMAS`.
    fn open(&mut self, rest: &str) -> Answer {
        let mut parts = rest.splitn(3, ' ');
        let mut next = || parts.next().expect("three parts");
        let (key, parameters, pragmas) = (next(), next(), next());
        let connection = open_uri(&format!(
            "{}?vfs=strongroom&keys_in_sql=on{parameters}",
            self.path
        ));
        connection.busy_timeout(Duration::ZERO).expect("set");
        let key = key_pragma("key", key.parse().expect("a number"));
        ask(&connection, &key)?;
        connection
            .execute_batch(pragmas)
            .map_err(|error| failure(&connection, &error))?;
        self.connection = Some(connection);
        Ok(String::new())
    }

    /// Copies the database a few pages at a time, reads the copy, and removes it.
    fn back_up(&self, connection: &Connection, pages: &str) -> Answer {
        let path = format!("{}-copy-{}", self.path, std::process::id());
        let pages = pages.parse().expect("a number");
        let copied = copy(connection, &path, pages).and_then(|copy| {
            let digest = read_digest(&copy, "main").map_err(|error| failure(&copy, &error))?;
            let sound = ask(&copy, "PRAGMA integrity_check")?;
            Ok(format!("{digest} {sound}"))
        });
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let path = format!("{}{suffix}", path.trim_start_matches("file:"));
            let _ = std::fs::remove_file(Path::new(&path));
        }
        copied
    }
}

/// Copies with SQLite's backup API, under a key for the copy alone.
fn copy(connection: &Connection, uri: &str, pages: i32) -> Result<Connection, (i32, String)> {
    let mut target = open_uri(&format!("{uri}?vfs=strongroom"));
    ask(&target, &key_pragma("key", 0xee))?;
    let failed = |error: rusqlite::Error| {
        let (code, message) = plain_failure(&error);
        (code, format!("{message}; {}", last_error(connection)))
    };
    let backup =
        Backup::new_with_names(connection, MAIN_DB, &mut target, MAIN_DB).map_err(failed)?;
    for _ in 0..10_000 {
        match backup.step(pages).map_err(failed)? {
            StepResult::Done => {
                drop(backup);
                return Ok(target);
            }
            StepResult::Busy | StepResult::Locked => {
                return Err((rusqlite::ffi::SQLITE_BUSY, "in the backup".to_owned()));
            }
            StepResult::More => std::thread::sleep(Duration::ZERO),
            other => panic!("{other:?}"),
        }
    }
    Err((rusqlite::ffi::SQLITE_BUSY, "others write on".to_owned()))
}

/// All rows of a statement, values joined by `|`, rows by spaces.
pub fn ask(connection: &Connection, sql: &str) -> Answer {
    let rows = || -> rusqlite::Result<String> {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|index| match row.get_ref(index) {
                Ok(rusqlite::types::ValueRef::Integer(number)) => number.to_string(),
                Ok(rusqlite::types::ValueRef::Text(text)) => {
                    String::from_utf8_lossy(text).into_owned()
                }
                other => format!("{other:?}"),
            });
            all.push(values.collect::<Vec<_>>().join("|"));
        }
        Ok(all.join(" "))
    };
    rows().map_err(|error| failure(connection, &error))
}

fn failure(connection: &Connection, error: &rusqlite::Error) -> (i32, String) {
    let (code, message) = plain_failure(error);
    let more = match code & 0xff {
        rusqlite::ffi::SQLITE_BUSY | rusqlite::ffi::SQLITE_LOCKED => String::new(),
        _ => last_error(connection),
    };
    (code, format!("{message}; {more}"))
}

fn plain_failure(error: &rusqlite::Error) -> (i32, String) {
    let code = match error {
        rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. } => {
            error.extended_code
        }
        other => panic!("{other}"),
    };
    (code, error.to_string())
}
