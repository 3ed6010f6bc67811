//! The parameters and constant texts of a statement: which of them are sealed or computed with, and
//! which go in clear.

use std::collections::{BTreeMap, BTreeSet};

use column_types::LogicalType;

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
    /// Parameters that are used in clear, and not beside plain columns.
    pub free: BTreeSet<usize>,
    /// Texts that are.
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
    /// Whether a parameter was tested for NULL before it was seen to be sealed or computed with.
    pub fn hides_null_test(&self, sealed: &BTreeMap<usize, Form>) -> bool {
        let mut tested = self.null_tests.iter();
        tested.any(|number| sealed.contains_key(number) || self.computed.contains(number))
    }

    /// What another analysis of the statement begins with.
    pub fn again(self, sealed: BTreeMap<usize, Form>) -> Self {
        Self {
            computed_before: self.computed,
            sealed_before: sealed,
            ..Self::default()
        }
    }

    /// The statement has a parameter of this number.
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

    /// What the client is told of a parameter's type, the first that is known.
    pub fn note_type(&mut self, source: &Source, logical: LogicalType) {
        self.note(source, ParameterType::One(logical));
    }

    pub fn note(&mut self, source: &Source, noted: ParameterType) {
        let Source::Parameter(number) = source else {
            return;
        };
        let known = *self.types.entry(*number).or_insert(noted);
        let is_array = |noted| matches!(noted, ParameterType::Array(_));
        if is_array(known) != is_array(noted) {
            self.mixed.insert(*number);
        }
    }

    pub fn types(&self) -> Vec<Option<ParameterType>> {
        (0..self.count)
            .map(|number| self.types.get(&number).copied())
            .collect()
    }

    /// A parameter that the proxy computes with, and does not send.
    pub fn compute(&mut self, number: usize) {
        self.see(number);
        self.computed.insert(number);
    }

    /// A constant that is sealed, or that the proxy computes with.
    pub fn hide(&mut self, source: &Source) {
        if let Source::Literal(Literal::Text(text)) = source
            && !text.is_empty()
        {
            self.hidden_texts.insert(text.clone());
        }
    }
}
