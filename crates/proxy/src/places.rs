//! Places of clients: those that said who they are, up to the limit of the configuration, and
//! sockets that have said nothing yet, which keep nobody out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All places of a proxy.
#[derive(Debug)]
pub struct Places {
    clients: AtomicUsize,
    clients_max: usize,
    silent: Mutex<Silent>,
    silent_max: usize,
}

/// Sockets without a startup packet, in the order in which they came.
#[derive(Debug, Default)]
struct Silent {
    next: u64,
    sockets: BTreeMap<u64, Arc<Notify>>,
}

impl Places {
    /// So many clients, and so many sockets beside that have said nothing.
    pub fn new(clients_max: usize, silent_max: usize) -> Self {
        Self {
            clients: AtomicUsize::new(0),
            clients_max,
            silent: Mutex::default(),
            silent_max: silent_max.max(1),
        }
    }

    /// A socket has come. Where too many have said nothing, the oldest of them goes.
    pub fn wait(&self) -> SilentPlace<'_> {
        let mut silent = self.silent();
        while silent.sockets.len() >= self.silent_max {
            if let Some((_, oldest)) = silent.sockets.pop_first() {
                oldest.notify_one();
            }
        }
        let (number, gone) = (silent.next, Arc::new(Notify::new()));
        silent.next += 1;
        silent.sockets.insert(number, Arc::clone(&gone));
        SilentPlace {
            places: self,
            number,
            gone,
        }
    }

    /// A client has said who it is. None: there are as many as there may be.
    pub fn enter(self: &Arc<Self>) -> Option<ClientPlace> {
        let before = self.clients.fetch_add(1, Ordering::Relaxed);
        let place = ClientPlace(Arc::clone(self));
        (before < self.clients_max).then_some(place)
    }

    fn silent(&self) -> MutexGuard<'_, Silent> {
        // What it holds is put in and taken out whole.
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a socket that has said nothing; given back when it is dropped.
#[derive(Debug)]
pub struct SilentPlace<'a> {
    places: &'a Places,
    number: u64,
    gone: Arc<Notify>,
}

impl SilentPlace<'_> {
    /// Done when another socket has the place.
    pub async fn taken(&self) {
        self.gone.notified().await;
    }
}

impl Drop for SilentPlace<'_> {
    fn drop(&mut self) {
        self.places.silent().sockets.remove(&self.number);
    }
}

/// The place of a client; given back when it is dropped.
#[derive(Debug)]
pub struct ClientPlace(Arc<Places>);

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
