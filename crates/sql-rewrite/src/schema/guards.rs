//! Which guards the server has, and which are missing.

use super::{ProtectedColumn, Schema, ServerType, Table};
use crate::dialect::postgres::table_guard::{GuardedColumn, TableGuard};
use crate::{ColumnId, Dialect};

/// A guard: a check constraint that refuses plaintext in columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The catalogue's number of it; 0: a statement before has made it.
    pub oid: u32,
    /// The catalogue's number of the table.
    pub relation: u32,
    /// Schema of the table.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Name of the constraint.
    pub name: String,
    /// The columns that must have sealed values.
    pub columns: Vec<String>,
    /// Whether it was checked for rows that existed before it.
    pub is_valid: bool,
}

impl Guard {
    pub(crate) fn is_of(&self, table: &Table) -> bool {
        self.schema == table.schema && self.table == table.name
    }

    fn covers(&self, column: &ProtectedColumn) -> bool {
        self.schema == column.schema
            && self.table == column.table
            && self.columns.contains(&column.column)
    }
}

/// The DDL that adds missing guards to a table, to be sent directly to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardsDue {
    /// Schema.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Columns without a guard.
    pub columns: Vec<String>,
    /// Adds a guard of those columns, for new rows; None: all have one.
    pub add: Option<String>,
    /// Validates the guards for existing rows.
    pub validate: Vec<String>,
}

impl Schema {
    /// Protected columns in the server that no guard holds to sealed values, and one could: no
    /// number tells whether it is sealed. Partitions and
    /// children have the guards of the tables that have the rules.
    pub fn unguarded_columns(&self) -> impl Iterator<Item = &ProtectedColumn> {
        let bytes = self.protected.iter();
        let bytes = bytes.filter(|column| column.server_type() == ServerType::Bytes);
        // Before MySQL, the type of members that are not the holder has no room for a value.
        let has_no_room = |column: &ProtectedColumn| {
            let holder = self.holder_of(column.id);
            matches!(self.dialect, Dialect::MySql(_)) && holder != Some(column.id)
        };
        bytes.filter(move |column| {
            let name = (column.schema.clone(), column.table.clone());
            let table = self.tables.get(&name).filter(|table| table.oid != 0);
            table.is_some_and(|table| table.position(&column.column).is_some())
                && !has_no_room(column)
                && !self.guards.iter().any(|guard| guard.covers(column))
        })
    }

    /// Guards of tables with rules that were not validated for existing rows.
    pub fn unvalidated_guards(&self) -> impl Iterator<Item = &Guard> {
        self.guards.iter().filter(|guard| {
            let mut ruled = self.protected.iter();
            !guard.is_valid && ruled.any(|column| guard.covers(column))
        })
    }

    /// What the server lacks, by tables, in the order of their names.
    pub fn guards_due(&self) -> Vec<GuardsDue> {
        let unguarded = self
            .unguarded_columns()
            .map(|own| (&own.schema, &own.table));
        let unvalidated = self
            .unvalidated_guards()
            .map(|own| (&own.schema, &own.table));
        let mut names: Vec<_> = unguarded.chain(unvalidated).collect();
        names.sort_unstable();
        names.dedup();
        let due = |(schema, table): (&String, &String)| {
            let own = self.tables.get(&(schema.clone(), table.clone()))?;
            Some(self.due(own))
        };
        names.into_iter().filter_map(due).collect()
    }

    fn due(&self, table: &Table) -> GuardsDue {
        let own = self.unguarded_columns();
        let own = own.filter(|own| own.schema == table.schema && own.table == table.name);
        let columns: Vec<String> = own.map(|own| own.column.clone()).collect();
        let alter = format!(
            "ALTER TABLE {}.{}",
            self.dialect.quote(&table.schema),
            self.dialect.quote(&table.name)
        );
        let guard = TableGuard::new(self.guarded(table, &columns));
        let add = guard.as_ref().map(|guard| {
            let (name, condition) = (self.dialect.quote(&guard.name()), guard.condition());
            format!("{alter} ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")
        });
        let there = self.unvalidated_guards();
        let there = there.filter(|own| own.is_of(table));
        let names = there.map(|own| self.dialect.quote(&own.name));
        let names = names.chain(guard.map(|own| self.dialect.quote(&own.name())));
        GuardsDue {
            schema: table.schema.clone(),
            table: table.name.clone(),
            columns,
            add,
            validate: names
                .map(|name| format!("{alter} VALIDATE CONSTRAINT {name}"))
                .collect(),
        }
    }

    /// Those of the columns of a table that are protected, as a guard sees them, and those that
    /// hold their values.
    pub(crate) fn guarded(&self, table: &Table, columns: &[String]) -> Vec<GuardedColumn> {
        let named = table
            .columns
            .iter()
            .filter(|own| columns.contains(&own.name));
        let named: Vec<ColumnId> = named.filter_map(|own| own.protected).collect();
        let holders = named.iter().filter_map(|own| self.holder_in(table, *own));
        let holders: Vec<ColumnId> = holders.collect();
        let at = |id: ColumnId| {
            let mut own = table.columns.iter();
            own.find(|own| own.protected == Some(id))
        };
        let own = table.columns.iter().filter(|own| {
            let mut wanted = named.iter().chain(&holders);
            own.protected.is_some_and(|id| wanted.any(|own| *own == id))
        });
        own.filter_map(|own| {
            let rule = self.column(own.protected?);
            if rule.server_type() == ServerType::Number {
                return None;
            }
            let guarded = GuardedColumn::new(&own.name, own.number, rule.layout());
            let guarded = guarded.with_checks(rule.checks.are_in_table);
            if rule.form.group.is_none() {
                return Some(guarded);
            }
            let members = self.members_in(table, rule.id);
            let place = members.iter().position(|own| *own == rule.id)?;
            let holder = at(*members.first()?)?;
            Some(match u8::try_from(place + 1).ok()? {
                1 => guarded.holding_others(),
                place => guarded.held_by((&holder.name, holder.number), place),
            })
        })
        .collect()
    }
}
