//! Page 1 as a connection saw it last, with the fields by which SQLite learns of changes.

use crate::page_one::PageOne;

/// sqlite.org/fileformat2.html 1.3: change counter to schema cookie, as the pager compares them.
pub(crate) const VERSION_FIELDS_OFFSET: u64 = 24;
pub(crate) const VERSION_FIELDS_SIZE: usize = 16;

/// Page 1 as it was when it opened last.
#[derive(Default)]
pub(crate) struct KnownPageOne {
    sealed: Vec<u8>,
    fields: [u8; VERSION_FIELDS_SIZE],
    /// The number of pages that it tells.
    pub page_count: Option<u64>,
}

impl KnownPageOne {
    /// Remembers a page that was opened, or sealed here.
    pub fn note(&mut self, sealed: &[u8], page: &[u8]) {
        self.sealed.clear();
        self.sealed.extend_from_slice(sealed);
        let fields = &page[VERSION_FIELDS_OFFSET as usize..];
        self.fields.copy_from_slice(&fields[..VERSION_FIELDS_SIZE]);
        self.page_count = PageOne(page).page_count();
    }

    /// Whether it is this page, to the last byte.
    pub fn is(&self, sealed: &[u8]) -> bool {
        self.sealed == sealed
    }

    /// Its version fields.
    pub fn fields(&self) -> &[u8; VERSION_FIELDS_SIZE] {
        &self.fields
    }

    /// The page is another by now, or may be.
    pub fn forget(&mut self) {
        self.sealed.clear();
        self.page_count = None;
    }
}
