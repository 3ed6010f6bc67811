//! Ratios of paired samples, with confidence intervals.
//!
//! The unit is the round: a new process and a new database for each engine. A ratio is the median
//! over rounds of the logarithm of (engine / base) within the same round, converted back. With
//! [`ROUNDS_FOR_INTERVAL`] rounds or more it has a 95 % percentile bootstrap interval over
//! [`RESAMPLES`] resamples of the rounds; with fewer rounds there is no interval, since a bootstrap
//! of so few points claims more than it knows. A mean over tests is the geometric mean of the
//! tests' ratios, and its interval resamples whole rounds, because the tests of one round are not
//! independent.

use serde::{Deserialize, Serialize};

use crate::schedule::Random;

/// Fewest rounds for an interval.
pub const ROUNDS_FOR_INTERVAL: usize = 10;

/// Resamples of a bootstrap.
pub const RESAMPLES: usize = 4000;

/// Shares of the resamples below and above a 95 % interval.
const TAILS: [f64; 2] = [0.025, 0.975];

/// How many times as long one engine takes as another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The estimate.
    pub value: f64,
    /// The 95 % interval, if there were enough rounds.
    pub interval: Option<(f64, f64)>,
    /// The number of rounds used.
    pub rounds: usize,
}

impl Ratio {
    /// Whether the interval excludes "no difference".
    pub fn excludes_one(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// The smallest ratio that counts as a difference: 2.5 %.
pub const SMALLEST_DIFFERENCE: f64 = 1.025;

/// The conclusion that a ratio allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More time than the base.
    Slower,
    /// Less time than the base.
    Faster,
    /// No difference beyond the noise.
    Alike,
    /// Too few rounds for a conclusion.
    Unknown,
    /// The machine was too busy: the reference engine differs from itself.
    Busy,
}

/// Limits for the reference engine against itself, as ratios: its deviation, and the width of its
/// interval. Beyond these no conclusion is drawn about any engine.
pub const NOISE_MAX: (f64, f64) = (1.05, 1.10);

/// Whether the reference engine against itself shows that the machine was too busy for conclusions.
pub fn is_too_noisy(control: &Ratio) -> bool {
    let (distance_max, width_max) = NOISE_MAX;
    let is_wide = |(low, high): (f64, f64)| high / low > width_max;
    control.value.ln().abs() > distance_max.ln() || control.interval.is_some_and(is_wide)
}

/// Concludes a difference only if the interval excludes 1, the ratio is at least
/// [`SMALLEST_DIFFERENCE`] away from it, and it lies outside the interval that the base engine has
/// against itself (`control`).
pub fn verdict(ratio: &Ratio, control: Option<&Ratio>) -> Verdict {
    if ratio.interval.is_none() {
        return Verdict::Unknown;
    }
    let distance = ratio.value.ln().abs();
    let noise = control
        .and_then(|control| control.interval)
        .map_or(0.0, |(low, high)| low.ln().abs().max(high.ln().abs()));
    if !ratio.excludes_one() || distance < SMALLEST_DIFFERENCE.ln() || distance <= noise {
        Verdict::Alike
    } else if ratio.value > 1.0 {
        Verdict::Slower
    } else {
        Verdict::Faster
    }
}

/// The middle value, or the mean of the two middle ones; `None` for an empty list.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted.get(middle).copied()
    } else {
        Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0)
    }
}

/// The ratio of one test. Each pair is (engine, base) of one round, in the same positive unit.
pub fn paired_ratio(pairs: &[(f64, f64)], seed: u64) -> Option<Ratio> {
    let rounds: Vec<Vec<(f64, f64)>> = pairs.iter().map(|&pair| vec![pair]).collect();
    mean_ratio(&rounds, seed)
}

/// The geometric mean over tests of the tests' ratios.
///
/// One entry per round, with one (engine, base) pair per test; every round has the same tests.
/// `None` without rounds, without tests, or with rounds of different lengths.
pub fn mean_ratio(rounds: &[Vec<(f64, f64)>], seed: u64) -> Option<Ratio> {
    let test_count = rounds.first()?.len();
    if test_count == 0 || rounds.iter().any(|round| round.len() != test_count) {
        return None;
    }
    let tests: Vec<Vec<f64>> = (0..test_count)
        .map(|test| {
            rounds
                .iter()
                .map(|round| (round[test].0 / round[test].1).ln())
                .collect()
        })
        .collect();
    let all: Vec<usize> = (0..rounds.len()).collect();
    let value = mean_of_medians(&tests, &all)?.exp();
    let interval = if rounds.len() >= ROUNDS_FOR_INTERVAL {
        bootstrap(&tests, seed)
    } else {
        None
    };
    Some(Ratio {
        value,
        interval,
        rounds: rounds.len(),
    })
}

