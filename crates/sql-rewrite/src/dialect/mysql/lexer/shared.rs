//! Locks on rows that others may have as well.

use super::{Kind, Lexeme, refused};
use crate::dialect::Unread;

/// What the plain form has in the place of `LOCK IN SHARE MODE`.
pub(super) const SHARED: &str = "FOR SHARE";
const WORDS: [&str; 4] = ["lock", "in", "share", "mode"];

/// Writes `LOCK IN SHARE MODE` at the end as `FOR SHARE`, by which MySQL 8 calls the same lock.
pub(super) fn join(found: &mut Vec<Lexeme>, is_mariadb: bool) -> Result<(), Unread> {
    let start = |words: &[&str]| {
        found.windows(words.len()).position(|part| {
            let mut both = part.iter().zip(words);
            both.all(|(own, word)| own.kind == Kind::Word && own.value == *word)
        })
    };
    if is_mariadb && start(&["for", "share"]).is_some() {
        return Err(refused(
            "FOR SHARE, which MariaDB calls LOCK IN SHARE MODE,",
        ));
    }
    let Some(start) = start(&WORDS) else {
        return Ok(());
    };
    if start + WORDS.len() != found.len() {
        return Err(refused("LOCK IN SHARE MODE with something behind it"));
    }
    found.truncate(start + 1);
    found[start].value = SHARED.to_owned();
    Ok(())
}

/// The end of a statement in the plain form, as both servers read it.
pub(super) fn for_server(text: String) -> String {
    match text
        .strip_suffix(SHARED)
        .and_then(|before| before.strip_suffix(' '))
    {
        None => text,
        Some(before) => format!("{before} LOCK IN SHARE MODE"),
    }
}
