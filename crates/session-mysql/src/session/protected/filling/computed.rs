//! Rows that the finisher has computed, as they are kept while they are written.

use wire_mysql::row::TextRow;
use zeroize::Zeroizing;

/// Rows that the finisher has computed.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// As the finisher gave them.
    pub(super) rows: Vec<Zeroizing<Vec<u8>>>,
    pub(super) width: usize,
}

/// The values of a row. None: NULL.
pub(super) type Values<'r> = Vec<Option<&'r [u8]>>;

impl Computed {
    /// All of them, if they are such rows.
    pub(super) fn read(&self) -> Option<Vec<Values<'_>>> {
        let rows = self.rows.iter();
        let read = |row| Some(TextRow::read(row, self.width).ok()?.iter().collect());
        rows.map(|row| read(row.as_slice())).collect()
    }
}
