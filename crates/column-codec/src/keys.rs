//! Derivation of column keys from the root key.

use crypto::kdf::derive_key;
use crypto::secret::Key;

use crate::canonical::Class;
use crate::order::Scale;
use crate::spec::{ColumnSpec, Mode};

/// Salt of every derivation, for domain separation.
const SALT: &[u8] = b"strongroom column keys 1";

/// The purpose of a key.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// AES-256-GCM-SIV of mode `random`.
    Random,
    /// S2V of AES-SIV.
    DeterministicMac,
    /// CTR of AES-SIV.
    DeterministicStream,
    /// Digits of mode `order`.
    OrderDigits,
}

impl Purpose {
    fn code(self) -> u8 {
        match self {
            Self::Random => 1,
            Self::DeterministicMac => 2,
            Self::DeterministicStream => 3,
            Self::OrderDigits => 4,
        }
    }
}

/// Derives a key with HKDF-SHA256. Its `info` is mode, purpose, key version, class, the identity of
/// the order, and the domain, or else table and column, each preceded by its length.
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
    let mut scope = |name: &str| {
        info.extend((name.len() as u64).to_be_bytes());
        info.extend(name.as_bytes());
    };
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

impl Mode {
    /// The first byte of a sealed value.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Random => 1,
            Self::Equality => 2,
            Self::Order => 3,
        }
    }
}
