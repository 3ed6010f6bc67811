//! Rows that the finisher has found to be written: what is needed before, and `MERGE`.
//!
//! A `MERGE` becomes the statements of its clauses. All of them come before the client's Sync, so
//! it is one transaction even outside of a block.

use std::sync::Arc;

use semantics_postgres::Wanted;
use session_core::plans::{Role, ServerStatement, TextPlan};
use session_core::{Statement, StatementError};
use sql_plan::{FinisherMerge, InsertedColumn, InsertedRows, Literal};

use super::steps::RowsToWrite;
use super::{Outputs, Protected};
use crate::finisher::FinisherRows;
use crate::session::found;
use crate::session::gathering::{Gathering, merge_at, write_at};
use crate::session::merging::{self, Run};
use crate::session::statements::StatementMessages;

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
                    drop(found::read_inserted(plan, inserted, rows, all, None));
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
            if merge.clauses.iter().any(|clause| draws(&clause.values)) {
                drop(merging::read_merged(plan, merge, rows, all));
            }
        } else if let Some(inserted) = write_at(plan, index).and_then(|own| own.inserted.as_ref())
            && draws(inserted)
        {
            drop(found::read_inserted(plan, inserted, rows, all, None));
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
        if let Role::Clause(clause) = at.role {
            return self.types_of_clause(statement, at.index, clause);
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
        let types = described
            .map(|own| found::array_types(&statement.plan, inserted, &own.row_description));
        // Otherwise the server says that it cannot determine a type.
        Ok(types.transpose()?.unwrap_or_default())
    }

    fn types_of_clause(
        &mut self,
        statement: &Statement,
        index: usize,
        clause: usize,
    ) -> Result<Vec<u32>, StatementError> {
        let merge = merge_at(&statement.plan, index);
        let Some((merge, clause)) = merge.and_then(|own| Some((own, own.clauses.get(clause)?)))
        else {
            return Ok(Vec::new());
        };
        let described = self.described_columns(statement, &merge.query)?;
        let types = described
            .map(|own| merging::types_of_clause(&statement.plan, clause, &own.row_description));
        Ok(types.transpose()?.unwrap_or_default())
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
        let runs = merging::read_merged(&statement.plan, merge, rows, limits)?;
        let runs = runs.ok_or_else(|| gathering.too_many_bytes())?;
        for clause in &merge.clauses {
            // Without types the server would say that it cannot determine them.
            merging::types_of_clause(&statement.plan, clause, &rows.row_description)?;
        }
        self.keep_columns(&statement, &merge.query, rows);
        // The server checks each statement, also that of a clause without rows.
        let names = (0..merge.clauses.len())
            .map(|clause| self.prepare(&statement, at(&gathering, clause), outputs));
        let names = names.collect::<Result<Vec<Vec<u8>>, _>>()?;
        let start = outputs.to_server.len();
        let written = self.write_runs(&gathering, (merge, &names), &runs, outputs);
        if !matches!(written, Ok(true)) {
            outputs.to_server.truncate(start);
        }
        if !written? {
            return Err(gathering.too_many_bytes());
        }
        self.locks.forget();
        self.expect_writes(runs.len(), "MERGE", None);
        Ok(())
    }

    /// Writes the messages that write all rows. False: they would take too many bytes.
    fn write_runs(
        &mut self,
        gathering: &Gathering,
        (merge, names): (&FinisherMerge, &[Vec<u8>]),
        runs: &[Run],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let statement = &*gathering.statement;
        let bind = gathering.bind.bind();
        let start = outputs.to_server.len();
        // In a Query the statements have no names, and the last one was prepared last.
        let mut parsed = names.len().saturating_sub(1);
        for run in runs {
            let at = at(gathering, run.clause);
            if self.script.is_some() && parsed != run.clause {
                let computed = self.array_types(statement, at)?;
                statement.write_parse(at, b"", &computed, outputs.to_server);
                parsed = run.clause;
            }
            let left = gathering.limits.bytes_max;
            let rows = RowsToWrite {
                statement,
                portal: &gathering.portal,
                rows: &run.rows,
                bytes_max: match merge.clauses[run.clause].inserts {
                    true => usize::MAX,
                    false => left.saturating_sub(outputs.to_server.len() - start),
                },
            };
            let context = self.settings.context();
            if !rows.write((&bind, context), (at, &names[run.clause]), outputs)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The statement of a clause.
fn at(gathering: &Gathering, clause: usize) -> ServerStatement {
    ServerStatement {
        index: gathering.index,
        role: Role::Clause(clause),
    }
}
