//! The analysis of one statement, and the state that it collects: holes, uses of parameters, common
//! table expressions.
//!
//! The analysis changes the tree of the statement in place: a value that must not be sent as text
//! becomes a hole. The text for the server is printed from the tree, so nothing is sent that was
//! not understood. Invariants:
//!
//! 1. A value that meets a protected column becomes a sealed hole, or the statement is refused.
//! 2. A parameter or text that meets a protected column anywhere is sent in clear only where it
//!    meets a plain column by name. Drivers that write values into texts repeat one for each use.
//! 3. A node of the tree that no match knows is refused.

mod any;
mod calculated;
mod comparison;
mod constant;
mod expression;
pub(crate) mod fetched;
pub(crate) mod function;
mod gather;
pub(crate) mod grouped;
pub(crate) mod joinable;
pub(crate) mod lower;
pub(crate) mod meeting;
mod parameters;
mod query;
mod query_context;
mod scope;
pub(crate) mod template;
mod tokens;
mod write;
mod zero_dates;

use std::collections::{BTreeMap, BTreeSet};

use column_value::LogicalType;
use sqlparser::ast::{Expr, Value};

use crate::{
    ColumnId, Dialect, Expression, Form, Hole, Literal, Mode, Output, OutputKind, ProtectedColumn,
    Purpose, Refusal, Schema, Source, Use,
};
use sql_plan::refuse;

pub(crate) use constant::Constant;
pub(crate) use parameters::Parameters;
pub(crate) use query::Outputs;
pub(crate) use query::check_dialect;
pub(crate) use query::expand_relation;
pub(crate) use query::explicit_name;
pub(crate) use query::is_default;
pub(crate) use query::{check_key, key_of, output_of};
pub(crate) use scope::Gathered;
pub(crate) use scope::OutColumn;
pub(crate) use scope::Relation;
pub(crate) use scope::Scope;
pub(crate) use write::{given_always, overriding_user, target_column};

/// How a parameter is used in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clear {
    /// Stored in a plain column, or compared with one: the user has said that it is public.
    ByColumn,
    /// Anywhere else.
    Free,
}

/// The state of an analysis. A clone serves to undo an attempt.
#[derive(Clone)]
pub(crate) struct Analysis<'s> {
    pub schema: &'s Schema,
    pub holes: Vec<Hole>,
    pub parameters: Parameters,
    /// Holes of parameters by their form: uses of one form share a hole. A value that is stored in
    /// a column of mode `random` is not here, since it is sealed anew for each use.
    made: BTreeMap<(usize, Form), usize>,
    /// Common table expressions in sight, the innermost last.
    pub ctes: Vec<(String, Vec<OutColumn>)>,
    /// Common table expressions of `WITH RECURSIVE` that are in sight and not analysed yet.
    pub pending_ctes: Vec<String>,
    /// The table that is written.
    pub writes: Option<(String, String)>,
    /// Whether a written table has triggers.
    pub fires_triggers: bool,
    /// What the server does with protected columns, apart from what holes and outputs show.
    pub uses: BTreeSet<(ColumnId, Use)>,
    /// Whether aggregates that the server cannot compute may be gathered: the proxy finishes the
    /// query.
    pub gathers: bool,
    /// Columns under whose name a set operation or a join has values of a column with other limits.
    mixed: BTreeSet<ColumnId>,
}

