//! Detects lines with a key or passphrase, which must not be kept in a history.

use crate::key_pragma::key_pragma;

/// Whether a line may be kept in a history because it has no secret in it.
pub fn may_be_remembered(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with('.') {
        return !gives_key_by_command(line);
    }
    !mentions_key_pragma(line)
}

/// Whether a line is a dot command with a passphrase.
fn gives_key_by_command(line: &str) -> bool {
    let Some(command) = line.strip_prefix('.') else {
        return false;
    };
    let (name, argument) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    // Commands may be abbreviated, and a mistyped one still has the secret after it.
    let names = ["encrypt", "decrypt", "rekey"];
    let keyed = names.iter().any(|full| full.starts_with(name))
        || crate::words::nearest(name, names).is_some();
    keyed && !argument.trim().is_empty()
}

/// Whether a text definitely sets a key or passphrase, by a dot command or a `PRAGMA`.
///
/// # Errors
///
/// If SQLite cannot be asked.
pub fn gives_key(text: &str) -> rusqlite::Result<bool> {
    let mut lines = text.lines();
    if lines.any(|line| gives_key_by_command(line.trim_start())) {
        return Ok(true);
    }
    Ok(key_pragma(text)?.is_some())
}

/// Whether a text might set a key by `PRAGMA`; prefers false positives.
fn mentions_key_pragma(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let names_key = ["key", "token"].iter().any(|word| text.contains(word));
    // `ATTACH ... KEY '...'`, and URIs with `passphrase=` or `key=`.
    let by_other_means = text.contains("passphrase") || (text.contains("attach") && names_key);
    (text.contains("pragma") && names_key) || by_other_means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_secret_are_not_remembered() {
        let secret = [
            ".encrypt passphrase",
            "  .decrypt 'my passphrase'",
            ".rekey x",
            ".enc x",
            ".encrpyt x",
            "PRAGMA key='x';",
            "pragma main.rekey = 'x';",
            "select 1; pragma  hexkey='00';",
            "PRAGMA strongroom_key_add='token=3';",
            "attach 'file:x?key_file=y' as z;",
        ];
        for line in secret {
            assert!(!may_be_remembered(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_remembered() {
        let open = [
            ".encrypt",
            ".decrypt  ",
            ".tables x",
            ".schema",
            "select * from t;",
            "pragma page_size=4096;",
            "create table t(a integer primary key);",
        ];
        for line in open {
            assert!(may_be_remembered(line), "{line}");
        }
    }

    #[test]
    fn arguments_that_give_a_key_are_seen() {
        assert!(gives_key("select 1; pragma key='x'").unwrap());
        assert!(gives_key("select 1;\n.decrypt x").unwrap());
        assert!(!gives_key("select passphrase from t; pragma page_size").unwrap());
        assert!(!gives_key(".decrypt").unwrap());
    }
}
