//! Four words that are worked on at a time: vectors of 128 bits in WebAssembly, arrays elsewhere.
//!
//! Vectors are checked against known answers in browsers; arrays take their place where the
//! arithmetic built on both is tested without one.

#[cfg(not(target_arch = "wasm32"))]
mod array;
#[cfg(target_arch = "wasm32")]
mod vector;

#[cfg(not(target_arch = "wasm32"))]
pub use array::Words;
#[cfg(target_arch = "wasm32")]
pub use vector::Words;

/// What ChaCha20 asks of four words.
pub trait Lanes: Copy {
    /// The words in the order of the lanes.
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
