//! When the operations of an open step are due.
//!
//! Requests of many independent users arrive at random: their number in any interval has a Poisson
//! distribution, and the times between them are exponential. Some then arrive close together by
//! chance and wait for one another, which equal intervals never show.

use serde::{Deserialize, Serialize};

use crate::mix::mix;

/// The arrival process of an open step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At random and independently of each other.
    #[default]
    Poisson,
    /// At equal intervals.
    Even,
}

impl Arrivals {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Even => "even",
        }
    }

    /// The arrivals of older runs, which do not state them.
    pub(crate) fn of_older_runs() -> Self {
        Self::Even
    }
}

/// The times at which operations are due, in nanoseconds after the start of a step, without end.
/// They depend only on the parameters and the test's number, so every engine gets the same ones in
/// every round.
#[derive(Debug, Clone)]
pub struct DueTimes {
    arrivals: Arrivals,
    rate: u32,
    seed: u64,
    number: u64,
    last_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

impl DueTimes {
    /// The times for a test with that number, at this rate per second.
    pub fn new(test: u32, rate: u32, arrivals: Arrivals) -> Self {
        // A random stream separate from that of the operations.
        const ARRIVALS: u64 = 0x6172_7269_7661_6c73;
        Self {
            arrivals,
            rate: rate.max(1),
            seed: mix(u64::from(test) ^ ARRIVALS),
            number: 0,
            last_ns: 0,
        }
    }

    /// An exponentially distributed interval, by inversion; its mean follows from the rate.
    fn gap_ns(&self) -> u64 {
        const STEPS: f64 = (1u64 << 53) as f64;
        // Above 0 and at most 1, so that its logarithm is finite.
        let share = ((mix(self.seed ^ self.number) >> 11) + 1) as f64 / STEPS;
        (-share.ln() * SECOND_NS as f64 / f64::from(self.rate)) as u64
    }
}

impl Iterator for DueTimes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let due_ns = match self.arrivals {
            Arrivals::Poisson => self.last_ns.saturating_add(self.gap_ns()),
            // Computed from the start each time, so that rounding errors do not add up.
            Arrivals::Even => {
                let ns = u128::from(self.number) * u128::from(SECOND_NS) / u128::from(self.rate);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        self.number += 1;
        self.last_ns = due_ns;
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_have_equal_intervals() {
        let times: Vec<u64> = DueTimes::new(3, 3, Arrivals::Even).take(4).collect();
        assert_eq!(times, [0, 333_333_333, 666_666_666, SECOND_NS]);
    }

    /// Mean and spread of the intervals, and of the counts per tenth of a second, match the Poisson
    /// process. The draws are fixed, so the bounds can be tight.
    #[test]
    fn arrivals_at_random_follow_poissons_law() {
        const COUNT: usize = 20_000;
        let rate = 200;
        for test in [3, 5, 7, 9] {
            let times: Vec<u64> = DueTimes::new(test, rate, Arrivals::Poisson)
                .take(COUNT)
                .collect();
            assert!(times.is_sorted());
            let mean_gap_s = times[COUNT - 1] as f64 / 1e9 / COUNT as f64;
            assert!((mean_gap_s * 200.0 - 1.0).abs() < 0.03, "{mean_gap_s}");
            let pairs = times.windows(2);
            let long = pairs.filter(|pair| pair[1] - pair[0] > 5_000_000).count();
            // e^-1 of them are longer than the mean.
            let share = long as f64 / COUNT as f64;
            assert!((share - 0.3679).abs() < 0.015, "{share}");
            let mut counts = vec![0f64; (times[COUNT - 1] / 100_000_000) as usize];
            for time in &times {
                if let Some(count) = counts.get_mut((time / 100_000_000) as usize) {
                    *count += 1.0;
                }
            }
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let squares = counts.iter().map(|count| (count - mean).powi(2));
            let variance = squares.sum::<f64>() / counts.len() as f64;
            assert!((variance / mean - 1.0).abs() < 0.15, "{variance} {mean}");
        }
    }

    #[test]
    fn the_same_step_has_the_same_times_and_another_test_others() {
        let times = |test| -> Vec<u64> {
            let times = DueTimes::new(test, 500, Arrivals::Poisson);
            times.take(100).collect()
        };
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(5));
    }
}
