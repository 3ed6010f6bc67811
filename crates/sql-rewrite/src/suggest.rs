//! Proposes rules for the columns of a database whose tables are in clear.
//!
//! A column gets a rule unless something forbids it. What forbids it is not listed here a second
//! time: the rules are tried on the catalogues, and a column about which [`Schema::build`] or
//! [`Rules::check`] complains is left out for their reason, until nothing is left to complain of.

use std::collections::{BTreeMap, BTreeSet};

use crate::schema::build::DEFAULT_IN_SERVER;
use crate::schema::cells::text;
use crate::schema::{Answer, QUERIES, RelationKind, Schema};
use crate::{ColumnRule, Mode, Rules};
use column_value::LogicalType;
use sql_plan::{RulesError, few_values, parse_default};

mod domains;
mod facts;
mod mysql;
mod searched;

use facts::Facts;
pub use facts::QUERIES as SUGGEST_QUERIES;
pub use mysql::{MYSQL_SUGGEST_QUERIES, MySqlServer, suggest_mysql};

/// What the user wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// Protect keys that are only numbers too, and accept what `equality` tells of few values.
    pub all: bool,
    /// Propose mode `order` where the statements compare with bounds or sort.
    pub order: bool,
}

/// What is proposed for one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// This rule, and why it has its mode; empty: nothing needs another mode than `random`.
    Rule(ColumnRule, Vec<String>),
    /// None, for this reason.
    LeftOut(String),
}

/// What is proposed for the columns of one table, in the order of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableProposal {
    /// The table as rules name it.
    pub table: String,
    /// Its columns.
    pub columns: Vec<(String, Proposal)>,
}

/// Rules for a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// Tables by their names.
    pub tables: Vec<TableProposal>,
    /// Views, as `schema.view`, that compute from what is proposed: nobody could read them.
    pub opaque_views: Vec<String>,
}

/// A column by the name of its table, as rules write it, and its own.
type Place = (String, String);

/// A column that might be protected.
#[derive(Clone, Debug)]
struct Candidate {
    rule: ColumnRule,
    /// What needs mode `equality`, in words.
    needs: BTreeSet<String>,
    /// Whether it is part of a primary key or of a foreign key.
    is_key: bool,
}

/// Proposes rules. `answers` are those to [`crate::QUERIES`], `more` those to
/// [`SUGGEST_QUERIES`]. `statements` are texts that programs send. Columns with rules in `present`
/// are not looked at.
pub fn suggest(
    answers: &[Answer],
    more: &[Answer],
    statements: &[&str],
    present: &Rules,
    wishes: Wishes,
) -> Suggestion {
    let facts = Facts::read(answers, more);
    let mut sealed = sealed(answers);
    // The finisher evaluates these, and the server gets none of them.
    sealed[5].retain(|row| !facts.checked.contains(&text(row, 6)));
    let mut proposing = Proposing {
        answers: sealed,
        facts,
        wishes,
        candidates: BTreeMap::new(),
        left_out: BTreeMap::new(),
        pairs: Vec::new(),
    };
    proposing.gather(present);
    proposing.settle();
    proposing.read_statements(statements);
    proposing.leave_keys_out();
    proposing.settle();
    proposing.suggestion()
}

/// The answers of a server whose columns are all sealed: types are what is not asked here.
fn sealed(answers: &[Answer]) -> Vec<Answer> {
    assert_eq!(answers.len(), QUERIES.len(), "an answer to each query");
    let mut answers = answers.to_vec();
    for row in &mut answers[2] {
        row[facts::COLUMN_TYPE] = Some("bytea".to_owned());
    }
    answers
}

struct Proposing {
    answers: Vec<Answer>,
    facts: Facts,
    wishes: Wishes,
    candidates: BTreeMap<Place, Candidate>,
    left_out: BTreeMap<Place, String>,
    /// Columns that statements compare with each other.
    pairs: Vec<(Place, Place)>,
}

impl Proposing {
    fn gather(&mut self, present: &Rules) {
        for (place, column) in &self.facts.columns {
            let (schema, table) = Rules::split_name(&place.0);
            let is_ruled = present.column(schema, table, &place.1).is_some();
            match (is_ruled, column.left_out()) {
                (true, _) => {
                    let reason = "has a rule in the configuration".to_owned();
                    self.left_out.insert(place.clone(), reason);
                }
                (false, Err(reason)) => {
                    self.left_out.insert(place.clone(), reason);
                }
                (false, Ok((logical, default))) => {
                    let candidate = Candidate {
                        rule: rule(logical, default, column.checks.clone()),
                        needs: column.needs.clone(),
                        is_key: column.is_key,
                    };
                    self.candidates.insert(place.clone(), candidate);
                }
            }
        }
    }

