//! The fields of page 1 that decide whether SQLite can open the database
//! (sqlite.org/fileformat2.html 1.3).

use page_codec::header::is_page_size;
use page_codec::page::TRAILER_SIZE;
use thiserror::Error;

const PAGE_SIZE: usize = 16;
const RESERVED: usize = 20;
const CHANGE_COUNTER: usize = 24;
const PAGE_COUNT: usize = 28;
const VALID_FOR: usize = 92;

/// Page 1 in clear, or its first bytes.
#[derive(Clone, Copy)]
pub(crate) struct PageOne<'a>(pub &'a [u8]);

/// Why a database with this page 1 could not be opened.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum PageOneError {
    #[error(
        "page 1 comes from a database without the 32 reserved bytes that encryption needs (a \
         backup of a plain database into an encrypted one does this); use `strongroom encrypt` \
         or VACUUM INTO"
    )]
    Reserved,
    #[error("page 1 tells a page size of {0} bytes, which SQLite does not have")]
    PageSize(u32),
}

/// Fills in the fields of page 1 that describe the page size and the reserved bytes.
pub(crate) fn fill_fields(fields: &mut [u8; 100], page_size: u32) {
    let size = if page_size == 65_536 { 1 } else { page_size };
    fields[PAGE_SIZE..][..2].copy_from_slice(&size.to_be_bytes()[2..]);
    fields[RESERVED] = TRAILER_SIZE as u8;
}

impl PageOne<'_> {
    fn number(self, offset: usize) -> u32 {
        let bytes = [0, 1, 2, 3].map(|byte| self.0[offset + byte]);
        u32::from_be_bytes(bytes)
    }

    /// The page size; 65,536 is stored as 1.
    pub fn page_size(self) -> u32 {
        match u16::from_be_bytes([self.0[PAGE_SIZE], self.0[PAGE_SIZE + 1]]) {
            1 => 65_536,
            size => size.into(),
        }
    }

    /// The page count, if page 1 holds a valid one.
    pub fn page_count(self) -> Option<u64> {
        let count = self.number(PAGE_COUNT);
        let holds = self.number(CHANGE_COUNTER) == self.number(VALID_FOR) && count != 0;
        holds.then_some(count.into())
    }

    /// Checks for values with which SQLite or this shim could not open the database.
    pub fn check(self) -> Result<(), PageOneError> {
        if usize::from(self.0[RESERVED]) < TRAILER_SIZE {
            return Err(PageOneError::Reserved);
        }
        // SQLite looks only at the two low bits of the text encoding, and every value of those is
        // valid.
        match self.page_size() {
            size if is_page_size(size) => Ok(()),
            size => Err(PageOneError::PageSize(size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<u8> {
        let mut page = vec![0; 100];
        page[PAGE_SIZE..][..2].copy_from_slice(&[0x10, 0]);
        page[RESERVED] = 32;
        page
    }

    #[test]
    fn invalid_fields_of_page_one_are_named() {
        assert_eq!(PageOne(&page()).check(), Ok(()));
        let altered = |offset: usize, value: u8| {
            let mut page = page();
            page[offset] = value;
            PageOne(&page).check()
        };
        assert_eq!(altered(RESERVED, 31), Err(PageOneError::Reserved));
        assert_eq!(altered(RESERVED, 40), Ok(()));
        assert_eq!(
            altered(PAGE_SIZE, 0x11),
            Err(PageOneError::PageSize(0x1100))
        );
    }

    #[test]
    fn the_largest_page_size_is_stored_as_one() {
        let mut page = page();
        page[PAGE_SIZE..][..2].copy_from_slice(&[0, 1]);
        assert_eq!(PageOne(&page).page_size(), 65_536);
    }

    #[test]
    fn a_page_count_holds_for_its_change_counter_only() {
        let mut page = page();
        page[PAGE_COUNT + 3] = 7;
        assert_eq!(PageOne(&page).page_count(), Some(7));
        page[CHANGE_COUNTER + 3] = 1;
        assert_eq!(PageOne(&page).page_count(), None);
        page[VALID_FOR + 3] = 1;
        assert_eq!(PageOne(&page).page_count(), Some(7));
    }
}
