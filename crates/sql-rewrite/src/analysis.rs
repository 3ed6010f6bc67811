//! What the analysis of one statement gathers: its holes, the uses of its parameters, the tables
//! in sight.
//!
//! The tree of the statement is changed in place: a value that must not go as text becomes a hole.
//! What is sent is printed from the tree, so that nothing of the client's text is sent that was
//! not understood. Invariants:
//!
//! 1. A value that meets a protected column becomes a sealed hole, or the statement is refused.
//! 2. A parameter, or a text, that meets a protected column anywhere is in clear only where it
//!    meets a plain column by name. Drivers that put values into texts write one at each place.
//! 3. A node of the tree that no match knows is refused.

mod any;
mod calculated;
mod comparison;
mod constant;
mod expression;
pub(crate) mod fetched;
pub(crate) mod function;
mod gather;
pub(crate) mod joinable;
pub(crate) mod lower;
pub(crate) mod meeting;
mod query;
mod query_context;
mod scope;
pub(crate) mod template;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use column_types::LogicalType;
use sqlparser::ast::{Expr, Value};

use crate::{
    ColumnId, Expression, Form, Hole, Literal, Mode, Output, OutputKind, ParameterType,
    ProtectedColumn, Purpose, Refusal, Schema, Source, Use,
};
use sql_plan::refuse;

pub(crate) use constant::Constant;
pub(crate) use query::Outputs;
pub(crate) use query::check_dialect;
pub(crate) use query::expand_relation;
pub(crate) use query::output_name;
pub(crate) use query::output_of;
pub(crate) use scope::Gathered;
pub(crate) use scope::OutColumn;
pub(crate) use scope::Relation;
pub(crate) use scope::Scope;

/// How a parameter is used in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clear {
    /// Stored in a plain column, or compared with one: the user has said that it is public.
    ByColumn,
    /// Anywhere else.
    Free,
}

/// The state of an analysis. A clone is a point to come back to.
#[derive(Clone)]
pub(crate) struct Analysis<'s> {
    pub schema: &'s Schema,
    pub holes: Vec<Hole>,
    /// Highest `$n`.
    pub parameters: usize,
    types: BTreeMap<usize, ParameterType>,
    /// Parameters that are an array at one place and a value at another.
    mixed: BTreeSet<usize>,
    /// Holes of parameters, so that each use of one kind is one hole: save those that are stored in
    /// columns of mode `random`, which are sealed at each place anew.
    made: BTreeMap<(usize, Form), usize>,
    /// Parameters that are used in clear, and not beside plain columns.
    free: BTreeSet<usize>,
    /// Texts that are.
    free_texts: BTreeSet<String>,
    /// Parameters that the proxy computes with; those of an earlier analysis.
    computed: BTreeSet<usize>,
    computed_before: BTreeSet<usize>,
    /// Texts that are sealed, or that the proxy computes with.
    hidden_texts: BTreeSet<String>,
    /// Parameters that are only tested for NULL at some place, and the column that an earlier
    /// analysis of the same statement sealed them for.
    null_tests: BTreeSet<usize>,
    sealed_before: BTreeMap<usize, Form>,
    /// Common table expressions in sight, the innermost last.
    pub ctes: Vec<(String, Vec<OutColumn>)>,
    /// Those of `WITH RECURSIVE` that are in sight and not analysed yet.
    pub pending_ctes: Vec<String>,
    /// Tables that are written.
    pub writes: Option<(String, String)>,
    /// Whether a written table has triggers.
    pub fires_triggers: bool,
    /// What the server does with protected columns, beside what holes and outputs tell.
    pub uses: BTreeSet<(ColumnId, Use)>,
    /// Whether what the server cannot aggregate may be gathered: the proxy finishes the query.
    pub gathers: bool,
}

