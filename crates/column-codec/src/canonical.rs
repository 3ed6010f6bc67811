//! The canonical encoding of a value before it is sealed: equal values have one form.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::ToPrimitive;
use column_value::{LogicalType, NumericSpecial, Pad, Value, WholeType};
use zeroize::Zeroizing;

/// Size of the number of a type, before a value that is kept unread.
pub(crate) const NUMBER_SIZE: usize = 4;
/// Where the binary form of an array has the number of the type of its elements (`array_send`).
const ELEMENT_TYPE: std::ops::Range<usize> = 8..12;

/// Types with a common encoding, so that their values can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Boolean,
    /// `smallint`, `integer`, `bigint`, and other whole numbers that 64 bits with a sign hold
    Integer,
    /// `real`, `double precision`
    Float,
    Numeric,
    /// `text`, `varchar`, `char`
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Uuid,
    Json,
    /// All types that are kept unread: the number of the type is part of a value.
    Opaque,
    /// `bigint unsigned`
    Unsigned,
    /// `TIME` of MySQL
    SignedTime,
    /// `ENUM` of MySQL: a value is the number of its label, and sealed as the label
    Label,
    /// `SET` of MySQL: a value has a bit for each of its labels, and is sealed as these
    Labels,
    /// `BIT` of MySQL
    Bits,
}

impl Class {
    pub(crate) fn of(logical: LogicalType) -> Self {
        match logical {
            LogicalType::Boolean => Self::Boolean,
            LogicalType::Whole(WholeType::UnsignedBig) => Self::Unsigned,
            LogicalType::SmallInt
            | LogicalType::Integer
            | LogicalType::BigInt
            | LogicalType::Whole(_) => Self::Integer,
            LogicalType::Real | LogicalType::Double => Self::Float,
            LogicalType::Numeric(_) => Self::Numeric,
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => Self::Text,
            LogicalType::Bytes => Self::Bytes,
            LogicalType::Date => Self::Date,
            LogicalType::Time(_) => Self::Time,
            LogicalType::SignedTime(_) => Self::SignedTime,
            LogicalType::Enum(_) => Self::Label,
            LogicalType::Set(_) => Self::Labels,
            LogicalType::Bits(_) => Self::Bits,
            LogicalType::Timestamp(_) => Self::Timestamp,
            LogicalType::TimestampTz(_) => Self::TimestampTz,
            LogicalType::Uuid => Self::Uuid,
            LogicalType::Json => Self::Json,
            LogicalType::Opaque(_) => Self::Opaque,
        }
    }

    /// Input to the key derivation.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Boolean => 1,
            Self::Integer => 2,
            Self::Float => 3,
            Self::Numeric => 4,
            Self::Text => 5,
            Self::Bytes => 6,
            Self::Date => 7,
            Self::Time => 8,
            Self::Timestamp => 9,
            Self::TimestampTz => 10,
            Self::Uuid => 11,
            Self::Json => 12,
            Self::Opaque => 13,
            Self::Unsigned => 14,
            Self::SignedTime => 15,
            Self::Label => 16,
            Self::Labels => 17,
            Self::Bits => 18,
        }
    }

    /// Whether a value is the memory that its content is opened into.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Self::Text | Self::Bytes | Self::Json | Self::Opaque)
    }
}

/// A scale that no number has; it marks a [`NumericSpecial`].
const SPECIAL_SCALE: i16 = i16::MIN;

