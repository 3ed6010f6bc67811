//! What the server is expected to say, in order, and what is done with it.

use std::collections::VecDeque;
use std::sync::Arc;

use wire_postgres::backend::Failure;

use super::rows::Shape;
use super::statements::Statement;

/// The answer to one message of the client, or to one of the proxy's own.
#[derive(Debug)]
pub(super) enum Expected {
    /// To Parse, of a statement by its name.
    Parse(Box<[u8]>),
    /// To Bind, of a portal by its name.
    Bind(Box<[u8]>),
    /// To Close.
    Close,
    /// To Describe of a statement: its parameters, then its columns.
    DescribeStatement(Arc<Statement>),
    /// To Describe of a portal. None: as the server says.
    DescribePortal(Option<Arc<Shape>>),
    /// To Execute. None: rows go on as they are.
    Execute(Option<Arc<Shape>>),
    /// To Query: the shapes of its statements that are still to come, up to ReadyForQuery. Empty:
    /// all go on as they are.
    Query(VecDeque<Option<Arc<Shape>>>),
    /// To Sync.
    Sync,
    /// To a message that makes the server fail, in place of one that the proxy refused.
    Fail(Failure),
    /// The same in place of a Query: the failure, then ReadyForQuery.
    FailQuery(Failure),
    /// To the messages by which the proxy asks the catalogue one query.
    Load {
        /// Answers to Close that have come.
        closed: u8,
    },
    /// To the proxy's own Sync.
    LoadSync,
}

/// The answers that are still to come.
#[derive(Debug, Default)]
pub(super) struct Answers {
    queue: VecDeque<Expected>,
}

impl Answers {
    pub(super) fn push(&mut self, expected: Expected) {
        self.queue.push_back(expected);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
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
        let is_sync = |expected: &Expected| matches!(expected, Expected::Sync | Expected::LoadSync);
        let count = self.queue.iter().position(is_sync);
        self.queue
            .drain(..count.unwrap_or(self.queue.len()))
            .collect()
    }

    /// Whether a Sync is still to be answered.
    pub(super) fn has_sync(&self) -> bool {
        let is_sync = |expected: &Expected| matches!(expected, Expected::Sync | Expected::LoadSync);
        self.queue.iter().any(is_sync)
    }

    /// Whether rows of the server go on unread now.
    pub(super) fn rows_pass(&self) -> bool {
        match self.queue.front() {
            Some(Expected::Execute(shape)) => shape.is_none(),
            Some(Expected::Query(shapes)) => shapes.front().is_none_or(Option::is_none),
            _ => false,
        }
    }
}
