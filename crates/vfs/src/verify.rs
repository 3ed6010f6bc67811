//! Verification of whole files: opens every page of the database and every frame of the log.
//!
//! Pages are read by system calls, many at once, and never through the map: if the disk fails or
//! the file is truncated meanwhile, a call returns an error, and a map would crash the process.

use page_codec::header::REGION_SIZE;
use page_codec::page::{PageError, PagePlace, TRAILER_SIZE};
use page_codec::wal::{self, FRAME_HEADER_SIZE, FrameHeader, HEADER_SIZE};

use crate::abi::SQLITE_LOCK_SHARED;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::page_one::PageOne;
use crate::wal_file::WalFile;

/// Bytes per read: few calls, yet small enough to stay in the cache until the pages are opened.
const CHUNK_SIZE: u64 = 256 * 1024;
/// How often a unit that does not open is reread: another connection may be writing it.
const TRIES: usize = 3;

/// A page that does not open.
pub(crate) struct BadPage {
    pub number: u64,
    pub reason: String,
}

/// Result of verifying pages.
#[derive(Default)]
pub(crate) struct CheckedPages {
    pub count: u64,
    pub bad: Vec<BadPage>,
    /// The trailers of the pages that opened, in order, if requested.
    pub trailers: Vec<u8>,
}

/// Result of verifying the log. Frames count from 0.
#[derive(Default)]
pub(crate) struct CheckedLog {
    /// The number of frames up to the last commit frame that opens.
    pub committed: u64,
    /// Frames before that one that do not open.
    pub bad: Vec<u64>,
    /// The number of frames after it: from an earlier log, or of an unfinished transaction.
    pub behind: u64,
}

/// Which part of the database this connection's lock keeps from changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nothing.
    Nothing,
    /// The file, which is the complete content.
    File,
    /// A snapshot that is partly in the log.
    FileAndLog,
}

impl Held {
    pub fn name(self) -> &'static str {
        match self {
            Held::Nothing => "nothing",
            Held::File => "file",
            Held::FileAndLog => "file and log",
        }
    }
}

impl Database {
    /// What this connection's lock keeps from changing. A reader that holds the first read lock
    /// takes all pages from the database file, and no checkpoint writes to that meanwhile
    /// (sqlite.org/walformat.html 2.3.1, `WAL_READ_LOCK(0)`).
    pub fn held(&self) -> Held {
        match (self.log.wal.is_some(), self.log.read_lock) {
            (true, Some(0)) => Held::File,
            (true, Some(_)) => Held::FileAndLog,
            (true, None) => Held::Nothing,
            (false, _) if self.main.lock_level >= SQLITE_LOCK_SHARED => Held::File,
            (false, _) => Held::Nothing,
        }
    }

    /// The number of pages in the file, a truncated one included, and the page count in page 1.
    pub fn count_pages(&mut self) -> Outcome<(u64, u64)> {
        self.flush_main()?;
        let Some(page_size) = self.page_size() else {
            return Err(self.refuse_content());
        };
        let size = self.base.size()?.saturating_sub(REGION_SIZE as u64);
        let kept = self.failures.last.take();
        // If page 1 does not open, there is no count; the verification reports the page itself.
        let page_count = self.without_maps(|database| database.pages_by_page_one().unwrap_or(0));
        self.failures.last = kept;
        Ok((size.div_ceil(u64::from(page_size)), page_count))
    }

    /// Opens pages `first` to `last` (from 1) of the file.
    pub fn verify_pages(
        &mut self,
        first: u64,
        last: u64,
        wants_trailers: bool,
    ) -> Outcome<CheckedPages> {
        self.flush_main()?;
        let checked = self.without_maps(|database| {
            database.verify_pages_and_log(first.max(1), last, wants_trailers)
        })?;
        if let Some(bad) = checked.bad.first() {
            let (number, reason) = (bad.number, &bad.reason);
            let message = format!("page {number} does not open: {reason}");
            self.fail(crate::abi::SQLITE_IOERR_DATA, message);
        }
        Ok(checked)
    }

