//! Key slots: created, opened, added, replaced, removed. None of this touches a page.
//!
//! The master key is random and never changes hands: each slot holds it wrapped under a key that
//! its own secret gives, and it wraps the data keys of the epochs.

use crypto::cipher::Cipher;
use crypto::kdf::Argon2idParameters;
use crypto::secret::Key;
use page_codec::header::{EPOCH_COUNT, EpochEntry, Header, SLOT_COUNT, Slot, SlotKind, UNFINISHED};
use page_codec::page::EpochKey;
use thiserror::Error;

pub use crate::derivation::passphrases_stretched;
use crate::derivation::{cost_for, slot_key};
pub use crate::unlock::{unlock, unlock_inherited, unlock_within};
use crate::work::{WorkLimit, work_of};
use crate::{Credential, EntropyError, cache, random_array, random_key};

/// The keys of a file, out of its header.
pub struct Unlocked {
    pub(crate) master: Key,
    pub(crate) slot: usize,
    pub(crate) kek: Key,
    /// Data keys, the current one among them.
    pub epochs: Vec<EpochKey>,
    /// Keeps derived keys cached; the last one dropped wipes them.
    pub lease: cache::Lease,
}

impl Unlocked {
    /// The slot that opened the file.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The same keys once more, for a change that may fail half-way.
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

    /// The slot that opened the file, while it still does: another connection may have put another
    /// secret into it, and what is wrapped under this key in that slot opens for nobody.
    pub(crate) fn own_slot<'a>(&self, header: &'a Header) -> Option<&'a Slot> {
        let slot = header.slots[self.slot].as_ref()?;
        open_slot(header, self.slot, slot, &self.kek).map(|_| slot)
    }

    /// The slot that opened `from`, for the header of a new file: whoever opens the one opens the
    /// other, and no secret is asked for twice. `None` when the slot holds another secret by now.
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

/// What a new file takes over from the slot of another.
pub struct InheritedSlot {
    pub(crate) kind: SlotKind,
    pub(crate) kdf: Option<Argon2idParameters>,
    pub(crate) salt: [u8; 16],
    pub(crate) kek: Key,
}

/// Why a header does not open.
#[derive(Debug, Error)]
pub enum UnlockError {
    /// No slot answers to the secret.
    #[error("wrong key: none of this file's key slots opens with it")]
    WrongKey,
    /// There is no slot of this kind at all.
    #[error("wrong key: this file has no key slot for a {0}")]
    NoSlotOfKind(&'static str),
    /// What is left to try takes longer than a header may ask for.
    #[error(
        "the key is wrong, or its slot takes more work than is done for a header that may be \
         forged: all its slots take {wanted} times that of one passphrase at the default cost, and \
         {limit} times are allowed. If they are your own, say unlock_work={wanted} in the URI, \
         --unlock-work {wanted}, or STRONGROOM_UNLOCK_WORK={wanted}"
    )]
    TooMuchWork {
        /// Times the work of one derivation at the default cost that all slots take.
        wanted: u64,
        /// Times that are allowed.
        limit: u32,
    },
    /// A slot opened, yet the header is not what the key's owner wrote.
    #[error(
        "the key is right, but the header of this file was altered; restore its first 8,192 bytes \
         from a backup"
    )]
    HeaderAltered,
    /// The header changed while the file was open, and the secret given opens it no more.
    #[error(
        "the keys of this file were replaced since it was opened, or its header was altered; close \
         it and open it with a key that it has now"
    )]
    Replaced,
    /// The derivation failed, as when memory is short.
    #[error("the key derivation failed: {0}")]
    Derivation(#[from] crypto::kdf::KdfError),
    /// No random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// Why slots cannot be changed.
#[derive(Debug, Error)]
pub enum SlotError {
    /// All slots are in use.
    #[error("all {SLOT_COUNT} key slots are in use; remove one first")]
    Full,
    /// There is no such slot.
    #[error("there is no key in slot {0}")]
    Empty(usize),
    /// It is the last one.
    #[error(
        "slot {0} is the only key left; add another before you remove it, or nobody could open the \
         file again"
    )]
    Last(usize),
    /// A data key is being rotated already.
    #[error("a rotation of the data key is under way; finish it first")]
    Rotating,
    /// No rotation to end.
    #[error("no rotation of the data key is under way")]
    NotRotating,
    /// Epochs have 32 bits.
    #[error(
        "the data key of this file was rotated as often as its format allows; copy it with \
         `strongroom encrypt`"
    )]
    EpochsUsedUp,
    /// Derivation or randomness failed.
    #[error(transparent)]
    Unlock(#[from] UnlockError),
}

