//! The answers that the server still owes, in order, and what becomes of each.

use std::collections::VecDeque;
use std::sync::Arc;

use session_core::plans::ServerStatement;
use session_core::{LockedRead, Statement, StatementError};
use zeroize::Zeroizing;

use super::rows::Shape;
use super::step::Step;

/// The answer to one message of the client, or to one of the proxy's own.
#[derive(Debug)]
pub(super) enum Expected {
    /// To Parse.
    Parse,
    /// To Bind, of a portal by its name.
    Bind(Box<[u8]>),
    /// To Close of a portal.
    Close,
    /// To Close of a statement.
    CloseStatement,
    /// To Describe of a statement: its parameters, then its columns. If these are given, the client
    /// is told them.
    DescribeStatement(Arc<Statement>, Option<Vec<u8>>),
    /// To Describe of one of the statements that a statement of the client becomes.
    DescribePart(DescribePart),
    /// To Describe of a portal. None: forwarded unchanged.
    DescribePortal(Option<Arc<Shape>>),
    /// To Describe of a statement, sent to learn the columns of a portal with these formats.
    DescribeRows(Option<Arc<Shape>>, Box<[i16]>),
    /// To Describe of a cursor whose rows are kept: what the client is told.
    DescribeCursor(Vec<u8>),
    /// To Describe of the fetch of a query that the proxy finishes.
    DescribeFinish(DescribeFinish),
    /// To Execute. Without a shape, rows are forwarded unchanged.
    Execute(Option<Arc<Shape>>, Option<Box<LockedRead>>),
    /// To Query, up to ReadyForQuery: the shapes of the statements that are still to be answered
    /// (if empty, all rows are forwarded unchanged), and the row that the only statement locks.
    Query(VecDeque<Option<Arc<Shape>>>, Option<Box<LockedRead>>),
    /// To Sync.
    Sync,
    /// To a statement sent to make the server fail in place of one that the proxy refused.
    Fail(StatementError),
    /// The same in place of a Query: an error, then ReadyForQuery.
    FailQuery(StatementError),
    /// To the messages of one query of the proxy's own to the catalogues.
    Load {
        /// How many CloseComplete have come.
        closed: u8,
    },
    /// To the proxy's own Sync.
    LoadSync,
    /// Messages of the proxy's own, sent after all earlier answers.
    ProxyReply(Vec<u8>),
    /// BindComplete of a portal that the proxy keeps, by its name.
    ProxyBindReply(Box<[u8]>),
    /// To a message of the proxy's own. The client does not see the answer.
    Unseen(Unseen),
    /// To Execute of a statement whose rows the proxy takes itself: see [`Step`].
    Step(Box<Step>),
    /// To the messages that write computed values.
    Writes(Writes),
}

/// Describe of one of the statements that a statement of the client becomes.
#[derive(Debug)]
pub(super) struct DescribePart {
    pub statement: Arc<Statement>,
    pub at: ServerStatement,
    /// Whether it is the last part, so that all types of parameters are known.
    pub is_last: bool,
}

/// Describe of a query that the proxy finishes.
#[derive(Debug)]
pub(super) struct DescribeFinish {
    pub statement: Arc<Statement>,
    /// The result formats that the client asked for.
    pub formats: Box<[i16]>,
    /// Whether the client also asked for the types of parameters.
    pub has_parameters: bool,
}

/// An answer that the client does not see.
#[derive(Debug)]
pub(super) enum Unseen {
    /// To Parse of a statement of the proxy's own, by its number. 0: it has no name.
    Parse(u32),
    /// To a second Parse of the client's statement, after Close.
    ParseAgain,
    /// To Bind.
    Bind,
    /// To Close.
    Close,
    /// To a Sync of the client, where another Sync will be answered in its place.
    Sync,
    /// To Describe in a simple query: forward RowDescription, swallow NoData.
    Describe(Option<Arc<Shape>>),
}

