//! Rows that the finisher has found to be written: what is needed before, and `MERGE`.
//!
//! The server gets the rows of a `MERGE` before the client's Sync, so it is one transaction even
//! outside of a block.

use std::sync::Arc;

use semantics_postgres::Wanted;
use session_core::plans::{Role, ServerStatement, TextPlan};
use session_core::{Statement, StatementError};
use sql_plan::{FinisherMerge, InsertedColumn, InsertedRows, Literal};

use super::steps::RowsToWrite;
use super::{Outputs, Protected};
use crate::finisher::{Described, FinisherRows};
use crate::session::found;
use crate::session::gathering::{Gathering, merge_at, write_at};
use crate::session::merging;

impl Protected {
    /// Computed values of which another form is needed before they are sealed.
    pub(super) fn wanted_of_found(
        &self,
        plan: &TextPlan,
        index: usize,
        rows: &FinisherRows,
    ) -> Option<Wanted> {
        let context = self.settings.noting_context();
        let all = (&context, usize::MAX);
        // An error comes again when the values are sealed.
        if let Some(merge) = merge_at(plan, index) {
            drop(merging::read_merged(plan, merge, rows, all));
        } else if let Some(write) = write_at(plan, index) {
            match &write.inserted {
                None => drop(found::read_changes(plan, write, rows, &context)),
                Some(inserted) => {
                    drop(found::read_inserted(plan, inserted, rows, all));
                }
            }
        }
        context.opaque.take_wanted()
    }

    /// How many values of sequences the rows to insert need, by column.
    pub(super) fn drawn_of_found(
        &self,
        plan: &TextPlan,
        index: usize,
        rows: &FinisherRows,
    ) -> Vec<(u32, usize)> {
        let draws = |inserted: &InsertedRows| {
            let mut columns = inserted.columns.iter();
            columns.any(|column| matches!(column, InsertedColumn::Default(Literal::Drawn, _)))
        };
        let context = self.settings.noting_context();
        let all = (&context, usize::MAX);
        // An error comes again when the values are sealed.
        if let Some(merge) = merge_at(plan, index) {
            if draws(&merge.rows) {
                drop(merging::read_merged(plan, merge, rows, all));
            }
        } else if let Some(inserted) = write_at(plan, index).and_then(|own| own.inserted.as_ref())
            && draws(inserted)
        {
            drop(found::read_inserted(plan, inserted, rows, all));
        }
        context.drawn.counted()
    }

    /// The types of what the finisher has computed, as it has described them: of the arrays that
    /// insert rows, and of values that another statement takes of these rows.
    ///
    /// # Errors
    /// The finisher computes other columns than the statement takes, or refuses to.
    pub(super) fn array_types(
        &mut self,
        statement: &Statement,
        at: ServerStatement,
    ) -> Result<Vec<u32>, StatementError> {
        if let (Role::Write, Some(merge)) = (at.role, merge_at(&statement.plan, at.index)) {
            let described = self.described_columns(statement, &merge.query)?;
            return types_of(statement, &merge.rows, described.as_deref());
        }
        let is_write = matches!(at.role, Role::Write | Role::Update);
        let plan = write_at(&statement.plan, at.index).filter(|_| is_write);
        let Some((plan, inserted)) = plan.and_then(|plan| Some((plan, plan.inserted.as_ref()?)))
        else {
            return Ok(Vec::new());
        };
        let described = self.described_columns(statement, &plan.query)?;
        if let (Role::Update, Some(upsert)) = (at.role, &plan.upsert) {
            let described = described.as_ref().map(|own| own.row_description.as_slice());
            let described = described.unwrap_or_default();
            return Ok(found::passed_types(upsert, inserted, described));
        }
        types_of(statement, inserted, described.as_deref())
    }

    /// Writes what the clauses of a `MERGE` say.
    pub(super) fn write_merged(
        &mut self,
        gathering: Gathering,
        merge: &FinisherMerge,
        rows: &FinisherRows,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), StatementError> {
        let statement = Arc::clone(&gathering.statement);
        let limits = (self.settings.context(), gathering.limits.bytes_max);
        let merged = merging::read_merged(&statement.plan, merge, rows, limits)?;
        let merged = [merged.ok_or_else(|| gathering.too_many_bytes())?];
        self.keep_columns(&statement, &merge.query, rows);
        let at = ServerStatement {
            index: gathering.index,
            role: Role::Write,
        };
        let bind = gathering.bind.bind();
        // Also without rows: the server checks the statement, and fires triggers of statements.
        let name = self.prepare(&statement, at, outputs)?;
        let write = RowsToWrite {
            statement: &statement,
            portal: &gathering.portal,
            rows: &merged,
            bytes_max: usize::MAX,
        };
        write.write((&bind, self.settings.context()), (at, &name), outputs)?;
        self.locks.forget();
        self.expect_writes(1, "MERGE", None);
        Ok(())
    }
}

/// The types of the arrays of rows, given what the finisher has said of its answer.
fn types_of(
    statement: &Statement,
    rows: &InsertedRows,
    described: Option<&Described>,
) -> Result<Vec<u32>, StatementError> {
    match described {
        Some(own) => found::array_types(&statement.plan, rows, &own.row_description),
        // The server says that it cannot determine a type.
        None => Ok(Vec::new()),
    }
}