impl From<EntropyError> for SlotError {
    fn from(error: EntropyError) -> Self {
        SlotError::Unlock(error.into())
    }
}

/// A header for a new file, with one slot, and its keys.
///
/// # Errors
/// When randomness or the derivation fails.
pub fn create(
    cipher: Cipher,
    page_size: u32,
    credential: &Credential,
) -> Result<(Header, Unlocked), UnlockError> {
    let salt = random_array()?;
    let kdf = cost_for(credential)?;
    let kek = slot_key(credential, kdf, &salt)?;
    create_with(
        cipher,
        page_size,
        InheritedSlot {
            kind: credential.slot_kind(),
            kdf,
            salt,
            kek,
        },
    )
}

/// A header for a new file whose one slot opens as the slot of another file does.
///
/// # Errors
/// When randomness fails.
pub fn create_with(
    cipher: Cipher,
    page_size: u32,
    inherited: InheritedSlot,
) -> Result<(Header, Unlocked), UnlockError> {
    let (file_id, master, data_key) = (random_array()?, random_key()?, random_key()?);
    let epoch = 1;
    let mut epochs = [const { None }; EPOCH_COUNT];
    epochs[0] = Some(wrapped_epoch(&master, &file_id, epoch, &data_key, false)?);
    let mut header = Header {
        page_size,
        cipher,
        must_understand: 0,
        may_ignore: UNFINISHED,
        current_epoch: epoch,
        generation: 1,
        file_id,
        epochs,
        slots: [const { None }; SLOT_COUNT],
        tag: [0; 32],
    };
    let InheritedSlot {
        kind,
        kdf,
        salt,
        kek,
    } = inherited;
    fill_slot(
        &mut header,
        0,
        Slot {
            kind,
            kdf,
            salt,
            nonce: random_array()?,
            wrapped: [0; 48],
        },
        &kek,
        &master,
    );
    authenticate(&mut header, &master);
    let lease = cache::Lease::new(file_id);
    let epochs = vec![EpochKey {
        epoch,
        data_key,
        versioned: false,
    }];
    Ok((
        header,
        Unlocked {
            master,
            slot: 0,
            kek,
            epochs,
            lease,
        },
    ))
}

/// Settles cipher, page size, and whether pages tell their version, of a header that is not yet on
/// disk.
pub fn settle(
    header: &mut Header,
    unlocked: &mut Unlocked,
    cipher: Cipher,
    page_size: u32,
    versioned: bool,
) {
    header.cipher = cipher;
    header.page_size = page_size;
    for entry in header.epochs.iter_mut().flatten() {
        entry.versioned = versioned;
    }
    for key in &mut unlocked.epochs {
        key.versioned = versioned;
    }
    header.note_versions();
    header.generation = 1;
    header.may_ignore |= UNFINISHED;
    authenticate(header, &unlocked.master);
}

/// Gives the database another page size: the header of the next generation.
pub fn change_page_size(header: &mut Header, unlocked: &Unlocked, page_size: u32) {
    header.page_size = page_size;
    header.generation += 1;
    authenticate(header, &unlocked.master);
}

/// Marks a new database as committed: the header of the next generation.
pub fn finish(header: &mut Header, unlocked: &Unlocked) {
    header.may_ignore &= !UNFINISHED;
    header.generation += 1;
    authenticate(header, &unlocked.master);
}

/// Adds a slot; returns its number.
///
/// # Errors
/// When all slots are in use, or the derivation fails.
pub fn add(
    header: &mut Header,
    unlocked: &Unlocked,
    credential: &Credential,
) -> Result<usize, SlotError> {
    let index = header
        .slots
        .iter()
        .position(Option::is_none)
        .ok_or(SlotError::Full)?;
    put(header, unlocked, credential, index)?;
    Ok(index)
}

/// Puts another secret into the slot that opened the file; the old one opens nothing any more.
///
/// # Errors
/// When the derivation fails.
pub fn replace(
    header: &mut Header,
    unlocked: &mut Unlocked,
    credential: &Credential,
) -> Result<usize, SlotError> {
    let index = unlocked.slot;
    unlocked.kek = put(header, unlocked, credential, index)?;
    Ok(index)
}

/// Empties a slot.
///
/// # Errors
/// When it is empty or the last one.
pub fn remove(header: &mut Header, unlocked: &Unlocked, index: usize) -> Result<(), SlotError> {
    if header.slots.get(index).is_none_or(Option::is_none) {
        return Err(SlotError::Empty(index));
    }
    if header.slots.iter().flatten().count() == 1 {
        return Err(SlotError::Last(index));
    }
    header.slots[index] = None;
    header.generation += 1;
    authenticate(header, &unlocked.master);
    Ok(())
}

