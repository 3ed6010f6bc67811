//! Real processes: the test binary runs itself, as a hidden test with a role.
//!
//! Children report on standard error, which Rust does not buffer and the test harness does not
//! write to: a line is in the pipe when the call returns, and survives the death of its writer.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

const PART: &str = "STRONGROOM_TEST_PART";
const URI: &str = "STRONGROOM_TEST_URI";
const DETAIL: &str = "STRONGROOM_TEST_DETAIL";

/// The role of a child process.
pub struct Part {
    pub name: String,
    pub uri: String,
    /// Further arguments.
    pub detail: Vec<String>,
}

impl Part {
    /// The role of this process, or `None` in an ordinary test run.
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

/// Reports a line in one write, so that a process that is killed has reported all of it or nothing.
pub fn report(line: &str) {
    std::io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .expect("reported");
}

/// A child process with a role.
pub struct Player {
    child: Child,
    orders: ChildStdin,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Player {
    /// Restarts this binary with only `hidden_test`, which must call [`Part::mine`].
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

    /// Sends the child an order, a line on its standard input.
    pub fn send(&mut self, order: &str) {
        let line = format!("{order}\n");
        // A dead child is noticed when its answer is read.
        let _ = self.orders.write_all(line.as_bytes());
    }

    /// The child's next line, or `None` when it has ended.
    pub fn line(&mut self) -> Option<String> {
        self.lines.next().map(|line| line.expect("readable"))
    }

    /// Kills the process with SIGKILL, and returns what it had reported before.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("killed");
        let rest = self.lines.by_ref().map(|line| line.expect("readable"));
        let rest = rest.collect();
        self.child.wait().expect("ended");
        rest
    }

    /// Waits for a child that must succeed, and returns what it still reported.
    pub fn finish(mut self) -> Vec<String> {
        let reported: Vec<String> = self
            .lines
            .by_ref()
            .map(|line| line.expect("readable"))
            .collect();
        let status = self.child.wait().expect("ended");
        assert!(status.success(), "{status}:\n{}", reported.join("\n"));
        reported
    }
}
