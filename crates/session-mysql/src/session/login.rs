//! A login: the server's method, passed on between both legs.
//!
//! The proxy knows no password. It passes the server's nonce on, so that what the client answers is
//! what the server expects. Only where a method has the client say its password, the legs matter:
//!
//! 1. No client without TLS is led to say its password: the packet that asks for it is not passed
//!    on, and the client is refused. Some clients would say it in clear, because they were told to
//!    use TLS and do not look whether they do.
//! 2. A password goes to the server by TLS, by a socket of the file system, or encrypted with the
//!    server's key.
//! 3. Where the server might take the client for the user of the proxy's process, it must ask.

use wire_mysql::answer::{self, OkPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::greeting::NONCE_SIZE;
use wire_mysql::login::{self, Switch};
use wire_mysql::{Capabilities, Malformed, packet};
use zeroize::Zeroizing;

use super::{ClientLeg, ServerLeg};
use crate::front::answers_by_proof;
use crate::refusal::{Reason, Refusal};
use crate::rsa;

/// A method that no account has: with it the server asks for the account's own.
pub(super) const NO_PLUGIN: &[u8] = b"strongroom";

/// `caching_sha2_password`: the server knows the password's hash; OK follows.
const FAST_OK: &[u8] = &[3];
/// `caching_sha2_password`: the server needs the password itself.
const FULL: &[u8] = &[4];
/// `caching_sha2_password`: a request for the server's key.
const KEY_REQUEST: u8 = 2;
/// `sha256_password`: the same.
const KEY_REQUEST_OF_SHA256: u8 = 1;

/// What a method has the client say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// A proof that it knows the password.
    Proof,
    /// `caching_sha2_password`: a proof, and the password if the server has forgotten it.
    CachingSha2,
    /// `sha256_password`: the password.
    Sha256,
    /// It is not known, and may be the password.
    Unknown,
}

/// Who speaks next.
#[derive(Debug)]
enum Turn {
    Server,
    /// What the client answers passes.
    Client,
    /// What the client answers is its password, and goes to the server encrypted. The byte asks
    /// for the key.
    Password(u8),
    /// The server is to give its key for this password.
    Key(Zeroizing<Vec<u8>>),
}

/// How a login goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Somebody is to say more.
    GoesOn,
    /// The client is in; so is the session's state.
    In(Status),
    /// The server has refused it, and said why.
    Refused,
}

/// Payloads for both sides.
pub(super) struct Sides<'a> {
    pub(super) to_client: &'a mut Vec<u8>,
    pub(super) to_server: &'a mut Vec<u8>,
}

/// A login that goes on.
#[derive(Debug)]
pub(super) struct Exchange {
    method: Method,
    turn: Turn,
    /// The client has asked for the server's key by itself, and so does not say its password.
    asked_for_key: bool,
    /// The server must ask before it lets the client in.
    must_be_asked: bool,
    /// Numbers of the next packets of both legs.
    pub(super) client_sequence: u8,
    pub(super) server_sequence: u8,
}

/// The first answer of a client: by a method, before the server has said which it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstAnswer {
    /// It passes.
    Passes,
    /// It is kept from the server, which is asked for its own method in place of it.
    AskedAnew,
}

impl Exchange {
    /// A login that the client has begun, with the numbers of the next packets of both legs.
    /// `answer` is its answer by `plugin`.
    pub(super) fn begin(
        (plugin, answer): (&[u8], &[u8]),
        (client, server): (ClientLeg, ServerLeg),
        (client_sequence, server_sequence): (u8, u8),
    ) -> (Self, FirstAnswer) {
        let method = Method::of(plugin);
        // A client that asks for the key at once does so where it has no TLS, as the server does.
        let asks_for_key = method == Method::Sha256
            && answer == [KEY_REQUEST_OF_SHA256]
            && !client.is_private
            && !server.is_secure;
        let passes = (answers_by_proof(plugin) || asks_for_key) && !server.must_ask;
        let exchange = Self {
            method,
            turn: Turn::Server,
            asked_for_key: asks_for_key,
            must_be_asked: server.must_ask,
            client_sequence,
            server_sequence,
        };
        let first = match passes {
            true => FirstAnswer::Passes,
            false => FirstAnswer::AskedAnew,
        };
        (exchange, first)
    }

    /// Whether the client is to say something.
    pub(super) fn wants_client(&self) -> bool {
        matches!(self.turn, Turn::Client | Turn::Password(_))
    }

    /// Takes a payload of the client.
    pub(super) fn client_says(&mut self, payload: &[u8], sides: &mut Sides<'_>) {
        let turn = std::mem::replace(&mut self.turn, Turn::Server);
        let Turn::Password(request) = turn else {
            return self.tell_server(payload, sides);
        };
        // Without a password there is nothing to hide, and who asks for the key hides it himself.
        let is_said = !matches!(payload, [] | [0]) && payload != [request];
        if !is_said {
            return self.tell_server(payload, sides);
        }
        self.turn = Turn::Key(Zeroizing::new(payload.to_vec()));
        self.tell_server(&[request], sides);
    }