/// The same, by whoever has a key that opens the file without that slot.
///
/// # Errors
/// As [`remove`]; or the key does not.
pub fn remove_by(
    header: &mut Header,
    unlocked: &Unlocked,
    index: usize,
    left: &Credential,
) -> Result<(), SlotError> {
    remove(header, unlocked, index)?;
    unlock(header, left)?;
    Ok(())
}

fn put(
    header: &mut Header,
    unlocked: &Unlocked,
    credential: &Credential,
    index: usize,
) -> Result<Key, SlotError> {
    let kind = credential.slot_kind();
    let (kdf, salt) = match shared_derivation(header, kind, index) {
        Some(shared) => shared,
        None => (cost_for(credential)?, random_array()?),
    };
    let kek = slot_key(credential, kdf, &salt)?;
    let slot = Slot {
        kind,
        kdf,
        salt,
        nonce: random_array()?,
        wrapped: [0; 48],
    };
    fill_slot(header, index, slot, &kek, &unlocked.master);
    header.generation += 1;
    authenticate(header, &unlocked.master);
    Ok(kek)
}

/// Cost and salt of a passphrase beside slot `index`: one derivation then tries both, so that
/// eight passphrases of a file take no more work than one. (Who guesses tries them at once as
/// well; `docs/threat-model.md`, section 5.)
fn shared_derivation(
    header: &Header,
    kind: SlotKind,
    index: usize,
) -> Option<(Option<Argon2idParameters>, [u8; 16])> {
    let bounds = work_of(Some(Argon2idParameters::DEFAULT))..=WorkLimit::DEFAULT.work();
    header
        .slots
        .iter()
        .enumerate()
        .filter_map(|(other, slot)| Some((other, slot.as_ref()?)))
        .filter(|(other, slot)| {
            *other != index && kind == SlotKind::Passphrase && slot.kind == kind
        })
        .find(|(_, slot)| bounds.contains(&work_of(slot.kdf)))
        .map(|(_, slot)| (slot.kdf, slot.salt))
}

pub(crate) fn wrapped_epoch(
    master: &Key,
    file_id: &[u8; 16],
    epoch: u32,
    data_key: &Key,
    versioned: bool,
) -> Result<EpochEntry, EntropyError> {
    let nonce = random_array()?;
    let associated = EpochEntry::associated_data(file_id, epoch);
    let kek = epoch_kek(master, file_id);
    let wrapped = crypto::wrap::wrap_key(&kek, &nonce, &associated, data_key);
    Ok(EpochEntry {
        epoch,
        nonce,
        wrapped,
        versioned,
    })
}

pub(crate) fn fill_slot(
    header: &mut Header,
    index: usize,
    mut slot: Slot,
    kek: &Key,
    master: &Key,
) {
    let associated = slot.associated_data(&header.file_id, index);
    slot.wrapped = crypto::wrap::wrap_key(kek, &slot.nonce, &associated, master);
    header.slots[index] = Some(slot);
}

pub(crate) fn open_slot(header: &Header, index: usize, slot: &Slot, kek: &Key) -> Option<Key> {
    let associated = slot.associated_data(&header.file_id, index);
    crypto::wrap::unwrap_key(kek, &slot.nonce, &associated, &slot.wrapped).ok()
}

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
    let epoch_kek = epoch_kek(&master, &header.file_id);
    let mut epochs = Vec::with_capacity(EPOCH_COUNT);
    for entry in header.epochs.iter().flatten() {
        let associated = EpochEntry::associated_data(&header.file_id, entry.epoch);
        let data_key =
            crypto::wrap::unwrap_key(&epoch_kek, &entry.nonce, &associated, &entry.wrapped)
                .map_err(|_| UnlockError::HeaderAltered)?;
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

fn epoch_kek(master: &Key, file_id: &[u8; 16]) -> Key {
    crypto::kdf::derive_key(master, file_id, b"strongroom data key wrap 1")
}

fn header_key(master: &Key, file_id: &[u8; 16]) -> Key {
    crypto::kdf::derive_key(master, file_id, b"strongroom header tag 1")
}

pub(crate) fn authenticate(header: &mut Header, master: &Key) {
    let key = header_key(master, &header.file_id);
    header.tag = crypto::mac::authenticate(&key, &header.authenticated_bytes());
}

pub(crate) fn is_tagged_by(header: &Header, master: &Key) -> bool {
    let key = header_key(master, &header.file_id);
    crypto::mac::verify(&key, &header.authenticated_bytes(), &header.tag)
}

#[cfg(test)]
mod tests;
