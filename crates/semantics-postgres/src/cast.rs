//! Values of one type as values of another: on assignment to a column, and by `CAST`.

use bigdecimal::BigDecimal;
use column_value::limits::integer_range;
use column_value::{LogicalType, NumericSpecial, OpaqueType, Value, ValueError};
use sqlstate::SqlState;

use crate::context::TextContext;
use crate::text::ValueText;
use crate::{datetime, numeric};

/// Who asks for another type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cast {
    /// A column: what is too long is an error.
    Assignment,
    /// The user: what is too long is cut.
    Explicit,
}

/// The value that a column of type `to` gets, as `INSERT` and `UPDATE` store it: rounded to the
/// scale, padded, checked for range and length. `from` is the type of the expression.
///
/// # Errors
/// 22003, 22001, 22008 as the server; 42804: the server would ask for an explicit cast.
pub fn assign(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
) -> Result<Value, ValueError> {
    convert(value, from, to, context, Cast::Assignment)
}

/// Refuses to assign values of a type to a column, whatever they are, as the server does before it
/// looks at a row. It names types without their limits.
///
/// # Errors
/// 42804: the server would ask for an explicit cast.
pub fn check_assignment(
    column: &str,
    from: LogicalType,
    to: LogicalType,
) -> Result<(), ValueError> {
    use LogicalType as T;
    let is_alike = match (from, to) {
        (T::Opaque(from), T::Opaque(to)) => from.is_alike(to),
        _ => std::mem::discriminant(&from) == std::mem::discriminant(&to),
    };
    let converts = match to {
        // Of each type there is a text.
        T::Text | T::Varchar(_) | T::Char(_) => from.opaque().is_none_or(OpaqueType::is_citext),
        T::Opaque(to) if to.is_citext() => from.is_text(),
        T::Timestamp(_) | T::TimestampTz(_) => {
            matches!(from, T::Date | T::Timestamp(_) | T::TimestampTz(_))
        }
        T::Date | T::Time(_) => matches!(from, T::Timestamp(_) | T::TimestampTz(_)),
        to => to.is_number() && from.is_number(),
    };
    match is_alike || converts {
        true => Ok(()),
        false => Err(ValueError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                unlimited(to),
                unlimited(from)
            ),
        )),
    }
}

/// The name of a type, without length, precision and scale.
fn unlimited(logical: LogicalType) -> String {
    let name = match logical {
        LogicalType::Numeric(_) => LogicalType::Numeric(None).to_string(),
        LogicalType::Varchar(_) => LogicalType::Varchar(None).to_string(),
        LogicalType::Opaque(opaque) => match opaque.named() {
            Some(own) => {
                let brackets = if opaque.is_array() { "[]" } else { "" };
                format!("{}{brackets}", own.name)
            }
            None => opaque.unlimited().to_string(),
        },
        other => other.with_all_digits().to_string(),
    };
    match logical {
        LogicalType::Char(_) => "character".to_owned(),
        _ => name,
    }
}

/// `CAST(value AS to)`.
///
/// # Errors
/// As the server: 22P02, 22003, 22008; 42846: there is no such cast.
pub fn cast(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
) -> Result<Value, ValueError> {
    convert(value, from, to, context, Cast::Explicit)
}

fn convert(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
    kind: Cast,
) -> Result<Value, ValueError> {
    if let Some(own) = from.opaque()
        && to.opaque().is_none()
    {
        return match text_of_citext(value, own) {
            Some(text) if to.is_text() => {
                to_string(Value::Text(text), LogicalType::Text, to, context, kind)
            }
            _ => Err(no_cast(from, to, kind)),
        };
    }
    match to {
        LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt => match value {
            Value::Boolean(truth) if to == LogicalType::Integer && kind == Cast::Explicit => {
                Ok(Value::Integer(i64::from(truth)))
            }
            value if from.is_number() => to_integer(&value, to),
            value => by_text(value, from, to, context, kind),
        },
        LogicalType::Real | LogicalType::Double if from.is_number() => to_float(value, to),
        LogicalType::Numeric(limits) if from.is_number() => to_numeric(value, from, limits),
        LogicalType::Numeric(limits) => match by_text(value, from, to, context, kind)? {
            Value::Numeric(number) => limited(number, limits),
            Value::NumericSpecial(special) => limited_special(special, limits),
            other => Ok(other),
        },
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
            to_string(value, from, to, context, kind)
        }
        LogicalType::Boolean => match value {
            Value::Boolean(_) => Ok(value),
            Value::Integer(number) if from == LogicalType::Integer && kind == Cast::Explicit => {
                Ok(Value::Boolean(number != 0))
            }
            value => by_text(value, from, to, context, kind),
        },
        LogicalType::Date
        | LogicalType::Time(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_) => {
            let moment = to_moment(value, from, to, context, kind)?;
            match to.second_digits() {
                Some(digits) => datetime::rounded(moment, digits),
                None => Ok(moment),
            }
        }
        LogicalType::Real
        | LogicalType::Double
        | LogicalType::Bytes
        | LogicalType::Uuid
        | LogicalType::Json => by_text(value, from, to, context, kind),
        LogicalType::Whole(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bits(_) => Err(no_cast(from, to, kind)),
        LogicalType::Opaque(opaque) => to_opaque(value, from, opaque, context, kind),
    }
}

