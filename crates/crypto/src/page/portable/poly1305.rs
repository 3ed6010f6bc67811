//! Poly1305 (RFC 8439, 2.5) with 32-by-32-bit multiplications, one reduction for four blocks.
//!
//! Numbers modulo 2^130 - 5 are five limbs of 26 bits. For a sum `h` and four blocks the sum
//! becomes `(h + b0) r^4 + b1 r^3 + b2 r^2 + b3 r`, reduced once.
//!
//! Bounds that keep every sum within 64 bits: a reduced limb is below 2^26 + 2^13, a block's below
//! 2^26, so their sum is below 2^28; a power's limb times 5 is below 2^29; twenty products below
//! 2^57 stay below 2^62.

use zeroize::Zeroizing;

/// Size of a block.
const BLOCK_SIZE: usize = 16;

/// Blocks per reduction.
const BLOCKS: usize = 4;

/// Size of content that is added in parts.
pub const PARTS_SIZE: usize = 256;

const LIMB_BITS: u32 = 26;
const LIMB_MASK: u64 = (1 << LIMB_BITS) - 1;

/// A whole block is followed by a 1 bit: 2^128, in the last limb.
const END_OF_BLOCK: u64 = 1 << 24;

/// The bits of `r` that are used.
const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;

type Limbs = [u64; 5];

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

    /// Adds the product with a number, without reduction.
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

/// The tag of associated data and content as ChaCha20-Poly1305 arranges them (RFC 8439, 2.8).
pub struct Sum {
    limbs: Zeroizing<Limbs>,
    /// Products of the blocks since the last reduction.
    products: Zeroizing<Limbs>,
    /// From `r^4` down to `r`.
    powers: Zeroizing<[Factor; BLOCKS]>,
    /// Added to the sum at the end.
    mask: Zeroizing<u128>,
    /// Bytes of associated data and of content.
    sizes: [u64; 2],
}

impl Sum {
    /// A sum over associated data, with no content yet.
    pub fn new(key: &[u8; 32], associated: &[u8]) -> Self {
        let (r, mask) = key.split_first_chunk::<16>().expect("32 bytes hold 16");
        let mask = mask.first_chunk().expect("half of 32 bytes");
        let r = Factor::new(split(u128::from_le_bytes(*r) & CLAMP));
        let mut powers = Zeroizing::new([r; BLOCKS]);
        for index in (0..BLOCKS - 1).rev() {
            let mut product = [0; 5];
            r.multiply(powers[index + 1].limbs, &mut product);
            powers[index] = Factor::new(reduce(product));
        }
        let mut sum = Self {
            limbs: Zeroizing::new([0; 5]),
            products: Zeroizing::new([0; 5]),
            powers,
            mask: Zeroizing::new(u128::from_le_bytes(*mask)),
            sizes: [0; 2],
        };
        sum.add_padded(associated);
        sum.sizes = [associated.len() as u64, 0];
        sum
    }

    /// Adds content; the last block is padded with zeros.
    pub fn add_padded(&mut self, bytes: &[u8]) {
        self.sizes[1] += bytes.len() as u64;
        let (blocks, rest) = bytes.as_chunks::<BLOCK_SIZE>();
        let (groups, blocks) = blocks.as_chunks::<BLOCKS>();
        for group in groups {
            self.add_first_half(group);
            self.add_second_half(group);
        }
        for block in blocks {
            self.add_block(limbs_of(block));
        }
        if !rest.is_empty() {
            let mut last = [0; BLOCK_SIZE];
            last[..rest.len()].copy_from_slice(rest);
            self.add_block(limbs_of(&last));
        }
    }

    /// Adds one part of a content. A content consists of parts 0 to 7.
    #[inline(always)]
    pub fn add_part(&mut self, part: usize, content: &[u8; PARTS_SIZE]) {
        let (blocks, _) = content.as_chunks::<BLOCK_SIZE>();
        let Some(group) = blocks.as_chunks::<BLOCKS>().0.get(part / 2) else {
            return;
        };
        if part.is_multiple_of(2) {
            self.add_first_half(group);
        } else {
            self.add_second_half(group);
            self.sizes[1] += size_of_val(group) as u64;
        }
    }

    #[inline(always)]
    fn add_first_half(&mut self, group: &[[u8; BLOCK_SIZE]; BLOCKS]) {
        let mut products = [0; 5];
        self.powers[0].multiply(plus(*self.limbs, limbs_of(&group[0])), &mut products);
        self.powers[1].multiply(limbs_of(&group[1]), &mut products);
        *self.products = products;
    }

    #[inline(always)]
    fn add_second_half(&mut self, group: &[[u8; BLOCK_SIZE]; BLOCKS]) {
        let mut products = *self.products;
        self.powers[2].multiply(limbs_of(&group[2]), &mut products);
        self.powers[3].multiply(limbs_of(&group[3]), &mut products);
        *self.limbs = reduce(products);
    }

    fn add_block(&mut self, block: Limbs) {
        let mut product = [0; 5];
        self.powers[BLOCKS - 1].multiply(plus(*self.limbs, block), &mut product);
        *self.limbs = reduce(product);
    }

    /// The tag.
    pub fn tag(mut self) -> [u8; 16] {
        let [associated, content] = self.sizes.map(u64::to_le_bytes);
        let mut sizes = [0; BLOCK_SIZE];
        sizes[..8].copy_from_slice(&associated);
        sizes[8..].copy_from_slice(&content);
        self.add_block(limbs_of(&sizes));
        self.value().wrapping_add(*self.mask).to_le_bytes()
    }

    /// The sum modulo 2^130 - 5, and that modulo 2^128.
    fn value(&self) -> u128 {
        // Carries twice: the first pass leaves at most one bit above 26, which the second moves on.
        let limbs = carried(carried(*self.limbs));
        // The sum minus 2^130 - 5 is the result if it is not negative, that is, if adding 5 carries
        // out.
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

/// A block as a number, with the bit after it.
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

/// Reduces to limbs below 2^26 + 2^13. The two carry chains are independent.
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
