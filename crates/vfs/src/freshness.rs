//! Freshness: if an older copy of a page is put back while the database is open, reading it is an
//! error.
//!
//! If the database keeps versions, each seal of a page raises the version in its stored nonce. A
//! connection remembers the stamp of each page that it has read or written, and refuses a lower
//! one. Connections need not agree on versions: the writer of a page looks at the version that it
//! overwrites.
//!
//! The version of a page that was truncated away and comes back must not restart, because another
//! connection may remember the old one. Page 1 holds the size of the database and is written
//! whenever that changes. So, when the database shrinks, page 1 takes a version no lower than those
//! of the pages that are cut off; and a page beyond the end of the file takes one above that of
//! page 1.
//!
//! The end of the log is remembered, too (`log_index`).

use crypto::cipher::Cipher;
use crypto::page::Nonce;
use page_codec::page::{Stamp, TRAILER_SIZE, VERSION_MAX, versioned_nonce};
use zeroize::Zeroizing;

use crate::abi::{SQLITE_ERROR, SQLITE_IOERR_DATA};
use crate::base::SharedHeader;
use crate::database::{Database, State};
use crate::error::Outcome;
use crate::known_page_one::VERSION_FIELDS_OFFSET;
use crate::log_index::LogEnd;
use crate::main_file::PAGES_OFFSET;

impl Database {
    /// With AES-256-GCM the stored nonce is the complete nonce of many pages, and must be random.
    pub fn refuse_versions_with(&mut self, cipher: Cipher, versioned: bool) -> Outcome {
        if versioned && cipher == Cipher::Aes256Gcm {
            return Err(self.fail(
                SQLITE_ERROR,
                "freshness is not to be had with aes-256-gcm, whose nonces must be random; choose \
                 another cipher",
            ));
        }
        Ok(())
    }

    /// Whether pages that are written now get a version.
    pub fn keeps_versions(&self) -> bool {
        matches!(&self.state, State::Open(opened) if opened.codec.is_versioned())
    }

    /// The stored nonce for a page of the database that is about to be written.
    pub fn nonce_for(&mut self, index: u64, page: &[u8]) -> Outcome<Nonce> {
        let nonce = self.nonce()?;
        if !self.keeps_versions() {
            return Ok(nonce);
        }
        let page_size = page.len() as u64;
        let end = self.pages_on_disk(page_size)?;
        let mut version = self.newest_version(index, end, page_size)?;
        if index >= end {
            version = version.max(self.newest_version(0, end, page_size)?);
        }
        if index == 0 {
            for left_out in size_in(page).unwrap_or(end)..end {
                version = version.max(self.newest_version(left_out, end, page_size)?);
            }
        }
        if version >= VERSION_MAX {
            return Err(self.fail(
                SQLITE_IOERR_DATA,
                format!("the version of page {} was altered", index + 1),
            ));
        }
        Ok(versioned_nonce(version + 1, &nonce))
    }

    /// Before SQLite overwrites page `number`, it writes what it believes to be the current content
    /// to its journal. If the page on disk differs from the one that was read, another connection
    /// has changed it. SQLite would have noticed from page 1, unless somebody put an old page 1
    /// back.
    pub fn refuse_stale_image(&mut self, number: u32, image: &[u8]) -> Outcome {
        let index = u64::from(number.saturating_sub(1));
        if !self.keeps_versions() || number == 0 || self.page_size_change.units.is_some() {
            return Ok(());
        }
        let page_size = image.len() as u64;
        let end = self.pages_on_disk(page_size)?;
        if index >= end || self.stamp_on_disk(index, page_size)? == self.freshness.stamps.of(index)
        {
            return Ok(());
        }
        let mut page = Zeroizing::new(vec![0; image.len()]);
        self.read_page(index, &mut page)?;
        if *page == *image {
            // For example after another connection's transaction was rolled back.
            return Ok(());
        }
        Err(self.fail(
            SQLITE_IOERR_DATA,
            format!(
                "page {number} has changed since it was read, and page 1 does not tell: an older \
                 page 1 was put back behind the database's back"
            ),
        ))
    }

    /// The higher of two versions of a page: the one that this connection knows, and the one on
    /// disk.
    pub fn newest_version(&mut self, index: u64, end: u64, page_size: u64) -> Outcome<u64> {
        let known = self.freshness.stamps.of(index).version;
        if index >= end {
            return Ok(known);
        }
        let on_disk = self.stamp_on_disk(index, page_size)?;
        Ok(known.max(on_disk.version))
    }

    /// The stamp in the trailer of a page, which is not authenticated.
    fn stamp_on_disk(&mut self, index: u64, page_size: u64) -> Outcome<Stamp> {
        let State::Open(opened) = &self.state else {
            return Ok(Stamp::default());
        };
        let at = PAGES_OFFSET + (index + 1) * page_size - TRAILER_SIZE as u64;
        let codec = &opened.codec;
        let stamp_in = |trailer: &[u8]| codec.stamp_in(trailer);
        if let Some(stamp) = self.main.map.peek(at, TRAILER_SIZE, stamp_in) {
            return Ok(stamp);
        }
        let mut trailer = [0; TRAILER_SIZE];
        match self.base.read_to_end(&mut trailer, at) {
            Ok(()) => Ok(stamp_in(&trailer)),
            // Not written out yet, or truncated meanwhile.
            Err(code) if code.is_short_read() => Ok(Stamp::default()),
            Err(code) => Err(code),
        }
    }

    /// Checks that the log has not shrunk. Called when SQLite has got a lock under which it reads
    /// the log, or is about to release the lock under which it has written to it.
    pub fn check_log_end(&mut self, header: Option<SharedHeader>) -> Outcome {
        if !self.keeps_versions() {
            return Ok(());
        }
        let Some(end) = header.and_then(|header| LogEnd::of(&header.read())) else {
            return Ok(());
        };
        match self.log.end {
            Some(known) if end.is_before(known) => Err(self.fail(
                SQLITE_IOERR_DATA,
                format!(
                    "the index of the write-ahead log (-shm) tells {} frames, and there were {}: \
                     it was altered, and transactions that were committed would be lost",
                    end.frames, known.frames
                ),
            )),
            Some(_) | None => {
                self.log.end = Some(end);
                Ok(())
            }
        }
    }

    /// Whether a page that opened is no older than the newest version seen.
    #[inline]
    pub fn is_fresh(&mut self, index: u64, stamp: Stamp) -> bool {
        !self.freshness.versions_in_file || self.freshness.stamps.note(index, stamp)
    }
}

/// The page count in page 1 (sqlite.org/fileformat2.html 1.3.7).
fn size_in(page_one: &[u8]) -> Option<u64> {
    let at = VERSION_FIELDS_OFFSET as usize + 4;
    let bytes = page_one.get(at..at + 4)?.try_into().ok()?;
    match u32::from_be_bytes(bytes) {
        0 => None,
        pages => Some(pages.into()),
    }
}
