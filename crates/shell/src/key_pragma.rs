//! Detects pragmas that carry a key, with SQLite's own parser: with comments, quotes, a schema,
//! under `EXPLAIN`, after other statements.
//!
//! A separate in-memory connection prepares the text. Its authorizer receives the name of each
//! pragma and denies it, so that none is executed.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// A `PRAGMA` with a key, as found by [`key_pragma`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPragma {
    /// `PRAGMA key`, or a variant.
    Key,
    /// `PRAGMA rekey`, or a variant.
    Rekey,
    /// `PRAGMA strongroom_key_add`, or a variant.
    Slot,
}

impl KeyPragma {
    /// `None` for a pragma without a secret. A token is not a secret: it is meaningless in other
    /// processes.
    fn of(name: &str, value: Option<&str>) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "key" | "hexkey" | "textkey" => Some(KeyPragma::Key),
            "rekey" | "hexrekey" | "textrekey" => Some(KeyPragma::Rekey),
            "strongroom_key_add" | "strongroom_rekey" => {
                let is_token = value.is_some_and(|value| value.starts_with("token="));
                (!is_token).then_some(KeyPragma::Slot)
            }
            _ => None,
        }
    }
}

/// The first pragma in a text that sets a key. A SQLite without encryption silently ignores such
/// pragmas, so the shell looks for them itself.
///
/// If the text cannot be checked, for example for lack of memory, that is an error.
///
/// # Errors
///
/// If SQLite cannot open an in-memory connection.
pub fn key_pragma(text: &str) -> rusqlite::Result<Option<KeyPragma>> {
    // A keyword has no other spelling, and most texts contain no pragma.
    if !text.to_ascii_lowercase().contains("pragma") {
        return Ok(None);
    }
    let scratch = Scratch::new()?;
    Ok(starts(text).find_map(|start| scratch.key_pragma(&text[start..])))
}

/// Positions where a statement may begin: the start, and after each semicolon or line end. Some are
/// inside a text or a comment; what begins there is not a complete pragma, except by intent.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let ends = text.bytes().enumerate();
    let behind = ends.filter(|(_, byte)| matches!(byte, b';' | b'\n'));
    std::iter::once(0).chain(behind.map(|(end, _)| end + 1))
}

struct Scratch {
    connection: Connection,
    heard: Arc<Mutex<Option<KeyPragma>>>,
}

impl Scratch {
    fn new() -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        let heard = Arc::new(Mutex::new(None));
        let told = Arc::clone(&heard);
        connection.authorizer(Some(move |context: AuthContext<'_>| match context.action {
            AuthAction::Pragma {
                pragma_name,
                pragma_value,
            } => {
                let found = KeyPragma::of(pragma_name, pragma_value);
                *told.lock().unwrap_or_else(PoisonError::into_inner) = found;
                Authorization::Deny
            }
            _ => Authorization::Allow,
        }))?;
        Ok(Scratch { connection, heard })
    }

    /// The pragma in the first statement of a text, if it sets a key.
    fn key_pragma(&self, text: &str) -> Option<KeyPragma> {
        let schema = unknown_schema(self.connection.prepare(text).err()?);
        if let Some(schema) = schema {
            // Stands in for a database that is attached to the real connection.
            let attached = format!("ATTACH ':memory:' AS {schema}");
            if self.connection.execute_batch(&attached).is_ok() {
                // Always fails, because the pragma is denied.
                let _ = self.connection.prepare(text);
                let _ = self.connection.execute_batch(&format!("DETACH {schema}"));
            }
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.take()
    }
}

/// The schema that a statement names and that the scratch connection lacks, as spelled in the
/// statement.
fn unknown_schema(error: rusqlite::Error) -> Option<String> {
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        _ => return None,
    };
    Some(message.strip_prefix("unknown database ")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<KeyPragma> {
        key_pragma(text).unwrap()
    }

    #[test]
    fn key_pragmas_are_seen_however_they_are_written() {
        for text in [
            "PRAGMA key='x'",
            " pragma main.\"key\" = x",
            "pragma main . key = 'x'",
            "PRAGMA/**/key='x'",
            "/* a comment */ pragma -- another\n key('x')",
            "-- ;\npragma key='x'",
            "explain pragma key='x'",
            "EXPLAIN QUERY PLAN PRAGMA [hexkey]='x'",
            "select 1; pragma key='x'; select 2",
            "select * from no_such_table; pragma `key`='x'",
            "insert into t values(';'); pragma temp.key='x'",
            "pragma \"an other\".key='x'",
            "create trigger r after insert on t begin select 1; end; pragma key=x",
            ".tables\npragma key='x'",
            "\u{feff}pragma key='x'",
        ] {
            assert_eq!(found(text), Some(KeyPragma::Key), "{text}");
        }
        assert_eq!(found("pragma main.rekey('x')"), Some(KeyPragma::Rekey));
        assert_eq!(found("pragma hexrekey=00"), Some(KeyPragma::Rekey));
        for text in [
            "pragma strongroom_key_add='x'",
            "explain pragma main . strongroom_key_add('x')",
            "pragma strongroom_rekey='a passphrase by mistake'",
        ] {
            assert_eq!(found(text), Some(KeyPragma::Slot), "{text}");
        }
    }

    #[test]
    fn other_texts_are_let_be() {
        for text in [
            "",
            "é",
            "pragma keys",
            "pragma foreign_keys=on",
            "pragma main.strongroom_key_remove=1",
            "pragma strongroom_key_add='token=3'",
            "select 'pragma key'",
            "select 'pragma key=1'; select \"pragma\" from key",
            "-- pragma key='x'",
            "create table pragma_key(a)",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_of_a_text_is_carried_out() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("made");
        let attach = format!("attach '{}' as a; pragma a.key='x'", file.display());
        assert_eq!(found(&attach), Some(KeyPragma::Key));
        assert!(!file.exists());
    }
}
