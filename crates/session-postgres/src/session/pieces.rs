//! Messages that are processed piece by piece, and what must be asked before a message is read.

use session_core::wiped;
use wire_postgres::{FrameError, Header, frontend};

use super::incoming::Rest;
use super::{End, Session, Side};

/// How much of the rows of a COPY into the server one question to the finisher is for.
const ASKED_PIECE_MAX: usize = 64 * 1024;

impl Session {
    /// Refuses bytes in a message of the client that has no body. Nobody reads them, and where
    /// columns are protected what nobody has read must not go to the server.
    pub(super) fn check_size(&self, side: Side, header: Header) -> Result<(), End> {
        let has_body = header.size > wire_postgres::HEADER_SIZE;
        let is_unread = side == Side::Client && frontend::is_without_body(header.kind);
        if has_body && is_unread && self.protected.is_some() {
            return Err(FrameError::InvalidLength.into());
        }
        Ok(())
    }

    /// Processes the part that is there of a message that need not be whole. Returns how many bytes
    /// it took. 0: it waits for the finisher.
    pub(super) fn take_piece(&mut self, side: Side, bytes: &[u8]) -> Result<usize, End> {
        let input = self.input(side);
        let mut size = input.passing.min(bytes.len());
        if input.rest == Rest::IsCopied
            && let Some(protected) = &mut self.protected
        {
            if protected.awaits_finisher() {
                return Ok(0);
            }
            // What was asked for is taken again: no more, although more has come.
            let asked = self.from_client.asked_piece.take();
            size = size.min(asked.unwrap_or(ASKED_PIECE_MAX));
            if protected.ask_of_copy(Some(&bytes[..size])) {
                self.from_client.asked_piece = Some(size);
                return Ok(0);
            }
            self.with_protected(|protected, outputs| {
                protected.copy_data(&bytes[..size], outputs);
                Ok(())
            })?;
        }
        self.input(side).passing -= size;
        Ok(size)
    }

    /// Puts rows that were held in front of what the client sent behind them.
    pub(super) fn take_held_rows(&mut self) {
        let rows = self.protected.as_mut().and_then(|own| own.take_held_rows());
        if let Some(mut rows) = rows {
            wiped::extend(&mut rows, &self.from_client.held);
            self.from_client.held = std::mem::take(&mut *rows);
        }
    }

    /// Asks what must be answered before the client's next message.
    pub(super) fn ask_catalogues(&mut self) -> Result<(), End> {
        self.with_protected(|protected, outputs| {
            protected.ask_first(outputs);
            Ok(())
        })
    }

    /// Whether the message that was read last is read again.
    pub(super) fn reads_again(&mut self, side: Side) -> bool {
        let protected = self.protected.as_mut();
        side == Side::Client && protected.is_some_and(|own| own.wants_again())
    }

    /// Whether the finisher is asked before a message of the server is read.
    pub(super) fn asks_first(&mut self, side: Side, kind: u8, bytes: &[u8]) -> Result<bool, End> {
        let is_ready = side == Side::Server && self.has_begun();
        let mut asks = false;
        if is_ready {
            self.with_protected(|protected, outputs| {
                asks = protected.ask_of_server(kind, bytes, outputs)?;
                Ok(())
            })?;
        }
        Ok(asks)
    }
}
