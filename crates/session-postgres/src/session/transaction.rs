//! Where a session stands in its transaction, as far as the server has told and messages show.

/// The transaction of a session.
#[derive(Debug)]
pub(super) struct Transaction {
    /// Transaction status byte of the last ReadyForQuery.
    status: u8,
    /// Messages of the extended protocol came since the last Sync.
    in_pipeline: bool,
    /// A statement of it was executed that the server took a snapshot for.
    has_snapshot: bool,
    /// A statement under way ends it, or goes back to a savepoint.
    is_ending: bool,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            status: b'I',
            in_pipeline: false,
            has_snapshot: false,
            is_ending: false,
        }
    }
}

impl Transaction {
    /// No block is open.
    pub(super) fn is_outside_block(&self) -> bool {
        self.status == b'I'
    }

    /// The block has failed, and nothing under way ends it.
    pub(super) fn has_failed(&self) -> bool {
        self.status == b'E' && !self.is_ending
    }

    /// What is sent now may be part of one, in a block or in the messages up to the next Sync.
    pub(super) fn may_be_open(&self) -> bool {
        self.status != b'I' || self.in_pipeline
    }

    /// The server has taken a snapshot, or takes a new one for the next statement.
    pub(super) fn may_be_asked(&self) -> bool {
        (self.status == b'I' || self.has_snapshot) && !self.in_pipeline
    }

    pub(super) fn in_pipeline(&self) -> bool {
        self.in_pipeline
    }

    pub(super) fn set_in_pipeline(&mut self, in_pipeline: bool) {
        self.in_pipeline = in_pipeline;
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// A statement is sent that ends it, or goes back to a savepoint.
    pub(super) fn note_ending(&mut self) {
        self.is_ending = true;
    }

    /// Nothing that was sent is under way any more.
    pub(super) fn note_nothing_under_way(&mut self) {
        self.is_ending = false;
    }

    /// The server reports a status with ReadyForQuery.
    pub(super) fn note_ready(&mut self, status: u8) {
        self.status = status;
    }

    /// The server has failed. Clients go on before ReadyForQuery says so.
    pub(super) fn note_error(&mut self) {
        if self.status == b'T' {
            self.status = b'E';
        }
    }

    /// A statement was executed, and this is the first word of its tag.
    pub(super) fn note_tag(&mut self, word: &[u8]) {
        match word {
            b"SELECT" | b"INSERT" | b"UPDATE" | b"DELETE" | b"COPY" => self.has_snapshot = true,
            b"BEGIN" | b"START" | b"COMMIT" | b"ROLLBACK" => self.has_snapshot = false,
            _ => {}
        }
    }
}
