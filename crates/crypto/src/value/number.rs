//! Encryption of a number of 64 bits into another one.

use aes::Aes256;
use aes::cipher::KeyInit;

use super::blocks::{Bytes, One, Work, with};
use crate::secret::{Key, leaving_no_trace};

/// Rounds of FF1.
const ROUNDS: u8 = 10;

/// The first block of every round's input (step 5): version, method, addition, the radix in three
/// bytes, the rounds, the digits of a half, and then digits and bytes of the tweak in four bytes
/// each.
const PREFIX: [u8; 16] = [1, 2, 1, 0, 0, 2, ROUNDS, 32, 0, 0, 0, 64, 0, 0, 0, 0];

/// Encrypts numbers of 64 bits, equal ones equally: FF1 of NIST SP 800-38G over 64 binary digits,
/// without a tweak. Any number decrypts to one, so it tells nothing of a change.
///
/// It is implemented here because all that the rounds have in common is computed once, and what is
/// left of a round is one block.
pub struct NumberCipher(Box<Prepared>);

struct Prepared {
    cipher: Aes256,
    /// The encryption of [`PREFIX`].
    prefix: Bytes,
}

impl NumberCipher {
    /// Prepares the cipher with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            let cipher = Aes256::new(key.expose().into());
            let prefix = with(&cipher, One(u128::from_ne_bytes(PREFIX)));
            Box::new(Prepared { cipher, prefix })
        }))
    }

    /// The encrypted number.
    pub fn encrypt(&self, number: u64) -> u64 {
        with(&self.0.cipher, Rounds::<true>(self.0.prefix, number))
    }

    /// The number that is encrypted so.
    pub fn decrypt(&self, number: u64) -> u64 {
        with(&self.0.cipher, Rounds::<false>(self.0.prefix, number))
    }
}

/// Algorithms 7 and 8, of the encrypted prefix and a number.
struct Rounds<const ENCRYPTS: bool>(Bytes, u64);

impl<const ENCRYPTS: bool> Work for Rounds<ENCRYPTS> {
    type Output = u64;

    #[inline(always)]
    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) -> u64 {
        let Self(prefix, number) = self;
        // Step 6: the number of the round, and a half in four bytes. Of the eight bytes that the
        // step takes of the result, the last four count modulo 2^32.
        let of_half = |round: u8, half: u32| {
            let block = u128::from(round) << 32 | u128::from(half);
            (u128::from_be(encrypt(prefix ^ block.to_be())) >> 64) as u32
        };
        let (mut left, mut right) = ((number >> 32) as u32, number as u32);
        if ENCRYPTS {
            for round in 0..ROUNDS {
                let sum = left.wrapping_add(of_half(round, right));
                (left, right) = (right, sum);
            }
        } else {
            for round in (0..ROUNDS).rev() {
                let difference = right.wrapping_sub(of_half(round, left));
                (left, right) = (difference, left);
            }
        }
        u64::from(left) << 32 | u64::from(right)
    }
}
