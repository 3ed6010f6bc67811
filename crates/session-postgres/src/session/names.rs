//! Prepared statements and portals of a session, by their names.

use std::collections::HashMap;

use sql_rewrite::NAME_SIZE_MAX;

/// The part of a name that the server keeps: longer names are truncated (`hash_search` with names
/// as keys).
pub(super) fn kept(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME_SIZE_MAX)]
}

/// Items by name. The unnamed one can be replaced without being closed. Each has the number of the
/// batch that made it ([`Answers::batch_sent`](super::answers::Answers::batch_sent)), so that
/// answers to earlier batches do not affect it.
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
    /// The named items.
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

    /// Removes an item if this batch or an earlier one made it.
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

    /// Removes all items that this batch or an earlier one made.
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

    /// Removes the items of which this does not hold.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.unnamed.take_if(|(_, thing)| !is_kept(thing));
        self.named.retain(|_, (_, thing)| is_kept(thing));
    }

    /// Removes the named items and returns them.
    pub(super) fn take_named(&mut self) -> impl Iterator<Item = (Box<[u8]>, T)> + use<T> {
        let named = std::mem::take(&mut self.named).into_iter();
        named.map(|(name, (_, thing))| (name, thing))
    }
}
