//! Seals and opens one value for its column. `docs/column-format.md` specifies the format.
//!
//! Pure: keys and nonces come in, bytes go out. A [`Codec`] is created once from the root key and
//! the columns; it holds all expanded keys, and is shared by threads.
//!
//! | mode | sealed value |
//! |---|---|
//! | [`Mode::Random`] | header, nonce, ciphertext and tag of AES-256-GCM-SIV |
//! | [`Mode::Equality`] | header, tag and ciphertext of AES-SIV |
//! | [`Mode::Order`] | header, digits whose byte order is that of the values, and as equality |
//!
//! Invariants:
//! 1. No key serves two purposes: it is derived from mode, key version, class of values, and domain
//!    or column. So a sealed value opens in no other column, unless both share a domain.
//! 2. In mode `order` all sealed values of a column have the same length, and their bytes sort as
//!    the values do.
//! 3. Opening returns the value that was sealed, with the exceptions listed at [`Codec::open`].
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
