//! The type that a client believes a protected column to have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::labels::{EnumType, SetType};
use crate::opaque::{OpaqueType, SECOND_DIGITS_MAX};
use crate::whole::WholeType;

/// A type of a column, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LogicalType {
    /// `boolean`
    Boolean,
    /// `smallint`, 16 bit
    SmallInt,
    /// `integer`, 32 bit
    Integer,
    /// `bigint`, 64 bit
    BigInt,
    /// Whole numbers that only MySQL and MariaDB have
    Whole(WholeType),
    /// `TIME` of MySQL and MariaDB, below zero and beyond a day, too: with its digits of a second
    SignedTime(u8),
    /// `ENUM` of MySQL and MariaDB: one of its labels
    Enum(EnumType),
    /// `SET` of MySQL and MariaDB: any of its labels
    Set(SetType),
    /// `BIT` of MySQL and MariaDB: a number without a sign, of so many bits up to 64
    Bits(u8),
    /// `real`, IEEE 754 binary32
    Real,
    /// `double precision`, IEEE 754 binary64
    Double,
    /// `numeric`, `numeric(precision, scale)`: decimal digits in all, and behind the point.
    Numeric(Option<(u16, u16)>),
    /// `text`
    Text,
    /// `varchar`, `varchar(length)`: at most so many characters.
    Varchar(Option<u32>),
    /// `char(length)`: padded with blanks to so many characters; blanks at the end do not count.
    Char(u32),
    /// `bytea`
    Bytes,
    /// `date`
    Date,
    /// `time without time zone`, microseconds; `time(digits)`: so many digits of a second.
    Time(Option<u8>),
    /// `timestamp without time zone`, microseconds or so many digits of a second
    Timestamp(Option<u8>),
    /// `timestamp with time zone`, microseconds or so many digits of a second
    TimestampTz(Option<u8>),
    /// `uuid`
    Uuid,
    /// `json`, kept as it was written
    Json,
    /// A type whose values are kept in the binary form of the server
    Opaque(OpaqueType),
}

/// A name of a type that is none, or none that can be protected.
#[derive(Debug, thiserror::Error)]
#[error(
    "type {name:?} cannot be protected; known are boolean, smallint, integer, bigint, real, \
     double precision, numeric(p,s), text, varchar(n), char(n), bytea, date, time(p), \
     timestamp(p), timestamptz(p), uuid, json, jsonb, interval, inet, cidr, macaddr, \
     macaddr8, timetz, bit(n), varbit(n), ranges, geometric types, tsvector, hstore, citext, \
     enum name, and arrays of them; before MySQL and MariaDB also tinyint, tinyint(1), mediumint, \
     whole numbers with unsigned, as int unsigned, year, bit(n) unsigned, time(p) signed, and \
     enum('a','b') and set('a','b') with labels of ASCII, unlike without regard to case, those of \
     set without commas"
)]
pub struct TypeNameError {
    name: String,
}

impl FromStr for LogicalType {
    type Err = TypeNameError;

    fn from_str(text: &str) -> Result<Self, TypeNameError> {
        let unknown = || TypeNameError {
            name: text.to_owned(),
        };
        if let Some(own) = OpaqueType::read_named(text) {
            return Ok(Self::Opaque(own));
        }
        if let Some(own) = EnumType::read(text) {
            return Ok(Self::Enum(own));
        }
        if let Some(own) = SetType::read(text) {
            return Ok(Self::Set(own));
        }
        let lower = text.trim().to_ascii_lowercase();
        let (name, limits) = match lower.split_once('(') {
            Some((name, rest)) => {
                let (inside, behind) = rest.split_once(')').ok_or_else(unknown)?;
                let limits: Result<Vec<u32>, _> =
                    inside.split(',').map(|part| part.trim().parse()).collect();
                let name = format!("{} {}", name.trim(), behind.trim());
                (name.trim().to_owned(), limits.map_err(|_| unknown())?)
            }
            None => (lower.clone(), Vec::new()),
        };
        Self::from_parts(&name, &limits).ok_or_else(unknown)
    }
}

impl LogicalType {
    /// How SQL names it, whatever the search path is.
    pub fn sql_name(self) -> String {
        match self {
            Self::Opaque(opaque) => opaque.sql_name(),
            other => other.to_string(),
        }
    }

