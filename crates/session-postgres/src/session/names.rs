//! Prepared statements and portals of a session, by their names.

use std::collections::HashMap;

use sql_rewrite::NAME_SIZE_MAX;

/// What the server keeps of a name: of names that begin alike it has one (`hash_search` with names
/// for keys).
pub(super) fn kept(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME_SIZE_MAX)]
}

/// Things by name; the one without a name is replaced without being closed. Each is known by the
/// batch of messages that made it ([`Answers::batch_sent`](super::answers::Answers::batch_sent)):
/// an answer to an earlier batch is none to it.
#[derive(Debug)]
pub(super) struct Names<T> {
    unnamed: Option<(u64, T)>,
    named: HashMap<Box<[u8]>, (u64, T)>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self {
            unnamed: None,
            named: HashMap::new(),
        }
    }
}

impl<T> Names<T> {
    /// Those that have names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&[u8], &T)> {
        let named = self.named.iter();
        named.map(|(name, (_, thing))| (&**name, thing))
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&T> {
        match name {
            [] => self.unnamed.as_ref(),
            name => self.named.get(kept(name)),
        }
        .map(|(_, thing)| thing)
    }

    pub(super) fn get_mut(&mut self, name: &[u8]) -> Option<&mut T> {
        match name {
            [] => self.unnamed.as_mut(),
            name => self.named.get_mut(kept(name)),
        }
        .map(|(_, thing)| thing)
    }

    pub(super) fn insert(&mut self, name: &[u8], batch: u64, thing: T) {
        match name {
            [] => self.unnamed = Some((batch, thing)),
            name => drop(self.named.insert(kept(name).into(), (batch, thing))),
        }
    }

    /// Removes what was made by this batch or before.
    pub(super) fn remove_of(&mut self, name: &[u8], batch: u64) {
        let known = match name {
            [] => self.unnamed.as_ref(),
            name => self.named.get(kept(name)),
        };
        let is_newer = known.is_some_and(|(own, _)| *own > batch);
        if !is_newer {
            self.remove(name);
        }
    }

    /// Removes all that was made by this batch or before.
    pub(super) fn clear_of(&mut self, batch: u64) {
        self.unnamed.take_if(|(own, _)| *own <= batch);
        self.named.retain(|_, (own, _)| *own > batch);
        if self.named.is_empty() && self.named.capacity() > 0 {
            self.named = HashMap::new();
        }
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        self.take(name);
    }

    pub(super) fn take(&mut self, name: &[u8]) -> Option<T> {
        match name {
            [] => self.unnamed.take(),
            name => self.named.remove(kept(name)),
        }
        .map(|(_, thing)| thing)
    }

    /// Takes those that have names.
    pub(super) fn take_named(&mut self) -> impl Iterator<Item = (Box<[u8]>, T)> + use<T> {
        let named = std::mem::take(&mut self.named).into_iter();
        named.map(|(name, (_, thing))| (name, thing))
    }
}
