//! Results file to terminal tables and HTML; no I/O.
//!
//! Everything here is a pure function of a [`lab::comparison::Comparison`]. What the page says is
//! chosen in [`page`], how it looks is written in `templates/`.

mod browsers;
pub mod changes;
mod chart;
pub mod export;
pub mod finding;
mod format;
pub mod page;
mod palette;
pub mod terminal;
mod tpcc;
