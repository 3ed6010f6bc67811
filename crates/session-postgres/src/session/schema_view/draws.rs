//! Values of sequences that are drawn for columns.

use session_core::StatementError;

use super::SchemaView;
use crate::session::load::{Draw, Extent, Load};
use crate::session::settings::Settings;

impl SchemaView {
    /// Whether the values of sequences are under way.
    pub(in crate::session) fn is_drawing(&self) -> bool {
        let load = self.load.as_ref();
        load.is_some_and(|load| matches!(load.extent, Extent::Draw(_)))
    }

    /// Writes the queries that draw values of sequences.
    pub(in crate::session) fn begin_draw(
        &mut self,
        draws: Vec<Draw>,
        has_sync: bool,
        to_server: &mut Vec<u8>,
    ) -> &Load {
        let forgets = self.known.forgets;
        let load = Load::begin(Extent::Draw(draws), has_sync, forgets, to_server);
        self.load.insert(load)
    }

    /// Takes values of sequences.
    pub(super) fn end_draw(&mut self, load: &Load, settings: &Settings) -> bool {
        match load.drawn() {
            Ok(None) => return false,
            Ok(Some(drawn)) => {
                for (column, values) in drawn {
                    settings.context().drawn.set(column.0, values);
                }
            }
            Err(column) => {
                let title = self.loaded.as_ref().map(|loaded| {
                    let column = loaded.schema.column(column);
                    format!("{}.{}", column.table, column.column)
                });
                let message = format!(
                    "protected column {} has no sequence that its values could be drawn from",
                    title.unwrap_or_default()
                );
                let failure = StatementError::unsupported(&message);
                self.failure = Some(failure.hint(
                    "Create the table through the proxy, or give the column its sequence: CREATE \
                     SEQUENCE …; ALTER SEQUENCE … OWNED BY ….",
                ));
            }
        }
        true
    }
}
