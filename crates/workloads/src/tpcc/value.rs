//! Values of TPC-C's columns.

use std::borrow::Cow;
use std::fmt;

/// The type of a column or parameter, independent of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// 32 bits.
    Integer,
    /// 64 bits: the result of `count`.
    Count,
    /// An exact decimal number.
    Decimal,
    /// A floating-point number.
    Float,
    /// A text.
    Text,
    /// A time without a zone.
    Timestamp,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A value of [`Type::Integer`].
    Integer(u32),
    /// A value of [`Type::Decimal`].
    Decimal(Decimal),
    /// A value of [`Type::Float`].
    Float(f64),
    /// A value of [`Type::Text`].
    Text(Cow<'a, str>),
    /// A value of [`Type::Timestamp`]: microseconds since 1970-01-01 00:00.
    Timestamp(i64),
}

impl Value<'_> {
    /// An owned text.
    pub fn text(text: String) -> Value<'static> {
        Value::Text(Cow::Owned(text))
    }

    /// An amount of money, in cents.
    pub fn cents(cents: i64) -> Value<'static> {
        Value::Decimal(Decimal {
            digits: cents,
            scale: 2,
        })
    }

    /// A decimal number with scale zero.
    pub fn whole(number: u32) -> Value<'static> {
        Value::Decimal(Decimal {
            digits: i64::from(number),
            scale: 0,
        })
    }

    /// A rate in ten-thousandths.
    pub(super) fn rate(digits: u32) -> Value<'static> {
        Value::Decimal(Decimal {
            digits: i64::from(digits),
            scale: 4,
        })
    }
}

/// `digits` divided by 10 to the power of `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// The unscaled digits.
    pub digits: i64,
    /// The number of digits after the point.
    pub scale: u8,
}

impl Decimal {
    /// Parses a plain text such as `-12.50` with that scale; `None` if it is not a number, or has
    /// non-zero digits beyond the scale.
    pub fn parse(text: &str, scale: u8) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || !(whole.bytes().chain(part.bytes())).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut digits = whole.parse::<i64>().ok()?;
        let mut part = part.bytes().map(|byte| i64::from(byte - b'0'));
        for _ in 0..scale {
            let next = part.next().unwrap_or(0);
            digits = digits.checked_mul(10)?.checked_add(next)?;
        }
        if part.any(|digit| digit != 0) {
            return None;
        }
        let digits = if negative { -digits } else { digits };
        Some(Self { digits, scale })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let (digits, unit) = (self.digits.unsigned_abs(), 10u64.pow(u32::from(self.scale)));
        write!(formatter, "{sign}{}", digits / unit)?;
        if self.scale > 0 {
            let width = usize::from(self.scale);
            write!(formatter, ".{:0width$}", digits % unit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_and_read() {
        for (text, digits, scale) in [
            ("12.50", 1250, 2),
            ("-0.05", -5, 2),
            ("7", 7, 0),
            ("0.1234", 1234, 4),
            ("-10.00", -1000, 2),
        ] {
            let decimal = Decimal { digits, scale };
            assert_eq!(decimal.to_string(), text);
            assert_eq!(Decimal::parse(text, scale), Some(decimal));
        }
        assert_eq!(Decimal::parse("5.5", 2).map(|it| it.digits), Some(550));
        assert_eq!(Decimal::parse("5.500", 2).map(|it| it.digits), Some(550));
        for wrong in [
            "",
            ".5",
            "1e3",
            "5.555",
            "--1",
            "NaN",
            "99999999999999999999",
        ] {
            assert_eq!(Decimal::parse(wrong, 2), None, "{wrong}");
        }
    }
}
