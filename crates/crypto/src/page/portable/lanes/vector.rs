//! Four words as a 128-bit vector. These intrinsics are safe functions on targets with the feature
//! `simd128`, which `.cargo/config.toml` enables. Loads and stores go through two halves, which the
//! compiler merges.

use core::arch::wasm32::{
    i16x8_shuffle, i32x4_shuffle, i64x2_shuffle, u32x4, u32x4_add, u32x4_shl, u32x4_shr, u64x2,
    u64x2_extract_lane, v128, v128_or, v128_xor,
};

use super::Lanes;

/// Four words.
#[derive(Clone, Copy)]
pub struct Words(v128);

impl Words {
    #[inline(always)]
    fn rotate_left(self, left: u32) -> Self {
        Self(v128_or(
            u32x4_shl(self.0, left),
            u32x4_shr(self.0, 32 - left),
        ))
    }
}

impl Lanes for Words {
    #[inline(always)]
    fn new(words: [u32; 4]) -> Self {
        Self(u32x4(words[0], words[1], words[2], words[3]))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(u32x4_add(self.0, other.0))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }

    /// Swaps the halves of each word: two instructions instead of three.
    #[inline(always)]
    fn rotate_left_16(self) -> Self {
        Self(i16x8_shuffle::<1, 0, 3, 2, 5, 4, 7, 6>(self.0, self.0))
    }

    #[inline(always)]
    fn rotate_left_12(self) -> Self {
        self.rotate_left(12)
    }

    #[inline(always)]
    fn rotate_left_8(self) -> Self {
        self.rotate_left(8)
    }

    #[inline(always)]
    fn rotate_left_7(self) -> Self {
        self.rotate_left(7)
    }

    #[inline(always)]
    fn transpose(rows: [Self; 4]) -> [Self; 4] {
        let low_01 = i32x4_shuffle::<0, 4, 1, 5>(rows[0].0, rows[1].0);
        let low_23 = i32x4_shuffle::<0, 4, 1, 5>(rows[2].0, rows[3].0);
        let high_01 = i32x4_shuffle::<2, 6, 3, 7>(rows[0].0, rows[1].0);
        let high_23 = i32x4_shuffle::<2, 6, 3, 7>(rows[2].0, rows[3].0);
        [
            Self(i64x2_shuffle::<0, 2>(low_01, low_23)),
            Self(i64x2_shuffle::<1, 3>(low_01, low_23)),
            Self(i64x2_shuffle::<0, 2>(high_01, high_23)),
            Self(i64x2_shuffle::<1, 3>(high_01, high_23)),
        ]
    }

    #[inline(always)]
    fn load(bytes: &[u8; 16]) -> Self {
        let (halves, _) = bytes.as_chunks::<8>();
        Self(u64x2(
            u64::from_le_bytes(halves[0]),
            u64::from_le_bytes(halves[1]),
        ))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8; 16]) {
        let (halves, _) = bytes.as_chunks_mut::<8>();
        halves[0] = u64x2_extract_lane::<0>(self.0).to_le_bytes();
        halves[1] = u64x2_extract_lane::<1>(self.0).to_le_bytes();
    }
}
