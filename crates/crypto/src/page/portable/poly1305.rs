//! Poly1305 (RFC 8439, 2.5) with multiplications of 32 by 32 bits, four blocks to one reduction.
//!
//! Numbers modulo 2^130 - 5 are five limbs of 26 bits. For a sum `h` and four blocks the sum
//! becomes `(h + b0) r^4 + b1 r^3 + b2 r^2 + b3 r`, reduced once.
//!
//! Bounds, by which no sum leaves 64 bits: a reduced limb is below 2^26 + 2^13, a block's below
//! 2^26, so their sum is below 2^28; a power's limb times 5 is below 2^29; twenty products below
//! 2^57 stay below 2^62.

use zeroize::Zeroizing;

/// Size of a block.
const BLOCK_SIZE: usize = 16;

/// Blocks to one reduction.
const BLOCKS: usize = 4;

const LIMB_BITS: u32 = 26;
const LIMB_MASK: u64 = (1 << LIMB_BITS) - 1;

/// Behind a whole block stands one bit more: 2^128, in the last limb.
const END_OF_BLOCK: u64 = 1 << 24;

/// What of `r` counts.
const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;

type Limbs = [u64; 5];

/// The tag of associated data and content as ChaCha20-Poly1305 arranges them (RFC 8439, 2.8).
pub fn tag(key: &[u8; 32], associated: &[u8], content: &[u8]) -> [u8; 16] {
    let (r, s) = key.split_first_chunk::<16>().expect("32 bytes hold 16");
    let mut sum = Sum::new(u128::from_le_bytes(*r));
    sum.add_padded(associated);
    sum.add_padded(content);
    let mut sizes = [0; BLOCK_SIZE];
    sizes[..8].copy_from_slice(&(associated.len() as u64).to_le_bytes());
    sizes[8..].copy_from_slice(&(content.len() as u64).to_le_bytes());
    sum.add_block(limbs_of(&sizes));
    let s = u128::from_le_bytes(*s.first_chunk().expect("half of 32 bytes"));
    sum.value().wrapping_add(s).to_le_bytes()
}

/// A factor: its limbs, and five times its limbs for what wraps around 2^130.
#[derive(Clone, Copy, Default)]
struct Factor {
    limbs: Limbs,
    wrapped: Limbs,
}

impl zeroize::DefaultIsZeroes for Factor {}

impl Factor {
    fn new(limbs: Limbs) -> Self {
        Self {
            limbs,
            wrapped: limbs.map(|limb| 5 * limb),
        }
    }

    /// Adds the product with a number, unreduced.
    #[inline(always)]
    fn multiply(&self, number: Limbs, sums: &mut Limbs) {
        let (r, w) = (&self.limbs, &self.wrapped);
        let [a, b, c, d, e] = number;
        sums[0] += a * r[0] + b * w[4] + c * w[3] + d * w[2] + e * w[1];
        sums[1] += a * r[1] + b * r[0] + c * w[4] + d * w[3] + e * w[2];
        sums[2] += a * r[2] + b * r[1] + c * r[0] + d * w[4] + e * w[3];
        sums[3] += a * r[3] + b * r[2] + c * r[1] + d * r[0] + e * w[4];
        sums[4] += a * r[4] + b * r[3] + c * r[2] + d * r[1] + e * r[0];
    }
}

struct Sum {
    limbs: Zeroizing<Limbs>,
    /// From `r^4` down to `r`.
    powers: Zeroizing<[Factor; BLOCKS]>,
}

impl Sum {
    fn new(r: u128) -> Self {
        let r = Factor::new(split(r & CLAMP));
        let mut powers = Zeroizing::new([r; BLOCKS]);
        for index in (0..BLOCKS - 1).rev() {
            let mut product = [0; 5];
            r.multiply(powers[index + 1].limbs, &mut product);
            powers[index] = Factor::new(reduce(product));
        }
        Self {
            limbs: Zeroizing::new([0; 5]),
            powers,
        }
    }

