//! The wrapped keys of a header (the master key in each slot, the data key in each epoch), and the
//! header's tag under the master key.

use crypto::secret::Key;
use page_codec::header::{EpochEntry, Header, Slot};

use crate::{EntropyError, random_array};

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

/// Unwraps the data key of an epoch. `None` if it is not wrapped under this master key.
pub(crate) fn open_epoch(header: &Header, entry: &EpochEntry, master: &Key) -> Option<Key> {
    let associated = EpochEntry::associated_data(&header.file_id, entry.epoch);
    let kek = epoch_kek(master, &header.file_id);
    crypto::wrap::unwrap_key(&kek, &entry.nonce, &associated, &entry.wrapped).ok()
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