/// The geometric mean over tests of the ratio of medians, after over before, of two runs whose
/// rounds are not paired. Each round has one time per test; every round has the same tests.
///
/// `None` without rounds, without tests, or with rounds of different lengths.
pub fn unpaired_ratio(before: &[Vec<f64>], after: &[Vec<f64>], seed: u64) -> Option<Ratio> {
    let test_count = before.first()?.len();
    let uneven = |rounds: &[Vec<f64>]| rounds.iter().any(|round| round.len() != test_count);
    if test_count == 0 || after.is_empty() || uneven(before) || uneven(after) {
        return None;
    }
    let [before, after] = [before, after].map(|rounds| -> Vec<Vec<f64>> {
        (0..test_count)
            .map(|test| rounds.iter().map(|round| round[test].ln()).collect())
            .collect()
    });
    let [old, new] = [&before, &after].map(|tests| tests[0].len());
    let estimate = |old: &[usize], new: &[usize]| {
        Some(mean_of_medians(&after, new)? - mean_of_medians(&before, old)?)
    };
    let value = estimate(&Vec::from_iter(0..old), &Vec::from_iter(0..new))?.exp();
    let rounds = old.min(new);
    let mut random = Random::seeded(seed);
    let mut chosen =
        |count: usize| -> Vec<usize> { (0..count).map(|_| random.below(count)).collect() };
    let interval = if rounds >= ROUNDS_FOR_INTERVAL {
        let estimates = (0..RESAMPLES).map(|_| estimate(&chosen(old), &chosen(new)));
        tails(estimates.collect::<Option<Vec<f64>>>()?)
    } else {
        None
    };
    Some(Ratio {
        value,
        interval,
        rounds,
    })
}

/// The mean over tests of the median over the chosen rounds. A test is a list of logarithms, one
/// per round.
fn mean_of_medians(tests: &[Vec<f64>], chosen: &[usize]) -> Option<f64> {
    let mut column = Vec::with_capacity(chosen.len());
    let mut sum = 0.0;
    for test in tests {
        column.clear();
        column.extend(chosen.iter().map(|&round| test[round]));
        sum += median(&column)?;
    }
    Some(sum / tests.len() as f64)
}

fn bootstrap(tests: &[Vec<f64>], seed: u64) -> Option<(f64, f64)> {
    let mut random = Random::seeded(seed);
    let rounds = tests.first()?.len();
    let estimates = (0..RESAMPLES)
        .map(|_| {
            let chosen: Vec<usize> = (0..rounds).map(|_| random.below(rounds)).collect();
            mean_of_medians(tests, &chosen)
        })
        .collect::<Option<Vec<f64>>>()?;
    tails(estimates)
}

