//! The rules: which columns the user wants protected, and how. They are the tables
//! `[columns.TABLE.COLUMN]` of the configuration.

use std::collections::BTreeMap;

use column_value::{Collation, EqualityForm, LogicalType, Pad};
use serde::{Deserialize, Serialize};

mod check;
mod draws;
mod groups;
mod leaks;

pub use draws::Draws;

pub use check::{constant_value, moment_digits, parse_default};
pub use leaks::few_values;

/// The mode of a column: what the server can do with its ciphertext, and so what it learns.
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
    /// How the column is sealed.
    #[serde(default)]
    pub mode: Mode,
    /// The domain: columns of one domain share a key, so they can be compared and joined. None: a
    /// domain of its own.
    pub domain: Option<String>,
    /// In mode `order`: how many bits of a number keep their order; greater values are refused.
    pub bits: Option<u8>,
    /// Texts and others of variable length: in which steps the server learns how long they are.
    /// None: in steps of 16 bytes.
    pub pad: Option<Pad>,
    /// In mode `equality`: whether the server has a `bigint` in place of bytes. None: bytes, which
    /// open only if they were sealed for the column.
    pub equality: Option<EqualityForm>,
    /// `DEFAULT` of the column, as an SQL literal or `CURRENT_TIMESTAMP`, or where its values are
    /// drawn from ([`Draws`]): the proxy fills it in.
    pub default: Option<String>,
    /// The collation by which a text is compared, before MySQL and MariaDB: `binary`, by its bytes;
    /// or in mode `equality` the name of a [`Collation`], by whose keys equal texts are found.
    /// None: the server's own, which the proxy does not know.
    pub collation: Option<String>,
    /// Columns of the table with this name are sealed together, as one value.
    pub group: Option<String>,
    /// A column with a group: it is NOT NULL, which the server has of the first column of the group
    /// alone.
    #[serde(default)]
    pub not_null: bool,
    /// Allows `equality` or `order` on a type with few values, although they reveal the values.
    #[serde(default)]
    pub accept_leakage: bool,
    /// Check constraints over the column, by their names: expressions of SQL that the finisher
    /// evaluates.
    #[serde(default)]
    pub checks: BTreeMap<String, String>,
}

impl ColumnRule {
    /// The collation by whose keys texts are found. None: they are found by their bytes, or not.
    pub fn tokens(&self) -> Option<Collation> {
        let name = self
            .collation
            .as_deref()
            .filter(|_| self.mode == Mode::Equality);
        name?.parse().ok()
    }

    /// Whether texts are compared and sorted by their bytes.
    pub fn is_binary(&self) -> bool {
        self.collation.as_deref() == Some("binary")
    }
}

/// All rules: table (`table` or `schema.table`) to column to rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules {
    /// Table to column to rule.
    pub tables: BTreeMap<String, BTreeMap<String, ColumnRule>>,
    /// Whether tables are created without guards: `guard = false` below `[proxy]`.
    #[serde(skip)]
    pub leaves_guards_out: bool,
}

/// Rules that contradict themselves.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The text is not TOML, or has unknown fields.
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

impl Rules {
    /// Reads the table `[columns]` of a configuration, and checks it.
    ///
    /// # Errors
    /// All that [`Rules::check`] finds, or the first place where the text is not TOML.
    pub fn from_toml(text: &str) -> Result<Self, Vec<RulesError>> {
        /// A file may have other tables, which are read elsewhere.
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            columns: Rules,
        }
        let file: File = toml::from_str(text).map_err(|error| vec![RulesError::Syntax(error)])?;
        file.columns.check()?;
        Ok(file.columns)
    }

    /// How many columns have a rule.
    pub fn count(&self) -> usize {
        self.tables.values().map(BTreeMap::len).sum()
    }

    /// Whether a rule has a check constraint. Only a finisher evaluates them.
    pub fn has_checks(&self) -> bool {
        let mut rules = self.tables.values().flat_map(BTreeMap::values);
        rules.any(|rule| !rule.checks.is_empty())
    }

    /// Whether a rule has texts that are found by a collation. Only a finisher gives its keys.
    pub fn has_tokens(&self) -> bool {
        let mut rules = self.tables.values().flat_map(BTreeMap::values);
        rules.any(|rule| rule.tokens().is_some())
    }

    /// Whether a rule has a group. Only PostgreSQL's sessions know them.
    pub fn has_groups(&self) -> bool {
        let mut rules = self.tables.values().flat_map(BTreeMap::values);
        rules.any(|rule| rule.group.is_some())
    }

    /// The rule of a column, by the names of the catalogue.
    pub fn column(&self, schema: &str, table: &str, column: &str) -> Option<&ColumnRule> {
        self.table(schema, table)?.get(column)
    }

    /// Writes the names of columns in small letters, since they mean the same to MySQL. A name that
    /// another rule has then stays as it is.
    pub fn fold_columns(&mut self) {
        for columns in self.tables.values_mut() {
            let names: Vec<String> = columns.keys().cloned().collect();
            for name in names {
                let folded = name.to_ascii_lowercase();
                if !columns.contains_key(&folded)
                    && let Some(rule) = columns.remove(&name)
                {
                    columns.insert(folded, rule);
                }
            }
        }
    }

    /// The rules of a table, by the names of the catalogue. A rule that names no schema means
    /// `public`.
    pub fn table(&self, schema: &str, table: &str) -> Option<&BTreeMap<String, ColumnRule>> {
        let unqualified = (schema == DEFAULT_SCHEMA).then(|| self.tables.get(table));
        let qualified = || self.tables.get(&format!("{schema}.{table}"));
        unqualified.flatten().or_else(qualified)
    }

    /// Schema and table of a key of [`Rules::tables`].
    pub fn split_name(name: &str) -> (&str, &str) {
        name.split_once('.').unwrap_or((DEFAULT_SCHEMA, name))
    }
}

/// The schema of a table whose rule names none.
pub const DEFAULT_SCHEMA: &str = "public";
