//! Key changes of a rotation: adding a new data key, and later removing the former one. The pages
//! themselves are resealed elsewhere.

use page_codec::header::{Header, SLOT_COUNT};
use page_codec::page::EpochKey;

use crate::slots::SlotError;
use crate::unlocked::{UnlockError, Unlocked, open_header};
use crate::wrapping::{authenticate, fill_slot, is_tagged_by, open_slot, wrapped_epoch};
use crate::{random_array, random_key};

/// Creates a new data key, under which pages are sealed from now on. The former one stays until
/// [`end`].
///
/// With `alone`, the master key is replaced too, and only the slot that opened the file is kept:
/// nobody who knows another secret, or an old header with a former secret, learns the new keys.
/// Without it, all slots stay. With `versioned`, pages carry versions from now on.
///
/// # Errors
///
/// If a rotation is already in progress, or the random generator fails.
pub fn begin(
    header: &mut Header,
    unlocked: &mut Unlocked,
    alone: bool,
    versioned: bool,
) -> Result<(), SlotError> {
    if header.is_rotating() {
        return Err(SlotError::Rotating);
    }
    let epoch = header
        .current_epoch
        .checked_add(1)
        .ok_or(SlotError::EpochsUsedUp)?;
    let data_key = random_key()?;
    if alone {
        replace_master(header, unlocked)?;
    }
    unlocked.epochs.push(EpochKey {
        epoch,
        data_key,
        versioned,
    });
    for (entry, key) in header.epochs.iter_mut().zip(&unlocked.epochs) {
        *entry = Some(wrapped_epoch(
            &unlocked.master,
            &header.file_id,
            key.epoch,
            &key.data_key,
            key.versioned,
        )?);
    }
    header.note_versions();
    header.current_epoch = epoch;
    header.generation += 1;
    authenticate(header, &unlocked.master);
    Ok(())
}

/// Removes the former data key, once no page is sealed under it any more.
///
/// # Errors
///
/// If no rotation is in progress.
pub fn end(header: &mut Header, unlocked: &mut Unlocked) -> Result<(), SlotError> {
    if !header.is_rotating() {
        return Err(SlotError::NotRotating);
    }
    let current = header.current_epoch;
    for place in &mut header.epochs {
        if place.as_ref().is_some_and(|entry| entry.epoch != current) {
            *place = None;
        }
    }
    header.note_versions();
    unlocked.epochs.retain(|key| key.epoch == current);
    header.generation += 1;
    authenticate(header, &unlocked.master);
    Ok(())
}

/// Takes over the keys of a header that another connection has written since.
///
/// # Errors
///
/// If the header neither comes from an owner of the master key nor opens with the given secret: it
/// was altered, or that secret was removed.
pub fn reopen(header: &Header, unlocked: &Unlocked) -> Result<Unlocked, UnlockError> {
    let kek = unlocked.kek.duplicate();
    let lease = unlocked.lease.another();
    if is_tagged_by(header, &unlocked.master) {
        let master = unlocked.master.duplicate();
        return open_header(header, master, unlocked.slot, kek, lease);
    }
    let slot = header.slots[unlocked.slot].as_ref();
    let master = slot.and_then(|slot| open_slot(header, unlocked.slot, slot, &kek));
    match master {
        Some(master) => open_header(header, master, unlocked.slot, kek, lease),
        None => Err(UnlockError::Replaced),
    }
}