/// Appends the encoding of a value; returns false if it is not a value of the type.
///
/// With `exact`, decoding returns exactly the same value (mode `random`); otherwise equal values
/// have equal encodings.
pub(crate) fn encode(
    value: &Value,
    logical: LogicalType,
    (exact, pad): (bool, Pad),
    out: &mut Vec<u8>,
) -> bool {
    match (Class::of(logical), value) {
        (Class::Boolean, Value::Boolean(truth)) => out.push(u8::from(*truth)),
        (Class::Integer, Value::Integer(number)) => {
            let size = if exact { whole_size(logical) } else { 8 };
            out.extend(&number.to_be_bytes()[8 - size..]);
        }
        (Class::Unsigned | Class::Bits, Value::Unsigned(own)) => out.extend(own.to_be_bytes()),
        (Class::Float, Value::Float(number)) => {
            let number = if exact { *number } else { plain_float(*number) };
            match logical {
                LogicalType::Real if exact => out.extend((number as f32).to_be_bytes()),
                _ => out.extend(number.to_be_bytes()),
            }
        }
        (Class::Numeric, Value::Numeric(number)) => encode_numeric(number, exact, out),
        (Class::Numeric, Value::NumericSpecial(special)) => {
            out.extend(SPECIAL_SCALE.to_be_bytes());
            let number: i64 = match special {
                NumericSpecial::NegativeInfinity => 0,
                NumericSpecial::Infinity => 1,
                NumericSpecial::Nan => 2,
            };
            out.extend(number.to_be_bytes());
        }
        (Class::Text | Class::Json, Value::Text(text)) => {
            let text = match logical {
                LogicalType::Char(_) => text.trim_end_matches(' '),
                _ => text,
            };
            encode_padded(&[], text.as_bytes(), pad, out);
        }
        (Class::Label | Class::Labels, value) => {
            return encode_labels(value, logical, pad, out);
        }
        (Class::Bytes, Value::Bytes(bytes)) => encode_padded(&[], bytes, pad, out),
        (Class::Opaque, Value::Opaque(bytes)) => {
            let LogicalType::Opaque(opaque) = logical else {
                return false;
            };
            let number = opaque.sealed_number().to_be_bytes();
            let start = out.len() + NUMBER_SIZE;
            if logical.has_length() {
                encode_padded(&number, bytes, pad, out);
            } else {
                out.extend(number);
                out.extend(bytes);
            }
            if let Some((_, sealed)) = opaque.element_numbers() {
                // An empty value stands for one that is not known yet.
                return bytes.is_empty()
                    || (bytes.len() >= ELEMENT_TYPE.end
                        && renumber_elements(&mut out[start..], sealed));
            }
        }
        (Class::Date, Value::Date(day)) => out.extend(day.to_be_bytes()),
        (Class::Time | Class::SignedTime, Value::Time(time)) => out.extend(time.to_be_bytes()),
        (Class::Timestamp | Class::TimestampTz, Value::Timestamp(time)) => {
            out.extend(time.to_be_bytes());
        }
        (Class::Uuid, Value::Uuid(uuid)) => out.extend(uuid),
        _ => return false,
    }
    true
}

/// Appends the labels that a value stands for; returns false if it stands for none.
fn encode_labels(value: &Value, logical: LogicalType, pad: Pad, out: &mut Vec<u8>) -> bool {
    let labels = match (logical, value) {
        (LogicalType::Enum(own), Value::Integer(number)) => {
            own.label_of(*number).map(str::to_owned)
        }
        (LogicalType::Set(own), Value::Unsigned(bits)) => own.sealed_of(*bits),
        _ => None,
    };
    let labels = labels.map(Zeroizing::new);
    labels
        .inspect(|own| encode_padded(&[], own.as_bytes(), pad, out))
        .is_some()
}

/// Digits of a decimal of MySQL at most. PostgreSQL has more, whose sealed values have no greatest
/// size.
pub(crate) const DECIMAL_DIGITS_MAX: u16 = 65;

/// Bytes of the digits of a decimal of so many, with its sign, in steps of 8.
pub(crate) fn digits_size(precision: u16) -> u64 {
    /// log₂ 10, rounded up.
    const BITS_OF_1000_DIGITS: u64 = 3322;
    let bits = (u64::from(precision) * BITS_OF_1000_DIGITS).div_ceil(1000) + 1;
    bits.div_ceil(64) * 8
}

/// Bytes of the whole numbers of a type in mode random.
pub(crate) fn whole_size(logical: LogicalType) -> usize {
    match logical {
        LogicalType::SmallInt => 2,
        LogicalType::Integer => 4,
        LogicalType::Whole(whole) => whole.signed_size(),
        _ => 8,
    }
}

