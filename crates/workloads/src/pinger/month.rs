//! A month of measurements that never took place, by fixed rules in whole numbers.
//!
//! What was published of the original data is kept: 210 pairs of hosts and packet sizes from 22
//! sources to 4 to 9 destinations each, 325,720 measurements in December 2001, and the five rows
//! that were shown. All else is drawn from SplitMix64 by the coordinates of the value, so that any
//! row can be made alone.

use crate::mix::mix;

/// Pairs of hosts and packet sizes.
pub(super) const PAIRS: u32 = 210;

/// Measurements of the month.
pub(super) const ROWS: u32 = 325_720;

/// 2001-12-01 00:00 UTC.
const MONTH_BEGINS: u32 = 1_007_164_800;

/// Half hours of December.
const HALF_HOURS: u32 = 31 * 48;

/// The pair of which five rows were published.
const SHOWN_PAIR: u32 = 390;

/// Time, shortest, mean and longest way in milliseconds, and loss in percent, as published.
const SHOWN_ROWS: [(u32, [u32; 3], u32); 5] = [
    (1_007_194_529, [19, 21, 31], 10),
    (1_007_196_329, [19, 22, 49], 0),
    (1_007_198_127, [19, 20, 21], 0),
    (1_007_199_920, [19, 19, 20], 0),
    (1_007_201_718, [19, 20, 23], 0),
];

const SEED: u64 = 0x5069_6e67_4552;

/// What a number is drawn for: the first coordinate.
#[derive(Clone, Copy)]
enum Purpose {
    Destinations = 1,
    Lost = 2,
    Outage = 3,
    Phase = 4,
    Distance = 5,
    Measurement = 6,
}

/// The number that belongs to a place.
fn drawn(purpose: Purpose, coordinates: &[u32]) -> u64 {
    let first = mix(SEED ^ purpose as u64);
    coordinates.iter().fold(first, |value, &coordinate| {
        mix(value ^ u64::from(coordinate))
    })
}

/// The remainder, which fits wherever the divisor does.
fn remainder(value: u64, divisor: u32) -> u32 {
    (value % u64::from(divisor)) as u32
}

/// A few bits of a number.
fn bits(value: u64, lowest: u32, count: u32) -> u32 {
    (value >> lowest) as u32 & ((1 << count) - 1)
}

/// A source, a destination and a packet size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// From 1 in the order of the table.
    number: u32,
    /// From 1.
    pub(super) source: u32,
    /// From 0.
    pub(super) destination: u32,
    /// Bytes.
    pub(super) packet_size: u32,
}

impl Pair {
    /// The key of the row.
    pub(super) fn id(&self) -> u32 {
        2 * self.number
    }
}

/// How many destinations a source has: 105 pairs of hosts in all.
fn destination_count(source: u32) -> u32 {
    match source {
        3 => 9,
        4 => 8,
        1 | 5 => 7,
        6 => 6,
        _ => 4,
    }
}

/// The destinations of a source. All have the first; a few have the second.
fn destinations(source: u32) -> Vec<u32> {
    let begin = remainder(drawn(Purpose::Destinations, &[source]), 24);
    // 5 and 24 have no common divisor, so no destination comes twice.
    let others = (0..destination_count(source) - 1).map(|place| 4 + (begin + 5 * place) % 24);
    let mut destinations: Vec<u32> = std::iter::once(0).chain(others).collect();
    if source > 4 && source.is_multiple_of(3) {
        destinations[1] = 1;
    }
    destinations
}

/// All pairs in the order of the table.
pub(super) fn pairs() -> impl Iterator<Item = Pair> {
    (1..=22)
        .flat_map(|source| {
            destinations(source)
                .into_iter()
                .map(move |destination| (source, destination))
        })
        .flat_map(|hosts| [100, 1000].map(|packet_size| (hosts, packet_size)))
        .zip(1..)
        .map(|(((source, destination), packet_size), number)| Pair {
            number,
            source,
            destination,
            packet_size,
        })
}

/// The name of a source.
pub(super) fn source_name(source: u32) -> String {
    match source {
        1 => "pinger.slac.stanford.edu".to_owned(),
        2 => "monitor.stanford.edu".to_owned(),
        3 => "pinger.bnl.gov".to_owned(),
        4 => "hepnrc.hep.net".to_owned(),
        _ => format!("pinger{source:02}.example.net"),
    }
}

