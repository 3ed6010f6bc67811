//! `UPDATE` that computes new values from sealed ones: the server reads and locks the row, the
//! proxy computes, and the row is written if it still has the values that were read.
//!
//! These servers have nothing by which any row is found again, so the condition must name a single
//! row by a primary or unique key. They assign from left to right, each with what was assigned
//! before: a column that is assigned is read by its own assignment alone.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, BinaryOperator as B, Expr, Ident, LimitClause, Query, SelectItem, SetExpr,
    Statement, TableFactor, Update, Value, visit_expressions,
};

use super::calculated::{self, is_exact};
use crate::analysis::{Analysis, Constant, Scope, output_list, template};
use crate::increment::{computed_holes, part_assignments, written_table};
use crate::{
    Assignment, ColumnId, Current, Effects, Expression, Form, Plan, Purpose, ReadModifyWrite,
    Refusal, Schema, Source, Table, Translated, guard, walk,
};
use sql_plan::{refuse, unsupported};

/// Rows that are read at most: a second one would show that the key names several.
const ROWS_READ: &str = "2";

/// The plan of an `UPDATE` that the server cannot do alone.
pub(crate) fn of_update(update: &Update, schema: &Schema) -> Result<Plan, Refusal> {
    check_form(update)?;
    let (_, plan) = Analysis::run(schema, |analysis| modify(update, analysis))?;
    guard::check_depth(plan.assignments.iter().map(|assignment| &assignment.value))?;
    Ok(Plan::ReadModifyWrite(Box::new(plan)))
}

fn check_form(update: &Update) -> Result<(), Refusal> {
    if !update.order_by.is_empty() || update.limit.is_some() {
        return Err(unsupported(
            "ORDER BY or LIMIT in an UPDATE that computes new values of protected columns",
        ));
    }
    if update.or.is_some() {
        return Err(
            unsupported("UPDATE IGNORE that computes new values of protected columns")
                .with_hint("Leave IGNORE out."),
        );
    }
    if !update.table.joins.is_empty() {
        return Err(unsupported(
            "an UPDATE of joined tables that computes new values of protected columns",
        )
        .with_hint(
            "Read the rows with FOR UPDATE, and write each by its key with the new value as a \
             parameter.",
        ));
    }
    Ok(())
}

fn modify(update: &Update, analysis: &mut Analysis) -> Result<ReadModifyWrite, Refusal> {
    let table = written_table(&update.table.relation, analysis.schema)?;
    let TableFactor::Table { alias, .. } = &update.table.relation else {
        return Err(unsupported("UPDATE of what is no table"));
    };
    let dialect = analysis.dialect();
    let renamed = alias.as_ref().map(|alias| dialect.alias(&alias.name));
    let name = renamed.clone().unwrap_or_else(|| table.name.clone());
    let scope = Scope::of_table(table, renamed, analysis.schema);
    let (kept, mut computed) = part_assignments(update, table, analysis, &scope)?;
    analysis.complete_groups(&mut computed, &name)?;
    check_order(update, analysis)?;
    let mut columns = Vec::new();
    let mut assignments = Vec::new();
    for (column, _, value) in &computed {
        let value = match analysis.schema.is_member(*column) {
            true => member(value, (table, *column), analysis, &mut columns)?,
            false => {
                check_target(*column, analysis)?;
                lower(value, (table, *column), analysis, &mut columns)?
            }
        };
        assignments.push(Assignment {
            column: *column,
            value,
        });
    }
    if columns.is_empty() {
        return Err(unsupported("a computed value for a protected column")
            .with_hint("Compute it in the client, and pass it as a parameter."));
    }
    let mut read = reading(update, &name, &columns, analysis)?;
    let outputs = output_list(analysis.query(&mut read, None, None)?);
    check_key(&read, table, &columns, analysis)?;
    let mut write = update.clone();
    write.assignments = kept;
    write
        .assignments
        .extend(computed_holes(&computed, analysis));
    analysis.update(&mut write, None)?;
    if_unchanged(&mut write, &name, &columns, analysis);
    let translated = |statement: &mut Statement, outputs, analysis: &Analysis| {
        let template = template::of(statement, dialect)?;
        let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
        Ok::<_, Refusal>(Translated {
            template,
            holes,
            outputs,
            parameter_types: analysis.parameters.types(),
            locks: None,
        })
    };
    Ok(ReadModifyWrite {
        read: translated(&mut Statement::Query(read), outputs, analysis)?,
        current: columns.into_iter().map(Current::Sealed).collect(),
        assignments,
        write: translated(&mut Statement::Update(write), Vec::new(), analysis)?,
        write_all: None,
        write_by_key: None,
        locks: None,
        effects: Effects {
            writes: Some((table.schema.clone(), table.name.clone())),
            uses: analysis.uses.clone(),
            ..Effects::default()
        },
    })
}

