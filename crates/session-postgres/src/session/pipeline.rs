//! Whether the client's next message can be processed while earlier ones are not answered.

use super::finisher_link::FinisherLink;
use super::gathering::Gathering;
use crate::finisher::FinisherRows;

/// What becomes of the client's next message.
///
/// ```text
/// Open ── a step is sent, with Flush ───────▶ Waiting ─── its rows are there ──▶ Open
///   │ ─── a step is sent, without ──▶ SyncExpected ── Sync, or Flush for another ──▶ Waiting
///   └ ─── something fails ──────▶ Skipping ── Sync ──▶ Open
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gate {
    /// It is processed.
    #[default]
    Open,
    /// A step was sent without Flush: the client's Sync is expected, which makes the server answer,
    /// too.
    SyncExpected,
    /// It waits for rows that determine what is sent next.
    Waiting,
    /// It is dropped, up to the next Sync, as the server does after an error.
    Skipping,
}

/// The state of a pipeline of messages.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    gate: Gate,
    /// Many answers were outstanding when the last message was sent.
    was_crowded: bool,
    /// Types of parameters, while the parts of a statement are described.
    described: Vec<u32>,
    finisher: FinisherLink,
    /// Rows that are inserted once values of sequences have been drawn for them.
    drawing: Option<Box<(Gathering, FinisherRows)>>,
}

impl Pipeline {
    /// What becomes of the client's next message.
    pub(super) fn gate(&self) -> Gate {
        self.gate
    }

    /// Lets messages through.
    pub(super) fn open(&mut self) {
        self.gate = Gate::Open;
    }

    /// Expects Sync, after a step that was sent without Flush.
    pub(super) fn expect_sync(&mut self) {
        self.gate = Gate::SyncExpected;
    }

    /// Makes messages wait for rows that determine what is sent next.
    pub(super) fn wait(&mut self) {
        self.gate = Gate::Waiting;
    }

    /// Drops messages up to the next Sync.
    pub(super) fn skip(&mut self) {
        self.gate = Gate::Skipping;
    }

    /// Whether many answers are outstanding now, and were not when this was last asked.
    pub(super) fn has_become_crowded(&mut self, is_crowded: bool) -> bool {
        let was_crowded = std::mem::replace(&mut self.was_crowded, is_crowded);
        is_crowded && !was_crowded
    }

    /// Keeps rows until values of sequences have been drawn for them.
    pub(super) fn keep_drawing(&mut self, found: Box<(Gathering, FinisherRows)>) {
        self.drawing = Some(found);
    }

    /// The rows that values were drawn for, once.
    pub(super) fn take_drawing(&mut self) -> Option<Box<(Gathering, FinisherRows)>> {
        self.drawing.take()
    }

    /// Forgets those rows: the server has failed.
    pub(super) fn drop_drawing(&mut self) {
        if self.drawing.take().is_some() {
            self.open();
        }
    }

    /// The conversation with the finisher.
    pub(super) fn finisher(&mut self) -> &mut FinisherLink {
        &mut self.finisher
    }

    /// Whether the finisher was asked, and has not answered.
    pub(super) fn awaits_finisher(&self) -> bool {
        self.finisher.is_waiting()
    }

    /// Types of parameters, while the parts of a statement are described.
    pub(super) fn described_types(&mut self) -> &mut Vec<u32> {
        &mut self.described
    }
}
