//! Prepared statements: what their holes are filled with.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use column_value::{LogicalType, Value, ValueError};
use finish::{Constants, Elements};
use semantics_postgres::{assign, cast};
use sql_plan::{ColumnId, Form, Hole, Literal, ParameterType, Purpose, Source};
use sqlstate::SqlState;

use crate::calculated::calculated;
use crate::constants::{check_size, read_literal, seal, seal_literal, seal_together};
use crate::inputs::{Inputs, SealedKeys};
use crate::plans::{ServerStatement, TextPlan};
use crate::statement_error::StatementError;
use crate::value_format::ValueFormat;

/// A prepared statement.
#[derive(Debug)]
pub struct Statement {
    /// The client's text, to be planned again when the schema is another.
    pub text: Box<str>,
    /// Numbers of types that the client gave its parameters; 0: it did not.
    pub types: Box<[u32]>,
    /// The plan that the server's statement was made by.
    pub plan: Arc<TextPlan>,
}

impl Statement {
    /// What each parameter of a statement of the server's is filled with.
    pub fn holes(&self, at: ServerStatement) -> impl ExactSizeIterator<Item = &Hole> {
        let holes = self.plan.translated(at);
        let holes = holes.map_or(&[][..], |translated| &translated.holes);
        let slots = self.plan.server_text(at);
        let slots = slots.map_or(&[][..], |text| &text.slots);
        slots.iter().map(move |&hole| &holes[hole])
    }

    /// How many parameters a statement of the text has.
    pub fn parameters_wanted(&self, index: usize) -> usize {
        let front = self.plan.front(index);
        let translated = front.and_then(|at| self.plan.translated(at));
        translated.map_or(0, |translated| translated.parameter_types.len())
    }

    /// Checks that each parameter of a statement has a type: the client has declared one, or the
    /// proxy or the server finds one. The server finds none for a parameter that it is not sent.
    ///
    /// # Errors
    /// 42P18, in the server's words.
    pub fn check_types(&self, index: usize) -> Result<(), StatementError> {
        let sent = self.plan.sent_parameters(index);
        let untyped = (0..self.parameters_wanted(index)).find(|&number| {
            self.declared(number) == 0
                && self.planned_type(number, index).is_none()
                && !sent.contains(&number)
        });
        match untyped {
            None => Ok(()),
            Some(number) => Err(StatementError::statement(
                SqlState::INDETERMINATE_DATATYPE,
                format!("could not determine data type of parameter ${}", number + 1),
            )),
        }
    }

