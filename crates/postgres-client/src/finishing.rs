//! Questions of a session to the finisher.

use std::task::{Context, Poll, ready};

use finisher_postgres::Finishers;
use session_core::StatementError;
use session_postgres::Session;
use session_postgres::finisher::FinisherAnswer;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// Whom sessions ask.
#[derive(Clone, Default)]
pub(crate) struct Asking {
    /// None: there are none.
    pub finishers: Option<Finishers>,
    /// Where their sockets are driven. None: where the session is.
    pub runtime: Option<Handle>,
}

/// What one session has asked.
pub(crate) struct Finishing {
    asking: Asking,
    /// At most one. It ends with the connection.
    question: JoinSet<FinisherAnswer>,
}

impl Finishing {
    /// Nothing is asked yet.
    pub(crate) fn new(asking: Asking) -> Self {
        Self {
            asking,
            question: JoinSet::new(),
        }
    }

    /// Whether no answer is waited for.
    pub(crate) fn is_idle(&self) -> bool {
        self.question.is_empty()
    }

    /// Takes a question to the finisher, and its answer to the session. Ready: the session goes on.
    pub(crate) fn poll(&mut self, session: &mut Session, context: &mut Context<'_>) -> Poll<()> {
        if let Some(finishers) = &self.asking.finishers
            && let Some(request) = session.take_finisher_request()
        {
            let finishers = finishers.clone();
            let asking = async move { finishers.ask(request).await };
            match &self.asking.runtime {
                Some(runtime) => self.question.spawn_on(asking, runtime),
                None => self.question.spawn(asking),
            };
        }
        let Some(answer) = ready!(self.question.poll_join_next(context)) else {
            return Poll::Pending;
        };
        session.finisher_answered(answer.unwrap_or_else(|_| {
            FinisherAnswer::Failed(StatementError::defect("the finisher's task has failed"))
        }));
        Poll::Ready(())
    }
}
