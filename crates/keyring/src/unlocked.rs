//! The result of unlocking: the keys of a file, or an error.

use crypto::kdf::Argon2idParameters;
use crypto::secret::Key;
use page_codec::header::{EPOCH_COUNT, Header, Slot, SlotKind};
use page_codec::page::EpochKey;
use thiserror::Error;

use crate::wrapping::{is_tagged_by, open_epoch, open_slot};
use crate::{EntropyError, cache};

/// The keys of a file, unwrapped from its header.
pub struct Unlocked {
    pub(crate) master: Key,
    pub(crate) slot: usize,
    pub(crate) kek: Key,
    /// All data keys, including the current one.
    pub epochs: Vec<EpochKey>,
    /// Keeps derived keys in the cache; dropping the last lease wipes them.
    pub lease: cache::Lease,
}

impl Unlocked {
    /// The slot that opened the file.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Copies the keys, for a change that may fail half-way.
    pub fn duplicate(&self) -> Unlocked {
        let epochs = self.epochs.iter().map(|key| EpochKey {
            epoch: key.epoch,
            data_key: key.data_key.duplicate(),
            versioned: key.versioned,
        });
        Unlocked {
            master: self.master.duplicate(),
            slot: self.slot,
            kek: self.kek.duplicate(),
            epochs: epochs.collect(),
            lease: self.lease.another(),
        }
    }

    /// The slot that opened the file, if it still does. Another connection may have changed the
    /// slot's secret; anything wrapped under the old slot key could then not be opened by anyone.
    pub(crate) fn own_slot<'a>(&self, header: &'a Header) -> Option<&'a Slot> {
        let slot = header.slots[self.slot].as_ref()?;
        open_slot(header, self.slot, slot, &self.kek).map(|_| slot)
    }

    /// The slot that opened `from`, for the header of a new file: the same secret then opens both
    /// files, and the user is not asked for it twice. `None` if the slot has another secret by now.
    pub fn inherited(&self, from: &Header) -> Option<InheritedSlot> {
        let slot = self.own_slot(from)?;
        let (kind, kdf, salt) = (slot.kind, slot.kdf, slot.salt);
        Some(InheritedSlot {
            kind,
            kdf,
            salt,
            kek: self.kek.duplicate(),
        })
    }
}

/// What the header of a new file takes over from a slot of another file.
pub struct InheritedSlot {
    pub(crate) kind: SlotKind,
    pub(crate) kdf: Option<Argon2idParameters>,
    pub(crate) salt: [u8; 16],
    pub(crate) kek: Key,
}

/// Why a header could not be unlocked.
#[derive(Debug, Error)]
pub enum UnlockError {
    /// The secret opens no slot.
    #[error("wrong key: none of this file's key slots opens with it")]
    WrongKey,
    /// No slot is of the secret's kind.
    #[error("wrong key: this file has no key slot for a {0}")]
    NoSlotOfKind(&'static str),
    /// The remaining slots need more work than the limit allows.
    #[error(
        "the key is wrong, or its slot takes more work than is done for a header that may be \
         forged: all its slots take {wanted} times that of one passphrase at the default cost, and \
         {limit} times are allowed. If they are your own, say unlock_work={wanted} in the URI, \
         --unlock-work {wanted}, or STRONGROOM_UNLOCK_WORK={wanted}"
    )]
    TooMuchWork {
        /// The work for all slots, in multiples of one derivation at the default cost.
        wanted: u64,
        /// The limit, in the same unit.
        limit: u32,
    },
    /// A slot opened, but the header's tag is wrong: somebody without the master key wrote it.
    #[error(
        "the key is right, but the header of this file was altered; restore its first 8,192 bytes \
         from a backup"
    )]
    HeaderAltered,
    /// The header changed while the file was open, and the given secret no longer opens it.
    #[error(
        "the keys of this file were replaced since it was opened, or its header was altered; close \
         it and open it with a key that it has now"
    )]
    Replaced,
    /// The derivation failed, for example for lack of memory.
    #[error("the key derivation failed: {0}")]
    Derivation(#[from] crypto::kdf::KdfError),
    /// The random generator failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// Unwraps the keys of a header, given the master key and the secret that unwrapped it.
pub(crate) fn open_header(
    header: &Header,
    master: Key,
    slot: usize,
    kek: Key,
    lease: cache::Lease,
) -> Result<Unlocked, UnlockError> {
    if !is_tagged_by(header, &master) {
        return Err(UnlockError::HeaderAltered);
    }
    let mut epochs = Vec::with_capacity(EPOCH_COUNT);
    for entry in header.epochs.iter().flatten() {
        let data_key = open_epoch(header, entry, &master).ok_or(UnlockError::HeaderAltered)?;
        epochs.push(EpochKey {
            epoch: entry.epoch,
            data_key,
            versioned: entry.versioned,
        });
    }
    if !epochs.iter().any(|key| key.epoch == header.current_epoch) {
        return Err(UnlockError::HeaderAltered);
    }
    Ok(Unlocked {
        master,
        slot,
        kek,
        epochs,
        lease,
    })
}
