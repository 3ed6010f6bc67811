//! Sums and differences of numbers, where they are known to be what the server computes.
//!
//! Servers add whole numbers in 64 bits, decimals exactly, and everything beside a text or a
//! floating-point number in double precision. A column rounds a decimal to its digits. Of sums in
//! double precision only what is stored without a rounding that matters is computed here: both
//! operands and the result are multiples of the last digit of the column, and have few enough
//! digits that double precision cannot move them by half of it. A column is compared with whole
//! numbers of double precision alone.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use column_value::numeric::{self, decimal_digits};
use column_value::{LogicalType, Value, ValueError, WholeType};

use crate::{Given, not_understood, number};

/// What decides how a server computes with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Whole,
    /// Of 64 bits without a sign.
    Unsigned,
    Decimal,
    /// Of double precision.
    Float,
}

/// A number in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    value: BigDecimal,
    kind: Kind,
}

/// Why a result is not computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    /// The server says so, too: 1690, "BIGINT value is out of range".
    TooLarge,
    /// It is not sure that the server computes the same.
    Unsure(&'static str),
    /// The result is no value of the column.
    Value(ValueError),
}

/// Digits of which double precision keeps every last one through a sum.
const DIGITS_OF_SUM: u64 = 14;
/// Digits that decimals of a server have.
const DIGITS_MAX: u64 = 65;
/// Digits behind the point that decimals of MySQL have. Those of MariaDB have more.
const PLACES_MAX: i64 = 30;

impl Number {
    /// A value of a column of whole numbers or decimals of a type.
    pub fn of_value(value: &Value, logical: LogicalType) -> Option<Self> {
        match value {
            Value::Integer(whole) if logical.is_unsigned() => {
                Some(Self::unsigned(u64::try_from(*whole).ok()?))
            }
            Value::Integer(whole) => Some(Self::whole(*whole)),
            Value::Unsigned(whole) => Some(Self::unsigned(*whole)),
            Value::Numeric(decimal) => Some(Self {
                value: decimal.clone(),
                kind: Kind::Decimal,
            }),
            _ => None,
        }
    }

    /// A whole number.
    pub fn whole(number: i64) -> Self {
        Self {
            value: BigDecimal::from(number),
            kind: Kind::Whole,
        }
    }

    /// A whole number of a type without a sign.
    pub fn unsigned(number: u64) -> Self {
        Self {
            value: BigDecimal::from(number),
            kind: Kind::Unsigned,
        }
    }

