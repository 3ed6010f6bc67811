//! The on-disk format: header, page, WAL frame and journal record are encoded, decoded, sealed and
//! opened here, bound to their place. Pure: bytes and keys in, bytes out; no I/O, no clock, no
//! randomness.
//!
//! The format is specified in `docs/page-format.md`; [`LAYOUTS`] ties code and document together.
#![forbid(unsafe_code)]

pub mod double_write;
pub mod fingerprint;
pub mod header;
pub mod journal;
pub mod page;
pub mod wal;

/// A field: offset, size, name.
pub type Field = (usize, usize, &'static str);

/// Offset, size and name of each field of each structure, in byte order.
///
/// The format document contains the same tables; `cargo xtask tidy` compares them.
pub const LAYOUTS: &[(&str, &[Field])] = &[
    ("header-copy", header::COPY_FIELDS),
    ("key-slot", header::SLOT_FIELDS),
    ("epoch-entry", header::EPOCH_FIELDS),
    ("page-trailer", page::TRAILER_FIELDS),
    ("wal-frame-header", wal::FRAME_HEADER_FIELDS),
    ("double-write-header", double_write::HEADER_FIELDS),
    ("double-write-record", double_write::RECORD_FIELDS),
];
