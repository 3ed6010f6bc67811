//! Tables over which every statement is refused. Most lost a protected column: it was renamed,
//! dropped or hidden without the proxy, and a value meant for it would be stored in clear in the
//! column that took its place.

use std::collections::{BTreeMap, HashSet};

use super::{Building, Name};
use crate::ProtectedColumn;

/// Columns with rules that an earlier reading of the catalogues showed: schema, table, column.
pub type SeenColumns = HashSet<(String, String, String)>;

impl Building<'_> {
    /// Closes each table that lost such a column, and its partitions and children.
    pub(super) fn close_tables(&mut self, seen: &SeenColumns) {
        let lost: Vec<(Name, String)> = self
            .schema
            .missing_columns()
            .filter(|rule| seen.contains(&name_of(rule)))
            .map(|rule| ((rule.schema.clone(), rule.table.clone()), lost_text(rule)))
            .collect();
        for (name, text) in lost {
            let own = self.schema.tables.get(&name).map_or(0, |table| table.oid);
            self.close(name, &text);
            for child in self.parents.keys().copied().collect::<Vec<_>>() {
                if self.ancestors(child).contains(&own)
                    && let Some(name) = self.names.get(&child).cloned()
                {
                    self.close(name, &text);
                }
            }
        }
    }

    /// Closes a view over a table that is closed.
    pub(super) fn close_view(&mut self, view: u32, dependencies: &BTreeMap<u32, HashSet<u32>>) {
        let reads = dependencies.get(&view).into_iter().flatten();
        let mut names = reads.filter_map(|oid| self.names.get(oid));
        let text = names.find_map(|name| self.schema.closed.get(name)).cloned();
        if let (Some(text), Some(name)) = (text, self.names.get(&view).cloned()) {
            self.close(name, &text);
        }
    }

    pub(super) fn close(&mut self, name: Name, text: &str) {
        if let Some(table) = self.schema.tables.get_mut(&name) {
            table.opaque = true;
        }
        self.schema.closed.insert(name, text.to_owned());
    }
}

fn name_of(rule: &ProtectedColumn) -> (String, String, String) {
    (rule.schema.clone(), rule.table.clone(), rule.column.clone())
}

fn lost_text(rule: &ProtectedColumn) -> String {
    let ProtectedColumn {
        schema,
        table,
        column,
        ..
    } = rule;
    format!(
        "column {schema}.{table}.{column} has a rule, and is not there any more: somebody has \
         renamed, dropped or hidden it past the proxy, so statements over that table are refused"
    )
}
