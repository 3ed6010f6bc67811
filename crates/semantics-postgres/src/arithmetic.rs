//! `+`, `-`, `*`, `/` with the types, scales and errors of the server.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::Sign;
use bigdecimal::num_traits::Zero;
use column_value::limits::integer_range;
use column_value::{LogicalType, NumericSpecial, Value, ValueError};
use sqlstate::SqlState;

use crate::{datetime, numeric};

/// An operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`, `power`; not of `numeric` alone
    Power,
}

impl Arithmetic {
    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Power => '^',
        }
    }

    /// The type of `left operator right`.
    ///
    /// # Errors
    /// 42883: the server has no such operator, or this crate does not know it.
    pub fn result_type(
        self,
        left: LogicalType,
        right: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        use LogicalType as T;
        let of_dates = match (self, left, right) {
            (Self::Subtract, T::Date, T::Date) => Some(T::Integer),
            (Self::Add | Self::Subtract, T::Date, T::SmallInt | T::Integer) => Some(T::Date),
            (Self::Add, T::SmallInt | T::Integer, T::Date) => Some(T::Date),
            _ => None,
        };
        let result = match (left, right) {
            _ if of_dates.is_some() => of_dates,
            _ if !left.is_number() || !right.is_number() => None,
            _ if self == Self::Power => power_type(left, right),
            (T::Real, T::Real) => Some(T::Real),
            (T::Real | T::Double, _) | (_, T::Real | T::Double) => Some(T::Double),
            (T::Numeric(_), _) | (_, T::Numeric(_)) => Some(T::Numeric(None)),
            (T::BigInt, _) | (_, T::BigInt) => Some(T::BigInt),
            (T::Integer, _) | (_, T::Integer) => Some(T::Integer),
            _ => Some(T::SmallInt),
        };
        result.ok_or_else(|| {
            let message = format!("operator does not exist: {left} {} {right}", self.sign());
            ValueError::new(SqlState::UNDEFINED_FUNCTION, message)
        })
    }

    /// `left operator right`, where `result` is what [`result_type`](Self::result_type) gave.
    ///
    /// # Errors
    /// 22003, 22012, 22008 as the server.
    pub fn calculate(
        self,
        left: &Value,
        right: &Value,
        result: LogicalType,
    ) -> Result<Value, ValueError> {
        match (left, right) {
            (Value::Date(_), _) | (_, Value::Date(_)) => self.dates(left, right),
            (Value::Integer(left), Value::Integer(right)) if is_integer(result) => {
                self.integers(*left, *right, result)
            }
            _ if result == LogicalType::Double => {
                let (left, right) = (float(left)?, float(right)?);
                self.floats(left, right).map(Value::Float)
            }
            _ if result == LogicalType::Real => {
                let (left, right) = (float(left)? as f32, float(right)? as f32);
                self.singles(left, right)
            }
            _ => self.numerics(left, right),
        }
    }

    fn integers(self, left: i64, right: i64, result: LogicalType) -> Result<Value, ValueError> {
        let (left, right) = (i128::from(left), i128::from(right));
        let number = match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide if right == 0 => return Err(numeric::division_by_zero()),
            Self::Divide => left / right,
            Self::Power => return Err(no_number()),
        };
        in_range(number, result)
    }

    /// As IEEE 754 computes it, but for a number divided by zero.
    fn as_ieee(self, left: f64, right: f64) -> Result<f64, ValueError> {
        Ok(match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide if right == 0.0 && !left.is_nan() => {
                return Err(numeric::division_by_zero());
            }
            Self::Divide => left / right,
            Self::Power => power(left, right)?,
        })
    }

    fn floats(self, left: f64, right: f64) -> Result<f64, ValueError> {
        let number = self.as_ieee(left, right)?;
        let vanished = match self {
            Self::Multiply => left != 0.0 && right != 0.0,
            Self::Divide => left != 0.0 && !right.is_infinite(),
            Self::Power => left != 0.0 && !right.is_infinite() && !left.is_infinite(),
            Self::Add | Self::Subtract => false,
        };
        check_float(number, left.is_infinite() || right.is_infinite(), vanished)
    }

    fn singles(self, left: f32, right: f32) -> Result<Value, ValueError> {
        // Two roundings, to 53 and then to 24 bits, give what one does: 53 >= 2 * 24 + 2.
        let number = self.floats(f64::from(left), f64::from(right))?;
        let narrowed = number as f32;
        let endless = left.is_infinite() || right.is_infinite();
        let vanished = narrowed == 0.0 && number != 0.0;
        check_float(f64::from(narrowed), endless, vanished).map(Value::Float)
    }

    fn numerics(self, left: &Value, right: &Value) -> Result<Value, ValueError> {
        if let (Some(left), Some(right)) = (digits(left), digits(right)) {
            return match self {
                Self::Add => numeric::add(&left, &right),
                Self::Subtract => numeric::subtract(&left, &right),
                Self::Multiply => numeric::multiply(&left, &right),
                Self::Divide => numeric::divide(&left, &right),
                Self::Power => Err(no_number()),
            }
            .map(Value::Numeric);
        }
        // With an infinity or NaN on a side, signs are all that counts on the other.
        let (left, right) = (signed(left)?, signed(right)?);
        let number = self.as_ieee(left, right)?;
        Ok(match NumericSpecial::of_float(number) {
            Some(special) => Value::NumericSpecial(special),
            None => Value::Numeric(BigDecimal::zero()),
        })
    }

    fn dates(self, left: &Value, right: &Value) -> Result<Value, ValueError> {
        let is_infinite = |day: i32| day == i32::MIN || day == i32::MAX;
        match (self, left, right) {
            (Self::Subtract, Value::Date(left), Value::Date(right)) => {
                if is_infinite(*left) || is_infinite(*right) {
                    return Err(ValueError::new(
                        SqlState::DATETIME_FIELD_OVERFLOW,
                        "cannot subtract infinite dates",
                    ));
                }
                Ok(Value::Integer(i64::from(*left) - i64::from(*right)))
            }
            (_, Value::Date(day), Value::Integer(days))
            | (_, Value::Integer(days), Value::Date(day)) => {
                if is_infinite(*day) {
                    return Ok(Value::Date(*day));
                }
                let days = if self == Self::Subtract { -days } else { *days };
                let day = datetime::check_date(i64::from(*day) + days)?;
                if is_infinite(day) {
                    return Err(ValueError::new(
                        SqlState::DATETIME_FIELD_OVERFLOW,
                        "date out of range",
                    ));
                }
                Ok(Value::Date(day))
            }
            _ => Err(no_number()),
        }
    }
}