    /// Runs an action while neither the database nor its log is mapped: the base VFS serves a call
    /// that reads from its map, too.
    fn without_maps<T>(&mut self, action: impl FnOnce(&mut Self) -> T) -> T {
        let mapped = self.main.map.is_enabled();
        if mapped {
            self.set_map(false);
        }
        let result = action(self);
        if mapped {
            self.set_map(true);
        }
        result
    }

    fn verify_pages_and_log(
        &mut self,
        first: u64,
        last: u64,
        wants_trailers: bool,
    ) -> Outcome<CheckedPages> {
        let mut checked = self.verify_pages_by_call(first, last, wants_trailers)?;
        if !checked.bad.is_empty() {
            // Pages beyond the count in page 1 are not part of the database.
            let page_count = match self.pages_by_page_one() {
                Ok(0) | Err(_) => u64::MAX,
                Ok(pages) => pages,
            };
            checked.bad.retain(|bad| bad.number <= page_count);
            // An interrupted checkpoint leaves torn pages, which are intact in the log.
            let in_log = self.pages_in_log()?;
            checked.bad.retain(|bad| !in_log.contains(&bad.number));
        }
        Ok(checked)
    }

    fn verify_pages_by_call(
        &mut self,
        first: u64,
        last: u64,
        wants_trailers: bool,
    ) -> Outcome<CheckedPages> {
        let base = self.base;
        self.renew_header()?;
        let Some(page_size) = self.page_size() else {
            return Err(self.refuse_content());
        };
        let page_size = page_size as usize;
        let size = base.size()?.saturating_sub(REGION_SIZE as u64);
        let last = last
            .min(size.div_ceil(page_size as u64))
            .min(u64::from(u32::MAX));
        let at_once = (CHUNK_SIZE / page_size as u64).max(1);
        let mut sealed = vec![0; at_once as usize * page_size];
        let mut page = vec![0; page_size];
        let mut checked = CheckedPages::default();
        let mut number = first;
        while number <= last {
            let count = at_once.min(last - number + 1);
            let chunk = &mut sealed[..count as usize * page_size];
            let whole = base.read(chunk, offset_of(number, page_size)).is_ok();
            for sealed in chunk.chunks_exact_mut(page_size) {
                let opened = match whole && self.opens(number, sealed, &mut page).is_ok() {
                    true => Ok(true),
                    false => self.open_alone(number, sealed, &mut page),
                };
                let opened = match opened {
                    Ok(true) if number == 1 => fits_header(&page).map(|()| true),
                    opened => opened,
                };
                match opened {
                    Ok(true) if wants_trailers => {
                        checked
                            .trailers
                            .extend_from_slice(&sealed[page_size - TRAILER_SIZE..]);
                    }
                    Ok(true) => {}
                    // The file has shrunk meanwhile.
                    Ok(false) => return Ok(checked),
                    Err(reason) => checked.bad.push(BadPage { number, reason }),
                }
                checked.count += 1;
                number += 1;
            }
        }
        Ok(checked)
    }

    fn opens(&mut self, number: u64, sealed: &[u8], page: &mut [u8]) -> Result<(), PageError> {
        let State::Open(opened) = &mut self.state else {
            return Err(PageError::NotAuthentic);
        };
        let place = PagePlace::main(u32::try_from(number).unwrap_or(u32::MAX));
        let stamp = opened.codec.open(place, sealed, page)?;
        if self.is_fresh(number - 1, stamp) {
            Ok(())
        } else {
            Err(PageError::Stale)
        }
    }

    /// Reads and opens a single page. Returns false if it is no longer in the file.
    fn open_alone(
        &mut self,
        number: u64,
        sealed: &mut [u8],
        page: &mut [u8],
    ) -> Result<bool, String> {
        let offset = offset_of(number, sealed.len());
        let mut reason = String::new();
        for _ in 0..TRIES {
            match self.base.read(sealed, offset) {
                Ok(()) => match self.opens(number, sealed, page) {
                    Ok(()) => return Ok(true),
                    Err(error) => {
                        reason = error.to_string();
                        // A rotation may have renewed the data key.
                        if self.look_again(number - 1, offset, page, error).is_ok() {
                            return Ok(true);
                        }
                    }
                },
                Err(code) if code.is_short_read() => match self.base.size() {
                    Ok(size) if size <= offset => return Ok(false),
                    Ok(_) => "the file ends in the middle of it".clone_into(&mut reason),
                    Err(Code(code)) => reason = format!("the system fails to read it ({code})"),
                },
                Err(Code(code)) => reason = format!("the system fails to read it ({code})"),
            }
        }
        Err(reason)
    }