    /// Takes a payload of the server.
    pub(super) fn server_says(
        &mut self,
        payload: &[u8],
        capabilities: Capabilities,
        (client, server): (ClientLeg, ServerLeg),
        nonce: &mut [u8; NONCE_SIZE],
        sides: &mut Sides<'_>,
    ) -> Result<Progress, Refusal> {
        let first = *payload.first().ok_or(Malformed)?;
        let turn = std::mem::replace(&mut self.turn, Turn::Client);
        match (first, turn) {
            (answer::ERR, _) => {
                self.tell_client(payload, sides);
                return Ok(Progress::Refused);
            }
            (answer::OK, Turn::Server) => {
                if self.must_be_asked {
                    return Err(not_asked());
                }
                let ok = OkPacket::read(payload, capabilities)?;
                self.tell_client(payload, sides);
                return Ok(Progress::In(ok.status));
            }
            (login::SWITCH, Turn::Server) => {
                let switch = Switch::read(payload)?;
                self.switch(&switch, client, server)?;
                *nonce = switch.nonce().unwrap_or(*nonce);
                self.must_be_asked = false;
                self.tell_client(payload, sides);
            }
            (login::MORE, Turn::Key(password)) => {
                let pem = login::read_more(payload)?;
                let sealed = rsa::encrypt(pem, &password, nonce).map_err(|_| wrong_key())?;
                self.turn = Turn::Server;
                self.tell_server(&sealed, sides);
            }
            (login::MORE, Turn::Server) => {
                self.more(login::read_more(payload)?, client, server)?;
                self.tell_client(payload, sides);
            }
            (_, Turn::Server) if self.method == Method::Unknown => {
                self.tell_client(payload, sides);
            }
            _ => return Err(Malformed.into()),
        }
        Ok(Progress::GoesOn)
    }

    fn switch(
        &mut self,
        switch: &Switch<'_>,
        client: ClientLeg,
        server: ServerLeg,
    ) -> Result<(), Refusal> {
        let plugin = switch.plugin.unwrap_or(b"mysql_old_password");
        self.method = Method::of(plugin);
        if matches!(plugin, b"unix_socket" | b"auth_socket") {
            return Err(not_asked());
        }
        match self.method {
            Method::Proof | Method::CachingSha2 => {}
            Method::Sha256 if client.is_private && server.is_secure => {}
            Method::Sha256 if client.is_private => {
                self.turn = Turn::Password(KEY_REQUEST_OF_SHA256);
            }
            Method::Sha256 if self.asked_for_key && !server.is_secure => {}
            Method::Unknown if client.is_private && server.is_private => {}
            Method::Sha256 | Method::Unknown => {
                return Err(would_say_password(plugin, client));
            }
        }
        Ok(())
    }

    fn more(&mut self, data: &[u8], client: ClientLeg, server: ServerLeg) -> Result<(), Refusal> {
        match (self.method, data) {
            (Method::CachingSha2, FAST_OK) => self.turn = Turn::Server,
            (Method::CachingSha2, FULL) if !client.is_private => {
                return Err(would_say_password(b"caching_sha2_password", client));
            }
            (Method::CachingSha2, FULL) if !server.is_secure => {
                self.turn = Turn::Password(KEY_REQUEST);
            }
            // The server's key, which only a client gets that has asked for it; or what a method
            // of proofs goes on with.
            (Method::CachingSha2 | Method::Sha256 | Method::Proof | Method::Unknown, _) => {}
        }
        Ok(())
    }

    fn tell_client(&mut self, payload: &[u8], sides: &mut Sides<'_>) {
        packet::write_bytes(payload, &mut self.client_sequence, sides.to_client);
    }

    fn tell_server(&mut self, payload: &[u8], sides: &mut Sides<'_>) {
        packet::write_bytes(payload, &mut self.server_sequence, sides.to_server);
    }
}

impl Method {
    fn of(plugin: &[u8]) -> Self {
        match plugin {
            b"caching_sha2_password" => Self::CachingSha2,
            b"sha256_password" => Self::Sha256,
            proof if answers_by_proof(proof) => Self::Proof,
            _ => Self::Unknown,
        }
    }
}

/// The server lets in whom the system says it is: that is the user of the proxy.
fn not_asked() -> Refusal {
    let message = "the server lets this account in by the user of the operating system, and would \
                   take the client for the proxy's own: give the account a password, or connect \
                   to the server itself";
    Refusal::new(Reason::AccessDenied, message)
}

fn wrong_key() -> Refusal {
    let message = "the server gave no key to encrypt the password with: give the server an RSA \
                   key, or the proxy TLS towards it ([proxy.server_tls])";
    Refusal::new(Reason::Server, message)
}

/// The client would say its password where somebody may read it.
fn would_say_password(plugin: &[u8], client: ClientLeg) -> Refusal {
    /// Names of methods are short; this one is the server's word.
    const NAME_SIZE_MAX: usize = 64;
    let plugin = &plugin[..plugin.len().min(NAME_SIZE_MAX)];
    let plugin = String::from_utf8_lossy(plugin);
    let message = match client.is_private {
        false => format!(
            "the server asks for the password itself ({plugin}), and the connection to the proxy \
             has no TLS: connect with TLS (--ssl, --ssl-mode=REQUIRED), which the proxy offers \
             unless its configuration switches it off"
        ),
        true => format!(
            "the server asks for the password itself ({plugin}), and the proxy reaches it without \
             TLS: set [proxy.server_tls] in the configuration of the proxy"
        ),
    };
    Refusal::new(Reason::InsecureTransport, message)
}