/// The same type as it is; a text is read where the user asks for it.
fn by_text(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
    kind: Cast,
) -> Result<Value, ValueError> {
    if std::mem::discriminant(&from) == std::mem::discriminant(&to) {
        return Ok(value);
    }
    match value {
        Value::Text(text) if from.is_text() && kind == Cast::Explicit => {
            Value::from_text(&text, to, context)
        }
        _ => Err(no_cast(from, to, kind)),
    }
}

/// The text of a value, if its type has casts from and to texts of its own.
fn text_of_citext(value: Value, own: OpaqueType) -> Option<String> {
    match value {
        Value::Opaque(bytes) if own.is_citext() => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// The same type, with the modifier of the other. A text becomes a `citext`, too.
fn to_opaque(
    value: Value,
    from: LogicalType,
    to: OpaqueType,
    context: &TextContext,
    kind: Cast,
) -> Result<Value, ValueError> {
    let own = from.opaque();
    match value {
        Value::Opaque(bytes) if own == Some(to) => Ok(Value::Opaque(bytes)),
        Value::Opaque(bytes)
            if kind == Cast::Assignment && own.is_some_and(|own| own.is_alike(to)) =>
        {
            context.opaque.assigned(to, bytes).map(Value::Opaque)
        }
        Value::Text(text) if from.is_text() && to.is_citext() => {
            let text = to_string(Value::Text(text), from, LogicalType::Text, context, kind)?;
            Ok(match text {
                Value::Text(text) => Value::Opaque(text.into_bytes()),
                other => other,
            })
        }
        _ => Err(no_cast(from, LogicalType::Opaque(to), kind)),
    }
}

fn no_cast(from: LogicalType, to: LogicalType, kind: Cast) -> ValueError {
    match kind {
        Cast::Assignment => {
            let (to, from) = (unlimited(to), unlimited(from));
            let message = format!("column is of type {to} but expression is of type {from}");
            ValueError::new(SqlState::DATATYPE_MISMATCH, message)
        }
        Cast::Explicit => ValueError::new(
            SqlState::CANNOT_COERCE,
            format!("cannot cast type {from} to {to}"),
        ),
    }
}

fn to_integer(value: &Value, to: LogicalType) -> Result<Value, ValueError> {
    let number = match value {
        Value::Integer(number) => Some(*number),
        Value::Float(number) => float_to_integer(*number),
        Value::Numeric(number) => numeric::to_integer(number),
        Value::NumericSpecial(special) => {
            let what = match special {
                NumericSpecial::Nan => "NaN",
                NumericSpecial::Infinity | NumericSpecial::NegativeInfinity => "infinity",
            };
            let message = format!("cannot convert {what} to {to}");
            return Err(ValueError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        _ => None,
    };
    number
        .filter(|number| integer_range(to).contains(number))
        .map(Value::Integer)
        .ok_or_else(|| ValueError::out_of_range(&to.to_string()))
}

/// Rounded half to even.
fn float_to_integer(number: f64) -> Option<i64> {
    let whole = number.round_ties_even();
    // 2^63 is exact as a float, and no i64.
    let limit = -(i64::MIN as f64);
    (-limit <= whole && whole < limit).then_some(whole as i64)
}

fn to_float(value: Value, to: LogicalType) -> Result<Value, ValueError> {
    let single = to == LogicalType::Real;
    let number = match &value {
        Value::Integer(number) if single => f64::from(*number as f32),
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::NumericSpecial(special) => special.float(),
        Value::Numeric(number) if single => {
            let mut text = String::new();
            numeric::write(number, &mut text);
            return column_value::floats::parse(&text, single);
        }
        Value::Numeric(number) => numeric::to_float(number)?,
        _ => return Ok(value),
    };
    if !single {
        return Ok(Value::Float(number));
    }
    let narrowed = f64::from(number as f32);
    if narrowed.is_infinite() && number.is_finite() {
        return Err(ValueError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: overflow",
        ));
    }
    if narrowed == 0.0 && number != 0.0 {
        return Err(ValueError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "value out of range: underflow",
        ));
    }
    Ok(Value::Float(narrowed))
}

fn to_numeric(
    value: Value,
    from: LogicalType,
    limits: Option<(u16, u16)>,
) -> Result<Value, ValueError> {
    let value = match value {
        Value::Integer(number) => Value::Numeric(BigDecimal::from(number)),
        Value::Float(number) if from == LogicalType::Real => numeric::from_float(number, 6)?,
        Value::Float(number) => numeric::from_float(number, 15)?,
        value => value,
    };
    match value {
        Value::Numeric(number) => limited(number, limits),
        Value::NumericSpecial(special) => limited_special(special, limits),
        value => Ok(value),
    }
}

fn limited(number: BigDecimal, limits: Option<(u16, u16)>) -> Result<Value, ValueError> {
    let number = match limits {
        Some((precision, scale)) => numeric::limit(number, precision, scale)?,
        None => number,
    };
    Ok(Value::Numeric(number))
}

fn limited_special(
    special: NumericSpecial,
    limits: Option<(u16, u16)>,
) -> Result<Value, ValueError> {
    if limits.is_some() && special != NumericSpecial::Nan {
        return Err(numeric::field_overflow());
    }
    Ok(Value::NumericSpecial(special))
}

fn to_string(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
    kind: Cast,
) -> Result<Value, ValueError> {
    let mut text = match value {
        Value::Text(text) => text,
        Value::Boolean(truth) => truth.to_string(),
        value => value.to_text(from, context),
    };
    let from_char = matches!(from, LogicalType::Char(_));
    match to {
        LogicalType::Char(length) => {
            let characters = cut(&mut text, length, to, kind)?;
            let missing = (length as usize).saturating_sub(characters);
            text.extend(std::iter::repeat_n(' ', missing));
        }
        // Blanks at the end of a `char` are no part of it.
        _ if from_char => text.truncate(text.trim_end_matches(' ').len()),
        _ => {}
    }
    if let LogicalType::Varchar(Some(length)) = to {
        cut(&mut text, length, to, kind)?;
    }
    Ok(Value::Text(text))
}

/// Cuts to a length in characters: blanks always, other characters only by explicit cast. Returns
/// how many characters are left.
fn cut(text: &mut String, length: u32, to: LogicalType, kind: Cast) -> Result<usize, ValueError> {
    let length = length as usize;
    if text.len() <= length && text.is_ascii() {
        return Ok(text.len());
    }
    let Some((end, _)) = text.char_indices().nth(length) else {
        return Ok(text.chars().count());
    };
    if kind == Cast::Assignment && text[end..].bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {to}");
        return Err(ValueError::new(
            SqlState::STRING_DATA_RIGHT_TRUNCATION,
            message,
        ));
    }
    text.truncate(end);
    Ok(length)
}

fn to_moment(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
    kind: Cast,
) -> Result<Value, ValueError> {
    let zone = &context.time_zone;
    let from_zone = matches!(from, LogicalType::TimestampTz(_));
    match (value, to) {
        (Value::Date(day), LogicalType::Timestamp(_)) => {
            datetime::midnight(day).map(Value::Timestamp)
        }
        (Value::Date(day), LogicalType::TimestampTz(_)) => {
            datetime::from_local(datetime::midnight(day)?, zone).map(Value::Timestamp)
        }
        (Value::Timestamp(time), LogicalType::TimestampTz(_)) if from_zone => {
            Ok(Value::Timestamp(time))
        }
        (Value::Timestamp(time), LogicalType::TimestampTz(_)) => {
            datetime::from_local(time, zone).map(Value::Timestamp)
        }
        (Value::Timestamp(time), _) => {
            let local = match from_zone {
                true => datetime::to_local(time, zone)?,
                false => time,
            };
            match to {
                LogicalType::Timestamp(_) => Ok(Value::Timestamp(local)),
                LogicalType::Date => Ok(Value::Date(datetime::day_of(local))),
                // The server makes NULL of an infinity here, which no value can be.
                _ => datetime::time_of(local).ok_or_else(|| {
                    ValueError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
                }),
            }
        }
        (value, _) => by_text(value, from, to, context, kind),
    }
}
