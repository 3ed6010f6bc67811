//! How a session with rules takes bytes: whole payloads, one command after the other.

use wire_mysql::command::kind;
use wire_mysql::packet::{Extent, Header};

use super::answers::Step;
use super::protected::{Protected, Reach};
use super::{Phase, Session, check_sequence};
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

    /// Whether a command is carried out: the next one waits.
    pub(super) fn is_busy(&self) -> bool {
        let protected = self.protected.as_ref();
        !self.due.is_empty() || protected.is_some_and(|own| own.is_busy())
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
        if self.is_busy() {
            return Ok(0);
        }
        let Some((protected, mut reach)) = self.ruled() else {
            return Ok(0);
        };
        let Some(header) = Header::read(bytes) else {
            return Ok(0);
        };
        check_sequence(header, 0)?;
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
