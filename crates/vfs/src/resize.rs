//! A change of page size in place, as VACUUM and the backup API make it.
//!
//! SQLite writes the new database in units of the former page size, so that its rollback journal
//! can undo the whole, and page 1 contains the new size (`sqlite3BtreeCopyFile` in its sources).
//! Such a unit is not a page: it may hold content where our pages need their trailer. So, from the
//! first such unit on, all units are diverted to a temporary file, sealed under a key in memory.
//! When SQLite is about to commit, the pages of the new size are sealed into the database, and
//! their size is written to the header.
//!
//! Until the journal is deleted, the former state can be restored: the journal has every page that
//! the database had. The journal's header contains the former page size, and whoever plays the
//! journal back first writes that size to the database's header. So whenever the process or the
//! power fails, one of the two states is complete.
//!
//! All of this happens under SQLite's EXCLUSIVE lock, and never in WAL mode: SQLite does not change
//! the page size there.

pub(crate) mod diverted_units;

use keyring::slots;
use page_codec::header::is_page_size;
use page_codec::page::{PageError, Stamp, TRAILER_SIZE, versioned_nonce};
use zeroize::Zeroizing;

use crate::abi::{SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ, SQLITE_LOCK_RESERVED};
use crate::database::Database;
use crate::error::{Code, Outcome};
use crate::keys::refused;
use crate::main_file::PAGES_OFFSET;
use crate::page_one::PageOne;

use diverted_units::DivertedUnits;

/// SQLite's lock byte: the page that holds it has no content (sqlite.org/fileformat2.html 1.5).
const LOCK_BYTE: u64 = 0x4000_0000;

fn has_room_for_trailer(page: &[u8]) -> bool {
    page.ends_with(&[0; TRAILER_SIZE])
}

impl Database {
    /// Whether a write belongs to a database with another page size.
    pub fn changes_page_size(&self, data: &[u8], offset: u64, page_size: u64) -> bool {
        if self.log.wal.is_some() {
            return false;
        }
        let size = data.len() as u64;
        let is_part = size < page_size
            && is_page_size(u32::try_from(size).unwrap_or(0))
            && offset.is_multiple_of(size);
        if size != page_size || !offset.is_multiple_of(page_size) {
            return is_part;
        }
        self.page_size_change.units.is_some()
            || !has_room_for_trailer(data)
            || (offset == 0 && u64::from(PageOne(data).page_size()) != page_size)
    }

    /// Diverts a write that is not a page of the current size.
    pub fn divert(&mut self, data: &[u8], offset: u64, page_size: u64) -> Outcome {
        if self.page_size_change.units.is_none() {
            self.flush_main()?;
            let file = self.vfs.open_temporary()?;
            let size = self.size_main()?;
            self.page_size_change.units = Some(DivertedUnits::new(file, self.asked.cipher, size)?);
        }
        let index = offset / page_size;
        let mut whole = Vec::new();
        let unit = if data.len() as u64 == page_size {
            data
        } else {
            // Around the page of the lock byte SQLite writes whole pages of the new size.
            whole.resize(page_size as usize, 0);
            self.read_unit(index, &mut whole)?;
            whole[(offset % page_size) as usize..][..data.len()].copy_from_slice(data);
            &whole[..]
        };
        match &mut self.page_size_change.units {
            Some(resize) => resize.write(index, unit),
            None => Err(Code(SQLITE_IOERR_READ)),
        }
    }

    /// Reads a unit if it was diverted or lies beyond the end of the database. Returns whether it
    /// did.
    pub fn read_diverted(&mut self, index: u64, out: &mut [u8]) -> Outcome<bool> {
        let unit_size = out.len() as u64;
        let in_file = self.size_on_disk()?.saturating_sub(PAGES_OFFSET);
        let Some(resize) = &mut self.page_size_change.units else {
            return Ok(false);
        };
        if resize.read(index, out)? {
            return Ok(true);
        }
        if index * unit_size >= resize.size() {
            out.fill(0);
            return Err(Code(SQLITE_IOERR_SHORT_READ));
        }
        if (index + 1) * unit_size <= in_file {
            return Ok(false);
        }
        out.fill(0);
        Ok(true)
    }

    /// Reads any unit; zeros beyond the end. A short read of an existing unit is an error.
    fn read_unit(&mut self, index: u64, out: &mut [u8]) -> Outcome {
        if index * out.len() as u64 >= self.size_diverted().unwrap_or(0) {
            out.fill(0);
            return Ok(());
        }
        self.read_page(index, out)
    }

