//! One value, free of any format.

use std::fmt;

use bigdecimal::BigDecimal;
use sqlstate::SqlState;

/// A value of a column. NULL is the absence of a value: `Option<Value>`.
///
/// Times count from 2000-01-01, as PostgreSQL's binary formats do; the least and the greatest
/// count are its `-infinity` and `infinity`.
///
/// A value may be one of a protected column: its `Debug` shows the kind and no content.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `boolean`
    Boolean(bool),
    /// `smallint`, `integer`, `bigint`
    Integer(i64),
    /// `bigint unsigned`
    Unsigned(u64),
    /// `real`, `double precision`
    Float(f64),
    /// `numeric`. The scale is the one that is shown, and never below 0.
    Numeric(BigDecimal),
    /// `numeric` without digits
    NumericSpecial(NumericSpecial),
    /// `text`, `varchar`, `char` (blanks at the end as they came), `json`
    Text(String),
    /// `bytea`
    Bytes(Vec<u8>),
    /// One of a type that is kept [unread](crate::OpaqueType), in the server's binary form
    Opaque(Vec<u8>),
    /// `date`: days
    Date(i32),
    /// `time`: microseconds since midnight; `TIME` of MySQL: microseconds, also below zero
    Time(i64),
    /// `timestamp`, `timestamptz` (in UTC): microseconds
    Timestamp(i64),
    /// `uuid`
    Uuid([u8; 16]),
}

/// A `numeric` without digits, in PostgreSQL's order: all numbers stand between the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumericSpecial {
    /// `-Infinity`
    NegativeInfinity,
    /// `Infinity`
    Infinity,
    /// `NaN`, equal to itself and greater than all others
    Nan,
}

impl NumericSpecial {
    /// As PostgreSQL writes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::NegativeInfinity => "-Infinity",
            Self::Infinity => "Infinity",
            Self::Nan => "NaN",
        }
    }

    /// The floating number of the same kind.
    pub fn float(self) -> f64 {
        match self {
            Self::NegativeInfinity => f64::NEG_INFINITY,
            Self::Infinity => f64::INFINITY,
            Self::Nan => f64::NAN,
        }
    }

    /// The kind of a floating number; None: it has digits.
    pub fn of_float(number: f64) -> Option<Self> {
        if number.is_nan() {
            return Some(Self::Nan);
        }
        let sign = if number < 0.0 {
            Self::NegativeInfinity
        } else {
            Self::Infinity
        };
        number.is_infinite().then_some(sign)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Boolean(_) => "Boolean(..)",
            Self::Integer(_) => "Integer(..)",
            Self::Unsigned(_) => "Unsigned(..)",
            Self::Float(_) => "Float(..)",
            Self::Numeric(_) | Self::NumericSpecial(_) => "Numeric(..)",
            Self::Text(_) => "Text(..)",
            Self::Bytes(_) => "Bytes(..)",
            Self::Opaque(_) => "Opaque(..)",
            Self::Date(_) => "Date(..)",
            Self::Time(_) => "Time(..)",
            Self::Timestamp(_) => "Timestamp(..)",
            Self::Uuid(_) => "Uuid(..)",
        })
    }
}

/// Why a value is none of its type: what the server would have said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    /// SQLSTATE, five characters (PostgreSQL, appendix A).
    pub sqlstate: SqlState,
    /// As PostgreSQL words it; never carries the value of a protected column.
    pub message: String,
}

impl ValueError {
    /// An error with the server's code and words.
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self {
            sqlstate,
            message: message.into(),
        }
    }

    /// 22P02: the text is none of the type. Unlike the server, it does not repeat the text.
    pub fn syntax(type_name: &str) -> Self {
        Self::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}"),
        )
    }

    /// 22003: `smallint out of range`
    pub fn out_of_range(type_name: &str) -> Self {
        Self::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("{type_name} out of range"),
        )
    }
}
