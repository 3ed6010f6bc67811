//! Values of `SET`: labels with commas between them.
//!
//! Servers put the labels of a text that is stored into the order of the list, each once. A text
//! that is compared is the text of a value: another one is refused, since a server may find by a
//! key what it would store. Each label is one under the terms of `label`.

use column_value::{LogicalType, SetType, Value, ValueError};

use crate::label::{is_unlike, may_be_number, no_label};
use crate::{Given, not_understood, text_of};

/// Bytes of a text that a server may read as the number of a value (`Field_set::store`).
const NUMBER_SIZE_MAX: usize = 21;

/// The labels that a column has once a text is stored in it.
pub fn stored(given: Given<'_>, own: SetType) -> Result<Value, ValueError> {
    let not_understood = || not_understood(LogicalType::Set(own));
    let text = text_of(given, LogicalType::Set(own))?;
    if let Some(bits) = own.value_of(text) {
        return Ok(Value::Unsigned(bits));
    }
    // A text is read as a number if none of its labels is known.
    let has_label = text.split(',').any(|part| own.has(part));
    let is_number = !has_label && may_be_number(text) && text.len() <= NUMBER_SIZE_MAX;
    match is_number || !is_sure(text, own) {
        true => Err(not_understood()),
        false => Err(no_label()),
    }
}

/// The value whose text is equal to a text.
pub fn matched(given: Given<'_>, own: SetType) -> Result<Value, ValueError> {
    let text = text_of(given, LogicalType::Set(own))?;
    let bits = own.value_of(text);
    let bits = bits.filter(|bits| own.text_of(*bits).as_deref() == Some(text));
    let bits = bits.ok_or_else(|| not_understood(LogicalType::Set(own)))?;
    Ok(Value::Unsigned(bits))
}

/// Whether each part of a text is a label as the rule has it, or none whatever the collation.
fn is_sure(text: &str, own: SetType) -> bool {
    let mut parts = text.split(',');
    parts.all(|part| own.has(part) || (!part.ends_with(' ') && is_unlike(part, own.labels())))
}

#[cfg(test)]
mod tests {
    use sqlstate::SqlState;

    use super::*;

    fn own() -> SetType {
        SetType::read("set('new','Paid','3')").expect("a type")
    }

    #[test]
    fn a_text_is_stored_as_its_labels() {
        for (text, bits) in [
            ("", 0),
            ("new", 1),
            ("Paid,new,Paid", 3),
            ("3", 4),
            ("3,new", 5),
        ] {
            let value = stored(Given::Text(text), own()).ok();
            assert_eq!(value, Some(Value::Unsigned(bits)), "{text:?}");
        }
        for (text, state) in [
            ("other", SqlState::INVALID_PARAMETER_VALUE),
            ("new,other", SqlState::INVALID_PARAMETER_VALUE),
            ("new,1", SqlState::INVALID_PARAMETER_VALUE),
            ("new,", SqlState::INVALID_PARAMETER_VALUE),
            (",", SqlState::INVALID_PARAMETER_VALUE),
            ("1234567890123456789012", SqlState::INVALID_PARAMETER_VALUE),
            ("1", SqlState::INVALID_TEXT_REPRESENTATION),
            ("1,2", SqlState::INVALID_TEXT_REPRESENTATION),
            ("0", SqlState::INVALID_TEXT_REPRESENTATION),
            ("-1", SqlState::INVALID_TEXT_REPRESENTATION),
            ("  ", SqlState::INVALID_TEXT_REPRESENTATION),
            ("new ", SqlState::INVALID_TEXT_REPRESENTATION),
            ("new ,3", SqlState::INVALID_TEXT_REPRESENTATION),
            ("NEW,3", SqlState::INVALID_TEXT_REPRESENTATION),
            ("NEW,other", SqlState::INVALID_TEXT_REPRESENTATION),
            ("n\u{eb}w", SqlState::INVALID_TEXT_REPRESENTATION),
            ("new\t", SqlState::INVALID_TEXT_REPRESENTATION),
        ] {
            let error = stored(Given::Text(text), own()).expect_err(text);
            assert_eq!(error.sqlstate.as_str(), state.as_str(), "{text:?}");
        }
        assert!(stored(Given::Number("1"), own()).is_err());
        assert!(stored(Given::Bytes(b"new"), own()).is_err());
    }

    #[test]
    fn a_text_is_equal_to_the_same_labels_in_their_order_alone() {
        for (text, wanted) in [
            ("", Some(0)),
            ("new,3", Some(5)),
            ("other", None),
            ("new,other", None),
            ("1", None),
            ("3,new", None),
            ("new,new", None),
            ("new ", None),
            (" ", None),
            ("PAID", None),
            ("n\u{eb}w", None),
        ] {
            let value = matched(Given::Text(text), own()).ok();
            assert_eq!(value, wanted.map(Value::Unsigned), "{text:?}");
        }
        assert!(matched(Given::Number("1"), own()).is_err());
    }
}