impl<'s> Analysis<'s> {
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            holes: Vec::new(),
            parameters: 0,
            types: BTreeMap::new(),
            mixed: BTreeSet::new(),
            made: BTreeMap::new(),
            free: BTreeSet::new(),
            free_texts: BTreeSet::new(),
            computed: BTreeSet::new(),
            computed_before: BTreeSet::new(),
            hidden_texts: BTreeSet::new(),
            null_tests: BTreeSet::new(),
            sealed_before: BTreeMap::new(),
            ctes: Vec::new(),
            pending_ctes: Vec::new(),
            writes: None,
            fires_triggers: false,
            uses: BTreeSet::new(),
            gathers: false,
        }
    }

    /// Runs an analysis. A parameter that is tested for NULL before it is seen to be sealed
    /// (`$1 IS NULL OR c = $1`) must not go in clear for the test: then it runs again, knowing.
    pub fn run<T>(
        schema: &'s Schema,
        analyse: impl Fn(&mut Self) -> Result<T, Refusal>,
    ) -> Result<(Self, T), Refusal> {
        let mut first = Self::new(schema);
        let value = analyse(&mut first)?;
        let sealed = first.sealed_parameters();
        if first
            .null_tests
            .iter()
            .all(|number| !sealed.contains_key(number) && !first.computed.contains(number))
        {
            first.check_parameters()?;
            return Ok((first, value));
        }
        let mut second = Self::new(schema);
        second.sealed_before = sealed;
        second.computed_before = first.computed;
        let value = analyse(&mut second)?;
        second.check_parameters()?;
        Ok((second, value))
    }

    fn sealed_parameters(&self) -> BTreeMap<usize, Form> {
        let mut sealed = BTreeMap::new();
        for hole in &self.holes {
            if hole.form == Form::Plain {
                continue;
            }
            for number in calculated::parameters(&hole.source) {
                sealed.insert(number, hole.form);
            }
        }
        sealed
    }

    /// Invariant 2.
    fn check_parameters(&self) -> Result<(), Refusal> {
        let sealed = self.sealed_parameters();
        for number in &self.free {
            if let Some(Form::Sealed(column, _) | Form::SealedArray(column, _)) = sealed.get(number)
            {
                return Err(refuse(format!(
                    "parameter ${} meets protected column {} and is also used in clear",
                    number + 1,
                    self.title(*column),
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

    pub fn column(&self, id: ColumnId) -> &'s ProtectedColumn {
        self.schema.column(id)
    }

    /// A protected column as messages name it.
    pub fn title(&self, id: ColumnId) -> String {
        let column = self.column(id);
        format!("{}.{}", column.table, column.column)
    }

    /// Remembers what the server does with protected columns.
    pub fn note_use(&mut self, columns: impl IntoIterator<Item = ColumnId>, what: Use) {
        let columns = columns.into_iter();
        self.uses.extend(columns.map(|column| (column, what)));
    }

    /// What the client is told of a parameter's type, the first that is known.
    pub fn note_type(&mut self, source: &Source, logical: LogicalType) {
        self.note_parameter(source, ParameterType::One(logical));
    }

    pub fn note_parameter(&mut self, source: &Source, noted: ParameterType) {
        let Source::Parameter(number) = source else {
            return;
        };
        let known = *self.types.entry(*number).or_insert(noted);
        let is_array = |noted| matches!(noted, ParameterType::Array(_));
        if is_array(known) != is_array(noted) {
            self.mixed.insert(*number);
        }
    }

    pub fn parameter_types(&self) -> Vec<Option<ParameterType>> {
        (0..self.parameters)
            .map(|number| self.types.get(&number).copied())
            .collect()
    }

    /// A parameter that the proxy computes with, and does not send.
    pub fn see_parameter(&mut self, number: usize) {
        self.parameters = self.parameters.max(number + 1);
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

    /// A hole, and the expression that stands for it in the tree.
    pub fn hole(&mut self, source: Source, form: Form) -> Expr {
        let number = self.hole_number(source, form);
        template::marker(number)
    }

    pub fn hole_number(&mut self, source: Source, form: Form) -> usize {
        // Two rows of one ciphertext would tell that they have the same value.
        let is_shared = match form {
            Form::Sealed(column, Purpose::Store) => self.column(column).mode != Mode::Random,
            Form::Sealed(..) | Form::SealedArray(..) | Form::Plain => true,
        };
        let key = match &source {
            Source::Parameter(parameter) => {
                self.parameters = self.parameters.max(parameter + 1);
                is_shared.then_some((*parameter, form))
            }
            Source::Literal(_)
            | Source::Calculated(..)
            | Source::Computed(_)
            | Source::Locator(_) => None,
        };
        if let Some(made) = key.and_then(|key| self.made.get(&key)) {
            return *made;
        }
        let number = self.holes.len();
        self.holes.push(Hole { source, form });
        if let Some(key) = key {
            self.made.insert(key, number);
        }
        number
    }

    /// A constant that meets a protected column.
    pub fn sealed(
        &mut self,
        constant: Constant,
        column: ColumnId,
        purpose: Purpose,
    ) -> Result<Expr, Refusal> {
        let logical = self.column(column).logical;
        if constant.is_compared_as_text(logical, purpose) {
            let source = self.text_of(constant.source);
            return Ok(self.hole(source, Form::Sealed(column, purpose)));
        }
        let source = constant.for_column(self.column(column), purpose)?;
        self.hide(&source);
        self.note_type(&source, logical);
        Ok(self.hole(source, Form::Sealed(column, purpose)))
    }

    /// `CAST(source AS text)`
    fn text_of(&mut self, source: Source) -> Source {
        let text = LogicalType::Text;
        if let Source::Parameter(number) = source {
            self.parameters = self.parameters.max(number + 1);
        }
        self.hide(&source);
        self.note_type(&source, text);
        let value = Box::new(Expression::Value(source, text));
        Source::Calculated(Box::new(Expression::Cast(value, text)), text)
    }

    /// A value that stays in clear: a literal stays as it is, a parameter becomes a hole.
    pub fn clear(&mut self, value: &mut Value, how: Clear) -> Result<(), Refusal> {
        if let Value::Placeholder(name) = value
            && !name.starts_with(template::MARK)
        {
            let number = constant::parameter_number(name)?;
            if how == Clear::Free {
                self.free.insert(number);
            }
            let hole = self.hole_number(Source::Parameter(number), Form::Plain);
            *value = template::marker_value(hole);
        } else if let (Clear::Free, Some(text)) = (how, constant::text(value)) {
            self.free_texts.insert(text.to_owned());
        }
        Ok(())
    }

    /// A parameter that is tested for NULL: sealed where it is sealed elsewhere, since NULL is
    /// sealed as NULL.
    pub fn null_test(&mut self, number: usize) -> Result<Option<Expr>, Refusal> {
        self.null_tests.insert(number);
        match self.sealed_before.get(&number) {
            Some(form) => Ok(Some(self.hole(Source::Parameter(number), *form))),
            None if self.computed_before.contains(&number) => Err(refuse(format!(
                "parameter ${} is tested for NULL and meets a protected column in the proxy",
                number + 1
            ))),
            None => Ok(None),
        }
    }

    /// The default of a protected column, as a sealed hole; NULL where it has none.
    pub fn default_of(&mut self, column: ColumnId) -> Expr {
        let literal = self.column(column).default.clone().unwrap_or(Literal::Null);
        let form = Form::Sealed(column, Purpose::Store);
        self.hole(Source::Literal(literal), form)
    }
}

/// Outputs as the plan has them: none where nothing is sealed.
pub(crate) fn output_list(outputs: Outputs) -> Vec<Output> {
    let outputs = outputs.unwrap_or_default();
    if outputs.iter().all(|output| output.sealed.is_none()) {
        return Vec::new();
    }
    let outputs = outputs
        .into_iter()
        .map(|output| Output::shown(output.sealed.map_or(OutputKind::Plain, OutputKind::Sealed)));
    outputs.collect()
}
