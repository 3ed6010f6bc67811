//! Collations of MySQL and MariaDB under which unlike texts are equal.

use std::fmt;
use std::str::FromStr;

/// A collation by which a column of texts is compared for equality. Two texts are equal if their
/// *collation keys* are: what the server's `WEIGHT_STRING()` gives, without the weights of blanks
/// at the end where it pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collation {
    /// `utf8mb4_general_ci`
    GeneralCi,
    /// `utf8mb4_general_nopad_ci`
    GeneralNopadCi,
    /// `utf8mb4_unicode_ci`
    UnicodeCi,
    /// `utf8mb4_unicode_nopad_ci`
    UnicodeNopadCi,
    /// `utf8mb4_unicode_520_ci`
    Unicode520Ci,
    /// `utf8mb4_unicode_520_nopad_ci`
    Unicode520NopadCi,
    /// `utf8mb4_uca1400_ai_ci`
    Uca1400AiCi,
    /// `utf8mb4_uca1400_nopad_ai_ci`
    Uca1400NopadAiCi,
    /// `utf8mb4_0900_ai_ci`
    Uca0900AiCi,
}

impl Collation {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::GeneralCi,
        Self::GeneralNopadCi,
        Self::UnicodeCi,
        Self::UnicodeNopadCi,
        Self::Unicode520Ci,
        Self::Unicode520NopadCi,
        Self::Uca1400AiCi,
        Self::Uca1400NopadAiCi,
        Self::Uca0900AiCi,
    ];

    /// Bytes of one weight in a collation key.
    const WEIGHT_SIZE: usize = 2;

    /// The server's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GeneralCi => "utf8mb4_general_ci",
            Self::GeneralNopadCi => "utf8mb4_general_nopad_ci",
            Self::UnicodeCi => "utf8mb4_unicode_ci",
            Self::UnicodeNopadCi => "utf8mb4_unicode_nopad_ci",
            Self::Unicode520Ci => "utf8mb4_unicode_520_ci",
            Self::Unicode520NopadCi => "utf8mb4_unicode_520_nopad_ci",
            Self::Uca1400AiCi => "utf8mb4_uca1400_ai_ci",
            Self::Uca1400NopadAiCi => "utf8mb4_uca1400_nopad_ai_ci",
            Self::Uca0900AiCi => "utf8mb4_0900_ai_ci",
        }
    }

    /// Whether blanks at the end of a text do not count (`PAD SPACE`).
    pub fn pads(self) -> bool {
        match self {
            Self::GeneralCi | Self::UnicodeCi | Self::Unicode520Ci | Self::Uca1400AiCi => true,
            Self::GeneralNopadCi
            | Self::UnicodeNopadCi
            | Self::Unicode520NopadCi
            | Self::Uca1400NopadAiCi
            | Self::Uca0900AiCi => false,
        }
    }

    /// The collation key of a text, from what `WEIGHT_STRING()` gives for it and for a blank. None:
    /// it gives something that no such collation has.
    pub fn key_of<'a>(self, weights: &'a [u8], blank: &[u8]) -> Option<&'a [u8]> {
        if blank.len() != Self::WEIGHT_SIZE || !weights.len().is_multiple_of(Self::WEIGHT_SIZE) {
            return None;
        }
        let mut key = weights;
        while let Some(rest) = key.strip_suffix(blank).filter(|_| self.pads()) {
            key = rest;
        }
        Some(key)
    }
}

impl FromStr for Collation {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let found = Self::ALL.into_iter().find(|own| own.name() == name);
        found.ok_or(())
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Collation;

    #[test]
    fn blanks_at_the_end_count_only_where_nothing_is_padded() {
        let (weights, blank) = ([0, 0x41, 0, 0x20, 0, 0x20], [0, 0x20]);
        let key = Collation::GeneralCi.key_of(&weights, &blank);
        assert_eq!(key, Some(&[0, 0x41][..]));
        let key = Collation::GeneralNopadCi.key_of(&weights, &blank);
        assert_eq!(key, Some(&weights[..]));
        // The byte of a blank in a weight is none.
        let key = Collation::GeneralCi.key_of(&[0x20, 0, 0x20, 0x20], &[0, 0x20]);
        assert_eq!(key, Some(&[0x20, 0, 0x20, 0x20][..]));
        assert_eq!(Collation::GeneralCi.key_of(&[1], &blank), None);
        assert_eq!(Collation::GeneralCi.key_of(&[], &[]), None);
    }

    #[test]
    fn every_name_means_its_collation() {
        for own in Collation::ALL {
            assert_eq!(own.name().parse(), Ok(own));
        }
        assert_eq!("binary".parse::<Collation>(), Err(()));
    }
}
