//! Protected columns that existed once: a table that loses one without the proxy is closed.

use std::collections::HashSet;

use sql_rewrite::{Schema, SeenColumns};

use super::Protection;

/// Schema and table.
type Name = (String, String);

/// Protected columns that readings of a database have shown.
#[derive(Default)]
pub(super) struct Seen {
    columns: SeenColumns,
    /// Tables that lacked such a column at the last reading.
    closed: HashSet<Name>,
    /// Tables that open transactions change through the proxy: they may lose columns.
    reshaped: Vec<Name>,
}

impl Seen {
    /// Notes a schema that is published to all sessions.
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

impl Seen {
    /// Whether a table is closed, or may lose a column just now: that must not be forgotten.
    pub(super) fn has_closed(&self) -> bool {
        !self.closed.is_empty() || !self.reshaped.is_empty()
    }
}

impl Protection {
    /// Protected columns that existed once, and must still exist.
    pub fn seen(&self, database: &str) -> SeenColumns {
        let databases = self.lock();
        let known = databases.by_name.get(database);
        known.map_or_else(SeenColumns::new, |known| known.seen.columns.clone())
    }

    /// Notes that a statement is sent that may drop columns of these tables, until
    /// [`Self::end_reshaping`]. A table that is closed stays closed.
    pub fn begin_reshaping(&self, database: &str, tables: &[Name]) {
        let mut databases = self.lock();
        let seen = &mut self.known(&mut databases, database).seen;
        for name in tables {
            if !seen.closed.contains(name) {
                seen.columns
                    .retain(|(schema, table, _)| (schema, table) != (&name.0, &name.1));
            }
            seen.reshaped.push(name.clone());
        }
    }

    /// Notes that the transaction of [`Self::begin_reshaping`] has ended.
    pub fn end_reshaping(&self, database: &str, tables: &[Name]) {
        let mut databases = self.lock();
        let Some(known) = databases.by_name.get_mut(database) else {
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
