//! Where an engine works, which tells whose work is measured.

/// Where an engine works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// In the process that calls it.
    None,
    /// In processes that it started: they are measured too.
    Child,
    /// In a server that ran before: nothing is known of its work but the time it took.
    Elsewhere,
}
