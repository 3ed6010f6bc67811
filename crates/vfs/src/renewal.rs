//! Changes by another connection to an open database: header and keys, and pages that are being
//! resealed.
//!
//! Whoever changes the epochs holds the locks of all writers (see `rotation`). So a writer only
//! needs to check the header when it gets such a lock: the current epoch cannot change until it
//! releases the lock. A reader checks the header when it meets a page that does not open.

use std::time::Duration;

use keyring::rotation;
use keyring::slots::Unlocked;
use page_codec::header::{Header, HeaderRegion, REGION_SIZE, VERSIONED_PAGES};
use page_codec::page::{PageCodec, PageError, PagePlace};

use crate::abi::{
    SHM_CHECKPOINT_LOCK, SHM_UNLOCK_EXCLUSIVE, SHM_WRITE_LOCK, SQLITE_IOERR_READ, SQLITE_NOTADB,
    SQLITE_SYNC_NORMAL,
};
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::main_file::page_number;
use crate::pause::pause;

/// How often a page that another connection may be writing is read before it counts as damaged.
const READS_MAX: usize = 50;
const PAUSE: Duration = Duration::from_micros(100);

/// A bit mask of `count` WAL locks, starting at index `first`.
fn lock_bits(first: i32, count: i32) -> u32 {
    (first..first + count).fold(0, |bits, lock| bits | 1_u32.wrapping_shl(lock as u32))
}

impl Database {
    /// Takes over the header on disk if it differs from the known one. Returns whether it did.
    ///
    /// The header is accepted only if its checksum is right and its generation is not below the one
    /// this connection knows: a damaged copy proves nothing, and an older one is no longer a header
    /// of this database.
    pub fn renew_header(&mut self) -> Outcome<bool> {
        let State::Open(opened) = &self.state else {
            return Ok(false);
        };
        let known = opened.header.generation;
        let unchanged =
            |region: &[u8]| HeaderRegion::says_the_same(&self.main.header_region, region);
        if self.main.map.peek(0, REGION_SIZE, unchanged) == Some(true) {
            return Ok(false);
        }
        let region = self.read_region()?;
        if HeaderRegion::says_the_same(&self.main.header_region, &region) {
            return Ok(false);
        }
        let HeaderRegion {
            header,
            is_half_changed,
            ..
        } = self.parse_header(&region)?;
        if is_half_changed {
            // Whoever wrote it was killed before the sync. Nothing may be sealed under keys that a
            // power cut could take away, least of all in the log, whose sync does not sync this
            // file.
            self.base.sync(SQLITE_SYNC_NORMAL)?;
        }
        let renewed = header.generation != known;
        if renewed {
            let State::Open(opened) = &self.state else {
                return Ok(false);
            };
            match rotation::reopen(&header, &opened.unlocked) {
                Ok(unlocked) => self.take_over(header, unlocked)?,
                Err(error) => return Err(self.fail(SQLITE_NOTADB, error.to_string())),
            }
        }
        self.main.header_region = region;
        Ok(renewed)
    }

    /// Reads the header in force from the file.
    pub fn read_header(&mut self) -> Outcome<HeaderRegion> {
        let region = self.read_region()?;
        self.parse_header(&region)
    }

    /// Both copies of the header; missing bytes are a read error.
    fn read_region(&self) -> Outcome<Vec<u8>> {
        let mut region = vec![0; REGION_SIZE];
        match self.base.read(&mut region, 0) {
            Ok(()) => Ok(region),
            Err(code) if code.is_short_read() => Err(Code(SQLITE_IOERR_READ)),
            Err(code) => Err(code),
        }
    }

    /// The header in force, which must not be older than the known one.
    fn parse_header(&mut self, region: &[u8]) -> Outcome<HeaderRegion> {
        let region = match HeaderRegion::parse(region) {
            Ok(region) => region,
            Err(error) => return Err(self.fail(SQLITE_NOTADB, error.to_string())),
        };
        let State::Open(opened) = &self.state else {
            return Ok(region);
        };
        let (found, known) = (&region.header, &opened.header);
        if found.file_id != known.file_id
            || found.generation < known.generation
            || (found.generation == known.generation && found != known)
        {
            return Err(self.fail(
                SQLITE_NOTADB,
                "the header on disk is an older one, or another file's, than the one that was \
                 opened: the file was put back or replaced while in use; close it and look",
            ));
        }
        Ok(region)
    }

