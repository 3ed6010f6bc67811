//! What all threads of a client serve connections with.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use strongroom_postgres::{Connector, Limits, Server};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What serves connections.
pub struct Service {
    /// Rules, key, schemas.
    pub connector: Connector,
    /// Where they go to.
    pub server: Server,
    /// How many, and how long they may take to begin.
    pub limits: Limits,
    /// One for each connection that may be open.
    pub places: Arc<Semaphore>,
}

/// A driver's socket, and its place among those that may be open.
pub struct Arrival {
    /// Our end.
    pub socket: UnixStream,
    /// Given back when the connection has ended.
    pub place: OwnedSemaphorePermit,
}

impl Service {
    /// A place for one more connection, if there is one.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }
}
