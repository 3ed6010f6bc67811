//! The database file: the header region, then the pages.

use crypto::page::Nonce;
use page_codec::header::{REGION_SIZE, is_page_size};
use page_codec::page::{PageError, PagePlace};

use crate::abi::{
    SQLITE_CANTOPEN, SQLITE_IOERR_DATA, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ,
    SQLITE_LOCK_NONE, SQLITE_LOCK_RESERVED, SQLITE_LOCK_SHARED,
};
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::keys::refused;
use crate::known_page_one::{VERSION_FIELDS_OFFSET, VERSION_FIELDS_SIZE};
use crate::page_one::PageOne;

/// Offset of the first page.
pub(crate) const PAGES_OFFSET: u64 = REGION_SIZE as u64;

/// What SQLite reads when it opens a file: the header of page 1 (sqlite.org/fileformat2.html 1.3).
const PROBE_SIZE: usize = 100;

impl Database {
    /// `xRead` on an encrypted, new or locked database.
    ///
    /// SQLite takes a short read for a page of zeros beyond the end of the file. So a short read is
    /// returned only where the file really ends, whatever was read too short on the way.
    pub fn read_main(&mut self, out: &mut [u8], offset: u64) -> Outcome {
        match self.read_any(out, offset) {
            Err(code) if code.is_short_read() && self.is_in_file(out.len(), offset) => {
                Err(Code(SQLITE_IOERR_READ))
            }
            outcome => outcome,
        }
    }

    fn is_in_file(&self, size: usize, offset: u64) -> bool {
        if self.identity.connection.is_none() || !self.is_open() {
            return false;
        }
        let file_size = match self.size_diverted() {
            Some(size) => Ok(size),
            None => self
                .base
                .size()
                .map(|size| size.saturating_sub(PAGES_OFFSET)),
        };
        !file_size.is_ok_and(|file_size| file_size < offset + size as u64)
    }

    fn read_any(&mut self, out: &mut [u8], offset: u64) -> Outcome {
        let is_probe = offset == 0 && out.len() == PROBE_SIZE;
        let is_open = self.is_open();
        if self.identity.connection.is_none() && !self.is_plain() && (is_probe || !is_open) {
            // SQLite's probe when it opens the file, before any lock. It takes the page size from
            // it and reads page 1 again, under a lock, before it relies on anything. A caller that
            // reads more at this point is a stacked VFS; it gets what is there.
            self.fill_page_size(out, offset);
            return Err(Code(SQLITE_IOERR_SHORT_READ));
        }
        let page_size = match &self.state {
            State::Open(opened) => u64::from(opened.header.page_size),
            State::New(_) => {
                out.fill(0);
                return Err(Code(SQLITE_IOERR_SHORT_READ));
            }
            State::Plain => return self.base.read(out, offset),
            State::Locked | State::Broken => return Err(self.refuse_content()),
        };
        if out.len() as u64 == page_size && offset.is_multiple_of(page_size) {
            return self.read_page(offset / page_size, out);
        }
        if offset == VERSION_FIELDS_OFFSET && out.len() == VERSION_FIELDS_SIZE {
            return self.read_version_fields(out);
        }
        if offset == 0 && out.len() as u64 > page_size {
            // SQLite guesses a page size, reads page 1 with it, finds the real size there and reads
            // again. A bad page behind page 1 must not break that.
            let (page_one, beyond) = out.split_at_mut(page_size as usize);
            beyond.fill(0);
            return self.read_page(0, page_one);
        }
        self.read_parts(out, offset, page_size)
    }

    /// Fills in the fields of page 1 that follow from the header.
    fn fill_page_size(&self, out: &mut [u8], offset: u64) {
        out.fill(0);
        if let (Some(page_size), 0, Some(fields)) =
            (self.page_size_change.at_open, offset, out.first_chunk_mut())
        {
            crate::page_one::fill_fields(fields, page_size);
        }
    }

