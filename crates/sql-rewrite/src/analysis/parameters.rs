//! Parameters and constant texts of a statement: which are sealed or computed with, and which are
//! sent in clear.

use std::collections::{BTreeMap, BTreeSet};

use column_value::LogicalType;

use crate::{Form, Literal, ParameterType, Refusal, Schema, Source};
use sql_plan::refuse;

/// What is known of parameters and constant texts.
#[derive(Clone, Default)]
pub(crate) struct Parameters {
    /// Highest `$n`.
    pub count: usize,
    types: BTreeMap<usize, ParameterType>,
    /// Parameters that are an array at one place and a value at another.
    mixed: BTreeSet<usize>,
    /// Parameters that are sent in clear without being compared with or stored in a plain column.
    pub free: BTreeSet<usize>,
    /// Constant texts that are.
    pub free_texts: BTreeSet<String>,
    /// Parameters that the proxy computes with; those of an earlier analysis.
    computed: BTreeSet<usize>,
    pub computed_before: BTreeSet<usize>,
    /// Texts that are sealed, or that the proxy computes with.
    hidden_texts: BTreeSet<String>,
    /// Parameters that are only tested for NULL at some place, and the column that an earlier
    /// analysis of the same statement sealed them for.
    pub null_tests: BTreeSet<usize>,
    pub sealed_before: BTreeMap<usize, Form>,
}

impl Parameters {
    /// Whether a parameter that is tested for NULL is sealed or computed with elsewhere.
    pub fn hides_null_test(&self, sealed: &BTreeMap<usize, Form>) -> bool {
        let mut tested = self.null_tests.iter();
        tested.any(|number| sealed.contains_key(number) || self.computed.contains(number))
    }

    /// What a second analysis of the same statement starts with.
    pub fn again(self, sealed: BTreeMap<usize, Form>) -> Self {
        Self {
            computed_before: self.computed,
            sealed_before: sealed,
            ..Self::default()
        }
    }

    /// Notes that the statement has this parameter.
    pub fn see(&mut self, number: usize) {
        self.count = self.count.max(number + 1);
    }

    /// Invariant 2 of the analysis, with the parameters that are sealed.
    pub fn check(&self, sealed: &BTreeMap<usize, Form>, schema: &Schema) -> Result<(), Refusal> {
        for number in &self.free {
            if let Some(Form::Sealed(column, _) | Form::SealedArray(column, _)) = sealed.get(number)
            {
                return Err(refuse(format!(
                    "parameter ${} meets protected column {} and is also used in clear",
                    number + 1,
                    schema.title(*column),
                ))
                .with_hint("Bind the value twice, as two parameters."));
            }
            if self.computed.contains(number) {
                return Err(refuse(format!(
                    "parameter ${} meets a protected column in the proxy and is also used in clear",
                    number + 1,
                ))
                .with_hint("Bind the value twice, as two parameters."));
            }
        }
        if !self.free_texts.is_disjoint(&self.hidden_texts) {
            return Err(refuse(
                "a constant meets a protected column and is also used in clear: it may be the same \
                 value",
            )
            .with_hint("Leave out what needs no column, or pass the values as parameters."));
        }
        if let Some(number) = self.mixed.first() {
            return Err(refuse(format!(
                "parameter ${} is an array beside one protected column, and a value beside another",
                number + 1,
            ))
            .with_hint("Bind it twice, as two parameters."));
        }
        Ok(())
    }

    /// Notes the type that the client is told for a parameter: the first that is known.
    pub fn note_type(&mut self, source: &Source, logical: LogicalType) {
        self.note(source, ParameterType::One(logical));
    }

    /// The same for a type that may be an array.
    pub fn note(&mut self, source: &Source, noted: ParameterType) {
        let Source::Parameter(number) = source else {
            return;
        };
        let known = self.types.entry(*number).or_insert(noted);
        match known.and(noted) {
            Some(both) => *known = both,
            None => drop(self.mixed.insert(*number)),
        }
    }

    /// The types by parameter.
    pub fn types(&self) -> Vec<Option<ParameterType>> {
        (0..self.count)
            .map(|number| self.types.get(&number).copied())
            .collect()
    }

    /// Notes a parameter that the proxy computes with and does not send.
    pub fn compute(&mut self, number: usize) {
        self.see(number);
        self.computed.insert(number);
    }

    /// Notes a constant that is sealed, or that the proxy computes with.
    pub fn hide(&mut self, source: &Source) {
        if let Source::Literal(Literal::Text(text)) = source
            && !text.is_empty()
        {
            self.hidden_texts.insert(text.clone());
        }
    }
}
