//! Pseudo-random numbers that a seed reproduces exactly (SplitMix64, Steele, Lea and Flood 2014).

/// A generator; the same seed gives the same numbers on every machine.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The generator for a sequence of numbers.
    pub fn of(numbers: &[u64]) -> Self {
        let mut state = 0;
        for number in numbers {
            state = Random(state ^ number).draw();
        }
        Random(state)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Fills a buffer.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.draw().to_le_bytes()[..piece.len()]);
        }
    }
}

/// Seeds to run: the one in `STRONGROOM_TEST_SEED`, else the defaults.
///
/// # Panics
///
/// If the variable is not a number.
pub fn seeds(default: impl IntoIterator<Item = u64>) -> Vec<u64> {
    match std::env::var("STRONGROOM_TEST_SEED") {
        Ok(text) => vec![text.parse().expect("STRONGROOM_TEST_SEED is a number")],
        Err(_) => default.into_iter().collect(),
    }
}
