//! `MERGE`: what is to be done with each pair of rows, as the finisher has found it.

use std::collections::HashSet;

use semantics_postgres::TextContext;
use session_core::plans::TextPlan;
use session_core::{Changed, StatementError};
use sql_plan::{FinisherMerge, InsertedColumn, MergeClause};
use sqlstate::SqlState;
use wire_postgres::backend;

use super::arrays::spread;
use super::found::{
    array_type, check_type, each_row, number_of_clause, read_inserted, seal_assigned, unasked,
};
use crate::finisher::FinisherRows;
use crate::server_types;

/// Rows that one clause writes, one after the other.
pub(super) struct Run {
    /// The index of the clause.
    pub clause: usize,
    /// The rows, as one that has arrays.
    pub rows: [Changed; 1],
}

/// Checks that what the finisher answers can be written.
fn check_columns(
    plan: &TextPlan,
    merge: &FinisherMerge,
    fields: &[backend::Field],
) -> Result<(), StatementError> {
    let clauses = merge.clauses.iter();
    let mut columns = clauses.flat_map(|clause| &clause.values.columns);
    columns.try_for_each(|column| match column {
        InsertedColumn::Sealed(answer, id) => {
            let field = fields.get(*answer).ok_or_else(unasked)?;
            check_type(plan, *id, field.type_oid).map(drop)
        }
        InsertedColumn::Plain(answer) => {
            let field = fields.get(*answer).ok_or_else(unasked)?;
            array_type(field.type_oid).map(drop)
        }
        InsertedColumn::Default(..) => Ok(()),
    })
}

/// What is to be done: rows to update and to delete in the order of the finisher's answer, then
/// those to insert. None: it would take more than so many bytes.
///
/// # Errors
/// A value cannot be assigned to its column, or a row would be written twice, as the server would
/// say.
pub(super) fn read_merged(
    plan: &TextPlan,
    merge: &FinisherMerge,
    rows: &FinisherRows,
    (context, bytes_max): (&TextContext, usize),
) -> Result<Option<Vec<Run>>, StatementError> {
    let fields = backend::read_row_description(&rows.row_description).map_err(|_| unasked())?;
    check_columns(plan, merge, &fields)?;
    let mut located: Vec<(usize, Vec<Changed>)> = Vec::new();
    let mut written = HashSet::new();
    let mut is_inserting = vec![false; merge.clauses.len()];
    each_row(rows, |row| {
        let number = number_of_clause(row).ok_or_else(unasked)?;
        let Some(index) = number.checked_sub(1) else {
            return Ok(());
        };
        let clause = merge.clauses.get(index).ok_or_else(unasked)?;
        if clause.inserts {
            is_inserting[index] = true;
            return Ok(());
        }
        let changed = changed(plan, clause, (row, &fields), context)?;
        if !written.insert(changed.locators.clone()) {
            return Err(written_twice());
        }
        match located.last_mut() {
            Some((last, rows)) if *last == index => rows.push(changed),
            _ => located.push((index, vec![changed])),
        }
        Ok(())
    })?;
    let mut runs: Vec<Run> = Vec::new();
    for (index, changed) in located {
        let clause = merge.clauses.get(index).ok_or_else(unasked)?;
        let elements = element_types(plan, clause, &fields)?;
        runs.push(Run {
            clause: index,
            rows: [spread(&changed, &elements)],
        });
    }
    for (index, clause) in merge.clauses.iter().enumerate() {
        if !is_inserting[index] {
            continue;
        }
        let own = Some(index + 1);
        let arrays = read_inserted(plan, &clause.values, rows, (context, bytes_max), own)?;
        let Some(computed) = arrays else {
            return Ok(None);
        };
        runs.push(Run {
            clause: index,
            rows: [Changed {
                locators: [None, None],
                computed,
            }],
        });
    }
    Ok(Some(runs))
}

/// A row to update or to delete.
fn changed(
    plan: &TextPlan,
    clause: &MergeClause,
    (row, fields): (&[Option<&[u8]>], &[backend::Field]),
    context: &TextContext,
) -> Result<Changed, StatementError> {
    let [Some(first), Some(second), ..] = row else {
        return Err(unasked());
    };
    let computed = clause.values.columns.iter().map(|column| {
        let (InsertedColumn::Sealed(answer, _) | InsertedColumn::Plain(answer)) = column else {
            return Err(unasked());
        };
        let value = *row.get(*answer).ok_or_else(unasked)?;
        match column {
            InsertedColumn::Sealed(_, id) => {
                let type_oid = fields.get(*answer).ok_or_else(unasked)?.type_oid;
                seal_assigned(plan, *id, (value, type_oid), context)
            }
            InsertedColumn::Plain(_) | InsertedColumn::Default(..) => Ok(value.map(Into::into)),
        }
    });
    Ok(Changed {
        locators: [Some((*first).into()), Some((*second).into())],
        computed: computed.collect::<Result<_, _>>()?,
    })
}

/// The types of the values that a clause takes, given the columns of the finisher's answer. 0: a
/// sealed one.
///
/// # Errors
/// As those of [`super::found::array_types`].
pub(super) fn types_of_clause(
    plan: &TextPlan,
    clause: &MergeClause,
    row_description: &[u8],
) -> Result<Vec<u32>, StatementError> {
    super::found::array_types(plan, &clause.values, row_description)
}

/// The types of single values that a clause takes.
fn element_types(
    plan: &TextPlan,
    clause: &MergeClause,
    fields: &[backend::Field],
) -> Result<Vec<u32>, StatementError> {
    let types = clause.values.columns.iter().map(|column| match column {
        InsertedColumn::Plain(answer) => fields
            .get(*answer)
            .map(|field| field.type_oid)
            .ok_or_else(unasked),
        InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id) => {
            let server_type = plan.loaded.schema.column(*id).server_type();
            Ok(server_types::number(server_type))
        }
    });
    types.collect()
}

/// What the server says of a row of the target with two partners (`ExecMergeMatched`).
fn written_twice() -> StatementError {
    let message = "MERGE command cannot affect row a second time";
    StatementError::statement(SqlState::CARDINALITY_VIOLATION, message)
        .hint("Ensure that not more than one source row matches any one target row.")
}
