//! COPY that leaves out a column with a sequence: its rows are held, and the values are drawn
//! before the COPY is sent.
//!
//! A COPY that the server refuses, as for a missing privilege, is refused behind its rows, where
//! the server would have refused it before them.

use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use wire_postgres::backend;
use wire_postgres::frontend::{self, Execute};
use zeroize::Zeroizing;

use super::{Outputs, Protected};
use crate::copy::Fields;
use crate::session::End;
use crate::session::failure::failure_of;
use crate::session::held_rows::{self, HeldRows, beside_others, drawn_by};

impl Protected {
    /// Whether the message of a COPY is not sent yet: its rows come first, or the values that they
    /// need, or the server still owes earlier answers. A message that waits is read again.
    ///
    /// # Errors
    /// The proxy does not support such a COPY, or the values could not be drawn.
    pub(super) fn holds_copy(
        &mut self,
        plan: &Arc<TextPlan>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let waited = self.copy.set_awaits_idle(false);
        let mut copies = (0..plan.planned.len()).filter_map(|index| plan.copy(index));
        let copy = copies.find(|copy| !drawn_by(copy).is_empty());
        if let Some(held) = self.copy.held()
            && !copy.is_some_and(|copy| held.are_for(copy))
        {
            return Err(held_rows::changed());
        }
        let Some(copy) = copy else {
            return Ok(false);
        };
        if plan.planned.len() > 1 {
            return Err(beside_others());
        }
        if self.transaction.has_failed() {
            // The server refuses the statement.
            return Ok(false);
        }
        if let Some(held) = self.copy.held() {
            let wanted = held.wanted();
            self.schema.check_load()?;
            let has_sync = !self.transaction.in_pipeline();
            if self.draw(plan, &wanted, has_sync, outputs) {
                return Ok(true);
            }
            self.copy.release(self.settings.context().drawn.take_all());
            return Ok(false);
        }
        if !self.answers.is_empty() {
            if !waited && self.transaction.in_pipeline() {
                backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
            }
            self.copy.set_awaits_idle(true);
            return Ok(true);
        }
        let context = self.note_time();
        let limits = (
            self.schema.shared().field_size_max(),
            self.settings.encoding().marker_ends_csv(),
        );
        let (counter, _) =
            Fields::begin(copy, &plan.loaded, &context, limits).map_err(StatementError::from)?;
        let size_max = self.schema.shared().finish_bytes_max();
        let held = HeldRows::begin(message, copy, counter, size_max);
        self.copy.hold(held);
        held_rows::write_copy_in(copy, outputs.to_client);
        Ok(true)
    }

    /// Takes a message of the client while rows are held. True: it was one of the COPY.
    ///
    /// # Errors
    /// It belongs to no COPY.
    pub(super) fn take_while_held(
        &mut self,
        kind: u8,
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use frontend::kind as k;
        let Some(held) = self.copy.held() else {
            return Ok(false);
        };
        if !matches!(kind, k::COPY_DONE | k::COPY_FAIL) {
            return Err(End(failure_of(held_rows::unexpected_message())));
        }
        held.end(kind);
        let Some(message) = held.complete() else {
            return Ok(true);
        };
        self.send_held(&message, outputs)?;
        Ok(true)
    }

    /// Processes the message whose rows were held.
    fn send_held(
        &mut self,
        message: &Zeroizing<Vec<u8>>,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let body = &message[wire_postgres::HEADER_SIZE..];
        match message[0] {
            frontend::kind::QUERY => self.query(frontend::read_query(body)?, message, outputs),
            _ => self.execute(Execute::read(body)?, message, outputs),
        }
    }

    /// Gives the rows up that are held.
    pub(super) fn refuse_held(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        self.copy.drop_held();
        match self.transaction.in_pipeline() {
            true => self.fail(failure, outputs),
            false => self.fail_query(failure, outputs),
        }
    }

    /// Rows that were held, once the server has begun their COPY.
    pub(in crate::session) fn take_held_rows(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.copy.take_rows()
    }
}
