//! `INSERT` where a row is there already: `ON DUPLICATE KEY UPDATE`, and `INSERT IGNORE`.
//!
//! `VALUES(column)` is the value that the row would have had. While a statement is analysed, it is
//! a column of a relation of its own, whose name no text of a client can have.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, Insert, ObjectName, SetExpr, TableObject,
};

use super::proposed::{each, proposed};
use super::{lax, names};
use crate::analysis::{Analysis, Relation, Scope, target_column};
use crate::{ColumnId, Refusal, Table, Use};
use sql_plan::{refuse, unsupported};

/// The relation of the values that a row would have had.
const PROPOSED: &str = "\u{2}values";

impl Analysis<'_> {
    /// Analyses what becomes of a row that is there. `given` are the columns that values are given
    /// for: of another one that is NOT NULL, MariaDB takes an empty value in the place of a missing
    /// one.
    pub fn on_duplicate(
        &mut self,
        assignments: &mut Vec<Assignment>,
        (table, given): (Option<&Table>, &[ObjectName]),
        relation: &Relation,
        outer: Option<&Scope>,
    ) -> Result<(), Refusal> {
        let dialect = self.dialect();
        let given: Vec<String> = given
            .iter()
            .filter_map(|name| name.0.last()?.as_ident().map(names::fold))
            .collect();
        let protected = |name: &str| {
            let table = table?;
            table.columns[table.position(name)?].protected
        };
        // What is sealed together is given by the column that has it.
        let is_given = |id: ColumnId| {
            let holder = self.schema.holder_of(id);
            holder.is_some_and(|own| given.contains(&self.column(own).column))
        };
        let whole = self.whole_groups(assignments, table, &is_given)?;
        let mut missing: Option<ColumnId> = None;
        each(assignments, |value| {
            let Some(column) = proposed(value).cloned() else {
                return;
            };
            let name = names::fold(&column);
            let needed = protected(&name).filter(|id| self.column(*id).not_null);
            missing = needed.filter(|id| !is_given(*id)).or(missing);
            *value = Expr::CompoundIdentifier(vec![Ident::new(PROPOSED), column]);
        });
        if let Some(id) = missing {
            return Err(refuse(format!(
                "VALUES() of protected column {}, which the statement gives no value",
                self.title(id)
            ))
            .with_hint("Name the column in the INSERT, or leave the assignment out."));
        }
        let proposed = Relation {
            name: PROPOSED.to_owned(),
            schema: None,
            ..relation.clone()
        };
        let around = Scope::of(vec![proposed], outer, dialect);
        let scope = Scope::of(vec![relation.clone()], Some(&around), dialect);
        self.all_assignments(assignments, table, &scope)?;
        assignments.extend(whole);
        each(assignments, |value| {
            if let Expr::CompoundIdentifier(parts) = value
                && let [relation, column] = &parts[..]
                && relation.value == PROPOSED
            {
                *value = call(column.clone());
            }
        });
        Ok(())
    }
}

impl Analysis<'_> {
    /// Takes the assignments of groups that are to have all that the row would have had, and gives
    /// those of the columns that the server has for them.
    fn whole_groups(
        &self,
        assignments: &mut Vec<Assignment>,
        table: Option<&Table>,
        is_given: &dyn Fn(ColumnId) -> bool,
    ) -> Result<Vec<Assignment>, Refusal> {
        let Some(table) = table.filter(|table| self.schema.has_groups(table)) else {
            return Ok(Vec::new());
        };
        let mut targets = Vec::new();
        for assignment in assignments.iter() {
            let member = self.assigned_member(assignment, table)?;
            let named = proposed(&assignment.value).map(names::fold);
            let is_own = |id: &ColumnId| named.as_ref() == Some(&self.column(*id).column);
            targets.push((member, member.as_ref().is_some_and(is_own)));
        }
        let mut whole = Vec::new();
        for group in &self.schema.catalogue.groups {
            let is_taken = |id: &ColumnId| targets.contains(&(Some(*id), true));
            let is_twice = |id: &ColumnId| {
                let same = targets.iter().filter(|(target, _)| *target == Some(*id));
                same.count() > 1
            };
            let members = &group.members;
            let Some(holder) = group.holder() else {
                continue;
            };
            if !members.iter().all(is_taken) || members.iter().any(is_twice) || !is_given(holder) {
                continue;
            }
            let mut own = targets.iter();
            assignments.retain(|_| {
                let target = own.next().and_then(|(target, _)| *target);
                !target.is_some_and(|target| members.contains(&target))
            });
            targets.retain(|(target, _)| !target.is_some_and(|own| members.contains(&own)));
            whole.extend([Some(holder), group.last()].into_iter().flatten());
        }
        let uses_one = assignments.iter().zip(&targets);
        let mut uses_one = uses_one.filter(|(own, _)| proposed(&own.value).is_some());
        if let Some((_, (Some(member), _))) = uses_one.find(|(_, (target, _))| target.is_some()) {
            return Err(self.not_all_proposed(*member));
        }
        let whole = whole.into_iter().map(|id| {
            let name = self.dialect().quote(&self.column(id).column);
            Assignment {
                target: AssignmentTarget::ColumnName(vec![name.clone()].into()),
                value: call(name),
            }
        });
        Ok(whole.collect())
    }

    fn not_all_proposed(&self, member: ColumnId) -> Refusal {
        unsupported(&format!(
            "VALUES() for protected column {}, and not for all that it is sealed with,",
            self.title(member)
        ))
        .with_hint(
            "Give the INSERT a value for it, and assign each column of its group VALUES() of \
             itself, or a constant or parameter to each.",
        )
    }
}