/// The answers to statements that each write one row: perhaps CloseComplete, then BindComplete, the
/// returned rows, and CommandComplete. The client sees all rows and a single CommandComplete.
#[derive(Debug)]
pub(super) struct Writes {
    /// How many of the statements are still to be answered.
    pub left: usize,
    /// How many rows were written.
    pub count: u64,
    /// What the client is told that was done: `UPDATE` or `DELETE`.
    pub verb: &'static str,
    pub shape: Option<Arc<Shape>>,
    /// Rows of the proxy's own: before those of each statement, and behind the last.
    pub others: VecDeque<Zeroizing<Vec<u8>>>,
}

/// With this many answers outstanding the client is not read: many small messages would make the
/// queue grow without limit.
const UNDER_WAY_MAX: usize = 16 * 1024;

/// The answers that the server still owes.
#[derive(Debug, Default)]
pub(super) struct Answers {
    queue: VecDeque<Expected>,
    /// How many messages were sent that the server answers with ReadyForQuery.
    batches_sent: u64,
    /// How many of them were answered or skipped by the server.
    batches_answered: u64,
}

impl Answers {
    pub(super) fn push(&mut self, expected: Expected) {
        self.batches_sent += u64::from(is_query(&expected) || is_sync(&expected));
        self.queue.push_back(expected);
    }

    /// The number of the batch that the next message belongs to. A batch ends with a message that
    /// the server answers with ReadyForQuery.
    pub(super) fn batch_sent(&self) -> u64 {
        self.batches_sent
    }

    /// The number of the batch that the server answers next.
    pub(super) fn batch_answered(&self) -> u64 {
        self.batches_answered
    }

    /// Notes ReadyForQuery.
    pub(super) fn end_batch(&mut self) {
        self.batches_answered += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether there are so many that the client must not be read.
    pub(super) fn are_crowded(&self) -> bool {
        self.queue.len() >= UNDER_WAY_MAX
    }

    pub(super) fn back(&mut self) -> Option<&mut Expected> {
        self.queue.back_mut()
    }

    pub(super) fn front(&mut self) -> Option<&mut Expected> {
        self.queue.front_mut()
    }

    pub(super) fn pop(&mut self) -> Option<Expected> {
        let first = self.queue.pop_front();
        if self.queue.is_empty() && self.queue.capacity() > 64 {
            // Give back the memory of a long pipeline: most sessions have one answer at a time.
            self.queue = VecDeque::new();
        }
        first
    }

    /// Removes what the server skips after an error: everything up to the next Sync.
    pub(super) fn skip_to_sync(&mut self) -> Vec<Expected> {
        let count = self.queue.iter().position(is_sync);
        let count = count.unwrap_or(self.queue.len());
        let skipped: Vec<Expected> = self.queue.drain(..count).collect();
        // The server sends no ReadyForQuery for a Query that it skips.
        let queries = skipped.iter().map(|one| u64::from(is_query(one)));
        self.batches_answered += queries.sum::<u64>();
        skipped
    }

    /// Removes Syncs between the current Execute and the rows of its COPY: the server ignores them.
    pub(super) fn drop_syncs(&mut self) {
        while matches!(self.queue.get(1), Some(Expected::Sync)) {
            self.queue.remove(1);
            self.batches_answered += 1;
        }
    }

    /// Whether a Sync is still to be answered.
    pub(super) fn has_sync(&self) -> bool {
        self.next_sync().is_some()
    }

    /// The next Sync that is to be answered.
    pub(super) fn next_sync(&self) -> Option<&Expected> {
        self.queue.iter().find(|expected| is_sync(expected))
    }

    /// Whether rows of the server are now forwarded without parsing.
    pub(super) fn rows_pass(&self) -> bool {
        match self.queue.front() {
            Some(Expected::Execute(shape, _)) => shape.is_none(),
            Some(Expected::Writes(writes)) => writes.shape.is_none(),
            Some(Expected::Query(shapes, _)) => shapes.front().is_none_or(Option::is_none),
            _ => false,
        }
    }
}

/// Whether the answer ends with ReadyForQuery.
pub(super) fn is_query(expected: &Expected) -> bool {
    matches!(expected, Expected::Query(..) | Expected::FailQuery(_))
}

/// Whether the server answers with ReadyForQuery alone, and resumes there after an error.
fn is_sync(expected: &Expected) -> bool {
    matches!(
        expected,
        Expected::Sync | Expected::LoadSync | Expected::Unseen(Unseen::Sync)
    )
}
