//! Columns whose values are sealed together: they are read from the one that holds the value of the
//! group, and written together.
//!
//! Invariants:
//! 1. The server does nothing with such a column but return what the holder has, and store what is
//!    sealed for all members.
//! 2. What is stored in a column that is not the holder is NULL, and in the last one the empty
//!    value wherever the holder is written.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, ObjectName, Query, SetExpr, TableFactor, Values,
};
use sqlstate::SqlState;

use super::query::is_default;
use super::scope::Held;
use super::write::target_column;
use super::{Analysis, Constant, Scope, template};
use crate::dialect::postgres::parse;
use crate::increment::Computed;
use crate::{ColumnGroup, ColumnId, Form, Literal, Purpose, Refusal, Source, Table};
use sql_plan::{refuse, unsupported};

/// What a member is given: the hole or constant that stands for it.
type Given = (ColumnId, Source);

impl Analysis<'_> {
    /// The member of a group that an expression names, which then names the holder: its values are
    /// those of the group. None: it is no member.
    pub fn take_member(
        &self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let resolved = match expression {
            Expr::Nested(inner) => return self.take_member(inner, scope),
            Expr::Identifier(name) => scope.resolve(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => scope.resolve(parts),
            _ => return Ok(None),
        };
        // Whoever reads the name by itself says what is wrong with it.
        let Ok(resolved) = resolved else {
            return Ok(None);
        };
        let Some(member) = resolved.sealed.filter(|own| self.schema.is_member(*own)) else {
            return Ok(None);
        };
        self.refuse_privileges(member)?;
        match resolved.held {
            Held::Here => {}
            Held::By(parts) => {
                let parts = parts.iter().map(|part| self.dialect().quote(part));
                *expression = Expr::CompoundIdentifier(parts.collect());
            }
            Held::Hidden => {
                return Err(refuse(format!(
                    "protected column {} is sealed with others, and the name of its table means \
                     another one here",
                    self.title(member)
                ))
                .with_hint("Give each of the tables an alias of its own."));
            }
            Held::Elsewhere => return Err(self.unknown_holder(member)),
        }
        Ok(Some(member))
    }

    /// Refuses to use members where privileges are granted on single columns: those of the holder
    /// would stand for all members.
    pub fn refuse_privileges(&self, member: ColumnId) -> Result<(), Refusal> {
        match self.schema.group_of(member) {
            Some(group) if group.has_column_privileges => Err(refuse(format!(
                "protected column {} is sealed with others, and privileges are granted on single \
                 columns of its table, which would not hold for each of them",
                self.title(member)
            ))
            .with_hint(GRANT_ON_TABLE)),
            _ => Ok(()),
        }
    }

    /// Refuses to have the server do anything with a member of a group.
    pub fn refuse_member(&self, column: Option<ColumnId>) -> Result<(), Refusal> {
        match column.filter(|own| self.schema.is_member(*own)) {
            None => Ok(()),
            Some(member) => Err(refuse(format!(
                "an operation on protected column {} that the server cannot do, since it is sealed \
                 with others",
                self.title(member)
            ))
            .with_hint("Configure a finisher, or take the column out of its group.")),
        }
    }

    /// Refuses to write members of groups one by one.
    pub fn refuse_members(
        &self,
        columns: impl IntoIterator<Item = ColumnId>,
    ) -> Result<(), Refusal> {
        let mut members = columns.into_iter();
        match members.find(|own| self.schema.is_member(*own)) {
            None => Ok(()),
            Some(member) => Err(self.some_of_a_group(member)),
        }
    }

    /// Refuses to write rows of a table whose columns are sealed together, where the finisher finds
    /// or computes them.
    pub fn refuse_groups_of(&self, factor: &TableFactor) -> Result<(), Refusal> {
        let TableFactor::Table { name, .. } = factor else {
            return Ok(());
        };
        self.refuse_groups(name)
    }

    /// The same of a table by its name.
    pub fn refuse_groups(&self, name: &ObjectName) -> Result<(), Refusal> {
        let found = self.dialect().split(name);
        let found = found.and_then(|(own, table)| self.schema.find(own.as_deref(), &table));
        match found.filter(|table| self.schema.has_groups(table)) {
            None => Ok(()),
            Some(table) => Err(unsupported(&format!(
                "to store what a query gives in table {}.{}, which has columns that are sealed \
                 together,",
                table.schema, table.name
            ))
            .with_hint(WRITE_VALUES)),
        }
    }

    /// The member of a group that an assignment names. None: it names another column, or several.
    pub fn assigned_member(
        &self,
        assignment: &Assignment,
        table: &Table,
    ) -> Result<Option<ColumnId>, Refusal> {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Ok(None);
        };
        let target = target_column(Some(table), name, self.dialect())?;
        let member = target.filter(|own| self.schema.is_member(*own));
        member.map_or(Ok(()), |own| self.refuse_privileges(own))?;
        Ok(member)
    }

    /// Adds the members of a group of which others are computed: they keep their values.
    pub fn complete_groups(
        &self,
        computed: &mut Vec<Computed>,
        relation: &str,
    ) -> Result<(), Refusal> {
        let mut members: Vec<ColumnId> = Vec::new();
        for (column, _, value) in computed.iter_mut() {
            let Some(group) = self.schema.group_of(*column) else {
                continue;
            };
            if group.members.is_empty() {
                return Err(self.unknown_holder(*column));
            }
            members.extend(&group.members);
            if is_default(value) {
                let default = self.column(*column).default.clone();
                let mut text = String::new();
                match default.unwrap_or(Literal::Null) {
                    // It is the moment of the transaction, and not of the finisher's.
                    Literal::TransactionTime | Literal::Drawn => {
                        return Err(self.some_of_a_group(*column));
                    }
                    literal => literal.write(&mut text),
                }
                let written = parse::expression(&text);
                *value = written.ok_or_else(|| self.some_of_a_group(*column))?;
            }
        }
        for member in members {
            if computed.iter().any(|(column, ..)| *column == member) {
                continue;
            }
            let name = self.dialect().quote(&self.column(member).column);
            let target = AssignmentTarget::ColumnName(vec![name.clone()].into());
            let value = Expr::CompoundIdentifier(vec![self.dialect().quote(relation), name]);
            computed.push((member, target, value));
        }
        Ok(())
    }

    fn unknown_holder(&self, member: ColumnId) -> Refusal {
        refuse(format!(
            "protected column {} is sealed with others, and it is not known which column has the \
             values",
            self.title(member)
        ))
        .with_hint("Name the table itself, in a text behind the one that creates it.")
    }

    /// The value of a group, and the column that holds it.
    fn sealed_group(
        &mut self,
        group: &ColumnGroup,
        given: &[Given],
    ) -> Result<(ColumnId, Expr), Refusal> {
        let Some(holder) = group.holder() else {
            return Err(self.unknown_holder(given[0].0));
        };
        let source = |member: &ColumnId| {
            let own = given.iter().find(|(column, _)| column == member);
            own.map_or(Source::Literal(Literal::Null), |(_, source)| source.clone())
        };
        let members = Source::Members(group.members.iter().map(source).collect());
        let form = Form::Sealed(holder, Purpose::Store);
        Ok((holder, self.hole(members, form)))
    }

    /// What a value that was analysed for a member is.
    fn given(&self, value: &Expr, member: ColumnId) -> Result<Source, Refusal> {
        let hole = template::marked(value).and_then(|number| self.holes.get(number));
        let form = Form::Sealed(member, Purpose::Store);
        match (hole, Constant::of(value)?) {
            (Some(hole), _) if hole.form == form => Ok(hole.source.clone()),
            (None, Some(constant)) if constant.is_null() => Ok(Source::Literal(Literal::Null)),
            _ => Err(unsupported(&format!(
                "a value of this kind for protected column {}, which is sealed with others,",
                self.title(member)
            ))),
        }
    }

    /// Seals the members of each group together, in an `INSERT` that has been analysed. Where
    /// members are left out, they are NULL: their defaults have been added.
    pub(super) fn group_rows(
        &mut self,
        table: &Table,
        columns: &mut Vec<ObjectName>,
        source: Option<&mut Query>,
    ) -> Result<(), Refusal> {
        if !self.schema.has_groups(table) {
            return Ok(());
        }
        let mut values = source.and_then(values_of);
        let schema = self.schema;
        for group in &schema.catalogue.groups {
            let places = self.places(group, table, columns)?;
            let Some((_, first)) = places.first() else {
                continue;
            };
            let Some(values) = values.as_deref_mut() else {
                return Err(unsupported(&format!(
                    "INSERT of a query into protected column {}, which is sealed with others,",
                    self.title(*first)
                ))
                .with_hint(WRITE_VALUES));
            };
            for row in &mut values.rows {
                if row.content.len() < columns.len() {
                    return Err(refuse("INSERT has more target columns than expressions")
                        .with_state(SqlState::SYNTAX_ERROR));
                }
                self.group_row(group, &places, &mut row.content)?;
            }
            for (place, _) in places.iter().rev() {
                columns.remove(*place);
            }
            for own in group.holder().into_iter().chain(group.last()) {
                columns.push(self.name_of(own));
            }
        }
        Ok(())
    }

    /// The places of the members of a group among columns that are written.
    fn places(
        &self,
        group: &ColumnGroup,
        table: &Table,
        columns: &[ObjectName],
    ) -> Result<Vec<(usize, ColumnId)>, Refusal> {
        let mut places: Vec<(usize, ColumnId)> = Vec::new();
        for (place, name) in columns.iter().enumerate() {
            let target = target_column(Some(table), name, self.dialect())?;
            let is_own = |own: &ColumnId| self.schema.group_of(*own) == Some(group);
            let Some(own) = target.filter(is_own) else {
                continue;
            };
            self.refuse_privileges(own)?;
            if places.iter().any(|(_, other)| *other == own) {
                let name = &self.column(own).column;
                let message = format!("column {name:?} specified more than once");
                return Err(refuse(message).with_state(SqlState::DUPLICATE_COLUMN));
            }
            places.push((place, own));
        }
        Ok(places)
    }

    /// Puts the value of a group behind the others of a row, in the place of those of its members.
    fn group_row(
        &mut self,
        group: &ColumnGroup,
        places: &[(usize, ColumnId)],
        row: &mut Vec<Expr>,
    ) -> Result<(), Refusal> {
        let mut given = Vec::new();
        for (place, member) in places {
            given.push((*member, self.given(&row[*place], *member)?));
        }
        let (_, value) = self.sealed_group(group, &given)?;
        for (place, _) in places.iter().rev() {
            row.remove(*place);
        }
        row.push(value);
        row.extend(group.last().map(|_| template::empty_value()));
        Ok(())
    }

    fn name_of(&self, column: ColumnId) -> ObjectName {
        vec![self.dialect().quote(&self.column(column).column)].into()
    }

    /// Seals the members of each group together, in assignments that have been analysed.
    ///
    /// # Errors
    /// Some members of a group are assigned and others are not: their values have to be read.
    pub(super) fn group_assignments(
        &mut self,
        assignments: &mut Vec<Assignment>,
        table: &Table,
    ) -> Result<(), Refusal> {
        if !self.schema.has_groups(table) {
            return Ok(());
        }
        let mut members: Vec<(usize, ColumnId)> = Vec::new();
        for (place, assignment) in assignments.iter().enumerate() {
            let names = match &assignment.target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => names,
            };
            for name in names {
                let target = target_column(Some(table), name, self.dialect())?;
                let Some(member) = target.filter(|own| self.schema.is_member(*own)) else {
                    continue;
                };
                if names.len() > 1 {
                    return Err(self.some_of_a_group(member));
                }
                self.refuse_privileges(member)?;
                if members.iter().any(|(_, other)| *other == member) {
                    return Err(self.assigned_twice(member));
                }
                members.push((place, member));
            }
        }
        let schema = self.schema;
        let mut sealed = Vec::new();
        for group in &schema.catalogue.groups {
            let own = members.iter().copied();
            let own: Vec<_> = own
                .filter(|(_, member)| schema.group_of(*member) == Some(group))
                .collect();
            let Some((place, first)) = own.first() else {
                continue;
            };
            let is_whole = own.len() == 1 && group.holder() == Some(*first);
            if is_whole && self.is_computed(&assignments[*place].value) {
                members.retain(|(_, member)| member != first);
                sealed.extend(self.assignment_of_last(group));
                continue;
            }
            let has = |wanted: &ColumnId| own.iter().any(|(_, member)| member == wanted);
            if own.len() != group.members.len() || !group.members.iter().all(has) {
                return Err(self.some_of_a_group(*first));
            }
            let mut given = Vec::new();
            for (place, member) in own {
                given.push((member, self.given(&assignments[place].value, member)?));
            }
            let (holder, value) = self.sealed_group(group, &given)?;
            sealed.push(Assignment {
                target: AssignmentTarget::ColumnName(self.name_of(holder)),
                value,
            });
            sealed.extend(self.assignment_of_last(group));
        }
        for (place, _) in members.iter().rev() {
            assignments.remove(*place);
        }
        assignments.extend(sealed);
        Ok(())
    }

    fn assignment_of_last(&self, group: &ColumnGroup) -> Option<Assignment> {
        Some(Assignment {
            target: AssignmentTarget::ColumnName(self.name_of(group.last()?)),
            value: template::empty_value(),
        })
    }

    /// Whether a value is one that the proxy computes from all members of the group.
    fn is_computed(&self, value: &Expr) -> bool {
        let hole = template::marked(value).and_then(|number| self.holes.get(number));
        hole.is_some_and(|hole| matches!(hole.source, Source::Computed(_)))
    }

    /// The error of the server, which sees one assignment for the whole group.
    pub fn assigned_twice(&self, member: ColumnId) -> Refusal {
        let name = &self.column(member).column;
        refuse(format!("multiple assignments to same column {name:?}"))
            .with_state(SqlState::SYNTAX_ERROR)
    }

    fn some_of_a_group(&self, member: ColumnId) -> Refusal {
        unsupported(&format!(
            "to write protected column {}, and not the others that it is sealed with,",
            self.title(member)
        ))
        .with_hint("Write all columns of the group in one assignment each.")
    }
}

/// What to do where privileges are granted on columns.
pub(crate) const GRANT_ON_TABLE: &str = "Grant privileges on the whole table and revoke those on \
                                         its columns, or take the group out of the rules.";

/// What to do where rows of a query would be stored.
const WRITE_VALUES: &str = "Insert values as parameters or constants, or use COPY.";

fn values_of(query: &mut Query) -> Option<&mut Values> {
    match &mut *query.body {
        SetExpr::Values(values) => Some(values),
        SetExpr::Query(inner) => values_of(inner),
        _ => None,
    }
}
