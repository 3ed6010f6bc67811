//! Portals of a session.

use std::sync::Arc;

use session_core::{RowName, Statement};
use wire_postgres::frontend::KeptBind;

use super::finishing::DataRowAnswer;
use super::rows::Shape;

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
    /// Here: its statement takes steps.
    Kept(Arc<KeptBind>),
    /// Rows of the answer that the client has not taken.
    Answer(Box<DataRowAnswer>),
    /// Its steps were taken.
    Done,
}
