//! The specification of a column for the codec.

use column_value::{Collation, EqualityForm, LogicalType, Pad};

use crate::order::Scale;

/// What the server can do with sealed values, and therefore learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Store and return.
    Random,
    /// Compare for equality.
    Equality,
    /// Compare for order.
    Order,
    /// Texts: compare for equality by a collation. A value begins with a token of its collation
    /// key; what follows is sealed as in mode `random`.
    Token(Collation),
}

/// A column with its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// `schema.table`
    pub table: String,
    /// Its name.
    pub column: String,
    /// Columns of one domain share keys, so their values are comparable. `None`: the column has its
    /// own keys. Mode `random` has no domains.
    pub domain: Option<String>,
    /// The type of its values.
    pub logical: LogicalType,
    /// The mode.
    pub mode: Mode,
    /// Mode `order`: values are integers (in units of the last decimal, for `numeric`) from 0 to
    /// 2^bits - 1. `None`: the whole range of the type.
    pub bits: Option<u8>,
    /// How far values of variable length are padded.
    pub pad: Pad,
    /// In which form mode `equality` keeps values.
    pub equality: EqualityForm,
}

/// Why a column's rule cannot be implemented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The type's order cannot be expressed in digits.
    #[error(
        "{table}.{column}: type {logical} has no mode order; it is for integers, numeric(p,s) \
         with p up to 18, real, double precision, dates and times: choose random or equality"
    )]
    NoOrder {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type.
        logical: LogicalType,
    },
    /// `bits` is not applicable, or out of range.
    #[error(
        "{table}.{column}: bits must be from 1 to 63, for an integer or numeric(p,s) in mode order"
    )]
    Bits {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Compact equality is for numbers.
    #[error("{table}.{column}: compact equality is for integers, dates and times in mode equality")]
    Compact {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Equal values of the type have no common form, or it has no equality.
    #[error("{table}.{column}: {logical} has no mode equality: choose mode random")]
    NoEquality {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type.
        logical: LogicalType,
    },
    /// Only texts are compared by a collation.
    #[error("{table}.{column}: {logical} has no collation: leave it out")]
    NoCollation {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type.
        logical: LogicalType,
    },
}

impl ColumnSpec {
    /// Checks the rule, and returns the scale of an ordered column.
    pub(crate) fn check(&self) -> Result<Option<Scale>, SpecError> {
        let (table, column) = (self.table.clone(), self.column.clone());
        let is_compact = self.equality == EqualityForm::Compact;
        if is_compact && !(self.mode == Mode::Equality && self.equality.is_for(self.logical)) {
            return Err(SpecError::Compact { table, column });
        }
        match self.mode {
            Mode::Random | Mode::Equality | Mode::Token(_) if self.bits.is_some() => {
                Err(SpecError::Bits { table, column })
            }
            Mode::Random => Ok(None),
            Mode::Equality if !self.logical.is_comparable() => Err(SpecError::NoEquality {
                table,
                column,
                logical: self.logical,
            }),
            Mode::Token(_) if !self.logical.is_text() => Err(SpecError::NoCollation {
                table,
                column,
                logical: self.logical,
            }),
            Mode::Equality | Mode::Token(_) => Ok(None),
            Mode::Order => {
                let logical = self.logical;
                let scale = Scale::of(logical).ok_or_else(|| SpecError::NoOrder {
                    table: table.clone(),
                    column: column.clone(),
                    logical,
                })?;
                match self.bits {
                    None => Ok(Some(scale)),
                    Some(bits) => scale
                        .with_bits(bits)
                        .map(Some)
                        .ok_or(SpecError::Bits { table, column }),
                }
            }
        }
    }
}
