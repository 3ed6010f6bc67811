//! Whether a pragma may change the keys of a file just now.
//!
//! SQLite carries a pragma of a VFS out while it prepares the statement, and tells the VFS neither
//! that it only explains it nor the statement. So what injected SQL, or a tool that explains or
//! checks statements, could lock the owner out with needs a word of whoever runs the program:
//! `keys_in_sql=on`. A token is such a word: only the program itself makes one.

use thiserror::Error;

use crate::database::{Shared, lock};
use crate::keys::main_of;

/// The variable that speaks for programs whose URIs say nothing.
const VARIABLE: &str = "STRONGROOM_KEYS_IN_SQL";

/// Why keys are not changed.
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

/// What a pragma would do to the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A secret or a slot that the text of a statement names.
    BySql,
    /// A secret that the program handed over.
    ByProgram,
    /// A data key: whoever opened the file opens it afterwards.
    OfPages,
}

impl Change {
    fn of(name: &str, value: Option<&str>) -> Option<Self> {
        if name == "strongroom_rotate" {
            // It empties all other slots.
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

/// Why a pragma is refused, if it is. The caller holds no lock on any database.
pub(crate) fn refusal(shared: &Shared, name: &str, value: Option<&str>) -> Option<Refusal> {
    let change = Change::of(name, value)?;
    let connection = lock(shared).identity.connection;
    // The main database alone speaks for the connection: SQL can attach one with a URI of its own.
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
    fn what_names_a_secret_or_a_slot_needs_the_setting() {
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
