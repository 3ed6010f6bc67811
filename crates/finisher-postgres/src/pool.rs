//! Connections that wait for the next question, and places for questions that are being answered.
//!
//! A question holds a place while it has a connection. So connections are as many as places are
//! taken, and as wait here.

use std::sync::{Arc, Mutex, PoisonError};

use session_postgres::finisher::{FinisherKind, FinisherRequest};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connection::{Connection, Kept};

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Given in the order of arrival.
    places: Semaphore,
    connections_max: usize,
    /// The one that was used last is last.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    kind: Arc<FinisherKind>,
    kept: Kept,
}

impl Idle {
    fn is_of(&self, kind: &Arc<FinisherKind>) -> bool {
        Arc::ptr_eq(&self.kind, kind) || self.kind == *kind
    }
}

impl Pool {
    pub(crate) fn new(connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(connections_max),
            connections_max,
            idle: Mutex::default(),
        }
    }

    /// Waits for a place.
    pub(crate) async fn place(&self) -> SemaphorePermit<'_> {
        let place = self.places.acquire().await;
        place.expect("nobody closes the semaphore")
    }

    /// A connection to the database of a kind, for the holder of a place: one that has prepared the
    /// statement, if there is one.
    pub(crate) fn take(&self, request: &FinisherRequest) -> Option<Connection> {
        loop {
            let kept = self.take_kept(request)?;
            // One that its server has ended is dropped.
            if let Some(connection) = kept.resume() {
                return Some(connection);
            }
        }
    }

    fn take_kept(&self, request: &FinisherRequest) -> Option<Kept> {
        let mut idle = self.idle();
        let kind = &request.kind;
        let prepared = idle
            .iter()
            .rposition(|one| one.is_of(kind) && one.kept.has(request));
        let index = prepared.or_else(|| idle.iter().rposition(|one| one.is_of(kind)))?;
        Some(idle.remove(index).kept)
    }

    /// Closes connections until the holder of a place may open one.
    pub(crate) fn make_room(&self) {
        let mut idle = self.idle();
        let taken = self.connections_max - self.places.available_permits();
        let excess = (idle.len() + taken).saturating_sub(self.connections_max);
        let excess = excess.min(idle.len());
        idle.drain(..excess);
    }

    /// Keeps a connection for the next question. The holder gives its place back afterwards.
    pub(crate) fn keep(&self, kind: &Arc<FinisherKind>, connection: Connection) {
        if let Some(kept) = connection.keep() {
            let kind = Arc::clone(kind);
            self.idle().push(Idle { kind, kept });
        }
    }

    /// Closes those that wait.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
