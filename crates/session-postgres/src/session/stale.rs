//! What a session must read again before its next plan.

use std::collections::BTreeSet;

use sql_plan::Effects;

/// More names than these are not worth asking for by themselves.
const NAMES_MAX: usize = 20_000;

/// How much of a schema may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    #[default]
    Nothing,
    /// Relations of these names.
    Named(BTreeSet<String>),
    /// Anything.
    Anything,
}

impl Change {
    /// Whether there is any.
    pub(super) fn is_any(&self) -> bool {
        *self != Self::Nothing
    }

    /// Adds another one.
    pub(super) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::Nothing) | (Self::Anything, _) => {}
            (Self::Nothing, _) => *self = other.clone(),
            (_, Self::Anything) => *self = Self::Anything,
            (Self::Named(own), Self::Named(more)) => {
                own.extend(more.iter().cloned());
                if own.len() > NAMES_MAX {
                    *self = Self::Anything;
                }
            }
        }
    }
}

/// What must be read again before the next plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Stale {
    pub schema: Change,
    pub path: bool,
    /// Another session may have changed the catalogues.
    pub check: bool,
}

impl Stale {
    /// Notes the effects of a statement.
    pub(super) fn note(&mut self, effects: &Effects) {
        if effects.changes_schema {
            self.schema.add(&match &effects.changes_only {
                Some(names) => Change::Named(names.iter().cloned().collect()),
                None => Change::Anything,
            });
        }
        self.path |= effects.changes_settings;
    }
}
