//! Opens pages of SQLCipher databases, read-only and without I/O.
//!
//! The format is taken from SQLCipher's public documentation (its "Design" and "API" pages) and
//! from files that SQLCipher wrote.
//!
//! ```text
//! page n: | ciphertext, AES-256-CBC | IV, 16 | HMAC, 20 to 64 | padding to 16 |
//!         |<------------ page size ------------------------------------------>|
//!                                   |<------- reserve: 16 to 80 ------------->|
//! ```
//!
//! The HMAC covers ciphertext, IV and page number (4 bytes, little-endian). In page 1 the
//! ciphertext begins after the salt, which replaces plain SQLite's magic, or after a plaintext
//! header. The HMAC covers neither of these: see [`page`].
//!
//! | module | holds |
//! |---|---|
//! | [`parameters`] | what differs between versions |
//! | [`key`] | passphrases and raw keys, and the keys derived from them |
//! | [`page`] | opening of one page |
//! | [`detect`] | detection of a file's parameters |
#![forbid(unsafe_code)]

pub mod detect;
pub mod key;
pub mod page;
pub mod parameters;