/// Gives the file a new master key, wrapped only in the slot that opened the file.
fn replace_master(header: &mut Header, unlocked: &mut Unlocked) -> Result<(), SlotError> {
    let index = unlocked.slot;
    let mut slot = unlocked
        .own_slot(header)
        .ok_or(UnlockError::Replaced)?
        .clone();
    unlocked.master = random_key()?;
    slot.nonce = random_array()?;
    header.slots = [const { None }; SLOT_COUNT];
    fill_slot(header, index, slot, &unlocked.kek, &unlocked.master);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credential;
    use crate::slots::{add, create, replace, unlock};
    use crypto::cipher::Cipher;
    use crypto::secret::Key;

    fn raw(byte: u8) -> Credential {
        Credential::raw_key(Key::from_bytes([byte; 32]))
    }

    fn two_slots() -> (Header, Unlocked) {
        let (mut header, unlocked) = create(Cipher::Aegis256X2, 4096, &raw(1)).expect("creates");
        add(&mut header, &unlocked, &raw(2)).expect("adds");
        (header, unlocked)
    }

    fn epochs(unlocked: &Unlocked) -> Vec<u32> {
        unlocked.epochs.iter().map(|key| key.epoch).collect()
    }

    #[test]
    fn all_slots_open_both_epochs_and_then_the_new_one() {
        let (mut header, mut unlocked) = two_slots();
        begin(&mut header, &mut unlocked, false, true).expect("begins");
        assert!(matches!(
            begin(&mut header, &mut unlocked, false, false),
            Err(SlotError::Rotating)
        ));
        for secret in [raw(1), raw(2)] {
            let opened = unlock(&header, &secret).expect("opens");
            assert_eq!(epochs(&opened), [1, 2]);
            assert_eq!(
                opened.epochs[0].data_key.expose(),
                unlocked.epochs[0].data_key.expose()
            );
        }
        end(&mut header, &mut unlocked).expect("ends");
        for secret in [raw(1), raw(2)] {
            assert_eq!(epochs(&unlock(&header, &secret).expect("opens")), [2]);
        }
        assert!(matches!(
            end(&mut header, &mut unlocked),
            Err(SlotError::NotRotating)
        ));
        begin(&mut header, &mut unlocked, false, false).expect("begins again");
        assert_eq!(epochs(&unlock(&header, &raw(1)).expect("opens")), [2, 3]);
    }

    #[test]
    fn alone_leaves_the_slot_in_use_and_no_way_in_by_the_former_master_key() {
        let (mut header, mut unlocked) = two_slots();
        let former = unlocked.duplicate();
        let other = unlock(&header, &raw(2)).expect("opens");
        begin(&mut header, &mut unlocked, true, false).expect("begins");
        assert_eq!(epochs(&unlock(&header, &raw(1)).expect("opens")), [1, 2]);
        assert!(unlock(&header, &raw(2)).is_err());
        assert!(!is_tagged_by(&header, &former.master));
        // A connection opened with the remaining slot goes on; one opened with another slot does
        // not.
        assert_eq!(epochs(&reopen(&header, &former).expect("reopens")), [1, 2]);
        assert!(matches!(
            reopen(&header, &other),
            Err(UnlockError::Replaced)
        ));
    }

    #[test]
    fn alone_needs_the_slot_to_be_still_the_one_that_opened() {
        let (mut header, mut unlocked) = two_slots();
        let mut other = unlocked.duplicate();
        // Another connection changes the secret of that same slot.
        replace(&mut header, &mut other, &raw(3)).expect("replaces");
        let before = header.clone();
        assert!(matches!(
            begin(&mut header, &mut unlocked, true, false),
            Err(SlotError::Unlock(UnlockError::Replaced))
        ));
        assert_eq!(header, before);
        for secret in [raw(2), raw(3)] {
            unlock(&header, &secret).expect("still opens");
        }
        assert!(unlocked.inherited(&header).is_none());
    }

    #[test]
    fn an_open_connection_takes_over_a_new_epoch() {
        let (mut header, mut unlocked) = two_slots();
        let other = unlock(&header, &raw(2)).expect("opens");
        begin(&mut header, &mut unlocked, false, true).expect("begins");
        let reopened = reopen(&header, &other).expect("reopens");
        assert_eq!((epochs(&reopened), reopened.slot()), (vec![1, 2], 1));
        header.tag[0] ^= 1;
        assert!(matches!(
            reopen(&header, &other),
            Err(UnlockError::HeaderAltered)
        ));
    }
}
