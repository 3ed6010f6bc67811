//! The write-ahead log of an open database: frames sealed, headers masked, writes gathered.
//!
//! SQLite writes a frame in two calls, header and page. They are gathered, with the frames that
//! follow, into one write to the base VFS, which happens at the latest when the commit frame is
//! complete: only then does SQLite tell other connections of the frames (invariant 4 of the
//! crate). Every sync, size, truncate, read and close writes out too, and so does giving up the
//! log's write lock: what a rollback left behind must not overwrite, later, what others wrote in
//! its place.
//!
//! When a transaction is larger than the cache, SQLite overwrites pages of frames that it has
//! written, leaves salts and checksums of the frames that follow zero, and writes all these headers
//! anew when it commits. The pages are sealed under the salts of the log from the beginning.
//!
//! A frame that does not open is, while SQLite recovers a log, the end of the log; it is an I/O
//! error when SQLite reads a page that the log is known to hold.
//!
//! Here is what a database keeps of its log; what SQLite calls on it is in `calls`.

mod calls;

use std::ffi::c_int;

use page_codec::wal::{self, FrameHeader, HEADER_SIZE};

use crate::base::BaseFile;
use crate::error::Outcome;
use crate::gathered::Gathered;
use crate::map::Map;

/// What SQLite writes in place of salts until it computes the checksums.
const SALTS_TO_COME: [u8; 8] = [0; 8];

/// A frame header that SQLite has written, whose page is still to come.
#[derive(Clone, Copy)]
struct Started {
    frame_index: u64,
    /// As SQLite wrote it.
    header: FrameHeader,
}

/// A frame that comes in pieces: SQLite splits a write where it wants a sync in between.
struct Assembly {
    frame_index: u64,
    bytes: Vec<u8>,
}

/// An open write-ahead log.
pub(crate) struct WalFile {
    base: BaseFile,
    gathered: Gathered,
    /// Of the log, as its header or a frame of it told last.
    salts: Option<[u8; 8]>,
    /// The frame behind the last that was begun; a header written before it is rewritten.
    frames_end: u64,
    started: Option<Started>,
    assembly: Option<Assembly>,
    /// How to sync when the frame that comes in pieces is whole.
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

    /// Writes out what is gathered, the last `size` bytes of which complete a commit frame. If that
    /// fails they are given back: SQLite is told that the transaction is not committed, so nothing
    /// may commit it later.
    fn flush_commit(&mut self, size: usize) -> Outcome {
        let flushed = self.flush();
        if flushed.is_err() {
            self.gathered.give_back(size);
        }
        flushed
    }

    /// Writes out what is gathered. That has to succeed only if the frame, or the log's header, is
    /// among it: where a transaction was rolled back because the disk is full, what it had gathered
    /// cannot be written out, and what was committed can be read.
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

    /// Bytes as they stand on disk.
    pub fn read_raw(&self, out: &mut [u8], offset: u64) -> Outcome {
        self.base.read(out, offset)
    }

    /// The salts under which the page of a frame is sealed, given its unmasked header.
    fn salts_of(&self, header: &FrameHeader) -> [u8; 8] {
        match wal::frame_salts(header) {
            SALTS_TO_COME => self.salts.unwrap_or_default(),
            salts => salts,
        }
    }

    fn note_log_header(&mut self, bytes: &[u8], offset: u64) {
        if let (0, Ok(header)) = (offset, <&[u8; HEADER_SIZE as usize]>::try_from(bytes)) {
            self.salts = wal::log_header(header).map(|(_, salts)| salts);
        }
    }
}
