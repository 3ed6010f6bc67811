//! What MySQL and MariaDB do with values in a strict SQL mode: which value a constant is in a
//! column, and the text of a value.
//!
//! A protected column is `VARBINARY` in the server, so the server no longer checks what goes in:
//! length, scale, range. This crate is the home of those rules, as `semantics-postgres` is for
//! PostgreSQL. It knows no protocol and no key. `column-value` defines what a value is; of its
//! types `timestamp(n)` is `DATETIME(n)` here, `time(n) signed` is `TIME(n)`, `bit(n) unsigned` is
//! `BIT(n)`, and `bytea` is `BLOB`.
//!
//! | to | use |
//! |---|---|
//! | store a constant in a column | [`stored`] |
//! | compare a constant with a column for equality | [`matched`] |
//! | compare a constant with a column for order | [`bound`] |
//! | add to a value of a column, or compare a column with a sum | [`Number`] |
//! | take a floating-point number for an exact one | [`digits_of_double`] |
//! | write the text of a value | [`text`] |
//! | name a type | [`name_of_type`] |
//!
//! Servers read many more texts than are read here (`'20240229'`, `' 5 '`, `'1e2'`), with warnings
//! or without. What is not read in one full form is refused: never read as another value.
//!
//! Texts are equal here if their bytes are, as in a column with a binary collation. Some of those
//! let blanks at the end count and some do not, so such texts are refused there.
#![forbid(unsafe_code)]

mod aggregate;
mod arithmetic;
mod bits;
mod datetime;
mod label;
mod names;
mod number;
mod set;
mod time;
mod year;

pub use aggregate::{check_sorted, compare, sum, sum_type};
pub use arithmetic::{ArithmeticError, COMPARED, Number};
pub use datetime::is_zero as is_zero_date;
pub use names::name_of_type;
pub use number::digits_of_double;

use column_value::limits::integer_range;
use column_value::{LogicalType, Value, ValueError, WholeType};
use sqlstate::SqlState;

/// A constant of a statement, or a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Given<'a> {
    /// The digits of a number, with its sign.
    Number(&'a str),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Digits of a second that values have at most.
const SECOND_DIGITS: u8 = 6;

/// The longest `TEXT` and `BLOB`, in bytes.
pub const TEXT_SIZE_MAX: usize = 65_535;
/// The longest `LONGTEXT` and `LONGBLOB`, in bytes.
pub const LONG_SIZE_MAX: usize = u32::MAX as usize;

/// What a server does with digits of a second that a column does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fractions {
    /// It is not known.
    Refused,
    /// They are left out, as MariaDB does.
    Cut,
    /// A half is rounded up, as MySQL does.
    Rounded,
}

/// What decides about a value that is stored, beside the type of its column.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A text or bytes without a length of their own have this many bytes at most.
    pub size_max: usize,
    /// What becomes of digits of a second that the column does not have.
    pub fractions: Fractions,
    /// Whether the zero date is refused, as by `NO_ZERO_DATE`.
    pub refuses_zero_dates: bool,
}

fn not_understood(logical: LogicalType) -> ValueError {
    ValueError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!(
            "a value that is not read as {}: write it in full",
            named(logical)
        ),
    )
}

fn named(logical: LogicalType) -> String {
    name_of_type(logical).unwrap_or_else(|| logical.to_string())
}

fn too_long() -> ValueError {
    ValueError::new(
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        "data too long for the column",
    )
}

fn zero_date() -> ValueError {
    ValueError::new(
        SqlState::INVALID_DATETIME_FORMAT,
        "the zero date, which NO_ZERO_DATE forbids: leave that out of sql_mode, or store NULL",
    )
}

/// The value that a column of a type has once a constant is stored in it.
///
/// # Errors
/// 22001: too long. 22003: out of range. 22023: no label. 22007: the zero date, where it is
/// refused. 22P02: not read, though the server might read it. 0A000: no column of the type can be
/// protected.
pub fn stored(given: Given<'_>, logical: LogicalType) -> Result<Value, ValueError> {
    let terms = Terms {
        size_max: TEXT_SIZE_MAX,
        fractions: Fractions::Refused,
        refuses_zero_dates: false,
    };
    stored_under(given, logical, terms)
}

