//! A session takes bytes of the client and of the server, and gives bytes for both. It does no I/O.
//!
//! Packets that pass are not put together: a run of them is copied, and may be cut anywhere, so
//! that rows and statements of any size pass in little memory.
//!
//! Invariants:
//! 1. Bytes of each side are processed in order. Those not processed yet wait in its [`Input`].
//! 2. Each command that the server answers has a [`Due`], in the order of the commands. What the
//!    server says belongs to the first of them.
//! 3. What the proxy answers by itself waits until nothing is due, and so does a new login.
//! 4. After [`Session::has_ended`] nothing more is taken; bytes that wait are still sent.
//! 5. With rules, [`protected`] has the say over each command: see the invariants there.

use std::collections::VecDeque;

use session_core::Outbox;
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::command::{ChangeUser, kind};
use wire_mysql::greeting::NONCE_SIZE;
use wire_mysql::packet::{self, Extent, HEADER_SIZE, Header, PIECE_SIZE_MAX, PacketError};
use wire_mysql::{Capabilities, Malformed};

use crate::front::{LOGIN_SIZE_MAX, login_for_server};
use crate::refusal::{Reason, Refusal};

mod answers;
mod input;
mod killing;
mod login;
mod protected;
mod ruled;
mod several;
mod terms;

use answers::{Course, Due, Need, course, need};
use input::{Fate, Input};
pub use killing::Elsewhere;
use login::{Exchange, FirstAnswer, NO_PLUGIN, Progress, Sides};
use protected::Protected;
use terms::Way;
pub use terms::{Among, ClientLeg, ServerLeg, Terms};

/// When this many bytes wait to be sent to one side, the other side is not read.
pub const WAITING_MAX: usize = 256 * 1024;

/// Commands that a client may send before it has the answer to the first of them.
const DUE_MAX: usize = 1024;

/// One session.
#[derive(Debug)]
pub struct Session {
    /// Bytes for the client.
    pub to_client: Outbox,
    /// Bytes for the server.
    pub to_server: Outbox,
    way: Way,
    /// What both sides have agreed on.
    capabilities: Capabilities,
    phase: Phase,
    from_client: Input,
    from_server: Input,
    /// What the method of the login answers to.
    nonce: [u8; NONCE_SIZE],
    due: VecDeque<Due>,
    /// What the server has said last of the session's state.
    status: Status,
    closing: Closing,
    /// None: there are no rules.
    protected: Option<Box<Protected>>,
}

/// How a session ends.
#[derive(Debug, Default)]
struct Closing {
    /// The server has let the client in, once.
    has_begun: bool,
    /// It is to end as soon as it is between transactions.
    is_draining: bool,
    /// Whether client or server has announced the end, so that no error is sent to the client.
    told_the_end: bool,
    /// Whether an error in the client's packets ended it.
    client_erred: bool,
}

