//! A session takes bytes of the client and of the server, and gives bytes for both. It does no I/O.
//!
//! Messages that are forwarded unchanged are not parsed: a run of them is copied, and may be cut
//! anywhere, so that such a message need not fit into memory.
//!
//! Invariants:
//! 1. Bytes of each side are processed in order. Those not processed yet wait in its [`Input`].
//! 2. Until the server is ready, the client's messages reach it only as answers to its questions.
//! 3. After [`Session::has_ended`] nothing more is taken; bytes that wait are still sent.

use std::sync::Arc;

use crate::finisher::{FinisherAnswer, FinisherRequest};
use crate::target::ServerFacts;
use session_core::{Announced, Outbox, Watch};
use sqlstate::SqlState;
use wire_postgres::backend::{self, Failure};
use wire_postgres::frontend;
use wire_postgres::{FrameError, Header, Malformed};

mod answers;
mod arrays;
mod copying;
mod cursors;
mod due;
mod failure;
mod fetched;
mod finisher_link;
mod finisher_rows;
mod finishing;
pub(crate) mod format;
mod forms;
mod found;
mod gathering;
mod held_rows;
mod incoming;
mod load;
mod merging;
mod names;
mod own;
mod pieces;
mod pipeline;
mod portals;
mod prepared;
mod protected;
mod rows;
mod schema_view;
mod settings;
mod stale;
mod starting;
mod statements;
mod step;
mod terms;
mod texts;
mod transaction;
mod unconfirmed;
mod upserting;
mod watching;

use due::Due;
use incoming::{Input, Rest};
use protected::{Outputs, Protected};
pub use terms::{ServerKey, Terms};

/// When this many bytes wait to be sent to one side, the other side is not read.
pub const WAITING_MAX: usize = 256 * 1024;

/// One session.
#[derive(Debug)]
pub struct Session {
    /// Bytes for the client.
    pub to_client: Outbox,
    /// Bytes for the server.
    pub to_server: Outbox,
    terms: Terms,
    phase: Phase,
    /// Boxed, since it is large and missing without rules.
    protected: Option<Box<Protected>>,
    from_client: Input,
    from_server: Input,
    server_key: Option<ServerKey>,
    /// Used only without rules.
    due: Due,
    closing: Closing,
}

/// How a session ends.
#[derive(Debug, Default)]
struct Closing {
    /// It is to end as soon as it is between transactions.
    is_draining: bool,
    /// Whether client or server has announced the end of the session, so that no further error is
    /// sent to the client.
    told_the_end: bool,
    /// Whether an error in the client's messages ended it.
    client_erred: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The server has not accepted the client.
    Authenticating {
        /// The server offered channel binding, and the offer was removed for the client.
        offer_was_cut: bool,
        /// The client's next answer chooses a SASL mechanism.
        sasl_begins: bool,
        /// The server has asked the client to authenticate.
        was_asked: bool,
    },
    /// The server has accepted the client and is not ready yet. It must not ask for a password now.
    Starting,
    Ready,
    Ended,
}

/// What to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageAction {
    /// Forward it without parsing.
    Pass,
    /// Parse it as a whole.
    Read,
    /// Leave it, and all that follows, for later.
    Wait,
    /// Leave it, and all that follows, until the server has answered a query of the proxy's own.
    Ask,
    /// Drop it: the server would ignore it.
    Drop,
    /// Process its body piece by piece as it comes, whatever its size.
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Why a session ends.
#[derive(Debug)]
struct End(Failure);

impl End {
    fn unexpected() -> Self {
        let message = "the server gave an answer that was not expected";
        Self(Failure::fatal(SqlState::PROTOCOL_VIOLATION, message))
    }
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        let failure = Failure::fatal(SqlState::PROTOCOL_VIOLATION, error.to_string());
        Self(match error {
            FrameError::InvalidLength => failure,
            FrameError::TooLarge { .. } => {
                failure.hint("Raise max_message_bytes in the configuration of the proxy.")
            }
        })
    }
}

impl From<Malformed> for End {
    fn from(error: Malformed) -> Self {
        Self(Failure::fatal(
            SqlState::PROTOCOL_VIOLATION,
            error.to_string(),
        ))
    }
}

