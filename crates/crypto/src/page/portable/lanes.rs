//! Four words processed together: 128-bit vectors in WebAssembly, arrays elsewhere.
//!
//! The vectors are checked against known answers in browsers. Arrays replace them so that the
//! arithmetic built on both can be tested without a browser.

#[cfg(not(target_arch = "wasm32"))]
mod array;
#[cfg(target_arch = "wasm32")]
mod vector;

#[cfg(not(target_arch = "wasm32"))]
pub use array::Words;
#[cfg(target_arch = "wasm32")]
pub use vector::Words;

/// The operations on four words that ChaCha20 needs.
pub trait Lanes: Copy {
    /// One word for each lane, in order.
    fn new(words: [u32; 4]) -> Self;

    /// Lane by lane, modulo 2^32.
    fn add(self, other: Self) -> Self;

    fn xor(self, other: Self) -> Self;

    fn rotate_left_16(self) -> Self;
    fn rotate_left_12(self) -> Self;
    fn rotate_left_8(self) -> Self;
    fn rotate_left_7(self) -> Self;

    /// Row `i` becomes lane `i` of each.
    fn transpose(rows: [Self; 4]) -> [Self; 4];

    /// Little-endian.
    fn load(bytes: &[u8; 16]) -> Self;
    fn store(self, bytes: &mut [u8; 16]);
}
