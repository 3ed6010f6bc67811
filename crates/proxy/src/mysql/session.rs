//! A session before MySQL or MariaDB, and its server.

use session_core::Outbox;
use session_mysql::Session;

use super::threads::Thread;
use crate::connection;

/// A session, and its number at its server.
pub struct MySql {
    session: Session,
    /// None: there is one server alone.
    _thread: Option<Thread>,
}

impl MySql {
    pub fn new(session: Session, thread: Option<Thread>) -> Self {
        Self {
            session,
            _thread: thread,
        }
    }
}

impl connection::Session for MySql {
    fn client_bytes(&mut self, bytes: &[u8]) {
        self.session.client_bytes(bytes);
    }

    fn server_bytes(&mut self, bytes: &[u8]) {
        self.session.server_bytes(bytes);
    }

    fn client_closed(&mut self) {
        self.session.client_closed();
    }

    fn server_closed(&mut self) {
        self.session.server_closed();
    }

    fn start_timed_out(&mut self) {
        self.session.start_timed_out();
    }

    fn drain(&mut self, at_once: bool) {
        self.session.drain(at_once);
    }

    fn wants_client(&self) -> bool {
        self.session.wants_client()
    }

    fn wants_server(&self) -> bool {
        self.session.wants_server()
    }

    fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    fn has_ended(&self) -> bool {
        self.session.has_ended()
    }

    fn client_erred(&self) -> bool {
        self.session.client_erred()
    }

    fn to_client(&mut self) -> &mut Outbox {
        &mut self.session.to_client
    }

    fn to_server(&mut self) -> &mut Outbox {
        &mut self.session.to_server
    }
}
