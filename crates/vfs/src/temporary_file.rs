//! Temporary files: sorts that spill, temporary tables, statement journals. They are sealed in
//! blocks under a key that exists only in memory, so their content is lost once they are closed.
//!
//! SQLite reserves no bytes in their pages, so the trailer is stored outside the block: block `n`
//! of 4,096 bytes is at `n * 4,128`. One block is held in memory; SQLite writes most of these files
//! in order, so the block is full before it is sealed.

use crypto::cipher::Cipher;
use page_codec::page::{EpochKey, PageCodec, PagePlace, TRAILER_SIZE};

use crate::abi::{SQLITE_IOERR, SQLITE_IOERR_DATA, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ};
use crate::api::SqliteApi;
use crate::base::BaseFile;

use crate::error::{Code, Outcome};
use crate::nonces::Nonces;

const BLOCK_SIZE: usize = 4096;
const SEALED_SIZE: usize = BLOCK_SIZE + TRAILER_SIZE;

/// The only epoch: the key is never stored or rotated.
const EPOCH: u32 = 1;

/// An open temporary file.
pub(crate) struct TemporaryFile {
    base: BaseFile,
    codec: PageCodec,
    nonces: Nonces,
    size: u64,
    blocks_on_disk: u64,
    /// The index of the block in `block`, and whether it must be written.
    held: Option<u64>,
    dirty: bool,
    /// Includes room for the trailer, which is zero here.
    block: Box<[u8; SEALED_SIZE]>,
    sealed: Box<[u8; SEALED_SIZE]>,
}

impl TemporaryFile {
    /// Wraps an empty file that the base VFS has just opened.
    pub fn new(base: BaseFile, cipher: Cipher) -> Outcome<Self> {
        let (Ok(data_key), Ok(file_id)) = (keyring::random_key(), keyring::random_array()) else {
            return Err(Code(SQLITE_IOERR));
        };
        let key = EpochKey {
            epoch: EPOCH,
            data_key,
            versioned: false,
        };
        let codec = PageCodec::new(cipher, file_id, EPOCH, &[key]).ok_or(Code(SQLITE_IOERR))?;
        Ok(TemporaryFile {
            base,
            codec,
            nonces: Nonces::new(),
            size: 0,
            blocks_on_disk: 0,
            held: None,
            dirty: false,
            block: Box::new([0; SEALED_SIZE]),
            sealed: Box::new([0; SEALED_SIZE]),
        })
    }

    pub fn read(&mut self, out: &mut [u8], mut offset: u64) -> Outcome {
        let available = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = out.len();
        let (mut rest, beyond) = out.split_at_mut(wanted.min(available));
        beyond.fill(0);
        while !rest.is_empty() {
            let inside = (offset % BLOCK_SIZE as u64) as usize;
            let count = rest.len().min(BLOCK_SIZE - inside);
            self.hold(offset / BLOCK_SIZE as u64)?;
            let (piece, others) = rest.split_at_mut(count);
            piece.copy_from_slice(&self.block[inside..inside + count]);
            rest = others;
            offset += count as u64;
        }
        if wanted > available {
            Err(Code(SQLITE_IOERR_SHORT_READ))
        } else {
            Ok(())
        }
    }

    pub fn write(&mut self, mut data: &[u8], mut offset: u64) -> Outcome {
        while !data.is_empty() {
            let inside = (offset % BLOCK_SIZE as u64) as usize;
            let count = data.len().min(BLOCK_SIZE - inside);
            self.hold(offset / BLOCK_SIZE as u64)?;
            self.block[inside..inside + count].copy_from_slice(&data[..count]);
            self.dirty = true;
            data = &data[count..];
            offset += count as u64;
            self.size = self.size.max(offset);
        }
        Ok(())
    }

    pub fn truncate(&mut self, size: u64) -> Outcome {
        if size < self.size {
            let blocks = size.div_ceil(BLOCK_SIZE as u64);
            if self.held.is_some_and(|held| held >= blocks) {
                self.held = None;
                self.dirty = false;
            }
            let inside = (size % BLOCK_SIZE as u64) as usize;
            if inside != 0 {
                self.hold(size / BLOCK_SIZE as u64)?;
                self.block[inside..BLOCK_SIZE].fill(0);
                self.dirty = true;
            }
            if blocks < self.blocks_on_disk {
                self.base.truncate(blocks * SEALED_SIZE as u64)?;
                self.blocks_on_disk = blocks;
            }
        }
        self.size = size;
        Ok(())
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Loads a block into memory and seals the one that was there. Blocks beyond the end are zeros,
    /// and so are skipped blocks on disk.
    fn hold(&mut self, index: u64) -> Outcome {
        if self.held == Some(index) {
            return Ok(());
        }
        self.put_away()?;
        if index < self.blocks_on_disk {
            return self.load(index);
        }
        self.block.fill(0);
        for skipped in self.blocks_on_disk..index {
            self.held = Some(skipped);
            self.dirty = true;
            self.put_away()?;
        }
        self.held = Some(index);
        self.dirty = true;
        Ok(())
    }

    fn load(&mut self, index: u64) -> Outcome {
        self.held = None;
        let read = self
            .base
            .read(&mut self.sealed[..], index * SEALED_SIZE as u64);
        match read {
            Ok(()) => {}
            // SQLite would take a short read for the end of the file and go on with zeros.
            Err(code) if code.is_short_read() => return Err(Code(SQLITE_IOERR_READ)),
            Err(code) => return Err(code),
        }
        let place = PagePlace::temporary(index);
        if let Err(error) = self
            .codec
            .open(place, &self.sealed[..], &mut self.block[..])
        {
            let message = format!("strongroom: block {index} of a temporary file: {error}");
            SqliteApi::get().write_log(SQLITE_IOERR_DATA, &message);
            return Err(Code(SQLITE_IOERR_DATA));
        }
        self.held = Some(index);
        self.dirty = false;
        Ok(())
    }

    /// Seals the held block and writes it, if it has changed.
    fn put_away(&mut self) -> Outcome {
        let (Some(index), true) = (self.held, self.dirty) else {
            return Ok(());
        };
        let nonce = self.nonces.next().map_err(|_| Code(SQLITE_IOERR))?;
        let place = PagePlace::temporary(index);
        self.codec
            .seal(place, &nonce, &self.block[..], &mut self.sealed[..])
            .map_err(|_| Code(SQLITE_IOERR))?;
        self.base
            .write(&self.sealed[..], index * SEALED_SIZE as u64)?;
        self.blocks_on_disk = self.blocks_on_disk.max(index + 1);
        self.dirty = false;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.block[..]);
    }
}
