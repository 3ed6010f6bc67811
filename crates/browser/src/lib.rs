//! Entry point that registers the VFS with SQLite compiled to WebAssembly.
//!
//! - `host`: imports from JavaScript: randomness, time, and the files that a worker has opened;
//! - `locks`: file locks between the connections of the worker;
//! - `base`: the base VFS over these files;
//! - `exports`: functions that JavaScript calls, besides SQLite's own (`build.rs`);
//! - `probe`: ciphers without a database, for tests and benchmarks.
//!
//! On other targets only `locks` is compiled, for its tests.
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
