//! Columns with rules that were there once: a table that loses one past the proxy is closed.

use std::collections::HashSet;

use sql_rewrite::{Schema, SeenColumns};

use super::Protection;

/// Schema and table.
type Name = (String, String);

/// What readings of a database have shown.
#[derive(Default)]
pub(super) struct Seen {
    columns: SeenColumns,
    /// Tables that lack such a column, as of the last reading.
    closed: HashSet<Name>,
    /// Tables that transactions under way change through the proxy: they may lose columns.
    reshaped: Vec<Name>,
}

impl Seen {
    /// What was read is for all sessions.
    pub(super) fn note(&mut self, schema: &Schema) {
        self.closed = schema.closed.keys().cloned().collect();
        for rule in &schema.protected {
            let name = (rule.schema.clone(), rule.table.clone());
            let table = schema.tables.get(&name);
            let is_there = table.is_some_and(|table| table.position(&rule.column).is_some());
            if is_there && !self.reshaped.contains(&name) {
                let (schema, table) = name;
                self.columns.insert((schema, table, rule.column.clone()));
            }
        }
    }
}

impl Protection {
    /// Columns with rules that were there once, and shall be.
    pub fn seen(&self, database: &str) -> SeenColumns {
        let databases = self.lock();
        let known = databases.get(database);
        known.map_or_else(SeenColumns::new, |known| known.seen.columns.clone())
    }

    /// A statement is sent that may take columns from these tables, until
    /// [`Self::end_reshaping`]. One that lost a column past the proxy stays closed.
    pub fn begin_reshaping(&self, database: &str, tables: &[Name]) {
        let mut databases = self.lock();
        let seen = &mut databases.entry(database.to_owned()).or_default().seen;
        for name in tables {
            if !seen.closed.contains(name) {
                seen.columns
                    .retain(|(schema, table, _)| (schema, table) != (&name.0, &name.1));
            }
            seen.reshaped.push(name.clone());
        }
    }

    /// The transaction of [`Self::begin_reshaping`] has ended.
    pub fn end_reshaping(&self, database: &str, tables: &[Name]) {
        let mut databases = self.lock();
        let Some(known) = databases.get_mut(database) else {
            return;
        };
        let reshaped = &mut known.seen.reshaped;
        for name in tables {
            if let Some(index) = reshaped.iter().position(|own| own == name) {
                reshaped.swap_remove(index);
            }
        }
    }
}
