//! What came from one side of a session, and is to be taken.

/// What came from one side.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Not taken yet.
    pub held: Vec<u8>,
    /// Bytes to come of a message that is taken as it comes.
    pub passing: usize,
    /// What becomes of them.
    pub rest: Rest,
}

/// What becomes of a message that is taken as it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Passes,
    /// It goes nowhere.
    IsDropped,
    /// It is a part of the rows of a COPY.
    IsCopied,
}

impl Input {
    /// So many bytes of a message are taken as they come.
    pub(super) fn begin(&mut self, size: usize, rest: Rest) {
        self.passing = size;
        self.rest = rest;
    }
}