    /// Switches to another header and its keys.
    pub fn take_over(&mut self, header: Header, unlocked: Unlocked) -> Outcome {
        let (file_id, epoch) = (header.file_id, header.current_epoch);
        let codec = PageCodec::new(header.cipher, file_id, epoch, &unlocked.epochs);
        let (State::Open(opened), Some(codec)) = (&mut self.state, codec) else {
            return Err(Code(SQLITE_NOTADB));
        };
        if opened.header.current_epoch != epoch {
            // The progress of the pass belongs to an earlier rotation.
            self.main.rotation_next = 0;
        }
        if opened.header.page_size != header.page_size {
            // All pages have changed, and are newer than any before.
            self.main.rotation_next = 0;
            self.sealing.scratch = vec![0; header.page_size as usize];
            self.main.map.forget();
            self.main.page_one.forget();
            self.freshness
                .stamps
                .begin_at(self.freshness.stamps.newest());
        }
        self.freshness.versions_in_file = header.must_understand & VERSIONED_PAGES != 0;
        opened.codec = codec;
        opened.unlocked = unlocked;
        opened.header = header;
        Ok(())
    }

    /// Called when a lock was taken under which pages of the database file are written.
    pub fn begin_writing_pages(&mut self) -> Outcome {
        self.sealing.nonces.forget();
        if let State::New(_) = self.state {
            return self.clear_remains();
        }
        self.renew_header()?;
        if self.is_rotating() {
            self.settle_double_write()?;
        }
        self.clear_surplus()
    }

    /// Called when SQLite got exclusive WAL locks. The checkpoint lock is the one under which pages
    /// of the database file are written.
    pub fn locked_log(&mut self, first: i32, count: i32) -> Outcome {
        let taken = lock_bits(first, count);
        self.log.locks |= taken;
        let ready = if taken & lock_bits(SHM_CHECKPOINT_LOCK, 1) != 0 {
            // If another process truncates the file, reading it through a map crashes this one, so
            // the size is read.
            let size = self.base.size();
            size.and_then(|size| {
                self.main.map.shrink(size);
                self.begin_writing_pages()
            })
        } else if first == SHM_WRITE_LOCK {
            self.sealing.nonces.forget();
            self.renew_header().map(|_| ())
        } else {
            Ok(())
        };
        if ready.is_err() {
            self.log.locks &= !taken;
            let _ = self.base.shm_lock(first, count, SHM_UNLOCK_EXCLUSIVE);
        }
        ready
    }

    /// Called before SQLite releases exclusive WAL locks.
    pub fn unlocking_log(&mut self, first: i32, count: i32) {
        self.log.locks &= !lock_bits(first, count);
        if first == SHM_WRITE_LOCK {
            self.end_wal_write();
            // Records what this connection has committed. If the number has fallen, the next reader
            // finds out.
            let _ = self.check_log_end(self.log.shared_header);
        }
    }

    /// Whether pages may still be sealed under a former data key.
    pub fn is_rotating(&self) -> bool {
        matches!(&self.state, State::Open(opened) if opened.header.is_rotating())
    }

    /// Retries a page that did not open. It may name an epoch that is new to this connection; or
    /// another connection is resealing it, and the read was torn; or resealing was interrupted, and
    /// the double-write file has the page.
    pub fn look_again(
        &mut self,
        index: u64,
        offset: u64,
        out: &mut [u8],
        mut error: PageError,
    ) -> Outcome {
        for attempt in 0..READS_MAX {
            // Checked on each iteration: while the page was read, a rotation may have ended and
            // another begun.
            let renewed = self.renew_header()?;
            if !renewed && !self.is_rotating() {
                break;
            }
            if !renewed && attempt > 1 {
                pause(PAUSE);
            }
            match self.open_once_more(index, offset, out)? {
                Ok(()) => return Ok(()),
                Err(other) => error = other,
            }
        }
        if self.is_rotating() {
            if self.open_from_double_write(index, out)? {
                return Ok(());
            }
            // However long the writer was held up: a batch that is no longer in that file is whole
            // in its place.
            match self.open_once_more(index, offset, out)? {
                Ok(()) => return Ok(()),
                Err(other) => error = other,
            }
        }
        out.fill(0);
        Err(self.bad_page(index, &error.to_string()))
    }

    fn open_once_more(
        &mut self,
        index: u64,
        offset: u64,
        out: &mut [u8],
    ) -> Outcome<Result<(), PageError>> {
        let place = PagePlace::main(page_number(index)?);
        let State::Open(opened) = &mut self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let (page_size, wanted) = (u64::from(opened.header.page_size), out.len() as u64);
        if page_size != wanted {
            // The page size has changed; SQLite learns that from the beginning of page 1.
            return self.read_parts(out, index * wanted, page_size).map(Ok);
        }
        self.base.read(&mut self.sealing.scratch, offset)?;
        Ok(match opened.codec.open(place, &self.sealing.scratch, out) {
            Ok(stamp) if self.is_fresh(index, stamp) => Ok(()),
            Ok(_) => Err(PageError::Stale),
            Err(other) => Err(other),
        })
    }
}
