//! The state that sessions share with the connection over which a proxy watches their database.
//!
//! A schema is valid under a lease: a proxy that has not heard from the server for that long plans
//! nothing for the database. So nobody has to wait for another proxy longer than the lease.
//! Nothing here waits by a clock: the caller puts the lease around each wait as its limit.

use std::future::pending;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot};

use crate::statement_error::StatementError;

/// A change of the schema that was announced to other proxies.
#[derive(Debug)]
pub struct Announced {
    /// Resolves when every proxy has confirmed the change.
    confirmed: oneshot::Receiver<()>,
    lease: Duration,
}

impl Announced {
    /// Ends when every proxy has confirmed the change. Never ends if the connection is lost, since
    /// then nobody knows who has confirmed.
    pub async fn all_confirmed(self) {
        if self.confirmed.await.is_err() {
            pending::<()>().await;
        }
    }

    /// The longest time to wait for the confirmations.
    pub fn lease(&self) -> Duration {
        self.lease
    }
}

/// Changes to announce, each with a sender to use when every proxy has confirmed it.
pub type Requests = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

/// The watch over a database.
#[derive(Debug)]
pub struct Watch {
    /// The name of the database. None: it is not UTF-8.
    name: Option<String>,
    /// The key under which its schema is shared.
    known_as: String,
    lease: Duration,
    began: Instant,
    /// When the last query was sent that the server has answered: one more than the milliseconds
    /// since `began`. 0: the connection has not shown other proxies yet that it listens.
    heard_ms: AtomicU64,
    /// Notified when `heard_ms` grows.
    heard: Notify,
    announce: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// None: the task of the connection has taken them.
    requests: Mutex<Option<Requests>>,
    sessions: AtomicUsize,
}

impl Watch {
    /// The watch over a database of this name, before its connection is open.
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

    /// The name of the database. None: it is not UTF-8.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The key under which its schema is shared.
    pub fn known_as(&self) -> &str {
        &self.known_as
    }

    /// How long statements are planned without an answer of the server.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Checks that the server has answered within the lease.
    ///
    /// # Errors
    /// The lease has ended.
    pub fn check(&self, now: Instant) -> Result<(), StatementError> {
        match self.has_heard(now) {
            true => Ok(()),
            false => Err(Self::ended()),
        }
    }

    /// The error where the lease has ended.
    pub fn ended() -> StatementError {
        let message = "the proxy's own connection to this database is down, so that it would not \
                       hear of changes to the schema";
        let hint = "Statements go on when it is back. The proxy's log says what is wrong; see \
                    [proxy.watch] in its configuration.";
        StatementError::rules(message).hint(hint)
    }

    fn has_heard(&self, now: Instant) -> bool {
        let heard_ms = self.heard_ms.load(Ordering::Acquire).checked_sub(1);
        heard_ms.is_some_and(|heard_ms| {
            let heard = self.began + Duration::from_millis(heard_ms);
            now.saturating_duration_since(heard) <= self.lease
        })
    }

    /// Ends as soon as the server has answered within the lease.
    pub async fn until_heard(&self) {
        loop {
            let mut heard = std::pin::pin!(self.heard.notified());
            // Register first, then check: nothing is missed in between.
            heard.as_mut().enable();
            if self.has_heard(Instant::now()) {
                return;
            }
            heard.await;
        }
    }

    /// Has the other proxies told that the schema changed.
    pub fn announce(&self) -> Announced {
        let (done, confirmed) = oneshot::channel();
        // If no task takes the request, the receiver fails at once.
        let _ = self.announce.send(done);
        Announced {
            confirmed,
            lease: self.lease,
        }
    }

    /// Notes that the server has answered a query sent at this time.
    pub fn note_heard(&self, asked: Instant) {
        let since = asked.saturating_duration_since(self.began);
        let since_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.heard_ms
            .fetch_max(since_ms.saturating_add(1), Ordering::Release);
        self.heard.notify_waiters();
    }

    /// Counts a session of the database, until the returned value is dropped.
    pub fn begin_session(self: &Arc<Self>) -> Watching {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Watching(Arc::clone(self))
    }

    /// Takes the requests for a task that keeps the connection. None: another task has them.
    pub fn take_requests(&self) -> Option<Requests> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the requests when the task ends. Some: a session has begun meanwhile, so the task
    /// must go on.
    pub fn give_back(&self, requests: Requests) -> Option<Requests> {
        let own = self.requests.lock();
        *own.unwrap_or_else(PoisonError::into_inner) = Some(requests);
        match self.sessions.load(Ordering::SeqCst) {
            0 => None,
            _ => self.take_requests(),
        }
    }

    /// Whether the database has a session.
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