/// `-value`, of a number of this type.
///
/// # Errors
/// 22003: the least integer has no negative. 42883: no number.
pub fn negate(value: &Value, logical: LogicalType) -> Result<Value, ValueError> {
    Ok(match value {
        Value::Integer(number) => return in_range(-i128::from(*number), logical),
        Value::Float(number) => Value::Float(-number),
        Value::Numeric(number) => Value::Numeric(-number),
        Value::NumericSpecial(special) => Value::NumericSpecial(match special {
            NumericSpecial::NegativeInfinity => NumericSpecial::Infinity,
            NumericSpecial::Infinity => NumericSpecial::NegativeInfinity,
            NumericSpecial::Nan => NumericSpecial::Nan,
        }),
        _ => return Err(no_number()),
    })
}

fn is_integer(logical: LogicalType) -> bool {
    use LogicalType::{BigInt, Integer, SmallInt};
    matches!(logical, SmallInt | Integer | BigInt)
}

pub(crate) fn no_number() -> ValueError {
    ValueError::new(
        SqlState::UNDEFINED_FUNCTION,
        "operator does not exist for these types",
    )
}

pub(crate) fn in_range(number: i128, logical: LogicalType) -> Result<Value, ValueError> {
    i64::try_from(number)
        .ok()
        .filter(|number| integer_range(logical).contains(number))
        .map(Value::Integer)
        .ok_or_else(|| ValueError::out_of_range(&logical.to_string()))
}

/// The type of a power, other than `numeric`: the server raises whole numbers as floats.
fn power_type(left: LogicalType, right: LogicalType) -> Option<LogicalType> {
    use LogicalType as T;
    let is = |wanted: fn(&T) -> bool| wanted(&left) || wanted(&right);
    let is_float = is(|one| matches!(one, T::Real | T::Double));
    (is_float || !is(|one| matches!(one, T::Numeric(_)))).then_some(T::Double)
}

/// As the server's `dpow`.
fn power(base: f64, exponent: f64) -> Result<f64, ValueError> {
    if base == 0.0 && exponent < 0.0 {
        let message = "zero raised to a negative power is undefined";
        return Err(ValueError::new(
            SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            message,
        ));
    }
    if base < 0.0 && exponent.floor() != exponent && !exponent.is_nan() {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(ValueError::new(
            SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            message,
        ));
    }
    Ok(base.powf(exponent))
}

/// A result, unless it is infinite for lack of range, or 0 for lack of precision.
pub(crate) fn check_float(number: f64, endless: bool, vanished: bool) -> Result<f64, ValueError> {
    if number.is_infinite() && !endless {
        return Err(ValueError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: overflow",
        ));
    }
    if number == 0.0 && vanished {
        return Err(ValueError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: underflow",
        ));
    }
    Ok(number)
}

pub(crate) fn float(value: &Value) -> Result<f64, ValueError> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        Value::Numeric(number) => numeric::to_float(number),
        Value::NumericSpecial(special) => Ok(special.float()),
        _ => Err(no_number()),
    }
}

fn digits(value: &Value) -> Option<BigDecimal> {
    match value {
        Value::Integer(number) => Some(BigDecimal::from(*number)),
        Value::Numeric(number) => Some(number.clone()),
        _ => None,
    }
}

fn signed(value: &Value) -> Result<f64, ValueError> {
    match value {
        Value::Integer(number) => Ok(number.signum() as f64),
        Value::Numeric(number) => Ok(match number.sign() {
            Sign::Minus => -1.0,
            Sign::NoSign => 0.0,
            Sign::Plus => 1.0,
        }),
        Value::NumericSpecial(special) => Ok(special.float()),
        _ => Err(no_number()),
    }
}