impl Session {
    /// A session whose startup packet is on its way to the server.
    pub fn new(mut terms: Terms) -> Self {
        let protection = terms.protection.take();
        let protected = protection.map(|(shared, database)| Protected::new(shared, database));
        Self {
            protected: protected.map(Box::new),
            to_client: Outbox::default(),
            to_server: Outbox::default(),
            terms,
            phase: Phase::Authenticating {
                offer_was_cut: false,
                sasl_begins: false,
                was_asked: false,
            },
            from_client: Input::default(),
            from_server: Input::default(),
            server_key: None,
            due: Due::default(),
            closing: Closing::default(),
        }
    }

    /// Takes bytes of the client.
    pub fn client_bytes(&mut self, bytes: &[u8]) {
        self.bytes(Side::Client, bytes);
    }

    /// Takes bytes of the server.
    pub fn server_bytes(&mut self, bytes: &[u8]) {
        self.bytes(Side::Server, bytes);
        self.take_held_rows();
        if !self.from_client.held.is_empty() {
            // It may have waited for this answer of the server.
            self.bytes(Side::Client, &[]);
        }
    }

    /// Notes that the client has closed its side.
    pub fn client_closed(&mut self) {
        self.phase = Phase::Ended;
    }

    /// Notes that the server has closed its side.
    pub fn server_closed(&mut self) {
        if self.phase != Phase::Ended {
            let message = "server closed the connection unexpectedly";
            self.end(&Failure::fatal(SqlState::CONNECTION_FAILURE, message));
        }
    }

    /// Ends the session as soon as it is between transactions, or at once.
    pub fn drain(&mut self, at_once: bool) {
        self.closing.is_draining = true;
        if self.phase != Phase::Ended && (at_once || self.is_between_transactions()) {
            // PostgreSQL's own message, which drivers recognise.
            let message = "terminating connection due to administrator command";
            self.end(&Failure::fatal(SqlState::ADMIN_SHUTDOWN, message));
        }
    }

