//! AES-256-GCM with a sub-key per group of places, as in XAES-256-GCM (C2SP).

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce as GcmNonce, UnboundKey};

use super::{Nonce, Place, TAG_SIZE, Tag};
use crate::kdf::XaesDerivation;
use crate::secret::Key;

/// Places that share a sub-key: 2 to this power.
const GROUP_BITS: u32 = 10;

/// Sub-keys kept at a time. 64 groups are 65,536 places: 256 MiB of pages of 4 KiB.
const SLOTS: usize = 64;

/// What has a sub-key of its own.
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

    /// Neighbouring groups of one kind go to neighbouring slots; kinds are set apart.
    fn slot(self) -> usize {
        let mixed = self.number.wrapping_add(u64::from(self.kind) * 23);
        usize::try_from(mixed % SLOTS as u64).expect("a remainder of 64 fits any usize")
    }
}

/// The sub-keys in use, derived when first needed: a page costs no key schedule.
pub(super) struct GroupKeys {
    derivation: XaesDerivation,
    slots: [Option<(Group, LessSafeKey)>; SLOTS],
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
        let mut tag = [0; TAG_SIZE];
        self.key(Group::of(place))
            .seal_in_place_scatter(
                GcmNonce::assume_unique_for_key(*nonce),
                Aad::from(associated),
                content,
                &[],
                &mut tag,
            )
            .expect("a unit is shorter than the 64 GiB of the cipher");
        tag
    }

    /// Opens in place; whether the content was authentic. If not, it is unspecified.
    pub(super) fn open(
        &mut self,
        place: Place,
        nonce: &Nonce,
        associated: &[u8],
        tag: &Tag,
        content: &mut [u8],
    ) -> bool {
        self.key(Group::of(place))
            .open_in_place_separate_tag(
                GcmNonce::assume_unique_for_key(*nonce),
                Aad::from(associated),
                tag,
                content,
            )
            .is_ok()
    }

    fn key(&mut self, group: Group) -> &LessSafeKey {
        let Self { derivation, slots } = self;
        let slot = &mut slots[group.slot()];
        if slot.as_ref().is_some_and(|entry| entry.0 != group) {
            *slot = None;
        }
        let entry = slot.get_or_insert_with(|| {
            let key = derivation.derive(&group.prefix());
            let key = UnboundKey::new(&AES_256_GCM, key.expose()).expect("the key has 32 bytes");
            (group, LessSafeKey::new(key))
        });
        &entry.1
    }
}
