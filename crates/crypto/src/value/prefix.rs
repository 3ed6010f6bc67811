//! What masks the digits of order-revealing encryption.

use aes::Aes256;
use aes::cipher::KeyInit;

use super::blocks::{Bytes, Work, with};
use crate::secret::{Key, leaving_no_trace};

/// A keyed function of the first bits of a number, for every length of prefix. It masks the digits
/// of order-revealing encryption.
pub struct PrefixFunction(Box<Aes256>);

impl PrefixFunction {
    /// Prepares the function with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            Box::new(Aes256::new(key.expose().into()))
        }))
    }

    /// For each bit of `number`, which has `bits` bits: the function of the bits before it, from 0
    /// to `RANGE` - 1. It is one block of AES-256 over the index of the bit, the bit count and the
    /// bits before, modulo the range.
    pub fn masks<const RANGE: u16>(&self, number: u64, bits: u8, give: impl FnMut(u16)) {
        debug_assert!((1..=64).contains(&bits), "a number has 1 to 64 bits");
        with(&self.0, Masks::<RANGE, _> { number, bits, give });
    }

    /// The number for each bit of which `sum` is the mask of [`Self::masks`] plus the bit. None:
    /// there is none.
    pub fn number<const RANGE: u16>(&self, bits: u8, sum: impl Fn(u8) -> u16) -> Option<u64> {
        with(&self.0, Number::<RANGE, _> { bits, sum })
    }
}

struct Masks<const RANGE: u16, G> {
    number: u64,
    bits: u8,
    give: G,
}

impl<const RANGE: u16, G: FnMut(u16)> Work for Masks<RANGE, G> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, encrypt: impl Fn(Bytes) -> Bytes) {
        for place in 0..self.bits {
            let left = u32::from(self.bits - place);
            let before = self.number.checked_shr(left).unwrap_or(0);
            let block = encrypt(of_prefix(place, self.bits, before));
            (self.give)(mask_of::<RANGE>(block));
        }
    }
}

struct Number<const RANGE: u16, S> {
    bits: u8,
    sum: S,
}

/// A mask is known once the bits before are. The masks of all that these may be are computed
/// together for so many bits, since one block after the other takes longer.
const BITS_AT_ONCE: u8 = 3;

impl<const RANGE: u16, S: Fn(u8) -> u16> Work for Number<RANGE, S> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) -> Option<u64> {
        let (mut number, mut place) = (0_u64, 0);
        while place < self.bits {
            let count = BITS_AT_ONCE.min(self.bits - place);
            let mut masks = [0; (1 << BITS_AT_ONCE) - 1];
            for ahead in 0..count {
                let first = (1 << ahead) - 1;
                for (end, mask) in (0..1 << ahead).zip(&mut masks[first..]) {
                    let before = number << ahead | end;
                    let block = encrypt(of_prefix(place + ahead, self.bits, before));
                    *mask = mask_of::<RANGE>(block);
                }
            }
            let mut end = 0;
            for ahead in 0..count {
                let mask = masks[(1 << ahead) - 1 + end];
                match (self.sum)(place + ahead).checked_sub(mask)? {
                    bit @ 0..=1 => end = end << 1 | usize::from(bit),
                    _ => return None,
                }
            }
            number = number << count | end as u64;
            place += count;
        }
        Some(number)
    }
}

/// What is encrypted for the bit at a place, behind these bits.
fn of_prefix(place: u8, bits: u8, before: u64) -> Bytes {
    let block = u128::from(place) << 120 | u128::from(bits) << 112 | u128::from(before);
    block.to_be()
}

/// The remainder by a constant takes no division.
fn mask_of<const RANGE: u16>(block: Bytes) -> u16 {
    let random = u128::from_be(block) as u64;
    u16::try_from(random % u64::from(RANGE)).expect("less than the range, which is a u16")
}
