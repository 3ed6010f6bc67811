//! Labels of `ENUM`.
//!
//! A server compares a text with labels by the collation of the column. A label itself is that
//! label under each collation. Another text is refused where it depends on the collation which it
//! is: one with a letter beyond ASCII, or unlike a label in the case of its letters alone.

use column_value::{EnumType, LogicalType, Value, ValueError};
use sqlstate::SqlState;

use crate::{Given, not_understood, text_of};

/// Bytes of a text that a server may read as the number of a label (`Field_enum::store`).
const NUMBER_SIZE_MAX: usize = 5;

/// The label that a column has once a text is stored in it, of which servers take the blanks at the
/// end away.
pub fn stored(given: Given<'_>, own: EnumType) -> Result<Value, ValueError> {
    let text = text_of(given, LogicalType::Enum(own))?.trim_end_matches(' ');
    if let Some(number) = own.number_of(text) {
        return Ok(Value::Integer(number));
    }
    check_unlike(text, own)?;
    match may_be_number(text) && text.len() <= NUMBER_SIZE_MAX {
        true => Err(not_understood(LogicalType::Enum(own))),
        false => Err(no_label()),
    }
}

pub(crate) fn no_label() -> ValueError {
    ValueError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "data truncated: a value that is none of the labels of the column",
    )
}

/// The label that is equal to a text; None: none is.
pub fn matched(given: Given<'_>, own: EnumType) -> Result<Option<Value>, ValueError> {
    let text = text_of(given, LogicalType::Enum(own))?;
    if let Some(number) = own.number_of(text) {
        return Ok(Some(Value::Integer(number)));
    }
    // Whether a blank at the end counts is a matter of the collation, too.
    if text.ends_with(' ') {
        return Err(not_understood(LogicalType::Enum(own)));
    }
    check_unlike(text, own).map(|()| None)
}

/// Checks that a text is equal to no label, whatever the collation.
fn check_unlike(text: &str, own: EnumType) -> Result<(), ValueError> {
    match is_unlike(text, own.labels()) {
        true => Ok(()),
        false => Err(not_understood(LogicalType::Enum(own))),
    }
}

/// Whether a text is equal to none of some labels, whatever the collation.
pub(crate) fn is_unlike(text: &str, mut labels: impl Iterator<Item = &'static str>) -> bool {
    let is_ascii = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_ascii && !labels.any(|label| label.eq_ignore_ascii_case(text))
}

/// Whether a server may read a text that is no label as a number.
pub(crate) fn may_be_number(text: &str) -> bool {
    text.starts_with(|first: char| " +-0123456789".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> EnumType {
        EnumType::read("enum('new','Paid','3','')").expect("a type")
    }

    #[test]
    fn a_text_is_stored_as_its_label() {
        for (text, number) in [("new", 1), ("Paid  ", 2), ("3", 3), ("", 4), (" ", 4)] {
            let value = stored(Given::Text(text), own()).ok();
            assert_eq!(value, Some(Value::Integer(number)), "{text:?}");
        }
        for (text, state) in [
            ("other", SqlState::INVALID_PARAMETER_VALUE),
            ("newer", SqlState::INVALID_PARAMETER_VALUE),
            ("123456", SqlState::INVALID_PARAMETER_VALUE),
            ("NEW", SqlState::INVALID_TEXT_REPRESENTATION),
            ("paid ", SqlState::INVALID_TEXT_REPRESENTATION),
            ("nëw", SqlState::INVALID_TEXT_REPRESENTATION),
            ("new\t", SqlState::INVALID_TEXT_REPRESENTATION),
            ("new\u{ad}", SqlState::INVALID_TEXT_REPRESENTATION),
            ("1", SqlState::INVALID_TEXT_REPRESENTATION),
            (" 2", SqlState::INVALID_TEXT_REPRESENTATION),
            ("-1", SqlState::INVALID_TEXT_REPRESENTATION),
        ] {
            let error = stored(Given::Text(text), own()).expect_err(text);
            assert_eq!(error.sqlstate.as_str(), state.as_str(), "{text:?}");
        }
        assert!(stored(Given::Number("1"), own()).is_err());
        assert!(stored(Given::Bytes(b"new"), own()).is_err());
    }

    #[test]
    fn a_text_is_equal_to_its_label_alone() {
        for (text, wanted) in [
            ("Paid", Some(Some(Value::Integer(2)))),
            ("", Some(Some(Value::Integer(4)))),
            ("other", Some(None)),
            ("1", Some(None)),
            (" new", Some(None)),
            ("new ", None),
            ("PAID", None),
            ("nëw", None),
        ] {
            let value = matched(Given::Text(text), own()).ok();
            assert_eq!(value, wanted, "{text:?}");
        }
        assert!(matched(Given::Number("1"), own()).is_err());
    }
}
