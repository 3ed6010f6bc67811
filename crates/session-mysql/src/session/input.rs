//! What one side has sent: bytes that wait, and how far the payload has come that passes now.

use wire_mysql::packet::{HEADER_SIZE, Header, PacketError};

/// What becomes of a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// It passes.
    #[default]
    Passes,
    /// It passes, and is the command whose answer is due last.
    IsAnswered,
    /// It is dropped.
    IsDropped,
}

/// The bytes of one side.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Bytes that are not processed yet.
    pub(super) held: Vec<u8>,
    /// How many bytes of the packet are still to pass, its header among them.
    passing: usize,
    /// The payload goes on in another packet.
    goes_on: bool,
    /// The number of that packet, or of the one behind the payload.
    pub(super) next_sequence: u8,
    pub(super) fate: Fate,
}

impl Input {
    /// Begins a payload with its first packet.
    pub(super) fn begin(&mut self, header: Header, fate: Fate) {
        self.fate = fate;
        self.note(header);
    }

    fn note(&mut self, header: Header) {
        self.passing = HEADER_SIZE + header.length;
        self.goes_on = header.goes_on();
        self.next_sequence = header.sequence.wrapping_add(1);
    }

    /// Whether the next byte begins a payload.
    pub(super) fn is_between_payloads(&self) -> bool {
        self.passing == 0 && !self.goes_on
    }

    /// Takes bytes of the payload that has begun: how many, and whether another packet of it
    /// begins with them.
    ///
    /// # Errors
    /// That packet has another number than the next one.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(usize, bool), PacketError> {
        let mut further = false;
        if self.passing == 0 {
            let Some(header) = Header::read(bytes) else {
                return Ok((0, false));
            };
            let (expected, found) = (self.next_sequence, header.sequence);
            if expected != found {
                return Err(PacketError::OutOfOrder { expected, found });
            }
            self.note(header);
            further = true;
        }
        let size = self.passing.min(bytes.len());
        self.passing -= size;
        Ok((size, further))
    }
}
