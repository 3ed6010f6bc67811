//! Constants beside protected columns. A server gives a column and a constant of another kind a
//! common type and then finds more than equal values (`'1abc' = 1`): only a constant of the
//! column's own kind, in one full form, is the same value sealed and in clear.

use column_value::{LogicalType, Value};
use semantics_postgres::{TextContext, ValueText as _};
use sql_plan::{refuse, unsupported};

use crate::{Form, Literal, Plan, ProtectedColumn, Purpose, Refusal, Schema, Source};

/// Lets a plan through whose sealed constants mean the same for their columns as for the server.
///
/// # Errors
/// One is of another kind, or would have to be computed.
pub(crate) fn check(plan: &Plan, schema: &Schema) -> Result<(), Refusal> {
    let Plan::One(translated, _) = plan else {
        return Ok(());
    };
    translated.holes.iter().try_for_each(|hole| {
        let (id, purpose) = match hole.form {
            Form::Plain => return Ok(()),
            Form::Sealed(id, purpose) => (id, purpose),
            Form::SealedArray(..) => return Err(unsupported("an array of sealed values")),
        };
        let column = schema.column(id);
        match &hole.source {
            Source::Parameter(_) | Source::Literal(Literal::Null) => Ok(()),
            Source::Literal(literal) if is_of_kind(literal, column.logical, purpose) => Ok(()),
            _ => Err(other_kind(column)),
        }
    })
}

fn other_kind(column: &ProtectedColumn) -> Refusal {
    let form = match column.logical {
        LogicalType::Date => "a text like '2024-12-31'",
        LogicalType::Timestamp(_) => "a text like '2024-12-31 23:59:59'",
        LogicalType::Varchar(_) | LogicalType::Text | LogicalType::Bytes => "a text",
        _ => "a number with as many decimal places as the column at most",
    };
    refuse(format!(
        "a constant of another kind beside protected column {}.{}, or a computed value",
        column.table, column.column
    ))
    .with_hint(&format!("Write {form}, or use a parameter."))
}

/// Digits that a floating-point number keeps: servers compare a decimal with a text as such
/// numbers.
const DIGITS_OF_DOUBLE: usize = 15;

fn is_of_kind(literal: &Literal, logical: LogicalType, purpose: Purpose) -> bool {
    match (literal, logical) {
        (Literal::Text(_), LogicalType::Varchar(_) | LogicalType::Text | LogicalType::Bytes) => {
            true
        }
        (Literal::Text(text), LogicalType::Date) => is_date(text),
        (Literal::Text(text), LogicalType::Timestamp(digits)) => is_moment(text, digits),
        (
            Literal::Number(text) | Literal::Text(text),
            LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt,
        ) => is_number(text, 0) && !text.contains('.'),
        (Literal::Number(text) | Literal::Text(text), LogicalType::Numeric(limits)) => {
            let is_exact = purpose == Purpose::Store
                || matches!(literal, Literal::Number(_))
                || text.len() <= DIGITS_OF_DOUBLE;
            is_exact && is_number(text, limits.map_or(0, |(_, scale)| scale.into()))
        }
        _ => false,
    }
}

/// Whether a text is a number with at most these decimal places, and nothing else.
fn is_number(text: &str, places_max: usize) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|own| own.is_ascii_digit());
    let is_short = places.trim_end_matches('0').len() <= places_max;
    is_digits(whole) && is_digits(places) && is_short
}

/// Whether a text is a date in full that exists.
fn is_date(text: &str) -> bool {
    has_form(text, "0000-00-00") && {
        let read = Value::from_text(text, LogicalType::Date, &TextContext::default());
        !text.starts_with("0000") && read.is_ok()
    }
}

/// Whether a text is a date and a time in full, with at most these digits of a second.
fn is_moment(text: &str, digits: Option<u8>) -> bool {
    let Some((date, time)) = text.split_once(' ') else {
        return false;
    };
    let (time, part) = time.split_once('.').unwrap_or((time, "0"));
    let is_short = part.len() <= digits.unwrap_or(6).into() || part == "0";
    let is_part = !part.is_empty() && part.bytes().all(|own| own.is_ascii_digit());
    let whole = ["24", "60", "60"];
    let mut parts = time.split(':').zip(whole);
    is_date(date)
        && has_form(time, "00:00:00")
        && parts.all(|(part, end)| part < end)
        && is_part
        && is_short
}

/// Whether a text has digits where the form has them, and is the same elsewhere.
fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text
            .bytes()
            .zip(form.bytes())
            .all(|(own, wanted)| match wanted {
                b'0' => own.is_ascii_digit(),
                mark => own == mark,
            })
}

#[cfg(test)]
mod tests {
    use column_value::LogicalType as T;

    use super::{Literal, Purpose, is_of_kind};

    #[test]
    fn only_constants_in_full_are_of_a_kind() {
        let number = |text: &str| Literal::Number(text.to_owned());
        let text = |text: &str| Literal::Text(text.to_owned());
        let decimal = T::Numeric(Some((10, 2)));
        for (literal, logical) in [
            (number("5"), T::BigInt),
            (number("-5"), T::SmallInt),
            (text("12"), T::Integer),
            (number("1.25"), decimal),
            (number("1.250"), decimal),
            (text("-1.2"), decimal),
            (text("1abc"), T::Varchar(Some(9))),
            (text("2024-02-29"), T::Date),
            (text("2024-02-29 23:59:59"), T::Timestamp(Some(0))),
            (text("2024-02-29 23:59:59.25"), T::Timestamp(Some(2))),
        ] {
            assert!(
                is_of_kind(&literal, logical, Purpose::Match),
                "{literal:?} {logical}"
            );
        }
        for (literal, logical) in [
            (number("5"), T::Varchar(Some(9))),
            (number("5"), T::Date),
            (number("1e3"), T::BigInt),
            (number("5.5"), T::BigInt),
            (number("5.0"), T::BigInt),
            (text("1234567890123.45"), decimal),
            (number(".5"), decimal),
            (number("1.255"), decimal),
            (text("1abc"), T::BigInt),
            (text(" 1"), T::BigInt),
            (text("+1"), T::BigInt),
            (text(""), T::BigInt),
            (text("-"), T::BigInt),
            (text("20240229"), T::Date),
            (text("2024-2-29"), T::Date),
            (text("2023-02-29"), T::Date),
            (text("0000-00-00"), T::Date),
            (text("2024-00-01"), T::Date),
            (text("2024-02-29 00:00:00"), T::Date),
            (text("2024-02-29"), T::Timestamp(Some(0))),
            (text("2024-02-29T00:00:00"), T::Timestamp(Some(0))),
            (text("2024-02-29 24:00:00"), T::Timestamp(Some(0))),
            (text("2024-02-29 00:00:60"), T::Timestamp(Some(0))),
            (text("2024-02-29 00:00:00.5"), T::Timestamp(Some(0))),
            (text("2024-02-29 00:00:00+02"), T::Timestamp(Some(0))),
            (Literal::Boolean(true), T::BigInt),
            (Literal::TransactionTime, T::Timestamp(Some(0))),
        ] {
            assert!(
                !is_of_kind(&literal, logical, Purpose::Match),
                "{literal:?} {logical}"
            );
        }
    }
}
