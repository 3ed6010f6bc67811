//! The test's three sources of numbers: a generator, a permutation and an approximate square root.

/// Pseudo-random numbers: a linear-feedback shift register combined with a linear congruential
/// generator. Every test begins with the same state, so that leaving one out does not change the
/// others.
pub(super) struct Random {
    register: u32,
    congruential: u32,
}

const REGISTER_START: u32 = 0xad13_1d0b;
const REGISTER_TAPS: u32 = 0xd000_0001;
const CONGRUENTIAL_START: u32 = 0x44f9_eac8;
const CONGRUENTIAL_FACTOR: u32 = 1_103_515_245;
const CONGRUENTIAL_STEP: u32 = 12_345;

impl Random {
    /// The state at the beginning of a test.
    pub(super) fn new() -> Self {
        Self {
            register: REGISTER_START,
            congruential: CONGRUENTIAL_START,
        }
    }

    /// The next 32-bit number.
    fn next(&mut self) -> u32 {
        let taps = if self.register & 1 == 1 {
            REGISTER_TAPS
        } else {
            0
        };
        self.register = (self.register >> 1) ^ taps;
        self.congruential = self
            .congruential
            .wrapping_mul(CONGRUENTIAL_FACTOR)
            .wrapping_add(CONGRUENTIAL_STEP);
        self.register ^ self.congruential
    }

    /// The next number, modulo `limit`.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }
}

/// The lowest bits of a number, as many as `limit` has, in reverse order. If all bits of `limit`
/// are ones, this is a permutation of 0 to `limit`.
pub(super) fn swizzle(number: u32, limit: u32) -> u32 {
    let bits = u32::BITS - limit.leading_zeros();
    if bits == 0 {
        return 0;
    }
    number.reverse_bits() >> (u32::BITS - bits)
}

/// The smallest number whose bits are all ones and that is at least `limit`, and at least 1.
pub(super) fn all_ones(limit: u32) -> u32 {
    u32::MAX >> limit.max(1).leading_zeros()
}

/// The approximate square root: at most ten steps of Newton's method in integers. It is 0 for 1,
/// and may oscillate between two neighbours; the published scripts depend on its exact results.
pub(super) fn rough_square_root(number: u32) -> u32 {
    let mut guess = number / 2;
    for _ in 0..10 {
        if guess == 0 {
            break;
        }
        let better = u32::midpoint(guess, number / guess);
        if better == guess {
            break;
        }
        guess = better;
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_scripts() {
        // Test 240 of size 2 begins with the rows 46, 877 and 887.
        let mut random = Random::new();
        let rows = [(); 3].map(|()| random.below(1000) + 1);
        assert_eq!(rows, [46, 877, 887]);
    }

    #[test]
    fn swizzling_reverses_bits_and_reaches_every_number_once() {
        assert_eq!(swizzle(1, 1023), 512);
        assert_eq!(swizzle(3, 1023), 768);
        assert_eq!(swizzle(5, 0), 0);
        assert_eq!(swizzle(1, u32::MAX), 1 << 31);
        let mut seen: Vec<u32> = (0..=255).map(|number| swizzle(number, 255)).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..=255));
    }

    #[test]
    fn a_limit_is_rounded_up_to_ones() {
        for (limit, ones) in [(0, 1), (1, 1), (2, 3), (7, 7), (8, 15), (50_000, 65_535)] {
            assert_eq!(all_ones(limit), ones);
        }
    }

    #[test]
    fn the_root_is_rough() {
        let roots = [0, 1, 2, 5, 10, 25, 50, 100].map(rough_square_root);
        assert_eq!(roots, [0, 0, 1, 2, 3, 5, 7, 10]);
    }
}
