//! The list of tests that fail under our extension, with reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::script::{CRASHED, TIMED_OUT};

/// Tests that fail only for us, by script.
pub type Found = BTreeMap<String, BTreeSet<String>>;

/// The list, as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    reason: Vec<Reason>,
}

/// A reason for tests to fail.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    why: String,
    /// Whether these tests depend on time or chance, so that a pass is not reported.
    #[serde(default)]
    sometimes: bool,
    #[serde(default)]
    tests: Tests,
    /// Additional tests of SQLite versions from this one on.
    #[serde(default)]
    since: BTreeMap<String, Tests>,
    /// Additional tests of SQLite versions before this one.
    #[serde(default)]
    before: BTreeMap<String, Tests>,
}

/// Names of tests by script; `*` in a name stands for anything.
type Tests = BTreeMap<String, Vec<String>>;

impl Reason {
    /// Merges the tests for a version into those for all versions.
    fn choose(&mut self, version: &str) {
        let is_since = |first: &str| numbers(version) >= numbers(first);
        let since = std::mem::take(&mut self.since).into_iter();
        let before = std::mem::take(&mut self.before).into_iter();
        let chosen = since
            .filter(|(first, _)| is_since(first))
            .chain(before.filter(|(first, _)| !is_since(first)));
        for (script, names) in chosen.flat_map(|(_, tests)| tests) {
            self.tests.entry(script).or_default().extend(names);
        }
    }
}

/// The parts of a version: `3.40.1`, ignoring any suffix.
fn numbers(version: &str) -> Vec<u32> {
    let version = version.split_whitespace().next().unwrap_or_default();
    let parts = version.split('.').map(str::parse);
    parts.map_while(Result::ok).collect()
}

/// The results of a run, compared with the list.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// Failures that are not in the list: script and test.
    pub new: Vec<(String, String)>,
    /// Listed failures that the run did not have: script and name.
    pub gone: Vec<(String, String)>,
    /// By reason: how many tests of how many scripts.
    pub counts: Vec<(String, usize, usize)>,
}

impl List {
    /// Reads the list for a version of SQLite.
    pub fn read(path: &Path, version: &str) -> anyhow::Result<List> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut list: List =
            toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))?;
        for reason in &mut list.reason {
            let is_empty =
                reason.tests.is_empty() && reason.since.is_empty() && reason.before.is_empty();
            if reason.why.trim().is_empty() || is_empty {
                bail!("{}: a reason has no text or no tests", path.display());
            }
            reason.choose(version);
        }
        Ok(list)
    }

    /// Compares the failures of the scripts that `ran`.
    pub fn compare(&self, ran: &BTreeSet<String>, found: &Found) -> Comparison {
        let mut comparison = Comparison::default();
        let mut explained: BTreeSet<(&str, &str)> = BTreeSet::new();
        for reason in &self.reason {
            let mut tests = BTreeSet::new();
            for (script, names) in reason.tests.iter().filter(|(name, _)| ran.contains(*name)) {
                for name in names {
                    let own = found.get(script).into_iter().flatten();
                    let own: Vec<_> = own
                        .filter(|test| excusable(test) && matches(name, test))
                        .map(|test| (script.as_str(), test.as_str()))
                        .collect();
                    if own.is_empty() && !reason.sometimes {
                        comparison.gone.push((script.clone(), name.clone()));
                    }
                    tests.extend(own);
                }
            }
            let scripts: BTreeSet<_> = tests.iter().map(|(script, _)| script).collect();
            let counts = (reason.why.clone(), tests.len(), scripts.len());
            comparison.counts.push(counts);
            explained.extend(tests);
        }
        let all = found
            .iter()
            .flat_map(|(script, tests)| tests.iter().map(move |test| (script, test)));
        comparison.new = all
            .filter(|(script, test)| !explained.contains(&(script.as_str(), test.as_str())))
            .map(|(script, test)| (script.clone(), test.clone()))
            .collect();
        comparison
    }

    /// The scripts in the list that the suite does not have.
    pub fn unknown<'list>(&'list self, suite: &'list [String]) -> Vec<&'list str> {
        let listed = self.reason.iter().flat_map(|reason| reason.tests.keys());
        let mut unknown: Vec<_> = listed
            .filter(|script| !suite.contains(script))
            .map(String::as_str)
            .collect();
        unknown.dedup();
        unknown
    }
}