    /// `xTruncate` while units are diverted. Returns false if none are.
    pub fn truncate_diverted(&mut self, size: u64, page_size: u64) -> bool {
        match &mut self.page_size_change.units {
            Some(resize) => {
                resize.cut(size, page_size);
                true
            }
            None => false,
        }
    }

    /// The size of the database as SQLite sees it, if units are diverted.
    pub fn size_diverted(&self) -> Option<u64> {
        self.page_size_change
            .units
            .as_ref()
            .map(DivertedUnits::size)
    }

    /// Called when SQLite is about to commit or has rolled back: turns diverted units into pages.
    pub fn finish_resize(&mut self) -> Outcome {
        let Some(page_size) = self
            .page_size()
            .filter(|_| self.page_size_change.units.is_some())
        else {
            return Ok(());
        };
        let mut first = vec![0; page_size as usize];
        self.read_unit(0, &mut first)?;
        self.check_page_one(&first)?;
        let page_one = PageOne(&first);
        let (page_one_size, page_one_count) = (page_one.page_size(), page_one.page_count());
        if page_one_size == page_size {
            self.put_back(page_size)?;
        } else {
            self.seal_in_size(page_size, page_one_size, page_one_count)?;
        }
        self.page_size_change.units = None;
        Ok(())
    }

