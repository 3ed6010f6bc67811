//! What the user wants protected: the tables `[columns.TABLE.COLUMN]` of the configuration.

use std::collections::BTreeMap;

use column_types::LogicalType;
use serde::{Deserialize, Serialize};

/// What the server can do with a column's ciphertext, and so what it learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Store and return. Leaks length and NULL.
    #[default]
    Random,
    /// Equality, joins, grouping, uniqueness. Leaks which values are equal.
    Equality,
    /// Comparison and sorting too. Leaks the order, and much of the values with it.
    Order,
}

/// The rule for one column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRule {
    /// The type that clients see.
    #[serde(rename = "type")]
    pub logical: LogicalType,
    /// The mode.
    #[serde(default)]
    pub mode: Mode,
    /// Columns of one domain share a key, so that they can be compared and joined. None:
    /// the column's own.
    pub domain: Option<String>,
    /// Of mode `order`: bits of a number that are kept in order; values beyond are refused.
    pub bits: Option<u8>,
    /// `DEFAULT` of the column, as an SQL literal or `CURRENT_TIMESTAMP`: the proxy fills it in.
    pub default: Option<String>,
    /// Equality or order on a type of few values tells the values: only with this word.
    #[serde(default)]
    pub accept_leakage: bool,
}

/// All rules: table (`table` or `schema.table`) to column to rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules {
    /// Table to column to rule.
    pub tables: BTreeMap<String, BTreeMap<String, ColumnRule>>,
}

/// Rules that contradict themselves.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The text is no TOML, or has unknown fields.
    #[error("the rules cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A rule of one column.
    #[error("[columns.{table}.{column}]: {problem}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: String,
    },
}
