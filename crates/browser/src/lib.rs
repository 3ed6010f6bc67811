//! Entry point: the VFS with SQLite compiled to WebAssembly.
//!
//! - `host`: what JavaScript gives: randomness, time, and the files that a worker has opened;
//! - `locks`: who may read and write such a file, among the connections of the worker;
//! - `base`: the files as a VFS, below the encrypting one;
//! - `exports`: what JavaScript calls, beside functions of SQLite (`build.rs`);
//! - `probe`: ciphers without a database, for tests and measurements.
//!
//! On processors there is nothing here but `locks`, for its tests.
#![cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "SQLite's C interface, and that of JavaScript")
)]

#[cfg(target_arch = "wasm32")]
mod base;
#[cfg(target_arch = "wasm32")]
mod exports;
#[cfg(target_arch = "wasm32")]
mod host;
#[cfg(any(target_arch = "wasm32", test))]
mod locks;
#[cfg(all(target_arch = "wasm32", feature = "probe"))]
mod probe;
