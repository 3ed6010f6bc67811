//! Bytes of header, page, WAL frame and journal record; no I/O.
