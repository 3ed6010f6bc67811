//! Groups of protected columns, as these servers have their columns: the holder is wide enough for
//! all of them, and the others have no room for a value.

use std::collections::HashMap;

use column_codec::GroupLayout;

use super::{Builder, Name, Physical, VARBINARY_MAX, physical_type};
use crate::{ColumnId, ProtectedColumn, Schema, SchemaError};

/// What sealed values of these members look like to the server.
pub(crate) fn layout(members: &[ColumnId], schema: &Schema) -> GroupLayout {
    let members = members.iter().map(|id| {
        let own = schema.column(*id);
        (own.logical, own.form.pad)
    });
    GroupLayout::of(&members.collect::<Vec<_>>())
}

/// How a column is stored that may be one of these members, the holder first.
pub(crate) fn physical_in(
    rule: &ProtectedColumn,
    members: &[ColumnId],
    schema: &Schema,
) -> Physical {
    match members.first() {
        None => physical_type(rule.layout()),
        Some(holder) if *holder == rule.id => match layout(members, schema).size_max {
            Some(size @ ..=VARBINARY_MAX) => Physical::Varbinary(size),
            _ => Physical::MediumBlob,
        },
        Some(_) => NO_ROOM,
    }
}

/// The type of members that are not the holder: they are NULL or empty, and the server refuses
/// everything else in them.
pub(crate) const NO_ROOM: Physical = Physical::Varbinary(0);

impl Builder {
    /// Finds the members of all groups, and what does not fit of their columns. Who says NOT NULL
    /// is the rule: the server has it of the holder, if any member is.
    pub(super) fn form_groups(&mut self, types: &HashMap<(Name, String), String>) {
        self.schema.form_groups();
        let groups = self.schema.catalogue.groups.clone();
        for (group, number) in groups.iter().zip(0..) {
            let name = (group.schema.clone(), group.table.clone());
            let wanted = self.schema.holds_a_value(Some(number));
            for id in &group.members {
                let own = self.schema.column(*id);
                let (column, not_null) = (own.column.clone(), own.not_null);
                let physical = physical_in(own, &group.members, &self.schema);
                let found = types.get(&(name.clone(), column.clone()));
                let problem = self
                    .problem(&name, &column, physical, found)
                    .or_else(|| self.null_problem(&name, (*id, &column), (group.holder(), wanted)));
                self.schema.unfit.extend(problem.map(|problem| SchemaError {
                    schema: name.0.clone(),
                    table: name.1.clone(),
                    column: column.clone(),
                    problem,
                    is_own: true,
                }));
                // To clients, and to what is asked of a statement, a member is NOT NULL as its rule
                // says.
                let table = self.schema.tables.get_mut(&name);
                let columns = table.into_iter().flat_map(|table| &mut table.columns);
                for known in columns.filter(|known| known.name == column) {
                    known.not_null = not_null;
                }
            }
        }
        self.missing_members();
    }

    /// What is wrong with NOT NULL of a member in the server.
    fn null_problem(
        &self,
        name: &Name,
        (id, column): (ColumnId, &str),
        (holder, wanted): (Option<ColumnId>, bool),
    ) -> Option<String> {
        let table = self.schema.tables.get(name)?;
        let own = table.columns.iter().find(|own| own.name == column)?;
        let problem = match (holder == Some(id), own.not_null) {
            (false, true) => {
                "is sealed with others, and NOT NULL in the server, where it is always NULL or \
                 empty: make it NULL at the server (ALTER TABLE … MODIFY … VARBINARY(0) NULL), and \
                 write not_null = true in its rule"
            }
            (true, true) if !wanted => {
                "has the values of its group, and is NOT NULL in the server, while no column of \
                 the group has not_null = true in its rule: write it there, or make the column \
                 NULL at the server"
            }
            (true, false) if wanted => {
                "has the values of its group, of which a column has not_null = true in its rule, \
                 and may be NULL in the server: make it NOT NULL at the server, or remove not_null \
                 from the rule"
            }
            _ => return None,
        };
        Some(problem.to_owned())
    }

    /// Notes what is wrong with members that are not found in their table.
    fn missing_members(&mut self) {
        let rules = self.schema.protected.iter();
        let missing = rules.filter_map(|rule| {
            let group = self.schema.group_of(rule.id)?;
            let name = (rule.schema.clone(), rule.table.clone());
            let is_found = group.members.contains(&rule.id);
            let problem = match is_found {
                true => None,
                false => self.problem(&name, &rule.column, NO_ROOM, None),
            };
            Some(SchemaError {
                schema: name.0,
                table: name.1,
                column: rule.column.clone(),
                problem: problem?,
                is_own: true,
            })
        });
        let missing: Vec<SchemaError> = missing.collect();
        self.schema.unfit.extend(missing);
    }
}