    /// Whether the session takes no more bytes.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether the server has accepted the client and is ready.
    pub fn has_begun(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether an error in the client's messages ended it. The client may still be sending.
    pub fn client_erred(&self) -> bool {
        self.closing.client_erred
    }

    /// Whether more may be read from the client.
    pub fn wants_client(&self) -> bool {
        let protected = self.protected.as_ref();
        !self.has_ended()
            && protected.is_none_or(|protected| protected.wants_client())
            && self.to_server.waiting() < WAITING_MAX
            && (self.from_client.held.len() < WAITING_MAX
                || (self.has_begun() && self.client_message_is_cut()))
    }

    /// Whether more may be read from the server.
    pub fn wants_server(&self) -> bool {
        let protected = self.protected.as_ref();
        !self.has_ended()
            && protected.is_none_or(|protected| !protected.awaits_finisher())
            && self.to_client.waiting() < WAITING_MAX
    }

    /// The key for cancel requests. It is given once, as soon as it is known.
    pub fn take_server_key(&mut self) -> Option<ServerKey> {
        self.server_key.take()
    }

    /// What the server has said of itself.
    pub fn server_facts(&self) -> ServerFacts {
        self.terms.facts
    }

    /// The watch over its database, once the server has accepted the client.
    pub fn watch(&self) -> Option<Arc<Watch>> {
        self.protected.as_ref()?.watch().cloned()
    }

    /// Announced changes to wait for before more is sent to the client. Each is given once.
    pub fn take_announced(&mut self) -> Vec<Announced> {
        let protected = self.protected.as_mut();
        protected.map_or_else(Vec::new, |protected| protected.take_announced())
    }

    /// A question for the finisher, once. Nothing more is processed until the answer.
    pub fn take_finisher_request(&mut self) -> Option<FinisherRequest> {
        self.protected.as_mut()?.take_finisher_request()
    }

    /// Takes the finisher's answer, and then what has waited for it.
    pub fn finisher_answered(&mut self, answer: FinisherAnswer) {
        if self.phase == Phase::Ended {
            return;
        }
        match self.with_protected(|own, outputs| own.finisher_answered(answer, outputs)) {
            Ok(()) => self.server_bytes(&[]),
            Err(End(failure)) => self.end(&failure),
        }
    }

    fn is_between_transactions(&self) -> bool {
        let is_idle = match &self.protected {
            Some(protected) => protected.is_between_transactions(),
            None => self.due.is_between_transactions(),
        };
        let is_idle = is_idle && self.has_begun();
        is_idle && self.from_client.held.is_empty() && self.from_client.passing == 0
    }

    /// Whether the first message that waits is incomplete. CopyData is processed in pieces once its
    /// COPY has begun.
    fn client_message_is_cut(&self) -> bool {
        let held = &self.from_client.held;
        match Header::read(held, self.terms.message_size_max) {
            Ok(Some(header)) if header.kind == frontend::kind::COPY_DATA => false,
            Ok(Some(header)) => header.size > held.len(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    fn bytes(&mut self, side: Side, bytes: &[u8]) {
        let mut held = std::mem::take(&mut self.input(side).held);
        let taken = if held.is_empty() {
            self.take(side, bytes).map(|taken| {
                // Usually nothing is left, so nothing is copied.
                held.extend_from_slice(&bytes[taken..]);
            })
        } else {
            held.extend_from_slice(bytes);
            self.take(side, &held).map(|taken| {
                held.drain(..taken);
            })
        };
        match taken {
            Ok(()) if held.is_empty() => {}
            Ok(()) => self.input(side).held = held,
            Err(End(failure)) => {
                self.closing.client_erred |= side == Side::Client;
                self.end(&failure);
            }
        }
    }

    fn input(&mut self, side: Side) -> &mut Input {
        match side {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        }
    }

    /// Processes messages from the start of `bytes`. Returns how many bytes it took.
    fn take(&mut self, side: Side, bytes: &[u8]) -> Result<usize, End> {
        // Start of the run of bytes that is forwarded.
        let mut run = 0;
        let mut at = 0;
        while at < bytes.len() && !self.has_ended() {
            if self.input(side).passing > 0 {
                match self.take_piece(side, &bytes[at..])? {
                    0 => break,
                    size => at += size,
                }
                if self.input(side).rest != Rest::Passes {
                    run = at;
                }
                continue;
            }
            let Some(header) = Header::read(&bytes[at..], usize::MAX)? else {
                break;
            };
            self.check_size(side, header)?;
            match self.action(side, header.kind) {
                MessageAction::Pass => {
                    self.closing.told_the_end |=
                        (side, header.kind) == (Side::Client, frontend::kind::TERMINATE);
                    self.input(side).begin(header.size, Rest::Passes);
                }
                MessageAction::Drop => {
                    self.pass(side, &bytes[run..at]);
                    self.input(side).begin(header.size, Rest::IsDropped);
                }
                MessageAction::Copy => {
                    self.pass(side, &bytes[run..at]);
                    at += wire_postgres::HEADER_SIZE;
                    run = at;
                    let body_size = header.size - wire_postgres::HEADER_SIZE;
                    self.input(side).begin(body_size, Rest::IsCopied);
                }
                MessageAction::Wait => break,
                MessageAction::Ask => {
                    self.pass(side, &bytes[run..at]);
                    run = at;
                    self.ask_catalogues()?;
                    break;
                }
                MessageAction::Read => {
                    // The limit holds only for messages that are parsed.
                    Header::read(&bytes[at..], self.terms.message_size_max)?;
                    if !self.has_begun() && side == Side::Client && header.size > WAITING_MAX {
                        let message = "the message is too long for one before the login has ended";
                        return Err(End(Failure::fatal(SqlState::PROTOCOL_VIOLATION, message)));
                    }
                    let Some(message) = bytes.get(at..at + header.size) else {
                        break;
                    };
                    self.pass(side, &bytes[run..at]);
                    run = at;
                    if self.asks_first(side, header.kind, &bytes[at..])? {
                        break;
                    }
                    self.read(side, header.kind, message)?;
                    if self.reads_again(side) {
                        break;
                    }
                    at += header.size;
                    run = at;
                }
            }
        }
        self.pass(side, &bytes[run..at]);
        Ok(at)
    }

    fn pass(&mut self, side: Side, bytes: &[u8]) {
        match side {
            Side::Client => self.to_server.bytes.extend_from_slice(bytes),
            Side::Server => self.to_client.bytes.extend_from_slice(bytes),
        }
    }

    fn action(&mut self, side: Side, kind: u8) -> MessageAction {
        match (side, self.phase) {
            (_, Phase::Ended) => MessageAction::Wait,
            (Side::Server, Phase::Ready)
                if self
                    .protected
                    .as_ref()
                    .is_some_and(|own| own.awaits_finisher()) =>
            {
                MessageAction::Wait
            }
            (Side::Client, Phase::Authenticating { sasl_begins, .. }) => match kind {
                frontend::kind::PASSWORD if sasl_begins => MessageAction::Read,
                frontend::kind::PASSWORD | frontend::kind::TERMINATE => MessageAction::Pass,
                _ => MessageAction::Wait,
            },
            (Side::Client, Phase::Starting) => match kind {
                frontend::kind::TERMINATE => MessageAction::Pass,
                _ => MessageAction::Wait,
            },
            (Side::Server, Phase::Authenticating { .. } | Phase::Starting) => MessageAction::Read,
            (Side::Client, Phase::Ready) => {
                if let Some(protected) = &mut self.protected {
                    return protected.client_action(kind);
                }
                self.due.note_client(kind);
                MessageAction::Pass
            }
            (Side::Server, Phase::Ready) => match kind {
                backend::kind::READY_FOR_QUERY | backend::kind::ERROR => MessageAction::Read,
                _ => match &self.protected {
                    Some(protected) => protected.server_action(kind),
                    None => {
                        self.due.note_server(kind);
                        MessageAction::Pass
                    }
                },
            },
        }
    }

    fn read(&mut self, side: Side, kind: u8, message: &[u8]) -> Result<(), End> {
        let body = &message[wire_postgres::HEADER_SIZE..];
        if (side, kind) == (Side::Server, backend::kind::PARAMETER_STATUS) {
            self.read_setting(body)?;
        }
        if self.phase == Phase::Ready && self.protected.is_some() {
            return self.read_protected(side, kind, message);
        }
        match (side, kind) {
            (Side::Client, frontend::kind::PASSWORD) => self.read_sasl_choice(body)?,
            (Side::Client, _) => {}
            (Side::Server, backend::kind::AUTHENTICATION) => {
                return self.read_authentication(body, message);
            }
            (Side::Server, backend::kind::BACKEND_KEY_DATA) if !self.has_begun() => {
                return self.read_key(body);
            }
            (Side::Server, backend::kind::READY_FOR_QUERY) => {
                self.check_server()?;
                self.pass(side, message);
                return self.read_ready(body);
            }
            (Side::Server, backend::kind::ERROR) => self.read_error(body)?,
            (Side::Server, _) => {}
        }
        self.pass(side, message);
        Ok(())
    }

    fn read_protected(&mut self, side: Side, kind: u8, message: &[u8]) -> Result<(), End> {
        let body = &message[wire_postgres::HEADER_SIZE..];
        if (side, kind) == (Side::Server, backend::kind::ERROR) {
            self.read_error(body)?;
        }
        self.with_protected(|protected, outputs| match side {
            Side::Client => protected.client_message(kind, message, outputs),
            Side::Server => protected.server_message(kind, message, outputs),
        })?;
        if (side, kind) == (Side::Server, backend::kind::READY_FOR_QUERY) {
            self.read_ready(body)?;
        }
        Ok(())
    }

    fn with_protected(
        &mut self,
        act: impl FnOnce(&mut Protected, &mut Outputs<'_>) -> Result<(), End>,
    ) -> Result<(), End> {
        let Some(protected) = &mut self.protected else {
            return Ok(());
        };
        let mut outputs = Outputs {
            to_client: &mut self.to_client.bytes,
            to_server: &mut self.to_server.bytes,
        };
        act(protected, &mut outputs)
    }

    fn read_ready(&mut self, body: &[u8]) -> Result<(), End> {
        let [status] = *body else {
            return Err(Malformed.into());
        };
        self.due.note_status(status);
        self.due.note_server(backend::kind::READY_FOR_QUERY);
        if self.phase != Phase::Ready
            && let Some(protected) = &mut self.protected
        {
            protected.begin(status);
        }
        self.phase = Phase::Ready;
        if self.closing.is_draining {
            self.drain(false);
        }
        Ok(())
    }

    fn read_error(&mut self, body: &[u8]) -> Result<(), End> {
        self.closing.told_the_end |= protected::is_fatal(body)?;
        self.due.note_server(backend::kind::ERROR);
        Ok(())
    }

    fn end(&mut self, failure: &Failure) {
        self.phase = Phase::Ended;
        if let Some(protected) = &self.protected {
            protected.note_end(failure);
        }
        let client_is_between_messages = self.from_server.passing == 0;
        if !self.closing.told_the_end && client_is_between_messages {
            failure.write(&mut self.to_client.bytes);
        }
        self.closing.told_the_end = true;
    }
}

#[cfg(test)]
mod tests;
