//! In which form values of mode equality are sealed.

use serde::{Deserialize, Serialize};

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
