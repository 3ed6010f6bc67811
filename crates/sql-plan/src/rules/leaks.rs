//! Checks of what sealed values tell by how many there are, and by their lengths.

use column_value::{LogicalType, Pad, WholeType};

use super::{ColumnRule, Mode};

/// Digits of a number with 1,000 values or fewer, which an attacker can count.
const SMALL_DIGITS_MAX: u16 = 3;
/// Characters of a text that is likely a code: of a sex, a state, a country.
const SMALL_CHARACTERS_MAX: u32 = 2;
/// Bits of a number with 256 values or fewer, which an attacker can count.
const SMALL_BITS_MAX: u8 = 8;

/// Values of one size have nothing to hide in their length.
pub(super) fn check_pad(rule: &ColumnRule) -> Result<(), String> {
    if rule.logical.is_of_labels() && rule.group.is_none() {
        return check_pad_of(rule.logical, rule.pad.unwrap_or_default());
    }
    // In a group, it is the value of all members that is padded.
    let has_length = rule.logical.has_length() || rule.group.is_some();
    match rule.pad.is_some() && !has_length {
        true => Err(format!(
            "values of {} all have one size, or are numbers: remove `pad`",
            rule.logical
        )),
        false => Ok(()),
    }
}

/// Labels of unlike lengths would tell which ones a value has.
fn check_pad_of(logical: LogicalType, pad: Pad) -> Result<(), String> {
    let longest = logical.labels_size_max().unwrap_or(0);
    let shortest = match logical {
        LogicalType::Enum(own) => own.labels().map(str::len).min().unwrap_or(0),
        // The set without any.
        _ => 0,
    };
    // A value between them has a size between theirs.
    match pad.padded(shortest as u64) == pad.padded(longest as u64) {
        true => Ok(()),
        false => Err(format!(
            "labels of {logical} have sealed values of several sizes, by which they are told \
             apart: write pad = {}",
            Pad::holding(longest).unwrap_or_default()
        )),
    }
}

/// Why a column has so few values that they can be counted; None: it has many.
pub fn few_values(logical: LogicalType, bits: Option<u8>) -> Option<&'static str> {
    match logical {
        LogicalType::Boolean => Some("boolean has two values"),
        LogicalType::Enum(_) => Some("an enumeration has few values"),
        LogicalType::Set(_) => Some("a set of labels has few values"),
        LogicalType::Bits(bits) if bits <= SMALL_BITS_MAX => {
            Some("a number of up to 8 bits has few values")
        }
        LogicalType::Char(length) | LogicalType::Varchar(Some(length))
            if length <= SMALL_CHARACTERS_MAX =>
        {
            Some("a text of one or two characters has few values")
        }
        LogicalType::Numeric(Some((digits, _))) if digits <= SMALL_DIGITS_MAX => {
            Some("a number of up to three digits has few values")
        }
        LogicalType::Whole(WholeType::Year) => Some("there are few years"),
        LogicalType::Whole(whole) if whole.bits() <= SMALL_BITS_MAX => {
            Some("a number of up to 8 bits has few values")
        }
        _ if bits.is_some_and(|bits| bits <= SMALL_BITS_MAX) => {
            Some("a number of up to 8 bits has few values")
        }
        _ => None,
    }
}

pub(super) fn check_leakage(rule: &ColumnRule) -> Result<(), String> {
    if rule.mode == Mode::Random || rule.accept_leakage {
        return Ok(());
    }
    let Some(reason) = few_values(rule.logical, rule.bits) else {
        return Ok(());
    };
    Err(format!(
        "{reason}: who counts equal ciphertexts reads them. Use mode \"random\", or say \
         `accept_leakage = true`"
    ))
}
