//! A schema of which a few relations were read again.
//!
//! Only what such relations mean by themselves is built anew: tables, plain or with rules. Where
//! one of them could mean something for another relation, there is no such schema, and the caller
//! reads everything.

use std::collections::HashSet;

use super::{Building, Name, SeenColumns, name_of_rule};
use crate::schema::cells::{number, text};
use crate::schema::{Answer, RelationKind, Schema};
use crate::{ColumnId, Rules};

impl Schema {
    /// This schema with what `answers` say of all relations of these names
    /// ([`changed_of`](crate::changed_of)). None: that does not show what the server has now.
    pub fn with_changed<'n>(
        &self,
        rules: &Rules,
        names: impl Iterator<Item = &'n str>,
        answers: &[Answer],
        seen: &SeenColumns,
    ) -> Option<Self> {
        // What does not fit, or is closed, is built from everything.
        if !self.unfit.is_empty() || !self.closed.is_empty() {
            return None;
        }
        let mut building = Building::new(rules);
        building.schema = self.clone();
        building.names = self
            .tables
            .iter()
            .filter(|(_, table)| table.oid != 0)
            .map(|(name, table)| (table.oid, name.clone()))
            .collect();
        let read: Vec<Name> = answers[1].iter().map(|row| name_of(row)).collect();
        building.check_alone(names, &read, answers)?;
        building.forget(&read);
        building.read_relations(&answers[1]);
        building.read_columns(&answers[2]);
        for name in &read {
            building.apply_rules_of(name);
        }
        building.form_groups();
        building.read_indexes(&answers[3]);
        building.read_guards(&answers[5]);
        building.close_newer(&answers[5]);
        building.read_checks(&answers[5]);
        building.check_constraints(&answers[5]);
        building.check_partitions(&answers[1]);
        let views = building.check_dependencies(&answers[6]);
        let fits = building.errors.is_empty()
            && building.schema.closed.is_empty()
            && views.is_empty()
            && building.reveals_nothing(self, &read)
            && !building.loses_columns(&read, seen);
        fits.then_some(building.schema)
    }
}

fn name_of(row: &[Option<String>]) -> Name {
    (text(row, 1), text(row, 2))
}

impl Building<'_> {
    /// Checks that the relations are tables which no other relation depends on: no views, parents,
    /// children or policies, and that none of the names is gone.
    fn check_alone<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        read: &[Name],
        answers: &[Answer],
    ) -> Option<()> {
        let are_tables = answers[1].iter().all(|row| {
            let known = self.schema.tables.get(&name_of(row));
            let is_same = |known: &crate::Table| {
                known.oid == 0
                    || (known.oid == number::<u32>(row, 0) && known.kind == RelationKind::Table)
            };
            matches!(text(row, 3).as_str(), "r" | "p") && known.is_none_or(is_same)
        });
        let names: HashSet<&str> = names.collect();
        let read: HashSet<&Name> = read.iter().collect();
        let are_there = self.schema.tables.iter().all(|(name, table)| {
            table.oid == 0 || !names.contains(name.1.as_str()) || read.contains(name)
        });
        let is_default = |row: &Vec<Option<String>>| text(row, 0) == "default";
        let are_alone = answers[4].is_empty() && answers[6].iter().all(is_default);
        (are_tables && are_there && are_alone).then_some(())
    }

    /// Forgets what an earlier reading has shown of relations.
    fn forget(&mut self, read: &[Name]) {
        for name in read {
            let Some(table) = self.schema.tables.remove(name) else {
                continue;
            };
            let catalogue = &mut *self.schema.catalogue;
            let own: HashSet<ColumnId> = table
                .columns
                .iter()
                .filter_map(|column| column.protected)
                .collect();
            for column in &table.columns {
                let key = (table.oid, column.number);
                catalogue.finisher.column_types.remove(&key);
            }
            if !own.is_empty() {
                catalogue
                    .index_columns
                    .retain(|(_, _, id)| !own.contains(id));
            }
            self.schema
                .guards
                .retain(|guard| (&guard.schema, &guard.table) != (&name.0, &name.1));
        }
    }

    /// Marks the columns that have rules: numbers of rules stay what they are.
    fn apply_rules_of(&mut self, name: &Name) {
        let rules = self.rules;
        for at in 0..self.schema.protected.len() {
            let own = &self.schema.protected[at];
            if name_of_rule(own) != (&name.0, &name.1) {
                continue;
            }
            let (id, column) = (own.id, own.column.clone());
            if let Some(rule) = rules.column(&name.0, &name.1, &column) {
                self.schema.protected[at] = self.protect(id, name, &column, rule);
            }
        }
    }

    /// Whether no table is protected now that was not, and functions mean what they meant.
    fn reveals_nothing(&self, before: &Schema, read: &[Name]) -> bool {
        let was_protected = |name: &Name| {
            let table = before.tables.get(name);
            table.is_some_and(crate::Table::is_protected)
        };
        let is_protected = |name: &Name| {
            let table = self.schema.tables.get(name);
            table.is_some_and(crate::Table::is_protected)
        };
        read.iter()
            .all(|name| !is_protected(name) || was_protected(name))
            && before.has_ruled_tables() == self.schema.has_ruled_tables()
    }

    /// Whether a table lacks a column with a rule that it had.
    fn loses_columns(&self, read: &[Name], seen: &SeenColumns) -> bool {
        self.schema.missing_columns().any(|rule| {
            let column = (rule.schema.clone(), rule.table.clone(), rule.column.clone());
            let (schema, table) = name_of_rule(rule);
            let is_read = read
                .iter()
                .any(|name| (&name.0, &name.1) == (schema, table));
            is_read && seen.contains(&column)
        })
    }
}
