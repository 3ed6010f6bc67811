//! AES-256-GCM with a sub-key per group of places, as in XAES-256-GCM (C2SP).

use super::library::gcm::GcmKey;
use super::{Nonce, Place, Tag};
use crate::kdf::XaesDerivation;
use crate::secret::Key;

/// Two to this power places share a sub-key.
const GROUP_BITS: u32 = 10;

/// Number of cached sub-keys. 64 groups are 65,536 places: 256 MiB of pages of 4 KiB.
const SLOTS: usize = 64;

/// A group of places with one sub-key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Group {
    number: u64,
    kind: u8,
}

impl Group {
    fn of(place: Place) -> Self {
        Self {
            number: place.location >> GROUP_BITS,
            kind: place.kind,
        }
    }

    /// First half of the XAES-256-GCM nonce.
    fn prefix(self) -> [u8; 12] {
        let mut prefix = [0; 12];
        prefix[..8].copy_from_slice(&self.number.to_le_bytes());
        prefix[8] = self.kind;
        prefix
    }

    /// Neighbouring groups of one kind use neighbouring slots; different kinds are kept apart.
    fn slot(self) -> usize {
        let mixed = self.number.wrapping_add(u64::from(self.kind) * 23);
        usize::try_from(mixed % SLOTS as u64).expect("a remainder of 64 fits any usize")
    }
}

/// Cache of sub-keys, derived on first use: a page then needs no key schedule.
pub(super) struct GroupKeys {
    derivation: XaesDerivation,
    slots: [Option<(Group, GcmKey)>; SLOTS],
}

impl GroupKeys {
    pub(super) fn new(key: &Key) -> Self {
        Self {
            derivation: XaesDerivation::new(key),
            slots: [const { None }; SLOTS],
        }
    }

    /// Seals in place.
    pub(super) fn seal(
        &mut self,
        place: Place,
        nonce: &Nonce,
        associated: &[u8],
        content: &mut [u8],
    ) -> Tag {
        self.key(Group::of(place)).seal(nonce, associated, content)
    }

    /// Opens in place. Returns whether the content was authentic; if not, the content is
    /// unspecified.
    pub(super) fn open(
        &mut self,
        place: Place,
        nonce: &Nonce,
        associated: &[u8],
        tag: &Tag,
        content: &mut [u8],
    ) -> bool {
        self.key(Group::of(place))
            .open(nonce, associated, tag, content)
    }

    fn key(&mut self, group: Group) -> &GcmKey {
        let Self { derivation, slots } = self;
        let slot = &mut slots[group.slot()];
        if slot.as_ref().is_some_and(|entry| entry.0 != group) {
            *slot = None;
        }
        let entry = slot.get_or_insert_with(|| {
            let key = derivation.derive(&group.prefix());
            (group, GcmKey::new(&key))
        });
        &entry.1
    }
}