/// The middle 95 % of estimates, which are logarithms.
fn tails(mut estimates: Vec<f64>) -> Option<(f64, f64)> {
    estimates.sort_unstable_by(f64::total_cmp);
    let [low, high] = TAILS.map(|share| {
        let place = (share * (RESAMPLES - 1) as f64).round() as usize;
        estimates[place].exp()
    });
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_empty_lists() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        let ratio = paired_ratio(&[(2.0, 1.0), (30.0, 10.0), (400.0, 100.0)], 1).unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-12);
        assert_eq!(ratio.rounds, 3);
        assert_eq!(ratio.interval, None);
        assert_eq!(paired_ratio(&[], 1), None);
    }

    #[test]
    fn a_round_that_was_slow_for_both_changes_nothing() {
        let calm = [(1.1, 1.0); 11];
        let mut shaken = calm;
        shaken[4] = (110.0, 100.0);
        assert_eq!(
            paired_ratio(&calm, 1).map(|ratio| (ratio.value * 1e9).round()),
            paired_ratio(&shaken, 1).map(|ratio| (ratio.value * 1e9).round())
        );
    }

    #[test]
    fn an_interval_needs_ten_rounds() {
        let pairs = [(1.0, 1.0); 10];
        assert_eq!(paired_ratio(&pairs[..9], 1).unwrap().interval, None);
        assert_eq!(paired_ratio(&pairs, 1).unwrap().interval, Some((1.0, 1.0)));
    }

    #[test]
    fn a_difference_must_stand_out_from_the_noise_of_the_machine() {
        let ratio = |value: f64, spread: f64| Ratio {
            value,
            interval: Some((value / spread, value * spread)),
            rounds: 10,
        };
        let control = ratio(1.0, 1.05);
        assert_eq!(verdict(&ratio(1.10, 1.02), Some(&control)), Verdict::Slower);
        assert_eq!(verdict(&ratio(0.90, 1.02), Some(&control)), Verdict::Faster);
        assert_eq!(verdict(&ratio(1.04, 1.01), Some(&control)), Verdict::Alike);
        assert_eq!(verdict(&ratio(1.04, 1.01), None), Verdict::Slower);
        assert_eq!(verdict(&ratio(1.02, 1.01), None), Verdict::Alike);
        assert_eq!(verdict(&ratio(1.20, 1.30), None), Verdict::Alike);
        let few = Ratio {
            value: 9.0,
            interval: None,
            rounds: 9,
        };
        assert_eq!(verdict(&few, None), Verdict::Unknown);
    }

    #[test]
    fn the_mean_over_tests_is_geometric() {
        let ratio = mean_ratio(
            &[vec![(2.0, 1.0), (1.0, 2.0)], vec![(4.0, 2.0), (3.0, 6.0)]],
            1,
        );
        assert!((ratio.unwrap().value - 1.0).abs() < 1e-12);
        assert_eq!(mean_ratio(&[vec![(1.0, 1.0)], vec![]], 1), None);
        assert_eq!(mean_ratio(&[vec![]], 1), None);
    }

    /// Equal engines with both shared and individual noise.
    fn equal_engines(seed: u64, rounds: usize, tests: usize) -> Vec<Vec<(f64, f64)>> {
        let mut random = Random::seeded(seed);
        let mut noise = move |size: f64| {
            let unit = random.below(1 << 30) as f64 / f64::from(1 << 30);
            ((unit - 0.5) * size).exp()
        };
        (0..rounds)
            .map(|_| {
                let shared = noise(2.0);
                (0..tests)
                    .map(|_| (shared * noise(0.1), shared * noise(0.1)))
                    .collect()
            })
            .collect()
    }

    /// Rounds of one of the engines of [`equal_engines`].
    fn one_side(seed: u64, times: f64) -> Vec<Vec<f64>> {
        let mut random = Random::seeded(seed);
        let mut noise = move || random.below(1000) as f64 / 1e4;
        (0..12)
            .map(|_| (0..3).map(|_| times * (1.0 + noise())).collect())
            .collect()
    }

    #[test]
    fn runs_that_are_no_pairs_are_compared_by_their_medians() {
        let even = |time: f64| vec![vec![time]; 10];
        let ratio = unpaired_ratio(&even(2.0), &even(3.0), 1).unwrap();
        assert!((ratio.value - 1.5).abs() < 1e-12);
        assert!(ratio.excludes_one());
        let [few, none] = [vec![vec![1.0]; 3], vec![]];
        assert_eq!(unpaired_ratio(&few, &even(2.0), 1).unwrap().interval, None);
        assert_eq!(unpaired_ratio(&none, &even(2.0), 1), None);
        assert_eq!(unpaired_ratio(&even(2.0), &none, 1), None);
        assert_eq!(unpaired_ratio(&even(2.0), &[vec![1.0, 2.0]], 1), None);

        let changed = (0..50)
            .filter(|&seed| {
                let ratio = unpaired_ratio(&one_side(seed, 1.0), &one_side(seed + 99, 1.1), 1);
                ratio.unwrap().excludes_one()
            })
            .count();
        let unchanged = (0..50)
            .filter(|&seed| {
                let ratio = unpaired_ratio(&one_side(seed, 1.0), &one_side(seed + 99, 1.0), 1);
                ratio.unwrap().excludes_one()
            })
            .count();
        assert!(changed == 50 && unchanged <= 7, "{changed} {unchanged}");
    }

    #[test]
    fn equal_engines_are_rarely_called_different() {
        let wrongly = (0..100)
            .filter(|&seed| {
                mean_ratio(&equal_engines(seed, 10, 1), seed)
                    .unwrap()
                    .excludes_one()
            })
            .count();
        // 5 are expected; a percentile bootstrap of a median deviates a little with ten rounds.
        assert!(wrongly <= 12, "{wrongly} of 100");
    }

    #[test]
    fn a_difference_of_a_tenth_is_seen_through_noise() {
        let ratio_with = |seed| {
            let mut rounds = equal_engines(seed, 12, 15);
            rounds.iter_mut().flatten().for_each(|pair| pair.0 *= 1.1);
            mean_ratio(&rounds, seed).unwrap()
        };
        let ratios: Vec<Ratio> = (0..30).map(ratio_with).collect();
        assert!(ratios.iter().all(Ratio::excludes_one));
        let covering = ratios
            .iter()
            .filter_map(|ratio| ratio.interval)
            .filter(|&(low, high)| low < 1.1 && 1.1 < high)
            .count();
        // 28 or 29 are expected.
        assert!(covering >= 24, "{covering} of 30");
    }
}
