//! Waiting for another connection to make progress.

use std::time::Duration;

/// Sleeps, so that other connections can work.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// In a browser nobody else can work: the files of a worker belong to it alone, and it has one
/// thread.
#[cfg(target_arch = "wasm32")]
pub(crate) fn pause(_length: Duration) {}