/// A crash is never excusable.
fn excusable(test: &str) -> bool {
    ![CRASHED, TIMED_OUT].contains(&test)
}

/// Whether a name of the list, in which `*` stands for anything, is that of a test.
fn matches(name: &str, test: &str) -> bool {
    let Some((head, tail)) = name.split_once('*') else {
        return name == test;
    };
    let Some(rest) = test.strip_prefix(head) else {
        return false;
    };
    let mut ends = rest.char_indices().map(|(index, _)| index);
    matches(tail, "") || ends.any(|index| matches(tail, &rest[index..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> List {
        toml::from_str(text).unwrap()
    }

    fn found(tests: &[(&str, &[&str])]) -> Found {
        let names = |tests: &[&str]| tests.iter().map(|&test| test.to_owned()).collect();
        let scripts = tests.iter();
        scripts
            .map(|(script, tests)| ((*script).to_owned(), names(tests)))
            .collect()
    }

    fn ran(scripts: &[&str]) -> BTreeSet<String> {
        scripts.iter().map(|&script| script.to_owned()).collect()
    }

    const LIST: &str = r#"
        [[reason]]
        why = "sizes of files"
        tests = { "a.test" = ["a-1.*", "a-2"], "b.test" = ["*"] }
        [[reason]]
        why = "chance"
        sometimes = true
        tests = { "a.test" = ["a-3"] }
    "#;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |&(script, test): &(&str, &str)| (script.to_owned(), test.to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn what_is_listed_is_explained() {
        let found = found(&[("a.test", &["a-1.1", "a-1.2", "a-2"]), ("b.test", &["x"])]);
        let comparison = list(LIST).compare(&ran(&["a.test", "b.test"]), &found);
        assert_eq!(comparison.new, []);
        assert_eq!(comparison.gone, []);
        let counts = [
            ("sizes of files".to_owned(), 4, 2),
            ("chance".to_owned(), 0, 0),
        ];
        assert_eq!(comparison.counts, counts);
    }

    #[test]
    fn what_is_new_or_gone_is_told() {
        let found = found(&[("a.test", &["a-1.1", "a-20"]), ("c.test", &["c-1"])]);
        let comparison = list(LIST).compare(&ran(&["a.test", "c.test"]), &found);
        assert_eq!(
            comparison.new,
            pairs(&[("a.test", "a-20"), ("c.test", "c-1")])
        );
        assert_eq!(comparison.gone, pairs(&[("a.test", "a-2")]));
    }

    #[test]
    fn some_tests_are_those_of_some_versions() {
        const LIST: &str = r#"
            [[reason]]
            why = "sizes of files"
            tests = { "a.test" = ["a-1"] }
            since = { "3.45" = { "a.test" = ["a-2"] } }
            before = { "3.45" = { "b.test" = ["b-1"] } }
        "#;
        for (version, tests) in [
            ("3.40.1 (Debian's 3.40.1-2)", ["a.test a-1", "b.test b-1"]),
            ("3.45", ["a.test a-1", "a.test a-2"]),
            ("3.53.4", ["a.test a-1", "a.test a-2"]),
        ] {
            let mut list = list(LIST);
            list.reason[0].choose(version);
            let chosen = list.reason[0].tests.iter();
            let chosen = chosen.flat_map(|(script, names)| {
                names.iter().map(move |name| format!("{script} {name}"))
            });
            assert!(chosen.eq(tests), "{version}");
        }
    }

    #[test]
    fn a_crash_has_no_reason() {
        let found = found(&[("b.test", &["(crashed)", "(timed out)", "x"])]);
        let comparison = list(LIST).compare(&ran(&["b.test"]), &found);
        let new = [("b.test", "(crashed)"), ("b.test", "(timed out)")];
        assert_eq!(comparison.new, pairs(&new));
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (name, test) in [
            ("*", ""),
            ("a*", "a"),
            ("a*c", "abc"),
            ("a*c*", "abcd"),
            ("*b", "ab"),
        ] {
            assert!(matches(name, test), "{name} {test}");
        }
        for (name, test) in [("a", "ab"), ("a*c", "ab"), ("*b", "ba"), ("b*", "ab")] {
            assert!(!matches(name, test), "{name} {test}");
        }
    }

    #[test]
    fn a_script_that_is_no_longer_there_is_named() {
        let suite = ["a.test".to_owned()];
        assert_eq!(list(LIST).unknown(&suite), ["b.test"]);
    }
}
