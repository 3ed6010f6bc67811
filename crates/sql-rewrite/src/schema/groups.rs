//! Groups: protected columns of one table whose values are sealed together.
//!
//! The server has the value of a group in the first of its columns, the *holder*; the others are
//! NULL there, but for the last one, which is empty in each row that was written. Which column is
//! the first follows from the table as it is in the server: a column that is added comes behind
//! those that are there.
//!
//! The empty value says with which members the row was written last. A proxy whose rules lack the
//! last one cannot take it away, so the guard refuses what such a proxy would seal in its place.

use super::{RelationKind, Schema, Table};
use crate::ColumnId;

/// A group of protected columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGroup {
    /// Schema of the table.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Its name in the rules.
    pub name: String,
    /// Its members in the order of the table, the holder first. Empty while there is no such table,
    /// or while the order is not known.
    pub members: Vec<ColumnId>,
    /// Whether privileges are granted on single columns of a table that has members.
    pub has_column_privileges: bool,
}

impl ColumnGroup {
    /// The column that has its values in the server.
    pub fn holder(&self) -> Option<ColumnId> {
        self.members.first().copied()
    }

    /// The column that is empty in the server, where others are NULL. None: there is the holder
    /// alone.
    pub(crate) fn last(&self) -> Option<ColumnId> {
        self.members.get(1..)?.last().copied()
    }

    fn is_of(&self, table: &Table) -> bool {
        self.schema == table.schema && self.table == table.name
    }
}

impl Schema {
    /// The group of a protected column. None: it is sealed alone.
    pub fn group_of(&self, id: ColumnId) -> Option<&ColumnGroup> {
        let number = self.column(id).form.group?;
        self.catalogue.groups.get(number as usize)
    }

    /// Whether a protected column is sealed with others.
    pub fn is_member(&self, id: ColumnId) -> bool {
        self.column(id).form.group.is_some()
    }

    /// Whether a table has a column that is sealed with others.
    pub(crate) fn has_groups(&self, table: &Table) -> bool {
        let mut columns = table.columns.iter().filter_map(|own| own.protected);
        columns.any(|own| self.is_member(own))
    }

    /// The column that has the values of a protected column in the server. None: that is not known.
    pub fn holder_of(&self, id: ColumnId) -> Option<ColumnId> {
        match self.group_of(id) {
            None => Some(id),
            Some(group) => group.holder(),
        }
    }

    /// The same in a table that may be one that a statement makes: its order decides.
    pub(crate) fn holder_in(&self, table: &Table, id: ColumnId) -> Option<ColumnId> {
        match self.column(id).form.group {
            None => Some(id),
            Some(_) => self.members_in(table, id).first().copied(),
        }
    }

    /// The members of the group of a column, in the order in which a table has them sealed.
    pub(crate) fn members_in(&self, table: &Table, id: ColumnId) -> Vec<ColumnId> {
        let Some(group) = self.group_of(id) else {
            return Vec::new();
        };
        // Partitions and children may have another order than the table of the rules.
        if !group.is_of(table) {
            return group.members.clone();
        }
        let columns = table.columns.iter().filter_map(|own| own.protected);
        let number = self.column(id).form.group;
        let own = columns.filter(|own| self.column(*own).form.group == number);
        own.collect()
    }

    /// Whether the holder of a group is NOT NULL in the server: one of its members is. A row that
    /// lacks that member is sent as NULL.
    pub(crate) fn holds_a_value(&self, group: Option<u32>) -> bool {
        let mut members = self.protected.iter();
        group.is_some() && members.any(|own| own.form.group == group && own.not_null)
    }

    /// The number of a group of the rules.
    pub(crate) fn group_number(&mut self, (schema, table): (&str, &str), name: &str) -> u32 {
        let groups = &mut self.catalogue.groups;
        let known = groups.iter().position(|own| {
            (own.schema.as_str(), own.table.as_str(), own.name.as_str()) == (schema, table, name)
        });
        let number = known.unwrap_or_else(|| {
            groups.push(ColumnGroup {
                schema: schema.to_owned(),
                table: table.to_owned(),
                name: name.to_owned(),
                members: Vec::new(),
                has_column_privileges: false,
            });
            groups.len() - 1
        });
        u32::try_from(number).expect("rules are fewer than 2^32")
    }

    /// Finds the members of all groups, in the order of their tables.
    pub(crate) fn form_groups(&mut self) {
        if self.catalogue.groups.is_empty() {
            return;
        }
        let mut groups = self.catalogue.groups.clone();
        for (group, number) in groups.iter_mut().zip(0..) {
            let name = (group.schema.clone(), group.table.clone());
            let table = self.tables.get(&name);
            let table = table.filter(|own| own.oid != 0 && own.kind == RelationKind::Table);
            let columns = table.into_iter().flat_map(|table| &table.columns);
            let members = columns.filter_map(|column| column.protected);
            let members = members.filter(|own| self.column(*own).form.group == Some(number));
            group.members = members.collect();
            let is_own = |own: ColumnId| self.column(own).form.group == Some(number);
            let mut tables = self.tables.values().filter(|own| own.has_column_privileges);
            group.has_column_privileges = tables.any(|table| {
                let mut columns = table.columns.iter().filter_map(|own| own.protected);
                columns.any(is_own)
            });
        }
        self.catalogue.groups = groups;
    }

    /// Forgets the order of the members of a table's groups: a statement makes the table.
    pub(crate) fn dissolve_groups(&mut self, table: &Table) {
        let groups = self.catalogue.groups.iter();
        if !groups.clone().any(|group| group.is_of(table)) {
            return;
        }
        let of_table = self.catalogue.groups.iter_mut();
        for group in of_table.filter(|group| group.is_of(table)) {
            group.members = Vec::new();
        }
    }
}
