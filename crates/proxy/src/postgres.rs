//! A session before PostgreSQL, with what the proxy does for it besides moving its bytes: requests
//! to cancel, questions to the finisher, changes of the schema.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use session_core::{Outbox, StatementError, Watching};
use session_postgres::Session;
use session_postgres::finisher::FinisherAnswer;
use sqlstate::SqlState;
use tokio::task::JoinSet;

use crate::cancel::Ticket;
use crate::connection;
use crate::finishers::Finishers;
use crate::servers::Server;
use crate::shared::Shared;
use crate::watch;

/// A session, and what it has asked of the proxy.
pub struct Postgres {
    session: Session,
    /// Its server.
    server: Arc<Server>,
    /// Whether that is a standby, as it said last.
    is_standby: Option<bool>,
    shared: Arc<Shared>,
    ticket: Ticket,
    /// Its database is watched.
    watching: Option<Watching>,
    /// What the client waits for before it is sent more.
    announced: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The question to the finisher, at most one. It ends with the session.
    finishing: JoinSet<FinisherAnswer>,
}

impl Postgres {
    /// Nothing is asked yet. Its requests to cancel end with it.
    pub fn new(session: Session, ticket: Ticket, server: Arc<Server>, shared: Arc<Shared>) -> Self {
        Self {
            session,
            server,
            is_standby: None,
            shared,
            ticket,
            watching: None,
            announced: Vec::new(),
            finishing: JoinSet::new(),
        }
    }

    /// Takes a question to the finisher, and its answer to the session.
    fn ask_finisher(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(Finishers::Postgres(finishers)) = &self.shared.finishers
            && let Some(request) = self.session.take_finisher_request()
        {
            let finishers = Arc::clone(finishers);
            // Its sockets belong to the runtime that outlives all workers.
            let asking = async move { finishers.ask(request).await };
            let asking = self.finishing.spawn_on(asking, &self.shared.main);
            self.shared.cancels.asks(self.ticket, asking);
        }
        let Poll::Ready(Some(answer)) = self.finishing.poll_join_next(context) else {
            return false;
        };
        self.session
            .finisher_answered(answer.unwrap_or_else(|error| {
                FinisherAnswer::Failed(match error.is_cancelled() {
                    true => StatementError::statement(
                        SqlState::QUERY_CANCELED,
                        "canceling statement due to user request",
                    ),
                    false => StatementError::defect("the finisher's task has failed"),
                })
            }));
        true
    }

    fn note_watch(&mut self) {
        if self.watching.is_none()
            && let Some(watch) = self.session.watch()
        {
            // The client is let in once changes of the schema are heard of.
            self.announced
                .push(Box::pin(watch::listens(Arc::clone(&watch))));
            let server = Arc::clone(&self.server);
            self.watching = Some(watch::connection::begin(watch, server, &self.shared));
        }
        for announced in self.session.take_announced() {
            self.announced.push(Box::pin(watch::wait(announced)));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.shared.cancels.leave(self.ticket);
    }
}

impl connection::Session for Postgres {
    fn client_bytes(&mut self, bytes: &[u8]) {
        self.session.client_bytes(bytes);
    }

    fn server_bytes(&mut self, bytes: &[u8]) {
        self.session.server_bytes(bytes);
        let is_standby = self.session.server_facts().is_standby;
        if is_standby != self.is_standby
            && let Some(said) = is_standby
        {
            self.is_standby = is_standby;
            self.shared.note_role(&self.server, said);
        }
        if let Some(key) = self.session.take_server_key() {
            self.shared.cancels.learn(self.ticket, key);
        }
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
        if self.shared.config.watch.is_some() {
            self.note_watch();
        }
        self.ask_finisher(context)
    }

    fn holds_client_back(&mut self, context: &mut Context<'_>) -> bool {
        self.announced
            .retain_mut(|announced| announced.as_mut().poll(context).is_pending());
        !self.announced.is_empty()
    }
}
