//! What the server is expected to say, in order, and what is done with it.

use std::collections::VecDeque;
use std::sync::Arc;

use session_core::plans::ServerStatement;
use session_core::{LockedRead, Statement, StatementError};

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
    /// To Describe of a statement: its parameters, then its columns.
    DescribeStatement(Arc<Statement>),
    /// To Describe of one of the statements that a statement of the client becomes.
    DescribePart(DescribePart),
    /// To Describe of a portal. None: as the server says.
    DescribePortal(Option<Arc<Shape>>),
    /// To Describe of a statement by which the columns of a portal are known, in these formats.
    DescribeRows(Option<Arc<Shape>>, Box<[i16]>),
    /// To Describe of a statement that gives the rows of a query which the proxy finishes.
    DescribeFinish(DescribeFinish),
    /// To Execute. None: rows go on as they are.
    Execute(Option<Arc<Shape>>, Option<Box<LockedRead>>),
    /// To Query: the shapes of its statements that are still to come, up to ReadyForQuery. Empty:
    /// all go on as they are. And what the only one locks.
    Query(VecDeque<Option<Arc<Shape>>>, Option<Box<LockedRead>>),
    /// To Sync.
    Sync,
    /// To a message that makes the server fail, in place of one that the proxy refused.
    Fail(StatementError),
    /// The same in place of a Query: the failure, then ReadyForQuery.
    FailQuery(StatementError),
    /// To the messages by which the proxy asks the catalogue one query.
    Load {
        /// Answers to Close that have come.
        closed: u8,
    },
    /// To the proxy's own Sync.
    LoadSync,
    /// What the proxy says itself, when all before it is said.
    ProxyReply(Vec<u8>),
    /// BindComplete of a portal that the proxy keeps, by its name.
    ProxyBindReply(Box<[u8]>),
    /// To a message of the proxy's own: the client does not see it.
    Unseen(Unseen),
    /// To Execute of a statement whose rows the proxy takes: see [`Step`].
    Step(Box<Step>),
    /// To the messages that write what was computed.
    Writes(Writes),
}

/// One of the statements that a statement of the client becomes is described.
#[derive(Debug)]
pub(super) struct DescribePart {
    pub statement: Arc<Statement>,
    pub at: ServerStatement,
    /// Whether the types of parameters are known with it.
    pub is_last: bool,
}

/// A query that the proxy finishes is described.
#[derive(Debug)]
pub(super) struct DescribeFinish {
    pub statement: Arc<Statement>,
    /// Formats of the answer that the client asked for.
    pub formats: Box<[i16]>,
    /// Whether the client asked for the types of parameters, too.
    pub has_parameters: bool,
}

/// An answer to a message of the proxy's own.
#[derive(Debug)]
pub(super) enum Unseen {
    /// To Parse of a statement of its own, by its number; 0 has no name.
    Parse(u32),
    /// To Parse of the client's statement anew, behind Close.
    ParseAgain,
    /// To Bind.
    Bind,
    /// To Close.
    Close,
    /// To a Sync of the client's that stands in the midst of what is said now.
    Sync,
    /// To Describe, in a simple query: columns are seen, that there are none is not.
    Describe(Option<Arc<Shape>>),
}

/// Rows are written: as many times BindComplete, rows to be returned, and CommandComplete; before
/// each maybe CloseComplete. The client sees the rows, and one CommandComplete.
#[derive(Debug)]
pub(super) struct Writes {
    /// Statements that are still to be answered.
    pub left: usize,
    /// Rows that were written.
    pub count: u64,
    pub shape: Option<Arc<Shape>>,
}

/// Answers that may be under way until the client is not read any more: a server that is told many
/// small things answers more in one packet than what remembers them may take.
const UNDER_WAY_MAX: usize = 16 * 1024;

/// The answers that are still to come.
#[derive(Debug, Default)]
pub(super) struct Answers {
    queue: VecDeque<Expected>,
    /// Messages that were sent and that the server answers by ReadyForQuery.
    batches_sent: u64,
    /// How often it did, or left such a message out.
    batches_answered: u64,
}

impl Answers {
    pub(super) fn push(&mut self, expected: Expected) {
        self.batches_sent += u64::from(is_query(&expected) || is_sync(&expected));
        self.queue.push_back(expected);
    }

    /// The batch of messages, up to one that is answered by ReadyForQuery, that the next message
    /// will be in.
    pub(super) fn batch_sent(&self) -> u64 {
        self.batches_sent
    }

    /// The batch that the server's next answer is to.
    pub(super) fn batch_answered(&self) -> u64 {
        self.batches_answered
    }

    /// ReadyForQuery has come.
    pub(super) fn end_batch(&mut self) {
        self.batches_answered += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether there are so many that no more may be asked for.
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
            // A pipeline was long; most sessions have one answer at a time.
            self.queue = VecDeque::new();
        }
        first
    }

    /// Takes out what the server leaves out after an error: all up to the next Sync.
    pub(super) fn skip_to_sync(&mut self) -> Vec<Expected> {
        let count = self.queue.iter().position(is_sync);
        let count = count.unwrap_or(self.queue.len());
        let skipped: Vec<Expected> = self.queue.drain(..count).collect();
        // The server is not ready behind a Query that it leaves out.
        let queries = skipped.iter().map(|one| u64::from(is_query(one)));
        self.batches_answered += queries.sum::<u64>();
        skipped
    }

    /// The server leaves out Syncs between the Execute at hand and the rows of its COPY.
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

    /// Whether rows of the server go on unread now.
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

/// Whether the server answers by ReadyForQuery alone, and goes on there after an error.
fn is_sync(expected: &Expected) -> bool {
    matches!(
        expected,
        Expected::Sync | Expected::LoadSync | Expected::Unseen(Unseen::Sync)
    )
}
