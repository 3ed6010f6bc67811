//! How far the messages are that were sent to the server and not answered.

/// What becomes of the client's next message.
///
/// ```text
/// Open ── a step is sent, with Flush ───────▶ Waiting ─── its rows are there ──▶ Open
///   │ ─── a step is sent, without ──▶ SyncExpected ── Sync, or Flush for another ──▶ Waiting
///   └ ─── something fails ──────▶ Skipping ── Sync ──▶ Open
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gate {
    /// It is taken.
    #[default]
    Open,
    /// A step was sent without Flush: the client's Sync is expected, which makes the server answer
    /// as well.
    SyncExpected,
    /// It waits: rows are awaited that decide what is sent next.
    Waiting,
    /// It is dropped, up to the next Sync, as the server does it.
    Skipping,
}

/// How far the messages are that were sent and not answered.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    gate: Gate,
    /// There were many answers under way when the last message was sent.
    was_crowded: bool,
    /// Types of parameters, while the parts of a statement are described.
    described: Vec<u32>,
}

impl Pipeline {
    /// What becomes of the client's next message.
    pub(super) fn gate(&self) -> Gate {
        self.gate
    }

    /// Messages are taken.
    pub(super) fn open(&mut self) {
        self.gate = Gate::Open;
    }

    /// A step was sent, without Flush.
    pub(super) fn expect_sync(&mut self) {
        self.gate = Gate::SyncExpected;
    }

    /// Rows are awaited that decide what is sent next.
    pub(super) fn wait(&mut self) {
        self.gate = Gate::Waiting;
    }

    /// The server leaves out what comes before the next Sync.
    pub(super) fn skip(&mut self) {
        self.gate = Gate::Skipping;
    }

    /// Whether there are many answers under way, and were not when the last message was sent.
    pub(super) fn has_become_crowded(&mut self, is_crowded: bool) -> bool {
        let was_crowded = std::mem::replace(&mut self.was_crowded, is_crowded);
        is_crowded && !was_crowded
    }

    /// Types of parameters, while the parts of a statement are described.
    pub(super) fn described_types(&mut self) -> &mut Vec<u32> {
        &mut self.described
    }
}