    /// Gives each candidate its mode and domain, and leaves out those that do not fit the server or
    /// each other.
    fn settle(&mut self) {
        loop {
            self.decide_modes();
            let connected = self.facts.foreign_keys.iter().chain(&self.pairs);
            domains::assign(connected, &mut self.candidates);
            let rules = self.rules();
            if let Err(errors) = rules.check() {
                for error in errors {
                    if let RulesError::Column {
                        table,
                        column,
                        problem,
                    } = error
                    {
                        self.leave_out((table, column), problem);
                    }
                }
                continue;
            }
            let (_, errors) = Schema::build_anyway(&rules, &self.answers);
            let count = self.candidates.len();
            for error in errors {
                if error.problem != DEFAULT_IN_SERVER {
                    let table = facts::rule_name(&error.schema, &error.table);
                    self.leave_out((table, error.column), error.problem);
                }
            }
            if self.candidates.len() == count {
                return;
            }
        }
    }

    fn decide_modes(&mut self) {
        let accepts = self.wishes.all;
        for candidate in self.candidates.values_mut() {
            let rule = &mut candidate.rule;
            rule.domain = None;
            // Equal values that are kept unread have no common form: the finisher compares them.
            if candidate.needs.is_empty() || rule.logical.opaque().is_some() {
                continue;
            }
            if rule.mode == Mode::Random {
                rule.mode = Mode::Equality;
            }
            rule.accept_leakage = accepts && few_values(rule.logical, rule.bits).is_some();
        }
    }

    /// Notes why a column gets no rule. A foreign key to a column that is left out is a problem of
    /// the column that refers, whichever of both has a rule.
    fn leave_out(&mut self, place: Place, reason: String) {
        if self.candidates.remove(&place).is_some() {
            self.left_out.insert(place, reason);
            return;
        }
        let referred = self.facts.foreign_keys.iter();
        let referred: Vec<Place> = referred
            .filter(|(own, _)| *own == place)
            .map(|(_, referred)| referred.clone())
            .collect();
        for referred in referred {
            if self.candidates.remove(&referred).is_some() {
                let reason = format!(
                    "{}.{} refers to it and cannot be protected",
                    place.0, place.1
                );
                self.left_out.insert(referred, reason);
            }
        }
        // A column that is no candidate and refers to none has been left out with its table.
        if place.1 == "*" {
            let columns = self.candidates.keys().filter(|own| own.0 == place.0);
            for own in columns.cloned().collect::<Vec<_>>() {
                self.candidates.remove(&own);
                self.left_out.insert(own, reason.clone());
            }
        }
    }

    fn leave_keys_out(&mut self) {
        if self.wishes.all {
            return;
        }
        let is_number = |logical: LogicalType| {
            matches!(
                logical,
                LogicalType::SmallInt
                    | LogicalType::Integer
                    | LogicalType::BigInt
                    | LogicalType::Uuid
            )
        };
        let numbers = self.candidates.iter();
        let numbers: Vec<Place> = numbers
            .filter(|(_, own)| own.is_key && is_number(own.rule.logical))
            .map(|(place, _)| place.clone())
            .collect();
        for place in numbers {
            self.candidates.remove(&place);
            let reason = "is a key that is only a number (--all proposes it too)".to_owned();
            self.left_out.insert(place, reason);
        }
    }

    fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        for ((table, column), candidate) in &self.candidates {
            let columns = rules.tables.entry(table.clone()).or_default();
            columns.insert(column.clone(), candidate.rule.clone());
        }
        rules
    }

    fn suggestion(self) -> Suggestion {
        let (schema, _) = Schema::build_anyway(&self.rules(), &self.answers);
        let views = schema.tables.values().filter(|table| table.opaque);
        let mut opaque_views: Vec<String> = views
            .filter(|table| table.kind == RelationKind::View)
            .map(|table| format!("{}.{}", table.schema, table.name))
            .collect();
        opaque_views.sort_unstable();
        let mut tables: BTreeMap<&str, Vec<(u16, String, Proposal)>> = BTreeMap::new();
        for (place, column) in &self.facts.columns {
            let proposal = match (self.candidates.get(place), self.left_out.get(place)) {
                (Some(own), _) => {
                    Proposal::Rule(own.rule.clone(), own.needs.iter().cloned().collect())
                }
                (None, Some(reason)) => Proposal::LeftOut(reason.clone()),
                (None, None) => continue,
            };
            let columns = tables.entry(&place.0).or_default();
            columns.push((column.number, place.1.clone(), proposal));
        }
        let tables = tables.into_iter().map(|(table, mut columns)| {
            columns.sort_by_key(|(number, ..)| *number);
            TableProposal {
                table: table.to_owned(),
                columns: columns
                    .into_iter()
                    .map(|(_, name, proposal)| (name, proposal))
                    .collect(),
            }
        });
        Suggestion {
            tables: tables.collect(),
            opaque_views,
        }
    }
}

fn rule(
    logical: LogicalType,
    default: Option<String>,
    checks: BTreeMap<String, String>,
) -> ColumnRule {
    ColumnRule {
        logical,
        mode: Mode::Random,
        domain: None,
        bits: None,
        pad: None,
        equality: None,
        default,
        collation: None,
        group: None,
        not_null: false,
        accept_leakage: false,
        checks,
    }
}
