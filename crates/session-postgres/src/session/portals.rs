//! Portals of a session.

use std::sync::Arc;

use session_core::{RowName, Statement};
use wire_postgres::frontend::KeptBind;

use super::finisher_rows::AnsweredRows;
use super::finishing::DataRowAnswer;
use super::rows::Shape;

/// A portal.
#[derive(Debug)]
pub(super) struct Portal {
    pub statement: Arc<Statement>,
    pub state: PortalState,
}

/// The state of a portal.
#[derive(Debug)]
pub(super) enum PortalState {
    /// The server has it.
    Bound {
        /// None: rows are forwarded unchanged.
        shape: Option<Arc<Shape>>,
        /// The row that it locks.
        row: Option<RowName>,
    },
    /// The proxy keeps it, since its statement takes steps.
    Kept(Arc<KeptBind>),
    /// The proxy has rows that the client has not fetched yet.
    Answer(Box<DataRowAnswer>),
    /// The finisher has answered, and the client has not fetched all rows yet.
    Rows(Box<AnsweredRows>),
    /// It was executed.
    Done,
}