#[derive(Debug)]
enum Phase {
    /// The client logs in, or is another user from now on.
    LoggingIn(Exchange),
    Ready,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Session {
    /// A session whose client has sent its login. It goes to the server.
    ///
    /// # Errors
    /// The login cannot be passed on.
    pub fn new(terms: &Terms<'_>) -> Result<Self, Refusal> {
        let legs = (terms.client, terms.server);
        let sequences = (terms.client.sequence, terms.server.sequence);
        let among = terms.among.as_ref();
        let elsewhere = among.map(|among| among.elsewhere.clone());
        let protection = terms.protection.clone();
        let leg = (terms.server.is_tls, protection.is_some());
        let mut login = login_for_server(terms.login, terms.greeting, leg)?;
        let said = (login.plugin, login.answer);
        let (mut exchange, first) = Exchange::begin(said, legs, sequences);
        let capabilities = login.head.capabilities;
        if first == FirstAnswer::AskedAnew {
            check_is_asked(capabilities)?;
            login.plugin = NO_PLUGIN;
            login.answer = &[];
        }
        let mut to_server = Outbox::default();
        let sequence = &mut exchange.server_sequence;
        packet::write(sequence, &mut to_server.bytes, |out| login.write(out));
        Ok(Self {
            to_client: Outbox::default(),
            to_server,
            way: Way { legs, elsewhere },
            capabilities,
            phase: Phase::LoggingIn(exchange),
            from_client: Input::default(),
            from_server: Input::default(),
            nonce: terms.greeting.nonce,
            due: VecDeque::new(),
            status: terms.greeting.status,
            closing: Closing::default(),
            protected: protection.map(|rules| Protected::boxed(rules, among)),
        })
    }

    /// Takes bytes of the client.
    pub fn client_bytes(&mut self, bytes: &[u8]) {
        self.bytes(Side::Client, bytes);
    }

    /// Takes bytes of the server.
    pub fn server_bytes(&mut self, bytes: &[u8]) {
        self.bytes(Side::Server, bytes);
        self.go_on();
    }

    /// Notes that the client has closed its side.
    pub fn client_closed(&mut self) {
        self.phase = Phase::Ended;
        self.end_protected();
    }

    /// Notes that the server has closed its side. A client that is in sees the same, as it would
    /// without a proxy: its driver has a number of its own for that, by which pools know that the
    /// connection is lost.
    pub fn server_closed(&mut self) {
        self.closing.told_the_end |= matches!(self.phase, Phase::Ready);
        let message = "the server closed the connection";
        self.end(&Refusal::new(Reason::Server, message));
    }

    /// Notes that the client has taken too long until the server let it in.
    pub fn start_timed_out(&mut self) {
        let message = "the login took longer than startup_timeout_seconds";
        self.end(&Refusal::new(Reason::TimedOut, message));
    }

    /// Ends the session as soon as it is between transactions, or at once.
    pub fn drain(&mut self, at_once: bool) {
        self.closing.is_draining = true;
        if at_once || self.is_between_transactions() {
            let message = "the proxy is shutting down";
            self.end(&Refusal::new(Reason::ShuttingDown, message));
        }
    }

    /// Whether the session takes no more bytes.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Whether the server has let the client in.
    pub fn has_begun(&self) -> bool {
        self.closing.has_begun
    }

    /// Whether an error in the client's packets ended it. The client may still be sending.
    pub fn client_erred(&self) -> bool {
        self.closing.client_erred
    }

    /// Whether more may be read from the client.
    pub fn wants_client(&self) -> bool {
        !self.has_ended()
            && self.due.len() < DUE_MAX
            && self.to_server.waiting() < WAITING_MAX
            && (self.from_client.held.len() < WAITING_MAX || self.gathers_command())
    }

    /// Whether more may be read from the server.
    pub fn wants_server(&self) -> bool {
        !self.has_ended() && self.to_client.waiting() < WAITING_MAX
    }

    fn is_logging_in(&self) -> bool {
        matches!(self.phase, Phase::LoggingIn(_))
    }

    fn is_between_transactions(&self) -> bool {
        matches!(self.phase, Phase::Ready)
            && !self.is_busy()
            && self.from_client.is_between_payloads()
            && !self.status.has(Status::IN_TRANSACTION)
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
            Ok(()) => self.input(side).held = held,
            Err(refusal) => {
                self.closing.client_erred |= side == Side::Client;
                self.end(&refusal);
            }
        }
    }

    fn input(&mut self, side: Side) -> &mut Input {
        match side {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        }
    }

    fn pass(&mut self, side: Side, bytes: &[u8]) {
        match side {
            Side::Client => self.to_server.bytes.extend_from_slice(bytes),
            Side::Server => self.to_client.bytes.extend_from_slice(bytes),
        }
    }

    /// Processes packets from the start of `bytes`. Returns how many bytes it took.
    fn take(&mut self, side: Side, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while !self.has_ended() {
            let rest = &bytes[at..];
            let is_between = self.input(side).is_between_payloads();
            let before = self.to_client.bytes.len();
            let taken = match (side, is_between) {
                _ if self.is_logging_in() => self.take_of_login(side, rest),
                (_, false) => self.take_piece(side, rest),
                (Side::Client, true) if self.protected.is_some() => self.take_ruled_command(rest),
                (Side::Client, true) => self.take_command(rest),
                (Side::Server, true) if self.reads_answer() => self.take_ruled_answer(rest),
                (Side::Server, true) => self.take_answer(rest),
            };
            self.take_several(before)?;
            let size = taken?;
            if size == 0 {
                break;
            }
            at += size;
        }
        Ok(at)
    }

    /// More of a payload that has begun.
    fn take_piece(&mut self, side: Side, bytes: &[u8]) -> Result<usize, Refusal> {
        let input = self.input(side);
        let fate = input.fate;
        let (size, further) = input.take(bytes)?;
        if further
            && fate == Fate::IsAnswered
            && let Some(Due { first_sequence, .. }) = self.due.back_mut()
        {
            // The server counts the client's packets, too.
            *first_sequence = first_sequence.map(|sequence| sequence.wrapping_add(1));
        }
        if fate != Fate::IsDropped {
            self.pass(side, &bytes[..size]);
        } else if self.from_client.is_between_payloads() {
            self.refuse_command();
        }
        Ok(size)
    }

