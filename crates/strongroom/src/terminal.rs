//! The terminal: hidden questions, progress bars.

use crypto::secret::SecretBytes;
use indicatif::{ProgressBar, ProgressStyle};
use shell::console::Console;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::progress::{Decision, Phase, Progress, Step};

/// Whether a person can be asked: questions go past redirected input and output.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() || io::stderr().is_terminal()
}

/// Asks for one line that is not shown.
///
/// # Errors
/// When there is no terminal.
pub fn ask_secret(prompt: &str) -> io::Result<SecretBytes> {
    if !can_ask() {
        return Err(io::Error::other("there is no terminal"));
    }
    rpassword::prompt_password(prompt).map(|text| SecretBytes::new(text.into_bytes()))
}

/// The terminal as the shell sees it.
pub struct Prompts;

impl Console for Prompts {
    fn ask_secret(&mut self, prompt: &str) -> io::Result<SecretBytes> {
        ask_secret(prompt)
    }
}

/// A bar on standard error that shows what the store reports; hidden where nobody looks.
/// While it lives, Control-C stops the operation in good order instead of killing the program.
pub struct Bar {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Bar {
    /// A bar that has not begun.
    ///
    /// # Errors
    /// When the system gives no handler for Control-C.
    pub fn new() -> anyhow::Result<Self> {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{msg:8} [{bar:32}] {percent:>3} %  {eta} left")?;
        bar.set_style(style.progress_chars("=> "));
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        ctrlc::set_handler(move || seen.store(true, Ordering::Release))?;
        Ok(Bar { bar, stop })
    }

    /// What the store calls.
    pub fn progress(&self) -> Progress {
        let (bar, stop) = (self.bar.clone(), Arc::clone(&self.stop));
        Arc::new(move |step: Step| {
            bar.set_message(match step.phase {
                Phase::Copying => "copying",
                Phase::Checking => "checking",
            });
            bar.set_length(step.total);
            bar.set_position(step.done);
            if stop.load(Ordering::Acquire) {
                Decision::Stop
            } else {
                Decision::GoOn
            }
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
