//! The state of a session's transaction, by what the server has reported and by the messages sent.

/// The transaction of a session.
#[derive(Debug)]
pub(super) struct Transaction {
    /// Transaction status byte of the last ReadyForQuery.
    status: u8,
    /// Messages of the extended protocol have come since the last Sync.
    in_pipeline: bool,
    /// One of them has executed a statement that may have done more than read.
    has_executed: bool,
    /// A statement was executed for which the server took a snapshot.
    has_snapshot: bool,
    /// A statement was sent that ends it or rolls back to a savepoint.
    is_ending: bool,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            status: b'I',
            in_pipeline: false,
            has_executed: false,
            has_snapshot: false,
            is_ending: false,
        }
    }
}

impl Transaction {
    /// Whether no transaction block is open.
    pub(super) fn is_outside_block(&self) -> bool {
        self.status == b'I'
    }

    /// Whether the block has failed, and no statement was sent that ends it.
    pub(super) fn has_failed(&self) -> bool {
        self.status == b'E' && !self.is_ending
    }

    /// Whether the next message may be part of a transaction: of a block, or of the messages up to
    /// the next Sync.
    pub(super) fn may_be_open(&self) -> bool {
        self.status != b'I' || self.in_pipeline
    }

    /// Whether a query of the proxy's own is harmless: the snapshot exists already, or each
    /// statement gets a new one.
    pub(super) fn may_be_asked(&self) -> bool {
        (self.status == b'I' || self.has_snapshot) && !self.in_pipeline
    }

    pub(super) fn in_pipeline(&self) -> bool {
        self.in_pipeline
    }

    pub(super) fn set_in_pipeline(&mut self, in_pipeline: bool) {
        self.in_pipeline = in_pipeline;
        self.has_executed &= in_pipeline;
    }

    /// Notes that a statement is executed that may do more than read.
    pub(super) fn note_executed(&mut self) {
        self.has_executed = true;
    }

    /// Whether Sync may commit what was executed before it: no block is known to be open.
    pub(super) fn sync_may_commit(&self) -> bool {
        self.has_executed && (self.status == b'I' || self.is_ending)
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Notes that a statement is sent that ends it or rolls back to a savepoint.
    pub(super) fn note_ending(&mut self) {
        self.is_ending = true;
    }

    /// Notes that the server has answered everything.
    pub(super) fn note_nothing_under_way(&mut self) {
        self.is_ending = false;
    }

    /// Notes the transaction status byte of ReadyForQuery.
    pub(super) fn note_ready(&mut self, status: u8) {
        self.status = status;
    }

    /// Notes an error. Clients may send more before ReadyForQuery reports it.
    pub(super) fn note_error(&mut self) {
        if self.status == b'T' {
            self.status = b'E';
        }
    }

    /// Notes that a statement was executed, by the first word of its command tag.
    pub(super) fn note_tag(&mut self, word: &[u8]) {
        match word {
            b"SELECT" | b"INSERT" | b"UPDATE" | b"DELETE" | b"COPY" => self.has_snapshot = true,
            b"BEGIN" | b"START" | b"COMMIT" | b"ROLLBACK" => self.has_snapshot = false,
            _ => {}
        }
    }
}
