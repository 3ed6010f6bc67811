//! Derivation of column keys from the root key.

use crypto::kdf::derive_key;
use crypto::secret::Key;

use crate::canonical::Class;
use crate::order::Scale;
use crate::spec::{ColumnSpec, Mode};

/// Salt of every derivation, for domain separation.
pub(crate) const SALT: &[u8] = b"strongroom column keys 2";

/// The purpose of a key.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// S2V of AES-SIV.
    DeterministicMac,
    /// CTR of AES-SIV.
    DeterministicStream,
    /// Key wrap of mode `equality`.
    Block,
    /// Digits of mode `order`.
    OrderDigits,
    /// CMAC of mode `order`.
    OrderMac,
    /// GCM-SIV.
    Long,
    /// FF1.
    Number,
    /// Tokens of collation keys.
    Token,
    /// What a text is remembered by in memory: in no sealed value.
    TextNote,
}

impl Purpose {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::DeterministicMac => 1,
            Self::DeterministicStream => 2,
            Self::Block => 3,
            Self::OrderDigits => 4,
            Self::OrderMac => 5,
            Self::Long => 6,
            Self::Number => 7,
            Self::Token => 8,
            Self::TextNote => 9,
        }
    }
}

/// Derives a key with HKDF-SHA256. Its `info` is mode, purpose, key version, class, the identity of
/// the order, the padding of mode `equality`, the collation of tokens, and the domain, or else the
/// table and column, each preceded by its length.
pub(crate) fn derive(
    root: &Key,
    purpose: Purpose,
    version: u8,
    spec: &ColumnSpec,
    scale: Option<Scale>,
) -> Key {
    let class = Class::of(spec.logical);
    let mut info = vec![spec.mode.code(), purpose.code(), version, class.code()];
    if let Some(scale) = scale {
        // Digits of another width or scale must not be comparable with these.
        info.extend(scale.identity());
    }
    if spec.mode == Mode::Equality && spec.logical.has_length() {
        // Equal texts that are padded otherwise are other bytes. They must not look as if they were
        // others: with another key they do not open either.
        info.extend(spec.pad.step().to_be_bytes());
    }
    let mut scope = |name: &str| append_name(name, &mut info);
    if let Mode::Token(collation) = spec.mode {
        scope("collation");
        scope(collation.name());
    }
    match &spec.domain {
        Some(domain) if spec.mode != Mode::Random => {
            scope("domain");
            scope(domain);
        }
        _ => {
            scope("column");
            scope(&spec.table);
            scope(&spec.column);
        }
    }
    derive_key(root, SALT, &info)
}

/// Appends a name behind its length, so that no two names run together.
pub(crate) fn append_name(name: &str, info: &mut Vec<u8>) {
    info.extend((name.len() as u64).to_be_bytes());
    info.extend(name.as_bytes());
}

impl Mode {
    /// Input to the key derivation.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Random => 1,
            Self::Equality => 2,
            Self::Order => 3,
            Self::Token(_) => 4,
        }
    }
}
