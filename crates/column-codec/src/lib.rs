//! Seals and opens one value for its column. The bytes are in `docs/column-format.md`.
//!
//! Pure: keys and nonces come in, bytes go out. A [`Codec`] is made once from the root key and the
//! columns, holds all keys expanded, and is shared by threads.
//!
//! | mode | sealed value |
//! |---|---|
//! | [`Mode::Random`] | header, nonce, ciphertext and tag of AES-256-GCM-SIV |
//! | [`Mode::Equality`] | header, tag and ciphertext of AES-SIV |
//! | [`Mode::Order`] | header, digits whose byte order is that of the values, and as equality |
//!
//! Invariants:
//! 1. No key serves two purposes: mode, key version, class of values, and domain or column are all
//!    derived into it. So a sealed value opens in no other column, unless both share a domain.
//! 2. Sealed values of one column and mode `order` have one length: bytes sort as the values do.
//! 3. What opens gives the value that was sealed, up to what [`Codec::open`] says.
#![forbid(unsafe_code)]

mod canonical;
mod codec;
mod keys;
mod order;
mod same;
mod spec;

pub use canonical::append_equal;
pub use codec::{Codec, HEADER_SIZE, KEY_VERSION, OpenError, SealError};
pub use crypto::value::{VALUE_NONCE_SIZE, ValueNonce};
pub use spec::{ColumnSpec, Mode, SpecError};
