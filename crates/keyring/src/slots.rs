//! Key slots: create, add, replace, remove. None of this changes a page.
//!
//! The master key is random and never leaves the file: each slot holds it wrapped under a slot key,
//! which is derived from the slot's secret. The master key in turn wraps the data keys of the
//! epochs.

use crypto::cipher::Cipher;
use crypto::kdf::Argon2idParameters;
use crypto::secret::Key;
use page_codec::header::{EPOCH_COUNT, Header, SLOT_COUNT, Slot, SlotKind, UNFINISHED};
use page_codec::page::EpochKey;
use thiserror::Error;

pub use crate::derivation::passphrases_stretched;
use crate::derivation::{cost_for, slot_key};
pub use crate::unlock::{unlock, unlock_inherited, unlock_within};
pub use crate::unlocked::{InheritedSlot, UnlockError, Unlocked};
use crate::work::{WorkLimit, work_of};
use crate::wrapping::{authenticate, fill_slot, wrapped_epoch};
use crate::{Credential, EntropyError, cache, random_array, random_key};

/// Why a slot could not be changed.
#[derive(Debug, Error)]
pub enum SlotError {
    /// All slots are in use.
    #[error("all {SLOT_COUNT} key slots are in use; remove one first")]
    Full,
    /// The slot is empty.
    #[error("there is no key in slot {0}")]
    Empty(usize),
    /// The slot is the last one in use.
    #[error(
        "slot {0} is the only key left; add another before you remove it, or nobody could open the \
         file again"
    )]
    Last(usize),
    /// A rotation of the data key is already in progress.
    #[error("a rotation of the data key is under way; finish it first")]
    Rotating,
    /// There is no rotation to end.
    #[error("no rotation of the data key is under way")]
    NotRotating,
    /// Epoch numbers have 32 bits, and all are used.
    #[error(
        "the data key of this file was rotated as often as its format allows; copy it with \
         `strongroom encrypt`"
    )]
    EpochsUsedUp,
    /// Derivation or random generation failed.
    #[error(transparent)]
    Unlock(#[from] UnlockError),
}

impl From<EntropyError> for SlotError {
    fn from(error: EntropyError) -> Self {
        SlotError::Unlock(error.into())
    }
}

/// Creates a header with one slot for a new file, and its keys.
///
/// # Errors
///
/// If random generation or the derivation fails.
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

/// Creates a header whose one slot opens with the secret that opens a slot of another file.
///
/// # Errors
///
/// If random generation fails.
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

/// Sets cipher, page size and versioning in a header that is not yet on disk.
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

/// Changes the page size in the header, and raises the generation.
pub fn change_page_size(header: &mut Header, unlocked: &Unlocked, page_size: u32) {
    header.page_size = page_size;
    header.generation += 1;
    authenticate(header, &unlocked.master);
}

/// Marks a new database as committed, and raises the generation.
pub fn finish(header: &mut Header, unlocked: &Unlocked) {
    header.may_ignore &= !UNFINISHED;
    header.generation += 1;
    authenticate(header, &unlocked.master);
}

/// Adds a slot and returns its number.
///
/// # Errors
///
/// If all slots are in use, or the derivation fails.
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

/// Replaces the secret of the slot that opened the file; the old secret no longer opens it.
///
/// # Errors
///
/// If another connection has given the slot another secret since, or the derivation fails.
pub fn replace(
    header: &mut Header,
    unlocked: &mut Unlocked,
    credential: &Credential,
) -> Result<usize, SlotError> {
    if unlocked.own_slot(header).is_none() {
        return Err(UnlockError::Replaced.into());
    }
    let index = unlocked.slot;
    unlocked.kek = put(header, unlocked, credential, index)?;
    Ok(index)
}

/// Empties a slot.
///
/// # Errors
///
/// If it is empty or the last one.
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

/// Like [`remove`], but with another credential, which must open the file without that slot.
///
/// # Errors
///
/// As for [`remove`], or if the credential does not open the file.
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

/// Cost and salt of a passphrase slot other than `index`. Slots that share them are tried with one
/// derivation, so that eight passphrases cost no more than one. (An attacker who guesses also tries
/// them together; `docs/threat-model.md`, section 5.)
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

#[cfg(test)]
mod tests;
