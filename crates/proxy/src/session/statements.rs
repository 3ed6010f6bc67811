//! Statements and portals of a session, by their names; and texts with their holes filled.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use column_types::{LogicalType, TextContext, Value, ValueError, assign};
use sql_rewrite::{ColumnId, Form, Hole, Literal, Plan, Purpose, Source};
use wire_postgres::backend::{Failure, write_value};
use wire_postgres::frontend::{Bind, write_bind, write_parse};
use wire_postgres::values;

use super::rows::{self, Shape};
use crate::plans::{TextPlan, write_literal};
use crate::protection::Loaded;

/// Things by name; the one without a name is replaced without being closed.
#[derive(Debug)]
pub(super) struct Names<T> {
    unnamed: Option<T>,
    named: HashMap<Box<[u8]>, T>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self {
            unnamed: None,
            named: HashMap::new(),
        }
    }
}

impl<T> Names<T> {
    pub(super) fn get(&self, name: &[u8]) -> Option<&T> {
        match name {
            [] => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    pub(super) fn insert(&mut self, name: &[u8], thing: T) {
        match name {
            [] => self.unnamed = Some(thing),
            name => drop(self.named.insert(name.into(), thing)),
        }
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        match name {
            [] => self.unnamed = None,
            name => drop(self.named.remove(name)),
        }
    }

    pub(super) fn clear(&mut self) {
        self.unnamed = None;
        if !self.named.is_empty() {
            self.named = HashMap::new();
        }
    }
}

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// The client's text, to be planned again when the schema is another.
    pub text: Box<str>,
    /// Numbers of types that the client gave its parameters; 0: it did not.
    pub types: Box<[u32]>,
    /// The plan that the server's statement was made by.
    pub plan: Arc<TextPlan>,
}

/// A portal.
#[derive(Debug)]
pub(super) struct Portal {
    pub statement: Arc<Statement>,
    /// None: rows go on as they are.
    pub shape: Option<Arc<Shape>>,
}

impl Statement {
    /// What each parameter of the server's statement is filled with.
    fn holes(&self) -> impl ExactSizeIterator<Item = &Hole> {
        let bound = self.plan.bound.as_ref();
        let translated = self.plan.translated(0);
        let slots = bound.map_or(&[][..], |bound| &bound.slots);
        slots.iter().map(move |&hole| {
            let translated = translated.expect("only a translated statement has slots");
            &translated.holes[hole]
        })
    }

    /// Writes Parse for the server.
    pub(super) fn write_parse(&self, name: &[u8], text: &str, out: &mut Vec<u8>) {
        let types = self.holes().map(|hole| match (hole.form, &hole.source) {
            (Form::Sealed(..), _) => values::BYTEA,
            (Form::Plain, Source::Parameter(number)) => {
                self.types.get(*number).copied().unwrap_or(0)
            }
            (Form::Plain, _) => 0,
        });
        write_parse(name, text.as_bytes(), types, out);
    }

    /// The types of the client's parameters, of those of the server's.
    pub(super) fn parameter_types(&self, server: &[u32]) -> Vec<u32> {
        let Some(translated) = self.plan.translated(0) else {
            return server.to_vec();
        };
        let count = translated.parameter_types.len().max(self.types.len());
        let mut types = vec![0; count];
        for (hole, &server_type) in self.holes().zip(server) {
            if let (Form::Plain, Source::Parameter(number)) = (hole.form, &hole.source)
                && let Some(own) = types.get_mut(*number)
            {
                *own = server_type;
            }
        }
        for (own, logical) in types.iter_mut().zip(&translated.parameter_types) {
            if let Some(logical) = logical {
                *own = values::oid(*logical);
            }
        }
        for (own, &declared) in types.iter_mut().zip(&self.types) {
            if declared != 0 {
                *own = declared;
            }
        }
        types
    }

    /// Writes Bind for the server: protected parameters sealed, protected columns asked for in
    /// binary.
    pub(super) fn write_bind(
        &self,
        bind: &Bind<'_>,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let parameters: Vec<Option<&[u8]>> = bind.parameters.iter().collect();
        let wanted = self.parameters_wanted();
        if parameters.len() != wanted {
            let message = format!(
                "bind message supplies {} parameters, but the prepared statement requires {wanted}",
                parameters.len()
            );
            return Err(Failure::error("08P01", message));
        }
        if !bind.formats.fit(parameters.len()) {
            let message = "bind message has another number of formats than of parameters";
            return Err(Failure::error("08P01", message));
        }
        let outputs = self.plan.outputs(0);
        let formats = self.holes().map(|hole| match (hole.form, &hole.source) {
            (Form::Plain, Source::Parameter(number)) => bind.formats.of(*number),
            _ => 1,
        });
        let write_values = |out: &mut Vec<u8>| {
            for hole in self.holes() {
                let filled =
                    write_value(out, |out| self.fill(hole, &parameters, bind, context, out));
                filled.map_err(|error| Failure::error(error.sqlstate, error.message))?;
            }
            Ok(())
        };
        let names = (bind.portal, bind.statement);
        if outputs.is_empty() {
            return write_bind(
                names,
                formats,
                write_values,
                bind.result_formats.iter(),
                out,
            );
        }
        let mut visible = 0;
        let mut results = Vec::with_capacity(outputs.len());
        for output in outputs {
            results.push(match output.kind {
                sql_rewrite::OutputKind::Plain if !output.hidden => bind.result_formats.of(visible),
                _ => 1,
            });
            visible += usize::from(!output.hidden);
        }
        write_bind(names, formats, write_values, results.into_iter(), out)
    }

