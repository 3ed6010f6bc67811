//! Checks of rules whose columns are sealed together.

use std::collections::BTreeMap;

use super::check::error;
use super::{ColumnRule, Draws, Mode, Rules, RulesError};

/// As many members as a sealed value can have.
const MEMBERS_MAX: usize = 100;
/// Longest name of a group, bytes.
const NAME_BYTES_MAX: usize = 64;

impl Rules {
    /// Finds groups that are none, and members that cannot be sealed with others.
    pub(super) fn check_groups(&self, errors: &mut Vec<RulesError>) {
        for (table, columns) in &self.tables {
            let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (column, rule) in columns {
                if let Err(problem) = check_member(rule) {
                    errors.push(error(table, column, problem));
                }
                if let Some(group) = &rule.group {
                    groups.entry(group).or_default().push(column);
                }
            }
            for (group, members) in groups {
                let problem = match members.len() {
                    1 => format!(
                        "is alone in group {group:?}: give another column of the table the same \
                         group, or remove it"
                    ),
                    2..=MEMBERS_MAX => continue,
                    _ => format!("group {group:?} has more than {MEMBERS_MAX} columns: make two"),
                };
                errors.push(error(table, members[0], problem));
            }
        }
    }
}

fn check_member(rule: &ColumnRule) -> Result<(), String> {
    let Some(group) = &rule.group else {
        return match rule.not_null {
            false => Ok(()),
            true => Err(
                "`not_null` is for columns with a group: remove it, and write NOT NULL \
                         where the table is created"
                    .to_owned(),
            ),
        };
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if group.is_empty() || group.len() > NAME_BYTES_MAX || !group.chars().all(fits) {
        return Err(format!(
            "a group's name has 1 to {NAME_BYTES_MAX} letters, digits, `-` and `_`"
        ));
    }
    if rule.mode != Mode::Random {
        return Err(
            "a group is sealed as one value in mode \"random\", which the server compares \
                    with nothing: remove `group`, or the mode"
                .to_owned(),
        );
    }
    if rule.logical.opaque().is_some() {
        return Err(format!(
            "values of {} are kept unread, and are sealed alone: remove `group`",
            rule.logical
        ));
    }
    if !rule.checks.is_empty() {
        return Err(
            "a column with check constraints is sealed alone, since the server refuses a \
                    value that fails them: remove `group`, or the checks"
                .to_owned(),
        );
    }
    let default = rule.default.as_deref();
    if default.is_some_and(|own| Draws::parse(own).is_some()) {
        return Err(
            "a column with a sequence is sealed alone: remove `group`, or the default".to_owned(),
        );
    }
    Ok(())
}
