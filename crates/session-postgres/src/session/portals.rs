//! Portals of a session.

use std::sync::Arc;

use super::finishing::Answer;
use super::locks::RowName;
use super::rows::Shape;
use super::statements::Statement;

/// A portal.
#[derive(Debug)]
pub(super) struct Portal {
    pub statement: Arc<Statement>,
    pub state: PortalState,
}

/// Where a portal is.
#[derive(Debug)]
pub(super) enum PortalState {
    /// At the server.
    Bound {
        /// None: rows go on as they are.
        shape: Option<Arc<Shape>>,
        /// The row that it locks.
        row: Option<RowName>,
    },
    /// Here: its statement takes steps. The body of Bind.
    Kept(Box<[u8]>),
    /// Rows of the answer that the client has not taken.
    Answer(Box<Answer>),
    /// Its steps were taken.
    Done,
}
