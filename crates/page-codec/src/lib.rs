//! Bytes of header, page, WAL frame and journal record: encoded, decoded, sealed and opened at
//! their place. Pure: bytes and keys in, bytes out; no I/O, no clock, no randomness.
//!
//! The format is written down in `docs/page-format.md`; [`LAYOUTS`] ties the two together.
#![forbid(unsafe_code)]

pub mod double_write;
pub mod fingerprint;
pub mod header;
pub mod journal;
pub mod page;
pub mod wal;

/// A field: offset, size, name.
pub type Field = (usize, usize, &'static str);

/// Offset, size and name of each field of each structure, in the order of the bytes.
///
/// The format document holds the same tables; `cargo xtask tidy` compares them.
pub const LAYOUTS: &[(&str, &[Field])] = &[
    ("header-copy", header::COPY_FIELDS),
    ("key-slot", header::SLOT_FIELDS),
    ("epoch-entry", header::EPOCH_FIELDS),
    ("page-trailer", page::TRAILER_FIELDS),
    ("wal-frame-header", wal::FRAME_HEADER_FIELDS),
    ("double-write-header", double_write::HEADER_FIELDS),
    ("double-write-record", double_write::RECORD_FIELDS),
];
