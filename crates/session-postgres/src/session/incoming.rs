//! Bytes that came from one side of a session.

/// The input of one side.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Bytes that are not processed yet.
    pub held: Vec<u8>,
    /// How many bytes are still to come of a message that is processed in pieces.
    pub passing: usize,
    /// What becomes of those bytes.
    pub rest: Rest,
    /// How many bytes the finisher was asked about, of a message that is processed in pieces.
    pub asked_piece: Option<usize>,
}

/// What becomes of a message that is processed in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Passes,
    /// It is dropped.
    IsDropped,
    /// It has rows of a COPY.
    IsCopied,
}

impl Input {
    /// Begins a message of this many bytes that is processed in pieces.
    pub(super) fn begin(&mut self, size: usize, rest: Rest) {
        self.passing = size;
        self.rest = rest;
    }
}
