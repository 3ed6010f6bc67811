//! COPY: rows of protected tables are rewritten on their way. Rows of a COPY that has failed are
//! dropped.

use session_core::StatementError;
use wire_postgres::backend::{self, Failure};

use super::{Outputs, Protected};
use crate::session::End;
use crate::session::answers::Expected;
use crate::session::copying::Copying;
use crate::session::failure::failure_of;
use crate::session::held_rows;

impl Protected {
    /// Takes a piece of the client's rows.
    pub(in crate::session) fn copy_data(&mut self, data: &[u8], outputs: &mut Outputs<'_>) {
        if let Some(held) = self.copy.held() {
            if let Err(failure) = held.push(data) {
                self.refuse_held(failure, outputs);
            }
            return;
        }
        self.copy.take_data(data, outputs.to_server);
    }

    /// Takes the client's CopyDone or CopyFail.
    pub(super) fn end_rows(&mut self, kind: u8, message: &[u8], outputs: &mut Outputs<'_>) {
        self.copy.end_data(kind, message, outputs.to_server);
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
        match kind {
            k::COPY_IN | k::COPY_OUT if self.begin_copy(kind, outputs)? => return Ok(()),
            k::COPY_DATA if self.copy.is_out() => {
                return self.copy.give_data(body, outputs.to_client).map_err(ended);
            }
            k::COPY_DONE => self.copy.end_giving(outputs.to_client).map_err(ended)?,
            _ => {}
        }
        outputs.to_client.extend_from_slice(message);
        Ok(())
    }

    /// True: the client has been told already.
    fn begin_copy(&mut self, kind: u8, outputs: &mut Outputs<'_>) -> Result<bool, End> {
        let shape = match self.answers.front() {
            Some(Expected::Execute(shape, _)) => shape.clone(),
            Some(Expected::Query(shapes, _)) => shapes.front().cloned().flatten(),
            _ => return Err(End::unexpected()),
        };
        let is_in = kind == backend::kind::COPY_IN;
        let copied = shape.as_ref().map(|shape| shape.copy());
        let mut begun = match copied {
            None if is_in => Some(Copying::Plain),
            None => None,
            Some(Some((plan, copy))) if copy.into_server == is_in => {
                let marker_ends_csv = self.settings.encoding().marker_ends_csv();
                let limits = (self.schema.shared().field_size_max(), marker_ends_csv);
                let begun = Copying::begin(plan, copy, self.settings.context(), limits);
                Some(begun.map_err(ended)?)
            }
            Some(_) => return Err(End::unexpected()),
        };
        let mut is_told = self.copy.begin_released(&mut begun);
        if let (true, false, Some(Some((_, copy)))) = (is_in, is_told, copied)
            && !(copy.added.is_empty() && copy.groups.is_empty())
        {
            // The server announces the fields that the proxy adds, too.
            held_rows::write_copy_in(copy, outputs.to_client);
            is_told = true;
        }
        self.copy.begin(begun);
        if is_in {
            self.answers.drop_syncs();
        }
        Ok(is_told)
    }
}

/// Ends the session: rows that were sent to the client cannot be taken back.
fn ended(error: StatementError) -> End {
    End(Failure {
        fatal: true,
        ..failure_of(error)
    })
}