    /// The page size does not change: writes the units to the database as pages.
    fn put_back(&mut self, page_size: u32) -> Outcome {
        let rolled_back = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.is_played_back_from_start());
        let mut resize = self.page_size_change.units.take();
        let outcome = match &mut resize {
            Some(resize) => self.put_units_back(resize, page_size, rolled_back),
            None => Ok(()),
        };
        self.page_size_change.units = resize;
        outcome
    }

    fn put_units_back(
        &mut self,
        resize: &mut DivertedUnits,
        page_size: u32,
        rolled_back: bool,
    ) -> Outcome {
        let mut unit = Zeroizing::new(vec![0; page_size as usize]);
        for index in 0..resize.count() {
            if !resize.read(index, &mut unit)? {
                continue;
            }
            if !has_room_for_trailer(&unit) {
                if rolled_back {
                    // Not in the journal, so its content is irrelevant: the page in the file stays.
                    continue;
                }
                let error = PageError::TrailerInUse;
                return Err(refused(
                    self,
                    format!("page {} is refused: {error}", index + 1),
                ));
            }
            self.fill_gap(index, page_size.into())?;
            self.write_page(index, &unit)?;
        }
        self.flush_main()?;
        self.truncate_pages(resize.size(), page_size.into())
    }

    /// Seals the pages of the new size into the database, then writes the size to the header.
    fn seal_in_size(&mut self, from: u32, to: u32, page_one_count: Option<u64>) -> Outcome {
        if self.main.lock_level < SQLITE_LOCK_RESERVED {
            return Err(refused(
                self,
                "the page size changes in a transaction without a lock",
            ));
        }
        // Images must be on disk before the pages they undo are overwritten.
        self.flush_main()?;
        self.flush_journal()?;
        let (from, to) = (u64::from(from), u64::from(to));
        // What lies beyond is truncated after the commit, and is not in the journal.
        let page_one_end = page_one_count.map_or(u64::MAX, |count| count * to);
        let size = self.size_diverted().unwrap_or(0).min(page_one_end);
        let version = self.next_version(size.div_ceil(from), from)?;
        // Until the header has the new size, a failure leaves pages of it in the place of others.
        self.main.write_failed = true;
        let at_once = from.max(to);
        let mut plain = Zeroizing::new(vec![0; at_once as usize]);
        let mut offset = 0;
        while offset < size {
            for (index, unit) in (offset / from..).zip(plain.chunks_exact_mut(from as usize)) {
                self.read_unit(index, unit)?;
            }
            for (index, page) in (offset / to..).zip(plain.chunks_exact_mut(to as usize)) {
                if index * to >= size {
                    break;
                }
                if index == LOCK_BYTE / to {
                    page.fill(0);
                }
                self.seal_new_page(index, page, version)?;
            }
            offset += at_once;
        }
        self.main.gathered.flush(self.base)?;
        let asked = self.size_diverted().unwrap_or(0).next_multiple_of(to);
        let mut size_on_disk = self.base.size()?;
        if size_on_disk > PAGES_OFFSET + asked {
            size_on_disk = PAGES_OFFSET + asked;
            self.base.truncate(size_on_disk)?;
        }
        self.main.size_known = self.main.size_known.map(|_| size_on_disk);
        // Set even on failure: a copy of the header may already contain the new size.
        self.page_size_change.from = Some(from as u32);
        self.change_page_size(to as u32)?;
        self.main.write_failed = false;
        Ok(())
    }

    fn seal_new_page(&mut self, index: u64, page: &[u8], version: Option<u64>) -> Outcome {
        let mut nonce = self.nonce()?;
        if let Some(version) = version {
            nonce = versioned_nonce(version, &nonce);
        }
        // Its stamp is not recorded: recorded stamps are still those of pages of the former size.
        self.seal_page(index, &nonce, page)
    }

    /// A version above that of every page, if pages carry versions.
    fn next_version(&mut self, pages: u64, page_size: u64) -> Outcome<Option<u64>> {
        if !self.keeps_versions() {
            return Ok(None);
        }
        let end = self.pages_on_disk(page_size)?;
        let mut version = 0;
        for index in 0..pages.max(end) {
            version = version.max(self.newest_version(index, end, page_size)?);
        }
        Ok(Some(version + 1))
    }

    fn change_page_size(&mut self, page_size: u32) -> Outcome {
        self.change_header(|header, unlocked| {
            slots::change_page_size(header, unlocked, page_size);
            Ok(())
        })
    }

    /// Whether SQLite is undoing, page by page, a change of page size that it was about to commit.
    /// This happens if its journal was in memory.
    pub fn takes_back_page_size(&self, data: &[u8]) -> Option<u32> {
        self.page_size_change
            .from
            .filter(|size| *size as usize == data.len())
    }

    /// Called before a journal with pages of this size is played back: the journal began before a
    /// change of page size that did not commit.
    pub fn return_to_page_size(&mut self, page_size: u32) -> Outcome {
        // The header may have been written by half.
        self.renew_header()?;
        let Some(present) = self.page_size() else {
            return Ok(());
        };
        if present == page_size || !is_page_size(page_size) || self.log.wal.is_some() {
            return Ok(());
        }
        self.flush_main()?;
        let newest = match self.freshness.versions_in_file {
            true => self.newest_authentic([present, page_size])?,
            false => Stamp::default(),
        };
        self.page_size_change.from = None;
        self.change_page_size(page_size)?;
        self.freshness.stamps.begin_at(newest);
        self.page_size_change.is_played_back = true;
        Ok(())
    }

    /// SQLite truncates a file only after the commit, so pages that the journal does not hold were
    /// not overwritten. Their stamps are accepted, although they are older than what was undone.
    /// They are not resealed, since no journal could undo that.
    pub fn keep_untouched_pages(&mut self) -> Outcome {
        if !std::mem::take(&mut self.page_size_change.is_played_back)
            || !self.freshness.versions_in_file
        {
            return Ok(());
        }
        let page_size = self.page_size().unwrap_or(0);
        let size = self.base.size()?.saturating_sub(PAGES_OFFSET);
        let mut sealed = vec![0; page_size as usize];
        let mut plain = Zeroizing::new(vec![0; page_size as usize]);
        for index in 0..size / u64::from(page_size.max(1)) {
            if !self.freshness.stamps.is_at_floor(index) {
                continue;
            }
            if let Some(stamp) = self.stamp_in_file(index, &mut sealed, &mut plain)? {
                self.freshness.stamps.take(index, stamp);
            }
        }
        Ok(())
    }

    /// The newest stamp among all pages that open at one of these page sizes: the file may contain
    /// both.
    fn newest_authentic(&mut self, page_sizes: [u32; 2]) -> Outcome<Stamp> {
        let size = self.base.size()?.saturating_sub(PAGES_OFFSET);
        let mut newest = self.freshness.stamps.newest();
        for page_size in page_sizes {
            let mut sealed = vec![0; page_size as usize];
            let mut plain = Zeroizing::new(vec![0; page_size as usize]);
            for index in 0..size / u64::from(page_size) {
                let stamp = self.stamp_in_file(index, &mut sealed, &mut plain)?;
                newest = newest.max(stamp.unwrap_or_default());
            }
        }
        Ok(newest)
    }

    /// Checks page 1 before SQLite writes it. Its page size may differ from the header's until the
    /// transaction commits.
    pub fn check_page_one(&mut self, page: &[u8]) -> Outcome {
        PageOne(page)
            .check()
            .map_err(|error| refused(self, error.to_string()))
    }
}
