//! Sums over all tests of a pass, and the ratio of two engines' sums.

use super::{EngineSummary, has_ended, passes_of, sum};
use crate::results::{Pass, Results};
use crate::statistics::{Ratio, paired_ratio};

/// The number of rounds; the last one may be incomplete.
pub(super) fn rounds(results: &Results) -> u32 {
    let rounds = results.passes.iter().map(|pass| pass.round);
    rounds.max().map_or(0, |round| round + 1)
}

/// For each round the wall time of all tests, seconds; see [`EngineSummary::wall_sums_s`].
pub(super) fn of(engine: &str, results: &Results) -> Vec<Option<f64>> {
    let tests = results.header.workload.tests.len();
    let of_round = |round| {
        let wanted = |pass: &&Pass| pass.round == round && has_ended(pass, tests);
        let pass = passes_of(results, engine).find(wanted)?;
        sum(pass, |one| Some(one.wall_ns)).map(|ns| ns / 1e9)
    };
    (0..rounds(results)).map(of_round).collect()
}

impl EngineSummary {
    /// The ratio of the sum of all tests to that of another engine, rounds paired.
    pub fn sum_ratio(&self, base: &EngineSummary, seed: u64) -> Option<Ratio> {
        let pairs = self.wall_sums_s.iter().zip(&base.wall_sums_s);
        let pairs: Vec<(f64, f64)> = pairs.filter_map(|(own, base)| own.zip(*base)).collect();
        paired_ratio(&pairs, seed)
    }
}
