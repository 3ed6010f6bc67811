//! Decodes PostgreSQL's binary values by type.
//!
//! Types with whole numbers (integers, and decimals of scale zero) become integers, other numbers
//! reals.

use column_value::civil::{self, DAY_US, Date};
use lab::answer::Value;
use lab::engine::Cause;
use postgres::types::Type;

/// Decodes a value of that type.
pub(super) fn value(kind: &Type, bytes: &[u8]) -> Result<Value, Cause> {
    let misshapen = || Cause::from(format!("a value of type {kind} of {} bytes", bytes.len()));
    let value = match *kind {
        Type::BOOL => Value::Integer(i64::from(*bytes.first().ok_or_else(misshapen)? != 0)),
        Type::INT2 | Type::INT4 | Type::INT8 => {
            Value::Integer(integer(bytes).ok_or_else(misshapen)?)
        }
        Type::OID => Value::Integer(integer(bytes).ok_or_else(misshapen)? & 0xffff_ffff),
        Type::FLOAT4 => {
            let bytes = bytes.try_into().map_err(|_| misshapen())?;
            Value::Real(f64::from(f32::from_be_bytes(bytes)))
        }
        Type::FLOAT8 => {
            let bytes = bytes.try_into().map_err(|_| misshapen())?;
            Value::Real(f64::from_be_bytes(bytes))
        }
        Type::NUMERIC => numeric(bytes).ok_or_else(misshapen)?,
        Type::BYTEA => Value::Blob(bytes.to_vec()),
        Type::JSONB => text(bytes.get(1..).ok_or_else(misshapen)?),
        Type::TEXT
        | Type::VARCHAR
        | Type::BPCHAR
        | Type::NAME
        | Type::CHAR
        | Type::UNKNOWN
        | Type::JSON
        | Type::XML => text(bytes),
        Type::UUID => Value::Text(uuid(bytes)),
        Type::DATE => {
            let days = integer(bytes).ok_or_else(misshapen)?;
            Value::Text(date(days))
        }
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let microseconds = integer(bytes).ok_or_else(misshapen)?;
            Value::Text(moment(microseconds))
        }
        Type::VOID => Value::Null,
        _ => {
            let message = format!("values of type {kind} cannot be compared: cast them to text");
            return Err(message.into());
        }
    };
    Ok(value)
}

fn text(bytes: &[u8]) -> Value {
    Value::Text(String::from_utf8_lossy(bytes).into_owned())
}

fn integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => Some(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        4 => Some(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        8 => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Count of base-10,000 digits, weight of the first, sign, display scale, and the digits, 16 bits
/// each (PostgreSQL's `numeric_send`).
fn numeric(bytes: &[u8]) -> Option<Value> {
    const NEGATIVE: u16 = 0x4000;
    const INFINITE: u16 = 0xd000;
    const NEGATIVE_INFINITE: u16 = 0xf000;
    let words: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|word| u16::from_be_bytes([word[0], word[1]]))
        .collect();
    let [count, weight, sign, places, digits @ ..] = words.as_slice() else {
        return None;
    };
    if digits.len() != usize::from(*count) {
        return None;
    }
    let minus = match *sign {
        0 => "",
        NEGATIVE => "-",
        INFINITE => return Some(Value::Real(f64::INFINITY)),
        NEGATIVE_INFINITE => return Some(Value::Real(f64::NEG_INFINITY)),
        _ => return Some(Value::Real(f64::NAN)),
    };
    // The power of 10,000 of the last digit.
    let last = i32::from(weight.cast_signed()) + 1 - i32::from(*count);
    let digits: String = digits.iter().map(|digit| format!("{digit:04}")).collect();
    let decimal = format!("{minus}0{digits}e{}", last * 4);
    let whole = || -> Option<i64> {
        if *places != 0 || last < 0 {
            return None;
        }
        let zeros = "0000".repeat(usize::try_from(last).ok()?);
        format!("{minus}0{digits}{zeros}").parse().ok()
    };
    match whole() {
        Some(number) => Some(Value::Integer(number)),
        None => decimal.parse().ok().map(Value::Real),
    }
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (byte, place) in bytes.iter().zip(0..) {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

/// A date, in days since 2000-01-01, in the proleptic Gregorian calendar.
fn date(days: i64) -> String {
    let Date { year, month, day } = civil::date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Microseconds since 2000-01-01 00:00, in UTC if the type has a time zone.
fn moment(microseconds: i64) -> String {
    const PER_SECOND: i64 = 1_000_000;
    let within = microseconds.rem_euclid(DAY_US);
    let (seconds, fraction) = (within / PER_SECOND, within % PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = date(microseconds.div_euclid(DAY_US));
    text += &format!(" {hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        text += format!(".{fraction:06}").trim_end_matches('0');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u16]) -> Value {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        numeric(&bytes).unwrap()
    }

    #[test]
    fn decimals_of_scale_zero_are_integers_and_others_reals() {
        assert_eq!(of(&[0, 0, 0, 0]), Value::Integer(0));
        assert_eq!(of(&[2, 1, 0, 0, 1, 2345]), Value::Integer(12345));
        assert_eq!(of(&[1, 2, 0x4000, 0, 7]), Value::Integer(-700_000_000));
        assert_eq!(of(&[2, 0, 0, 4, 12, 5000]), Value::Real(12.5));
        assert_eq!(of(&[1, 0xffff, 0x4000, 4, 1]), Value::Real(-0.0001));
        // 25.0000000000000000, as averages are sent.
        assert_eq!(of(&[1, 0, 0, 16, 25]), Value::Real(25.0));
        // One more than the largest integer.
        let beyond = of(&[5, 4, 0, 0, 922, 3372, 368, 5477, 5808]);
        assert_eq!(beyond, Value::Real(9_223_372_036_854_775_808.0));
        assert!(matches!(of(&[0, 0, 0xc000, 0]), Value::Real(number) if number.is_nan()));
        assert_eq!(numeric(&[0, 1, 0]), None);
    }

    #[test]
    fn dates_and_timestamps_are_texts() {
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(59), "2000-02-29");
        assert_eq!(date(-1), "1999-12-31");
        assert_eq!(date(9821), "2026-11-21");
        assert_eq!(moment(-1), "1999-12-31 23:59:59.999999");
        assert_eq!(moment(3_661_500_000), "2000-01-01 01:01:01.5");
    }

    #[test]
    fn an_unknown_type_is_named_with_a_remedy() {
        let error = value(&Type::POINT, &[0; 16]).unwrap_err().to_string();
        assert!(error.contains("point") && error.contains("cast"), "{error}");
        assert!(value(&Type::INT4, &[0; 3]).is_err());
    }
}
