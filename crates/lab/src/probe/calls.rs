//! The calls that are counted: system calls that wait until data is on the disk.

use serde::{Deserialize, Serialize};

/// Calls that all processes of an engine made while a number of transactions were committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncCalls {
    /// `fsync`.
    pub fsync: u64,
    /// `fdatasync`.
    pub fdatasync: u64,
    /// `msync` with `MS_SYNC`.
    pub msync: u64,
    /// `sync_file_range`: waits for data pages, but not for the metadata needed to find them.
    pub sync_file_range: u64,
    /// `sync` and `syncfs`: whole file systems.
    pub whole: u64,
    /// Writes to files that are open with `O_DSYNC` or `O_SYNC`, or that ask for the same.
    pub synced_writes: u64,
    /// Calls that submit work through io_uring; syncs made that way are not seen.
    pub rings: u64,
}

impl SyncCalls {
    /// Calls after which a committed transaction is on the disk.
    pub fn total(&self) -> u64 {
        self.fsync + self.fdatasync + self.msync + self.whole + self.synced_writes
    }

    /// The kinds of calls that occurred, with their counts.
    pub fn kinds(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("fsync", self.fsync),
            ("fdatasync", self.fdatasync),
            ("msync", self.msync),
            ("sync", self.whole),
            ("synced writes", self.synced_writes),
            ("sync_file_range", self.sync_file_range),
            ("calls of io_uring", self.rings),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}
