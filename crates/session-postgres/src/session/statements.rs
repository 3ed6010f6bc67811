//! Prepared statements of a session, and their texts with holes filled.

use std::cell::RefCell;
use std::sync::Arc;

use column_types::{LogicalType, Value, ValueError};
use finish::{Constants, Elements};
use session_core::StatementError;
use session_core::plans::{ServerStatement, TextPlan};
use sql_plan::{ColumnId, Form, Hole, Literal, OutputKind, ParameterType, Purpose, Source};
use sqlstate::SqlState;
use wire_postgres::Formats;
use wire_postgres::backend::write_value;
use wire_postgres::frontend::{Bind, write_bind, write_parse};
use wire_postgres::values;

use super::calculated;
use super::constants::{check_size, no_array, no_type, read_literal, seal, seal_literal};
use super::inputs::{Inputs, SealedKeys, format};

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

impl Statement {
    /// What each parameter of a statement of the server's is filled with.
    fn holes(&self, at: ServerStatement) -> impl ExactSizeIterator<Item = &Hole> {
        let holes = self.plan.translated(at);
        let holes = holes.map_or(&[][..], |translated| &translated.holes);
        let slots = self.plan.bound(at);
        let slots = slots.map_or(&[][..], |bound| &bound.slots);
        slots.iter().map(move |&hole| &holes[hole])
    }

    /// Writes Parse for the server.
    pub(super) fn write_parse(&self, at: ServerStatement, name: &[u8], out: &mut Vec<u8>) {
        let text = self.plan.bound(at).map_or("", |bound| &bound.text);
        let types = self.holes(at).map(|hole| match (hole.form, &hole.source) {
            (Form::Sealed(..), _) => values::BYTEA,
            (Form::SealedArray(..), _) => values::BYTEA_ARRAY,
            (Form::Plain, Source::Parameter(number)) => {
                self.types.get(*number).copied().unwrap_or(0)
            }
            (Form::Plain, _) => 0,
        });
        write_parse(name, text.as_bytes(), types, out);
    }

    /// Notes the types of the client's parameters that are those of the server's.
    pub(super) fn note_types(&self, at: ServerStatement, server: &[u32], types: &mut Vec<u32>) {
        let wanted = self.parameters_wanted(at.index).max(self.types.len());
        types.resize(wanted.max(types.len()), 0);
        for (hole, &server_type) in self.holes(at).zip(server) {
            if let (Form::Plain, Source::Parameter(number)) = (hole.form, &hole.source)
                && let Some(own) = types.get_mut(*number)
                && *own == 0
            {
                *own = server_type;
            }
        }
    }

    /// The types of the client's parameters, with those that are known from the server.
    pub(super) fn parameter_types(&self, at: ServerStatement, mut types: Vec<u32>) -> Vec<u32> {
        let planned = self.plan.translated(at);
        let planned = planned.map_or(&[][..], |translated| &translated.parameter_types);
        for (own, logical) in types.iter_mut().zip(planned) {
            match logical {
                Some(ParameterType::One(logical)) => *own = values::oid(*logical),
                Some(ParameterType::Array(logical)) => *own = values::array_oid(*logical),
                None => {}
            }
        }
        for (own, &declared) in types.iter_mut().zip(&self.types) {
            if declared != 0 {
                *own = declared;
            }
        }
        types
    }

