//! `MERGE`: what is to be done with each pair of rows, as the finisher has found it.

use std::collections::HashSet;

use semantics_postgres::TextContext;
use session_core::plans::TextPlan;
use session_core::{Changed, StatementError};
use sql_plan::FinisherMerge;
use sqlstate::SqlState;

use super::arrays::spread;
use super::found::{cell, each_row, element_types, number_of_clause, unasked};
use crate::finisher::FinisherRows;

/// The rows that are written, as one that has arrays. None: they would take more than so many
/// bytes.
///
/// # Errors
/// A value cannot be assigned to its column, or a row would be written twice, as the server would
/// say.
pub(super) fn read_merged(
    plan: &TextPlan,
    merge: &FinisherMerge,
    rows: &FinisherRows,
    (context, bytes_max): (&TextContext, usize),
) -> Result<Option<Changed>, StatementError> {
    let (fields, elements) = element_types(plan, &merge.rows, rows)?;
    let mut all: Vec<Changed> = Vec::new();
    let mut written = HashSet::new();
    let mut size = 0;
    each_row(rows, |row| {
        let number = number_of_clause(row).ok_or_else(unasked)?;
        let Some(index) = number.checked_sub(1).filter(|_| size <= bytes_max) else {
            return Ok(());
        };
        let clause = merge.clauses.get(index).ok_or_else(unasked)?;
        let locators = match (clause.inserts, row) {
            (true, _) => [None, None],
            (false, [Some(first), Some(second), ..]) => {
                [Some((*first).into()), Some((*second).into())]
            }
            (false, _) => return Err(unasked()),
        };
        if !clause.inserts && !written.insert(locators.clone()) {
            return Err(written_twice());
        }
        let columns = merge.rows.columns.iter().enumerate();
        let computed = columns.map(|(place, column)| {
            // The number comes first. Values of other clauses are not asked for.
            match place == 0 || clause.values.contains(&place) {
                true => cell(plan, column, (row, &fields), context),
                false => Ok(None),
            }
        });
        let computed = computed.collect::<Result<Vec<_>, _>>()?;
        let values = computed
            .iter()
            .map(|value| value.as_ref().map_or(0, |own| own.len()) + 4);
        size += values.sum::<usize>();
        all.push(Changed { locators, computed });
        Ok(())
    })?;
    Ok((size <= bytes_max).then(|| spread(&all, &elements)))
}

/// What the server says of a row of the target with two partners (`ExecMergeMatched`).
fn written_twice() -> StatementError {
    let message = "MERGE command cannot affect row a second time";
    StatementError::statement(SqlState::CARDINALITY_VIOLATION, message)
        .hint("Ensure that not more than one source row matches any one target row.")
}
