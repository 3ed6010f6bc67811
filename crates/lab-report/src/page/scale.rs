//! Scales of chart axes: the position of a value, and the values with labels.

/// How values are mapped to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// From 0 up.
    Linear,
    /// Between powers of ten.
    Logarithmic,
}

/// A scale for certain values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    Linear { low: f64, high: f64 },
    Logarithmic { low: f64, high: f64 },
}

/// Maximum number of labels on a linear axis.
const LABELS_MAX: f64 = 6.0;

impl Scale {
    /// The scale of a y axis: it begins at 0, or at a power of ten.
    pub(super) fn up(kind: Kind, values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::MAX, f64::min);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        match kind {
            Kind::Linear => {
                let step = step(most);
                Scale::Linear {
                    low: 0.0,
                    high: (most / step).ceil() * step,
                }
            }
            Kind::Logarithmic => {
                let low = power_of_ten(least.log10().floor());
                let high = power_of_ten(most.log10().ceil());
                let high = if high > low { high } else { low * 10.0 };
                Scale::Logarithmic { low, high }
            }
        }
    }

    /// The scale between two values.
    pub(super) fn between(kind: Kind, low: f64, high: f64) -> Self {
        match kind {
            Kind::Linear => Scale::Linear { low, high },
            Kind::Logarithmic => Scale::Logarithmic { low, high },
        }
    }

    /// The position of a value, from 0 to 1.
    pub(super) fn share(self, value: f64) -> f64 {
        match self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            Scale::Logarithmic { low, high } => (value / low).ln() / (high / low).ln(),
        }
    }

    /// The values with labels.
    pub(super) fn ticks(self) -> Vec<f64> {
        let mut ticks = Vec::new();
        match self {
            Scale::Linear { low, high } => {
                let step = step(high - low);
                let count = ((high - low) / step).round() as u32;
                ticks.extend((0..=count).map(|place| low + f64::from(place) * step));
            }
            Scale::Logarithmic { low, high } => {
                let mut tick = low;
                while tick <= high * 1.001 {
                    ticks.push(tick);
                    tick *= 10.0;
                }
            }
        }
        ticks
    }
}

/// The distance between labels from 0 to a value: 1, 2 or 5 times a power of ten.
fn step(most: f64) -> f64 {
    let power = power_of_ten((most / LABELS_MAX).log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * power);
    let fits = steps.into_iter().find(|step| most / step <= LABELS_MAX);
    fits.unwrap_or(10.0 * power)
}

fn power_of_ten(exponent: f64) -> f64 {
    10f64.powf(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_scale_begins_at_nothing_and_has_round_labels() {
        let scale = Scale::up(Kind::Linear, [937.0, 1452.0].into_iter());
        assert_eq!(scale.ticks(), [0.0, 500.0, 1000.0, 1500.0]);
        assert!((scale.share(750.0) - 0.5).abs() < 1e-9);
        let scale = Scale::up(Kind::Linear, [0.24].into_iter());
        assert_eq!(scale.ticks().len(), 6);
    }

    #[test]
    fn a_logarithmic_scale_lies_between_powers_of_ten() {
        let scale = Scale::up(Kind::Logarithmic, [0.1, 10.0].into_iter());
        assert_eq!(scale.ticks().len(), 3);
        assert!((scale.share(1.0) - 0.5).abs() < 1e-9);
    }
}
