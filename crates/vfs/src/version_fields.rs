//! SQLite's version fields of page 1, which it reads at the start of each transaction to decide
//! whether its cache is still valid.
//!
//! Opening all of page 1 for this would cost more than the rest of a small read. So the sealed page
//! is remembered when it opens; while every byte on disk is unchanged, so are its fields. Comparing
//! fewer bytes proves nothing: whoever writes an old trailer over a new page would keep a stale
//! cache alive, and its writer would overwrite what others committed.

use page_codec::page::PagePlace;

use crate::database::{Database, State};
use crate::error::Outcome;
use crate::known_page_one::{VERSION_FIELDS_OFFSET, VERSION_FIELDS_SIZE};
use crate::main_file::PAGES_OFFSET;

impl Database {
    pub fn read_version_fields(&mut self, out: &mut [u8]) -> Outcome {
        let page_size = self.page_size().unwrap_or(0) as usize;
        let is_on_disk = self.page_size_change.units.is_none() && self.main.gathered.is_empty();
        if is_on_disk && self.knows_page_one(page_size)? {
            out.copy_from_slice(self.main.page_one.fields());
            return Ok(());
        }
        self.main.page_one.forget();
        let mut page = vec![0; page_size];
        // Goes through `read_page` for everything it may need: a renewed header, a retry, an error
        // message.
        let result = self.read_page(0, &mut page);
        if self.page_size() != u32::try_from(page_size).ok() {
            // Another connection has changed it; the file may be shorter than a page of the former
            // size.
            return self.read_version_fields(out);
        }
        result?;
        out.copy_from_slice(&page[VERSION_FIELDS_OFFSET as usize..][..VERSION_FIELDS_SIZE]);
        Ok(())
    }

    /// Whether the page on disk is the remembered one, or opens and is remembered from now on.
    pub fn knows_page_one(&mut self, page_size: usize) -> Outcome<bool> {
        let known = &self.main.page_one;
        let unchanged = |page: &[u8]| known.is(page);
        if self.main.map.peek(PAGES_OFFSET, page_size, unchanged) == Some(true) {
            return Ok(true);
        }
        // Copied, so that the bytes opened are the bytes remembered.
        let mut sealed = std::mem::take(&mut self.sealing.scratch);
        let result = self.base.read(&mut sealed, PAGES_OFFSET);
        let is_known = result.is_ok() && (self.main.page_one.is(&sealed) || self.learn(&sealed));
        self.sealing.scratch = sealed;
        match result {
            Err(code) if !code.is_short_read() => Err(code),
            Ok(()) | Err(_) => Ok(is_known),
        }
    }

    /// Opens a page 1 and remembers it. Returns whether it opened.
    fn learn(&mut self, sealed: &[u8]) -> bool {
        let State::Open(opened) = &mut self.state else {
            return false;
        };
        let mut page = vec![0; sealed.len()];
        let stamp = opened.codec.open(PagePlace::main(1), sealed, &mut page);
        let is_good = stamp.is_ok_and(|stamp| self.is_fresh(0, stamp));
        if is_good {
            self.main.page_one.note(sealed, &page);
        }
        is_good
    }
}
