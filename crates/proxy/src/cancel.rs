//! Whom a request to cancel means.
//!
//! A client is given a number and a secret by the proxy, so that its request, which comes by a
//! connection of its own, finds the server's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use session_postgres::ServerKey;
use subtle::ConstantTimeEq;

/// All sessions that can be cancelled.
#[derive(Debug, Default)]
pub struct CancelRegistry {
    entries: Mutex<HashMap<u32, Entry>>,
}

#[derive(Debug)]
struct Entry {
    key: [u8; 32],
    server: Option<ServerKey>,
}

impl CancelRegistry {
    /// A number that no other session has.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn enter(&self) -> Result<(u32, [u8; 32]), getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        let mut entries = self.lock();
        loop {
            // Positive, as numbers of processes are.
            let process_id = getrandom::u32()? >> 1;
            if process_id != 0 && !entries.contains_key(&process_id) {
                entries.insert(process_id, Entry { key, server: None });
                return Ok((process_id, key));
            }
        }
    }

    /// Notes what the server wants to hear.
    pub fn learn(&self, process_id: u32, server: ServerKey) {
        if let Some(entry) = self.lock().get_mut(&process_id) {
            entry.server = Some(server);
        }
    }

    /// The session is over.
    pub fn leave(&self, process_id: u32) {
        self.lock().remove(&process_id);
    }

    /// The server's secret, for whoever knows the proxy's.
    pub fn find(&self, process_id: u32, key: &[u8]) -> Option<ServerKey> {
        let entries = self.lock();
        let entry = entries.get(&process_id)?;
        let server = entry.server.as_ref()?;
        // The client was told as many bytes as the server's secret has.
        let own = &entry.key[..server.key.len().min(entry.key.len())];
        bool::from(own.ct_eq(key)).then(|| server.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Entry>> {
        // No entry is ever half written.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_finds_a_session() {
        let registry = CancelRegistry::default();
        let (number, key) = registry.enter().expect("randomness");
        assert_eq!(registry.find(number, &key[..4]), None, "not yet known");
        let server = ServerKey {
            process_id: 9,
            key: vec![1, 2, 3, 4],
        };
        registry.learn(number, server.clone());
        assert_eq!(registry.find(number, &key[..4]), Some(server));
        assert_eq!(registry.find(number, &key[..3]), None);
        assert_eq!(registry.find(number, &key), None);
        let mut wrong = key;
        wrong[3] ^= 1;
        assert_eq!(registry.find(number, &wrong[..4]), None);
        registry.leave(number);
        assert_eq!(registry.find(number, &key[..4]), None);
    }
}
