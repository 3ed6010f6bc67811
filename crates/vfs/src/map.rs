//! The base VFS's memory map of one file, from which sealed units are read.
//!
//! The base VFS maps a file at the first fetch, at its size by then, and does not follow its
//! growth. After a read beyond the map, this module decides whether a new map is worth its cost.

use crate::base::{BaseFile, prefetch};

/// How much of a file the base VFS is asked to map: as much as SQLite's limit allows.
const LIMIT: i64 = i64::MAX;
/// A new map is worth its cost if the file has grown by this much, and by this share of what is
/// mapped.
const GROWTH_MIN: u64 = 256 * 1024;
const GROWTH_SHARE: u64 = 8;
/// SQLite's margin: it maps nothing that ends closer to the end of the file than this.
const MARGIN: u64 = 256;

/// See the head of this module.
pub(crate) struct Map {
    base: BaseFile,
    enabled: bool,
    /// Size of the file when it was last remapped.
    mapped_size: u64,
    /// Last known size of the file: the base VFS may have mapped this much.
    seen_size: u64,
    /// The unit that was read last, to detect sequential reads and prefetch the next one.
    last_unit: u64,
}

impl Map {
    pub fn new(base: BaseFile, enabled: bool) -> Self {
        let mut map = Map {
            base,
            enabled: false,
            mapped_size: 0,
            seen_size: 0,
            last_unit: 0,
        };
        map.enable(enabled);
        map
    }

    /// Enables or disables the map.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled && self.base.can_map();
        self.mapped_size = 0;
        self.base.limit_map(if self.enabled { LIMIT } else { 0 });
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Passes a few bytes to `use_bytes`, if they are mapped.
    pub fn peek<T>(
        &self,
        offset: u64,
        size: usize,
        use_bytes: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        if !self.enabled {
            return None;
        }
        self.base.with_mapped(offset, size, use_bytes)
    }

    /// Passes unit number `unit` to `use_bytes`, if it is mapped. Its bytes are prefetched, either
    /// here or by the read of the unit before.
    #[inline]
    pub fn read<T>(
        &mut self,
        unit: u64,
        offset: u64,
        size: usize,
        use_bytes: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        if !self.enabled {
            return None;
        }
        let in_order = unit == self.last_unit + 1;
        self.last_unit = unit;
        if in_order {
            self.base.with_mapped(offset + size as u64, size, prefetch);
        }
        self.base.with_mapped(offset, size, |bytes| {
            if !in_order {
                prefetch(bytes);
            }
            use_bytes(bytes)
        })
    }

    /// Remaps the file after a read that ends at `end` missed the map, if the file has grown well
    /// beyond it. `size` is called only if needed.
    pub fn renew(&mut self, end: u64, size: impl FnOnce() -> Option<u64>) {
        if !self.enabled {
            return;
        }
        let Some(size) = size() else { return };
        let worthwhile = GROWTH_MIN.max(self.mapped_size / GROWTH_SHARE);
        if end + MARGIN <= size && size.saturating_sub(self.mapped_size) >= worthwhile {
            self.remap(size);
        }
    }

    /// Maps the whole file of this size, unless it is mapped already.
    pub fn cover(&mut self, size: u64) {
        if self.enabled && size > self.mapped_size {
            self.remap(size);
        }
    }

    /// The file turned out to have this size: a larger map would fault beyond its end.
    pub fn shrink(&mut self, size: u64) {
        if size < self.mapped_size.max(self.seen_size) {
            self.remap(size);
        }
        self.seen_size = size;
    }

    /// Records the size that this connection leaves the file with.
    pub fn leave(&mut self, size: u64) {
        self.seen_size = size;
    }

    /// Records that this connection truncated the file to this size. The base VFS did the
    /// truncation and no longer hands out mapped bytes beyond the end; SQLite relies on the same
    /// when it reads through a map.
    pub fn cut(&mut self, size: u64) {
        self.mapped_size = self.mapped_size.min(size);
    }

    /// Drops the map: the file may have been truncated to nothing.
    pub fn forget(&mut self) {
        self.remap(0);
    }

    /// Has the next fetch map the file at its size by then.
    fn remap(&mut self, size: u64) {
        self.base.unmap();
        self.mapped_size = size;
    }
}
