//! The write-ahead log of an open database: frames sealed, headers masked, writes gathered.
//!
//! SQLite writes a frame in two calls, header and page. The shim gathers them, with the frames that
//! follow, into one write to the base VFS, at the latest when the commit frame is complete: only
//! after that does SQLite show the frames to other connections (invariant 4 of the crate). Every
//! sync, size, truncate, read and close writes out too. So does the release of the log's write
//! lock: frames left by a rollback must not overwrite later what other connections have written
//! there since.
//!
//! If a transaction is larger than the cache, SQLite overwrites pages of frames it has already
//! written, leaves salts and checksums of the following frames zero, and rewrites all these headers
//! when it commits. The pages are sealed under the log's salts from the start.
//!
//! A frame that does not open counts as the end of the log while SQLite recovers it; it is an I/O
//! error when SQLite reads a page that the log is known to hold.
//!
//! This module holds the state of a log; the `calls` module handles SQLite's calls.

mod calls;

use std::ffi::c_int;

use page_codec::wal::{self, FrameHeader, HEADER_SIZE, LogHeader};

use crate::base::BaseFile;
use crate::error::Outcome;
use crate::gathered::Gathered;
use crate::map::Map;

/// What SQLite writes as salts until it computes the checksums.
const SALTS_TO_COME: [u8; 8] = [0; 8];

/// A frame header that SQLite has written and whose page has not followed yet.
#[derive(Clone, Copy)]
struct Started {
    frame_index: u64,
    /// As SQLite wrote it.
    header: FrameHeader,
}

/// A frame that arrives in pieces: SQLite splits a write if it wants a sync in between.
struct Assembly {
    frame_index: u64,
    bytes: Vec<u8>,
}

/// An open write-ahead log.
pub(crate) struct WalFile {
    base: BaseFile,
    gathered: Gathered,
    /// The log's salts, as last read from its header or a frame.
    salts: Option<[u8; 8]>,
    /// Index after the last frame written; a header before it is being rewritten.
    frames_end: u64,
    started: Option<Started>,
    assembly: Option<Assembly>,
    /// The flags of a sync that is due once the frame in `assembly` is complete.
    sync_to_come: Option<c_int>,
    pub map: Map,
    frame: Vec<u8>,
}

impl WalFile {
    pub fn new(base: BaseFile, map: bool) -> Self {
        WalFile {
            base,
            gathered: Gathered::default(),
            salts: None,
            frames_end: 0,
            started: None,
            assembly: None,
            sync_to_come: None,
            map: Map::new(base, map),
            frame: Vec::new(),
        }
    }

    pub fn base(&self) -> BaseFile {
        self.base
    }

    pub fn flush(&mut self) -> Outcome {
        self.gathered.flush(self.base)
    }

    /// Writes out what is gathered; its last `size` bytes complete a commit frame. On failure they
    /// are dropped: SQLite learns that the transaction did not commit, so nothing may commit it
    /// later.
    fn flush_commit(&mut self, size: usize) -> Outcome {
        let flushed = self.flush();
        if flushed.is_err() {
            self.gathered.give_back(size);
        }
        flushed
    }

    /// Writes out what is gathered before a read. This must succeed only if the frame or the log's
    /// header is part of it: if a transaction was rolled back because the disk is full, its
    /// gathered frames cannot be written out, and committed frames must stay readable.
    fn flush_before_reading(&mut self, frame: Option<u64>, page_size: u32) -> Outcome {
        let frame_size = wal::frame_size(page_size) as usize;
        let is_among = |index| {
            let offset = wal::frame_offset(index, page_size);
            self.gathered.overlaps(offset, frame_size)
        };
        let is_needed =
            self.gathered.overlaps(0, HEADER_SIZE as usize) || frame.is_some_and(is_among);
        self.flush().or_else(|code| match is_needed {
            true => Err(code),
            false => Ok(()),
        })
    }

    /// The size on disk.
    pub fn size(&self) -> Outcome<u64> {
        self.base.size()
    }

    /// Reads the bytes as stored.
    pub fn read_raw(&self, out: &mut [u8], offset: u64) -> Outcome {
        self.base.read(out, offset)
    }

    /// The salts under which a frame's page is sealed, given its unmasked header.
    fn salts_of(&self, header: &FrameHeader) -> [u8; 8] {
        match wal::frame_salts(header) {
            SALTS_TO_COME => self.salts.unwrap_or_default(),
            salts => salts,
        }
    }

    fn note_log_header(&mut self, header: &LogHeader) {
        self.salts = wal::log_header(header).map(|(_, salts)| salts);
    }
}
