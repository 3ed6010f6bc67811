//! Waiting until another connection has gone on.

use std::time::Duration;

/// Lets others work for a while.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// Nobody works meanwhile: the files of a worker belong to it alone, and it has one thread.
#[cfg(target_arch = "wasm32")]
pub(crate) fn pause(_length: Duration) {}
