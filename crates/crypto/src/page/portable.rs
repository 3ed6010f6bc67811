//! Cipher implementations in Rust alone, for WebAssembly: no C, no assembly, no `unsafe`.
//!
//! Native targets compile them too, for tests: with the feature `portable`,
//! [`PageSealer`](super::PageSealer) uses them, so that every vector runs through them. The two
//! targets differ only in [`lanes`].

mod chacha20;
pub(super) mod extended;
pub(super) mod gcm;
mod lanes;
mod poly1305;

#[cfg(test)]
mod tests;
