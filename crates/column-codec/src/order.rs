//! Order-revealing encoding of numbers: the bytes sort as the numbers do.
//!
//! A value is mapped to a number of `bits` bits, and each bit to a digit, the sum of the bit and a
//! keyed function of the bits before it, which lies between 0 and [`RANGE`] - 1. Two numbers have
//! the same digits up to their first different bit; there the digits differ by 1, as the bits do.
//! No digit wraps, so the order is exact.

use column_value::{LogicalType, NumericSpecial, Value, WholeType};
use crypto::value::PrefixFunction;

use crate::canonical::plain_float;

/// A digit is below 2^12 and takes 12 bits. The mask has 4095 values, so a digit alone reveals its
/// bit only if it is the smallest or the largest possible one, once in 4095.
pub(crate) const RANGE: u16 = 4095;

/// The mapping of a column's values to numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    kind: Kind,
    /// Added to a value, so that none is negative.
    offset: i128,
    /// Bits of the numbers.
    bits: u8,
    /// Only for values from 0 on, as given by the rule's `bits`.
    is_limited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    /// Whole numbers of a type that has none below zero
    Unsigned,
    /// `bigint unsigned`
    UnsignedBig,
    /// `numeric` with this scale; NaN is the greatest number.
    Decimal {
        scale: i64,
    },
    /// `real`: bit patterns of 32 bits
    Single,
    /// `double precision`: bit patterns of 64 bits
    Double,
    Date,
    Time,
    /// `TIME` of MySQL
    SignedTime,
    Timestamp,
}

/// The position of a value among the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Equal to this number.
    At(u64),
    /// Above this number and below the next.
    Above(u64),
    /// Below all numbers.
    BelowAll,
    /// Above all numbers.
    AboveAll,
}

impl Scale {
    /// The scale for the whole range of a type.
    pub(crate) fn of(logical: LogicalType) -> Option<Self> {
        let signed = |kind, bits: u8| Self {
            kind,
            offset: 1 << (bits - 1),
            bits,
            is_limited: false,
        };
        let pattern = |kind, bits| Self {
            offset: 0,
            ..signed(kind, bits)
        };
        Some(match logical {
            LogicalType::SmallInt => signed(Kind::Integer, 16),
            LogicalType::Integer => signed(Kind::Integer, 32),
            LogicalType::BigInt => signed(Kind::Integer, 64),
            LogicalType::Whole(WholeType::UnsignedBig) => pattern(Kind::UnsignedBig, 64),
            LogicalType::Whole(whole) => match whole.is_unsigned() {
                true => pattern(Kind::Unsigned, whole.bits()),
                false => signed(Kind::Integer, whole.bits()),
            },
            LogicalType::Numeric(Some((precision @ ..=18, scale))) => {
                // From -(10^p - 1) to 10^p - 1, and NaN above.
                let greatest = 10_i128.pow(u32::from(precision));
                Self {
                    kind: Kind::Decimal {
                        scale: i64::from(scale),
                    },
                    offset: greatest - 1,
                    bits: (128 - (2 * greatest - 1).leading_zeros()) as u8,
                    is_limited: false,
                }
            }
            LogicalType::Real => pattern(Kind::Single, 32),
            LogicalType::Double => pattern(Kind::Double, 64),
            LogicalType::Date => signed(Kind::Date, 32),
            LogicalType::Time(_) => pattern(Kind::Time, 37),
            LogicalType::SignedTime(_) => signed(Kind::SignedTime, 43),
            LogicalType::Timestamp(_) | LogicalType::TimestampTz(_) => signed(Kind::Timestamp, 64),
            _ => return None,
        })
    }

    /// The scale for numbers from 0 to 2^bits - 1.
    pub(crate) fn with_bits(self, bits: u8) -> Option<Self> {
        let kind = match self.kind {
            // What they share with those that have a sign.
            Kind::Unsigned => Kind::Integer,
            kind => kind,
        };
        let has_bits = matches!(
            kind,
            Kind::Integer | Kind::UnsignedBig | Kind::Decimal { .. }
        );
        (has_bits && (1..=63).contains(&bits)).then_some(Self {
            kind,
            offset: 0,
            bits,
            is_limited: true,
        })
    }

    /// Identifies the scale: kind, decimals, bits, and whether the rule gave them.
    pub(crate) fn identity(self) -> [u8; 5] {
        let (kind, decimals) = match self.kind {
            Kind::Integer => (1, 0),
            Kind::Decimal { scale } => (2, scale as u16),
            Kind::Single => (3, 0),
            Kind::Double => (4, 0),
            Kind::Date => (5, 0),
            Kind::Time => (6, 0),
            Kind::Timestamp => (7, 0),
            Kind::Unsigned | Kind::UnsignedBig => (8, 0),
            Kind::SignedTime => (9, 0),
        };
        let [high, low] = decimals.to_be_bytes();
        [kind, high, low, self.bits, u8::from(self.is_limited)]
    }

