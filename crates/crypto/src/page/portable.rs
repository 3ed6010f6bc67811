//! Ciphers in Rust alone, for WebAssembly: no C, no assembly, no `unsafe`.
//!
//! Processors compile them too, for tests: with the feature `portable` they are what
//! [`PageSealer`](super::PageSealer) uses, so that every vector runs through them. What differs
//! between the two is [`lanes`] alone.

mod chacha20;
pub(super) mod extended;
pub(super) mod gcm;
mod lanes;
mod poly1305;

#[cfg(test)]
mod tests;
