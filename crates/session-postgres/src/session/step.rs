//! Statements whose rows the proxy takes itself, because they determine what is sent next.

use std::sync::Arc;

use semantics_postgres::TextContext;
use session_core::{Changes, ValueFormat};
use wire_postgres::backend;
use wire_postgres::frontend::KeptBind;

use super::finishing::Finishing;
use super::format::FormatCode;
use super::gathering::Gathering;
use super::rows::RowError;

/// A statement that takes steps, while its rows come.
#[derive(Debug)]
pub(super) enum Step {
    /// New values are computed from old ones.
    Modify(Modify),
    /// A query is finished.
    Finish(Finishing),
    /// Rows are fetched for the finisher.
    Gather(Box<Gathering>),
}

impl Step {
    /// Takes the columns of the rows.
    pub(super) fn columns(
        &mut self,
        body: &[u8],
        context: &TextContext,
        to_client: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        match self {
            Self::Modify(_) => Ok(()),
            Self::Finish(finishing) => finishing.columns(body, context, to_client),
            Self::Gather(gathering) => gathering.columns(body),
        }
    }

    /// Takes a row.
    pub(super) fn row(
        &mut self,
        body: &[u8],
        context: &TextContext,
        to_client: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        match self {
            Self::Modify(modify) => {
                let values: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
                Ok(modify
                    .changes
                    .take_row(&values, FormatCode::BINARY, context)?)
            }
            Self::Finish(finishing) => finishing.row(body, context, to_client),
            Self::Gather(gathering) => gathering.row(body, context),
        }
    }
}

impl Step {
    /// Whether the client's Sync was sent after it.
    pub(super) fn is_synced(&self) -> bool {
        match self {
            Self::Modify(_) => false,
            Self::Finish(finishing) => finishing.is_synced,
            Self::Gather(gathering) => gathering.is_synced,
        }
    }

    /// Notes that the client's Sync is sent after it. False: it must be sent behind what the step
    /// sends.
    pub(super) fn note_sync(&mut self) -> bool {
        match self {
            Self::Modify(_) => return false,
            Self::Finish(finishing) => finishing.is_synced = true,
            Self::Gather(gathering) => gathering.is_synced = true,
        }
        true
    }
}

/// An `UPDATE` whose new values depend on old ones, while its rows are read.
#[derive(Debug)]
pub(super) struct Modify {
    /// The rows to write.
    pub changes: Changes,
    /// The client's Bind.
    pub bind: Arc<KeptBind>,
    /// The client's portal.
    pub portal: Box<[u8]>,
}
