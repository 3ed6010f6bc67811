//! The progress display of `strongroom compare`.

use std::io::{self, IsTerminal, Write};
use std::process;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::run::Progress;

use crate::compare_output::quoted;

/// Without a terminal: minimum time between two lines of the same round.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Progress on standard error: a bar on a terminal, otherwise a line from time to time.
pub struct Display {
    bar: ProgressBar,
    /// Titles of the tests.
    tests: Vec<String>,
    /// The round and time of the last line.
    line: Option<(u32, Instant)>,
}

impl Display {
    /// A display for a workload with these tests.
    pub fn new(tests: Vec<String>) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {prefix}  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style);
        Self {
            bar,
            tests,
            line: None,
        }
    }

    /// Shows how far the run is.
    pub fn show(&mut self, progress: &Progress<'_>) {
        let left = progress
            .time_left
            .map_or_else(|| "time left: ?".to_owned(), time_left);
        let tests = self.tests.len();
        let round = progress.round + 1;
        let test = self.tests.get(progress.tests_done);
        let title = test.map_or("closing", String::as_str);
        let is_due = |(last, at): (u32, Instant)| last != round || at.elapsed() >= LINE_INTERVAL;
        if !io::stderr().is_terminal() && self.line.is_none_or(is_due) {
            self.line = Some((round, Instant::now()));
            let rounds = progress.passes / progress.engines.max(1);
            let engine = progress.engine;
            // Nobody reads standard error: no reason to stop measuring.
            drop(writeln!(
                io::stderr(),
                "round {round} of {rounds}, {left}; {engine}: {title}"
            ));
        }
        self.bar.set_length((progress.passes * tests) as u64);
        self.bar
            .set_position((progress.passes_done * tests + progress.tests_done) as u64);
        self.bar.set_prefix(left);
        self.bar
            .set_message(format!("round {round}, {}: {title}", progress.engine));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn time_left(left: Duration) -> String {
    let seconds = left.as_secs();
    format!("{}:{:02} left", seconds / 60, seconds % 60)
}

/// Exit status of a program ended by an interrupt, as in a shell.
const STATUS_INTERRUPTED: i32 = 130;

/// Installs a handler for Control-C that prints the command which continues the run. The workers
/// end by themselves when this process does.
pub fn explain_resuming_on_interrupt() {
    let again = same_command(std::env::args());
    let told = ctrlc::set_handler(move || {
        drop(writeln!(
            io::stderr(),
            "\nstopped; what was measured is kept. Resume with: {again}"
        ));
        process::exit(STATUS_INTERRUPTED);
    });
    // Without a handler an interrupt ends the program as usual.
    drop(told);
}

/// This command line without an option that starts over, so that it continues the run.
fn same_command(arguments: impl Iterator<Item = String>) -> String {
    let words = arguments.filter(|word| word != "--fresh");
    let words: Vec<String> = words.map(|word| quoted(&word).into_owned()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_is_continued_by_its_own_command() {
        let words = ["strongroom", "compare", "--fresh", "--workload", "./my app"];
        assert_eq!(
            same_command(words.into_iter().map(str::to_owned)),
            "strongroom compare --workload './my app'"
        );
    }
}
