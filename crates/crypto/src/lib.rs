//! Ciphers, key derivation and key wrapping behind typed seal and open; no I/O.
//!
//! Nothing here draws randomness: nonces and salts come from the caller, so every function is
//! a function of its arguments and every test can be repeated.
//!
//! | module | holds |
//! |---|---|
//! | [`cipher`] | names and codes of the page ciphers |
//! | [`page`] | sealing and opening of one page, bound to its place |
//! | [`mask`] | hiding of small fields that SQLite derives from plaintext |
//! | [`kdf`] | keys from passphrases and from other keys |
//! | [`wrap`] | a key encrypted under another key |
//! | [`mac`] | checksum and message authentication of headers |
//! | [`value`] | sealing of single values |
//! | [`secret`] | types that hold keys and passphrases and wipe them |
//!
//! # What is wiped, and what cannot be
//! [`secret::Key`], [`secret::SecretBytes`] and every intermediate key that this crate holds are
//! overwritten when they are dropped. Calls that handle keys overwrite the stack that they used:
//! the libraries work on copies there, and the compiler leaves others when a value moves. Sealing
//! and opening of pages do not, for speed: whoever ends the use of a key calls
//! [`secret::wipe_stack`] once.
#![forbid(unsafe_code)]

pub mod cipher;
pub mod kdf;
pub mod mac;
pub mod mask;
pub mod page;
pub mod secret;
// Seals column values on servers; browsers have none.
#[cfg(not(target_arch = "wasm32"))]
pub mod value;
pub mod wrap;
