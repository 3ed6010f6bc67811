//! Connections that wait for the next question, and places for questions that are being answered.
//!
//! A question holds a place while it has a connection. So connections are as many as places are
//! taken, and as wait here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// See the module.
#[derive(Debug)]
pub struct Pool<T> {
    /// Given in the order of arrival.
    places: Semaphore,
    connections_max: usize,
    /// The one that was used last is last.
    idle: Mutex<Vec<T>>,
}

impl<T> Pool<T> {
    /// Of at most so many connections, at least one.
    pub fn new(connections_max: usize) -> Self {
        let connections_max = connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(connections_max),
            connections_max,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Waits for a place.
    pub async fn place(&self) -> SemaphorePermit<'_> {
        let place = self.places.acquire().await;
        place.expect("nobody closes the semaphore")
    }

    /// A connection that fits, for the holder of a place: one that fits best, if there is one.
    pub fn take(&self, fits: impl Fn(&T) -> bool, fits_best: impl Fn(&T) -> bool) -> Option<T> {
        let mut idle = self.idle();
        let best = idle.iter().rposition(|one| fits(one) && fits_best(one));
        let index = best.or_else(|| idle.iter().rposition(fits))?;
        Some(idle.remove(index))
    }

    /// Closes connections until the holder of a place may open one.
    pub fn make_room(&self) {
        let mut idle = self.idle();
        let taken = self.connections_max - self.places.available_permits();
        let excess = (idle.len() + taken).saturating_sub(self.connections_max);
        let excess = excess.min(idle.len());
        idle.drain(..excess);
    }

    /// Keeps a connection for the next question. The holder gives its place back afterwards.
    pub fn keep(&self, connection: T) {
        self.idle().push(connection);
    }

    /// Closes those that wait.
    pub fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
