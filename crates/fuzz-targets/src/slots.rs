//! Key slots: sequences of changes, and a key as text.

use crypto::cipher::Cipher;
use crypto::secret::Key;
use keyring::Credential;
use keyring::rotation;
use keyring::slots::{self, SlotError, UnlockError, Unlocked};
use keyring::source::parse_raw_key;
use page_codec::header::{Header, HeaderRegion, SLOT_COUNT};

use crate::input::Input;

/// Takes a list of changes, and plays them against a list of the keys that must open the file.
pub fn run(bytes: &[u8]) {
    key_as_text(bytes);
    let mut input = Input::new(bytes);
    let cipher = input.one_of(&Cipher::ALL);
    let first = input.byte() % 16;
    let (mut header, mut unlocked) =
        slots::create(cipher, 512, &credential(first)).expect("a raw key needs nothing");
    let mut model = [None; SLOT_COUNT];
    model[0] = Some(first);
    for _ in 0..32 {
        if input.is_empty() {
            break;
        }
        let (action, key) = (input.byte(), input.byte() % 16);
        match action % 8 {
            0 => match slots::add(&mut header, &unlocked, &credential(key)) {
                Ok(index) => assert_eq!(model[index].replace(key), None),
                Err(SlotError::Full) => assert!(model.iter().all(Option::is_some)),
                Err(error) => panic!("{error}"),
            },
            1 => match slots::replace(&mut header, &mut unlocked, &credential(key)) {
                Ok(index) => {
                    // Whoever was removed does not come back by that.
                    assert!(model[index].replace(key).is_some());
                }
                // The slot is gone, or another's: it stays as it is.
                Err(SlotError::Unlock(UnlockError::Replaced)) => {}
                Err(error) => panic!("{error}"),
            },
            2 => {
                let index = usize::from(key);
                let filled = model.iter().flatten().count();
                match slots::remove(&mut header, &unlocked, index) {
                    Ok(()) => assert!(model[index].take().is_some() && filled > 1),
                    Err(SlotError::Empty(_)) => {
                        assert!(model.get(index).is_none_or(Option::is_none));
                    }
                    Err(SlotError::Last(_)) => assert_eq!(filled, 1),
                    Err(error) => panic!("{error}"),
                }
            }
            3 => {
                if let Ok(again) = slots::unlock(&header, &credential(key)) {
                    unlocked = again;
                }
            }
            4 | 5 => rotate(&mut header, &mut unlocked, &mut model, action >> 4),
            _ => altered_does_not_open(&header, key, input.u16(), input.byte()),
        }
        header = assert_opens_as(&header, &model);
    }
}

fn credential(number: u8) -> Credential {
    let key = Key::from_bytes([number; 32]);
    if number & 1 == 0 {
        Credential::raw_key(key)
    } else {
        Credential::key_file(key)
    }
}

/// Begins or ends a rotation of the data key. Alone, only the slot of whoever does it stays, if it
/// is still his.
fn rotate(header: &mut Header, unlocked: &mut Unlocked, model: &mut [Option<u8>], how: u8) {
    // As the VFS does it: the keys of the header that is in force.
    let Ok(reopened) = rotation::reopen(header, unlocked) else {
        panic!("the owner of the master key is refused");
    };
    *unlocked = reopened;
    match how {
        0..5 => {
            let _ = rotation::end(header, unlocked);
        }
        5..12 => {
            let _ = rotation::begin(header, unlocked, false, how & 1 == 1);
        }
        _ => {
            if rotation::begin(header, unlocked, true, how & 1 == 1).is_ok() {
                let kept = unlocked.slot();
                for (index, slot) in model.iter_mut().enumerate() {
                    *slot = slot.filter(|_| index == kept);
                }
            }
        }
    }
}

fn assert_opens_as(header: &Header, model: &[Option<u8>]) -> Header {
    let parsed = HeaderRegion::parse(&HeaderRegion::to_bytes(header)).expect("written is read");
    assert_eq!(&parsed.header, header);
    for key in 0..16 {
        let first = model.iter().position(|slot| *slot == Some(key));
        let opened = slots::unlock(&parsed.header, &credential(key)).ok();
        assert_eq!(opened.map(|unlocked| unlocked.slot()), first, "key {key}");
    }
    parsed.header
}

/// One changed byte before the tag, under a checksum that is put right: no key opens it.
fn altered_does_not_open(header: &Header, key: u8, offset: u16, change: u8) {
    let mut copy = header.to_copy();
    let offset = usize::from(offset) % (copy.len() - 32);
    copy[offset] ^= change.max(1);
    let checksum_offset = copy.len() - 32;
    let checksum = crypto::mac::checksum(&copy[..checksum_offset]);
    copy[checksum_offset..].copy_from_slice(&checksum);
    copy.extend_from_within(..);
    if let Ok(parsed) = HeaderRegion::parse(&copy) {
        let opened = slots::unlock(&parsed.header, &credential(key));
        assert!(opened.is_err(), "opened with byte {offset} altered");
    }
}

/// A key as text is 32 bytes or 64 digits; its digits are read as the key.
fn key_as_text(bytes: &[u8]) {
    if let Some(key) = parse_raw_key(bytes) {
        let digits: String = key
            .expose()
            .iter()
            .map(|byte| format!("{byte:02X}\r\n"))
            .collect();
        let digits = digits.replace("\r\n", "");
        let again = parse_raw_key(format!("{digits}\r\n").as_bytes()).expect("64 digits");
        assert!(again.constant_time_eq(&key));
    }
}
