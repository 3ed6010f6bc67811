//! Freshness: an older copy of a page, put back while the database is open, is an error.
//!
//! Where the database keeps versions, each seal of a page raises the version in its stored nonce.
//! A connection remembers the stamp of each page that it has read or written, and refuses a lower
//! one. Versions need no agreement between connections: who writes a page looks at the version
//! that it overwrites.
//!
//! A page that was cut off and comes back must not begin anew, for another connection may remember
//! it. So page 1, which tells the size of the database and is written whenever that changes, takes
//! a version no lower than those of the pages that the new size leaves out; and a page behind the
//! end of the file takes one above that of page 1.
//!
//! How far the log goes is remembered, too (`log_index`).

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
    /// With AES-256-GCM the stored nonce is the whole nonce for many pages, and must be random.
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

    /// SQLite notes in its journal what it takes page `number` for, before it overwrites the page.
    /// Where the page on the disk is another than the one that was read, others have changed it,
    /// and SQLite would know by page 1, had nobody put an old one back.
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
            // As after a transaction of others that was rolled back.
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

    /// The version of a page as this connection knows it, or as it stands on disk: the higher one.
    pub fn newest_version(&mut self, index: u64, end: u64, page_size: u64) -> Outcome<u64> {
        let known = self.freshness.stamps.of(index).version;
        if index >= end {
            return Ok(known);
        }
        let on_disk = self.stamp_on_disk(index, page_size)?;
        Ok(known.max(on_disk.version))
    }

    /// The stamp in the trailer of a page, which nothing vouches for.
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
            // Still to be written out, or cut meanwhile.
            Err(code) if code.is_short_read() => Ok(Stamp::default()),
            Err(code) => Err(code),
        }
    }

    /// SQLite has got a lock under which it reads the log, or is about to give up the one under
    /// which it has written to it.
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

    /// Whether a page that opened is no older than it was.
    #[inline]
    pub fn is_fresh(&mut self, index: u64, stamp: Stamp) -> bool {
        !self.freshness.versions_in_file || self.freshness.stamps.note(index, stamp)
    }
}

/// The number of pages that page 1 tells (sqlite.org/fileformat2.html 1.3.7).
fn size_in(page_one: &[u8]) -> Option<u64> {
    let at = VERSION_FIELDS_OFFSET as usize + 4;
    let bytes = page_one.get(at..at + 4)?.try_into().ok()?;
    match u32::from_be_bytes(bytes) {
        0 => None,
        pages => Some(pages.into()),
    }
}
