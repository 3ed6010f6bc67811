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

/// A report that goes out often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is being done.
    pub phase: Phase,
    /// Work done.
    pub done: u64,
    /// Work in all; an estimate while copying.
    pub total: u64,
}

/// Whether a long operation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    GoOn,
    /// It stops soon, and leaves nothing half done.
    Stop,
}

/// Takes reports and decides; may be called from another thread.
pub type Progress = std::sync::Arc<dyn Fn(Step) -> Decision + Send + Sync>;

/// Takes reports, drops them and goes on.
pub fn ignored() -> Progress {
    std::sync::Arc::new(|_| Decision::GoOn)
}