    /// Opens every frame of the log, if this connection has one open.
    pub fn verify_log(&mut self) -> Outcome<CheckedLog> {
        self.flush_wal()?;
        self.without_maps(Self::verify_log_by_call)
    }

    fn verify_log_by_call(&mut self) -> Outcome<CheckedLog> {
        for _ in 0..TRIES {
            let checked = self.try_log()?;
            let renewed = self.renew_header()?;
            match checked {
                Some(checked) if checked.bad.is_empty() || !renewed => return Ok(checked),
                // Another connection has restarted the log or begun an epoch meanwhile.
                Some(_) | None => {}
            }
        }
        Ok(CheckedLog::default())
    }

    /// `None` if the log was restarted meanwhile.
    fn try_log(&mut self) -> Outcome<Option<CheckedLog>> {
        let (State::Open(opened), Some(log)) = (&mut self.state, &self.log.wal) else {
            return Ok(Some(CheckedLog::default()));
        };
        let page_size = opened.header.page_size;
        let Some(salts) = log_salts(log)? else {
            return Ok(Some(CheckedLog::default()));
        };
        let mut frame = vec![0; wal::frame_size(page_size) as usize];
        let mut page = vec![0; page_size as usize];
        // Whether a frame opens and ends a transaction.
        let mut opens = |index: u64| {
            let offset = wal::frame_offset(index, page_size);
            log.read_raw(&mut frame, offset).ok()?;
            let (head, sealed) = frame.split_at(FRAME_HEADER_SIZE);
            let mut header = FrameHeader::try_from(head).ok()?;
            wal::unmask(opened.codec.mask_of(sealed).ok()?, index, &mut header);
            let place = PagePlace::wal(wal::page_number(&header), index, salts);
            let opens = wal::frame_salts(&header) == salts
                && opened.codec.open(place, sealed, &mut page).is_ok();
            opens.then(|| wal::is_commit(&header))
        };
        let frames = log.size()?.saturating_sub(HEADER_SIZE) / wal::frame_size(page_size);
        let mut checked = CheckedLog::default();
        for index in 0..frames {
            match opens(index) {
                Some(true) => checked.committed = index + 1,
                Some(false) => {}
                None => checked.bad.push(index),
            }
        }
        checked.behind = frames - checked.committed;
        // A frame may have been written after this loop passed it, but before the commit frame that
        // made it count.
        let committed = checked.committed;
        let still_bad = |index: &u64| *index < committed && opens(*index).is_none();
        checked.bad.retain(still_bad);
        Ok((log_salts(log)? == Some(salts)).then_some(checked))
    }
}

/// A page 1 that opens may still contradict the header about the database.
fn fits_header(page: &[u8]) -> Result<(), String> {
    let page_one = PageOne(page);
    page_one.check().map_err(|error| error.to_string())?;
    let (stated, size) = (page_one.page_size() as usize, page.len());
    if stated == size {
        return Ok(());
    }
    Err(format!(
        "it tells a page size of {stated} bytes, and the header {size}: SQLite cannot read the file"
    ))
}

fn offset_of(number: u64, page_size: usize) -> u64 {
    REGION_SIZE as u64 + (number - 1) * page_size as u64
}

/// The salts of a log, if it has a header.
fn log_salts(log: &WalFile) -> Outcome<Option<[u8; 8]>> {
    let mut header = [0; HEADER_SIZE as usize];
    match log.read_raw(&mut header, 0) {
        Ok(()) => Ok(wal::log_header(&header).map(|(_, salts)| salts)),
        Err(code) if code.is_short_read() => Ok(None),
        Err(code) => Err(code),
    }
}
