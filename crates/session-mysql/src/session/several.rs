//! Several statements in one text of a client with rules. Each goes to the server by itself, once
//! the one before is done: it is read with the settings and the schema that are valid then. The
//! client gets the answers as those of one text.

use sql_rewrite::mysql::several::Remaining;
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::packet::{HEADER_SIZE, Header, PIECE_SIZE_MAX};
use wire_mysql::{Capabilities, Malformed};

use super::answers::{Need, Step, need};
use crate::refusal::Refusal;

/// The answers to several statements.
#[derive(Debug)]
pub(super) struct Several {
    /// What follows the statement that is carried out. None: nothing.
    rest: Option<Remaining>,
    step: Step,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
    /// The start of a packet.
    held: Vec<u8>,
    /// The next packet goes on with a payload.
    goes_on: bool,
    has_failed: bool,
}

impl Several {
    /// Of a text whose first answer is due.
    pub(super) fn new(rest: Remaining, sequence: u8) -> Self {
        Self {
            rest: Some(rest),
            step: Step::Result,
            sequence,
            held: Vec::new(),
            goes_on: false,
            has_failed: false,
        }
    }

    /// Notes what follows the statement that is begun.
    pub(super) fn begin(&mut self, rest: Option<Remaining>) {
        self.rest = rest;
        self.step = Step::Result;
    }

    /// The statements that are to be carried out, once an answer is there. None: none is.
    pub(super) fn next(&mut self) -> Option<Remaining> {
        self.rest.take().filter(|_| !self.has_failed)
    }

    /// Takes bytes of an answer, and writes them as those of the answer to the whole text.
    ///
    /// # Errors
    /// They are no answer.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        capabilities: Capabilities,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        self.held.extend_from_slice(bytes);
        let mut held = std::mem::take(&mut self.held);
        let mut at = 0;
        while let Some(header) = Header::read(&held[at..]) {
            let end = at + HEADER_SIZE + header.length;
            let Some(packet) = held.get(at..end) else {
                break;
            };
            let start = out.len();
            out.extend_from_slice(packet);
            out[start + HEADER_SIZE - 1] = self.sequence;
            self.sequence = self.sequence.wrapping_add(1);
            let is_first = !std::mem::replace(&mut self.goes_on, header.length == PIECE_SIZE_MAX);
            if is_first {
                let payload = &mut out[start + HEADER_SIZE..];
                self.packet(header, payload, capabilities)?;
            }
            at = end;
        }
        held.drain(..at);
        self.held = held;
        Ok(())
    }

    /// Notes the first packet of a payload, and says in the last one that others follow.
    fn packet(
        &mut self,
        header: Header,
        payload: &mut [u8],
        capabilities: Capabilities,
    ) -> Result<(), Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        if need == Need::Nothing {
            self.step = self.step.passed(capabilities).ok_or(Malformed)?;
            return Ok(());
        }
        let mut status = Status(0);
        let next = self.step.read(payload, capabilities, &mut status)?;
        match next {
            Some(step) => self.step = step,
            None if first == Some(answer::ERR) => self.has_failed = true,
            None if self.rest.is_some() => {
                answer::announce_more(payload)?;
            }
            None => {}
        }
        Ok(())
    }
}
