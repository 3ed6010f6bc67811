//! The terminal: hidden questions, progress bars.

use crypto::secret::SecretBytes;
use indicatif::{ProgressBar, ProgressStyle};
use shell::console::Console;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use store::progress::{Phase, Progress, Step};

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
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that has not begun.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{msg:8} [{bar:32}] {percent:>3} %  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        Bar(bar)
    }

    /// What the store calls.
    pub fn progress(&self) -> Progress {
        let bar = self.0.clone();
        Arc::new(move |step: Step| {
            bar.set_message(match step.phase {
                Phase::Copying => "copying",
                Phase::Checking => "checking",
            });
            bar.set_length(step.total);
            bar.set_position(step.done);
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
