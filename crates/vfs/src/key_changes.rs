//! Whether a pragma may change the keys of a file.
//!
//! SQLite runs a VFS's pragma while it prepares the statement, and does not say what the statement
//! is, or whether it is only being explained. So injected SQL, or a tool that explains or checks
//! statements, could lock the owner out. Pragmas that could do this need consent from whoever runs
//! the program: `keys_in_sql=on`. A token counts as consent, since only the program itself can
//! create one.

use thiserror::Error;

use crate::database::{Shared, lock};
use crate::keys::main_of;

/// The default for programs whose URIs do not set `keys_in_sql`.
const VARIABLE: &str = "STRONGROOM_KEYS_IN_SQL";

/// Why a change of keys is refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    #[error(
        "keys are not changed by SQL: SQLite carries such a pragma out when it prepares it, under \
         EXPLAIN too, and injected SQL could lock the owner out. Use `strongroom key` or a token; \
         or say keys_in_sql=on in the URI of the main database, or STRONGROOM_KEYS_IN_SQL=on"
    )]
    NotInSql,
    #[error(
        "keys are not changed inside a transaction, since they would stay when it is rolled back; \
         end it first"
    )]
    InTransaction,
    #[error("keys are not changed while PRAGMA query_only is on, or cannot be asked")]
    QueryOnly,
}

/// What a pragma would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A key slot, with a secret or slot number in the text of a statement.
    BySql,
    /// A key slot, with a secret that the program handed over.
    ByProgram,
    /// The data key, which locks nobody out who could open the file.
    OfPages,
}

impl Change {
    fn of(name: &str, value: Option<&str>) -> Option<Self> {
        if name == "strongroom_rotate" {
            // `start-alone` also empties all other slots.
            let alone = value.is_some_and(|value| value.eq_ignore_ascii_case("start-alone"));
            return Some(if alone {
                Change::BySql
            } else {
                Change::OfPages
            });
        }
        let value = value?;
        let by_token = value.starts_with("token=");
        match name {
            "rekey" | "hexrekey" => Some(Change::BySql),
            "strongroom_key_add" | "strongroom_key_remove" => Some(match by_token {
                true => Change::ByProgram,
                false => Change::BySql,
            }),
            "strongroom_rekey" => Some(Change::ByProgram),
            _ => None,
        }
    }
}

/// Returns why a pragma is refused, or `None` if it is allowed. The caller holds no lock on any
/// database.
pub(crate) fn refusal(shared: &Shared, name: &str, value: Option<&str>) -> Option<Refusal> {
    let change = Change::of(name, value)?;
    let connection = lock(shared).identity.connection;
    // Only the main database's URI counts: SQL can attach a database with a URI of its own.
    let setting = connection
        .and_then(main_of)
        .and_then(|main| lock(&main).asked.keys_in_sql);
    if change == Change::BySql && !setting.unwrap_or_else(allowed_by_environment) {
        return Some(Refusal::NotInSql);
    }
    let connection = connection?;
    if change != Change::OfPages && connection.is_in_transaction() {
        return Some(Refusal::InTransaction);
    }
    match connection.is_query_only() {
        Some(false) => None,
        Some(true) | None => Some(Refusal::QueryOnly),
    }
}

fn allowed_by_environment() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragmas_with_a_secret_or_a_slot_need_the_setting() {
        for (name, value) in [
            ("rekey", "x"),
            ("rekey", "token=1"),
            ("hexrekey", "00"),
            ("strongroom_key_add", "x"),
            ("strongroom_key_remove", "1"),
            ("strongroom_rotate", "START-alone"),
        ] {
            assert_eq!(Change::of(name, Some(value)), Some(Change::BySql), "{name}");
        }
        for (name, value) in [
            ("strongroom_key_add", "token=1"),
            ("strongroom_key_remove", "token=1 slot=1"),
            ("strongroom_rekey", "token=1"),
        ] {
            let change = Change::of(name, Some(value));
            assert_eq!(change, Some(Change::ByProgram), "{name}");
        }
        for value in [None, Some("start"), Some("1000")] {
            assert_eq!(
                Change::of("strongroom_rotate", value),
                Some(Change::OfPages)
            );
        }
        for (name, value) in [
            ("key", Some("x")),
            ("rekey", None),
            ("strongroom_rotation", None),
            ("strongroom_keys", None),
        ] {
            assert_eq!(Change::of(name, value), None, "{name}");
        }
    }
}
