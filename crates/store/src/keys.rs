//! Key slots of an open encrypted database.

use crate::KeyToken;
use crate::database::last_error;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Why the keys were not changed or listed.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The only slot.
    #[error(
        "slot {0} is the last one: without it nothing opens the database any more; add another \
         key first"
    )]
    LastSlot(usize),
    /// No such slot.
    #[error("slot {0} is empty; `strongroom key list` shows the slots in use")]
    NoSuchSlot(usize),
    /// The storage engine refused.
    #[error("{}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Storage {
        /// What SQLite said.
        source: rusqlite::Error,
        /// What the storage engine said.
        detail: Option<String>,
    },
    /// The answer of the storage engine makes no sense.
    #[error("the list of key slots is not readable: {0}")]
    Answer(#[from] serde_json::Error),
}

/// A key slot in use.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// Its number.
    pub slot: usize,
    /// `passphrase`, `raw-key` or `key-file`.
    pub kind: String,
    /// Whether it opened this connection; absent where no key was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_this: Option<bool>,
    /// Memory of the derivation, in KiB; absent for raw keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kib: Option<u32>,
    /// Passes of the derivation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// Lanes of the derivation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "slot {}: {}", self.slot, self.kind)?;
        if let (Some(memory_kib), Some(passes), Some(lanes)) =
            (self.memory_kib, self.passes, self.lanes)
        {
            let (memory_mib, s) = (memory_kib / 1024, if lanes == 1 { "" } else { "s" });
            write!(
                formatter,
                " (Argon2id: {memory_mib} MiB, {passes} passes, {lanes} lane{s})"
            )?;
        }
        if self.opened_this == Some(true) {
            write!(formatter, ", in use now")?;
        }
        Ok(())
    }
}

/// All slots in use.
///
/// # Errors
/// When the database cannot be read.
pub fn list(connection: &Connection) -> Result<Vec<Slot>, KeysError> {
    let json = pragma(connection, "strongroom_keys")?.unwrap_or_default();
    Ok(serde_json::from_str(&json)?)
}

/// Fills a free slot; yields its number where the storage engine tells it.
///
/// # Errors
/// When no slot is free or the header cannot be written.
pub fn add(connection: &Connection, token: &KeyToken) -> Result<Option<usize>, KeysError> {
    let answer = pragma(
        connection,
        &format!("strongroom_key_add='token={}'", token.number()),
    )?;
    Ok(answer.and_then(|text| text.parse().ok()))
}

/// Replaces the slot that opened this connection.
///
/// # Errors
/// When the header cannot be written.
pub fn change(connection: &Connection, token: &KeyToken) -> Result<(), KeysError> {
    pragma(
        connection,
        &format!("strongroom_rekey='token={}'", token.number()),
    )
    .map(drop)
}

/// Empties a slot, unless it is the last one.
///
/// # Errors
/// When it is the last one or empty, or the header cannot be written.
pub fn remove(connection: &Connection, slot: usize) -> Result<(), KeysError> {
    let slots = list(connection)?;
    if !slots.iter().any(|used| used.slot == slot) {
        return Err(KeysError::NoSuchSlot(slot));
    }
    if slots.len() == 1 {
        return Err(KeysError::LastSlot(slot));
    }
    pragma(connection, &format!("strongroom_key_remove='{slot}'")).map(drop)
}

/// Runs a pragma that answers with one text or none.
fn pragma(connection: &Connection, pragma: &str) -> Result<Option<String>, KeysError> {
    let answer = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0));
    match answer {
        Ok(text) => Ok(text),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(source) => Err(KeysError::Storage {
            detail: last_error(connection),
            source,
        }),
    }
}