/// Appends bytes that are equal for two values of a type if they are equal in SQL; returns false if
/// it is not a value of the type.
pub fn append_equal(value: &Value, logical: LogicalType, out: &mut Vec<u8>) -> bool {
    encode(value, logical, (false, Pad::NONE), out)
}

/// Normalises NaN and negative zero, which SQL considers equal to other NaNs and to zero.
pub(crate) fn plain_float(number: f64) -> f64 {
    if number.is_nan() {
        f64::NAN
    } else {
        // -0 + 0 is 0.
        number + 0.0
    }
}

/// Pads: a number, the bytes, one byte 0x80, and zeros up to the next step.
fn encode_padded(number: &[u8], bytes: &[u8], pad: Pad, out: &mut Vec<u8>) {
    let size = (number.len() + bytes.len() + 1).next_multiple_of(usize::from(pad.step()));
    let end = out.len() + size;
    out.reserve(size);
    out.extend(number);
    out.extend(bytes);
    out.push(0x80);
    out.resize(end, 0);
}

/// The length of the bytes without padding, whatever its step was.
fn unpadded(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().rposition(|byte| *byte != 0)?;
    (bytes[end] == 0x80).then_some(end)
}

/// Scale (two bytes) and unscaled digits as a two's complement number of 8 bytes, else 16, else as
/// many as needed in steps of 8.
fn encode_numeric(number: &BigDecimal, exact: bool, out: &mut Vec<u8>) {
    let normal;
    let (digits, scale) = if exact {
        number.as_bigint_and_scale()
    } else {
        normal = normalized(number);
        normal.as_bigint_and_scale()
    };
    // PostgreSQL's scales end at 16,383, and numbers have at most 131,072 digits before the point.
    // Without trailing zeros that would be a scale of -131,071, too much for two bytes.
    let (digits, scale) = match i16::try_from(scale) {
        Ok(scale) if scale != SPECIAL_SCALE => (digits.into_owned(), scale),
        _ => {
            let least = i64::from(i16::MIN) + 1;
            let more = (least - scale).unsigned_abs();
            let digits = digits.into_owned() * BigInt::from(10).pow(more as u32);
            (digits, i16::MIN + 1)
        }
    };
    out.extend(scale.to_be_bytes());
    match (digits.to_i64(), digits.to_i128()) {
        (Some(small), _) => out.extend(small.to_be_bytes()),
        (None, Some(large)) => out.extend(large.to_be_bytes()),
        (None, None) => {
            let bytes = digits.to_signed_bytes_be();
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
            let missing = bytes.len().next_multiple_of(8) - bytes.len();
            out.extend(std::iter::repeat_n(sign, missing));
            out.extend(bytes);
        }
    }
}

/// The same number without trailing zeros.
fn normalized(number: &BigDecimal) -> BigDecimal {
    let (digits, scale) = number.as_bigint_and_scale();
    let Some(mut small) = digits.to_i64() else {
        return number.normalized();
    };
    if small == 0 {
        return BigDecimal::from(0);
    }
    let mut scale = scale;
    while small % 10 == 0 {
        small /= 10;
        scale -= 1;
    }
    BigDecimal::new(BigInt::from(small), scale)
}

/// Decodes a value; `None` if the bytes are not valid for the type.
pub(crate) fn decode(bytes: &[u8], logical: LogicalType) -> Option<Value> {
    Some(match Class::of(logical) {
        Class::Boolean => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return None,
        },
        Class::Integer => Value::Integer(decode_integer(bytes)?),
        Class::Unsigned | Class::Bits => {
            Value::Unsigned(u64::from_be_bytes(bytes.try_into().ok()?))
        }
        Class::Float => Value::Float(decode_float(bytes)?),
        Class::Numeric => decode_numeric(bytes, logical)?,
        Class::Text | Class::Bytes | Class::Json | Class::Opaque | Class::Label | Class::Labels => {
            return decode_long(bytes.to_vec(), logical);
        }
        Class::Date => Value::Date(i32::from_be_bytes(bytes.try_into().ok()?)),
        Class::Time => Value::Time(i64::from_be_bytes(bytes.try_into().ok()?)),
        Class::SignedTime => Value::signed_time(i64::from_be_bytes(bytes.try_into().ok()?))?,
        Class::Timestamp | Class::TimestampTz => {
            Value::Timestamp(i64::from_be_bytes(bytes.try_into().ok()?))
        }
        Class::Uuid => Value::Uuid(bytes.try_into().ok()?),
    })
}