    /// A constant in digits, which is a floating-point number with an exponent.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_digits(text: &str) -> Result<Self, ValueError> {
        if text.contains(['e', 'E'])
            && let Value::Float(number) = number::double(text, true)?
        {
            return Self::of_text(&number.to_string());
        }
        let value = number::read(text, LogicalType::Numeric(None))?;
        let whole = (!text.contains('.')).then(|| text.trim_start_matches('+'));
        let kind = match whole {
            Some(own) if own.parse::<i64>().is_ok() => Kind::Whole,
            Some(own) if own.parse::<u64>().is_ok() => Kind::Unsigned,
            _ => Kind::Decimal,
        };
        Ok(Self { value, kind })
    }

    /// A constant, with which servers compute as its digits or its text say.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_given(given: Given<'_>) -> Result<Self, ValueError> {
        match given {
            Given::Number(digits) => Self::of_digits(digits),
            Given::Text(text) => Self::of_text(text),
            Given::Bytes(_) => Err(not_understood(LogicalType::Numeric(None))),
        }
    }

    /// A parameter of a decimal type.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_decimal(text: &str) -> Result<Self, ValueError> {
        let value = number::read(text, LogicalType::Numeric(None))?;
        let kind = Kind::Decimal;
        Ok(Self { value, kind })
    }

    /// A text, with which servers compute in double precision; or the digits of such a number.
    ///
    /// # Errors
    /// It has another form.
    pub fn of_text(text: &str) -> Result<Self, ValueError> {
        let value = number::read(text, LogicalType::Numeric(None))?;
        let kind = Kind::Float;
        Ok(Self { value, kind })
    }

    /// The sum with another number, or the difference, on the way to a column of this type.
    ///
    /// # Errors
    /// [`ArithmeticError`]
    pub fn with(
        &self,
        other: &Self,
        subtracts: bool,
        logical: LogicalType,
    ) -> Result<Self, ArithmeticError> {
        let kind = self.kind.max(other.kind);
        let value = match subtracts {
            true => &self.value - &other.value,
            false => &self.value + &other.value,
        };
        let all = [&self.value, &other.value, &value];
        let within = |least: BigInt, greatest: BigInt| {
            BigDecimal::from(least) <= value && value <= BigDecimal::from(greatest)
        };
        match kind {
            Kind::Whole if !within(i64::MIN.into(), i64::MAX.into()) => {
                return Err(ArithmeticError::TooLarge);
            }
            // With NO_UNSIGNED_SUBTRACTION it is out of the column's range instead.
            Kind::Unsigned if !within(0.into(), u64::MAX.into()) && logical.is_unsigned() => {
                return Err(ArithmeticError::TooLarge);
            }
            Kind::Unsigned if !within(0.into(), u64::MAX.into()) => {
                return Err(ArithmeticError::Unsure(
                    "a number without a sign is computed with, and the result is below zero or \
                     too large: pass a number with a sign",
                ));
            }
            Kind::Decimal if all.into_iter().any(|one| digits(one) > DIGITS_MAX) => {
                return Err(ArithmeticError::Unsure("a number has too many digits"));
            }
            Kind::Float if !all.into_iter().all(|one| is_kept(one, logical)) => {
                return Err(ArithmeticError::Unsure(
                    "the server would compute in double precision, and round: pass a decimal \
                     number instead of a text or a floating-point number",
                ));
            }
            _ => {}
        }
        Ok(Self { value, kind })
    }

    /// The value that a column has once the number is assigned to it. A half is rounded away from
    /// zero.
    ///
    /// # Errors
    /// [`ArithmeticError`]
    pub fn assigned(&self, logical: LogicalType) -> Result<Value, ArithmeticError> {
        let is_rounded = number::exact(&self.value, scale(logical)).is_none();
        let is_exact =
            self.kind == Kind::Decimal && self.value.as_bigint_and_scale().1 <= PLACES_MAX;
        if is_rounded && !is_exact {
            return Err(ArithmeticError::Unsure(
                "the result has many more digits than the column, and would be rounded: round \
                 what is added",
            ));
        }
        // As such a number, the greatest is out of range to MySQL.
        if self.kind == Kind::Float && logical == LogicalType::Whole(WholeType::Year) {
            return Err(ArithmeticError::Unsure(
                "a year is computed with a text or a floating-point number: pass a whole number",
            ));
        }
        let assigned = match logical {
            LogicalType::Numeric(Some(limits)) => number::decimal(&self.value, limits),
            _ => number::integer_of_number(&self.value, logical),
        };
        assigned.map_err(ArithmeticError::Value)
    }

    /// The digits of a number with which a column of this type is compared as it is compared with
    /// the number. What it is made of must have been added [for](Number::with) [`COMPARED`].
    ///
    /// # Errors
    /// [`ArithmeticError`]
    pub fn compared(&self, logical: LogicalType) -> Result<String, ArithmeticError> {
        let mut text = String::new();
        numeric::write(&self.value, &mut text);
        let is_exact = match self.kind {
            Kind::Whole | Kind::Unsigned => true,
            Kind::Decimal => {
                digits(&self.value) <= DIGITS_MAX
                    && self.value.as_bigint_and_scale().1 <= PLACES_MAX
            }
            Kind::Float => {
                let number = text.parse::<f64>().ok();
                number.is_some_and(|own| number::digits_of_double(own, logical, false).is_some())
            }
        };
        match is_exact {
            true => Ok(text),
            false => Err(ArithmeticError::Unsure(
                "the server may compare the column with another number: pass a whole number, or a \
                 decimal number of fewer digits",
            )),
        }
    }
}

/// The type for which numbers are added with which a column is compared: as such numbers, servers
/// have whole ones of double precision exactly, and others without a sign go below zero in one SQL
/// mode.
pub const COMPARED: LogicalType = LogicalType::BigInt;

fn scale(logical: LogicalType) -> u16 {
    match logical {
        LogicalType::Numeric(Some((_, scale))) => scale,
        _ => 0,
    }
}

fn digits(number: &BigDecimal) -> u64 {
    decimal_digits(&number.as_bigint_and_scale().0)
}

