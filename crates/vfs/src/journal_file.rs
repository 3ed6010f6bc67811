//! The rollback journal of an open database: images and headers sealed, checksums masked, writes
//! gathered.
//!
//! SQLite writes a record in three calls. The shim gathers them, with the records that follow, into
//! one write to the base VFS. Invariant 4 of the crate: the gathered bytes are written out before
//! any write to the database file, so that every image a rollback needs survives a crash of the
//! process; and on every sync, size, truncate, read and close.
//!
//! This module holds the state of a journal; the `calls` module handles SQLite's calls.

mod calls;

use page_codec::journal::{self, Cursor, MAGIC};

use crate::abi::SQLITE_IOERR_SHORT_READ;
use crate::base::BaseFile;
use crate::error::{Code, Outcome};
use crate::gathered::Gathered;

/// An open rollback journal.
pub(crate) struct JournalFile {
    base: BaseFile,
    cursor: Cursor,
    gathered: Gathered,
    /// Key stream for the checksum behind the last image.
    word: u32,
    /// True if this connection has written the journal, false if it has played it back.
    written: bool,
    played_back: bool,
    played_back_from_start: bool,
    /// Upper bound of the file's size, while this connection's lock keeps others from writing to
    /// it.
    size_max: Option<u64>,
}

impl JournalFile {
    pub fn new(base: BaseFile) -> Self {
        JournalFile {
            base,
            cursor: Cursor::default(),
            gathered: Gathered::default(),
            word: 0,
            written: false,
            played_back: false,
            played_back_from_start: false,
            size_max: None,
        }
    }

    /// Whether a journal left by another connection was played back since the last call of this
    /// function.
    pub fn take_played_back(&mut self) -> bool {
        std::mem::take(&mut self.played_back) && !self.written
    }

    /// Whether the whole journal, from its first header, was played back since it was last written
    /// to.
    pub fn is_played_back_from_start(&self) -> bool {
        self.played_back_from_start
    }

    pub fn flush(&mut self) -> Outcome {
        self.gathered.flush(self.base)
    }

    /// Discards the known size: others may write to the journal from now on.
    pub fn forget_size(&mut self) {
        self.size_max = None;
    }

    /// Records that a write goes to the file. The size is read at the first write of a transaction:
    /// reading it between a write and its sync would slow the sync down, since the file's times
    /// change once more.
    fn note_size(&mut self, offset: u64, size: usize) -> Outcome {
        let size_max = match self.size_max {
            None if offset > 0 => return Ok(()),
            None => self.base.size()?,
            Some(size_max) => size_max,
        };
        self.size_max = Some(size_max.max(offset + size as u64));
        Ok(())
    }

    /// Reads, and returns a short read only if the file really ends there.
    fn read_to_end(&self, out: &mut [u8], offset: u64) -> Outcome {
        if self.size_max.is_some_and(|size_max| offset >= size_max) {
            out.fill(0);
            return Err(Code(SQLITE_IOERR_SHORT_READ));
        }
        self.base.read_to_end(out, offset)
    }

    /// Reads from the start, as SQLite wrote it. A single byte tells SQLite whether there is
    /// something to roll back; a file without a whole magic has nothing.
    fn read_start(&self, out: &mut [u8]) -> Outcome {
        let mut start = [0; MAGIC.len()];
        if out.len() >= start.len() {
            self.read_to_end(out, 0)?;
            journal::show_start(out);
            return Ok(());
        }
        let read = self.read_to_end(&mut start, 0);
        journal::show_start(&mut start);
        out.copy_from_slice(&start[..out.len()]);
        read
    }
}