/// [`decode`] for classes of long values; takes ownership of the bytes for the value.
pub(crate) fn decode_long(mut bytes: Vec<u8>, logical: LogicalType) -> Option<Value> {
    if logical.has_length() {
        bytes.truncate(unpadded(&bytes)?);
    }
    if logical == LogicalType::Bytes {
        return Some(Value::Bytes(bytes));
    }
    if let LogicalType::Opaque(opaque) = logical {
        // A value of another type has another form.
        let number = bytes.first_chunk::<NUMBER_SIZE>()?;
        if *number != opaque.sealed_number().to_be_bytes() {
            return None;
        }
        bytes.drain(..NUMBER_SIZE);
        if let Some((own, _)) = opaque.element_numbers()
            && !(own != 0 && renumber_elements(&mut bytes, own))
        {
            return None;
        }
        return Some(Value::Opaque(bytes));
    }
    let mut text = String::from_utf8(bytes).ok()?;
    match logical {
        LogicalType::Enum(own) => return own.number_of(&text).map(Value::Integer),
        LogicalType::Set(own) => return own.value_of_sealed(&text).map(Value::Unsigned),
        _ => {}
    }
    if let LogicalType::Char(length) = logical {
        let missing = (length as usize).saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n(' ', missing));
    }
    Some(Value::Text(text))
}

/// Puts another number for the type of the elements into the binary form of an array. False: it is
/// none.
fn renumber_elements(array: &mut [u8], number: u32) -> bool {
    let own = array.get_mut(ELEMENT_TYPE);
    own.map(|own| own.copy_from_slice(&number.to_be_bytes()))
        .is_some()
}

fn decode_integer(bytes: &[u8]) -> Option<i64> {
    Some(match *bytes {
        [a, b] => i64::from(i16::from_be_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
        _ => i64::from_be_bytes(bytes.try_into().ok()?),
    })
}

fn decode_float(bytes: &[u8]) -> Option<f64> {
    Some(match *bytes {
        [a, b, c, d] => f64::from(f32::from_be_bytes([a, b, c, d])),
        _ => f64::from_be_bytes(bytes.try_into().ok()?),
    })
}

fn decode_numeric(bytes: &[u8], logical: LogicalType) -> Option<Value> {
    let (scale, digits) = bytes.split_first_chunk::<2>()?;
    let scale = i16::from_be_bytes(*scale);
    if scale == SPECIAL_SCALE {
        let special = match digits {
            [0, 0, 0, 0, 0, 0, 0, 0] => NumericSpecial::NegativeInfinity,
            [0, 0, 0, 0, 0, 0, 0, 1] => NumericSpecial::Infinity,
            [0, 0, 0, 0, 0, 0, 0, 2] => NumericSpecial::Nan,
            _ => return None,
        };
        return Some(Value::NumericSpecial(special));
    }
    if digits.is_empty() || !digits.len().is_multiple_of(8) {
        return None;
    }
    let number = match <[u8; 8]>::try_from(digits) {
        Ok(small) => BigInt::from(i64::from_be_bytes(small)),
        Err(_) => BigInt::from_signed_bytes_be(digits),
    };
    let number = BigDecimal::new(number, i64::from(scale));
    let shown = match logical {
        LogicalType::Numeric(Some((_, scale))) => i64::from(scale),
        _ => i64::from(scale.max(0)),
    };
    Some(Value::Numeric(if shown > i64::from(scale) {
        number.with_scale(shown)
    } else {
        number
    }))
}
