//! The schema of a vector file in `vectors/columns/`, shared by the test that reads them and the
//! example that writes them.

use column_codec::{ColumnSpec, Mode, OpenError};
use column_value::{EqualityForm, LogicalType, Pad, Value, WholeType};
use semantics_postgres::{TextContext, ValueText};
use serde::{Deserialize, Serialize};

/// One file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// What the file proves, in one sentence.
    pub proves: String,
    /// The root key.
    pub root_key: String,
    /// The column.
    pub column: Column,
    /// Nonce of mode `random`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The collation key that the text had, of which its token is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collation_key: Option<String>,
    /// The sealed value.
    pub sealed: String,
    /// The expected result of opening.
    pub outcome: Outcome,
}

/// A [`ColumnSpec`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub table: String,
    pub column: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(rename = "type")]
    pub logical: LogicalType,
    pub mode: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<Pad>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equality: Option<EqualityForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

/// The expected result of opening.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outcome {
    /// Opens as this value, which is sealed to the same bytes. One of a type whose values are
    /// kept unread is in hexadecimal.
    Opens {
        text: String,
    },
    NotAuthentic,
    /// Of another mode, or not a sealed value.
    OtherFormat,
    OtherKeyVersion,
    /// It fails a check of its rule.
    Marked,
    WrongSize,
    OtherContent,
}

impl Column {
    pub fn spec(&self) -> ColumnSpec {
        ColumnSpec {
            table: self.table.clone(),
            column: self.column.clone(),
            domain: self.domain.clone(),
            logical: self.logical,
            mode: match self.mode.as_str() {
                "random" => Mode::Random,
                "equality" => Mode::Equality,
                "order" => Mode::Order,
                "token" => {
                    let name = self
                        .collation
                        .as_deref()
                        .expect("mode token has a collation");
                    Mode::Token(name.parse().expect("a known collation"))
                }
                other => panic!("unknown mode {other}"),
            },
            bits: self.bits,
            pad: self.pad.unwrap_or_default(),
            equality: self.equality.unwrap_or_default(),
        }
    }
}

impl Outcome {
    pub fn of(opened: Result<Value, OpenError>, logical: LogicalType) -> Self {
        match opened {
            Ok(value) => Self::Opens {
                text: match (&value, logical) {
                    (Value::Opaque(bytes), _) => to_hex(bytes),
                    (Value::Time(time_us), LogicalType::SignedTime(_)) => time_us.to_string(),
                    (Value::Integer(number), LogicalType::Enum(own)) => {
                        own.label_of(*number).expect("a label").to_owned()
                    }
                    (Value::Unsigned(bits), LogicalType::Set(own)) => {
                        own.text_of(*bits).expect("labels")
                    }
                    (value, _) => value.to_text(logical, &TextContext::default()),
                },
            },
            // No column has it.
            Err(OpenError::NotAuthentic | OpenError::Members) => Self::NotAuthentic,
            Err(OpenError::Format) => Self::OtherFormat,
            Err(OpenError::KeyVersion(_)) => Self::OtherKeyVersion,
            Err(OpenError::Marked) => Self::Marked,
            Err(OpenError::Size) => Self::WrongSize,
            Err(OpenError::Content) => Self::OtherContent,
        }
    }
}

/// A value by its text, or by its bytes in hexadecimal where its type is kept unread.
pub fn value(text: &str, logical: LogicalType) -> Value {
    match logical {
        LogicalType::Opaque(_) => Value::Opaque(from_hex(text)),
        // PostgreSQL has no such type.
        LogicalType::Whole(WholeType::UnsignedBig) => {
            Value::Unsigned(text.parse().expect("digits"))
        }
        LogicalType::Whole(_) => Value::Integer(text.parse().expect("digits")),
        LogicalType::Enum(own) => Value::Integer(own.number_of(text).expect("a label")),
        LogicalType::Set(own) => Value::Unsigned(own.value_of(text).expect("labels")),
        LogicalType::Bits(_) => Value::Unsigned(text.parse().expect("digits")),
        // Its microseconds.
        LogicalType::SignedTime(_) => Value::Time(text.parse().expect("digits")),
        _ => Value::from_text(text, logical, &TextContext::default()).expect("a value"),
    }
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    digits
        .map(|digits| pair(digits).expect("hexadecimal digits"))
        .collect()
}