    /// The type of a name and its limits, as they stand in DDL: `("numeric", [6, 2])`.
    pub fn from_parts(name: &str, limits: &[u32]) -> Option<Self> {
        Some(match (name, limits) {
            ("boolean" | "bool", []) => Self::Boolean,
            ("smallint" | "int2", []) => Self::SmallInt,
            ("integer" | "int" | "int4", []) => Self::Integer,
            ("bigint" | "int8", []) => Self::BigInt,
            ("real" | "float4", []) => Self::Real,
            ("double precision" | "double" | "float8" | "float", []) => Self::Double,
            ("numeric" | "decimal", []) => Self::Numeric(None),
            ("numeric" | "decimal", [precision]) => Self::numeric(*precision, 0)?,
            ("numeric" | "decimal", [precision, scale]) => Self::numeric(*precision, *scale)?,
            ("text", []) => Self::Text,
            ("varchar" | "character varying", []) => Self::Varchar(None),
            ("varchar" | "character varying", [length]) => Self::Varchar(Some(*length)),
            ("char" | "character" | "bpchar", []) => Self::Char(1),
            ("char" | "character" | "bpchar", [length]) => Self::Char(*length),
            ("bytea" | "blob", []) => Self::Bytes,
            ("date", []) => Self::Date,
            ("time" | "time without time zone", limits) => Self::Time(digits(limits)?),
            ("time signed", limits) => Self::SignedTime(digits(limits)?.unwrap_or(0)),
            ("bit unsigned", []) => Self::Bits(1),
            ("bit unsigned", [bits @ 1..=64]) => Self::Bits(*bits as u8),
            ("timestamp" | "timestamp without time zone", limits) => {
                Self::Timestamp(digits(limits)?)
            }
            ("timestamptz" | "timestamp with time zone", limits) => {
                Self::TimestampTz(digits(limits)?)
            }
            ("uuid", []) => Self::Uuid,
            ("json", []) => Self::Json,
            _ => match WholeType::from_parts(name, limits) {
                Some(whole) => Self::Whole(whole),
                None => Self::Opaque(OpaqueType::from_parts(name, limits)?),
            },
        })
    }

    fn numeric(precision: u32, scale: u32) -> Option<Self> {
        let (precision, scale) = (u16::try_from(precision).ok()?, u16::try_from(scale).ok()?);
        ((1..=1000).contains(&precision) && scale <= precision)
            .then_some(Self::Numeric(Some((precision, scale))))
    }

    /// The type whose values are kept unread, if it is one.
    pub fn opaque(self) -> Option<OpaqueType> {
        match self {
            Self::Opaque(opaque) => Some(opaque),
            _ => None,
        }
    }

    /// Whether `=` of the type is something that the proxy can tell.
    pub fn is_comparable(self) -> bool {
        self != Self::Json && self.opaque().is_none()
    }

    /// Whether values of the type are texts of characters.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_))
    }

    /// Whether the server compares values of the type by a collation.
    pub fn has_collation(self) -> bool {
        self.is_text() || self.is_of_labels()
    }

    /// Whether its values are labels of a list.
    pub fn is_of_labels(self) -> bool {
        self.labels_size_max().is_some()
    }

    /// Bytes of the longest text of labels that a value is, which are as many letters. None: its
    /// values are no labels.
    pub fn labels_size_max(self) -> Option<usize> {
        match self {
            Self::Enum(own) => Some(own.size_max()),
            Self::Set(own) => Some(own.size_max()),
            _ => None,
        }
    }

    /// Whether its values have a length that is worth hiding.
    pub fn has_length(self) -> bool {
        self.is_text()
            || self.is_of_labels()
            || matches!(self, Self::Bytes | Self::Json)
            || self.opaque().is_some_and(OpaqueType::has_length)
    }

    /// Whether its values are days or moments, which PostgreSQL compares with each other.
    pub fn is_moment(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp(_) | Self::TimestampTz(_))
    }

    /// Whether `+`, `SUM` and `AVG` are defined on the type.
    pub fn is_number(self) -> bool {
        self.is_whole() || matches!(self, Self::Real | Self::Double | Self::Numeric(_))
    }

    /// Whether its values are whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(
            self,
            Self::SmallInt | Self::Integer | Self::BigInt | Self::Whole(_)
        )
    }

    /// Whether it is a type of whole numbers none of which is below zero.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::Whole(whole) if whole.is_unsigned())
    }

    /// Whether it is a type that only MySQL and MariaDB have.
    pub fn is_of_mysql(self) -> bool {
        self.is_of_labels() || matches!(self, Self::Whole(_) | Self::SignedTime(_) | Self::Bits(_))
    }
}

/// How many digits of a second there may be; Some(None): all.
fn digits(limits: &[u32]) -> Option<Option<u8>> {
    match limits {
        [] => Some(None),
        [digits @ ..=SECOND_DIGITS_MAX] => Some(Some(*digits as u8)),
        _ => None,
    }
}

impl LogicalType {
    /// Digits of a second that values of the type have; None: all six, or it has no seconds.
    pub fn second_digits(self) -> Option<u8> {
        match self {
            Self::Time(digits) | Self::Timestamp(digits) | Self::TimestampTz(digits) => digits,
            Self::SignedTime(digits) => Some(digits),
            _ => None,
        }
    }

    /// The type with all digits of a second; another type as it is.
    pub fn with_all_digits(self) -> Self {
        match self {
            Self::Time(_) => Self::Time(None),
            Self::SignedTime(_) => Self::SignedTime(SECOND_DIGITS_MAX as u8),
            Self::Timestamp(_) => Self::Timestamp(None),
            Self::TimestampTz(_) => Self::TimestampTz(None),
            other => other,
        }
    }