    fn take_command(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let Some(header) = Header::read(bytes) else {
            return Ok(0);
        };
        check_sequence(header, 0)?;
        if header.length == 0 {
            return Err(Malformed.into());
        }
        let Some(&command) = bytes.get(HEADER_SIZE) else {
            return Ok(0);
        };
        if self.due.len() >= DUE_MAX {
            return Ok(0);
        }
        if let Some(size) = self.take_kill(bytes, header) {
            return Ok(size);
        }
        let mut fate = Fate::Passes;
        match course(command) {
            Course::Answer(step) => {
                fate = Fate::IsAnswered;
                self.due.push_back(Due {
                    step,
                    first_sequence: Some(1),
                });
            }
            Course::Silence => {}
            Course::Quit => self.closing.told_the_end = true,
            // Each waits until it is the proxy's turn to speak.
            Course::ChangeUser | Course::Refused if !self.due.is_empty() => return Ok(0),
            Course::ChangeUser => return self.change_user(bytes),
            Course::Refused => fate = Fate::IsDropped,
        }
        self.from_client.begin(header, fate);
        self.take_piece(Side::Client, bytes)
    }

    /// Answers a command that was not passed on.
    fn refuse_command(&mut self) {
        let message = "this command does not pass the proxy; connect to the server itself for \
                       replication and cloning";
        let mut sequence = self.from_client.next_sequence;
        let refusal = Refusal::new(Reason::NotSupported, message);
        refusal.write(&mut sequence, &mut self.to_client.bytes);
    }

    fn take_answer(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let Some(header) = Header::read(bytes) else {
            return Ok(0);
        };
        let first = bytes.get(HEADER_SIZE).copied();
        let Some(&Due { step, .. }) = self.due.front() else {
            return self.take_unasked(bytes, header, first);
        };
        let Some(mut need) = need(step, header, first, self.capabilities) else {
            return Ok(0);
        };
        let is_definition = self.is_read(step) && need == Need::Nothing;
        if is_definition {
            need = Need::Whole;
        }
        let is_error = first == Some(answer::ERR) && need == Need::Whole;
        // A server that refuses a payload before it has all of it counts otherwise.
        if !is_error {
            check_sequence(header, self.answer_sequence())?;
        }
        let next = match need {
            Need::Nothing => step.passed(self.capabilities),
            Need::Whole => {
                if header.goes_on() {
                    let size_max = PIECE_SIZE_MAX - 1;
                    return Err(PacketError::TooLarge { size_max }.into());
                }
                let Some(payload) = bytes.get(HEADER_SIZE..HEADER_SIZE + header.length) else {
                    return Ok(0);
                };
                if let Some(protected) = &mut self.protected {
                    protected.passes(step, payload)?;
                }
                match is_definition {
                    true => step.passed(self.capabilities),
                    false => step.read(payload, self.capabilities, &mut self.status)?,
                }
            }
        };
        self.from_server.begin(header, Fate::Passes);
        let size = self.take_piece(Side::Server, bytes)?;
        self.answered(next);
        Ok(size)
    }

    /// The number of the packet with which the answer that is due goes on. A client that asks
    /// nothing takes what comes for the answer to what it asks next.
    fn answer_sequence(&self) -> u8 {
        if let Some(sequence) = self.protected.as_ref().and_then(|own| own.sequence()) {
            return sequence;
        }
        let first = self.due.front().map_or(Some(1), |due| due.first_sequence);
        first.unwrap_or(self.from_server.next_sequence)
    }

    /// Notes what follows of an answer.
    fn answered(&mut self, next: Option<answers::Step>) {
        match (next, self.due.front_mut()) {
            (Some(step), Some(due)) => {
                let first_sequence = None;
                *due = Due {
                    step,
                    first_sequence,
                };
            }
            _ => {
                self.due.pop_front();
                if let Some(protected) = &mut self.protected {
                    protected.passed();
                }
            }
        }
        if self.closing.is_draining {
            self.drain(false);
        }
    }

    /// A server says why it ends a connection on which nothing was asked.
    fn take_unasked(
        &mut self,
        bytes: &[u8],
        header: Header,
        first: Option<u8>,
    ) -> Result<usize, Refusal> {
        match first {
            None if header.length > 0 => return Ok(0),
            Some(answer::ERR) if !header.goes_on() => {}
            _ if self.closing.told_the_end => {}
            _ => {
                let message = "the server says something that it was not asked";
                return Err(Refusal::new(Reason::Server, message));
            }
        }
        self.closing.told_the_end = true;
        self.from_server.begin(header, Fate::Passes);
        self.take_piece(Side::Server, bytes)
    }

