//! Statements whose rows the proxy takes itself, because they determine what is sent next.

use std::sync::Arc;

use semantics_postgres::TextContext;
use session_core::{Changes, StatementError, ValueFormat};
use sql_plan::Scroll;
use wire_postgres::backend;
use wire_postgres::frontend::KeptBind;

use super::cursors::CursorRows;
use super::finishing::Finishing;
use super::format::FormatCode;
use super::gathering::Gathering;
use super::rows::RowError;
use super::upserting::Upserting;

/// A statement that takes steps, while its rows come.
#[derive(Debug)]
pub(super) enum Step {
    /// New values are computed from old ones.
    Modify(Modify),
    /// A query is finished.
    Finish(Finishing),
    /// Rows are fetched for the finisher.
    Gather(Box<Gathering>),
    /// Rows are inserted, and those that are there already are returned for the finisher.
    Upsert(Box<Upserting>),
    /// A cursor is declared whose rows are kept.
    Declare(Box<Declaring>),
    /// The server is asked whether such a cursor is there.
    Scroll(Box<Scrolling>),
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
            Self::Modify(_) | Self::Declare(_) | Self::Scroll(_) => Ok(()),
            Self::Finish(finishing) => finishing.columns(body, context, to_client),
            Self::Gather(gathering) => gathering.columns(body),
            Self::Upsert(upserting) => upserting.columns(body, to_client),
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
            Self::Upsert(upserting) => upserting.row(body, context),
            Self::Declare(_) | Self::Scroll(_) => Err(StatementError::other_columns().into()),
        }
    }
}

impl Step {
    /// Whether the client's Sync was sent after it.
    pub(super) fn is_synced(&self) -> bool {
        match self {
            Self::Modify(_) | Self::Upsert(_) | Self::Declare(_) | Self::Scroll(_) => false,
            Self::Finish(finishing) => finishing.is_synced,
            Self::Gather(gathering) => gathering.is_synced,
        }
    }

    /// Notes that the client's Sync is sent after it. False: it must be sent behind what the step
    /// sends.
    pub(super) fn note_sync(&mut self) -> bool {
        match self {
            Self::Modify(_) | Self::Upsert(_) | Self::Declare(_) | Self::Scroll(_) => return false,
            Self::Finish(finishing) => finishing.is_synced = true,
            Self::Gather(gathering) => gathering.is_synced = true,
        }
        true
    }
}

/// A `DECLARE` that the server has not confirmed.
#[derive(Debug)]
pub(super) struct Declaring {
    pub name: String,
    pub rows: CursorRows,
}

/// A `FETCH` or `MOVE` of a cursor whose rows are kept.
#[derive(Debug)]
pub(super) struct Scrolling {
    pub scroll: Scroll,
    /// The formats that the client asked for.
    pub formats: Box<[i16]>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// How many rows the client wants. None: all.
    pub rows_max: Option<usize>,
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
