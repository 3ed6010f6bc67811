//! Seals and opens one value for its column. `docs/column-format.md` specifies the format.
//!
//! Pure: keys and nonces come in, bytes go out. A [`Codec`] is created once from the root key and
//! the columns; it holds all expanded keys, and is shared by threads.
//!
//! | mode | sealed value |
//! |---|---|
//! | [`Mode::Random`] | header, tag and ciphertext of AES-SIV, or of GCM-SIV if long, and a nonce |
//! | [`Mode::Equality`] | header, tag and ciphertext of AES-SIV, or one block of AES key wrap |
//! | [`Mode::Equality`], [`EqualityForm::Compact`] | a number of 8 bytes, encrypted by FF1 |
//! | [`Mode::Token`] | header, a token of the collation key, tag and ciphertext of GCM-SIV, nonce |
//! | [`Mode::Order`] | header, digits whose byte order is that of the values, 8 bytes of AES-CMAC |
//!
//! A [`GroupCodec`] seals the values of several columns of a row together.
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
mod compact;
mod errors;
mod group;
mod keys;
mod layout;
mod order;
mod same;
mod spec;
mod token;

pub use canonical::append_equal;
pub use codec::Codec;
pub use column_value::{EqualityForm, Pad};
pub use crypto::value::{VALUE_NONCE_SIZE, ValueNonce};
pub use errors::{OpenError, SealError};
pub use group::{GROUP_MEMBERS_MAX, GroupCodec, GroupLayout, GroupSpec};
pub use layout::{
    CHECK_MARK_SIZE, HEADER_SIZE, KEY_VERSION, KEY_VERSION_MAX, Layout, TOKEN_PREFIX_SIZE,
    may_begin,
};
pub use spec::{ColumnSpec, Mode, SpecError};
pub use token::{TextNote, TokenPrefix, behind};