/// The same on terms of a server and a column.
///
/// # Errors
/// As those of [`stored`].
pub fn stored_under(
    given: Given<'_>,
    logical: LogicalType,
    terms: Terms,
) -> Result<Value, ValueError> {
    let Terms {
        size_max,
        fractions,
        refuses_zero_dates,
    } = terms;
    if let Some(zero) = datetime::zero(given, logical) {
        return match refuses_zero_dates {
            false => Ok(zero),
            true => Err(zero_date()),
        };
    }
    let is_number = matches!(given, Given::Number(_));
    match logical {
        LogicalType::Whole(WholeType::Year) => year::stored(given),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_) => {
            let number = number::of_constant(given, logical, true)?;
            match is_number {
                true => number::integer_of_number(&number, logical),
                false => number::integer(&number, logical),
            }
        }
        LogicalType::Numeric(Some(limits)) => {
            let number = number::of_constant(given, logical, true)?;
            number::decimal(&number, limits)
        }
        LogicalType::Double => number::double(digits(given, logical)?, is_number),
        LogicalType::Real => number::float(digits(given, logical)?, is_number),
        LogicalType::Varchar(Some(letters)) => varchar(text_of(given, logical)?, letters),
        // Blanks at the end are no part of it.
        LogicalType::Char(letters) => {
            varchar(text_of(given, logical)?.trim_end_matches(' '), letters)
        }
        LogicalType::Text => match text_of(given, logical)? {
            text if text.len() <= size_max => Ok(Value::Text(text.to_owned())),
            _ => Err(too_long()),
        },
        LogicalType::Bytes => match bytes_of(given, logical)? {
            bytes if bytes.len() <= size_max => Ok(Value::Bytes(bytes.to_vec())),
            _ => Err(too_long()),
        },
        LogicalType::Date => datetime::date(text_of(given, logical)?),
        LogicalType::Timestamp(Some(digits)) => {
            datetime::datetime(text_of(given, logical)?, digits, fractions)
        }
        LogicalType::SignedTime(digits) => time::time(text_of(given, logical)?, digits, fractions),
        LogicalType::Enum(own) => label::stored(given, own),
        LogicalType::Set(own) => set::stored(given, own),
        LogicalType::Bits(count) => bits::stored(given, count),
        LogicalType::TimestampTz(Some(digits)) => {
            let value = datetime::datetime(text_of(given, logical)?, digits, fractions)?;
            match datetime::is_timestamp(&value) {
                true => Ok(value),
                false => Err(not_understood(logical)),
            }
        }
        _ => Err(not_supported(logical)),
    }
}

fn bytes_of(given: Given<'_>, logical: LogicalType) -> Result<&[u8], ValueError> {
    match given {
        Given::Number(_) => Err(not_understood(logical)),
        Given::Text(text) => Ok(text.as_bytes()),
        Given::Bytes(bytes) => Ok(bytes),
    }
}

/// The moment of UTC, as a text, that a text means in a time zone of a fixed offset.
///
/// # Errors
/// 22P02: it is not read.
pub fn in_utc(given: Given<'_>, offset_s: i32) -> Result<String, ValueError> {
    let logical = LogicalType::TimestampTz(Some(SECOND_DIGITS));
    // The zero date is the same in all zones.
    let (value, offset_s) = match datetime::zero(given, logical) {
        Some(zero) => (zero, 0),
        None => {
            let text = text_of(given, logical)?;
            let value = datetime::datetime(text, SECOND_DIGITS, Fractions::Refused)?;
            (value, offset_s)
        }
    };
    let Value::Timestamp(time_us) = value else {
        return Err(not_understood(logical));
    };
    let mut text = String::new();
    let time_us = time_us - i64::from(offset_s) * 1_000_000;
    datetime::write_datetime(time_us, SECOND_DIGITS, &mut text);
    Ok(text)
}