    fn parameters_wanted(&self) -> usize {
        let translated = self.plan.translated(0);
        let used = translated.map_or(0, |translated| translated.parameter_types.len());
        used.max(self.types.len())
    }

    /// Writes the value of a hole. False: it is NULL.
    fn fill(
        &self,
        hole: &Hole,
        parameters: &[Option<&[u8]>],
        bind: &Bind<'_>,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        match (&hole.source, hole.form) {
            (Source::Parameter(number), form) => {
                let Some(bytes) = parameters.get(*number).copied().flatten() else {
                    return Ok(false);
                };
                let Form::Sealed(column, purpose) = form else {
                    out.extend_from_slice(bytes);
                    return Ok(true);
                };
                let declared = self.types.get(*number).copied().unwrap_or(0);
                let logical = match declared {
                    0 => loaded.schema.column(column).logical,
                    oid => values::logical(oid, -1).ok_or_else(|| no_type(oid))?,
                };
                let format = rows::format(bind.formats.of(*number))?;
                let value = values::read(bytes, logical, format, context)?;
                seal(loaded, (column, purpose), (value, logical), context, out)?;
                Ok(true)
            }
            (Source::Literal(literal), Form::Sealed(column, purpose)) => {
                seal_literal(loaded, literal, (column, purpose), context, out)
            }
            (Source::Literal(_) | Source::Computed(_) | Source::Locator(_), _) => {
                unreachable!("a plain literal stands in the text; others are of other plans")
            }
        }
    }
}

fn no_type(oid: u32) -> ValueError {
    ValueError {
        sqlstate: "42804",
        message: format!("a parameter of type number {oid} meets a protected column: cast it"),
    }
}

/// Seals a constant. False: it is NULL.
fn seal_literal(
    loaded: &Loaded,
    literal: &Literal,
    (column, purpose): (ColumnId, Purpose),
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    let logical = loaded.schema.column(column).logical;
    let (value, from) = match literal {
        Literal::Null => return Ok(false),
        Literal::Boolean(truth) => (Value::Boolean(*truth), LogicalType::Boolean),
        Literal::Number(digits) => Value::from_number(digits)?,
        Literal::Text(text) => (Value::from_text(text, logical, context)?, logical),
        Literal::TransactionTime => (Value::Timestamp(context.now), LogicalType::TimestampTz),
    };
    seal(loaded, (column, purpose), (value, from), context, out)?;
    Ok(true)
}

/// Seals a value of a type for its purpose in a column.
fn seal(
    loaded: &Loaded,
    (column, purpose): (ColumnId, Purpose),
    (value, from): (Value, LogicalType),
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let to = loaded.schema.column(column).logical;
    match purpose {
        Purpose::Store => {
            let value = assign(value, from, to, context)?;
            loaded.sealer.seal(column, purpose, &value, out)
        }
        Purpose::Match | Purpose::Bound => loaded.sealer.seal(column, purpose, &value, out),
    }
}

/// The text of a Query for the server: literals sealed where they have to be.
pub(super) fn render_query(
    text: &str,
    plan: &TextPlan,
    context: &TextContext,
) -> Result<String, Failure> {
    let mut out = String::new();
    for one in &plan.planned {
        if !out.is_empty() {
            out.push_str("; ");
        }
        let Plan::One(translated, _) = &one.plan else {
            out.push_str(&text[one.span.clone()]);
            continue;
        };
        let mut failed = None;
        let rendered = translated.template.render(|hole, out| {
            let hole = &translated.holes[hole];
            if let Err(failure) = write_constant(&plan.loaded, hole, context, out) {
                failed.get_or_insert(failure);
            }
        });
        if let Some(failure) = failed {
            return Err(failure);
        }
        out.push_str(&rendered);
    }
    Ok(out)
}

fn write_constant(
    loaded: &Loaded,
    hole: &Hole,
    context: &TextContext,
    out: &mut String,
) -> Result<(), Failure> {
    let Source::Literal(literal) = &hole.source else {
        return Err(Failure::error(
            "42P02",
            "there is no parameter in a simple query",
        ));
    };
    let Form::Sealed(column, purpose) = hole.form else {
        write_literal(literal, out);
        return Ok(());
    };
    let mut sealed = Vec::new();
    let has_value = seal_literal(loaded, literal, (column, purpose), context, &mut sealed)
        .map_err(|error| Failure::error(error.sqlstate, error.message))?;
    if !has_value {
        out.push_str("NULL::bytea");
        return Ok(());
    }
    // E: whatever `standard_conforming_strings` is.
    out.push_str("E'\\\\x");
    for byte in sealed {
        write!(out, "{byte:02x}").expect("a String takes everything");
    }
    out.push_str("'::bytea");
    Ok(())
}