    /// Whether it is `varchar`, with a length or without.
    pub fn is_varchar(self) -> bool {
        matches!(self, Self::Varchar(_))
    }

    /// The type of `COALESCE` and `CASE` over two types of numbers (PostgreSQL 10.5); None: one is
    /// no number.
    pub fn common_number(self, other: Self) -> Option<Self> {
        let rank = |logical| {
            Some(match logical {
                Self::SmallInt => 1,
                Self::Integer => 2,
                Self::BigInt => 3,
                Self::Numeric(_) => 4,
                Self::Real => 5,
                Self::Double => 6,
                _ => return None,
            })
        };
        let wider = if rank(self)? < rank(other)? {
            other
        } else {
            self
        };
        Some(match wider {
            Self::Numeric(_) => Self::Numeric(None),
            wider => wider,
        })
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Numeric(Some((precision, scale))) => {
                return write!(f, "numeric({precision},{scale})");
            }
            Self::Varchar(Some(length)) => return write!(f, "character varying({length})"),
            Self::Char(length) => return write!(f, "character({length})"),
            Self::SignedTime(digits) => return write!(f, "time({digits}) signed"),
            Self::Bits(bits) => return write!(f, "bit({bits}) unsigned"),
            Self::Time(Some(digits)) => return write!(f, "time({digits}) without time zone"),
            Self::Timestamp(Some(digits)) => {
                return write!(f, "timestamp({digits}) without time zone");
            }
            Self::TimestampTz(Some(digits)) => {
                return write!(f, "timestamp({digits}) with time zone");
            }
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Numeric(None) => "numeric",
            Self::Text => "text",
            Self::Varchar(None) => "character varying",
            Self::Bytes => "bytea",
            Self::Date => "date",
            Self::Time(None) => "time without time zone",
            Self::Timestamp(None) => "timestamp without time zone",
            Self::TimestampTz(None) => "timestamp with time zone",
            Self::Uuid => "uuid",
            Self::Json => "json",
            Self::Whole(whole) => whole.name(),
            Self::Enum(own) => return write!(f, "{own}"),
            Self::Set(own) => return write!(f, "{own}"),
            Self::Opaque(opaque) => return write!(f, "{opaque}"),
        };
        f.write_str(name)
    }
}

impl TryFrom<String> for LogicalType {
    type Error = TypeNameError;

    fn try_from(text: String) -> Result<Self, TypeNameError> {
        text.parse()
    }
}

impl From<LogicalType> for String {
    fn from(logical: LogicalType) -> Self {
        logical.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::LogicalType;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "numeric(6,2)",
            "character varying(16)",
            "character(2)",
            "timestamp with time zone",
            "double precision",
            "interval(3)",
            "time(0) with time zone",
            "time(3) without time zone",
            "timestamp(0) with time zone",
            "timestamp(6) without time zone",
            "bit varying(8)",
            "numeric(10,2)[]",
            "timestamp with time zone[]",
            "timestamp(3) with time zone[]",
            "character varying(5)[]",
            "bit(8)[]",
            "tinyint(1)",
            "bigint unsigned",
            "year",
            "time(3) signed",
            "enum('new','Paid')",
            "set('new','Paid')",
            "bit(64) unsigned",
        ] {
            let logical: LogicalType = name.parse().expect("a known name");
            assert_eq!(logical.to_string(), name);
        }
    }

    #[test]
    fn short_names_mean_the_same() {
        for (short, long) in [
            ("VARCHAR(16)", "character varying(16)"),
            ("decimal( 12, 2 )", "numeric(12,2)"),
            ("int4", "integer"),
            ("timestamptz", "timestamp with time zone"),
            ("timetz(3)", "time(3) with time zone"),
            ("timestamptz(6)", "timestamp(6) with time zone"),
            ("timestamp(3)", "timestamp(3) without time zone"),
            ("time(0)", "time(0) without time zone"),
            ("BIT", "bit(1)"),
            ("int4[3][]", "integer[]"),
            ("INTEGER UNSIGNED", "int unsigned"),
            ("YEAR(4)", "year"),
            ("time signed", "time(0) signed"),
            ("BIT UNSIGNED", "bit(1) unsigned"),
            ("ENUM( 'a', 'B' )", "enum('a','B')"),
            ("SET( 'a', 'B' )", "set('a','B')"),
        ] {
            let logical: LogicalType = short.parse().expect("a known name");
            assert_eq!(logical.to_string(), long);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "money",
            "numeric(2,3)",
            "numeric(0,0)",
            "varchar(x)",
            "char(",
            "int(4)",
            "timestamp(7)",
            "time(7) signed",
            "interval(7)",
            "interval year",
            "enum('a','A')",
            "set('a,b')",
            "bit(0) unsigned",
            "bit(65) unsigned",
            "varchar(0)[]",
            "timestamp(7)[]",
            "char(3)[]",
            "person[]",
            "[]",
        ] {
            assert!(name.parse::<LogicalType>().is_err(), "{name}");
        }
    }
}