/// `VALUES(column)`
fn call(column: Ident) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("VALUES")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(
                Expr::Identifier(column),
            ))],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

impl Analysis<'_> {
    /// Lets an `INSERT IGNORE` through that stores what it would store without `IGNORE`, or
    /// nothing. The server puts an empty value in the place of NULL or of a missing one, which is
    /// no sealed value. Parameters are looked at when they are there.
    pub fn ignoring(&mut self, insert: &Insert) -> Result<(), Refusal> {
        let hint = "Leave IGNORE out, or give such columns a value in each row.";
        if insert.on.is_some() {
            return Err(unsupported("INSERT IGNORE … ON DUPLICATE KEY UPDATE").with_hint(hint));
        }
        let (TableObject::TableName(name), Some(source)) = (&insert.table, &insert.source) else {
            return Err(unsupported("INSERT of this form"));
        };
        let found = self.dialect().split(name);
        let table =
            found.and_then(|(database, table)| self.schema.find(database.as_deref(), &table));
        let Some(table) = table.filter(|table| table.is_protected()) else {
            return Ok(());
        };
        let SetExpr::Values(values) = &*source.body else {
            return Err(unsupported("INSERT IGNORE … SELECT into a protected table")
                .with_hint("Leave IGNORE out."));
        };
        let is_given = |value: &Expr| lax::is_constant(value) || is_parameter(value);
        let columns = (table, &insert.columns[..]);
        if !lax::gives_all(columns, &values.rows, is_given, self.schema) {
            return Err(unsupported(
                "INSERT IGNORE without a value that is not NULL for each protected column that is \
                 NOT NULL",
            )
            .with_hint(hint));
        }
        let needed = table.columns.iter().filter(|column| column.not_null);
        let needed: Vec<ColumnId> = needed.filter_map(|column| column.protected).collect();
        self.note_use(needed, Use::NeverNull);
        Ok(())
    }

    /// The same of an `UPDATE IGNORE`.
    pub fn ignoring_update(
        &mut self,
        assignments: &[Assignment],
        table: Option<&Table>,
    ) -> Result<(), Refusal> {
        let mut needed = Vec::new();
        for assignment in assignments {
            let AssignmentTarget::ColumnName(name) = &assignment.target else {
                return Err(unsupported("an assignment of this form"));
            };
            let column = target_column(table, name, self.dialect())?;
            let own = table.and_then(|own| own.columns.iter().find(|own| own.protected == column));
            let Some(column) = column.filter(|_| own.is_some_and(|own| own.not_null)) else {
                continue;
            };
            if !lax::is_constant(&assignment.value) && !is_parameter(&assignment.value) {
                return Err(unsupported(
                    "UPDATE IGNORE without a value that is not NULL for a protected column that \
                     is NOT NULL",
                )
                .with_hint("Leave IGNORE out, or give such a column a value."));
            }
            needed.push(column);
        }
        self.note_use(needed, Use::NeverNull);
        Ok(())
    }
}

fn is_parameter(value: &Expr) -> bool {
    matches!(value, Expr::Value(value)
        if matches!(value.value, sqlparser::ast::Value::Placeholder(_)))
}
