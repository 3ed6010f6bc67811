//! The double-write file of a rotation: written here, and used to restore torn pages.
//!
//! Invariants:
//!
//! 1. A batch is written to the file and synced before its first page is written in place.
//! 2. While the file holds a batch, only that batch writes pages of the database file: whoever gets
//!    a lock to write pages first settles the file.
//!
//! So a page that does not open, and that the file contains, was torn by the batch, and the file
//! holds its intended content.

use page_codec::double_write::{self, Builder, SUFFIX};
use page_codec::page::PagePlace;
use zeroize::Zeroizing;

use crate::abi::{SQLITE_IOERR_READ, SQLITE_SYNC_NORMAL};
use crate::base_vfs::{SideFile, SideName};
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::gathered::Gathered;
use crate::main_file::PAGES_OFFSET;

/// Bytes of pages in one batch.
pub(crate) const BATCH_SIZE_MAX: usize = 4 * 1024 * 1024;
/// Larger than any such file: a header, and records with their heads.
const FILE_SIZE_MAX: u64 = 2 * BATCH_SIZE_MAX as u64;

impl Database {
    fn double_write_name(&self) -> SideName {
        SideName::beside(&self.identity.name, SUFFIX)
    }

    /// Opens the file for a rotation's batches.
    pub fn open_double_write(&self) -> Outcome<SideFile> {
        self.vfs.open(&self.double_write_name(), true)
    }

    /// Removes the file, which holds no batch any more.
    pub fn delete_double_write(&self) -> Outcome {
        let name = self.double_write_name();
        self.vfs.delete(&name, false)
    }

    /// Writes a batch to the file, then in place, with a sync after each.
    pub fn write_batch(&mut self, file: &SideFile, batch: &Builder) -> Outcome {
        let file = file.base();
        file.write_large(batch.bytes(), 0)?;
        file.sync(SQLITE_SYNC_NORMAL)?;
        let mut gathered = Gathered::default();
        for (number, sealed) in batch.records() {
            let offset = PAGES_OFFSET + u64::from(number - 1) * sealed.len() as u64;
            gathered
                .reserve(self.base, offset, sealed.len())?
                .copy_from_slice(sealed);
        }
        gathered.flush(self.base)?;
        self.base.sync(SQLITE_SYNC_NORMAL)?;
        file.truncate(0)
    }

    /// Restores the pages that an interrupted batch has torn, and removes the file. The caller
    /// holds a lock under which pages may be written.
    pub fn settle_double_write(&mut self) -> Outcome {
        let Some(bytes) = self.read_double_write()? else {
            return Ok(());
        };
        let State::Open(opened) = &mut self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let page_size = opened.header.page_size;
        let mut in_place = vec![0; page_size as usize];
        let mut plain = Zeroizing::new(vec![0; page_size as usize]);
        let mut mended = false;
        for (number, sealed) in double_write::records(&bytes, &opened.header.file_id, page_size) {
            let Some(index) = number.checked_sub(1) else {
                continue;
            };
            let offset = PAGES_OFFSET + u64::from(index) * u64::from(page_size);
            let place = PagePlace::main(number);
            match self.base.read_to_end(&mut in_place, offset) {
                Ok(()) => {}
                // A batch has no pages beyond the end of the file.
                Err(code) if code.is_short_read() => continue,
                Err(code) => return Err(code),
            }
            if opened.codec.open(place, &in_place, &mut plain).is_err()
                && opened.codec.open(place, sealed, &mut plain).is_ok()
            {
                self.base.write(sealed, offset)?;
                mended = true;
            }
        }
        if mended {
            self.base.sync(SQLITE_SYNC_NORMAL)?;
        }
        self.delete_double_write()
    }

    /// Opens a page from the double-write file after it failed to open in the database. Returns
    /// whether that worked.
    pub fn open_from_double_write(&mut self, index: u64, out: &mut [u8]) -> Outcome<bool> {
        let Some(bytes) = self.read_double_write()? else {
            return Ok(false);
        };
        let State::Open(opened) = &mut self.state else {
            return Ok(false);
        };
        let (file_id, page_size) = (opened.header.file_id, opened.header.page_size);
        let found = double_write::records(&bytes, &file_id, page_size)
            .find(|(number, _)| u64::from(*number) == index + 1);
        let stamp = found.and_then(|(number, sealed)| {
            let place = PagePlace::main(number);
            opened.codec.open(place, sealed, out).ok()
        });
        Ok(stamp.is_some_and(|stamp| self.is_fresh(index, stamp)))
    }

    fn read_double_write(&self) -> Outcome<Option<Vec<u8>>> {
        let name = self.double_write_name();
        if !self.vfs.exists(&name)? {
            return Ok(None);
        }
        let file = match self.vfs.open(&name, false) {
            Ok(file) => file,
            // The rotation has removed the file meanwhile.
            Err(_) if !self.vfs.exists(&name)? => return Ok(None),
            Err(code) => return Err(code),
        };
        let size = file.base().size()?.min(FILE_SIZE_MAX);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        match file.base().read_large(&mut bytes, 0) {
            Ok(()) => {}
            // Truncated meanwhile: missing bytes read as zeros, which do not authenticate.
            Err(code) if code.is_short_read() => {}
            Err(code) => return Err(code),
        }
        Ok(Some(bytes))
    }
}
