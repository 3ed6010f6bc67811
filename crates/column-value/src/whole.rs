//! Whole numbers of MySQL and MariaDB that PostgreSQL does not have.

use std::fmt;
use std::ops::RangeInclusive;

/// A type of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WholeType {
    /// `tinyint(1)`, which is `BOOLEAN` there: as many numbers as `tinyint`, shown with one digit
    Flag,
    /// `tinyint`, 8 bit
    Tiny,
    /// `mediumint`, 24 bit
    Medium,
    /// `tinyint unsigned`
    UnsignedTiny,
    /// `smallint unsigned`, 16 bit
    UnsignedSmall,
    /// `mediumint unsigned`
    UnsignedMedium,
    /// `int unsigned`, 32 bit
    UnsignedInteger,
    /// `bigint unsigned`, 64 bit: values are [`Value::Unsigned`](crate::Value::Unsigned)
    UnsignedBig,
    /// `year`: 0, and 1901 to 2155
    Year,
}

impl WholeType {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Flag,
        Self::Tiny,
        Self::Medium,
        Self::UnsignedTiny,
        Self::UnsignedSmall,
        Self::UnsignedMedium,
        Self::UnsignedInteger,
        Self::UnsignedBig,
        Self::Year,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "tinyint(1)",
            Self::Tiny => "tinyint",
            Self::Medium => "mediumint",
            Self::UnsignedTiny => "tinyint unsigned",
            Self::UnsignedSmall => "smallint unsigned",
            Self::UnsignedMedium => "mediumint unsigned",
            Self::UnsignedInteger => "int unsigned",
            Self::UnsignedBig => "bigint unsigned",
            Self::Year => "year",
        }
    }

    /// The type of a name and the numbers in parentheses behind its first word.
    pub(crate) fn from_parts(name: &str, limits: &[u32]) -> Option<Self> {
        Some(match (name, limits) {
            ("tinyint", [1]) => Self::Flag,
            ("year", [4]) => Self::Year,
            ("integer unsigned", []) => Self::UnsignedInteger,
            (name, []) => Self::ALL.into_iter().find(|own| own.name() == name)?,
            _ => return None,
        })
    }

    /// Bits of its numbers.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Flag | Self::Tiny | Self::UnsignedTiny => 8,
            Self::UnsignedSmall => 16,
            Self::Medium | Self::UnsignedMedium => 24,
            Self::UnsignedInteger => 32,
            Self::UnsignedBig => 64,
            Self::Year => 12,
        }
    }

    /// Whether none of its numbers is below zero.
    pub const fn is_unsigned(self) -> bool {
        match self {
            Self::Flag | Self::Tiny | Self::Medium => false,
            Self::UnsignedTiny
            | Self::UnsignedSmall
            | Self::UnsignedMedium
            | Self::UnsignedInteger
            | Self::UnsignedBig
            | Self::Year => true,
        }
    }

    /// Whether its numbers are not sealed alike those of other types: beyond 63 bits they have a
    /// form of their own, and a number that is no year becomes one once it is stored as such.
    pub const fn is_alone(self) -> bool {
        matches!(self, Self::UnsignedBig | Self::Year)
    }

    /// Its numbers, where 64 bits with a sign hold them all. Not each year of the range is one.
    pub fn range(self) -> Option<RangeInclusive<i64>> {
        if self == Self::UnsignedBig {
            return None;
        }
        Some(match self.is_unsigned() {
            true if self == Self::Year => 0..=2155,
            true => 0..=(1 << self.bits()) - 1,
            false => -(1 << (self.bits() - 1))..=(1 << (self.bits() - 1)) - 1,
        })
    }

    /// The least of 2, 4 and 8 bytes that hold each of its numbers with a sign.
    pub const fn signed_size(self) -> usize {
        match self {
            Self::Flag | Self::Tiny | Self::UnsignedTiny | Self::Year => 2,
            Self::Medium | Self::UnsignedSmall | Self::UnsignedMedium => 4,
            Self::UnsignedInteger | Self::UnsignedBig => 8,
        }
    }
}

impl fmt::Display for WholeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
