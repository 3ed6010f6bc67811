//! Named exceptions to the budgets: a ratchet, since one that is no longer needed is an error.

use anyhow::Context;
use serde::Deserialize;

use super::Violation;
use super::budget::{Measured, Subject};

pub const PATH: &str = "xtask/tidy-allow.toml";

/// An exception to a budget.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    path: String,
    /// Absent, like `type`, if the exception is for the whole file.
    function: Option<String>,
    #[serde(rename = "type")]
    type_name: Option<String>,
    /// Lines, or fields.
    max: usize,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    allow: Vec<Allowance>,
}

pub fn parse(text: &str) -> anyhow::Result<Vec<Allowance>> {
    let list: List = toml::from_str(text).with_context(|| format!("cannot read {PATH}"))?;
    Ok(list.allow)
}

pub fn judge(measured: &[Measured], allowances: &[Allowance]) -> Vec<Violation> {
    let over: Vec<_> = measured
        .iter()
        .filter(|one| one.size > one.budget())
        .collect();
    let mut violations = Vec::new();
    for one in &over {
        let ceiling = allowances
            .iter()
            .find(|allowance| allowance.covers(one))
            .map_or(one.budget(), |allowance| allowance.max);
        if one.size > ceiling {
            let (what, unit) = (&one.subject, one.subject.unit());
            let message = format!("{what}: {} {unit}, at most {ceiling}", one.size);
            violations.push(Violation::new(&one.path, one.line, message));
        }
    }
    for allowance in allowances {
        let what = allowance.subject();
        let subject = format!("{}, {what}", allowance.path);
        if !over.iter().any(|one| allowance.covers(one)) {
            let message = format!("{subject}: no longer needed, remove it");
            violations.push(Violation::new(PATH, 0, message));
        }
        if allowance.reason.trim().is_empty() {
            violations.push(Violation::new(
                PATH,
                0,
                format!("{subject}: needs a reason"),
            ));
        }
    }
    violations
}

impl Allowance {
    fn covers(&self, measured: &Measured) -> bool {
        self.path == measured.path && self.subject() == measured.subject
    }

    fn subject(&self) -> Subject {
        match (&self.function, &self.type_name) {
            (Some(name), _) => Subject::Function(name.clone()),
            (None, Some(name)) => Subject::Type(name.clone()),
            (None, None) => Subject::File,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> Measured {
        Measured {
            path: "a.rs".to_owned(),
            subject: Subject::Function("long".to_owned()),
            line: 7,
            size: lines,
        }
    }

    fn allowance(lines_max: usize, reason: &str) -> Vec<Allowance> {
        let text = format!(
            "[[allow]]\npath = 'a.rs'\nfunction = 'long'\nmax = {lines_max}\n\
             reason = '{reason}'\n"
        );
        parse(&text).unwrap()
    }

    #[test]
    fn over_the_budget_is_a_violation() {
        let found = judge(&[function(71)], &[]);
        assert_eq!(found[0].to_string(), "a.rs:7: long: 71 lines, at most 70");
        assert!(judge(&[function(70)], &[]).is_empty());
    }

    #[test]
    fn an_exception_holds_up_to_its_own_ceiling() {
        let allowances = allowance(80, "a table");
        assert!(judge(&[function(80)], &allowances).is_empty());
        assert_eq!(judge(&[function(81)], &allowances).len(), 1);
    }

    #[test]
    fn an_exception_that_is_not_needed_or_not_explained_is_a_violation() {
        let found = judge(&[function(60)], &allowance(80, "a table"));
        assert!(found[0].message.ends_with("no longer needed, remove it"));
        let found = judge(&[function(80)], &allowance(80, " "));
        assert!(found[0].message.ends_with("needs a reason"));
    }
}