    /// Begins a login on a connection that is open.
    fn change_user(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let Some(extent) = Extent::read(bytes, LOGIN_SIZE_MAX)? else {
            return Ok(0);
        };
        let mut joined = Vec::new();
        let payload = extent.payload(bytes, &mut joined);
        let mut change = ChangeUser::read(&payload[1..], self.capabilities)?;
        let plugin = change.plugin.unwrap_or(b"mysql_native_password");
        let sequences = (extent.next_sequence(), extent.next_sequence());
        let said = (plugin, change.answer);
        let (exchange, first) = Exchange::begin(said, self.way.legs, sequences);
        match first {
            FirstAnswer::Passes => self.pass(Side::Client, &bytes[..extent.size()]),
            FirstAnswer::AskedAnew => {
                check_is_asked(self.capabilities)?;
                change.plugin = Some(NO_PLUGIN);
                change.answer = &[];
                packet::write(&mut 0, &mut self.to_server.bytes, |out| {
                    out.push(kind::CHANGE_USER);
                    change.write(self.capabilities, out);
                });
            }
        }
        self.phase = Phase::LoggingIn(exchange);
        Ok(extent.size())
    }

    /// A packet of a login, which is read as a whole.
    fn take_of_login(&mut self, side: Side, bytes: &[u8]) -> Result<usize, Refusal> {
        let Phase::LoggingIn(exchange) = &mut self.phase else {
            return Ok(0);
        };
        if side == Side::Client && !exchange.wants_client() {
            return Ok(0);
        }
        let Some(extent) = Extent::read(bytes, LOGIN_SIZE_MAX)? else {
            return Ok(0);
        };
        let mut joined = Vec::new();
        let payload = extent.payload(bytes, &mut joined);
        let mut sides = Sides {
            to_client: &mut self.to_client.bytes,
            to_server: &mut self.to_server.bytes,
        };
        let sequence = match side {
            Side::Client => &mut exchange.client_sequence,
            Side::Server => &mut exchange.server_sequence,
        };
        let (expected, found) = (*sequence, extent.first_sequence);
        let is_error = side == Side::Server && payload.first() == Some(&answer::ERR);
        if expected != found && !is_error {
            return Err(PacketError::OutOfOrder { expected, found }.into());
        }
        *sequence = extent.next_sequence();
        if side == Side::Client {
            exchange.client_says(payload, &mut sides);
            return Ok(extent.size());
        }
        let (capabilities, legs) = (self.capabilities, self.way.legs);
        let said = exchange.server_says(payload, capabilities, legs, &mut self.nonce, &mut sides);
        match said? {
            Progress::GoesOn => {}
            Progress::In(status) => {
                self.status = status;
                self.closing.has_begun = true;
                self.phase = Phase::Ready;
                if self.closing.is_draining {
                    self.drain(false);
                }
            }
            Progress::Refused => {
                self.closing.told_the_end = true;
                self.phase = Phase::Ended;
            }
        }
        Ok(extent.size())
    }

    /// Ends the session, and tells the client why, where it can be told.
    fn end(&mut self, refusal: &Refusal) {
        let mut sequence = match &self.phase {
            Phase::Ended => return,
            Phase::LoggingIn(exchange) => exchange.client_sequence,
            Phase::Ready => self.told_sequence(),
        };
        self.phase = Phase::Ended;
        self.end_protected();
        if !self.closing.told_the_end && self.from_server.is_between_payloads() {
            refusal.write(&mut sequence, &mut self.to_client.bytes);
        }
        self.closing.told_the_end = true;
    }
}

/// Where the server has to ask, it must be able to name its method.
fn check_is_asked(capabilities: Capabilities) -> Result<(), Refusal> {
    match capabilities.has(Capabilities::PLUGIN_AUTH) {
        true => Ok(()),
        false => {
            let message = "the client knows no methods of login by name, as the proxy needs it \
                           here; use a newer client";
            Err(Refusal::new(Reason::NotSupported, message))
        }
    }
}

fn check_sequence(header: Header, expected: u8) -> Result<(), PacketError> {
    let found = header.sequence;
    match found == expected {
        true => Ok(()),
        false => Err(PacketError::OutOfOrder { expected, found }),
    }
}

#[cfg(test)]
mod tests;
