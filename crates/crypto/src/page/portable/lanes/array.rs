//! Four words as an array.

use super::Lanes;

/// Four words.
pub type Words = [u32; 4];

impl Lanes for Words {
    fn new(words: [u32; 4]) -> Self {
        words
    }

    fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane].wrapping_add(other[lane]))
    }

    fn xor(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] ^ other[lane])
    }

    fn rotate_left_16(self) -> Self {
        self.map(|word| word.rotate_left(16))
    }

    fn rotate_left_12(self) -> Self {
        self.map(|word| word.rotate_left(12))
    }

    fn rotate_left_8(self) -> Self {
        self.map(|word| word.rotate_left(8))
    }

    fn rotate_left_7(self) -> Self {
        self.map(|word| word.rotate_left(7))
    }

    fn transpose(rows: [Self; 4]) -> [Self; 4] {
        std::array::from_fn(|lane| rows.map(|row| row[lane]))
    }

    fn load(bytes: &[u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        std::array::from_fn(|lane| u32::from_le_bytes(words[lane]))
    }

    fn store(self, bytes: &mut [u8; 16]) {
        let (words, _) = bytes.as_chunks_mut::<4>();
        for (place, word) in words.iter_mut().zip(self) {
            *place = word.to_le_bytes();
        }
    }
}
