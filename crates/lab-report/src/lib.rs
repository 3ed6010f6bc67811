//! Results file to terminal tables and HTML; no I/O.
