//! Rows that the finisher chooses and the server locks: the server is told where they lie, and
//! nothing of what they hold.
//!
//! The finisher's query and the statement for the server are read from their texts. Each array must
//! hold a system column of a table's rows, and may only be compared with the same column of the
//! table, beside the number of the row in their order.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, NonBlock, OrderByKind, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, Value, Visitor,
};

use super::{Doubt, inserted, read};
use crate::dialect::postgres::names::ROW_VERSION;
use crate::walk;
use crate::{Dialect, FinisherWrite, Form, InsertedColumn, InsertedRows, Schema, Source};

/// Checks what is sent, if the plan's write numbers rows of arrays. False: it is another statement.
pub(super) fn check(
    plan: &FinisherWrite,
    inserted: &InsertedRows,
    schema: &Schema,
) -> Result<bool, Doubt> {
    let dialect = schema.dialect;
    let written = read(&plan.write.template, dialect)?;
    let mut choices = Vec::new();
    let mut found = Choices(&mut choices);
    let _: ControlFlow<()> = walk::visit(&written, &mut found);
    let [choice] = choices.as_slice() else {
        return match choices.is_empty() {
            true => Ok(false),
            false => Err(Doubt("rows are chosen more than once".to_owned())),
        };
    };
    let arrays = plan
        .write
        .holes
        .iter()
        .filter_map(|hole| match hole.source {
            Source::Computed(index) => Some((index, hole.form)),
            _ => None,
        });
    let is_answer = |(index, form): (usize, Form)| {
        let column = inserted.columns.get(index);
        form == Form::Plain && column == Some(&InsertedColumn::Plain(index))
    };
    let is_right = plan.upsert.is_none()
        && inserted.width == ROW_VERSION.len()
        && inserted.columns.len() == ROW_VERSION.len()
        && arrays.clone().count() == ROW_VERSION.len()
        && arrays.clone().all(is_answer)
        && finds_versions(plan, dialect)?
        && takes_versions(choice, plan, dialect).is_some();
    match is_right {
        true => Ok(true),
        false => Err(Doubt(
            "the server would be told more of rows than where they lie".to_owned(),
        )),
    }
}

/// Queries whose rows are numbered.
struct Choices<'c>(&'c mut Vec<Query>);

impl Visitor for Choices<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let is_numbered = |factor: &TableFactor| {
            matches!(
                factor,
                TableFactor::UNNEST {
                    with_ordinality: true,
                    ..
                }
            )
        };
        if let SetExpr::Select(select) = &*query.body
            && select.from.iter().any(|from| is_numbered(&from.relation))
        {
            self.0.push(query.clone());
        }
        ControlFlow::Continue(())
    }
}

/// Whether the finisher's answer has nothing but the versions of rows of one of its relations.
fn finds_versions(plan: &FinisherWrite, dialect: Dialect) -> Result<bool, Doubt> {
    let Ok(Statement::Query(text)) = dialect.parse(&plan.query.text) else {
        return Err(Doubt("the finisher's query cannot be read".to_owned()));
    };
    let relations = inserted::relations(&plan.query, &text, dialect)?;
    let SetExpr::Select(select) = &*text.body else {
        return Ok(false);
    };
    let [from] = select.from.as_slice() else {
        return Ok(false);
    };
    let Some((name, columns)) = inserted::named(&from.relation, &relations, dialect) else {
        return Ok(false);
    };
    // The first columns are those of the fetch that locate rows, and come in clear.
    let mut located = columns.iter().zip(ROW_VERSION);
    let is_located = columns.len() >= ROW_VERSION.len()
        && located.all(|((own, is_protected), wanted)| own == wanted && !is_protected);
    let items: Option<Vec<&Expr>> = items(select);
    let is_version = items.is_some_and(|items| {
        let mut wanted = items.iter().zip(ROW_VERSION);
        items.len() == ROW_VERSION.len()
            && wanted.all(|(item, wanted)| {
                column_of(item, dialect) == Some((name.clone(), wanted.to_owned()))
            })
    });
    Ok(is_located && is_version && from.joins.is_empty())
}

/// The items of a select list without names.
fn items(select: &Select) -> Option<Vec<&Expr>> {
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(item) => Some(item),
        _ => None,
    });
    items.collect()
}

/// Relation and column of a name.
fn column_of(expression: &Expr, dialect: Dialect) -> Option<(String, String)> {
    match expression {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, column] => Some((dialect.fold(relation), dialect.fold(column))),
            _ => None,
        },
        _ => None,
    }
}

/// The column of the finisher's answer that an array holds.
fn answer_of(array: &Expr, plan: &FinisherWrite) -> Option<usize> {
    let Expr::Value(value) = array else {
        return None;
    };
    let Value::Placeholder(name) = &value.value else {
        return None;
    };
    let number = name.strip_prefix('$')?.parse::<usize>().ok()?;
    match plan.write.holes.get(number.checked_sub(1)?)?.source {
        Source::Computed(index) => Some(index),
        _ => None,
    }
}

/// Whether a query locks, in their order, the rows of a table that have these versions.
fn takes_versions(query: &Query, plan: &FinisherWrite, dialect: Dialect) -> Option<()> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let [rows, table] = select.from.as_slice() else {
        return None;
    };
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        ..
    } = &rows.relation
    else {
        return None;
    };
    let is_table = matches!(&table.relation, TableFactor::Table { args: None, .. });
    let mut locks = query.locks.iter();
    let skips = locks.any(|lock| lock.nonblock == Some(NonBlock::SkipLocked));
    if !rows.joins.is_empty() || !table.joins.is_empty() || !is_table || !skips {
        return None;
    }
    let names: Vec<String> = alias
        .columns
        .iter()
        .map(|own| dialect.fold(&own.name))
        .collect();
    let relation = dialect.fold(&alias.name);
    let (number, columns) = names.split_last()?;
    if columns.len() != ROW_VERSION.len() || array_exprs.len() != ROW_VERSION.len() {
        return None;
    }
    for (index, array) in array_exprs.iter().enumerate() {
        if answer_of(array, plan)? != index {
            return None;
        }
    }
    let mut wanted: Vec<(&str, &String)> = ROW_VERSION.into_iter().zip(columns).collect();
    let mut rest = vec![select.selection.as_ref()?];
    while let Some(condition) = rest.pop() {
        match condition {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => rest.extend([&**left, &**right]),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => {
                let (_, system) = column_of(left, dialect)?;
                let (of_rows, column) = column_of(right, dialect)?;
                let found = wanted.iter().position(|(own, other)| {
                    *own == system && **other == column && of_rows == relation
                });
                wanted.swap_remove(found?);
            }
            _ => return None,
        }
    }
    let OrderByKind::Expressions(keys) = &query.order_by.as_ref()?.kind else {
        return None;
    };
    let [key] = keys.as_slice() else {
        return None;
    };
    let is_numbered = column_of(&key.expr, dialect) == Some((relation, number.clone()));
    (wanted.is_empty() && is_numbered).then_some(())
}
