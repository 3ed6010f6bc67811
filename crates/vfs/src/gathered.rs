//! Write combining: consecutive writes to a file are gathered into one call of the base VFS.

use crate::base::BaseFile;
use crate::error::Outcome;

/// Bytes gathered before they are written out.
const GATHERED_SIZE_MAX: usize = 64 * 1024;

/// Consecutive bytes not yet written to a file: the first `used` bytes of `bytes`.
#[derive(Default)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    used: usize,
    offset: u64,
}

impl Gathered {
    /// Whether `size` bytes at `offset` extend what is gathered, or can start a new run.
    pub fn takes(&self, offset: u64, size: usize) -> bool {
        self.is_empty()
            || (offset == self.offset + self.used as u64 && self.used + size <= GATHERED_SIZE_MAX)
    }

    /// Makes room for `size` bytes at `offset`. If they do not extend what is gathered, that is
    /// written out first. The caller fills the returned slice, which holds stale bytes.
    pub fn reserve(&mut self, base: BaseFile, offset: u64, size: usize) -> Outcome<&mut [u8]> {
        if !self.takes(offset, size) {
            self.flush(base)?;
        }
        if self.is_empty() {
            self.offset = offset;
        }
        let start = self.used;
        self.used += size;
        if self.bytes.len() < self.used {
            // Grows by doubling, since most journals stay small.
            let wanted = self
                .used
                .max(self.bytes.len() * 2)
                .min(GATHERED_SIZE_MAX.max(self.used));
            self.bytes.resize(wanted, 0);
        }
        Ok(&mut self.bytes[start..self.used])
    }

    /// The last `size` bytes.
    pub fn last(&self, size: usize) -> &[u8] {
        &self.bytes[self.used - size..self.used]
    }

    /// Removes the last `size` bytes, which the caller did not fill.
    pub fn give_back(&mut self, size: usize) {
        self.used -= size;
    }

    /// Writes out what is gathered. On failure it stays gathered, so that the file gets no hole.
    pub fn flush(&mut self, base: BaseFile) -> Outcome {
        if !self.is_empty() {
            base.write(&self.bytes[..self.used], self.offset)?;
            self.used = 0;
        }
        Ok(())
    }

    /// Drops everything from offset `size` on, because the file is truncated there.
    pub fn cut(&mut self, size: u64) {
        let keep = size.saturating_sub(self.offset).min(self.used as u64);
        self.used = keep as usize;
    }

    /// Discards what is gathered.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Whether any of `size` bytes at `offset` is gathered.
    pub fn overlaps(&self, offset: u64, size: usize) -> bool {
        offset < self.offset + self.used as u64 && self.offset < offset + size as u64
    }

    /// Whether nothing is gathered.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }
}
