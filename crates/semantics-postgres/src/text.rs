//! Texts of values, as PostgreSQL reads and writes them (`DateStyle` ISO).

use std::fmt::Write as _;

use column_value::limits::integer_range;
use column_value::{LogicalType, Value, ValueError, floats, is_space};
use sqlstate::SqlState;

use crate::context::TextContext;
use crate::{bytes, datetime, datetime_text, numeric};

/// Texts of values, as PostgreSQL reads and writes them.
pub trait ValueText: Sized {
    /// Reads a text as the input function of the type does. Lengths, precision and scale are not
    /// looked at: see [`assign`](crate::assign).
    ///
    /// # Errors
    /// SQLSTATE of the server's input function.
    fn from_text(
        text: &str,
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Self, ValueError>;

    /// Writes the value as the output function of the type does, behind what `out` holds.
    fn write_text(&self, logical: LogicalType, context: &TextContext, out: &mut String);

    /// The text of [`write_text`](Self::write_text).
    fn to_text(&self, logical: LogicalType, context: &TextContext) -> String {
        let mut text = String::new();
        self.write_text(logical, context, &mut text);
        text
    }

    /// A number as it stands in SQL, and the type that PostgreSQL gives it: `integer`, `bigint`
    /// where that is too small, else `numeric`.
    ///
    /// # Errors
    /// 22P02: no number. 22003: beyond `numeric`.
    fn from_number(text: &str) -> Result<(Self, LogicalType), ValueError>;
}

impl ValueText for Value {
    fn from_text(
        text: &str,
        logical: LogicalType,
        context: &TextContext,
    ) -> Result<Self, ValueError> {
        if text.contains('\0') {
            let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
            return Err(ValueError::new(
                SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                message,
            ));
        }
        match logical {
            LogicalType::Boolean => parse_boolean(text),
            LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt => {
                parse_integer(text, logical)
            }
            LogicalType::Real => floats::parse(text, true),
            LogicalType::Double => floats::parse(text, false),
            LogicalType::Numeric(_) => numeric::parse(text),
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                Ok(Self::Text(text.to_owned()))
            }
            LogicalType::Bytes => bytes::parse_bytea(text),
            LogicalType::Date => datetime_text::date(text, context),
            LogicalType::Time(_) => datetime_text::time(text, context),
            LogicalType::Timestamp(_) => datetime_text::timestamp(text, context),
            LogicalType::TimestampTz(_) => datetime_text::timestamp_tz(text, context),
            LogicalType::Uuid => bytes::parse_uuid(text),
            LogicalType::Json => parse_json(text),
            LogicalType::Whole(whole) => Err(ValueError::syntax(whole.name())),
            LogicalType::SignedTime(_) => Err(ValueError::syntax("time signed")),
            LogicalType::Enum(_) => Err(ValueError::syntax("enum")),
            LogicalType::Set(_) => Err(ValueError::syntax("set")),
            LogicalType::Bits(_) => Err(ValueError::syntax("bit unsigned")),
            LogicalType::Opaque(opaque) => context.opaque.read_text(opaque, text).map(Self::Opaque),
        }
    }

    fn write_text(&self, logical: LogicalType, context: &TextContext, out: &mut String) {
        match self {
            Self::Boolean(true) => out.push('t'),
            Self::Boolean(false) => out.push('f'),
            Self::Integer(number) => {
                // Writing to a String does not fail.
                let _ = write!(out, "{number}");
            }
            Self::Unsigned(number) => {
                let _ = write!(out, "{number}");
            }
            Self::Float(number) => {
                let single = logical == LogicalType::Real;
                floats::write(*number, single, context.extra_float_digits, out);
            }
            Self::Numeric(number) => numeric::write(number, out),
            Self::NumericSpecial(special) => out.push_str(special.text()),
            Self::Text(text) => out.push_str(text),
            Self::Bytes(bytes) => bytes::write_bytea(bytes, context.escapes_bytes, out),
            Self::Date(day) => datetime::write_date(*day, out),
            Self::Time(time) => datetime::write_time(*time, out),
            Self::Timestamp(time) if matches!(logical, LogicalType::TimestampTz(_)) => {
                datetime::write_timestamp_tz(*time, &context.time_zone, out);
            }
            Self::Timestamp(time) => datetime::write_timestamp(*time, out),
            Self::Uuid(uuid) => bytes::write_uuid(uuid, out),
            // `wire-postgres` writes it: this has no error for a text that is not known.
            Self::Opaque(bytes) => {
                let text = logical.opaque().and_then(|opaque| opaque.text_of(bytes));
                let text = text.and_then(|text| std::str::from_utf8(text).ok());
                out.push_str(text.unwrap_or_default());
            }
        }
    }

    fn from_number(text: &str) -> Result<(Self, LogicalType), ValueError> {
        if let Ok(number) = text.parse::<i64>() {
            let logical = match i32::try_from(number) {
                Ok(_) => LogicalType::Integer,
                Err(_) => LogicalType::BigInt,
            };
            return Ok((Self::Integer(number), logical));
        }
        let is_number = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        if !is_number {
            return Err(ValueError::syntax("numeric"));
        }
        Ok((numeric::parse(text)?, LogicalType::Numeric(None)))
    }
}

fn parse_boolean(text: &str) -> Result<Value, ValueError> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    // Every beginning that is of one word only.
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        return Ok(Value::Boolean(true));
    }
    if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        return Ok(Value::Boolean(false));
    }
    Err(ValueError::syntax("boolean"))
}

fn parse_integer(text: &str, logical: LogicalType) -> Result<Value, ValueError> {
    let trimmed = text.trim_matches(is_space);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::syntax(&logical.to_string()));
    }
    match trimmed.parse::<i64>() {
        Ok(number) if integer_range(logical).contains(&number) => Ok(Value::Integer(number)),
        _ => {
            let message = format!("value is out of range for type {logical}");
            Err(ValueError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                message,
            ))
        }
    }
}

fn parse_json(text: &str) -> Result<Value, ValueError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(Value::Text(text.to_owned())),
        Err(_) => Err(ValueError::syntax("json")),
    }
}
