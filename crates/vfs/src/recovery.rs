//! Repairs pages that a power cut left torn and whose content SQLite does not need.
//!
//! SQLite does not journal a page whose content is irrelevant: a leaf of the freelist
//! (sqlite.org/fileformat2.html 1.5) is overwritten without a journal record, and may hold anything
//! after a rollback. Since every page of a file must open, such pages become sealed zeros once a
//! journal left by another connection has been played back, or SQLite has undone a transaction in
//! which a write failed. An interrupted checkpoint also leaves
//! torn pages in the database file; those are still intact in the log.

use std::collections::HashSet;

use page_codec::page::{PagePlace, Stamp};
use page_codec::wal::{self, FRAME_HEADER_SIZE, HEADER_SIZE};

use crate::abi::SQLITE_IOERR_READ;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::journal_file::JournalFile;
use crate::main_file::{PAGES_OFFSET, page_number};

/// Offset in page 1 of the number of the first freelist trunk page.
const FIRST_TRUNK_OFFSET: usize = 32;

fn number_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*field))
}

impl Database {
    /// Called when SQLite is about to commit, or has played a journal back and is about to delete
    /// it, in a call whose result SQLite checks. If this fails, the journal is played back again.
    pub fn end_playback(&mut self) -> Outcome {
        let journal = self.journal.as_mut();
        let by_others = journal.is_some_and(JournalFile::take_played_back);
        if !by_others && !self.main.write_failed && !self.page_size_change.is_played_back {
            return Ok(());
        }
        self.mend_free_pages()?;
        self.main.write_failed = false;
        Ok(())
    }

    /// Makes pages of the freelist that do not open sealed zeros.
    fn mend_free_pages(&mut self) -> Outcome {
        self.flush_main()?;
        self.keep_untouched_pages()?;
        // The creation of the database was undone.
        let Some(page_size) = self.page_size() else {
            return Ok(());
        };
        let size = self.base.size()?.saturating_sub(PAGES_OFFSET);
        let pages = size / u64::from(page_size.max(1));
        let mut trunk = vec![0; page_size as usize];
        if !self.opens_to(0, &mut trunk)? {
            return Ok(());
        }
        let mut next = number_at(&trunk, FIRST_TRUNK_OFFSET).unwrap_or(0);
        // Bounds the walk: if the freelist has a cycle or leaves the file, SQLite reports it.
        let mut trunks_left = pages;
        while next != 0 && u64::from(next) <= pages && trunks_left > 0 {
            trunks_left -= 1;
            if !self.opens_to(u64::from(next) - 1, &mut trunk)? {
                return Ok(());
            }
            self.mend_leaves(&trunk, pages)?;
            next = number_at(&trunk, 0).unwrap_or(0);
        }
        self.flush_main()
    }

    /// A change of page size that was interrupted after its commit leaves pages of the former size
    /// beyond the end given in page 1. Those that do not open are zeroed before the database grows
    /// over them, because SQLite may leave some of them unwritten.
    pub fn clear_surplus(&mut self) -> Outcome {
        let Some(page_size) = self.page_size() else {
            return Ok(());
        };
        if self.log.shared_memory
            || self.log.wal.is_some()
            || !self.knows_page_one(page_size as usize)?
        {
            return Ok(());
        }
        let pages = self.pages_on_disk(page_size.into())?;
        let page_count = self.main.page_one.page_count.unwrap_or(pages);
        if page_count >= pages || self.hot_journal()? {
            // A journal that is still to be played back needs those pages.
            return Ok(());
        }
        let mut page = vec![0; page_size as usize];
        for index in page_count..pages {
            if !self.opens_to(index, &mut page)? {
                page.fill(0);
                self.write_page(index, &page)?;
            }
        }
        Ok(())
    }

    fn mend_leaves(&mut self, trunk: &[u8], pages: u64) -> Outcome {
        let count = number_at(trunk, 4).unwrap_or(0) as usize;
        let leaves = trunk[8..].chunks_exact(4).take(count);
        let leaves = leaves.filter_map(|entry| number_at(entry, 0));
        let mut page = vec![0; trunk.len()];
        for leaf in leaves.filter(|leaf| *leaf > 1 && u64::from(*leaf) <= pages) {
            let index = u64::from(leaf) - 1;
            if !self.opens_to(index, &mut page)? {
                page.fill(0);
                self.write_page(index, &page)?;
            }
        }
        Ok(())
    }

    /// Whether a page opens. A failure is not recorded.
    fn opens_to(&mut self, index: u64, out: &mut [u8]) -> Outcome<bool> {
        let mut sealed = std::mem::take(&mut self.sealing.scratch);
        let stamp = self.stamp_in_file(index, &mut sealed, out);
        self.sealing.scratch = sealed;
        match stamp {
            Ok(stamp) => Ok(stamp.is_some()),
            // The file ends within the page.
            Err(code) if code.is_short_read() => Ok(false),
            Err(code) => Err(code),
        }
    }

    /// Reads a page from the file itself and opens it. Returns its stamp, or `None` if it does not
    /// open.
    pub fn stamp_in_file(
        &mut self,
        index: u64,
        sealed: &mut [u8],
        out: &mut [u8],
    ) -> Outcome<Option<Stamp>> {
        let place = PagePlace::main(page_number(index)?);
        let offset = PAGES_OFFSET + index * out.len() as u64;
        let State::Open(opened) = &mut self.state else {
            return Err(Code(SQLITE_IOERR_READ));
        };
        self.base.read_to_end(sealed, offset)?;
        Ok(opened.codec.open(place, sealed, out).ok())
    }

    /// The pages with committed content in the log that opens.
    pub fn pages_in_log(&mut self) -> Outcome<HashSet<u64>> {
        let mut pages = HashSet::new();
        let page_size = self.page_size().unwrap_or(0);
        let Some(base) = self.log.wal.as_ref().map(|wal| wal.base()) else {
            return Ok(pages);
        };
        let mut log_header = [0; HEADER_SIZE as usize];
        match self.read_wal(base, &mut log_header, 0) {
            Ok(()) => {}
            Err(code) if code.is_short_read() => return Ok(pages),
            Err(code) => return Err(code),
        }
        let Some((_, salts)) = wal::log_header(&log_header) else {
            return Ok(pages);
        };
        let mut frame = vec![0; wal::frame_size(page_size) as usize];
        let mut uncommitted = Vec::new();
        for index in 0.. {
            match self.read_wal(base, &mut frame, wal::frame_offset(index, page_size)) {
                Ok(()) => {}
                Err(code) if code.is_short_read() => break,
                Err(code) => return Err(code),
            }
            let Some(header) = frame.first_chunk::<FRAME_HEADER_SIZE>() else {
                break;
            };
            if wal::frame_salts(header) != salts {
                break;
            }
            uncommitted.push(u64::from(wal::page_number(header)));
            if wal::is_commit(header) {
                pages.extend(uncommitted.drain(..));
            }
        }
        Ok(pages)
    }
}