    /// Reads any range, page by page through the scratch page.
    pub fn read_parts(&mut self, out: &mut [u8], mut offset: u64, page_size: u64) -> Outcome {
        let mut page = vec![0; page_size as usize];
        let mut done = 0;
        while done < out.len() {
            let inside = (offset % page_size) as usize;
            let count = (page.len() - inside).min(out.len() - done);
            if let Err(code) = self.read_page(offset / page_size, &mut page) {
                out[done..].fill(0);
                return Err(code);
            }
            out[done..done + count].copy_from_slice(&page[inside..inside + count]);
            done += count;
            offset += count as u64;
        }
        Ok(())
    }

    /// Opens page `index` (from 0) into `out`, from the base VFS's map if there is one, else
    /// through the scratch page.
    pub fn read_page(&mut self, index: u64, out: &mut [u8]) -> Outcome {
        if self.page_size_change.units.is_some() && self.read_diverted(index, out)? {
            return Ok(());
        }
        let page_size = out.len() as u64;
        let offset = PAGES_OFFSET + index * page_size;
        let place = PagePlace::main(page_number(index)?);
        if self.main.gathered.overlaps(offset, out.len()) {
            self.try_flush_main()?;
        }
        let State::Open(opened) = &mut self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let codec = &mut opened.codec;
        let mapped = self.main.map.read(index, offset, out.len(), |sealed| {
            codec.open(place, sealed, out)
        });
        if let Some(result) = mapped {
            return match result {
                Ok(stamp) if self.is_fresh(index, stamp) => Ok(()),
                Ok(_) => self.look_again(index, offset, out, PageError::Stale),
                Err(error) => self.look_again(index, offset, out, error),
            };
        }
        let (base, size_known) = (self.base, self.main.size_known);
        self.main.map.renew(offset + page_size, || {
            size_known.or_else(|| base.size().ok())
        });
        self.read_page_by_call(index, offset, out)
    }

    fn read_page_by_call(&mut self, index: u64, offset: u64, out: &mut [u8]) -> Outcome {
        let mut sealed = std::mem::take(&mut self.sealing.scratch);
        let result = self.base.read(&mut sealed, offset);
        let result = match (result, &mut self.state) {
            (Ok(()), State::Open(opened)) => {
                let place = PagePlace::main(page_number(index)?);
                let result = opened.codec.open(place, &sealed, out);
                self.sealing.scratch = sealed;
                result
            }
            (Ok(()), _) => return Err(Code(SQLITE_IOERR_READ)),
            (Err(code), _) => {
                self.sealing.scratch = sealed;
                out.fill(0);
                if !code.is_short_read() {
                    return Err(code);
                }
                let page_size = self.page_size();
                if self.renew_header()? && self.page_size() != page_size {
                    // The file is shorter because the page size has changed.
                    let page_size = u64::from(self.page_size().unwrap_or(0));
                    return self.read_parts(out, index * out.len() as u64, page_size);
                }
                return Err(self.beyond_end(index, offset));
            }
        };
        match result {
            Ok(stamp) if self.is_fresh(index, stamp) => Ok(()),
            Ok(_) => self.look_again(index, offset, out, PageError::Stale),
            Err(error) => self.look_again(index, offset, out, error),
        }
    }

    /// The result of a page that is not wholly in the file: a short read if it lies beyond the end,
    /// an error if the file was truncated.
    fn beyond_end(&mut self, index: u64, offset: u64) -> Code {
        match self.base.size() {
            Ok(size) if size > offset => self.bad_page(index, "the file ends in the middle of it"),
            Ok(size) if size > PAGES_OFFSET => match self.pages_by_page_one() {
                // Zeros would pass for content here, for instance as the rest of a long value.
                Ok(pages) if index < pages => self.bad_page(index, "the file ends before it"),
                Ok(_) => Code(SQLITE_IOERR_SHORT_READ),
                Err(code) => code,
            },
            Ok(_) => Code(SQLITE_IOERR_SHORT_READ),
            Err(code) => code,
        }
    }

