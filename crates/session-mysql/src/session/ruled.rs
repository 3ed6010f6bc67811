//! How a session with rules takes bytes: whole payloads, one command after the other.

use sql_rewrite::mysql::several::Remaining;
use wire_mysql::command::kind;
use wire_mysql::packet::{Extent, Header};

use super::answers::Step;
use super::protected::{Protected, Reach};
use super::several::Several;
use super::{Phase, Session, Side, check_sequence};
use crate::finisher::{FinisherAnswer, FinisherRequest};
use crate::refusal::Refusal;

impl Session {
    /// What is protected, and what a command of it reaches. None: there are no rules.
    pub(super) fn ruled(&mut self) -> Option<(&mut Protected, Reach<'_>)> {
        let protected = self.protected.as_deref_mut()?;
        let reach = Reach {
            to_client: &mut self.to_client.bytes,
            to_server: &mut self.to_server.bytes,
            due: &mut self.due,
            status: &mut self.status,
            capabilities: self.capabilities,
        };
        Some((protected, reach))
    }

    /// Goes on with what the client has sent: it may have waited for an answer.
    pub(super) fn go_on(&mut self) {
        if !self.from_client.held.is_empty() {
            self.bytes(Side::Client, &[]);
        }
    }

    /// A question to the finisher. Whoever takes it brings the answer
    /// ([`Self::finisher_answered`]).
    pub fn take_finisher_request(&mut self) -> Option<FinisherRequest> {
        self.protected.as_mut()?.take_request()
    }

    /// Takes the finisher's answer to the last question.
    pub fn finisher_answered(&mut self, answer: FinisherAnswer) {
        let before = self.to_client.bytes.len();
        let taken = match self.ruled() {
            Some((protected, mut reach)) => protected.finisher_answered(answer, &mut reach),
            None => Ok(()),
        };
        match taken.and_then(|()| self.take_several(before)) {
            Err(refusal) => self.end(&refusal),
            Ok(()) if self.closing.is_draining => self.drain(false),
            Ok(()) => {}
        }
        self.go_on();
    }

    /// Whether a command is carried out: the next one waits.
    pub(super) fn is_busy(&self) -> bool {
        let protected = self.protected.as_ref();
        !self.due.is_empty() || protected.is_some_and(|own| own.is_busy() || own.several.is_some())
    }

    /// Whether what the client has sent is the start of one command, the rest of which is missing.
    pub(super) fn gathers_command(&self) -> bool {
        self.protected.is_some() && matches!(self.phase, Phase::Ready) && !self.is_busy()
    }

    /// Whether the server's answer is the proxy's to read.
    pub(super) fn reads_answer(&self) -> bool {
        self.protected
            .as_ref()
            .is_some_and(|own| own.reads_answer())
    }

    /// Whether definitions of columns are looked at although they pass.
    pub(super) fn is_read(&self, step: Step) -> bool {
        self.protected.is_some() && matches!(step, Step::Columns(_) | Step::PreparedColumns(_))
    }

    pub(super) fn end_protected(&mut self) {
        if let Some(protected) = &mut self.protected {
            protected.end();
        }
    }

    /// A command of a session with rules.
    pub(super) fn take_ruled_command(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        if let Some((protected, mut reach)) = self.ruled()
            && protected.reads_file()
        {
            return protected.take_file(bytes, &mut reach);
        }
        if self.is_busy() {
            return Ok(0);
        }
        let Some(header) = Header::read(bytes) else {
            return Ok(0);
        };
        check_sequence(header, 0)?;
        if let Some(size) = self.take_kill(bytes, header) {
            return Ok(size);
        }
        let Some((protected, mut reach)) = self.ruled() else {
            return Ok(0);
        };
        let Some(extent) = Extent::read(bytes, protected.size_max())? else {
            return Ok(0);
        };
        let mut joined = Vec::new();
        let payload = extent.payload(bytes, &mut joined);
        match payload.first() {
            Some(&kind::CHANGE_USER) => {
                protected.reset();
                return self.change_user(bytes);
            }
            Some(&kind::QUIT) => {
                reach.to_server.extend_from_slice(&bytes[..extent.size()]);
                self.closing.told_the_end = true;
            }
            _ => protected.command(payload, extent.next_sequence(), &mut reach)?,
        }
        Ok(extent.size())
    }

    /// The number of the packet in which the client is told something.
    pub(super) fn told_sequence(&self) -> u8 {
        let several = self.protected.as_ref().and_then(|own| own.several.as_ref());
        several.map_or_else(|| self.answer_sequence(), |several| several.sequence)
    }

    /// Gives the client what was written for it since a moment as a part of the answer to several
    /// statements, and begins the next of them.
    pub(super) fn take_several(&mut self, before: usize) -> Result<(), Refusal> {
        if let Some(protected) = &mut self.protected
            && let Some((rest, sequence)) = protected.take_rest()
        {
            match &mut protected.several {
                Some(several) => several.begin(Some(rest)),
                None => protected.several = Some(Several::new(rest, sequence)),
            }
        }
        let mut before = before;
        while let Some(protected) = self.protected.as_deref_mut()
            && let Some(mut several) = protected.several.take()
        {
            let written = self.to_client.bytes.split_off(before);
            several.take(&written, self.capabilities, &mut self.to_client.bytes)?;
            let is_busy = protected.is_busy() || !self.due.is_empty();
            let rest = match is_busy {
                true => None,
                false => several.next(),
            };
            if is_busy || rest.is_some() {
                protected.several = Some(several);
            }
            let Some(rest) = rest else {
                break;
            };
            before = self.to_client.bytes.len();
            self.begin_next(rest)?;
        }
        Ok(())
    }

    /// Begins the next of several statements.
    fn begin_next(&mut self, rest: Remaining) -> Result<(), Refusal> {
        let Some((protected, mut reach)) = self.ruled() else {
            return Ok(());
        };
        protected.next_of_several(rest, &mut reach)?;
        let rest = protected.take_rest().map(|(rest, _)| rest);
        if let Some(several) = &mut protected.several {
            several.begin(rest);
        }
        Ok(())
    }

    /// A payload of the server's that the proxy reads itself.
    pub(super) fn take_ruled_answer(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let Some((protected, mut reach)) = self.ruled() else {
            return Ok(0);
        };
        let Some(header) = Header::read(bytes) else {
            return Ok(0);
        };
        let Some(extent) = Extent::read(bytes, protected.size_max())? else {
            return Ok(0);
        };
        let mut joined = Vec::new();
        let payload = extent.payload(bytes, &mut joined);
        protected.answer((header, payload), extent.next_sequence(), &mut reach)?;
        if self.closing.is_draining {
            self.drain(false);
        }
        Ok(extent.size())
    }
}
