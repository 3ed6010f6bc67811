//! A minimal PostgreSQL client protocol for a terminal: one write for a batch of messages, and
//! replies parsed in place in the buffer. The extra work of a client library would be measured too.
//!
//! With a session, all bytes go through it in the terminal's thread: that is the in-process engine.
//! Everything else is the same.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use bytes::BytesMut;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use session_postgres::Session;

use super::USER;
use crate::server::Address;

/// Why a terminal got no reply, or an error.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("the connection was lost")]
    Lost(#[from] io::Error),
    #[error("{message} (SQLSTATE {code})")]
    Refused { code: String, message: String },
    #[error("the server said something unknown: {0}")]
    Unknown(&'static str),
}

/// Tags of server messages.
pub(super) mod tag {
    pub(in super::super) const AUTHENTICATION: u8 = b'R';
    pub(in super::super) const BIND_COMPLETE: u8 = b'2';
    pub(in super::super) const COMMAND_COMPLETE: u8 = b'C';
    pub(in super::super) const DATA_ROW: u8 = b'D';
    pub(in super::super) const ERROR: u8 = b'E';
    pub(in super::super) const READY: u8 = b'Z';
}

/// A message from the server.
pub(super) struct Message<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

/// A connection.
pub(super) struct Wire {
    stream: TcpStream,
    /// The in-process session, and a buffer for its input.
    session: Option<(Box<Session>, Box<[u8]>)>,
    /// The messages to send next.
    pub(super) out: BytesMut,
    input: Vec<u8>,
    /// Start of the bytes in `input` that were received and not yet consumed.
    start: usize,
    end: usize,
}

/// Size of a message's tag and length.
const HEAD: usize = 5;

/// Enough for any reply except very long rows.
const BUFFER: usize = 1 << 16;

impl Wire {
    /// Logs in, with or without a session.
    pub(super) fn connect(address: &Address, session: Option<Session>) -> Result<Self, WireError> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, address.port))?;
        stream.set_nodelay(true)?;
        let mut wire = Self {
            stream,
            session: None,
            out: BytesMut::new(),
            input: vec![0; BUFFER],
            start: 0,
            end: 0,
        };
        let parameters = [
            ("client_encoding", "UTF8"),
            ("database", USER),
            ("user", USER),
            ("application_name", "strongroom tpcc"),
        ];
        frontend::startup_message(parameters, &mut wire.out)?;
        // The session must see this packet first.
        wire.send()?;
        wire.session = session.map(|session| (Box::new(session), vec![0; BUFFER].into()));
        wire.log_in(&address.password)?;
        Ok(wire)
    }

    /// The lab's servers ask for SCRAM-SHA-256.
    fn log_in(&mut self, password: &str) -> Result<(), WireError> {
        // The protocol's documentation, "Message Formats".
        const DONE: u8 = 0;
        const SASL: u8 = 10;
        const CONTINUE: u8 = 11;
        const FINAL: u8 = 12;
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        loop {
            let message = self.next()?;
            match (message.tag, message.body) {
                (tag::AUTHENTICATION, [0, 0, 0, SASL, ..]) => {
                    let first = scram.message();
                    frontend::sasl_initial_response(SCRAM_SHA_256, first, &mut self.out)?;
                    self.send()?;
                }
                (tag::AUTHENTICATION, [0, 0, 0, CONTINUE, data @ ..]) => {
                    scram.update(data)?;
                    frontend::sasl_response(scram.message(), &mut self.out)?;
                    self.send()?;
                }
                (tag::AUTHENTICATION, [0, 0, 0, FINAL, data @ ..]) => scram.finish(data)?,
                (tag::AUTHENTICATION, [0, 0, 0, DONE]) => {}
                (tag::AUTHENTICATION, _) => {
                    return Err(WireError::Unknown("another way to log in than SCRAM"));
                }
                (tag::ERROR, body) => return Err(refused(body)),
                (tag::READY, _) => return Ok(()),
                // ParameterStatus and BackendKeyData.
                _ => {}
            }
        }
    }

    /// Sends what is in `out`.
    pub(super) fn send(&mut self) -> io::Result<()> {
        match &mut self.session {
            None => self.stream.write_all(&self.out)?,
            Some((session, _)) => {
                session.client_bytes(&self.out);
                send_sealed(session, &mut self.stream)?;
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Appends received bytes to the buffer; at least one byte.
    fn receive(&mut self) -> io::Result<usize> {
        let Some((session, piece)) = &mut self.session else {
            return self.stream.read(&mut self.input[self.end..]);
        };
        loop {
            let opened = &mut session.to_client.bytes;
            if !opened.is_empty() {
                let size = opened.len();
                if self.input.len() < self.end + size {
                    self.input.resize(self.end + size, 0);
                }
                self.input[self.end..self.end + size].copy_from_slice(opened);
                opened.clear();
                return Ok(size);
            }
            if session.has_ended() {
                return Ok(0);
            }
            match self.stream.read(piece)? {
                0 => session.server_closed(),
                size => session.server_bytes(&piece[..size]),
            }
            // The session may have been waiting for this data.
            send_sealed(session, &mut self.stream)?;
        }
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Result<Message<'_>, WireError> {
        self.fill(HEAD)?;
        let head = &self.input[self.start..self.start + HEAD];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length < HEAD - 1 {
            return Err(WireError::Unknown("a length below 4"));
        }
        let whole = length + 1;
        self.fill(whole)?;
        let message = &self.input[self.start..self.start + whole];
        self.start += whole;
        Ok(Message {
            tag: message[0],
            body: &message[HEAD..],
        })
    }

    /// Receives until that many bytes are buffered.
    fn fill(&mut self, count: usize) -> Result<(), WireError> {
        if self.start + count > self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if count > self.input.len() {
                self.input.resize(count, 0);
            }
        }
        while self.end - self.start < count {
            let received = self.receive()?;
            if received == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.end += received;
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        Ok(())
    }
}

/// Sends what the session has for the server.
fn send_sealed(session: &mut Session, stream: &mut TcpStream) -> io::Result<()> {
    let sealed = &mut session.to_server.bytes;
    if !sealed.is_empty() {
        stream.write_all(sealed)?;
        sealed.clear();
    }
    Ok(())
}

/// ErrorResponse: fields of a letter and a zero-terminated text.
pub(super) fn refused(body: &[u8]) -> WireError {
    let field = |letter: u8| {
        let mut fields = body.split(|&byte| byte == 0);
        let found = fields.find_map(|field| field.strip_prefix(&[letter]));
        String::from_utf8_lossy(found.unwrap_or_default()).into_owned()
    };
    WireError::Refused {
        code: field(b'C'),
        message: field(b'M'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_by_its_fields() {
        let body = b"SERROR\0VERROR\0C40001\0Mcould not serialize\0\0";
        let WireError::Refused { code, message } = refused(body) else {
            panic!("it is a refusal");
        };
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("40001", "could not serialize")
        );
    }
}