    /// The page count in the file's page 1; zero if page 1 gives none (sqlite.org/fileformat2.html
    /// 1.3.7). The file always contains all these pages: in rollback mode SQLite extends it before
    /// it commits, and a checkpoint that writes page 1 writes all pages of that transaction.
    pub fn pages_by_page_one(&mut self) -> Outcome<u64> {
        let mut page = vec![0; self.page_size().unwrap_or(0) as usize];
        self.read_page(0, &mut page)?;
        Ok(PageOne(&page).page_count().unwrap_or(0))
    }

    pub fn bad_page(&mut self, index: u64, reason: &str) -> Code {
        let page = index + 1;
        self.fail(
            SQLITE_IOERR_DATA,
            format!("page {page} does not open: {reason}"),
        )
    }

    /// Without its connection a database would be read as empty, and SQLite would start a new one
    /// in the file.
    fn refuse_without_connection(&mut self) -> Outcome {
        if self.identity.connection.is_some() || self.is_plain() {
            return Ok(());
        }
        Err(self.fail(
            SQLITE_CANTOPEN,
            "a VFS above Strongroom does not pass SQLite's file controls on, without which \
             Strongroom does not work; open the file without that VFS",
        ))
    }

    /// `xWrite` on an encrypted or new database: exactly one page.
    pub fn write_main(&mut self, page: &[u8], offset: u64) -> Outcome {
        self.refuse_without_connection()?;
        match &self.state {
            State::Open(_) => {}
            State::Plain => return self.base.write(page, offset),
            State::New(_) => {
                let page_size = u32::try_from(page.len()).unwrap_or(0);
                if !is_page_size(page_size) {
                    return Err(refused(
                        self,
                        "the first write to a new database is one of its pages",
                    ));
                }
                if self.asked.plain_asked {
                    // Nothing is gathered from here on, so gathered writes go first.
                    self.flush_journal()?;
                    self.state = State::Plain;
                    return self.base.write(page, offset);
                }
                if offset == 0 {
                    // Before anything is on disk that would have to be undone.
                    self.check_page_one(page)?;
                }
                // Page 1 may come later: a first transaction that is larger than the cache starts
                // with whichever page the cache evicts.
                self.create_on_disk(page_size)?;
            }
            State::Locked | State::Broken => return Err(self.refuse_content()),
        }
        if let Some(page_size) = self.takes_back_page_size(page) {
            self.return_to_page_size(page_size)?;
        }
        let page_size = u64::from(self.page_size().unwrap_or(0));
        if offset == 0 {
            self.check_page_one(page)?;
        }
        if self.changes_page_size(page, offset, page_size) {
            return self.divert(page, offset, page_size);
        }
        if page.len() as u64 != page_size || !offset.is_multiple_of(page_size) {
            return Err(refused(
                self,
                format!(
                    "an unknown kind of write ({} bytes at {offset})",
                    page.len()
                ),
            ));
        }
        let index = offset / page_size;
        self.fill_gap(index, page_size)?;
        self.write_page(index, page)
    }

    /// Seals a page and gathers it if that is allowed, else writes it out.
    pub fn write_page(&mut self, index: u64, page: &[u8]) -> Outcome {
        let nonce = self.nonce_for(index, page)?;
        let offset = PAGES_OFFSET + index * page.len() as u64;
        if !self.main.gathered.takes(offset, page.len()) {
            self.flush_main()?;
        }
        // A page is gathered only if a journal file can undo a write that fails late. Without one
        // the write itself must return the failure to SQLite. The same holds in a checkpoint, where
        // SQLite ignores the result of the only call that marks its end.
        let through = self.log.wal.is_some() || self.journal.is_none();
        self.seal_page(index, &nonce, page)?;
        let sealed = self.main.gathered.last(page.len());
        if let State::Open(opened) = &self.state
            && opened.codec.is_versioned()
        {
            self.freshness
                .stamps
                .note(index, opened.codec.stamp_in(sealed));
        }
        if index == 0 {
            // The note is compared with the page on disk before it is used, so the write may fail.
            self.main.page_one.note(sealed, page);
        }
        if let Some(size) = &mut self.main.size_known {
            *size = (*size).max(offset + page.len() as u64);
        }
        if through { self.flush_main() } else { Ok(()) }
    }

