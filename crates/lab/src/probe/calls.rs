//! What is counted: system calls that wait until data are on the disk.

use serde::{Deserialize, Serialize};

/// Calls seen while a number of transactions were committed, by all processes of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncCalls {
    /// `fsync`.
    pub fsync: u64,
    /// `fdatasync`.
    pub fdatasync: u64,
    /// `msync` with `MS_SYNC`.
    pub msync: u64,
    /// `sync_file_range`: it waits for some pages, not for what finds them again.
    pub sync_file_range: u64,
    /// `sync` and `syncfs`: whole file systems.
    pub whole: u64,
    /// Writes to files that are open with `O_DSYNC` or `O_SYNC`, or that ask for the same.
    pub synced_writes: u64,
    /// Calls that hand work to the kernel through a ring; what they sync is not seen.
    pub rings: u64,
}

impl SyncCalls {
    /// Calls after which a committed transaction is on the disk.
    pub fn total(&self) -> u64 {
        self.fsync + self.fdatasync + self.msync + self.whole + self.synced_writes
    }

    /// The kinds that were seen, with their numbers.
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