    /// Adds blocks; what is missing of the last one is zeros.
    fn add_padded(&mut self, bytes: &[u8]) {
        let (groups, rest) = bytes.as_chunks::<{ BLOCKS * BLOCK_SIZE }>();
        let mut limbs = *self.limbs;
        for group in groups {
            limbs = self.with_group(limbs, group);
        }
        *self.limbs = limbs;
        let (blocks, rest) = rest.as_chunks::<BLOCK_SIZE>();
        for block in blocks {
            self.add_block(limbs_of(block));
        }
        if !rest.is_empty() {
            let mut last = [0; BLOCK_SIZE];
            last[..rest.len()].copy_from_slice(rest);
            self.add_block(limbs_of(&last));
        }
    }

    #[inline(always)]
    fn with_group(&self, mut limbs: Limbs, group: &[u8; BLOCKS * BLOCK_SIZE]) -> Limbs {
        let mut sums = [0; 5];
        let (blocks, _) = group.as_chunks::<BLOCK_SIZE>();
        for (block, power) in blocks.iter().zip(&*self.powers) {
            power.multiply(plus(limbs, limbs_of(block)), &mut sums);
            limbs = [0; 5];
        }
        reduce(sums)
    }

    fn add_block(&mut self, block: Limbs) {
        let mut product = [0; 5];
        self.powers[BLOCKS - 1].multiply(plus(*self.limbs, block), &mut product);
        *self.limbs = reduce(product);
    }

    /// The sum modulo 2^130 - 5, and that modulo 2^128.
    fn value(&self) -> u128 {
        // Twice: what the first pass leaves above 26 bits is one bit at most, and moves on.
        let limbs = carried(carried(*self.limbs));
        // The sum less 2^130 - 5, which is meant where it is not negative: where 5 more carry out.
        let mut carry = 5;
        let mut reduced = [0; 5];
        for (to, limb) in reduced.iter_mut().zip(limbs) {
            carry += limb;
            *to = carry & LIMB_MASK;
            carry >>= LIMB_BITS;
        }
        let mask = carry.wrapping_neg();
        let mut value = 0_u128;
        for (index, (limb, other)) in (0..).zip(limbs.into_iter().zip(reduced)) {
            let limb = (limb & !mask) | (other & mask);
            value |= u128::from(limb).wrapping_shl(LIMB_BITS * index);
        }
        value
    }
}

#[inline(always)]
fn plus(one: Limbs, other: Limbs) -> Limbs {
    std::array::from_fn(|index| one[index] + other[index])
}

fn split(number: u128) -> Limbs {
    std::array::from_fn(|index| (number >> (LIMB_BITS as usize * index)) as u64 & LIMB_MASK)
}

/// A block as a number, with the bit behind it.
#[inline(always)]
fn limbs_of(block: &[u8; BLOCK_SIZE]) -> Limbs {
    let (halves, _) = block.as_chunks::<8>();
    let (low, high) = (u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1]));
    [
        low & LIMB_MASK,
        (low >> 26) & LIMB_MASK,
        ((low >> 52) | (high << 12)) & LIMB_MASK,
        (high >> 14) & LIMB_MASK,
        (high >> 40) | END_OF_BLOCK,
    ]
}

/// Limbs below 2^26 + 2^13 of the same number. Two chains of carries, side by side.
#[inline(always)]
fn reduce([mut a, mut b, mut c, mut d, mut e]: Limbs) -> Limbs {
    e += d >> LIMB_BITS;
    d &= LIMB_MASK;
    b += a >> LIMB_BITS;
    a &= LIMB_MASK;
    a += 5 * (e >> LIMB_BITS);
    e &= LIMB_MASK;
    c += b >> LIMB_BITS;
    b &= LIMB_MASK;
    d += c >> LIMB_BITS;
    c &= LIMB_MASK;
    b += a >> LIMB_BITS;
    a &= LIMB_MASK;
    e += d >> LIMB_BITS;
    d &= LIMB_MASK;
    [a, b, c, d, e]
}

/// One pass of carries over all limbs.
fn carried(mut limbs: Limbs) -> Limbs {
    let mut carry = 0;
    for limb in &mut limbs {
        carry += *limb;
        *limb = carry & LIMB_MASK;
        carry >>= LIMB_BITS;
    }
    limbs[0] += 5 * carry;
    limbs
}