    /// Writes the value of a hole. False: it is NULL.
    ///
    /// # Errors
    /// It is no value of its column.
    #[inline]
    pub fn fill<F: ValueFormat>(
        &self,
        hole: &Hole,
        inputs: &Inputs<'_, F>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        match (&hole.source, hole.form) {
            (Source::Parameter(number), Form::Plain) => {
                let Some(bytes) = inputs.bytes(*number) else {
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
                seal_literal::<F>(loaded, literal, (column, purpose), inputs.context, out)
            }
            (Source::Calculated(value, _), Form::Sealed(column, purpose)) => {
                let constants = BoundConstants {
                    statement: self,
                    inputs,
                };
                let (Some(value), logical) = calculated(value, &constants, inputs.context)? else {
                    return Ok(false);
                };
                let context = inputs.context;
                seal::<F>(loaded, (column, purpose), (value, logical), context, out)?;
                Ok(true)
            }
            (Source::Parameter(_) | Source::Literal(_), Form::SealedArray(column, purpose)) => {
                self.seal_array(&hole.source, (column, purpose), inputs, out)
            }
            (Source::Members(members), Form::Sealed(column, Purpose::Store)) => {
                self.seal_members(members, column, inputs, out)
            }
            (Source::Computed(number), _) => {
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
            (Source::Literal(_) | Source::Calculated(..), Form::Plain)
            | (Source::Calculated(..), Form::SealedArray(..))
            | (Source::Members(_), _)
            | (Source::Locator(_), Form::Sealed(..) | Form::SealedArray(..)) => {
                unreachable!("a plain literal stands in the text; the others are in no plan")
            }
        }
    }

    /// Writes the sealed value of a group. False: it is NULL.
    fn seal_members<F: ValueFormat>(
        &self,
        members: &[Source],
        holder: ColumnId,
        inputs: &Inputs<'_, F>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        let group = loaded.schema.group_of(holder);
        let columns = group.map(|own| own.members.as_slice()).unwrap_or_default();
        let mut values = Vec::with_capacity(members.len());
        for (source, column) in members.iter().zip(columns) {
            let logical = loaded.schema.column(*column).logical;
            let (value, from) = match source {
                Source::Calculated(value, _) => {
                    let constants = BoundConstants {
                        statement: self,
                        inputs,
                    };
                    calculated(value, &constants, inputs.context)?
                }
                source => self.constant(source, logical, inputs)?,
            };
            let value = value.map(|value| assign(value, from, logical, inputs.context));
            values.push(value.transpose()?);
        }
        seal_together(loaded, holder, &values, out)
    }

    /// Writes an array of sealed values. False: it is NULL.
    fn seal_array<F: ValueFormat>(
        &self,
        source: &Source,
        (column, purpose): (ColumnId, Purpose),
        inputs: &Inputs<'_, F>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        let own = loaded.schema.column(column);
        let (Some(elements), logical) = self.array(source, own.logical, inputs)? else {
            return Ok(false);
        };
        let start = out.len();
        let mut seal_one = |element: &Option<Value>, out: &mut Vec<u8>| match element {
            None => Ok(false),
            Some(value) => {
                let value = (value.clone(), logical);
                seal::<F>(loaded, (column, purpose), value, inputs.context, out)?;
                check_size::<F>(out.len() - start).map(|()| true)
            }
        };
        F::write_sealed_array(own.server_type(), &elements, &mut seal_one, out)?;
        Ok(true)
    }

    /// Writes a sealed parameter. False: it is NULL.
    fn seal_parameter<F: ValueFormat>(
        &self,
        number: usize,
        (column, purpose): (ColumnId, Purpose),
        inputs: &Inputs<'_, F>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        let loaded = &*self.plan.loaded;
        let logical = loaded.schema.column(column).logical;
        let (Some(value), logical) = self.parameter(number, logical, inputs)? else {
            return Ok(false);
        };
        let context = inputs.context;
        seal::<F>(loaded, (column, purpose), (value, logical), context, out)?;
        Ok(true)
    }

    /// The same for a value that finds the row. It is sealed once.
    fn seal_key<F: ValueFormat>(
        &self,
        number: usize,
        column: ColumnId,
        (inputs, keys): (&Inputs<'_, F>, &RefCell<SealedKeys>),
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

    /// The number of the type that the client declared for a parameter; 0: none.
    fn declared(&self, number: usize) -> u32 {
        self.types.get(number).copied().unwrap_or(0)
    }

    fn planned_type(&self, number: usize, index: usize) -> Option<ParameterType> {
        let front = self.plan.front(index)?;
        let types = &self.plan.translated(front)?.parameter_types;
        types.get(number).copied().flatten()
    }

    /// The type of a parameter: as the client declared it, else as the plan of the statement at an
    /// index has it, which is what the client was told if it asked, else the one given.
    fn parameter_type<F: ValueFormat>(
        &self,
        number: usize,
        logical: LogicalType,
        index: usize,
    ) -> Result<LogicalType, ValueError> {
        let planned = self.planned_type(number, index);
        match (self.declared(number), planned) {
            (0, Some(planned)) if !planned.is_array() => Ok(planned.logical()),
            (0, _) => Ok(logical),
            (_, Some(ParameterType::Cast(cast))) => Ok(cast),
            (declared, Some(ParameterType::CastInPart(cast))) => {
                let declared = F::declared(declared)?;
                match declared == cast || (is_whole(declared) && is_whole(cast)) {
                    true => Ok(declared),
                    false => Err(cast_in_part(number, declared, cast)),
                }
            }
            (declared, _) => F::declared(declared),
        }
    }

    /// The type in which the value of a parameter comes, if it is known to be `logical` afterwards.
    fn sent_type<F: ValueFormat>(
        &self,
        number: usize,
        logical: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        match self.declared(number) {
            0 => Ok(logical),
            declared => F::declared(declared),
        }
    }

    /// A parameter, taken for a value of a type where the client declared none, and its type.
    fn parameter<F: ValueFormat>(
        &self,
        number: usize,
        logical: LogicalType,
        inputs: &Inputs<'_, F>,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        let logical = self.parameter_type::<F>(number, logical, inputs.index)?;
        let parameter = inputs.parameters.get(number);
        let Some((bytes, format)) = parameter.and_then(|one| Some((one.bytes?, one.format))) else {
            return Ok((None, logical));
        };
        let sent = self.sent_type::<F>(number, logical)?;
        let mut value = format.read(bytes, sent, inputs.context)?;
        if sent != logical {
            value = cast(value, sent, logical, inputs.context)?;
        }
        Ok((Some(value), logical))
    }

    /// A constant of an expression that the proxy computes, taken for a value of a type where it
    /// has none of its own, and its type.
    fn constant<F: ValueFormat>(
        &self,
        source: &Source,
        logical: LogicalType,
        inputs: &Inputs<'_, F>,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        match source {
            Source::Parameter(number) => self.parameter(*number, logical, inputs),
            Source::Literal(literal) => read_literal(literal, logical, inputs.context),
            Source::Calculated(..)
            | Source::Members(_)
            | Source::Computed(_)
            | Source::Locator(_) => {
                unreachable!("no expression has what only texts have")
            }
        }
    }

    /// The type that a constant has, whatever its value is.
    fn type_of<F: ValueFormat>(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        match source {
            Source::Parameter(number) => self.parameter_type::<F>(*number, logical, 0),
            _ => Ok(logical),
        }
    }

    /// The type of the elements of an array.
    fn element_type<F: ValueFormat>(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<LogicalType, ValueError> {
        let Source::Parameter(number) = source else {
            return Ok(logical);
        };
        let planned = self.planned_type(*number, 0);
        match (self.declared(*number), planned) {
            (_, Some(ParameterType::CastArray(cast))) => Ok(cast),
            (0, _) => Ok(logical),
            (declared, Some(ParameterType::CastInPart(cast))) => {
                let declared = F::declared_elements(declared)?;
                match declared == cast {
                    true => Ok(declared),
                    false => Err(cast_in_part(*number, declared, cast)),
                }
            }
            (declared, _) => F::declared_elements(declared),
        }
    }

    /// The elements of an array, taken for values of a type where the client declared none, and
    /// their type.
    fn array<F: ValueFormat>(
        &self,
        source: &Source,
        logical: LogicalType,
        inputs: &Inputs<'_, F>,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        let logical = self.element_type::<F>(source, logical)?;
        let (bytes, format) = match source {
            Source::Parameter(number) => {
                let parameter = inputs.parameters.get(*number);
                let format = parameter.map_or(F::TEXT, |parameter| parameter.format);
                (inputs.bytes(*number), format)
            }
            Source::Literal(Literal::Text(text)) => (Some(text.as_bytes()), F::TEXT),
            _ => (None, F::TEXT),
        };
        let sent = match source {
            Source::Parameter(number) => match self.declared(*number) {
                0 => logical,
                declared => F::declared_elements(declared)?,
            },
            _ => logical,
        };
        let elements = bytes.map(|bytes| format.read_array(bytes, sent, inputs.context));
        let mut elements = elements.transpose()?;
        if sent != logical {
            for element in elements.iter_mut().flatten().flatten() {
                *element = cast(element.clone(), sent, logical, inputs.context)?;
            }
        }
        Ok((elements, logical))
    }

    /// A whole number that a plain hole is filled with. None: none, or not known to be one.
    pub fn whole_number<F: ValueFormat>(
        &self,
        hole: &Hole,
        physical: LogicalType,
        inputs: &Inputs<'_, F>,
    ) -> Option<i64> {
        let (value, logical) = self.constant(&hole.source, physical, inputs).ok()?;
        match value? {
            Value::Integer(number) if is_whole(logical) && is_whole(physical) => Some(number),
            _ => None,
        }
    }
}

fn is_whole(logical: LogicalType) -> bool {
    matches!(
        logical,
        LogicalType::SmallInt | LogicalType::Integer | LogicalType::BigInt
    )
}

fn cast_in_part(number: usize, declared: LogicalType, cast: LogicalType) -> ValueError {
    ValueError {
        sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
        message: format!(
            "parameter ${} is declared as {declared}, and cast to {cast} at one place and not at \
             another: cast it at each, or bind it twice",
            number + 1
        ),
    }
}

/// The constants of a statement that is bound.
pub struct BoundConstants<'a, F> {
    /// The statement.
    pub statement: &'a Statement,
    /// What it is bound to.
    pub inputs: &'a Inputs<'a, F>,
}

impl<F: ValueFormat> Constants for BoundConstants<'_, F> {
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
pub struct UnboundConstants<'a, F> {
    statement: &'a Statement,
    format: PhantomData<F>,
}

impl<'a, F> UnboundConstants<'a, F> {
    /// Those of a statement.
    pub fn new(statement: &'a Statement) -> Self {
        Self {
            statement,
            format: PhantomData,
        }
    }
}

impl<F: ValueFormat> Constants for UnboundConstants<'_, F> {
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        Ok((None, self.statement.type_of::<F>(source, logical)?))
    }

    fn array(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        Ok((None, self.statement.element_type::<F>(source, logical)?))
    }
}
