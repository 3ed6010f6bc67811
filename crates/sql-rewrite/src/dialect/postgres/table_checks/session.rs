//! What a check may have although its value must not depend on the session. The server reads a
//! constant of a time once, by the settings of the session that makes the constraint, and evaluates
//! the check again whenever a row is updated. Here the finisher reads and evaluates it once, by the
//! settings of the session that writes the value. So what depends on settings is refused.

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{BinaryOperator, DataType, Expr, Value};

use crate::dialect::postgres::names::builtin;
use crate::walk;

/// Units of an interval, without the `s` of more than one.
const UNITS: [&str; 7] = ["year", "month", "week", "day", "hour", "minute", "second"];

/// Functions of the finisher that depend on settings, whatever the type of the column is
/// (`pg_proc.provolatile`). What is here of `timestamptz` alone is refused with it.
const STABLE: &str = "\
    age array_to_json array_to_string concat concat_ws convert_from convert_to format \
    gen_random_uuid json_agg json_build_array json_build_object json_object_agg jsonb_agg \
    jsonb_build_array jsonb_build_object make_timestamptz pg_typeof phraseto_tsquery \
    plainto_tsquery quote_literal quote_nullable random row_to_json timestamptz timezone to_char \
    to_date to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector ts_headline \
    websearch_to_tsquery";

/// Finds what depends on the session in a check over a column of a type.
///
/// # Errors
/// What it is, and what to write.
pub(super) fn check(expression: &Expr, logical: LogicalType) -> Result<(), String> {
    let found = walk::expressions(expression, |part| match dependent(part, logical) {
        Some(what) => ControlFlow::Break(what),
        None => ControlFlow::Continue(()),
    });
    if let ControlFlow::Break(what) = found {
        return Err(format!(
            "{what} depends on settings of the session, and the server would evaluate it again by \
             others: check the values in the application"
        ));
    }
    check_constants(expression, logical)
}

/// A part that depends on settings.
fn dependent(part: &Expr, logical: LogicalType) -> Option<String> {
    let is_zoned = matches!(logical, LogicalType::TimestampTz(_));
    let is = match part {
        Expr::Function(function) => {
            let name = builtin(&function.name).unwrap_or_default();
            is_zoned || STABLE.split_whitespace().any(|own| own == name)
        }
        Expr::Cast {
            expr, data_type, ..
        } => match is_constant(expr) {
            true => is_other_zone(data_type, is_zoned),
            false => is_zoned || casts_by_settings(expr, data_type, logical),
        },
        Expr::TypedString(typed) => is_other_zone(&typed.data_type, is_zoned),
        Expr::Extract { .. } | Expr::Interval(_) | Expr::AtTimeZone { .. } => is_zoned,
        Expr::BinaryOp { op, .. } => match op {
            BinaryOperator::StringConcat => !is_text(logical),
            BinaryOperator::Plus | BinaryOperator::Minus => is_zoned,
            _ => false,
        },
        _ => false,
    };
    is.then(|| part.to_string())
}

/// Whether a cast of a value that is no constant reads or writes it by settings.
fn casts_by_settings(operand: &Expr, to: &DataType, logical: LogicalType) -> bool {
    use LogicalType as L;
    let name = to.to_string().to_ascii_lowercase();
    if is_name_of_time(&name) {
        let keeps = matches!(logical, L::Date | L::Timestamp(_)) && !is_zone(&name);
        return !keeps || !is_column(operand);
    }
    let is_text = ["text", "char", "varchar", "name"]
        .iter()
        .any(|own| name.starts_with(own));
    let writes_alike = matches!(
        logical,
        L::Boolean
            | L::SmallInt
            | L::Integer
            | L::BigInt
            | L::Numeric(_)
            | L::Text
            | L::Varchar(_)
            | L::Char(_)
            | L::Uuid
            | L::Json
    );
    is_text && !(writes_alike && is_column(operand))
}

fn is_column(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) => is_column(inner),
        other => matches!(other, Expr::Identifier(_)),
    }
}

/// Whether a constant of a time has a zone where the column has none, or the other way round: they
/// are compared by the zone of the session.
fn is_other_zone(data_type: &DataType, is_zoned: bool) -> bool {
    let name = data_type.to_string().to_ascii_lowercase();
    is_name_of_time(&name) && name != "interval" && is_zone(&name) != is_zoned
}

fn is_zone(name: &str) -> bool {
    name.contains("with time zone") || name.contains("tz")
}

fn is_text(logical: LogicalType) -> bool {
    matches!(
        logical,
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_)
    )
}

/// Whether an expression reads no column.
fn is_constant(expression: &Expr) -> bool {
    walk::expressions(expression, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_continue()
}

fn check_constants(expression: &Expr, logical: LogicalType) -> Result<(), String> {
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
