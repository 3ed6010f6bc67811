//! One value, free of any format.

use bigdecimal::BigDecimal;

/// A value of a column. NULL is the absence of a value: `Option<Value>`.
///
/// Times count from 2000-01-01, as PostgreSQL's binary formats do.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `boolean`
    Boolean(bool),
    /// `smallint`, `integer`, `bigint`
    Integer(i64),
    /// `real`, `double precision`
    Float(f64),
    /// `numeric`
    Numeric(BigDecimal),
    /// `numeric` "not a number"
    NumericNan,
    /// `text`, `varchar`, `char` (blanks at the end as they came), `json`
    Text(String),
    /// `bytea`
    Bytes(Vec<u8>),
    /// `date`: days
    Date(i32),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `timestamp`, `timestamptz` (in UTC): microseconds
    Timestamp(i64),
    /// `uuid`
    Uuid([u8; 16]),
}

/// Why a value is none of its type: what the server would have said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    /// SQLSTATE, five characters (PostgreSQL, appendix A).
    pub sqlstate: &'static str,
    /// As PostgreSQL words it; never carries the value of a protected column.
    pub message: String,
}
