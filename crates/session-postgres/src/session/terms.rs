//! The circumstances of a session.

use std::sync::Arc;

use session_core::{Database, Protection};

use crate::target::{ServerFacts, Target};

/// The circumstances of a session.
#[derive(Debug, Default)]
pub struct Terms {
    /// Whether the client is connected by TLS.
    pub client_tls: bool,
    /// Whether the server is connected by TLS.
    pub server_tls: bool,
    /// Whether proxy and server show the same certificate, so that the client's channel binding is
    /// the one that the server expects.
    pub certificate_is_shared: bool,
    /// Whether the server must authenticate the client. Otherwise it might take the client for the
    /// user of the proxy's process.
    pub must_be_asked: bool,
    /// Limit of a message that is parsed, in bytes.
    pub message_size_max: usize,
    /// The secret for the client's cancel requests, truncated to the size of the server's. None:
    /// the client gets the server's own, and asks the server itself.
    pub cancel_key: Option<[u8; 32]>,
    /// Rules and the database. None: everything is forwarded unchanged.
    pub protection: Option<(Arc<Protection>, Database)>,
    /// Which servers it may be on.
    pub target: Target,
    /// What is known of the server before it says it itself.
    pub facts: ServerFacts,
}

/// What the server expects in a request to cancel a statement of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerKey {
    /// The server's process.
    pub process_id: u32,
    /// Its secret.
    pub key: Vec<u8>,
}
