//! A session before MySQL or MariaDB, its number at its server, and its questions to the finisher.

use std::sync::Arc;
use std::task::{Context, Poll};

use session_core::{Outbox, StatementError};
use session_mysql::Session;
use session_mysql::finisher::FinisherAnswer;
use tokio::task::JoinSet;

use super::threads::Thread;
use crate::connection;
use crate::finishers::Finishers;
use crate::shared::Shared;

/// See the module.
pub struct MySql {
    session: Session,
    shared: Arc<Shared>,
    /// None: there is one server alone.
    _thread: Option<Thread>,
    /// The question to the finisher, at most one. It ends with the session.
    finishing: JoinSet<FinisherAnswer>,
}

impl MySql {
    /// Nothing is asked yet.
    pub fn new(session: Session, shared: &Arc<Shared>, thread: Option<Thread>) -> Self {
        Self {
            session,
            shared: Arc::clone(shared),
            _thread: thread,
            finishing: JoinSet::new(),
        }
    }

    /// Takes a question to the finisher, and its answer to the session.
    fn ask_finisher(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(Finishers::MySql(finishers)) = &self.shared.finishers
            && let Some(request) = self.session.take_finisher_request()
        {
            let finishers = Arc::clone(finishers);
            // Its sockets belong to the runtime that outlives all workers.
            let asking = async move { finishers.ask(request).await };
            self.finishing.spawn_on(asking, &self.shared.main);
        }
        let Poll::Ready(Some(answer)) = self.finishing.poll_join_next(context) else {
            return false;
        };
        self.session.finisher_answered(answer.unwrap_or_else(|_| {
            FinisherAnswer::Failed(StatementError::defect("the finisher's task has failed"))
        }));
        true
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

    fn poll_others(&mut self, context: &mut Context<'_>) -> bool {
        self.ask_finisher(context)
    }
}
