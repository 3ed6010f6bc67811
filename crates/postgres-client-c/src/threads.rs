//! How threads of this library are made.

use std::io;
use std::thread::{self, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use tokio::runtime::{Builder, Runtime};

/// A runtime of the thread that enters it.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// A thread that none of these signals is delivered to, besides those that its caller has blocked.
pub fn spawn(
    name: &str,
    blocked: &[Signal],
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    // A thread begins with the mask of who makes it.
    let mask: SigSet = blocked.iter().copied().collect();
    let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    before.thread_set_mask()?;
    thread
}