/// The name of a destination.
pub(super) fn destination_name(destination: u32) -> String {
    match destination {
        0 => "www.slac.stanford.edu".to_owned(),
        1 => "www.bnl.gov".to_owned(),
        2 => "www.hep.net".to_owned(),
        3 => "www.stanford.edu".to_owned(),
        _ => format!("node{:02}.example.org", destination - 3),
    }
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measurement {
    pub(super) pair: u32,
    /// Shortest, mean and longest time of the way, milliseconds; nothing where all was lost.
    pub(super) milliseconds: Option<[u32; 3]>,
    /// Seconds since 1970.
    pub(super) time: u32,
    pub(super) loss_percent: u32,
}

/// When a pair is measured, and what is known of its way.
struct Rhythm {
    pair: Pair,
    /// Seconds from one measurement to the next.
    every: u32,
    count: u32,
    /// Numbers of the measurements that were never made.
    outage: std::ops::Range<u32>,
    phase: u32,
    /// Shortest time of the way in a calm hour, milliseconds.
    distance: u32,
}

impl Rhythm {
    fn of(pair: Pair) -> Self {
        // One source measures twice as often, else the month has too few measurements.
        let (every, count) = if pair.source == 3 {
            (900, 2 * HALF_HOURS)
        } else {
            (1800, HALF_HOURS)
        };
        // Never in the middle of the month, where one of the queries looks.
        let side = drawn(Purpose::Outage, &[pair.number]);
        let within = remainder(side, count * 2 / 5);
        let begin = if bits(side, 40, 1) == 1 {
            within
        } else {
            count * 11 / 20 + within
        };
        let phase = if pair.id() == SHOWN_PAIR {
            929
        } else {
            remainder(drawn(Purpose::Phase, &[pair.number]), every - 120)
        };
        Self {
            pair,
            every,
            count,
            outage: begin..begin + lost(pair.number),
            phase,
            distance: distance(&pair),
        }
    }

    fn measurements(self) -> impl Iterator<Item = Measurement> {
        (0..self.count)
            .filter(move |number| !self.outage.contains(number))
            .map(move |number| {
                Self::measure(&self.pair, self.every, self.phase, self.distance, number)
            })
    }

    fn measure(pair: &Pair, every: u32, phase: u32, distance: u32, number: u32) -> Measurement {
        let slot = MONTH_BEGINS + number * every;
        let chance = drawn(Purpose::Measurement, &[pair.id(), number]);
        let time = slot + phase + bits(chance, 0, 4);
        let measurement = |milliseconds, loss_percent| Measurement {
            pair: pair.id(),
            milliseconds,
            time,
            loss_percent,
        };
        if pair.id() == SHOWN_PAIR {
            let shown = SHOWN_ROWS
                .iter()
                .find(|(time, ..)| (slot..slot + every).contains(time));
            if let Some(&(time, milliseconds, loss_percent)) = shown {
                return Measurement {
                    time,
                    ..measurement(Some(milliseconds), loss_percent)
                };
            }
        }
        let hour = (time / 3600 + 16) % 24;
        let busy = if (8..18).contains(&hour) { 3 } else { 1 };
        let fortune = bits(chance, 8, 10);
        if fortune < 6 {
            return measurement(None, 100);
        }
        let loss_percent = if fortune < 6 + 20 * busy {
            10 * (1 + bits(chance, 20, 1))
        } else {
            0
        };
        // One monitor has a bad clock: some of its times are zero.
        let shortest = if pair.source == 7 && fortune > 1015 {
            0
        } else {
            distance + bits(chance, 24, 2) * (busy - 1) / 2
        };
        let mean = shortest + bits(chance, 28, 3) * busy;
        let longest = mean + bits(chance, 32, 5) * busy;
        measurement(Some([shortest, mean, longest]), loss_percent)
    }
}

/// How many measurements of a pair are missing: about 64, and over all pairs as many as there are
/// more slots than rows.
fn lost(number: u32) -> u32 {
    let mirrored = number.min(PAIRS + 1 - number);
    let spread = remainder(drawn(Purpose::Lost, &[mirrored]), 61);
    let lost = if number <= PAIRS / 2 {
        64 + spread
    } else {
        64 - spread
    };
    lost + u32::from(number <= 104)
}

fn distance(pair: &Pair) -> u32 {
    if pair.id() == SHOWN_PAIR {
        return 19;
    }
    let distance = if pair.id() == SHOWN_PAIR - 2 {
        19
    } else if pair.source <= 2 && pair.destination == 0 {
        1
    } else {
        2 + remainder(
            drawn(Purpose::Distance, &[pair.source, pair.destination]),
            180,
        )
    };
    distance + pair.packet_size / 1000
}

/// All measurements, pair by pair, each in the order of time.
pub(super) fn measurements() -> impl Iterator<Item = Measurement> {
    pairs().flat_map(|pair| Rhythm::of(pair).measurements())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_as_many_pairs_as_published() {
        let pairs: Vec<Pair> = pairs().collect();
        assert_eq!(pairs.len(), PAIRS as usize);
        let sources: BTreeSet<u32> = pairs.iter().map(|pair| pair.source).collect();
        assert!(sources.iter().copied().eq(1..=22));
        let unique: BTreeSet<_> = pairs
            .iter()
            .map(|pair| (pair.source, pair.destination, pair.packet_size))
            .collect();
        assert_eq!(unique.len(), pairs.len());
    }

    #[test]
    fn there_are_as_many_measurements_as_published_and_all_differ() {
        let (mut count, mut without, mut zero) = (0, 0, 0);
        let mut keys = BTreeSet::new();
        for row in measurements() {
            count += 1;
            without += u32::from(row.milliseconds.is_none());
            zero += u32::from(row.milliseconds.is_some_and(|[shortest, ..]| shortest == 0));
            keys.insert((row.pair, row.time));
        }
        assert_eq!((count, without, zero), (ROWS, 1893, 81));
        assert_eq!(keys.len(), ROWS as usize);
    }

    #[test]
    fn the_published_rows_are_among_them() {
        for (time, milliseconds, loss_percent) in SHOWN_ROWS {
            let row = measurements().find(|row| row.pair == SHOWN_PAIR && row.time == time);
            let row = row.unwrap();
            assert_eq!(row.milliseconds, Some(milliseconds));
            assert_eq!(row.loss_percent, loss_percent);
        }
    }
}
