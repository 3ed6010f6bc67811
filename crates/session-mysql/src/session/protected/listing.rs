//! The answer to `COM_FIELD_LIST`, by which old programs ask for the columns of a table: those with
//! rules have the declared types.

use std::sync::Arc;

use session_core::Loaded;
use sql_rewrite::Dialect;
use sql_rewrite::mysql::shown::listed_default;
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::packet::{self, Header};
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use super::columns::{default_of, protected, shown};
use super::errors::refusal;
use super::settings::Results;
use crate::refusal::Refusal;

/// An answer that is due.
#[derive(Debug)]
pub(super) struct Listing {
    loaded: Arc<Loaded>,
    results: Results,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
}

impl Listing {
    /// Of a command that has been sent.
    pub(super) fn new(loaded: Arc<Loaded>, results: Results, sequence: u8) -> Self {
        Self {
            loaded,
            results,
            sequence,
        }
    }

    /// Takes a payload of the server, and writes what the client gets. Gives whether it was the
    /// last.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        (capabilities, status): (Capabilities, &mut Status),
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let first = payload.first().copied();
        match need(Step::Rows, header, first, capabilities).ok_or(Malformed)? {
            Need::Whole => {
                if first != Some(answer::ERR) {
                    Step::Rows.read(payload, capabilities, status)?;
                }
                packet::write_bytes(payload, &mut self.sequence, out);
                Ok(true)
            }
            Need::Nothing => {
                let (column, default) = Column::read_listed(payload)?;
                let schema = &self.loaded.schema;
                match protected(&column, schema) {
                    None => packet::write_bytes(payload, &mut self.sequence, out),
                    Some(id) => {
                        let shown = shown(column, (schema, id), self.results);
                        let shown = shown.map_err(|error| refusal(&error))?;
                        let own = schema.column(id);
                        let default = match schema.dialect {
                            Dialect::MySql(server) => listed_default(own, server),
                            _ => None,
                        }
                        .or_else(|| default.map(|_| default_of(own.logical).into_bytes()));
                        packet::write(&mut self.sequence, out, |out| {
                            shown.write_listed(default.as_deref(), out);
                        });
                    }
                }
                Ok(false)
            }
        }
    }
}
