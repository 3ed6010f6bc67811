//! Values of sequences for protected columns: the server is asked for them over the session's own
//! connection, before the message that stores them is processed.
//!
//! So `currval` and `lastval` of the client mean these values, and a transaction that is rolled
//! back leaves the same gaps. Each value is stored once; those of a message that fails are lost, as
//! in the server.

use std::ops::Range;
use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_plan::ColumnId;

use super::{Outputs, Protected};
use crate::finisher::FinisherRows;
use crate::session::End;
use crate::session::gathering::Gathering;
use crate::session::load::Draw;

impl Protected {
    /// Draws the values that statements of a client's message store. True: the message is processed
    /// again.
    ///
    /// # Errors
    /// They could not be drawn.
    pub(super) fn draw_for(
        &mut self,
        plan: &Arc<TextPlan>,
        indices: Range<usize>,
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let mut wanted: Vec<(ColumnId, usize)> = Vec::new();
        for (column, count) in indices.flat_map(|index| plan.draws(index)) {
            match wanted.iter_mut().find(|(own, _)| *own == column) {
                Some((_, sum)) => *sum += count,
                None => wanted.push((column, count)),
            }
        }
        if wanted.is_empty() {
            return Ok(false);
        }
        self.schema.check_load()?;
        let has_sync = !self.transaction.in_pipeline();
        Ok(self.draw(plan, &wanted, has_sync, outputs))
    }

    /// Asks the server for what is missing. False: nothing is, or the transaction has failed.
    pub(super) fn draw(
        &mut self,
        plan: &TextPlan,
        wanted: &[(ColumnId, usize)],
        has_sync: bool,
        outputs: &mut Outputs<'_>,
    ) -> bool {
        if self.transaction.has_failed() {
            return false;
        }
        let drawn = &self.settings.context().drawn;
        let missing = wanted
            .iter()
            .filter(|(column, count)| drawn.count(column.0) < *count);
        let schema = &plan.loaded.schema;
        let draws: Vec<Draw> = missing
            .map(|(column, count)| Draw::new(schema, *column, *count))
            .collect();
        if draws.is_empty() {
            return false;
        }
        let count = draws.len();
        self.schema.begin_draw(draws, has_sync, outputs.to_server);
        self.expect_load(count, has_sync);
        true
    }

    /// Draws values for rows that the finisher has computed. None: the rows wait for them.
    pub(super) fn draw_for_found(
        &mut self,
        plan: &TextPlan,
        wanted: &[(u32, usize)],
        (gathering, rows): (Gathering, FinisherRows),
        outputs: &mut Outputs<'_>,
    ) -> Option<(Gathering, FinisherRows)> {
        let wanted: Vec<(ColumnId, usize)> = wanted
            .iter()
            .map(|(column, count)| (ColumnId(*column), *count))
            .collect();
        // What the rows are inserted by is part of the same transaction.
        if self.draw(plan, &wanted, false, outputs) {
            self.pipeline.keep_drawing(Box::new((gathering, rows)));
            return None;
        }
        Some((gathering, rows))
    }

    /// Inserts the rows that values were drawn for.
    pub(super) fn go_on_with_drawn(&mut self, outputs: &mut Outputs<'_>) -> Result<(), End> {
        let Some(found) = self.pipeline.take_drawing() else {
            return Ok(());
        };
        let (gathering, rows) = *found;
        let rows = self.schema.check_load().map(|()| rows);
        self.take_found(gathering, rows, outputs)
    }
}
