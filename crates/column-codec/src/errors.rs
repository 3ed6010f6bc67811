//! Why a value cannot be sealed, and why bytes do not open.

use column_value::LogicalType;
use sqlstate::SqlState;

/// Why a value cannot be sealed for its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The value has another type.
    #[error("{table}.{column} is of type {logical} and the value is of another: cast it")]
    Type {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        logical: LogicalType,
    },
    /// The value is out of the range declared by the rule.
    #[error(
        "value out of range for {table}.{column}: its rule keeps {bits} bits in order, whole \
         numbers from 0 on; declare more bits, or none"
    )]
    Range {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Bits of the rule.
        bits: u8,
    },
    /// The value is out of the range of the type with which the server would compare it.
    #[error("value is out of range for type double precision")]
    FloatRange,
    /// The server would round the column's values to compare them.
    #[error(
        "{table}.{column} is of type {logical}, and is compared with a floating number as such: \
         several of its values would be rounded to one; pass the value as {logical}"
    )]
    Rounded {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        logical: LogicalType,
    },
    /// Any number may stand for a value of the column.
    #[error(
        "{table}.{column} is a bigint in compact equality, and is compared with what is no bigint: \
         compare it with a whole number, or leave equality = \"compact\" out of its rule"
    )]
    NoUnused {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The column's mode does not support the operation.
    #[error("{table}.{column} cannot be compared so: change the mode of its rule")]
    Mode {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
}

impl SealError {
    /// As PostgreSQL's appendix A has it.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Self::Type { .. } => SqlState::DATATYPE_MISMATCH,
            Self::Range { .. } | Self::FloatRange => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            Self::Rounded { .. } | Self::NoUnused { .. } | Self::Mode { .. } => {
                SqlState::FEATURE_NOT_SUPPORTED
            }
        }
    }
}

/// Why bytes are not a sealed value of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Too short, or of a length that the mode does not have.
    #[error("no sealed value: it was not written through the proxy, or was cut")]
    Size,
    /// Sealed in another mode, or not a sealed value.
    #[error(
        "sealed in another mode, or no sealed value: the rule was changed after it was written"
    )]
    Format,
    /// It has the mark of a check that it fails.
    #[error("fails a check of its rule: it was stored while its table had neither check nor guard")]
    Marked,
    /// Sealed under another version of the keys.
    #[error("sealed with keys of version {0}, which are not loaded")]
    KeyVersion(u8),
    /// Damaged, of another column, or sealed with another root key.
    #[error("not authentic: another root key, moved from another column, or damaged")]
    NotAuthentic,
    /// The value of a group with more members than the rules have.
    #[error("sealed together with more columns than the rules have: load the newer rules")]
    Members,
    /// Authentic, but not a value of the type: the rule's type was changed.
    #[error("sealed as a value of another type: the rule's type was changed")]
    Content,
}
