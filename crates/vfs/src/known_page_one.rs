//! Page 1 as a connection last saw it, with the fields that show SQLite whether other connections
//! changed the database.

use crate::page_one::PageOne;

/// sqlite.org/fileformat2.html 1.3: from change counter to schema cookie, the range that the pager
/// compares.
pub(crate) const VERSION_FIELDS_OFFSET: u64 = 24;
pub(crate) const VERSION_FIELDS_SIZE: usize = 16;

/// The sealed page 1 that last opened.
#[derive(Default)]
pub(crate) struct KnownPageOne {
    sealed: Vec<u8>,
    fields: [u8; VERSION_FIELDS_SIZE],
    /// The page count in page 1.
    pub page_count: Option<u64>,
}

impl KnownPageOne {
    /// Remembers a page 1 that was opened or sealed.
    pub fn note(&mut self, sealed: &[u8], page: &[u8]) {
        self.sealed.clear();
        self.sealed.extend_from_slice(sealed);
        let fields = &page[VERSION_FIELDS_OFFSET as usize..];
        self.fields.copy_from_slice(&fields[..VERSION_FIELDS_SIZE]);
        self.page_count = PageOne(page).page_count();
    }

    /// Whether `sealed` equals the remembered page in every byte.
    pub fn is(&self, sealed: &[u8]) -> bool {
        self.sealed == sealed
    }

    /// The remembered version fields.
    pub fn fields(&self) -> &[u8; VERSION_FIELDS_SIZE] {
        &self.fields
    }

    /// Forgets the page, because it has or may have changed.
    pub fn forget(&mut self) {
        self.sealed.clear();
        self.page_count = None;
    }
}