impl<'s> Analysis<'s> {
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            holes: Vec::new(),
            parameters: Parameters::default(),
            made: BTreeMap::new(),
            ctes: Vec::new(),
            pending_ctes: Vec::new(),
            writes: None,
            fires_triggers: false,
            uses: BTreeSet::new(),
            gathers: false,
            mixed: BTreeSet::new(),
        }
    }

    /// Runs an analysis. A parameter may be tested for NULL before the analysis sees that it is
    /// sealed (`$1 IS NULL OR c = $1`). It must not be sent in clear for the test, so the analysis
    /// then runs again, with the sealed parameters known.
    pub fn run<T>(
        schema: &'s Schema,
        analyse: impl Fn(&mut Self) -> Result<T, Refusal>,
    ) -> Result<(Self, T), Refusal> {
        let mut first = Self::new(schema);
        let value = analyse(&mut first)?;
        let sealed = first.sealed_parameters();
        if !first.parameters.hides_null_test(&sealed) {
            first.parameters.check(&sealed, schema)?;
            return Ok((first, value));
        }
        let mut second = Self::new(schema);
        second.parameters = first.parameters.again(sealed);
        let value = analyse(&mut second)?;
        second
            .parameters
            .check(&second.sealed_parameters(), schema)?;
        Ok((second, value))
    }

    /// Checks that no parameter that is sealed or computed with is also sent in clear.
    pub fn check_parameters(&self) -> Result<(), Refusal> {
        self.parameters
            .check(&self.sealed_parameters(), self.schema)
    }

    fn sealed_parameters(&self) -> BTreeMap<usize, Form> {
        let mut sealed = BTreeMap::new();
        for hole in &self.holes {
            if hole.form == Form::Plain {
                continue;
            }
            for number in hole.source.parameters() {
                sealed.insert(number, hole.form);
            }
        }
        sealed
    }

    pub fn dialect(&self) -> Dialect {
        self.schema.dialect
    }

    pub fn column(&self, id: ColumnId) -> &'s ProtectedColumn {
        self.schema.column(id)
    }

    /// A protected column as messages name it.
    pub fn title(&self, id: ColumnId) -> String {
        self.schema.title(id)
    }

    /// Remembers what the server does with protected columns.
    pub fn note_use(&mut self, columns: impl IntoIterator<Item = ColumnId>, what: Use) {
        let columns = columns.into_iter();
        self.uses.extend(columns.map(|column| (column, what)));
    }

    /// Notes that a column of a query has values of two protected columns, under the name of one.
    pub fn note_mixed(&mut self, one: ColumnId, other: ColumnId) {
        if !self.schema.have_one_type(one, other) {
            self.mixed.insert(one);
        }
    }

    /// Refuses to take a value for one that keeps to the limits of its column, if it may be another
    /// column's.
    pub fn check_unmixed(&self, column: ColumnId) -> Result<(), Refusal> {
        match self.mixed.contains(&column) {
            false => Ok(()),
            true => Err(refuse(format!(
                "a value that may be of protected column {} or of one with other limits, and is \
                 stored or cast",
                self.title(column)
            ))
            .with_hint("Store or cast each of the columns by a query of its own.")),
        }
    }

    /// A hole, and the expression that stands for it in the tree.
    pub fn hole(&mut self, source: Source, form: Form) -> Expr {
        let number = self.hole_number(source, form);
        template::marker(number)
    }

    pub fn hole_number(&mut self, source: Source, form: Form) -> usize {
        // Two rows with one ciphertext would reveal that they have the same value.
        let is_shared = match form {
            Form::Sealed(column, Purpose::Store) => self.column(column).mode != Mode::Random,
            Form::Sealed(..) | Form::SealedArray(..) | Form::Plain => true,
        };
        let key = match &source {
            Source::Parameter(parameter) => {
                self.parameters.see(*parameter);
                is_shared.then_some((*parameter, form))
            }
            Source::Literal(_)
            | Source::Calculated(..)
            | Source::Members(_)
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
        let noted = constant.parameter_type(logical);
        let source = constant.for_column(self.column(column), purpose)?;
        self.parameters.hide(&source);
        self.parameters.note(&source, noted);
        Ok(self.hole(source, Form::Sealed(column, purpose)))
    }

    /// `CAST(source AS text)`
    fn text_of(&mut self, source: Source) -> Source {
        let text = LogicalType::Text;
        if let Source::Parameter(number) = source {
            self.parameters.see(number);
        }
        self.parameters.hide(&source);
        self.parameters.note_type(&source, text);
        let value = Box::new(Expression::Value(source, text));
        Source::Calculated(Box::new(Expression::Cast(value, text)), text)
    }

    /// A value that stays in clear: a literal is left in the text, a parameter becomes a hole.
    pub fn clear(&mut self, value: &mut Value, how: Clear) -> Result<(), Refusal> {
        if let Value::Placeholder(name) = value
            && !name.starts_with(template::MARK)
        {
            let number = constant::parameter_number(name)?;
            if how == Clear::Free {
                self.parameters.free.insert(number);
            }
            let hole = self.hole_number(Source::Parameter(number), Form::Plain);
            *value = template::marker_value(hole);
        } else if let (Clear::Free, Some(text)) = (how, constant::text(value)) {
            self.parameters.free_texts.insert(text.to_owned());
        }
        Ok(())
    }

    /// A parameter that is tested for NULL: sealed where it is sealed elsewhere, since NULL is
    /// sealed as NULL.
    pub fn null_test(&mut self, number: usize) -> Result<Option<Expr>, Refusal> {
        self.parameters.null_tests.insert(number);
        match self.parameters.sealed_before.get(&number) {
            Some(form) => Ok(Some(self.hole(Source::Parameter(number), *form))),
            None if self.parameters.computed_before.contains(&number) => Err(refuse(format!(
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
    let outputs = outputs.into_iter().map(|output| Output {
        shown_as: output.shown_as,
        ..Output::shown(output.sealed.map_or(OutputKind::Plain, OutputKind::Sealed))
    });
    outputs.collect()
}
