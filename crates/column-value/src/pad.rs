//! How far texts are padded before they are sealed: what the server learns of their length.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The step in which lengths of sealed texts grow, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pad(u16);

impl Pad {
    /// Every length shows.
    pub const NONE: Self = Self(1);

    /// The usual step.
    pub const DEFAULT: Self = Self(16);

    /// A power of two from 16 to 4096.
    pub fn new(step: u16) -> Option<Self> {
        let is_known = step.is_power_of_two() && (16..=4096).contains(&step);
        is_known.then_some(Self(step))
    }

    /// The least step for which all values of at most so many bytes have one size.
    pub fn holding(size: usize) -> Option<Self> {
        let step = (size + 1).next_power_of_two().max(16);
        u16::try_from(step).ok().and_then(Self::new)
    }

    /// The size of so many bytes behind which there is the byte that ends them, once padded.
    pub fn padded(self, size: u64) -> u64 {
        (size + 1).next_multiple_of(u64::from(self.0))
    }

    /// The step in bytes.
    pub fn step(self) -> u16 {
        self.0
    }
}

impl Default for Pad {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Pad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => f.write_str("none"),
            Self(step) => write!(f, "{step}"),
        }
    }
}

impl Serialize for Pad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::NONE => serializer.serialize_str("none"),
            Self(step) => serializer.serialize_u16(step),
        }
    }
}

impl<'de> Deserialize<'de> for Pad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Step(i64),
            Word(String),
        }
        let known = match Written::deserialize(deserializer)? {
            Written::Step(step) => u16::try_from(step).ok().and_then(Self::new),
            Written::Word(word) => (word == "none").then_some(Self::NONE),
        };
        known.ok_or_else(|| {
            D::Error::custom("`pad` is \"none\" or a power of two from 16 to 4096: 16, 32, 64 …")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_the_byte_that_ends_a_text() {
        for (pad, size, padded) in [
            (Pad::default(), 0, 16),
            (Pad::default(), 15, 16),
            (Pad::default(), 16, 32),
            (Pad::NONE, 0, 1),
            (Pad::NONE, 24, 25),
            (Pad(64), 63, 64),
        ] {
            assert_eq!(pad.padded(size), padded, "{pad} {size}");
        }
        for step in [0, 1, 8, 24, 8192] {
            assert_eq!(Pad::new(step), None, "{step}");
        }
    }
}