/// Refuses a column that is assigned and that another assignment reads: it would read the new
/// value or the old one, depending on the server and its SQL mode.
fn check_order(update: &Update, analysis: &Analysis) -> Result<(), Refusal> {
    let dialect = analysis.dialect();
    let target = |target: &AssignmentTarget| match target {
        AssignmentTarget::ColumnName(name) => {
            dialect.split(name).map(|(_, own)| own.to_ascii_lowercase())
        }
        AssignmentTarget::Tuple(_) => None,
    };
    let targets: Option<Vec<String>> = update
        .assignments
        .iter()
        .map(|one| target(&one.target))
        .collect();
    let targets = targets.ok_or_else(|| unsupported("an assignment of this form"))?;
    let distinct: HashSet<&String> = targets.iter().collect();
    if distinct.len() != targets.len() {
        return Err(unsupported("an UPDATE that assigns a column twice"));
    }
    for (index, assignment) in update.assignments.iter().enumerate() {
        let others = |name: &Ident| {
            let name = dialect.fold(name);
            let found = targets.iter().position(|target| *target == name);
            found.is_some_and(|found| found != index)
        };
        let found = walk::expressions(&assignment.value, |expression| {
            let name = match expression {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match name.is_some_and(others) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if found.is_break() {
            return Err(unsupported(
                "an UPDATE that computes a protected column, and reads a column that it assigns \
                 elsewhere,",
            )
            .with_hint("Use two statements."));
        }
    }
    Ok(())
}

fn check_target(column: ColumnId, analysis: &Analysis) -> Result<(), Refusal> {
    match is_exact(analysis.column(column).logical) {
        true => Ok(()),
        false => Err(unsupported(&format!(
            "a computed value for protected column {}, which is no whole or decimal number,",
            analysis.title(column)
        ))
        .with_hint("Compute it in the client, and pass it as a parameter.")),
    }
}

/// The new value of a column that is sealed with others: a constant or parameter, what it has, or
/// what is computed for a number.
fn member(
    value: &Expr,
    (table, target): (&Table, ColumnId),
    analysis: &mut Analysis,
    columns: &mut Vec<ColumnId>,
) -> Result<Expression, Refusal> {
    if column_of(value, table, analysis) == Some(target) {
        return Ok(Expression::Column(place(target, columns)));
    }
    if Constant::of(value)?.is_none() {
        check_target(target, analysis)?;
    }
    lower(value, (table, target), analysis, columns)
}

/// The place of a column among those that are read.
fn place(column: ColumnId, columns: &mut Vec<ColumnId>) -> usize {
    let known = columns.iter().position(|own| *own == column);
    known.unwrap_or_else(|| {
        columns.push(column);
        columns.len() - 1
    })
}

/// The protected column that an expression names.
fn column_of(value: &Expr, table: &Table, analysis: &Analysis) -> Option<ColumnId> {
    let name = match value {
        Expr::Nested(inner) => return column_of(inner, table, analysis),
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(parts) => parts.last()?,
        _ => return None,
    };
    table.columns[table.position(&analysis.dialect().fold(name))?].protected
}

/// Sums and differences of protected numbers of the row, constants and parameters.
fn lower(
    value: &Expr,
    (table, target): (&Table, ColumnId),
    analysis: &mut Analysis,
    columns: &mut Vec<ColumnId>,
) -> Result<Expression, Refusal> {
    if let Some(constant) = Constant::of(value)? {
        if constant.cast.is_some() {
            return Err(unsupported("a cast in what is computed for an UPDATE"));
        }
        let logical = analysis.column(target).logical;
        calculated::note(&constant.source, logical, analysis);
        return Ok(Expression::Value(constant.source, logical));
    }
    match value {
        Expr::Nested(inner) => return lower(inner, (table, target), analysis, columns),
        Expr::BinaryOp { left, op, right } => {
            let operator = calculated::operator(op).ok_or_else(other_value)?;
            let left = lower(left, (table, target), analysis, columns)?;
            let right = lower(right, (table, target), analysis, columns)?;
            return Ok(Expression::Binary(
                operator,
                Box::new(left),
                Box::new(right),
            ));
        }
        _ => {}
    }
    let column = column_of(value, table, analysis);
    let column = column.filter(|column| is_exact(analysis.column(*column).logical));
    let column = column.ok_or_else(other_value)?;
    Ok(Expression::Column(place(column, columns)))
}

fn other_value() -> Refusal {
    unsupported(
        "a value for a protected column that is computed of more than sums and differences of \
         protected numbers of its row, constants and parameters,",
    )
    .with_hint("Compute it in the client, and pass it as a parameter.")
}

/// `SELECT columns FROM table WHERE … LIMIT 2 FOR UPDATE`
fn reading(
    update: &Update,
    name: &str,
    columns: &[ColumnId],
    analysis: &Analysis,
) -> Result<Box<Query>, Refusal> {
    let dialect = analysis.dialect();
    let skeleton = dialect.parse("SELECT 1 FROM a LIMIT 1 FOR UPDATE");
    let Ok(Statement::Query(mut query)) = skeleton else {
        unreachable!("the skeleton is a query");
    };
    // A limit of the session's does not hold where there is another one.
    if let Some(LimitClause::LimitOffset { limit, .. }) = &mut query.limit_clause {
        let rows = Value::Number(ROWS_READ.to_owned(), false);
        *limit = Some(Expr::Value(rows.into()));
    }
    let SetExpr::Select(select) = &mut *query.body else {
        unreachable!("the skeleton is a SELECT");
    };
    let items = columns
        .iter()
        .map(|column| SelectItem::UnnamedExpr(qualified(name, *column, analysis)));
    select.projection = items.collect();
    select.from = vec![update.table.clone()];
    select.selection = update.selection.clone();
    Ok(query)
}

fn qualified(name: &str, column: ColumnId, analysis: &Analysis) -> Expr {
    let dialect = analysis.dialect();
    let column = &analysis.column(column).column;
    Expr::CompoundIdentifier(vec![dialect.quote(name), dialect.quote(column)])
}

/// Refuses a condition that may name several rows.
fn check_key(
    read: &Query,
    table: &Table,
    computed: &[ColumnId],
    analysis: &Analysis,
) -> Result<(), Refusal> {
    let SetExpr::Select(select) = &*read.body else {
        return Err(unsupported("an UPDATE of this form"));
    };
    let mut given = HashSet::new();
    let mut rest: Vec<&Expr> = select.selection.iter().collect();
    while let Some(part) = rest.pop() {
        match part {
            Expr::Nested(inner) => rest.push(inner),
            Expr::BinaryOp {
                left,
                op: B::And,
                right,
            } => rest.extend([&**left, &**right]),
            Expr::BinaryOp {
                left,
                op: B::Eq,
                right,
            } => {
                let dialect = analysis.dialect();
                let column = |one: &Expr, other: &Expr| match (one, other) {
                    (Expr::Identifier(name), Expr::Value(_)) => Some(dialect.fold(name)),
                    (Expr::CompoundIdentifier(parts), Expr::Value(_)) => {
                        parts.last().map(|name| dialect.fold(name))
                    }
                    _ => None,
                };
                let found = column(left, right).or_else(|| column(right, left));
                given.extend(found.and_then(|name| table.position(&name)));
            }
            // Where no row has been read, the server may know from a condition on the columns of
            // new values that none is written before it looks (`n >= 5 AND n <=> ''`), and says
            // less of it: no count of matched rows.
            other if mentions(other, table, computed, analysis) => {
                return Err(more_than_equality(table));
            }
            _ => {}
        }
    }
    let is_computed = |index: &usize| {
        let protected = table.columns[*index].protected;
        protected.is_some_and(|own| computed.contains(&own))
    };
    if given.iter().any(is_computed) {
        return Err(unsupported(
            "a new value that is computed from a column which the condition compares with a \
             constant,",
        )
        .with_hint("Compute it in the client, which knows the old value."));
    }
    let mut keys = table.unique_keys.iter();
    match keys.any(|key| !key.is_empty() && key.iter().all(|column| given.contains(column))) {
        true => Ok(()),
        false => Err(refuse(format!(
            "the new value of a protected column of {} is computed from the old one, and the \
             condition does not compare all columns of a primary or unique key with constants",
            table.name
        ))
        .with_hint(
            "Write WHERE key = …, one row at a time; or read the rows with FOR UPDATE, and pass \
             new values as parameters.",
        )),
    }
}

/// Whether a condition has one of these columns.
fn mentions(condition: &Expr, table: &Table, columns: &[ColumnId], analysis: &Analysis) -> bool {
    let dialect = analysis.dialect();
    let is_one = |name: &Ident| {
        let index = table.position(&dialect.fold(name));
        let column = index.and_then(|index| table.columns[index].protected);
        column.is_some_and(|own| columns.contains(&own))
    };
    let found = visit_expressions(condition, |part| {
        let is_one = match part {
            Expr::Identifier(name) => is_one(name),
            Expr::CompoundIdentifier(parts) => parts.last().is_some_and(is_one),
            _ => false,
        };
        match is_one {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

/// Adds the condition that the row still has the values that were read. The server has one for all
/// columns that are sealed together.
fn if_unchanged(update: &mut Update, name: &str, columns: &[ColumnId], analysis: &mut Analysis) {
    let mut condition = update
        .selection
        .take()
        .map(|condition| Expr::Nested(Box::new(condition)));
    let mut compared: Vec<ColumnId> = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let holder = analysis.schema.holder_of(*column).unwrap_or(*column);
        if compared.contains(&holder) {
            continue;
        }
        compared.push(holder);
        let form = Form::Sealed(holder, Purpose::Match);
        let unchanged = Expr::BinaryOp {
            left: Box::new(qualified(name, holder, analysis)),
            op: B::Spaceship,
            right: Box::new(analysis.hole(Source::Locator(number), form)),
        };
        condition = Some(match condition {
            None => unchanged,
            Some(earlier) => Expr::BinaryOp {
                left: Box::new(earlier),
                op: B::And,
                right: Box::new(unchanged),
            },
        });
    }
    update.selection = condition;
}

fn more_than_equality(table: &Table) -> Refusal {
    refuse(format!(
        "the new value of a protected column of {} is computed from the old one, and the \
         condition has more of it than a comparison with a constant for equality",
        table.name
    ))
    .with_hint("Leave that part of the condition out, or read the row with FOR UPDATE first.")
}
