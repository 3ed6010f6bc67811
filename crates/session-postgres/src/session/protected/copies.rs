//! COPY: rows of protected tables become others on their way, and what a client sends of a COPY
//! that has failed goes nowhere.

use session_core::StatementError;
use wire_postgres::backend::{self, Failure};
use wire_postgres::frontend;

use super::reply::unexpected;
use super::{Outputs, Protected};
use crate::session::answers::Expected;
use crate::session::copying::Copying;
use crate::session::failure::failure_of;
use crate::session::{End, MessageAction};

impl Protected {
    /// What to do with a message of the client that belongs to a COPY.
    pub(super) fn copy_action(&self, kind: u8) -> MessageAction {
        let is_data = kind == frontend::kind::COPY_DATA;
        match &self.copy.under_way {
            Some(Copying::Plain) if is_data => MessageAction::Pass,
            Some(Copying::Refused) if is_data => MessageAction::Drop,
            Some(Copying::In(_)) if is_data => MessageAction::Copy,
            Some(Copying::Plain | Copying::In(_) | Copying::Refused) => MessageAction::Read,
            // The server leaves it out, but would have read it.
            None if self.answers.is_empty() => MessageAction::Drop,
            // It may belong to what the server has not begun yet.
            Some(Copying::Out(_)) | None => MessageAction::Wait,
        }
    }

    /// Whether the client sends rows. The server leaves out a Sync among them.
    pub(super) fn copies_in(&self) -> bool {
        let copying = self.copy.under_way.as_ref();
        copying.is_some_and(|copying| !matches!(copying, Copying::Out(_)))
    }

    /// Whether rows of the server are read.
    pub(super) fn copies_out(&self) -> bool {
        matches!(self.copy.under_way, Some(Copying::Out(_)))
    }

    /// Takes a piece of the rows that the client sends. What comes behind a failure goes nowhere.
    pub(in crate::session) fn copy_data(&mut self, data: &[u8], outputs: &mut Outputs<'_>) {
        if let Some(Copying::In(copier)) = &mut self.copy.under_way
            && let Err(failure) = copier.push(data, outputs.to_server)
        {
            self.copy.under_way = Some(Copying::Refused);
            self.refuse_copy(failure, outputs);
        }
    }

    /// Takes the message of the client that ends its rows.
    pub(super) fn end_rows(&mut self, kind: u8, message: &[u8], outputs: &mut Outputs<'_>) {
        match self.copy.under_way.take() {
            Some(Copying::In(mut copier)) if kind == frontend::kind::COPY_DONE => {
                match copier.end(outputs.to_server) {
                    Ok(()) => outputs.to_server.extend_from_slice(message),
                    Err(failure) => self.refuse_copy(failure, outputs),
                }
            }
            // What the client says may hold a row.
            Some(Copying::In(_)) => write_fail("the client gave up", outputs),
            Some(Copying::Plain) => outputs.to_server.extend_from_slice(message),
            Some(Copying::Refused | Copying::Out(_)) | None => {}
        }
    }

    fn refuse_copy(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        write_fail("a row was refused", outputs);
        self.copy.failure = Some(failure);
    }

    /// Takes a message of the server that belongs to a COPY.
    pub(super) fn copy_answer(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        use backend::kind as k;
        let body = &message[wire_postgres::HEADER_SIZE..];
        match (kind, &mut self.copy.under_way) {
            (k::COPY_IN | k::COPY_OUT, _) => {
                self.begin_copy(kind)?;
                outputs.to_client.extend_from_slice(message);
            }
            (k::COPY_DATA, Some(Copying::Out(copier))) => {
                copier.push(body, outputs.to_client).map_err(ended)?;
            }
            (k::COPY_DONE, Some(Copying::Out(copier))) => {
                copier.end(outputs.to_client).map_err(ended)?;
                self.copy.under_way = None;
                outputs.to_client.extend_from_slice(message);
            }
            _ => outputs.to_client.extend_from_slice(message),
        }
        Ok(())
    }

    fn begin_copy(&mut self, kind: u8) -> Result<(), End> {
        let shape = match self.answers.front() {
            Some(Expected::Execute(shape, _)) => shape.clone(),
            Some(Expected::Query(shapes, _)) => shapes.front().cloned().flatten(),
            _ => return Err(unexpected()),
        };
        let is_in = kind == backend::kind::COPY_IN;
        self.copy.under_way = match shape.as_ref().map(|shape| shape.copy()) {
            None if is_in => Some(Copying::Plain),
            None => None,
            Some(Some((plan, copy))) if copy.into_server == is_in => {
                let marker_ends_csv = self.settings.encoding().marker_ends_csv();
                let limits = (self.schema.shared().field_size_max(), marker_ends_csv);
                let begun = Copying::begin(plan, copy, self.settings.context(), limits);
                Some(begun.map_err(ended)?)
            }
            Some(_) => return Err(unexpected()),
        };
        if is_in {
            self.answers.drop_syncs();
        }
        Ok(())
    }

    /// The server has failed, or is ready. Gives what the client is told in place of the server's
    /// error.
    pub(super) fn end_copy(&mut self) -> Option<StatementError> {
        self.copy.under_way = None;
        self.copy.failure.take()
    }
}

/// Rows that have been given to the client cannot be taken back.
fn ended(error: StatementError) -> End {
    End(Failure {
        fatal: true,
        ..failure_of(error)
    })
}

fn write_fail(reason: &str, outputs: &mut Outputs<'_>) {
    backend::write(frontend::kind::COPY_FAIL, outputs.to_server, |out| {
        out.extend_from_slice(reason.as_bytes());
        out.push(0);
    });
}
