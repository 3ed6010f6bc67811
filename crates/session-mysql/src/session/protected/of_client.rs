//! What the client of a session has said that holds from then on.

use super::texts;

/// What the client has told the server, or the proxy, that holds for the session.
#[derive(Debug, Default)]
pub(in crate::session) struct OfClient {
    /// It may have locked tables.
    pub(super) has_locked_tables: bool,
    /// It may have read something since a transaction began, so that what it sees is fixed.
    pub(super) has_read: bool,
    /// Whether it sends several statements in one text, by `COM_SET_OPTION`. None: as it said when
    /// it logged in.
    pub(super) sends_several: Option<bool>,
    /// How many bytes of its texts were looked at.
    #[cfg(test)]
    pub(in crate::session) looked_at: usize,
}

impl OfClient {
    /// Notes what a text does to the tables that are locked, and to what the session sees.
    pub(super) fn note_begun(&mut self, text: &[u8]) {
        if let Some(locks) = texts::locks_tables(text) {
            self.has_locked_tables = locks;
        }
        if texts::begins_or_ends(text) {
            self.has_read = false;
        }
    }

    #[cfg(test)]
    pub(super) fn note_text(&mut self, text: &[u8]) {
        self.looked_at += text.len();
    }

    #[cfg(not(test))]
    pub(super) fn note_text(&self, _: &[u8]) {}
}
