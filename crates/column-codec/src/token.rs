//! Tokens of collation keys: what equal texts of a column begin with, sealed.

use crypto::secret::Key;
use crypto::value::{LongSealer, TOKEN_SIZE, TokenMac};

use crate::layout::TOKEN_PREFIX_SIZE;

/// What the sealed values of equal texts of a column begin with.
pub type TokenPrefix = [u8; TOKEN_PREFIX_SIZE];

/// By what a text is remembered in memory without being there.
pub type TextNote = [u8; TOKEN_SIZE];

/// The form of tokens: AES-CMAC of the collation key.
const FORM: u8 = 1;

/// The keys of a column with tokens.
pub(crate) struct TokenSealer {
    mac: TokenMac,
    notes: TokenMac,
    pub(crate) long: LongSealer,
}

impl TokenSealer {
    pub(crate) fn new(token: &Key, notes: &Key, long: &Key) -> Self {
        Self {
            mac: TokenMac::new(token),
            notes: TokenMac::new(notes),
            long: LongSealer::new(long),
        }
    }

    pub(crate) fn note(&self, text: &str) -> TextNote {
        self.notes.of(text.as_bytes())
    }

    pub(crate) fn prefix(&self, header: u8, collation_key: &[u8]) -> TokenPrefix {
        let mut prefix = [0; TOKEN_PREFIX_SIZE];
        prefix[0] = header;
        prefix[1] = FORM;
        prefix[2..].copy_from_slice(&self.mac.of(collation_key));
        prefix
    }
}

/// The least bytes that sort behind all values with a prefix. All values are longer than they are,
/// so `BETWEEN` the prefix and these bytes finds the values with the prefix and no others.
pub fn behind(prefix: &TokenPrefix) -> TokenPrefix {
    let mut next = *prefix;
    for byte in next.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        // The header is below 0xff, so this ends there at the latest.
        if *byte != 0 {
            break;
        }
    }
    next
}