    /// Seals a page into the gathered bytes.
    pub fn seal_page(&mut self, index: u64, nonce: &Nonce, page: &[u8]) -> Outcome {
        let place = PagePlace::main(page_number(index)?);
        let offset = PAGES_OFFSET + index * page.len() as u64;
        let State::Open(opened) = &mut self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        let room = self.main.gathered.reserve(self.base, offset, page.len())?;
        if let Err(error) = opened.codec.seal(place, nonce, page, room) {
            self.main.gathered.give_back(page.len());
            return Err(refused(
                self,
                format!("page {} is refused: {error}", index + 1),
            ));
        }
        Ok(())
    }

    /// Writes out the gathered pages in a call whose failure SQLite checks. On failure they are
    /// discarded, and SQLite rolls back.
    pub fn flush_main(&mut self) -> Outcome {
        let flushed = self.try_flush_main();
        if flushed.is_err() {
            self.main.gathered.clear();
            // With a log, the log still has what a torn page should be.
            self.main.write_failed |= self.log.wal.is_none();
            self.freshness.stamps.clear();
        }
        flushed
    }

    /// Writes out the gathered pages, after the journal records they rely on. On failure they stay
    /// gathered: SQLite may go on, and the commit must not miss them.
    fn try_flush_main(&mut self) -> Outcome {
        if self.main.gathered.is_empty() {
            return Ok(());
        }
        self.flush_journal()?;
        self.main.gathered.flush(self.base)
    }

    /// The size on disk, including gathered pages.
    pub fn size_on_disk(&mut self) -> Outcome<u64> {
        match self.main.size_known {
            Some(size) => Ok(size),
            None => {
                self.try_flush_main()?;
                self.base.size()
            }
        }
    }

    /// The number of pages on disk, including gathered pages; a partial page counts.
    pub fn pages_on_disk(&mut self, page_size: u64) -> Outcome<u64> {
        let size = self.size_on_disk()?;
        Ok(size.saturating_sub(PAGES_OFFSET).div_ceil(page_size))
    }

    /// SQLite leaves a gap for pages that were freed in the transaction that allocated them, and
    /// for the page of its lock byte. Stock SQLite finds zeros there. Here sealed zeros are
    /// written, so that every page in the file is authentic.
    pub fn fill_gap(&mut self, index: u64, page_size: u64) -> Outcome {
        let end = self.pages_on_disk(page_size)?;
        if index <= end {
            return Ok(());
        }
        let zeros = vec![0; page_size as usize];
        (end..index).try_for_each(|missing| self.write_page(missing, &zeros))
    }

    /// `xTruncate`.
    pub fn truncate_main(&mut self, size: u64) -> Outcome {
        self.flush_main()?;
        self.flush_journal()?;
        let page_size = match &self.state {
            State::Open(opened) => u64::from(opened.header.page_size),
            State::New(_) | State::Plain => return self.base.truncate(size),
            State::Locked | State::Broken => return Err(self.refuse_content()),
        };
        if size == 0 {
            // A creation is rolled back: nothing remains, and the next write starts again.
            self.base.truncate(0)?;
            return self.forget_file();
        }
        if self.truncate_diverted(size, page_size) {
            return Ok(());
        }
        self.truncate_pages(size, page_size)
    }

