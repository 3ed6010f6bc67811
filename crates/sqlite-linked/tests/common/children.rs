//! Real processes: the test binary runs itself, as one hidden test that plays a part.
//!
//! The parts report on the error stream, which Rust does not buffer and the test harness does not
//! write to: a line is in the pipe when the call returns, and survives the death of its writer.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

const PART: &str = "STRONGROOM_TEST_PART";
const URI: &str = "STRONGROOM_TEST_URI";
const DETAIL: &str = "STRONGROOM_TEST_DETAIL";

/// What a process was started to do.
pub struct Part {
    pub name: String,
    pub uri: String,
    /// Further words, as the part understands them.
    pub detail: Vec<String>,
}

impl Part {
    /// The part of this process, or `None` in an ordinary test run.
    pub fn mine() -> Option<Self> {
        let read = |name: &str| std::env::var(name).ok();
        Some(Part {
            name: read(PART)?,
            uri: read(URI)?,
            detail: read(DETAIL)?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// Reports a line, in one write: whoever is killed has reported all of it or nothing.
pub fn report(line: &str) {
    std::io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .expect("reported");
}

/// A process that plays a part.
pub struct Player {
    child: Child,
    orders: ChildStdin,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Player {
    /// Starts this binary again with only `hidden_test`, which is to call [`Part::mine`].
    pub fn start(hidden_test: &str, name: &str, uri: &str, detail: &str) -> Self {
        let binary = std::env::current_exe().expect("a binary");
        let mut child = Command::new(binary)
            .args(["--exact", hidden_test, "--nocapture", "--test-threads=1"])
            .env(PART, name)
            .env(URI, uri)
            .env(DETAIL, detail)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let orders = child.stdin.take().expect("piped");
        Player {
            child,
            orders,
            lines,
        }
    }

    /// Gives the part an order, a line on its standard input.
    pub fn tell(&mut self, order: &str) {
        let line = format!("{order}\n");
        // A part that has died is found when its answer is read.
        let _ = self.orders.write_all(line.as_bytes());
    }

    /// The next line of the part, or `None` when it has ended.
    pub fn line(&mut self) -> Option<String> {
        self.lines.next().map(|line| line.expect("readable"))
    }

    /// Kills the process as nothing can prevent, and returns what it had still reported.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("killed");
        let rest = self.lines.by_ref().map(|line| line.expect("readable"));
        let rest = rest.collect();
        self.child.wait().expect("ended");
        rest
    }

    /// Waits for the end of a part that must succeed, and returns what it had still reported.
    pub fn finish(mut self) -> Vec<String> {
        let said: Vec<String> = self
            .lines
            .by_ref()
            .map(|line| line.expect("readable"))
            .collect();
        let status = self.child.wait().expect("ended");
        assert!(status.success(), "{status}:\n{}", said.join("\n"));
        said
    }
}
