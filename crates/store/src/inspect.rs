//! Inspection of a file: what is visible without any key, and the kinds of its pages.

mod kinds;
mod pages;

pub use kinds::Kind;
pub(crate) use pages::side_files;
pub use pages::{EpochCount, PageCount, PageRange, Pages, SideFile};

use crate::KeyToken;
use crate::database::{FileKind, OpenError, file_kind};
use crate::keys::Slot;
use page_codec::header::{FORMAT_VERSION, HeaderError, HeaderRegion};
use serde::Serialize;
use std::path::Path;

/// The public header fields of an encrypted file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Version of the file format.
    pub format_version: u16,
    /// Cipher of all pages.
    pub cipher: &'static str,
    /// Bytes of a page.
    pub page_size: u32,
    /// Random identifier of the file, in hexadecimal digits.
    pub file_id: String,
    /// The epoch of the current data key.
    pub epoch: u32,
    /// The epoch of the former data key, while a rotation is not finished.
    pub rotating_from: Option<u32>,
    /// Whether pages carry versions, so that an older copy of a page is detected.
    pub freshness: bool,
    /// Counts header writes.
    pub generation: u64,
    /// The copy of the header in force: 0 or 1.
    pub copy_in_force: usize,
    /// For each copy of the header, whether it is intact.
    pub copies_intact: [bool; 2],
    /// Features that a reader must know.
    pub must_understand: u32,
    /// Features that a reader may ignore.
    pub may_ignore: u32,
    /// Key slots in use.
    pub slots: Vec<Slot>,
    /// Bytes of the file.
    pub file_size: u64,
}

/// Reads the header of an encrypted file.
///
/// # Errors
///
/// If the file cannot be read, or is something else: a plain database, not a database, a file with
/// a damaged header, or one of a newer version.
pub fn inspect(path: &Path) -> Result<Inspection, OpenError> {
    let region = header_region(path)?;
    let file_size = std::fs::metadata(path)
        .map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })?
        .len();
    Ok(public_part(&region, file_size))
}

/// Counts the pages of a file, and the frames and records beside it; with a key also by kind.
///
/// Opens and closes descriptors of its own: not for a process that has the database open.
///
/// # Errors
///
/// If a file cannot be read, or the key does not open it.
pub fn inspect_pages(path: &Path, token: Option<&KeyToken>) -> Result<Pages, OpenError> {
    pages::pages(path, &header_region(path)?.header, token)
}

fn header_region(path: &Path) -> Result<Box<HeaderRegion>, OpenError> {
    Ok(match file_kind(path)? {
        FileKind::Encrypted(region) => region,
        FileKind::Missing => return Err(OpenError::Missing(path.to_owned())),
        FileKind::Empty => return Err(OpenError::Empty(path.to_owned())),
        FileKind::Plain => {
            let path = path.to_owned();
            return Err(OpenError::Header {
                path,
                source: HeaderError::PlainSqlite,
            });
        }
        FileKind::Other(source) => {
            return Err(OpenError::Header {
                path: path.to_owned(),
                source,
            });
        }
    })
}

pub(crate) fn public_part(region: &HeaderRegion, file_size: u64) -> Inspection {
    let header = &region.header;
    let slots = header.slots.iter().enumerate().filter_map(|(index, slot)| {
        let slot = slot.as_ref()?;
        Some(Slot {
            slot: index,
            kind: slot.kind.name().to_owned(),
            opened_this: None,
            memory_kib: slot.kdf.map(|kdf| kdf.memory_kib),
            passes: slot.kdf.map(|kdf| kdf.passes),
            lanes: slot.kdf.map(|kdf| kdf.lanes),
        })
    });
    let epochs = || header.epochs.iter().flatten();
    Inspection {
        format_version: FORMAT_VERSION,
        cipher: header.cipher.name(),
        page_size: header.page_size,
        file_id: header
            .file_id
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        epoch: header.current_epoch,
        rotating_from: epochs()
            .map(|entry| entry.epoch)
            .find(|&epoch| epoch != header.current_epoch),
        freshness: epochs().any(|entry| entry.epoch == header.current_epoch && entry.versioned),
        generation: header.generation,
        copy_in_force: region.copy_in_force,
        copies_intact: region.intact,
        must_understand: header.must_understand,
        may_ignore: header.may_ignore,
        slots: slots.collect(),
        file_size,
    }
}
