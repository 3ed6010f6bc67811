//! The owner of a file: keys that the targets know, and everything that is made with them.
//!
//! Written from `docs/page-format.md` and not from the product's key schedule: where the two
//! differ, no target gets past the header.

use crypto::cipher::Cipher;
use crypto::kdf::derive_key;
use crypto::secret::Key;
use keyring::Credential;
use page_codec::header::{EPOCH_COUNT, EpochEntry, Header, SLOT_COUNT, Slot, SlotKind};
use page_codec::page::{EpochKey, PageCodec, PagePlace, TRAILER_SIZE};
use page_codec::wal::{self, FRAME_HEADER_SIZE};

/// The file id of every file here.
pub const FILE_ID: [u8; 16] = *b"fuzzed file id..";
/// The epoch of every file here.
pub const EPOCH: u32 = 1;

/// The key of the user.
pub fn user_key() -> Key {
    Key::from_bytes([0x11; 32])
}

/// The key of the user, as the product takes it.
pub fn credential() -> Credential {
    Credential::raw_key(user_key())
}

pub fn master_key() -> Key {
    Key::from_bytes([0x22; 32])
}

pub fn data_key() -> Key {
    Key::from_bytes([0x33; 32])
}

/// A header as the owner writes it.
pub fn header(cipher: Cipher, page_size: u32) -> Header {
    let mut header = Header {
        page_size,
        cipher,
        must_understand: 0,
        may_ignore: 0,
        current_epoch: EPOCH,
        generation: 2,
        file_id: FILE_ID,
        epochs: [const { None }; EPOCH_COUNT],
        slots: [const { None }; SLOT_COUNT],
        tag: [0; 32],
    };
    header.epochs[0] = Some(EpochEntry {
        epoch: EPOCH,
        nonce: [5; 24],
        wrapped: [0; 48],
        versioned: false,
    });
    header.slots[0] = Some(Slot {
        kind: SlotKind::RawKey,
        kdf: None,
        salt: [6; 16],
        nonce: [7; 24],
        wrapped: [0; 48],
    });
    wrap_all(&mut header);
    tag(&mut header);
    header
}

/// Wraps the master key in each slot that a raw key opens, and a data key in each epoch.
pub fn wrap_all(header: &mut Header) {
    let file_id = header.file_id;
    let wrap_key = derive_key(&master_key(), &file_id, b"strongroom data key wrap 1");
    for entry in header.epochs.iter_mut().flatten() {
        let associated = EpochEntry::associated_data(&file_id, entry.epoch);
        entry.wrapped = crypto::wrap::wrap_key(&wrap_key, &entry.nonce, &associated, &data_key());
    }
    for (index, slot) in header.slots.iter_mut().enumerate() {
        let Some(slot) = slot.as_mut().filter(|slot| slot.kdf.is_none()) else {
            continue;
        };
        let slot_key = derive_key(&user_key(), &slot.salt, b"strongroom raw key slot 1");
        let associated = slot.associated_data(&file_id, index);
        slot.wrapped = crypto::wrap::wrap_key(&slot_key, &slot.nonce, &associated, &master_key());
    }
}

/// Tags a header.
pub fn tag(header: &mut Header) {
    let key = derive_key(&master_key(), &header.file_id, b"strongroom header tag 1");
    header.tag = crypto::mac::authenticate(&key, &header.authenticated_bytes());
}

/// The codec of a file with such a header.
pub fn codec(cipher: Cipher) -> PageCodec {
    let keys = [EpochKey {
        epoch: EPOCH,
        data_key: data_key(),
        versioned: false,
    }];
    PageCodec::new(cipher, FILE_ID, EPOCH, &keys).expect("the epoch is among the keys")
}

/// Seals with nonces that count: the same input makes the same files.
pub struct Sealer {
    pub codec: PageCodec,
    nonces_drawn: u64,
}

impl Sealer {
    pub fn new(cipher: Cipher) -> Self {
        Sealer {
            codec: codec(cipher),
            nonces_drawn: 0,
        }
    }

    /// The page, sealed; its last bytes go to the trailer.
    pub fn seal(&mut self, place: PagePlace, page: &[u8]) -> Vec<u8> {
        let mut page = page.to_vec();
        let payload_size = page.len() - TRAILER_SIZE;
        page[payload_size..].fill(0);
        self.nonces_drawn += 1;
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.nonces_drawn.to_le_bytes());
        let mut sealed = vec![0; page.len()];
        self.codec
            .seal(place, &nonce, &page, &mut sealed)
            .expect("the trailer's place was cleared");
        sealed
    }

    /// A frame of the log: its header encrypted, its page sealed.
    pub fn frame(&mut self, index: u64, header: [u8; FRAME_HEADER_SIZE], page: &[u8]) -> Vec<u8> {
        let salts = wal::frame_salts(&header);
        let place = PagePlace::wal(wal::page_number(&header), index, salts);
        let mut masked = header;
        wal::mask(self.codec.mask(), index, &mut masked);
        let mut frame = masked.to_vec();
        frame.extend(self.seal(place, page));
        frame
    }

    /// A database file: header region and pages.
    pub fn database(&mut self, header: &Header, image: &[u8]) -> Vec<u8> {
        let mut file = page_codec::header::HeaderRegion::to_bytes(header);
        for (page, number) in image.chunks_exact(header.page_size as usize).zip(1..) {
            file.extend(self.seal(PagePlace::main(number), page));
        }
        file
    }
}
