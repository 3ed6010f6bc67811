//! What statements look for: they are planned as if the server could do everything, and the plan
//! says what the server does with each column.

use std::collections::{BTreeMap, BTreeSet};

use column_value::WholeType;

use super::{LogicalType, Mode, Place, Proposing, Rules, Schema, facts};
use crate::{Use, uses};
use sql_plan::{Plan, few_values};

/// What the server does for statements.
#[derive(Default)]
struct Searched {
    uses: BTreeMap<Place, BTreeSet<Use>>,
    /// Columns that are compared with each other.
    pairs: Vec<(Place, Place)>,
}

impl Proposing {
    /// Notes what needs equality or order for the statements.
    pub(super) fn read_statements(&mut self, statements: &[&str]) {
        let searched = self.uses(statements, Mode::Equality);
        for (place, uses) in &searched.uses {
            let Some(candidate) = self.candidates.get_mut(place) else {
                continue;
            };
            let rule = &candidate.rule;
            if few_values(rule.logical, rule.bits).is_some() && candidate.needs.is_empty() {
                continue;
            }
            if uses.contains(&Use::Matched) {
                candidate.needs.insert("compared by =".to_owned());
            }
            if uses.contains(&Use::Paired) {
                candidate.needs.insert("compared with a column".to_owned());
            }
        }
        self.pairs = searched.pairs;
        if !self.wishes.order {
            return;
        }
        let sorted = self.uses(statements, Mode::Order).uses;
        for (place, uses) in &sorted {
            let is_paired = self
                .pairs
                .iter()
                .any(|pair| pair.0 == *place || pair.1 == *place);
            let bounded = uses.contains(&Use::Bounded) || uses.contains(&Use::Sorted);
            if let Some(candidate) = self.candidates.get_mut(place)
                && bounded
                && !candidate.is_key
                && !is_paired
            {
                candidate.rule.mode = Mode::Order;
                candidate.needs.insert("bounds or sorting".to_owned());
            }
        }
    }

    /// What the server does with columns of this mode, if types allow it.
    fn uses(&self, statements: &[&str], mode: Mode) -> Searched {
        let mut rules = self.rules();
        for rule in rules.tables.values_mut().flat_map(BTreeMap::values_mut) {
            let plain = rule.clone();
            rule.mode = mode;
            rule.accept_leakage = true;
            rule.domain = Some(kind(rule.logical, mode));
            let columns = BTreeMap::from([("c".to_owned(), rule.clone())]);
            let alone = Rules {
                tables: BTreeMap::from([("t".to_owned(), columns)]),
                ..Rules::default()
            };
            if alone.check().is_err() {
                *rule = plain;
                rule.domain = None;
            }
        }
        let (mut schema, _) = Schema::build_anyway(&rules, &self.answers);
        schema.catalogue.finisher.is_there = true;
        let mut found = Searched::default();
        for text in statements {
            for plan in plans(text, &schema) {
                let mut paired = Vec::new();
                for (id, what) in uses::of_plan(&plan) {
                    let column = schema.column(id);
                    let table = facts::rule_name(&column.schema, &column.table);
                    let place = (table, column.column.clone());
                    if what == Use::Paired {
                        paired.push(place.clone());
                    }
                    found.uses.entry(place).or_default().insert(what);
                }
                // Of more columns the plan does not say which belong together.
                if let [one, other] = paired.as_slice() {
                    found.pairs.push((other.clone(), one.clone()));
                }
            }
        }
        found
    }
}

/// The plans of the statements of a text, each by itself. One that is refused says nothing.
fn plans(text: &str, schema: &Schema) -> Vec<Plan> {
    let parts = crate::explain::parts(text, schema);
    let planned = parts
        .iter()
        .filter_map(|part| crate::plan(part, schema).ok());
    planned.flatten().map(|planned| planned.plan).collect()
}

/// Letters of the name of a domain at most. Lists of labels are longer.
const NAME_SIZE_MAX: usize = 64;

/// The name of a domain for all columns that can be compared with such a one.
pub(super) fn kind(logical: LogicalType, mode: Mode) -> String {
    let name = match logical {
        LogicalType::Whole(WholeType::Year) => "year".to_owned(),
        LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::Whole(_)
            if mode == Mode::Equality =>
        {
            "integer".to_owned()
        }
        LogicalType::Numeric(_) if mode == Mode::Equality => "numeric".to_owned(),
        LogicalType::Text | LogicalType::Varchar(_) => "text".to_owned(),
        LogicalType::Char(_) => "char".to_owned(),
        other => other.with_all_digits().to_string(),
    };
    let letters = name.chars();
    letters
        .take(NAME_SIZE_MAX)
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect()
}
