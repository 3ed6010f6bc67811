//! Runs tests one after the other, and collects the failed ones.

/// Results of the tests. A failure is printed, and the next test runs.
pub struct Results {
    /// Part of the names of the tests to run; `None` runs all.
    only: Option<String>,
    failed: Vec<String>,
    count: usize,
}

impl Results {
    pub fn new(only: Option<String>) -> Self {
        Self {
            only,
            failed: Vec::new(),
            count: 0,
        }
    }

    /// Runs a test with this name, unless it is filtered out.
    pub fn run(&mut self, name: &str, test: impl FnOnce() -> anyhow::Result<()>) {
        if !self.wants(name) {
            return;
        }
        self.count += 1;
        if let Err(error) = test() {
            println!("FAIL {name}: {error:#}");
            self.failed.push(name.to_owned());
        }
    }

    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|part| name.contains(part))
    }

    /// How many tests have run.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The names of those that failed.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(String::as_str)
    }
}
