//! Progress of long operations.

/// What a long operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Writing the copy.
    Copying,
    /// Reading the copy back.
    Checking,
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

/// Takes reports; may be called from another thread.
pub type Progress = std::sync::Arc<dyn Fn(Step) + Send + Sync>;

/// Takes reports and drops them.
pub fn ignored() -> Progress {
    std::sync::Arc::new(|_| {})
}