    /// Truncates or extends the file to the page that holds the last of `size` bytes.
    pub fn truncate_pages(&mut self, size: u64, page_size: u64) -> Outcome {
        let size = size.next_multiple_of(page_size);
        let known = self.size_on_disk()?;
        if PAGES_OFFSET + size > known {
            return self.fill_gap(size.div_ceil(page_size), page_size);
        }
        self.base.truncate(PAGES_OFFSET + size)?;
        self.main.map.cut(PAGES_OFFSET + size);
        self.freshness.stamps.cut(size.div_ceil(page_size));
        self.main.size_known = self.main.size_known.map(|_| PAGES_OFFSET + size);
        Ok(())
    }

    /// Returns to a new database, with the same keys.
    pub fn forget_file(&mut self) -> Outcome {
        self.main.size_known = self.main.size_known.map(|_| 0);
        self.forget_map();
        if let State::Open(opened) = std::mem::replace(&mut self.state, State::New(None)) {
            let crate::database::Opened {
                header,
                unlocked,
                codec: _,
                credential,
            } = *opened;
            let prepared = crate::database::Prepared {
                header,
                unlocked,
                credential,
            };
            self.state = State::New(Some(Box::new(prepared)));
        }
        Ok(())
    }

    /// The file may have been truncated to nothing, and reading its map would fault.
    pub fn forget_map(&mut self) {
        self.main.map.forget();
        self.main.page_one.forget();
        self.freshness.stamps.clear();
    }

    /// `xFileSize`: without the header region.
    pub fn size_main(&mut self) -> Outcome<u64> {
        if let Some(size) = self.size_diverted() {
            return Ok(size);
        }
        if self.is_plain() {
            return self.base.size();
        }
        let size = self.size_on_disk()?;
        Ok(size.saturating_sub(PAGES_OFFSET))
    }

    /// `xLock`.
    pub fn lock_main(&mut self, level: i32) -> Outcome {
        if let State::Broken | State::Locked = self.state {
            // Otherwise SQLite would take a file without pages for an empty database, and a hot
            // journal that does not open for a torn one, which it deletes.
            return Err(self.refuse_content());
        }
        self.refuse_without_connection()?;
        self.base.lock(level)?;
        let level_before = self.main.lock_level;
        let was_unlocked = level_before == SQLITE_LOCK_NONE;
        self.main.lock_level = level_before.max(level);
        if level_before < SQLITE_LOCK_RESERVED
            && level >= SQLITE_LOCK_RESERVED
            && let Err(code) = self.begin_writing_pages()
        {
            let _ = self.unlock_main(level_before);
            return Err(code);
        }
        if was_unlocked && level >= SQLITE_LOCK_SHARED && !self.log.shared_memory {
            let size = self.base.size()?;
            self.main.map.shrink(size);
            self.main.size_known = Some(size);
            if let Err(code) = self.recheck_open(size) {
                let _ = self.unlock_main(SQLITE_LOCK_NONE);
                return Err(code);
            }
        }
        Ok(())
    }

    /// Handles `SQLITE_FCNTL_CKPT_START`.
    pub fn begin_checkpoint(&mut self) {
        self.map_whole_wal();
        // The checkpoint lock keeps others from changing the size.
        self.main.size_known = self.base.size().ok();
    }

    /// `xUnlock`.
    pub fn unlock_main(&mut self, level: i32) -> Outcome {
        let flushed = self.flush_main();
        if level == SQLITE_LOCK_NONE
            && let Some(size) = self.main.size_known.take()
        {
            self.main.map.leave(size);
        }
        if level < SQLITE_LOCK_RESERVED {
            self.page_size_change.units = None;
            self.page_size_change.from = None;
            if let Some(journal) = &mut self.journal {
                journal.forget_size();
            }
        }
        self.main.lock_level = self.main.lock_level.min(level);
        self.base.unlock(level).and(flushed)
    }
}

/// Converts a page index (from 0) to a page number (from 1).
pub(crate) fn page_number(index: u64) -> Outcome<u32> {
    u32::try_from(index + 1).map_err(|_| Code(SQLITE_IOERR_READ))
}
