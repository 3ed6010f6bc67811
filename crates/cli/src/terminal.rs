//! The terminal: hidden prompts, questions, progress bars.

mod hidden;

use crypto::secret::SecretBytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use shell::console::Console;
use std::fmt::Write;
use std::io::{self, BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::progress::{Decision, Phase, Progress, Step};

/// Whether a person can be asked; prompts bypass redirected input and output.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() || io::stderr().is_terminal()
}

/// Asks for one line without echo.
///
/// # Errors
///
/// If there is no terminal.
pub fn ask_secret(prompt: &str) -> io::Result<SecretBytes> {
    if !can_ask() {
        return Err(io::Error::other("there is no terminal"));
    }
    hidden::ask(prompt).map(|text| SecretBytes::new(text.into_bytes()))
}

/// Asks a yes-or-no question; anything but a yes counts as no.
///
/// # Errors
///
/// If the terminal cannot be read.
pub fn confirm(question: &str) -> io::Result<bool> {
    // Standard input may be redirected, for example to a file with a secret.
    let mut answer = String::new();
    eprint!("{question}");
    if io::stdin().is_terminal() {
        io::stdin().read_line(&mut answer)?;
    } else {
        let terminal = std::fs::File::open(if cfg!(windows) { "CONIN$" } else { "/dev/tty" })?;
        io::BufReader::new(terminal).read_line(&mut answer)?;
    }
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

/// The terminal as the shell's console.
pub struct Prompts;

impl Console for Prompts {
    fn ask_secret(&mut self, prompt: &str) -> io::Result<SecretBytes> {
        ask_secret(prompt)
    }
}

/// Delay before a bar is shown: for a short operation it would only flicker.
const BAR_DELAY: Duration = Duration::from_millis(500);

/// The state of a bar: each phase progresses from start to end, and never back.
#[derive(Debug, Default)]
struct Track {
    phase: Option<Phase>,
    done: u64,
    total: u64,
}

impl Track {
    /// Processes a report; returns whether it begins a phase.
    fn advance(&mut self, step: Step) -> bool {
        let begins = self.phase != Some(step.phase);
        if begins {
            *self = Track {
                phase: Some(step.phase),
                ..Track::default()
            };
        }
        self.total = self.total.max(step.total);
        self.done = self.done.max(step.done).min(self.total);
        begins
    }
}

/// A bar on standard error for the store's progress reports; hidden if standard error is not a
/// terminal, and during the first moments of an operation. While it exists, Control-C stops the
/// operation cleanly instead of killing the program.
pub struct Bar {
    bar: ProgressBar,
    begun: Instant,
    phase: Arc<Mutex<Phase>>,
    stop: Arc<AtomicBool>,
}

impl Bar {
    /// A bar that has not started.
    ///
    /// # Errors
    ///
    /// If no handler for Control-C can be installed.
    pub fn new() -> anyhow::Result<Self> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let phase = Arc::new(Mutex::new(Phase::Copying));
        let shown = Arc::clone(&phase);
        let style =
            ProgressStyle::with_template("{phase:8} [{bar:32}] {percent:>3} %  {eta} left")?;
        let style = style.with_key("phase", move |_: &ProgressState, text: &mut dyn Write| {
            let name = match *shown.lock().unwrap_or_else(PoisonError::into_inner) {
                Phase::Copying => "copying",
                Phase::Checking => "checking",
                Phase::Resealing => "sealing",
                Phase::Waiting => "waiting",
            };
            // Writing to a string cannot fail.
            let _ = text.write_str(name);
        });
        bar.set_style(style.progress_chars("=> "));
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        ctrlc::set_handler(move || seen.store(true, Ordering::Release))?;
        let begun = Instant::now();
        Ok(Bar {
            bar,
            begun,
            phase,
            stop,
        })
    }

    /// The callback for the store.
    pub fn progress(&self) -> Progress {
        let (bar, begun) = (self.bar.clone(), self.begun);
        let (phase, stop) = (Arc::clone(&self.phase), Arc::clone(&self.stop));
        let track = Mutex::new((Track::default(), false));
        Arc::new(move |step: Step| {
            let mut guard = track.lock().unwrap_or_else(PoisonError::into_inner);
            let (track, shown) = &mut *guard;
            if track.advance(step) {
                *phase.lock().unwrap_or_else(PoisonError::into_inner) = step.phase;
                bar.reset_eta();
            }
            // Set together: set one by one, each would be drawn with the old values of the others.
            bar.update(|state| {
                state.set_len(track.total);
                state.set_pos(track.done);
            });
            if !*shown && begun.elapsed() >= BAR_DELAY {
                *shown = true;
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_goes_forward_only_within_a_phase() {
        let step = |phase, done, total| Step { phase, done, total };
        let mut track = Track::default();
        let mut take = |step| (track.advance(step), track.done, track.total);
        assert_eq!(take(step(Phase::Copying, 0, 100)), (true, 0, 100));
        assert_eq!(take(step(Phase::Copying, 60, 100)), (false, 60, 100));
        assert_eq!(take(step(Phase::Copying, 40, 90)), (false, 60, 100));
        assert_eq!(take(step(Phase::Copying, 120, 100)), (false, 100, 100));
        assert_eq!(take(step(Phase::Checking, 1, 7)), (true, 1, 7));
        assert_eq!(take(step(Phase::Checking, 7, 7)), (false, 7, 7));
    }
}
