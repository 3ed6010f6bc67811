//! Lines that carry a key or a passphrase, which no history may keep.

/// Whether a line may be kept in a history: it has no secret in it.
pub fn may_be_remembered(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with('.') {
        return !gives_key_by_command(line);
    }
    !mentions_key_pragma(line)
}

/// Whether a line is a dot command with a passphrase behind it.
fn gives_key_by_command(line: &str) -> bool {
    let Some(command) = line.strip_prefix('.') else {
        return false;
    };
    let (name, argument) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    // Commands may be shortened, and a slip of the finger still has the secret behind it.
    let names = ["encrypt", "decrypt", "rekey"];
    let keyed = names.iter().any(|full| full.starts_with(name))
        || crate::words::nearest(name, names).is_some();
    keyed && !argument.trim().is_empty()
}

/// Whether a text surely gives a key or a passphrase, by a dot command or a `PRAGMA`.
pub fn gives_key(text: &str) -> bool {
    let by_command = text
        .lines()
        .any(|line| gives_key_by_command(line.trim_start()));
    by_command
        || text
            .split(';')
            .any(|statement| key_pragma(statement).is_some())
}

/// Whether a text may set a key by `PRAGMA`; rather too often than once too little.
fn mentions_key_pragma(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let names_key = ["key", "token"].iter().any(|word| text.contains(word));
    // `ATTACH ... KEY '...'`, and URIs with `passphrase=` or `key=`.
    let by_other_means = text.contains("passphrase") || (text.contains("attach") && names_key);
    (text.contains("pragma") && names_key) || by_other_means
}

/// A `PRAGMA` that gives a key, as found by [`key_pragma`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPragma {
    /// `PRAGMA key`, or one of its kin.
    Key,
    /// `PRAGMA rekey`, or one of its kin.
    Rekey,
}

/// Whether a statement is a `PRAGMA` by which programs give a key. A SQLite without encryption
/// ignores these without a word, so the shell looks for them itself.
pub fn key_pragma(statement: &str) -> Option<KeyPragma> {
    let rest = strip_keyword(statement.trim_start(), "pragma")?;
    let name: String = rest
        .trim_start()
        .chars()
        .take_while(|&character| character.is_alphanumeric() || "_.\"".contains(character))
        .filter(|&character| character != '"')
        .collect::<String>()
        .to_ascii_lowercase();
    match name.rsplit('.').next() {
        Some("key" | "hexkey" | "textkey") => Some(KeyPragma::Key),
        Some("rekey" | "hexrekey" | "textrekey") => Some(KeyPragma::Rekey),
        _ => None,
    }
}

fn strip_keyword<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let head = text.get(..keyword.len())?;
    head.eq_ignore_ascii_case(keyword)
        .then(|| &text[keyword.len()..])
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
        assert!(gives_key("select 1; pragma key='x'"));
        assert!(gives_key("select 1;\n.decrypt x"));
        assert!(!gives_key("select passphrase from t; pragma page_size"));
        assert!(!gives_key(".decrypt"));
    }

    #[test]
    fn key_pragmas_are_seen() {
        assert_eq!(key_pragma("PRAGMA key='x'"), Some(KeyPragma::Key));
        assert_eq!(key_pragma(" pragma main.\"key\" = x"), Some(KeyPragma::Key));
        assert_eq!(key_pragma("pragma rekey('x')"), Some(KeyPragma::Rekey));
        assert_eq!(key_pragma("pragma keys"), None);
        assert_eq!(key_pragma("pragma foreign_keys=on"), None);
        assert_eq!(key_pragma("select 'pragma key'"), None);
        assert_eq!(key_pragma("é"), None);
    }
}
