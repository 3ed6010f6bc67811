//! What another connection changed under an open database: header and keys, and pages that are
//! just being sealed anew.
//!
//! Whoever changes the epochs holds the locks of all writers (see `rotation`). So it is enough
//! that a writer looks at the header when it gets such a lock: from then on, until it gives the
//! lock up, the current epoch stays. A reader looks when it meets a page that does not open.

use std::time::Duration;

use keyring::rotation;
use keyring::slots::Unlocked;
use page_codec::header::{Header, HeaderRegion, REGION_SIZE, VERSIONED_PAGES};
use page_codec::page::{PageCodec, PageError, PagePlace};

use crate::abi::{
    SHM_CHECKPOINT_LOCK, SHM_UNLOCK_EXCLUSIVE, SHM_WRITE_LOCK, SQLITE_IOERR_READ, SQLITE_NOTADB,
};
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::main_file::page_number;
use crate::pause::pause;

/// How often a page that may be under a writer's hands is read before it is given up.
const READS_MAX: usize = 50;
const PAUSE: Duration = Duration::from_micros(100);

/// A bit for each of `count` locks of the log, from the number `first` on.
fn lock_bits(first: i32, count: i32) -> u32 {
    (first..first + count).fold(0, |bits, lock| bits | 1_u32.wrapping_shl(lock as u32))
}

impl Database {
    /// Takes over the header if it is not the one that is known; tells whether it did.
    ///
    /// What stands on the disk counts for nothing but by its checksum and by the generation that
    /// this connection knows: a damaged copy proves nothing, and an older one is no header of this
    /// database any more.
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
        let header = self.parse_header(&region)?.header;
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

    /// Both copies of the header, which are there or else cannot be read.
    fn read_region(&self) -> Outcome<Vec<u8>> {
        let mut region = vec![0; REGION_SIZE];
        match self.base.read(&mut region, 0) {
            Ok(()) => Ok(region),
            Err(code) if code.is_short_read() => Err(Code(SQLITE_IOERR_READ)),
            Err(code) => Err(code),
        }
    }

    /// The header in force, which is none before the one that is known.
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

    /// Goes on with another header and its keys.
    pub fn take_over(&mut self, header: Header, unlocked: Unlocked) -> Outcome {
        let (file_id, epoch) = (header.file_id, header.current_epoch);
        let codec = PageCodec::new(header.cipher, file_id, epoch, &unlocked.epochs);
        let (State::Open(opened), Some(codec)) = (&mut self.state, codec) else {
            return Err(Code(SQLITE_NOTADB));
        };
        if opened.header.current_epoch != epoch {
            // How far the pass was is of another rotation than the one that may be under way.
            self.main.rotation_next = 0;
        }
        if opened.header.page_size != header.page_size {
            // All pages are others, and of a later version than any before.
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

    /// A lock has been taken under which pages of the database file are written.
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

    /// SQLite has got exclusive locks of the log. That of a checkpoint is the one under which
    /// pages of the database file are written.
    pub fn locked_log(&mut self, first: i32, count: i32) -> Outcome {
        let taken = lock_bits(first, count);
        self.log.locks |= taken;
        let ready = if taken & lock_bits(SHM_CHECKPOINT_LOCK, 1) != 0 {
            // Who cuts the file from outside ends whoever reads it through a map.
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

    /// SQLite is about to give up exclusive locks of the log.
    pub fn unlocking_log(&mut self, first: i32, count: i32) {
        self.log.locks &= !lock_bits(first, count);
        if first == SHM_WRITE_LOCK {
            self.end_wal_write();
            // What was committed now is known; a number that has fallen is found by who reads next.
            let _ = self.check_log_end(self.log.shared_header);
        }
    }

    /// Whether pages may still be sealed under a former data key.
    pub fn is_rotating(&self) -> bool {
        matches!(&self.state, State::Open(opened) if opened.header.is_rotating())
    }

    /// A page did not open. It may name an epoch that began since; or it is being sealed anew,
    /// and half of it was read; or that was cut short, and the double-write file has it.
    pub fn look_again(
        &mut self,
        index: u64,
        offset: u64,
        out: &mut [u8],
        mut error: PageError,
    ) -> Outcome {
        let place = PagePlace::main(page_number(index)?);
        for attempt in 0..READS_MAX {
            // Looked at anew each time: while the page was read, a rotation may have ended and
            // the next one begun.
            let renewed = self.renew_header()?;
            if !renewed && !self.is_rotating() {
                break;
            }
            if !renewed && attempt > 1 {
                pause(PAUSE);
            }
            let State::Open(opened) = &mut self.state else {
                return Err(Code(SQLITE_IOERR_READ));
            };
            let (page_size, wanted) = (u64::from(opened.header.page_size), out.len() as u64);
            if page_size != wanted {
                // Pages have another size now; SQLite learns it from the beginning of page 1.
                return self.read_parts(out, index * wanted, page_size);
            }
            self.base.read(&mut self.sealing.scratch, offset)?;
            match opened.codec.open(place, &self.sealing.scratch, out) {
                Ok(stamp) if self.is_fresh(index, stamp) => return Ok(()),
                Ok(_) => error = PageError::Stale,
                Err(other) => error = other,
            }
        }
        if self.is_rotating() && self.open_from_double_write(index, out)? {
            return Ok(());
        }
        out.fill(0);
        Err(self.bad_page(index, &error.to_string()))
    }
}