/// Whether double precision keeps the digits that a column has.
fn is_kept(number: &BigDecimal, logical: LogicalType) -> bool {
    let scale = scale(logical);
    number::exact(number, scale)
        .is_some_and(|exact| digits(&exact.with_scale(scale.into())) <= DIGITS_OF_SUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: LogicalType = LogicalType::Numeric(Some((6, 2)));

    fn sum(one: &Number, other: &Number, logical: LogicalType) -> Result<Value, ArithmeticError> {
        one.with(other, false, logical)?.assigned(logical)
    }

    fn number(text: &str) -> Number {
        Number::of_digits(text).expect("digits")
    }

    #[test]
    fn numbers_are_compared_that_are_the_same_in_the_server() {
        let difference = |one: &Number, other: &Number, logical| {
            one.with(other, true, COMPARED)?.compared(logical)
        };
        let twenty = Number::whole(20);
        for (one, wanted) in [
            (Number::whole(3001), "2981"),
            (Number::whole(5), "-15"),
            (Number::unsigned(u64::MAX), "18446744073709551595"),
            (number("20.50"), "0.50"),
            (number("1e2"), "80"),
            (Number::of_text("3001").expect("digits"), "2981"),
        ] {
            let found = difference(&one, &twenty, LogicalType::Integer);
            assert_eq!(found.as_deref(), Ok(wanted));
        }
        assert_eq!(
            difference(&Number::whole(i64::MIN), &twenty, LogicalType::Integer),
            Err(ArithmeticError::TooLarge)
        );
        let text = |digits: &str| Number::of_text(digits).expect("digits");
        let wide = LogicalType::Numeric(Some((30, 10)));
        let fine = number(&format!("0.{}1", "0".repeat(30)));
        let long = number(&"9".repeat(66));
        for (one, logical) in [
            (Number::unsigned(5), LogicalType::Integer),
            (
                Number::unsigned(5),
                LogicalType::Whole(WholeType::UnsignedBig),
            ),
            (text("20.5"), MONEY),
            (text("123456789012345"), LogicalType::BigInt),
            (text("3001"), wide),
            (fine, MONEY),
            (long, MONEY),
        ] {
            let found = difference(&one, &twenty, logical);
            assert!(matches!(found, Err(ArithmeticError::Unsure(_))), "{one:?}");
        }
    }

    #[test]
    fn exact_numbers_are_added_and_the_rest_is_not_guessed() {
        let five = Number::whole(5);
        assert_eq!(
            sum(&five, &number("-7"), LogicalType::Integer),
            Ok(Value::Integer(-2))
        );
        let text = Number::of_text("2.25").expect("digits");
        let half = number("1.50");
        assert_eq!(
            sum(&half, &text, MONEY),
            number::decimal(&number("3.75").value, (6, 2)).map_err(ArithmeticError::Value)
        );
        let is_unsure = |result| matches!(result, Err(ArithmeticError::Unsure(_)));
        let rounded = |text: &str| {
            let value = Number::of_decimal(text).expect("digits").value;
            number::decimal(&value, (6, 2)).map_err(ArithmeticError::Value)
        };
        assert_eq!(sum(&half, &number("0.0049"), MONEY), rounded("1.50"));
        assert_eq!(sum(&half, &number("0.005"), MONEY), rounded("1.51"));
        assert_eq!(sum(&half, &number("-3.005"), MONEY), rounded("-1.51"));
        assert_eq!(sum(&half, &number("2.5e-1"), MONEY), rounded("1.75"));
        assert!(is_unsure(sum(&half, &number("1e-3"), MONEY)));
        let fine = format!("0.{}1", "0".repeat(30));
        assert!(is_unsure(sum(&half, &number(&fine), MONEY)));
        let finer = Number::of_text("0.001").expect("digits");
        assert!(is_unsure(sum(&half, &finer, MONEY)));
        let long = Number::of_text("123456789012345").expect("digits");
        assert!(is_unsure(sum(&five, &long, LogicalType::BigInt)));
        assert!(is_unsure(sum(
            &number("-7"),
            &Number::unsigned(5),
            LogicalType::Integer
        )));
        let most = Number::whole(i64::MAX);
        assert_eq!(
            sum(&most, &five, LogicalType::Numeric(Some((38, 0)))),
            Err(ArithmeticError::TooLarge)
        );
        let out = sum(&number("9999.99"), &number("0.01"), MONEY);
        assert!(matches!(out, Err(ArithmeticError::Value(_))));
    }
}
