//! Opens, compares and checks databases on the thread's disk.

use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;

use keyring::Credential;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use sqlite_linked::KeyToken;

use crate::base_vfs::{BASE_NAME, STRONGROOM_NAME, register};

/// Which SQLite is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Stock SQLite: a failure is a bug of the harness, or of SQLite.
    Stock,
    /// Strongroom over the same base VFS.
    Strongroom,
}

/// The number of keys that tests use.
pub const KEYS: usize = 4;

/// Raw key `number`, as hexadecimal digits.
pub fn key_digits(number: usize) -> String {
    format!("{:02x}", 0x11 + number).repeat(32)
}

/// The token of key `number`, for `key_token=` in a URI.
pub fn key_token(number: usize) -> u64 {
    static TOKENS: LazyLock<Vec<KeyToken>> = LazyLock::new(|| {
        let keys = (0..KEYS).map(|number| [0x11 + number as u8; 32]);
        keys.map(|key| KeyToken::new(Credential::raw_key(crypto::secret::Key::from_bytes(key))))
            .collect()
    });
    TOKENS[number].number()
}

impl Side {
    /// The URI of a database on the thread's disk, with key 0.
    pub fn uri(self, name: &str) -> String {
        self.uri_with_key(name, 0)
    }

    /// The same with another key.
    pub fn uri_with_key(self, name: &str, key: usize) -> String {
        match self {
            Side::Stock => format!("file:{name}?vfs={BASE_NAME}"),
            Side::Strongroom => {
                format!(
                    "file:{name}?vfs={STRONGROOM_NAME}&keys_in_sql=on&key_token={}",
                    key_token(key)
                )
            }
        }
    }
}

/// Opens a database by its URI.
///
/// # Errors
/// SQLite's.
pub fn open(uri: &str) -> rusqlite::Result<Connection> {
    register();
    Connection::open_with_flags(
        uri,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}

/// The first column of the first row, as text.
///
/// # Errors
///
/// SQLite's, followed by Strongroom's own message.
pub fn text(connection: &Connection, sql: &str) -> Result<String, String> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok(match row.get_ref(0)? {
            ValueRef::Null => String::new(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                String::from_utf8_lossy(bytes).into_owned()
            }
        })
    };
    connection
        .query_row(sql, [], read)
        .map_err(|error| explain(connection, sql, &error))
}

/// Runs statements.
///
/// # Errors
///
/// SQLite's, followed by Strongroom's own message.
pub fn run(connection: &Connection, sql: &str) -> Result<(), String> {
    connection
        .execute_batch(sql)
        .map_err(|error| explain(connection, sql, &error))
}

fn explain(connection: &Connection, sql: &str, error: &rusqlite::Error) -> String {
    let more: String = connection
        .query_row("PRAGMA strongroom_last_error", [], |row| row.get(0))
        .unwrap_or_default();
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    format!("{sql:.200}: {error} (code {code}): {more}")
}

/// A digest of the schema and of all rows of the named databases.
///
/// # Errors
///
/// SQLite's.
pub fn digest(connection: &Connection, schemas: &[&str]) -> rusqlite::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for schema in schemas {
        let list = format!(
            "SELECT name, type, tbl_name, sql FROM {schema}.sqlite_schema
             WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        );
        hash_rows(connection, &list, &mut hasher)?;
        let tables = format!(
            "SELECT name FROM {schema}.sqlite_schema
             WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        );
        let names: Vec<String> = connection
            .prepare(&tables)?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for name in names {
            let all = format!("SELECT * FROM {schema}.{name} ORDER BY 1");
            hash_rows(connection, &all, &mut hasher)?;
        }
    }
    Ok(hasher.finish())
}

fn hash_rows(
    connection: &Connection,
    sql: &str,
    hasher: &mut DefaultHasher,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => hasher.write_u8(0),
                ValueRef::Integer(number) => hasher.write_i64(number),
                ValueRef::Real(number) => hasher.write_u64(number.to_bits()),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    hasher.write_usize(bytes.len());
                    hasher.write(bytes);
                }
            }
        }
        hasher.write_u8(1);
    }
    hasher.write_u8(2);
    Ok(())
}

/// Runs all checks on a connection's databases, and returns the digest of their content.
///
/// # Errors
///
/// What is wrong.
pub fn check(connection: &Connection, side: Side, schemas: &[&str]) -> Result<u64, String> {
    let digest = digest(connection, schemas)
        .map_err(|error| explain(connection, "the digest of the content", &error))?;
    let integrity = text(connection, "PRAGMA integrity_check")?;
    if integrity != "ok" {
        return Err(format!("integrity_check: {integrity}"));
    }
    if side == Side::Strongroom {
        for schema in schemas {
            let status = text(connection, &format!("PRAGMA {schema}.strongroom_status"))?;
            if status.contains("\"state\":\"new\"") {
                // Nothing was ever committed, so there is no page to verify.
                continue;
            }
            let verdict = text(connection, &format!("PRAGMA {schema}.strongroom_verify"))?;
            if verdict != "ok" {
                return Err(format!("strongroom_verify of {schema}: {verdict}"));
            }
        }
    }
    Ok(digest)
}
