//! Progress of long operations.

/// What a long operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Writing the copy.
    Copying,
    /// Reading the copy back.
    Checking,
    /// Sealing pages under a new key.
    Resealing,
    /// Waiting for other connections.
    Waiting,
}

/// A progress report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The current phase.
    pub phase: Phase,
    /// Work done so far.
    pub done: u64,
    /// Total work; an estimate while copying.
    pub total: u64,
}

/// Whether a long operation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Continue.
    GoOn,
    /// Stop soon, leaving nothing half done.
    Stop,
}

/// A callback for reports, which decides whether to continue; may be called from another thread.
pub type Progress = std::sync::Arc<dyn Fn(Step) -> Decision + Send + Sync>;

/// A callback that ignores reports and continues.
pub fn ignored() -> Progress {
    std::sync::Arc::new(|_| Decision::GoOn)
}
