//! Tokens of texts that are found by a collation: which are known, and whether the server that
//! gives the collation keys gives those of the client's server.
//!
//! No text is kept: a token is found by a keyed code of its text.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use column_codec::{TextNote, TokenPrefix};
use column_value::Collation;
use sql_plan::ColumnId;
use zeroize::Zeroizing;

/// Tokens of a generation. Two generations are kept, so a statement may have this many texts.
pub const TEXTS_MAX: usize = 1 << 14;

/// A text whose collation key is not known yet.
#[derive(Clone, PartialEq, Eq)]
pub struct KeylessText {
    /// The column that it is for.
    pub column: ColumnId,
    /// The text.
    pub text: Zeroizing<String>,
}

impl fmt::Debug for KeylessText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeylessText({:?})", self.column)
    }
}

type Generation = HashMap<(ColumnId, TextNote), TokenPrefix>;

/// Tokens that are known. The oldest half goes when there is no room.
#[derive(Default)]
pub(crate) struct KnownTokens {
    /// The younger, then the older.
    generations: Mutex<(Generation, Generation)>,
}

impl KnownTokens {
    pub(crate) fn find(&self, column: ColumnId, note: TextNote) -> Option<TokenPrefix> {
        let mut generations = self.lock();
        let key = (column, note);
        if let Some(found) = generations.0.get(&key) {
            return Some(*found);
        }
        let found = generations.1.get(&key).copied()?;
        Self::put(&mut generations, key, found);
        Some(found)
    }

    pub(crate) fn keep(&self, column: ColumnId, note: TextNote, prefix: TokenPrefix) {
        Self::put(&mut self.lock(), (column, note), prefix);
    }

    fn put(
        generations: &mut (Generation, Generation),
        key: (ColumnId, TextNote),
        prefix: TokenPrefix,
    ) {
        if generations.0.len() >= TEXTS_MAX {
            generations.1 = std::mem::take(&mut generations.0);
        }
        generations.0.insert(key, prefix);
    }

    fn lock(&self) -> MutexGuard<'_, (Generation, Generation)> {
        let generations = self.generations.lock();
        generations.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What servers have told of the weights of their collations, as a digest.
#[derive(Default)]
pub struct Weights(Mutex<HashMap<(String, Collation), String>>);

impl Weights {
    /// The digest of a server of this name and version.
    pub fn of(&self, server: &str, collation: Collation) -> Option<String> {
        self.lock().get(&(server.to_owned(), collation)).cloned()
    }

    /// Notes it.
    pub fn note(&self, server: &str, collation: Collation, digest: String) {
        self.lock().insert((server.to_owned(), collation), digest);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Collation), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let known = KnownTokens::default();
        let note = |number: usize| {
            let mut note = TextNote::default();
            note[..8].copy_from_slice(&number.to_be_bytes());
            note
        };
        known.keep(ColumnId(1), note(0), [7; 18]);
        known.keep(ColumnId(1), note(1), [8; 18]);
        for number in 2..3 * TEXTS_MAX {
            known.keep(ColumnId(1), note(number), [9; 18]);
            assert_eq!(known.find(ColumnId(1), note(0)), Some([7; 18]));
        }
        assert_eq!(known.find(ColumnId(1), note(1)), None);
        assert_eq!(known.find(ColumnId(2), note(0)), None);
        let generations = known.lock();
        assert!(generations.0.len() + generations.1.len() <= 2 * TEXTS_MAX);
    }
}
