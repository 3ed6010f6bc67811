//! What a proxy decides about its finishers.

use std::path::PathBuf;
use std::time::Duration;

/// Options of [`crate::Finishers`].
#[derive(Clone, Debug)]
pub struct FinisherOptions {
    /// The folder with PostgreSQL's programs. None: they are looked for where packages put them,
    /// and in `PATH`.
    pub programs: Option<PathBuf>,
    /// The user who runs the server. PostgreSQL does not run as root: a proxy that does must name
    /// one here. None: the proxy's own user.
    pub run_as: Option<String>,
    /// Where the server's folder is made. None: in memory where the system offers that.
    pub folder: Option<PathBuf>,
    /// A folder of locales compiled by `localedef`. None: the system's.
    pub locales: Option<PathBuf>,
    /// How many questions are answered at a time; more wait in order. At least 1.
    pub connections_max: usize,
    /// How long a question may take, apart from waiting.
    pub statement_timeout: Duration,
    /// How long a server may take to start.
    pub start_timeout: Duration,
    /// What a server may use of memory.
    pub memory: Memory,
}

impl Default for FinisherOptions {
    fn default() -> Self {
        Self {
            programs: None,
            run_as: None,
            folder: None,
            locales: None,
            connections_max: 8,
            statement_timeout: Duration::from_secs(30),
            start_timeout: Duration::from_secs(60),
            memory: Memory::default(),
        }
    }
}

/// Limits of a server's memory, in MiB.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Pages that all connections share. Only the catalogues are on pages.
    pub shared_buffers_mib: u32,
    /// What one sort or one table of groups may use.
    pub work_mem_mib: u32,
    /// Temporary files of one connection, where they stay in memory. On a disk there are none.
    pub temporary_files_mib: u32,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            shared_buffers_mib: 16,
            work_mem_mib: 16,
            temporary_files_mib: 256,
        }
    }
}