/// The value that is equal to a constant in a column of a type; None: no value of the column is.
///
/// # Errors
/// 22P02: not read, or the server would compare otherwise than by the value. 0A000: columns of the
/// type are not compared.
pub fn matched(given: Given<'_>, logical: LogicalType) -> Result<Option<Value>, ValueError> {
    match logical {
        LogicalType::Whole(WholeType::Year) => year::compared(given).map(Some),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_) => {
            let number = number::of_constant(given, logical, false)?;
            number::check_compared(&number, matches!(given, Given::Text(_)), logical)?;
            Ok(number::exact(&number, 0).and_then(|exact| number::integer(&exact, logical).ok()))
        }
        LogicalType::Numeric(Some(limits)) => {
            let number = number::of_constant(given, logical, false)?;
            number::check_compared(&number, matches!(given, Given::Text(_)), logical)?;
            let exact = number::exact(&number, limits.1);
            Ok(exact.and_then(|exact| number::decimal(&exact, limits).ok()))
        }
        LogicalType::Date | LogicalType::SignedTime(_) | LogicalType::Timestamp(Some(_)) => {
            compared_moment(given, logical).map(Some)
        }
        LogicalType::Enum(own) => label::matched(given, own),
        LogicalType::Set(own) => set::matched(given, own).map(Some),
        LogicalType::Bits(count) => bits::matched(given, count).map(Some),
        LogicalType::TimestampTz(Some(_)) => {
            let value = bound(given, logical)?;
            Ok(datetime::is_timestamp(&value).then_some(value))
        }
        LogicalType::Varchar(_) | LogicalType::Char(_) | LogicalType::Text => {
            let value = Value::Text(text_of(given, logical)?.to_owned());
            check_ending(&value).map(|()| Some(value))
        }
        _ => Err(not_supported(logical)),
    }
}

/// The day, time or moment with which a column is compared. Moments with digits of a second are not
/// compared with the zero date: not each server takes it for itself then.
fn compared_moment(given: Given<'_>, logical: LogicalType) -> Result<Value, ValueError> {
    let has_digits = matches!(logical, LogicalType::Timestamp(Some(1..)));
    match has_digits && datetime::zero(given, logical).is_some() {
        true => Err(not_understood(logical)),
        false => stored(given, logical),
    }
}

/// The text whose equals are looked for by a collation. It may be longer than the column is, since
/// letters that do not count are equal to none.
///
/// # Errors
/// 22P02: it is no text, so the server would compare numbers.
pub fn matched_by_collation(given: Given<'_>) -> Result<&str, ValueError> {
    text_of(given, LogicalType::Text)
}

