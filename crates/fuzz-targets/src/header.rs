//! The header region: parsed as it comes, then with checksums, wrapped keys and tag put right.

use keyring::rotation;
use keyring::slots::{self, UnlockError};
use page_codec::header::{COPY_SIZE, Header, HeaderRegion, MAGIC, REGION_SIZE};

use crate::input::Input;
use crate::sealed;

/// Takes changes to a good header region, or the region itself.
pub fn run(bytes: &[u8]) {
    let _ = HeaderRegion::parse(bytes);
    let mut input = Input::new(bytes);
    let how = input.byte();
    let mut region = good_region(how);
    if how & 1 == 0 {
        input.patch(&mut region);
    } else {
        let given = input.rest();
        let count = given.len().min(REGION_SIZE);
        region[..count].copy_from_slice(&given[..count]);
    }
    if how & 2 == 0 {
        for copy in region.chunks_exact_mut(COPY_SIZE) {
            put_checksum_right(copy, how & 4 == 0);
        }
    }
    let Ok(parsed) = HeaderRegion::parse(&region) else {
        return;
    };
    assert_written_as_read(&region, &parsed);
    unlock(parsed.header);
}

fn good_region(how: u8) -> Vec<u8> {
    let cipher = crypto::cipher::Cipher::ALL[usize::from(how >> 6)];
    let mut header = sealed::header(cipher, 512 << (how >> 4 & 3));
    let mut region = header.to_copy();
    header.generation += u64::from(how >> 3 & 1);
    sealed::tag(&mut header);
    region.extend(header.to_copy());
    region
}

fn put_checksum_right(copy: &mut [u8], with_magic: bool) {
    if with_magic {
        copy[..MAGIC.len()].copy_from_slice(&MAGIC);
    }
    let checksum_offset = COPY_SIZE - 32;
    let checksum = crypto::mac::checksum(&copy[..checksum_offset]);
    copy[checksum_offset..].copy_from_slice(&checksum);
}

/// The copy in force is what its fields encode to, byte for byte: nothing is outside the tag.
fn assert_written_as_read(region: &[u8], parsed: &HeaderRegion) {
    let copy = &region[parsed.copy_in_force * COPY_SIZE..][..COPY_SIZE];
    assert_eq!(parsed.header.to_copy(), copy, "a header is written as read");
    let again = HeaderRegion::parse(&HeaderRegion::to_bytes(&parsed.header));
    let again = again.expect("what was written is read");
    assert_eq!(again.header, parsed.header);
    assert_eq!(again.copy_in_force, 0);
}

/// A header opens exactly when its owner wrote it.
fn unlock(header: Header) {
    let credential = sealed::credential();
    let mut owned = header.clone();
    sealed::wrap_all(&mut owned);
    sealed::tag(&mut owned);
    let is_owners = owned == header;
    if let Ok(unlocked) = slots::unlock(&header, &credential) {
        assert!(rotation::reopen(&header, &unlocked).is_ok());
        // The wrapping of an epoch or slot that the tag covers may be any, but not the tag.
        let mut tagged = header.clone();
        sealed::tag(&mut tagged);
        assert_eq!(
            tagged.tag, header.tag,
            "opened with a tag that is not its owner's"
        );
    } else {
        assert!(
            !is_owners || !opens_by_rights(&header),
            "the owner is refused"
        );
    }
    match slots::unlock(&owned, &credential) {
        Ok(unlocked) => {
            assert!(rotation::reopen(&owned, &unlocked).is_ok());
            assert!(
                unlocked
                    .epochs
                    .iter()
                    .any(|key| key.epoch == owned.current_epoch)
            );
        }
        Err(UnlockError::NoSlotOfKind(_) | UnlockError::HeaderAltered) => {
            assert!(!opens_by_rights(&owned), "the owner is refused");
        }
        Err(error) => panic!("the owner's key is refused: {error}"),
    }
}

/// Whether a header has a slot for the owner's key, and the epoch that it names.
fn opens_by_rights(header: &Header) -> bool {
    let slot = header.slots.iter().flatten().any(|slot| slot.kdf.is_none());
    let mut epochs = header.epochs.iter().flatten();
    slot && epochs.any(|entry| entry.epoch == header.current_epoch)
}
