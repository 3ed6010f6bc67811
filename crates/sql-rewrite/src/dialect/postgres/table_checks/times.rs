//! Constants of dates and times in checks. The server reads one when the constraint is made, by the
//! settings of that session, and the finisher by those of each session that writes: so only such
//! are taken that mean the same for all.

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{DataType, Expr, Value};

use crate::walk;

/// Units of an interval, without the `s` of more than one.
const UNITS: [&str; 7] = ["year", "month", "week", "day", "hour", "minute", "second"];

/// Finds constants that depend on the session.
///
/// # Errors
/// What is wrong with one, and what to write.
pub(super) fn check(expression: &Expr, logical: LogicalType) -> Result<(), String> {
    let mut is_of_times = is_of_times(logical);
    let mut texts: Vec<String> = Vec::new();
    let _: ControlFlow<()> = walk::expressions(expression, |part| {
        match part {
            Expr::Cast { data_type, .. } => is_of_times |= is_time(data_type),
            Expr::TypedString(typed) => {
                is_of_times |= is_time(&typed.data_type);
                texts.push(text_of(&typed.value.value));
            }
            Expr::Interval(_) => is_of_times = true,
            Expr::Value(value) => texts.push(text_of(&value.value)),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let mut dependent = texts.iter().filter(|text| !is_clear(text, logical));
    match dependent.next().filter(|_| is_of_times) {
        None => Ok(()),
        Some(text) => Err(format!(
            "what {text:?} means depends on the moment or the session: write dates and times as \
             2026-01-31 and 2026-01-31 12:00:00, those of `timestamptz` with +00 behind them, and \
             intervals as 3 days"
        )),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.clone(),
        Value::Number(..) | Value::Boolean(_) | Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn is_of_times(logical: LogicalType) -> bool {
    match logical {
        LogicalType::Date
        | LogicalType::Time(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_) => true,
        LogicalType::Opaque(opaque) => is_name_of_time(&opaque.to_string()),
        _ => false,
    }
}

fn is_time(data_type: &DataType) -> bool {
    is_name_of_time(&data_type.to_string().to_ascii_lowercase())
}

fn is_name_of_time(name: &str) -> bool {
    let words = [
        "date",
        "time",
        "tsrange",
        "tstzrange",
        "interval",
        "abstime",
    ];
    words.iter().any(|word| name.contains(word))
}

/// Whether a constant means the same in every session.
fn is_clear(text: &str, logical: LogicalType) -> bool {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit {
        // Names of units and formats, but no moment.
        let lower = text.to_ascii_lowercase();
        let words = ["now", "today", "tomorrow", "yesterday"];
        return !words.iter().any(|word| lower.contains(word));
    }
    is_interval(text)
        || match logical {
            LogicalType::Date => is_shape(text, "0000-00-00"),
            LogicalType::Timestamp(_) => is_moment(text),
            LogicalType::Time(_) => is_shape(text, "00:00") || is_shape(text, "00:00:00"),
            LogicalType::TimestampTz(_) => {
                let without = text.strip_suffix("+00").or_else(|| text.strip_suffix('Z'));
                without.is_some_and(|text| text.len() > "0000-00-00".len() && is_moment(text))
            }
            _ => false,
        }
}

fn is_moment(text: &str) -> bool {
    ["0000-00-00", "0000-00-00 00:00", "0000-00-00 00:00:00"]
        .iter()
        .any(|shape| is_shape(text, shape))
}

/// Whether digits stand where a shape has 0, and what the shape has elsewhere.
fn is_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(own, wanted)| match wanted {
                b'0' => own.is_ascii_digit(),
                wanted => own == wanted,
            })
}

/// `3 days`
fn is_interval(text: &str) -> bool {
    let Some((number, unit)) = text.split_once(' ') else {
        return false;
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let unit = unit.strip_suffix('s').unwrap_or(unit);
    is_number && UNITS.contains(&unit)
}