/// Checks a text that is stored where texts are compared by their bytes.
///
/// # Errors
/// 22P02: it ends with a blank, which counts for some of the servers' binary collations and not for
/// others.
pub fn check_ending(value: &Value) -> Result<(), ValueError> {
    match value {
        Value::Text(text) if text.ends_with(' ') => Err(ValueError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            "a text that ends with a blank, where texts are compared: it would be equal to one \
             without it or not, depending on the collation. Remove the blank"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// The value by which a column of numbers, dates or moments is compared for order with a constant.
/// It need not be one of the column.
///
/// # Errors
/// As those of [`matched`].
pub fn bound(given: Given<'_>, logical: LogicalType) -> Result<Value, ValueError> {
    match logical {
        LogicalType::Whole(WholeType::Year) => year::compared(given),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_)
        | LogicalType::Numeric(Some(_)) => {
            let number = number::of_constant(given, logical, false)?;
            number::check_compared(&number, matches!(given, Given::Text(_)), logical)?;
            Ok(Value::Numeric(number))
        }
        LogicalType::Date | LogicalType::SignedTime(_) | LogicalType::Timestamp(Some(_)) => {
            compared_moment(given, logical)
        }
        // It may be a moment that no column has.
        LogicalType::TimestampTz(Some(digits)) => match datetime::zero(given, logical) {
            Some(zero) => Ok(zero),
            None => datetime::datetime(text_of(given, logical)?, digits, Fractions::Refused),
        },
        _ => Err(not_supported(logical)),
    }
}

/// The text that the server writes for a value of a column.
///
/// # Errors
/// The value is none of the type.
pub fn text(value: &Value, logical: LogicalType) -> Result<Vec<u8>, ValueError> {
    let mut out = String::new();
    match (value, logical) {
        (Value::Integer(number), LogicalType::Whole(WholeType::Year)) if year::is_year(*number) => {
            out = format!("{number:04}");
        }
        (Value::Integer(_), LogicalType::Whole(WholeType::Year)) => {
            return Err(not_understood(logical));
        }
        (Value::Integer(number), LogicalType::Enum(own)) => match own.label_of(*number) {
            Some(label) => label.clone_into(&mut out),
            None => return Err(not_understood(logical)),
        },
        (Value::Unsigned(bits), LogicalType::Set(own)) => {
            out = own.text_of(*bits).ok_or_else(|| not_understood(logical))?;
        }
        (Value::Unsigned(number), LogicalType::Bits(count)) => {
            return bits::written(*number, count).ok_or_else(|| not_understood(logical));
        }
        // Of another range if the rule was changed, and none of the type then.
        (Value::Integer(number), logical)
            if logical.is_whole() && integer_range(logical).contains(number) =>
        {
            out = number.to_string();
        }
        (Value::Unsigned(number), LogicalType::Whole(WholeType::UnsignedBig)) => {
            out = number.to_string();
        }
        (Value::Numeric(number), LogicalType::Numeric(Some((_, scale)))) => {
            let number = column_value::numeric::round(number, scale.into());
            column_value::numeric::write(&number, &mut out);
        }
        (Value::Text(text), LogicalType::Varchar(_) | LogicalType::Text) => {
            text.clone_into(&mut out);
        }
        (Value::Text(text), LogicalType::Char(_)) => {
            text.trim_end_matches(' ').clone_into(&mut out);
        }
        (Value::Float(number), LogicalType::Real) => number::write_float(*number, &mut out),
        (Value::Float(number), LogicalType::Double) => number::write_double(*number, &mut out),
        (Value::Bytes(bytes), LogicalType::Bytes) => return Ok(bytes.clone()),
        (Value::Date(day), LogicalType::Date) => datetime::write_date((*day).into(), &mut out),
        (Value::Time(time_us), LogicalType::SignedTime(digits)) => {
            time::write(*time_us, digits, &mut out);
        }
        (
            Value::Timestamp(time_us),
            LogicalType::Timestamp(Some(digits)) | LogicalType::TimestampTz(Some(digits)),
        ) => {
            datetime::write_datetime(*time_us, digits, &mut out);
        }
        _ => return Err(not_understood(logical)),
    }
    Ok(out.into_bytes())
}

fn not_supported(logical: LogicalType) -> ValueError {
    ValueError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "{} is not supported at this place before MySQL",
            named(logical)
        ),
    )
}

/// A number, or a text that may be one.
fn digits<'a>(given: Given<'a>, logical: LogicalType) -> Result<&'a str, ValueError> {
    match given {
        Given::Number(text) | Given::Text(text) => Ok(text),
        Given::Bytes(_) => Err(not_understood(logical)),
    }
}

/// A text. A number that is stored as one would be written by the server's own rules.
fn text_of<'a>(given: Given<'a>, logical: LogicalType) -> Result<&'a str, ValueError> {
    match given {
        Given::Text(text) => Ok(text),
        Given::Number(_) | Given::Bytes(_) => Err(not_understood(logical)),
    }
}

/// Blanks beyond the length are cut, as the server does with a note; other letters are not.
fn varchar(text: &str, letters: u32) -> Result<Value, ValueError> {
    let letters = usize::try_from(letters).unwrap_or(usize::MAX);
    let end = text.char_indices().nth(letters).map(|(at, _)| at);
    let (kept, rest) = text.split_at(end.unwrap_or(text.len()));
    match rest.bytes().all(|byte| byte == b' ') {
        true => Ok(Value::Text(kept.to_owned())),
        false => Err(too_long()),
    }
}
