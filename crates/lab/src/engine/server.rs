//! Where an engine runs, which determines whose work is measured.

/// Where an engine works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// In the calling process.
    None,
    /// In child processes, which are measured too.
    Child,
    /// In a server that was already running: only elapsed time is known.
    Elsewhere,
}
