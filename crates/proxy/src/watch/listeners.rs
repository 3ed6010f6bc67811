//! Who listens to changes of the schema, and who may have lost its connection a moment ago: such a
//! proxy cannot be told of a change, and goes by what it knew until its lease ends.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// What one connection knows of the others.
#[derive(Debug)]
pub(super) struct Listeners {
    lease: Duration,
    /// Nobody is known of from before.
    since: Instant,
    present: HashSet<String>,
    /// Who has gone, and when that was seen.
    gone: HashMap<String, Instant>,
}

impl Listeners {
    pub(super) fn new(lease: Duration, now: Instant) -> Self {
        Self {
            lease,
            since: now,
            present: HashSet::new(),
            gone: HashMap::new(),
        }
    }

    /// These listen now.
    pub(super) fn note(&mut self, present: &HashSet<String>, now: Instant) {
        for name in self.present.difference(present) {
            self.gone.insert(name.clone(), now);
        }
        let lease = self.lease;
        self.gone
            .retain(|_, seen| now.duration_since(*seen) <= lease);
        self.present.clone_from(present);
    }

    /// Whether a proxy that does not listen may go by an old schema: one that listened less than a
    /// lease ago, or that nobody here could have seen.
    pub(super) fn may_be_cut_off(&self, now: Instant) -> bool {
        !self.gone.is_empty() || now.duration_since(self.since) <= self.lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn names(names: &[&str]) -> HashSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_listener_that_left_counts_until_its_lease_ends() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut listeners = Listeners::new(LEASE, began);
        listeners.note(&names(&["1", "2"]), at(1));
        listeners.note(&names(&["1", "2"]), at(20));
        assert!(!listeners.may_be_cut_off(at(20)));
        listeners.note(&names(&["2"]), at(21));
        assert!(listeners.may_be_cut_off(at(21)));
        // It comes back by another name, and its old one may still be gone by.
        listeners.note(&names(&["2", "3"]), at(31));
        assert!(listeners.may_be_cut_off(at(31)));
        listeners.note(&names(&["2", "3"]), at(32));
        assert!(!listeners.may_be_cut_off(at(32)));
    }

    #[test]
    fn a_new_watch_knows_no_earlier_listeners() {
        let began = Instant::now();
        let mut listeners = Listeners::new(LEASE, began);
        listeners.note(&names(&[]), began);
        assert!(listeners.may_be_cut_off(began + LEASE));
        assert!(!listeners.may_be_cut_off(began + LEASE + Duration::from_secs(1)));
    }
}
