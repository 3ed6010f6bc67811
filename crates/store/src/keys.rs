//! Key slots of an open encrypted database.

use crate::KeyToken;
use crate::database::last_error;
use page_codec::header::SlotKind;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Why the keys could not be changed or listed.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The slot is the only one in use.
    #[error(
        "slot {0} is the last one: without it nothing opens the database any more; add another \
         key first"
    )]
    LastSlot(usize),
    /// The slot does not exist.
    #[error("slot {0} is empty; `strongroom key list` shows the slots in use")]
    NoSuchSlot(usize),
    /// The storage engine refused.
    #[error("{}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Storage {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: Option<String>,
    },
    /// The storage engine's answer cannot be parsed.
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
    /// Whether it opened this connection; absent if no key was used.
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
///
/// If the database cannot be read.
pub fn list(connection: &Connection) -> Result<Vec<Slot>, KeysError> {
    let json = pragma(connection, "strongroom_keys")?.unwrap_or_default();
    Ok(serde_json::from_str(&json)?)
}

/// Fills a free slot; returns its number if the storage engine reports it.
///
/// # Errors
///
/// If no slot is free or the header cannot be written.
pub fn add(connection: &Connection, token: &KeyToken) -> Result<Option<usize>, KeysError> {
    let answer = pragma(
        connection,
        &format!("strongroom_key_add='token={}'", token.number()),
    )?;
    Ok(answer.and_then(|text| text.parse().ok()))
}

/// Replaces the secret of the slot that opened this connection.
///
/// # Errors
///
/// If the header cannot be written.
pub fn change(connection: &Connection, token: &KeyToken) -> Result<(), KeysError> {
    pragma(
        connection,
        &format!("strongroom_rekey='token={}'", token.number()),
    )
    .map(drop)
}

/// What else is lost if a slot is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The key that opened this connection.
    KeyInUse,
    /// The last passphrase: only keys, which nobody can memorise, would still open the file.
    LastPassphrase,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Loss::KeyInUse => "it is the one that opened the file just now",
            Loss::LastPassphrase => "it is the last passphrase, and only keys are left then",
        })
    }
}

/// What would be lost if the slot were removed.
///
/// # Errors
///
/// If it is the last one or empty.
pub fn losses(slots: &[Slot], slot: usize) -> Result<Vec<Loss>, KeysError> {
    let Some(removed) = slots.iter().find(|used| used.slot == slot) else {
        return Err(KeysError::NoSuchSlot(slot));
    };
    if slots.len() == 1 {
        return Err(KeysError::LastSlot(slot));
    }
    let passphrase = SlotKind::Passphrase.name();
    let passphrases = slots.iter().filter(|used| used.kind == passphrase).count();
    let mut losses = Vec::new();
    if removed.opened_this == Some(true) {
        losses.push(Loss::KeyInUse);
    }
    if removed.kind == passphrase && passphrases == 1 {
        losses.push(Loss::LastPassphrase);
    }
    Ok(losses)
}

/// Empties a slot, unless it is the last one. The connection must come from
/// [`open_for_key_changes`](crate::database::open_for_key_changes).
///
/// # Errors
///
/// If it is the last one or empty, or the header cannot be written.
pub fn remove(connection: &Connection, slot: usize) -> Result<(), KeysError> {
    losses(&list(connection)?, slot)?;
    pragma(connection, &format!("strongroom_key_remove='{slot}'")).map(drop)
}

/// Runs a pragma that returns one text or nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(kinds: &[&str]) -> Vec<Slot> {
        let slot = |(slot, kind): (usize, &&str)| Slot {
            slot,
            kind: (*kind).to_owned(),
            opened_this: Some(slot == 0),
            memory_kib: None,
            passes: None,
            lanes: None,
        };
        kinds.iter().enumerate().map(slot).collect()
    }

    #[test]
    fn losses_of_a_removal_are_known_in_advance() {
        let two = slots(&["passphrase", "key-file"]);
        assert_eq!(
            losses(&two, 0).unwrap(),
            [Loss::KeyInUse, Loss::LastPassphrase]
        );
        assert_eq!(losses(&two, 1).unwrap(), []);
        let three = slots(&["raw-key", "passphrase", "passphrase"]);
        assert_eq!(losses(&three, 0).unwrap(), [Loss::KeyInUse]);
        assert_eq!(losses(&three, 2).unwrap(), []);
        assert!(matches!(losses(&three, 3), Err(KeysError::NoSuchSlot(3))));
        let one = slots(&["passphrase"]);
        assert!(matches!(losses(&one, 0), Err(KeysError::LastSlot(0))));
    }
}
