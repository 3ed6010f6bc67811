//! What sessions hear of the connection by which the rim (the proxy) watches their database.
//!
//! What is known of a schema is held under a lease: who has not heard from the server for so long
//! plans nothing for that database. So whoever waits for another proxy waits no longer than that.
//! Nothing here waits by a clock: the rim puts the lease as a limit around each wait.

use std::future::pending;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot};

use crate::statement_error::StatementError;

/// A change that was announced.
#[derive(Debug)]
pub struct Announced {
    /// Told when every proxy has confirmed it.
    confirmed: oneshot::Receiver<()>,
    lease: Duration,
}

impl Announced {
    /// Ends when every proxy has confirmed the change; never, where the connection has ended, and
    /// with it the knowledge of who has confirmed.
    pub async fn all_confirmed(self) {
        if self.confirmed.await.is_err() {
            pending::<()>().await;
        }
    }

    /// How long to wait for that at most.
    pub fn lease(&self) -> Duration {
        self.lease
    }
}

/// Changes that are to be announced, and whom to tell when every proxy has confirmed one.
pub type Requests = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

/// The watch over a database.
#[derive(Debug)]
pub struct Watch {
    /// The name that the database has, as far as it is text.
    name: Option<String>,
    /// By what its schema is known.
    known_as: String,
    lease: Duration,
    began: Instant,
    /// One more than the milliseconds since then at which a question was asked that the server has
    /// answered. 0: the connection has not shown to others yet that it listens.
    heard_ms: AtomicU64,
    /// That has become later.
    heard: Notify,
    announce: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// None: the connection's task has it.
    requests: Mutex<Option<Requests>>,
    sessions: AtomicUsize,
}

impl Watch {
    /// The watch over a database of this name, which nobody has heard of yet.
    pub fn new(name: &[u8], known_as: &str, lease: Duration) -> Self {
        let (announce, requests) = mpsc::unbounded_channel();
        Self {
            name: std::str::from_utf8(name).ok().map(str::to_owned),
            known_as: known_as.to_owned(),
            lease,
            began: Instant::now(),
            heard_ms: AtomicU64::new(0),
            heard: Notify::new(),
            announce,
            requests: Mutex::new(Some(requests)),
            sessions: AtomicUsize::new(0),
        }
    }

    /// The name that the database has, as far as it is text.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// By what its schema is known.
    pub fn known_as(&self) -> &str {
        &self.known_as
    }

    /// How long statements are planned without that the server was heard of.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Refuses to go by what is known, where the server was not heard of for too long.
    ///
    /// # Errors
    /// The lease has ended.
    pub fn check(&self, now: Instant) -> Result<(), StatementError> {
        if self.has_heard(now) {
            return Ok(());
        }
        let message = "the proxy's own connection to this database is down, so that it would not \
                       hear of changes to the schema";
        let hint = "Statements go on when it is back. The proxy's log says what is wrong; see \
                    [proxy.watch] in its configuration.";
        Err(StatementError::rules(message).hint(hint))
    }

    fn has_heard(&self, now: Instant) -> bool {
        let heard_ms = self.heard_ms.load(Ordering::Acquire).checked_sub(1);
        heard_ms.is_some_and(|heard_ms| {
            let heard = self.began + Duration::from_millis(heard_ms);
            now.saturating_duration_since(heard) <= self.lease
        })
    }

    /// Ends when the server was heard of within the lease.
    pub async fn until_heard(&self) {
        loop {
            let mut heard = std::pin::pin!(self.heard.notified());
            // First listen, then look: what is heard in between is not missed.
            heard.as_mut().enable();
            if self.has_heard(Instant::now()) {
                return;
            }
            heard.await;
        }
    }

    /// Has all proxies told that the schema changed.
    pub fn announce(&self) -> Announced {
        let (done, confirmed) = oneshot::channel();
        // Where nobody takes it, whoever waits for it is told at once.
        let _ = self.announce.send(done);
        Announced {
            confirmed,
            lease: self.lease,
        }
    }

    /// A question that was asked then has an answer.
    pub fn note_heard(&self, asked: Instant) {
        let since = asked.saturating_duration_since(self.began);
        let since_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.heard_ms
            .fetch_max(since_ms.saturating_add(1), Ordering::Release);
        self.heard.notify_waiters();
    }

    /// A session of the database begins.
    pub fn begin_session(self: &Arc<Self>) -> Watching {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Watching(Arc::clone(self))
    }

    /// For the task that keeps the connection. None: there is one that has them.
    pub fn take_requests(&self) -> Option<Requests> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The task ends, unless a session has begun meanwhile.
    pub fn give_back(&self, requests: Requests) -> Option<Requests> {
        let own = self.requests.lock();
        *own.unwrap_or_else(PoisonError::into_inner) = Some(requests);
        match self.sessions.load(Ordering::SeqCst) {
            0 => None,
            _ => self.take_requests(),
        }
    }

    /// Whether a session of the database goes on.
    pub fn is_wanted(&self) -> bool {
        self.sessions.load(Ordering::SeqCst) > 0
    }
}

/// A session whose database is watched.
#[derive(Debug)]
pub struct Watching(Arc<Watch>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_planned_once_the_lease_has_ended() {
        let watch = Watch::new(b"base", "base", Duration::from_secs(10));
        let at = |seconds: u64| watch.began + Duration::from_secs(seconds);
        let failure = watch.check(at(0)).expect_err("nobody was heard");
        assert_eq!(failure.sqlstate, "F0000");
        watch.note_heard(at(0));
        assert_eq!(watch.check(at(10)), Ok(()));
        assert!(watch.check(at(11)).is_err());
        watch.note_heard(at(5));
        // An answer that comes late tells of when it was asked for.
        watch.note_heard(at(3));
        assert_eq!(watch.check(at(15)), Ok(()));
        assert!(watch.check(at(16)).is_err());
    }
}
