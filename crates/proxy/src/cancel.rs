//! Whom a request to cancel means.
//!
//! A client is told the number of the server's process, as `pg_backend_pid()` and `NOTIFY` tell it,
//! and a secret of the proxy's own. So its request, which comes by a connection of its own, finds
//! the server's secret. While the finisher computes for the session, the request ends that: the
//! server's process has nothing to cancel.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use session_postgres::ServerKey;
use subtle::ConstantTimeEq;
use tokio::task::AbortHandle;

/// A session of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// All sessions that can be cancelled.
#[derive(Debug, Default)]
pub struct CancelRegistry {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    last: u64,
    entries: HashMap<Ticket, Entry>,
    /// Sessions by the number of the server's process. There may be several for a moment: the
    /// server's process has ended, and its number is another's already. And there may be several
    /// servers.
    tickets: HashMap<u32, Vec<Ticket>>,
}

#[derive(Debug)]
struct Entry {
    key: [u8; 32],
    /// Which server it is on.
    server_index: usize,
    server: Option<ServerKey>,
    /// The question to the finisher that was asked last.
    asking: Option<AbortHandle>,
}

impl Entry {
    fn knows(&self, key: &[u8]) -> bool {
        let Some(server) = &self.server else {
            return false;
        };
        // The client was told as many bytes as the server's secret has.
        let own = &self.key[..server.key.len().min(self.key.len())];
        own.ct_eq(key).into()
    }
}

impl CancelRegistry {
    /// A new session on a server, and its secret.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn enter(&self, server_index: usize) -> Result<(Ticket, [u8; 32]), getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        let mut entries = self.lock();
        entries.last += 1;
        let ticket = Ticket(entries.last);
        let entry = Entry {
            key,
            server_index,
            server: None,
            asking: None,
        };
        entries.entries.insert(ticket, entry);
        Ok((ticket, key))
    }

    /// Notes what the server wants to hear.
    pub fn learn(&self, ticket: Ticket, server: ServerKey) {
        let mut entries = self.lock();
        let Some(entry) = entries.entries.get_mut(&ticket) else {
            return;
        };
        let process_id = server.process_id;
        let before = entry.server.replace(server);
        entries.forget(before, ticket);
        entries.tickets.entry(process_id).or_default().push(ticket);
    }

    /// Notes a question to the finisher.
    pub fn asks(&self, ticket: Ticket, asking: AbortHandle) {
        if let Some(entry) = self.lock().entries.get_mut(&ticket) {
            entry.asking = Some(asking);
        }
    }

    /// Ends the question that the finisher computes for a session, for whoever knows its secret.
    /// False: there is none.
    pub fn end_question(&self, process_id: u32, key: &[u8]) -> bool {
        let entries = self.lock();
        let asking = entries.of(process_id).find(|entry| entry.knows(key));
        let asking = asking.and_then(|entry| entry.asking.as_ref());
        let asking = asking.filter(|asking| !asking.is_finished());
        asking.map(AbortHandle::abort).is_some()
    }

    /// The session is over.
    pub fn leave(&self, ticket: Ticket) {
        let mut entries = self.lock();
        let left = entries.entries.remove(&ticket);
        entries.forget(left.and_then(|left| left.server), ticket);
    }

    /// The server and its secret, for whoever knows the proxy's.
    pub fn find(&self, process_id: u32, key: &[u8]) -> Option<(usize, ServerKey)> {
        let entries = self.lock();
        let entry = entries.of(process_id).find(|entry| entry.knows(key))?;
        Some((entry.server_index, entry.server.clone()?))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        // A session that is found by half can be cancelled or not: nothing else depends on it.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Sessions whose process of the server has this number.
    fn of(&self, process_id: u32) -> impl Iterator<Item = &Entry> {
        let tickets = self.tickets.get(&process_id).into_iter().flatten();
        tickets.filter_map(|ticket| self.entries.get(ticket))
    }

    fn forget(&mut self, server: Option<ServerKey>, ticket: Ticket) {
        let Some(process_id) = server.map(|server| server.process_id) else {
            return;
        };
        if let Some(tickets) = self.tickets.get_mut(&process_id) {
            tickets.retain(|own| *own != ticket);
            if tickets.is_empty() {
                self.tickets.remove(&process_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: usize = 0;
    const OTHER: usize = 1;

    fn server(process_id: u32, secret: u8) -> ServerKey {
        ServerKey {
            process_id,
            key: vec![secret; 4],
        }
    }

    #[test]
    fn only_the_whole_secret_finds_a_session() {
        let registry = CancelRegistry::default();
        let (ticket, key) = registry.enter(SERVER).expect("randomness");
        assert_eq!(registry.find(9, &key[..4]), None, "not yet known");
        registry.learn(ticket, server(9, 1));
        assert_eq!(registry.find(9, &key[..4]), Some((SERVER, server(9, 1))));
        assert_eq!(registry.find(8, &key[..4]), None);
        assert_eq!(registry.find(9, &key[..3]), None);
        assert_eq!(registry.find(9, &key), None);
        let mut wrong = key;
        wrong[3] ^= 1;
        assert_eq!(registry.find(9, &wrong[..4]), None);
        registry.leave(ticket);
        assert_eq!(registry.find(9, &key[..4]), None);
    }

    #[test]
    fn sessions_of_one_number_are_told_apart_by_their_secrets() {
        let registry = CancelRegistry::default();
        let (old, old_key) = registry.enter(SERVER).expect("randomness");
        let (new, new_key) = registry.enter(OTHER).expect("randomness");
        registry.learn(old, server(9, 1));
        registry.learn(new, server(9, 2));
        assert_eq!(
            registry.find(9, &old_key[..4]),
            Some((SERVER, server(9, 1)))
        );
        assert_eq!(registry.find(9, &new_key[..4]), Some((OTHER, server(9, 2))));
        registry.leave(old);
        assert_eq!(registry.find(9, &old_key[..4]), None);
        assert_eq!(registry.find(9, &new_key[..4]), Some((OTHER, server(9, 2))));
        registry.leave(new);
        assert!(registry.lock().tickets.is_empty());
    }
}
