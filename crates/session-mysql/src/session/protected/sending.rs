//! What the proxy sends in the place of a client's command. Sealed values are longer than those
//! that the client has sent, and a server ends the connection over a payload that is too large for
//! it. So such a payload is not sent: whatever waits for its answer is told an error in the
//! server's place.

use session_core::StatementError;
use wire_mysql::packet::{self, HEADER_SIZE, Header};

use super::errors::refusal;
use super::{Protected, Reach};
use crate::refusal::Refusal;

/// What has gone to the server for the command that is carried out.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The number of the server's next packet, where the proxy reads it.
    pub(super) next_sequence: u8,
    /// Why the last payload has not gone.
    unsent: Option<Refusal>,
}

impl Protected {
    pub(super) fn send(&mut self, payload: impl FnOnce(&mut Vec<u8>), reach: &mut Reach<'_>) {
        let start = reach.to_server.len();
        self.send_as_it_came(payload, reach);
        let pieces = usize::from(self.sent.next_sequence);
        let size = reach.to_server.len() - start;
        let size = size.saturating_sub(pieces * HEADER_SIZE);
        let settings = self.settings.as_ref();
        let size_end = settings.map_or(usize::MAX, |own| own.packet_end);
        if size >= size_end {
            reach.to_server.truncate(start);
            self.sent.unsent = Some(refusal(&too_large(size, size_end)));
        }
    }

    /// Sends a payload of the client's own, whatever its size.
    pub(super) fn send_as_it_came(
        &mut self,
        payload: impl FnOnce(&mut Vec<u8>),
        reach: &mut Reach<'_>,
    ) {
        self.sent.next_sequence = 0;
        packet::write(&mut self.sent.next_sequence, reach.to_server, payload);
    }

    /// Answers in the server's place what was not sent to it.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn answer_unsent(&mut self, reach: &mut Reach<'_>) -> Result<(), Refusal> {
        while let Some(refusal) = self.sent.unsent.take() {
            let (mut sequence, mut packet) = (1, Vec::new());
            refusal.write(&mut sequence, &mut packet);
            let Some(header) = Header::read(&packet) else {
                return Ok(());
            };
            self.take_answer((header, &packet[HEADER_SIZE..]), sequence, reach)?;
            if !self.is_busy() {
                self.told.refused = Some(refusal);
            }
        }
        Ok(())
    }
}

fn too_large(size: usize, size_end: usize) -> StatementError {
    StatementError::limit(format!(
        "the statement has {size} bytes with its values sealed, and the server takes less than \
         {size_end} (max_allowed_packet)"
    ))
    .hint(
        "Send fewer rows at once, pass long values as parameters, or raise max_allowed_packet at \
         the server.",
    )
}