    /// Bits of the numbers.
    pub(crate) fn bits(self) -> u8 {
        self.bits
    }

    /// Size of all digits: two digits take three bytes.
    pub(crate) fn digits_size(self) -> usize {
        (usize::from(self.bits) * 12).div_ceil(8)
    }

    /// The position of a value of the column's type.
    pub(crate) fn place(self, value: &Value) -> Option<Place> {
        let whole = match (self.kind, value) {
            (Kind::Integer | Kind::Unsigned, Value::Integer(number)) => i128::from(*number),
            (Kind::UnsignedBig, Value::Unsigned(number)) => i128::from(*number),
            (Kind::Decimal { .. }, Value::NumericSpecial(special)) => {
                return Some(match special {
                    NumericSpecial::NegativeInfinity => Place::BelowAll,
                    NumericSpecial::Nan if !self.is_limited => Place::At(self.nan()),
                    // Above every finite number, below NaN.
                    NumericSpecial::Infinity if !self.is_limited => Place::Above(self.nan() - 1),
                    NumericSpecial::Infinity | NumericSpecial::Nan => Place::AboveAll,
                });
            }
            (Kind::Decimal { scale }, Value::Numeric(number)) => {
                return Some(self.decimal(number, scale));
            }
            (Kind::Single, Value::Float(number)) => i128::from(pattern_single(*number as f32)),
            (Kind::Double, Value::Float(number)) => i128::from(pattern_double(*number)),
            (Kind::Date, Value::Date(day)) => i128::from(*day),
            (Kind::Time | Kind::SignedTime, Value::Time(time))
            | (Kind::Timestamp, Value::Timestamp(time)) => i128::from(*time),
            _ => return None,
        };
        Some(self.shifted(whole))
    }

    fn nan(self) -> u64 {
        u64::try_from(2 * self.offset + 1).unwrap_or(u64::MAX)
    }

    /// The number of the greatest finite value.
    fn greatest(self) -> i128 {
        match self.kind {
            Kind::Decimal { .. } if !self.is_limited => 2 * self.offset,
            _ => (1_i128 << self.bits) - 1,
        }
    }

    fn shifted(self, whole: i128) -> Place {
        let number = whole + self.offset;
        if number < 0 {
            return Place::BelowAll;
        }
        match u64::try_from(number) {
            Ok(fitting) if number <= self.greatest() => Place::At(fitting),
            _ if self.has_nan() => Place::Above(self.nan() - 1),
            _ => Place::AboveAll,
        }
    }

    fn has_nan(self) -> bool {
        matches!(self.kind, Kind::Decimal { .. }) && !self.is_limited
    }

    fn decimal(self, number: &bigdecimal::BigDecimal, scale: i64) -> Place {
        use bigdecimal::num_traits::ToPrimitive;
        use bigdecimal::{RoundingMode, Signed};

        let floor = number.with_scale_round(scale, RoundingMode::Floor);
        let is_exact = floor == *number;
        let Some(whole) = floor.as_bigint_and_scale().0.to_i128() else {
            return match (number.is_negative(), self.has_nan()) {
                (true, _) => Place::BelowAll,
                (false, true) => Place::Above(self.nan() - 1),
                (false, false) => Place::AboveAll,
            };
        };
        // A value that would overflow 128 bits is out of range in any case.
        let limit = 1_i128 << 100;
        match self.shifted(whole.clamp(-limit, limit)) {
            Place::At(below) if !is_exact => Place::Above(below),
            place => place,
        }
    }

    /// The value of a number; `None` if no value maps to it.
    pub(crate) fn value(self, number: u64) -> Option<Value> {
        let whole = i128::from(number) - self.offset;
        Some(match self.kind {
            Kind::UnsignedBig => Value::Unsigned(u64::try_from(whole).ok()?),
            Kind::Integer | Kind::Unsigned => Value::Integer(i64::try_from(whole).ok()?),
            Kind::Decimal { .. } if self.has_nan() && number == self.nan() => {
                Value::NumericSpecial(NumericSpecial::Nan)
            }
            Kind::Decimal { scale } => {
                Value::Numeric(bigdecimal::BigDecimal::new(whole.into(), scale))
            }
            Kind::Single => Value::Float(f64::from(single_of_pattern(u32::try_from(number).ok()?))),
            Kind::Double => Value::Float(double_of_pattern(number)),
            Kind::Date => Value::Date(i32::try_from(whole).ok()?),
            Kind::Time => Value::Time(i64::try_from(whole).ok()?),
            Kind::SignedTime => Value::signed_time(i64::try_from(whole).ok()?)?,
            Kind::Timestamp => Value::Timestamp(i64::try_from(whole).ok()?),
        })
    }
}

