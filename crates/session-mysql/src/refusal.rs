//! Errors of the proxy's own, as clients of MySQL get them.

use std::borrow::Cow;

use wire_mysql::Malformed;
use wire_mysql::answer::ErrorPacket;
use wire_mysql::packet::{self, PacketError};

/// Why the proxy refuses something. Each has a number and a state of the server's own, none of
/// which has programs try again or connect anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There are as many clients as there may be.
    TooManyClients,
    /// Who the client is was not believed.
    AccessDenied,
    /// The client must come by TLS.
    InsecureTransport,
    /// The proxy does not pass it on.
    NotSupported,
    /// A packet is malformed, or came where none is expected.
    MalformedPacket,
    /// The number of a packet is not the next one.
    PacketsOutOfOrder,
    /// A packet is larger than it may be.
    PacketTooLarge,
    /// The client took too long.
    TimedOut,
    /// The proxy ends.
    ShuttingDown,
    /// The server cannot be reached, has gone, or says what cannot be understood.
    Server,
    /// A statement over protected columns fails, with a number and a state of the server's own.
    Statement(u16, [u8; 5]),
}

impl Reason {
    /// Number and state: `mysqld_error.h` and the manual's list of server errors.
    pub fn code(self) -> (u16, [u8; 5]) {
        match self {
            Self::TooManyClients => (1040, *b"08004"),
            Self::AccessDenied => (1045, *b"28000"),
            Self::InsecureTransport => (3159, *b"HY000"),
            Self::NotSupported => (1235, *b"42000"),
            Self::MalformedPacket => (1835, *b"HY000"),
            Self::PacketsOutOfOrder => (1156, *b"08S01"),
            Self::PacketTooLarge => (1153, *b"08S01"),
            Self::TimedOut => (1159, *b"08S01"),
            Self::ShuttingDown => (1053, *b"08S01"),
            // Of 2003 and 2013, which clients give themselves, they think that they may try again.
            Self::Server => (1105, *b"08S01"),
            Self::Statement(number, state) => (number, state),
        }
    }
}

/// An error of the proxy's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What is wrong, and what to do.
    pub message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal; its message does not name the proxy.
    pub fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    /// Appends the packet, and counts `sequence` on.
    pub fn write(&self, sequence: &mut u8, out: &mut Vec<u8>) {
        let (code, state) = self.reason.code();
        self.write_as(code, Some(state), sequence, out);
    }

    /// Appends the packet in the place of the server's greeting. Errors have no state there.
    pub fn write_before_greeting(&self, out: &mut Vec<u8>) {
        self.write_as(self.reason.code().0, None, &mut 0, out);
    }

    fn write_as(&self, code: u16, state: Option<[u8; 5]>, sequence: &mut u8, out: &mut Vec<u8>) {
        let message = format!("strongroom: {}", self.message);
        let error = ErrorPacket {
            code,
            state,
            message: message.as_bytes(),
        };
        packet::write(sequence, out, |out| error.write(out));
    }
}

impl From<Malformed> for Refusal {
    fn from(error: Malformed) -> Self {
        Self::new(Reason::MalformedPacket, error.to_string())
    }
}

impl From<PacketError> for Refusal {
    fn from(error: PacketError) -> Self {
        let reason = match error {
            PacketError::OutOfOrder { .. } => Reason::PacketsOutOfOrder,
            PacketError::TooLarge { .. } => Reason::PacketTooLarge,
        };
        Self::new(reason, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_has_programs_try_again() {
        // Deadlock, lock wait timeout, unknown command, server gone, connection lost.
        let again = [1213, 1205, 1047, 2003, 2006, 2013];
        for reason in [
            Reason::TooManyClients,
            Reason::AccessDenied,
            Reason::InsecureTransport,
            Reason::NotSupported,
            Reason::MalformedPacket,
            Reason::PacketsOutOfOrder,
            Reason::PacketTooLarge,
            Reason::TimedOut,
            Reason::ShuttingDown,
            Reason::Server,
        ] {
            assert!(!again.contains(&reason.code().0), "{reason:?}");
        }
    }

    #[test]
    fn a_refusal_is_an_error_of_the_proxy() {
        let (mut sequence, mut out) = (2, Vec::new());
        Refusal::new(Reason::NotSupported, "no").write(&mut sequence, &mut out);
        assert_eq!(sequence, 3);
        let error = ErrorPacket::read(&out[packet::HEADER_SIZE..]).expect("well formed");
        assert_eq!((error.code, error.state), (1235, Some(*b"42000")));
        assert_eq!(error.message, b"strongroom: no");
        out.clear();
        Refusal::new(Reason::Server, "no").write_before_greeting(&mut out);
        let error = ErrorPacket::read(&out[packet::HEADER_SIZE..]).expect("well formed");
        assert_eq!((error.code, error.state), (1105, None));
    }
}
