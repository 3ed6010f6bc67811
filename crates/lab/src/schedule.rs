//! The order in which engines run.
//!
//! In an even round the engines run in a random order, in the odd round after it in the reverse
//! order. So drift of the machine affects all alike, and no engine always follows the same
//! neighbour. The order is a function of the seed, so that an interrupted run continues as it
//! began.

/// SplitMix64: small, seedable, good enough to shuffle and to resample.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that always gives the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`, which must not be 0; the bias is below one in 2^32 for small limits.
    pub fn below(&mut self, limit: usize) -> usize {
        let wide = u128::from(self.next_bits()) * limit as u128;
        // The product is below limit * 2^64, so its upper half is below limit.
        (wide >> 64) as usize
    }
}

/// The indices of `engine_count` engines in the order in which they run in that round.
pub fn order(seed: u64, round: u32, engine_count: usize) -> Vec<usize> {
    let pair = u64::from(round / 2);
    let mut random = Random::seeded(seed ^ pair.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let mut places: Vec<usize> = (0..engine_count).collect();
    for last in (1..engine_count).rev() {
        places.swap(last, random.below(last + 1));
    }
    if round % 2 == 1 {
        places.reverse();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_runs_once_a_round() {
        for round in 0..20 {
            let mut places = order(1, round, 5);
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn odd_rounds_reverse_even_ones() {
        for pair in 0..10 {
            let mut reversed = order(3, pair * 2 + 1, 4);
            reversed.reverse();
            assert_eq!(reversed, order(3, pair * 2, 4));
        }
    }

    #[test]
    fn orders_differ_between_pairs_and_seeds_and_repeat_for_the_same() {
        let orders = |seed| {
            (0..10)
                .map(|pair| order(seed, pair * 2, 5))
                .collect::<Vec<_>>()
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        assert!(orders(1).windows(2).any(|two| two[0] != two[1]));
    }
}
