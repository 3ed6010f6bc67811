//! Renders results as terminal tables and HTML; no I/O.
//!
//! Everything here is a pure function of a [`lab::comparison::Comparison`]. [`page`] selects the
//! content of the page; `templates/` defines its layout.

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