/// The bit patterns of floating-point numbers sort like the numbers, once negative ones are
/// inverted and placed below the others.
fn pattern_double(number: f64) -> u64 {
    let bits = plain_float(number).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn double_of_pattern(pattern: u64) -> f64 {
    f64::from_bits(if pattern >> 63 == 1 {
        pattern & !(1 << 63)
    } else {
        !pattern
    })
}

fn pattern_single(number: f32) -> u32 {
    let number = if number.is_nan() {
        f32::NAN
    } else {
        number + 0.0
    };
    let bits = number.to_bits();
    if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    }
}

fn single_of_pattern(pattern: u32) -> f32 {
    f32::from_bits(if pattern >> 31 == 1 {
        pattern & !(1 << 31)
    } else {
        !pattern
    })
}

/// Computes the bytes of a number's digits: two digits take three bytes, high bits first.
pub(crate) fn digits(
    function: &PrefixFunction,
    scale: Scale,
    number: u64,
    mut give: impl FnMut(u8),
) {
    let mut left = scale.bits();
    let mut half = None;
    function.masks::<RANGE>(number, scale.bits(), |mask| {
        left -= 1;
        let bit = u16::from(number >> left & 1 == 1);
        let [high, low] = (mask + bit).to_be_bytes();
        match half.take() {
            None => {
                give(high << 4 | low >> 4);
                half = Some(low << 4);
            }
            Some(before) => {
                give(before | high);
                give(low);
            }
        }
    });
    if let Some(last) = half {
        give(last);
    }
}

/// The number that has these digits; `None` if none has.
pub(crate) fn number_of_digits(
    function: &PrefixFunction,
    scale: Scale,
    digits: &[u8],
) -> Option<u64> {
    let is_odd = !scale.bits().is_multiple_of(2);
    // Half of the last byte is no digit then.
    if is_odd && digits.last().is_none_or(|last| last & 0xf != 0) {
        return None;
    }
    let digit = |place: u8| {
        let at = usize::from(place) / 2 * 3;
        match place % 2 {
            0 => u16::from(digits[at]) << 4 | u16::from(digits[at + 1] >> 4),
            _ => u16::from(digits[at + 1] & 0xf) << 8 | u16::from(digits[at + 2]),
        }
    };
    function.number::<RANGE>(scale.bits(), digit)
}

#[cfg(test)]
mod tests {
    use semantics_postgres::ValueText;

    use super::*;

    #[test]
    fn bit_patterns_of_floats_sort_like_the_floats() {
        let sorted = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -1e-300,
            0.0,
            1e-300,
            1.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in sorted.windows(2) {
            assert!(
                pattern_double(pair[0]) < pattern_double(pair[1]),
                "{pair:?}"
            );
            let single = |number: f64| pattern_single(number as f32);
            assert!(single(pair[0]) <= single(pair[1]), "{pair:?}");
        }
        assert_eq!(pattern_double(-0.0), pattern_double(0.0));
        assert_eq!(double_of_pattern(pattern_double(-1.5)), -1.5);
        assert_eq!(single_of_pattern(pattern_single(-1.5)), -1.5);
    }

    #[test]
    fn numbers_beyond_the_scale_lie_beyond_all() {
        let numeric = |text: &str| {
            let logical = LogicalType::Numeric(None);
            Value::from_text(text, logical, &Default::default()).unwrap()
        };
        let cents = Scale::of(LogicalType::Numeric(Some((4, 2)))).unwrap();
        assert_eq!(cents.place(&numeric("-99.99")), Some(Place::At(0)));
        assert_eq!(cents.place(&numeric("99.99")), Some(Place::At(19_998)));
        assert_eq!(cents.place(&numeric("NaN")), Some(Place::At(19_999)));
        assert_eq!(cents.place(&numeric("100")), Some(Place::Above(19_998)));
        assert_eq!(cents.place(&numeric("-100")), Some(Place::BelowAll));
        assert_eq!(cents.place(&numeric("0.005")), Some(Place::Above(9_999)));
        assert_eq!(cents.place(&numeric("-0.005")), Some(Place::Above(9_998)));
        let few = Scale::of(LogicalType::Integer)
            .unwrap()
            .with_bits(8)
            .unwrap();
        assert_eq!(few.place(&Value::Integer(-1)), Some(Place::BelowAll));
        assert_eq!(few.place(&Value::Integer(255)), Some(Place::At(255)));
        assert_eq!(few.place(&Value::Integer(256)), Some(Place::AboveAll));
    }
}