    /// Whether Bind has the values that the statement asks for.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn check_bind(&self, index: usize, bind: &Bind<'_>) -> Result<(), StatementError> {
        let wanted = self.parameters_wanted(index).max(self.types.len());
        let count = bind.parameters.count();
        if count != wanted {
            let message = format!(
                "bind message supplies {count} parameters, but the prepared statement requires \
                 {wanted}"
            );
            return Err(StatementError::statement(
                SqlState::PROTOCOL_VIOLATION,
                message,
            ));
        }
        if !bind.formats.fit(count) {
            let message = "bind message has another number of formats than of parameters";
            return Err(StatementError::statement(
                SqlState::PROTOCOL_VIOLATION,
                message,
            ));
        }
        Ok(())
    }

    /// How many parameters a statement of the text has.
    pub(super) fn parameters_wanted(&self, index: usize) -> usize {
        let front = self.plan.front(index);
        let translated = front.and_then(|at| self.plan.translated(at));
        translated.map_or(0, |translated| translated.parameter_types.len())
    }

    /// The formats in which columns are asked for: sealed and hidden ones in binary, others as the
    /// client wants them.
    pub(super) fn result_formats(&self, at: ServerStatement, wanted: Formats<'_>) -> Vec<i16> {
        let outputs = self.plan.outputs(at);
        if outputs.is_empty() {
            return wanted.iter().collect();
        }
        let mut visible = 0;
        let mut formats = Vec::with_capacity(outputs.len());
        for output in outputs {
            formats.push(match output.kind {
                OutputKind::Plain if !output.hidden => wanted.of(visible),
                _ => 1,
            });
            visible += usize::from(!output.hidden);
        }
        formats
    }

    /// Writes Bind for the server: what meets a protected column is sealed.
    pub(super) fn write_bind(
        &self,
        at: ServerStatement,
        (portal, name): (&[u8], &[u8]),
        inputs: &Inputs<'_>,
        results: &[i16],
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        let formats = self.holes(at).map(|hole| match (hole.form, &hole.source) {
            (Form::Plain, Source::Parameter(number)) => inputs.formats.of(*number),
            _ => 1,
        });
        let start = out.len();
        let write_values = |out: &mut Vec<u8>| {
            for hole in self.holes(at) {
                let filled = write_value(out, |out| self.fill(hole, inputs, out));
                filled.and_then(|()| check_size(out.len() - start))?;
            }
            Ok(())
        };
        let results = results.iter().copied();
        write_bind((portal, name), formats, write_values, results, out)
    }

    /// Writes the value of a hole. False: it is NULL.
    pub(super) fn fill(
        &self,
        hole: &Hole,
        inputs: &Inputs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        match (&hole.source, hole.form) {
            (Source::Parameter(number), Form::Plain) => {
                let Some(bytes) = inputs.parameters.get(*number).copied().flatten() else {
                    return Ok(false);
                };
                out.extend_from_slice(bytes);
                Ok(true)
            }
            (Source::Parameter(number), Form::Sealed(column, purpose)) => {
                match (purpose, inputs.keys) {
                    (Purpose::Match, Some(keys)) => {
                        self.seal_key(*number, column, (inputs, keys), out)
                    }
                    _ => self.seal_parameter(*number, (column, purpose), inputs, out),
                }
            }
            (Source::Literal(literal), Form::Sealed(column, purpose)) => {
                seal_literal(loaded, literal, (column, purpose), inputs.context, out)
            }
            (Source::Calculated(value, _), Form::Sealed(column, purpose)) => {
                let constants = BoundConstants {
                    statement: self,
                    inputs,
                };
                let (Some(value), logical) = calculated::of(value, &constants, inputs.context)?
                else {
                    return Ok(false);
                };
                let context = inputs.context;
                seal(loaded, (column, purpose), (value, logical), context, out)?;
                Ok(true)
            }
            (Source::Parameter(_) | Source::Literal(_), Form::SealedArray(column, purpose)) => {
                self.seal_array(&hole.source, (column, purpose), inputs, out)
            }
            (Source::Computed(number), Form::Sealed(..)) => {
                let Some(sealed) = inputs.computed.get(*number).and_then(Option::as_deref) else {
                    return Ok(false);
                };
                out.extend_from_slice(sealed);
                Ok(true)
            }
            (Source::Locator(number), Form::Plain) => {
                let Some(bytes) = inputs.locators.get(*number).copied().flatten() else {
                    return Ok(false);
                };
                out.extend_from_slice(bytes);
                Ok(true)
            }
            (Source::Literal(_) | Source::Calculated(..) | Source::Computed(_), Form::Plain)
            | (Source::Calculated(..) | Source::Computed(_), Form::SealedArray(..))
            | (Source::Locator(_), Form::Sealed(..) | Form::SealedArray(..)) => {
                unreachable!("a plain literal stands in the text; the others are in no plan")
            }
        }
    }

    /// Writes an array of sealed values. False: it is NULL.
    fn seal_array(
        &self,
        source: &Source,
        (column, purpose): (ColumnId, Purpose),
        inputs: &Inputs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        let logical = loaded.schema.column(column).logical;
        let (Some(elements), logical) = self.array(source, logical, inputs)? else {
            return Ok(false);
        };
        let start = out.len();
        let mut seal_one = |element: &Option<Value>, out: &mut Vec<u8>| match element {
            None => Ok(false),
            Some(value) => {
                let value = (value.clone(), logical);
                seal(loaded, (column, purpose), value, inputs.context, out)?;
                check_size(out.len() - start).map(|()| true)
            }
        };
        values::write_bytea_array(&elements, &mut seal_one, out)?;
        Ok(true)
    }

    /// Writes a sealed parameter. False: it is NULL.
    fn seal_parameter(
        &self,
        number: usize,
        (column, purpose): (ColumnId, Purpose),
        inputs: &Inputs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        let logical = loaded.schema.column(column).logical;
        let (Some(value), logical) = self.parameter(number, logical, inputs)? else {
            return Ok(false);
        };
        let context = inputs.context;
        seal(loaded, (column, purpose), (value, logical), context, out)?;
        Ok(true)
    }

    /// The same for a value that finds the row. It is sealed once.
    fn seal_key(
        &self,
        number: usize,
        column: ColumnId,
        (inputs, keys): (&Inputs<'_>, &RefCell<SealedKeys>),
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let mut keys = keys.borrow_mut();
        if let Some(sealed) = keys.find((number, column)) {
            out.extend_from_slice(sealed);
            return Ok(true);
        }
        let start = out.len();
        let has_value = self.seal_parameter(number, (column, Purpose::Match), inputs, out)?;
        if has_value {
            keys.keep((number, column), &out[start..]);
        }
        Ok(has_value)
    }

    fn planned_type(&self, number: usize, index: usize) -> Option<ParameterType> {
        let front = self.plan.front(index)?;
        let types = &self.plan.translated(front)?.parameter_types;
        types.get(number).copied().flatten()
    }

    /// A parameter, taken for a value of a type where the client declared none, and its type.
    fn parameter(
        &self,
        number: usize,
        logical: LogicalType,
        inputs: &Inputs<'_>,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        let logical = match self.types.get(number).copied().unwrap_or(0) {
            // As the client was told, where it asked.
            0 => match self.planned_type(number, inputs.index) {
                Some(ParameterType::One(planned)) => planned,
                Some(ParameterType::Array(_)) | None => logical,
            },
            oid => values::logical(oid, -1).ok_or_else(|| no_type(oid))?,
        };
        let Some(bytes) = inputs.parameters.get(number).copied().flatten() else {
            return Ok((None, logical));
        };
        let format = format(inputs.formats.of(number))?;
        let value = values::read(bytes, logical, format, inputs.context)?;
        Ok((Some(value), logical))
    }

    /// A constant of an expression that the proxy computes, taken for a value of a type where it
    /// has none of its own, and its type.
    pub(super) fn constant(
        &self,
        source: &Source,
        logical: LogicalType,
        inputs: &Inputs<'_>,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        match source {
            Source::Parameter(number) => self.parameter(*number, logical, inputs),
            Source::Literal(literal) => {
                let (value, own) = read_literal(literal, logical, inputs.context)?;
                Ok((value, own))
            }
            Source::Calculated(..) | Source::Computed(_) | Source::Locator(_) => {
                unreachable!("no expression has what only texts have")
            }
        }
    }

    /// The type that a constant has, whatever its value is.
    pub(super) fn type_of(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        match source {
            Source::Parameter(number) => match self.types.get(*number).copied().unwrap_or(0) {
                0 => Ok(match self.planned_type(*number, 0) {
                    Some(ParameterType::One(planned)) => planned,
                    Some(ParameterType::Array(_)) | None => logical,
                }),
                oid => values::logical(oid, -1).ok_or_else(|| no_type(oid)),
            },
            _ => Ok(logical),
        }
    }

    /// The type of the elements of an array.
    pub(super) fn element_type(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        let declared = match source {
            Source::Parameter(number) => self.types.get(*number).copied().unwrap_or(0),
            _ => 0,
        };
        match declared {
            0 => Ok(logical),
            oid => values::element(oid).ok_or_else(|| no_array(oid)),
        }
    }

    /// The elements of an array, taken for values of a type where the client declared none, and
    /// their type.
    pub(super) fn array(
        &self,
        source: &Source,
        logical: LogicalType,
        inputs: &Inputs<'_>,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        let logical = self.element_type(source, logical)?;
        let (bytes, format) = match source {
            Source::Parameter(number) => {
                let bytes = inputs.parameters.get(*number).copied().flatten();
                (bytes, format(inputs.formats.of(*number))?)
            }
            Source::Literal(Literal::Text(text)) => (Some(text.as_bytes()), values::Format::Text),
            _ => (None, values::Format::Text),
        };
        let elements =
            bytes.map(|bytes| values::read_array(bytes, logical, format, inputs.context));
        Ok((elements.transpose()?, logical))
    }

    /// A whole number that a plain hole is filled with. None: none, or not known to be one.
    pub(super) fn whole_number(
        &self,
        hole: &Hole,
        physical: LogicalType,
        inputs: &Inputs<'_>,
    ) -> Option<i64> {
        let is_whole = |logical: LogicalType| {
            matches!(
                logical,
                LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt
            )
        };
        let (value, logical) = self.constant(&hole.source, physical, inputs).ok()?;
        match value? {
            Value::Integer(number) if is_whole(logical) && is_whole(physical) => Some(number),
            _ => None,
        }
    }
}

/// The constants of a statement that is bound.
pub(super) struct BoundConstants<'a> {
    pub statement: &'a Statement,
    pub inputs: &'a Inputs<'a>,
}

impl Constants for BoundConstants<'_> {
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        self.statement.constant(source, logical, self.inputs)
    }

    fn array(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        self.statement.array(source, logical, self.inputs)
    }
}

/// Those of one that is only described: their types are known.
pub(super) struct UnboundConstants<'a>(pub &'a Statement);

impl Constants for UnboundConstants<'_> {
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        Ok((None, self.0.type_of(source, logical)?))
    }

    fn array(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        Ok((None, self.0.element_type(source, logical)?))
    }
}
