//! The circumstances of a session.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use session_core::Protection;
use wire_mysql::greeting::Greeting;
use wire_mysql::login::Login;

use super::killing::Elsewhere;

/// The client's side of a session.
#[derive(Clone, Copy, Debug)]
pub struct ClientLeg {
    /// Whether nobody on the way can read: it is TLS, or a socket of the file system.
    pub is_private: bool,
    /// The number of the next packet.
    pub sequence: u8,
}

/// The server's side of a session.
#[derive(Clone, Copy, Debug)]
pub struct ServerLeg {
    /// Whether it has TLS.
    pub is_tls: bool,
    /// Whether the server takes passwords in clear: it is TLS, or a socket of the file system.
    pub is_secure: bool,
    /// Whether nobody on the way can read: that, or the same machine.
    pub is_private: bool,
    /// Whether the server must ask before it lets a client in. Otherwise it might take the client
    /// for the user of the proxy's process.
    pub must_ask: bool,
    /// The number of the next packet.
    pub sequence: u8,
}

/// The circumstances of a session.
#[derive(Debug)]
pub struct Terms<'a> {
    /// What the server has said.
    pub greeting: &'a Greeting<'a>,
    /// What the client has said to it.
    pub login: &'a Login<'a>,
    /// The way to the client.
    pub client: ClientLeg,
    /// The way to the server.
    pub server: ServerLeg,
    /// Rules and keys. None: everything passes.
    pub protection: Option<Arc<Protection>>,
    /// None: there is one server alone.
    pub among: Option<Among<'a>>,
}

/// What a session knows of its server among several.
#[derive(Clone, Debug)]
pub struct Among<'a> {
    /// The server's name, under which sessions share what they know of its tables.
    pub server: &'a str,
    /// Whether it is a node of Galera, which sees later what was changed on another one. The
    /// monitor may find that out after the session has begun.
    pub is_galera: Arc<AtomicBool>,
    /// Which sessions are on other servers.
    pub elsewhere: Elsewhere,
}

/// The way between client and server.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) legs: (ClientLeg, ServerLeg),
    /// None: there are no other servers.
    pub(super) elsewhere: Option<Elsewhere>,
}
