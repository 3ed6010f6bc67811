//! In which form values of mode equality are sealed.

use serde::{Deserialize, Serialize};

use crate::LogicalType;

/// What a rule of mode equality says of the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EqualityForm {
    /// Bytes that open only if they were sealed for the column.
    #[default]
    Authenticated,
    /// A number of the server's own, as small and fast as one in clear. Nearly any number opens.
    Compact,
}

impl EqualityForm {
    /// Whether values of a type can be kept so in mode equality.
    pub fn is_for(self, logical: LogicalType) -> bool {
        match self {
            Self::Authenticated => logical.is_comparable(),
            Self::Compact => matches!(
                logical,
                LogicalType::SmallInt
                    | LogicalType::Integer
                    | LogicalType::BigInt
                    | LogicalType::Whole(_)
                    | LogicalType::Date
                    | LogicalType::Time(_)
                    | LogicalType::SignedTime(_)
                    | LogicalType::Timestamp(_)
                    | LogicalType::TimestampTz(_)
            ),
        }
    }
}
