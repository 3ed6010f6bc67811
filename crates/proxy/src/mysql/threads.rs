//! The numbers of sessions at their servers. Each server counts by itself, so several may have a
//! session of the same number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_mysql::Elsewhere;

/// All sessions of a proxy.
#[derive(Debug, Default)]
pub struct Threads(Mutex<HashMap<u32, Vec<usize>>>);

/// A session, until it is dropped.
#[derive(Debug)]
pub struct Thread {
    threads: Arc<Threads>,
    number: u32,
    server_index: usize,
}

impl Threads {
    /// A session that has begun on a server.
    pub fn enter(self: &Arc<Self>, number: u32, server_index: usize) -> Thread {
        self.lock().entry(number).or_default().push(server_index);
        Thread {
            threads: Arc::clone(self),
            number,
            server_index,
        }
    }

    /// Which sessions are not on a server, or not there alone.
    pub fn elsewhere(self: &Arc<Self>, server_index: usize) -> Elsewhere {
        let threads = Arc::clone(self);
        Elsewhere::new(move |number| {
            let servers = threads.lock();
            let mut servers = servers.get(&number).into_iter().flatten();
            servers.any(|index| *index != server_index)
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Vec<usize>>> {
        // What it holds is put in and taken out whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let mut threads = self.threads.lock();
        let Some(servers) = threads.get_mut(&self.number) else {
            return;
        };
        if let Some(index) = servers.iter().position(|own| *own == self.server_index) {
            servers.swap_remove(index);
        }
        if servers.is_empty() {
            threads.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_forgotten_when_they_end() {
        let threads = Arc::new(Threads::default());
        let here = threads.enter(7, 0);
        let twice = threads.enter(7, 0);
        let there = threads.enter(7, 1);
        drop((here, there));
        assert_eq!(threads.lock().get(&7), Some(&vec![0]));
        drop(twice);
        assert!(threads.lock().is_empty());
    }
}
