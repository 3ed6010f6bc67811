//! Editing files behind SQLite's back, and tests in separate processes.

use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;

use super::{Room, open_uri};

/// Offset of the first page.
pub const PAGES_OFFSET: usize = page_codec::header::REGION_SIZE;
/// Page size of the databases that are edited.
pub const PAGE_SIZE: usize = 4096;

/// Changes the bytes of a file that is not open.
pub fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("readable");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("writable");
}

/// Offset of a page, from 1, in a database file.
pub fn page_offset(number: usize) -> usize {
    PAGES_OFFSET + (number - 1) * PAGE_SIZE
}

/// The text of row `a` in version `version` of the table that [`fill`] creates; all versions have
/// the same size.
pub fn row_text(a: i64, version: u8) -> String {
    format!("{version}-{a:06}/").repeat(20)
}

/// Makes a table of that name with `rows` rows.
pub fn fill(connection: &Connection, table: &str, rows: i64) {
    connection
        .execute_batch(&format!(
            "BEGIN; CREATE TABLE {table}(a INTEGER PRIMARY KEY, b TEXT)"
        ))
        .expect("creates");
    let mut insert = connection
        .prepare(&format!("INSERT INTO {table} VALUES(?1, ?2)"))
        .expect("prepares");
    for a in 1..=rows {
        insert.execute((a, row_text(a, 0))).expect("inserts");
    }
    connection.execute_batch("COMMIT").expect("commits");
}

/// Reads a table to its end or to the first error; every row read must be right.
pub fn read_rows(connection: &Connection, table: &str) -> Result<i64, Failure> {
    let mut count = 0;
    let mut statement = connection
        .prepare(&format!("SELECT a, b FROM {table} ORDER BY a"))
        .map_err(|error| Failure::new(connection, error))?;
    let mut rows = statement
        .query([])
        .map_err(|error| Failure::new(connection, error))?;
    while let Some(row) = rows
        .next()
        .map_err(|error| Failure::new(connection, error))?
    {
        count += 1;
        let (a, b): (i64, String) = (row.get(0).expect("a"), row.get(1).expect("b"));
        assert_eq!(a, count, "rows come in order");
        assert!((0..10).any(|version| b == row_text(a, version)), "{a}: {b}");
    }
    Ok(count)
}

/// What a user sees of a failure.
#[derive(Debug)]
pub struct Failure {
    /// SQLite's extended result code.
    pub code: i32,
    /// The message of the failed call.
    pub message: String,
    /// The answer to `PRAGMA strongroom_last_error`.
    pub detail: String,
}

impl Failure {
    pub fn new(connection: &Connection, error: rusqlite::Error) -> Self {
        let code = match &error {
            rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
            rusqlite::Error::SqlInputError { error, .. } => error.extended_code,
            other => panic!("not an error of SQLite: {other}"),
        };
        Failure {
            code,
            message: error.to_string(),
            detail: super::last_error(connection),
        }
    }
}

/// Runs a statement that must fail, and returns its failure.
pub fn failure(connection: &Connection, sql: &str) -> Failure {
    let error = connection
        .prepare(sql)
        .and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        })
        .expect_err(sql);
    Failure::new(connection, error)
}

/// The URI of a database in the room with these parameters and without the room's key; SQL may
/// change its keys.
pub fn uri(room: &Room, name: &str, parameters: &str) -> String {
    let path = room.path(name);
    format!(
        "file:{}?vfs=strongroom&keys_in_sql=on{parameters}",
        path.display()
    )
}

/// A connection by [`uri`].
pub fn open(room: &Room, name: &str, parameters: &str) -> Connection {
    open_uri(&uri(room, name, parameters))
}

/// Asserts that a statement fails because key, header or file is wrong, with this message.
pub fn assert_refused(connection: &Connection, sql: &str, said: &str) {
    let failure = failure(connection, sql);
    assert_eq!(
        failure.code,
        rusqlite::ffi::SQLITE_NOTADB,
        "{sql}: {failure:?}"
    );
    assert!(failure.detail.contains(said), "{sql}: {failure:?}");
}

const INSIDE: &str = "STRONGROOM_TEST_INSIDE";

/// Whether this process was started by [`own_process`] for that test.
pub fn is_inside(test: &str) -> bool {
    std::env::var(INSIDE).is_ok_and(|inside| inside == test)
}

/// A process that runs only one test of this binary.
pub fn own_process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, test)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs `inside` in a separate process with these environment variables, for tests of process-wide
/// state.
pub fn in_own_process(test: &str, environment: &[(&str, &str)], inside: impl FnOnce()) {
    if is_inside(test) {
        return inside();
    }
    let output = own_process(test)
        .envs(environment.iter().copied())
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
