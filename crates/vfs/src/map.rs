//! The base VFS's memory map of one file, through which sealed units are read.
//!
//! The base VFS maps a file at the first fetch, as long as it then is, and does not follow its
//! growth; whoever reads beyond the map asks here whether a new one is worth its cost.

use crate::base::{BaseFile, prefetch};

/// How much of a file the base VFS is asked to map: all that SQLite's own limit allows.
const LIMIT: i64 = i64::MAX;
/// Growth that makes a new map worth its cost: this much, and this share of what is mapped.
const GROWTH_MIN: u64 = 256 * 1024;
const GROWTH_SHARE: u64 = 8;
/// SQLite's own margin: it maps nothing that ends closer to the end of the file than this.
const MARGIN: u64 = 256;

/// See the head of this module.
pub(crate) struct Map {
    base: BaseFile,
    enabled: bool,
    /// Size of the file when it was mapped anew last.
    mapped_size: u64,
    /// Size of the file when it was seen last: the base VFS may have mapped as much.
    seen_size: u64,
    /// The unit read last: whoever reads in order gets the next one brought near.
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

    /// Asks the base VFS to map the file, or not to.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled && self.base.can_map();
        self.mapped_size = 0;
        self.base.limit_map(if self.enabled { LIMIT } else { 0 });
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Lets `use_bytes` see a few bytes, if they are mapped.
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

    /// Lets `use_bytes` see unit number `unit`, if it is mapped: its bytes are asked for all at
    /// once, or were already, when the unit before it was read.
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

    /// Maps the file anew if what ends at `end` was missed and the file, whose size is asked for
    /// only then, has grown well beyond the map.
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

    /// Maps all of a file of this size, if not all of it is mapped.
    pub fn cover(&mut self, size: u64) {
        if self.enabled && size > self.mapped_size {
            self.remap(size);
        }
    }

    /// The file was found to have this size: a map of a larger one would fault behind its end.
    pub fn shrink(&mut self, size: u64) {
        if size < self.mapped_size.max(self.seen_size) {
            self.remap(size);
        }
        self.seen_size = size;
    }

    /// This connection leaves the file with this size.
    pub fn leave(&mut self, size: u64) {
        self.seen_size = size;
    }

    /// This connection has cut the file to this size. The base VFS, which did it, gives out nothing
    /// behind the end any more, as SQLite itself relies on where it reads through a map.
    pub fn cut(&mut self, size: u64) {
        self.mapped_size = self.mapped_size.min(size);
    }

    /// Drops what is mapped: the file may have been cut to nothing.
    pub fn forget(&mut self) {
        self.remap(0);
    }

    /// The next fetch maps the file as it then is.
    fn remap(&mut self, size: u64) {
        self.base.unmap();
        self.mapped_size = size;
    }
}
