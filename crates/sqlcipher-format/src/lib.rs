//! Opens pages of SQLCipher databases. For reading only; no I/O.
//!
//! What the form is was taken from SQLCipher's public documentation (its "Design" and "API"
//! pages) and from files that SQLCipher wrote.
//!
//! ```text
//! page n: | ciphertext, AES-256-CBC | IV, 16 | HMAC, 20 to 64 | padding to 16 |
//!         |<------------ page size ------------------------------------------>|
//!                                   |<------- reserve: 16 to 80 ------------->|
//! ```
//!
//! The HMAC covers ciphertext, IV and page number (4 bytes, little-endian). In page 1 the
//! ciphertext begins behind the salt, which stands where plain SQLite has its magic, or behind a
//! plaintext header. Neither of these is covered: see [`page`].
//!
//! | module | holds |
//! |---|---|
//! | [`parameters`] | what differs between versions |
//! | [`key`] | passphrases and raw keys, and what is derived from them |
//! | [`page`] | opening of one page |
//! | [`detect`] | which parameters a file was written with |
#![forbid(unsafe_code)]

pub mod detect;
pub mod key;
pub mod page;
pub mod parameters;
