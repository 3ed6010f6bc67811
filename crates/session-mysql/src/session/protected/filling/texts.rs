//! The texts of a statement that the finisher evaluates: as the client wrote it, and with copies of
//! tables, where a finisher reads none twice.

use session_core::StatementError;
use sql_plan::FinisherTables;
use sql_rewrite::mysql::MySql;
use sql_rewrite::mysql::copies::{Copied, TableCopy, copied};
use wire_mysql::column::Column;
use zeroize::Zeroizing;

use super::super::settings::Settings;

/// See the module.
#[derive(Debug)]
pub(super) struct Texts {
    /// The client's.
    pub(super) own: Zeroizing<Vec<u8>>,
    /// The finisher's. None: it is the same.
    other: Option<Zeroizing<Vec<u8>>>,
    pub(super) copies: Vec<TableCopy>,
    /// The number of the character set of texts that the client gets, where it is another than the
    /// finisher's: before MySQL the login gives one that no setting does.
    charset: Option<u16>,
}

/// The number of what is no text.
const BINARY: u16 = 63;

impl Texts {
    /// The texts for a finisher of the server's product.
    ///
    /// # Errors
    /// The text cannot be read.
    pub(super) fn of(
        text: &[u8],
        own: MySql,
        settings: &Settings,
        query: &FinisherTables,
    ) -> Result<Self, StatementError> {
        let database = settings.database.as_deref();
        let results = settings.results;
        let copied = match own.is_mariadb {
            true => Copied::default(),
            false => {
                let unread = "a text that is not UTF-8, in what the finisher evaluates";
                let text =
                    std::str::from_utf8(text).map_err(|_| StatementError::unsupported(unread))?;
                copied(text, own, database, query).map_err(StatementError::from)?
            }
        };
        let has_copies = !copied.copies.is_empty();
        Ok(Self {
            own: Zeroizing::new(text.to_vec()),
            other: has_copies.then(|| Zeroizing::new(copied.text.into_bytes())),
            copies: copied.copies,
            charset: (!own.is_mariadb && !results.is_unconverted).then_some(results.number),
        })
    }

    /// The text for the finisher.
    pub(super) fn for_finisher(&self) -> Zeroizing<Vec<u8>> {
        self.other.as_ref().unwrap_or(&self.own).clone()
    }

    /// A definition of a column as the server would write it. None: it is the finisher's.
    pub(super) fn definition(&self, payload: &[u8]) -> Option<Vec<u8>> {
        if self.copies.is_empty() && self.charset.is_none() {
            return None;
        }
        let mut column = Column::read(payload).ok()?;
        let is_meant = |copy: &&TableCopy| copy.name.as_bytes() == column.original_table;
        if let Some(copy) = self.copies.iter().find(is_meant) {
            column.original_table = copy.original.as_bytes();
        }
        if let Some(charset) = self.charset.filter(|_| column.character_set != BINARY) {
            column.character_set = charset;
        }
        let mut written = Vec::new();
        column.write(&mut written);
        Some(written)
    }
}
