//! `ON CONFLICT DO UPDATE` whose new values the finisher computes: the rows that the server returns
//! while it inserts. A row that it inserted is the client's; one that it found in the table makes a
//! pair with the row that was to be inserted, and waits for the finisher.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use column_value::LogicalType;
use semantics_postgres::TextContext;
use session_core::plans::{Role, ServerStatement};
use session_core::{Changed, Sealed, StatementError, wiped};
use sql_plan::{FinisherWrite, InsertedColumn, OutputKind, Upsert};
use wire_postgres::backend;
use wire_postgres::values;
use zeroize::Zeroizing;

use super::arrays::{ArrayBuilder, elements_of};
use super::gathering::{Gathering, is_array, result_type, write_at, write_element};
use super::rows::{RowError, Shape};
use crate::finisher::FinisherExecution;

/// An `INSERT` while the server returns rows.
pub(super) struct Upserting {
    /// The statement, its Bind and its limits.
    pub gathering: Gathering,
    /// How rows are written for the client. None: it gets none.
    pub shape: Option<Arc<Shape>>,
    /// Whether the client gets the description of the rows with them.
    is_described: bool,
    /// The arrays that were inserted, and where their elements lie.
    sent: Sealed,
    elements: Vec<Vec<Option<Range<usize>>>>,
    /// How many rows the server has returned, and how many of them it has inserted.
    returned: usize,
    inserted: u64,
    /// Rows for the client behind those of the last pair.
    said: Zeroizing<Vec<u8>>,
    pairs: Vec<Pair>,
    /// The numbers of the pairs, then columns of the rows that were there.
    existing: Vec<ArrayBuilder>,
}

/// A row that was there.
struct Pair {
    /// The index of the row that was to be inserted.
    index: usize,
    locators: [Option<Box<[u8]>>; Upsert::LOCATORS],
    /// Rows for the client that come before it.
    before: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Upserting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rows are plaintext.
        write!(f, "Upserting({} rows)", self.returned)
    }
}

/// What is left to do when all rows have come.
pub(super) struct Written {
    /// The rows to write.
    pub changed: Vec<Changed>,
    /// Rows for the client: before those of each row to write, and behind the last.
    pub others: VecDeque<Zeroizing<Vec<u8>>>,
    /// How many rows were inserted.
    pub inserted: u64,
}

impl Upserting {
    /// An `INSERT` of these arrays.
    ///
    /// # Errors
    /// They are none.
    pub fn new(
        gathering: Gathering,
        sent: Sealed,
        is_described: bool,
    ) -> Result<Self, StatementError> {
        let statement = &gathering.statement;
        let at = |role| ServerStatement {
            index: gathering.index,
            role,
        };
        let outputs = statement.plan.outputs(at(Role::Write));
        let shape = match outputs.iter().any(|output| !output.hidden) {
            true => {
                let bind = gathering.bind.bind();
                Shape::of_portal(&statement.plan, at(Role::Write), bind.result_formats)
            }
            false => None,
        };
        let elements = sent.iter().map(|array| elements_of(array.as_deref()?));
        let elements: Option<Vec<_>> = elements.collect();
        let unread = || StatementError::defect("an array of rows to insert cannot be read");
        Ok(Self {
            shape,
            is_described,
            elements: elements.ok_or_else(unread)?,
            sent,
            returned: 0,
            inserted: 0,
            said: Zeroizing::default(),
            pairs: Vec::new(),
            existing: Vec::new(),
            gathering,
        })
    }

    fn plan(&self) -> Result<(&FinisherWrite, &Upsert), StatementError> {
        let plan = write_at(&self.gathering.statement.plan, self.gathering.index);
        let found = plan.and_then(|plan| Some((plan, plan.upsert.as_ref()?)));
        found.ok_or_else(StatementError::other_plan)
    }

    /// An element of an array that was sent.
    fn element(&self, array: usize, row: usize) -> Option<&[u8]> {
        let range = self.elements.get(array)?.get(row)?.clone()?;
        self.sent.get(array)?.as_deref()?.get(range)
    }

    /// Takes the RowDescription of the rows.
    pub fn columns(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        let fields = backend::read_row_description(body)?;
        let (plan, upsert) = self.plan()?;
        if fields.len() != plan.write.outputs.len() {
            return Err(StatementError::other_columns().into());
        }
        let types = upsert.existing.iter().map(|column| {
            result_type(column.element, fields[column.output].type_oid)
                .ok_or_else(StatementError::other_columns)
        });
        let types: Result<Vec<u32>, _> = std::iter::once(Ok(integer())).chain(types).collect();
        match types {
            Ok(types) => self.existing = types.into_iter().map(ArrayBuilder::new).collect(),
            Err(failure) => self.gathering.failure = Some(failure),
        }
        if let (true, Some(shape)) = (self.is_described, &self.shape) {
            shape.write_description(body, out)?;
        }
        Ok(())
    }

    /// Takes a row.
    pub fn row(&mut self, body: &[u8], context: &TextContext) -> Result<(), RowError> {
        let index = self.returned;
        self.returned += 1;
        if self.gathering.failure.is_some() {
            return Ok(());
        }
        match self.take(index, body, context) {
            Ok(()) => Ok(()),
            Err(RowError::Statement(failure)) if !failure.ends_session => {
                self.gathering.failure = Some(failure);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, index: usize, body: &[u8], context: &TextContext) -> Result<(), RowError> {
        let row: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        let statement = Arc::clone(&self.gathering.statement);
        let plan = write_at(&statement.plan, self.gathering.index);
        let plan = plan.ok_or_else(StatementError::other_plan)?;
        let upsert = plan
            .upsert
            .as_ref()
            .ok_or_else(StatementError::other_plan)?;
        let (outputs, existing) = (&plan.write.outputs, &upsert.existing);
        if row.len() != outputs.len() || self.existing.len() != existing.len() + 1 {
            return Err(StatementError::other_columns().into());
        }
        let was_there = match row[Upsert::WAS_THERE] {
            Some([0]) => false,
            Some([1]) => true,
            _ => return Err(StatementError::other_columns().into()),
        };
        if !was_there {
            self.inserted += 1;
            if let Some(shape) = &self.shape {
                wiped::reserve(&mut self.said, 2 * body.len() + 64);
                shape.write_row(body, context, &mut self.said)?;
            }
            return self.check_size();
        }
        let number = i32::try_from(self.pairs.len()).unwrap_or(i32::MAX);
        self.existing[0].push(4, |out| {
            out.extend_from_slice(&number.to_be_bytes());
            Ok::<bool, StatementError>(true)
        })?;
        for (column, array) in existing.iter().zip(&mut self.existing[1..]) {
            let value = row[column.output];
            let kind = outputs[column.output].kind;
            array.push(value.map_or(0, |value| 2 * value.len() + 64), |out| {
                write_element(&statement.plan, kind, value, context, out)
            })?;
        }
        let [first, second] = [row[0], row[1]];
        self.pairs.push(Pair {
            index,
            locators: [first.map(Into::into), second.map(Into::into)],
            before: std::mem::take(&mut self.said),
        });
        self.check_size()
    }

    fn check_size(&self) -> Result<(), RowError> {
        let arrays = self.existing.iter().map(ArrayBuilder::size);
        let before = self.pairs.iter().map(|pair| pair.before.len());
        let size = arrays.chain(before).sum::<usize>() + self.said.len();
        match size <= self.gathering.limits.bytes_max {
            true => Ok(()),
            false => Err(self.gathering.too_many_bytes().into()),
        }
    }

    /// Has a context note what only PostgreSQL can write of a row, the one that comes after so many
    /// others.
    pub fn note_texts(
        &self,
        others: usize,
        body: &[u8],
        context: &TextContext,
    ) -> Result<(), RowError> {
        let mut written = Zeroizing::<Vec<u8>>::default();
        if let Some(shape) = &self.shape {
            // An error comes again when the row is taken.
            let _ = shape.write_row(body, context, &mut written);
        }
        let row: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        let (plan, upsert) = self.plan()?;
        let text_plan = &self.gathering.statement.plan;
        for column in &upsert.existing {
            let kind = plan.write.outputs[column.output].kind;
            let value = row.get(column.output).copied().flatten();
            let _ = write_element(text_plan, kind, value, context, &mut written);
        }
        for &array in &upsert.proposed {
            let value = self.element(array, self.returned + others);
            let _ = write_element(text_plan, self.kind(array)?, value, context, &mut written);
        }
        Ok(())
    }

    /// What an array that was sent has.
    fn kind(&self, array: usize) -> Result<OutputKind, StatementError> {
        let (plan, _) = self.plan()?;
        let columns = plan.inserted.as_ref().map(|inserted| &inserted.columns);
        match columns.and_then(|columns| columns.get(array)) {
            Some(InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id)) => {
                Ok(OutputKind::Sealed(*id))
            }
            Some(InsertedColumn::Plain(_)) => Ok(OutputKind::Plain),
            None => Err(StatementError::other_plan()),
        }
    }

    /// Checks that there was a row for each that was to be inserted. True: some were there before.
    ///
    /// # Errors
    /// What went wrong first.
    pub fn end(&mut self) -> Result<bool, StatementError> {
        if let Some(failure) = self.gathering.failure.take() {
            return Err(failure);
        }
        let proposed = self.elements.first().map_or(0, Vec::len);
        if self.returned != proposed {
            let message = "the server has left rows out of an INSERT whose conflicts the finisher \
                           computes";
            return Err(StatementError::unsupported(message)
                .hint("Read the rows with FOR UPDATE first, then insert or update them."));
        }
        Ok(!self.pairs.is_empty())
    }

    /// What the finisher executes, and the types of its parameters.
    ///
    /// # Errors
    /// The rows take too many bytes.
    pub fn question(
        &mut self,
        context: &TextContext,
    ) -> Result<(FinisherExecution, Vec<u32>), StatementError> {
        let (plan, upsert) = self.plan()?;
        let text_plan = &self.gathering.statement.plan;
        let (mut formats, mut own) = self.gathering.parameters(plan.query.parameters);
        let mut types = self.gathering.statement.types.to_vec();
        types.resize(own.len(), 0);
        let mut proposed = vec![ArrayBuilder::new(integer())];
        types.extend(std::iter::repeat_n(0, upsert.existing.len() + 2));
        for (number, _) in (0_i32..).zip(&self.pairs) {
            proposed[0].push(4, |out| {
                out.extend_from_slice(&number.to_be_bytes());
                Ok::<bool, StatementError>(true)
            })?;
        }
        let mut size = 0;
        for &array in &upsert.proposed {
            let kind = self.kind(array)?;
            let oid = match kind {
                OutputKind::Sealed(id) => {
                    types.push(0);
                    let logical = text_plan.loaded.schema.column(id).logical;
                    match is_array(logical) {
                        true => values::TEXT,
                        false => values::oid(logical),
                    }
                }
                _ => {
                    let oid = element_type(self.sent[array].as_deref());
                    types.push(values::array_of(oid).unwrap_or(0));
                    oid
                }
            };
            let mut built = ArrayBuilder::new(oid);
            for pair in &self.pairs {
                let value = self.element(array, pair.index);
                built.push(value.map_or(0, |value| 2 * value.len() + 64), |out| {
                    write_element(text_plan, kind, value, context, out)
                })?;
            }
            size += built.size();
            proposed.push(built);
        }
        if size > self.gathering.limits.bytes_max {
            return Err(self.gathering.too_many_bytes());
        }
        for array in std::mem::take(&mut self.existing)
            .into_iter()
            .chain(proposed)
        {
            formats.push(1);
            own.push(Some(array.into_value()));
        }
        let execution = FinisherExecution {
            formats,
            values: own,
            result_formats: Box::new([1]),
            answer_size_max: self.gathering.limits.bytes_max,
        };
        Ok((execution, types))
    }

    /// What to write and to tell, given the numbers of pairs and their new values.
    ///
    /// # Errors
    /// A number is that of no pair.
    pub fn written(mut self, rows: Vec<(usize, Sealed)>) -> Result<Written, StatementError> {
        let passed = self.plan()?.1.passed.clone();
        let mut others = VecDeque::new();
        let mut changed = Vec::new();
        let mut before = Zeroizing::<Vec<u8>>::default();
        let mut next = 0;
        for (number, mut computed) in rows {
            if number < next || number >= self.pairs.len() {
                return Err(super::found::unasked());
            }
            for pair in &self.pairs[next..=number] {
                wiped::extend(&mut before, &pair.before);
            }
            next = number + 1;
            others.push_back(std::mem::take(&mut before));
            let pair = &self.pairs[number];
            let plain = passed.iter().map(|&array| self.element(array, pair.index));
            computed.extend(plain.map(|value| value.map(Into::into)));
            let locators = std::mem::take(&mut self.pairs[number].locators);
            changed.push(Changed { locators, computed });
        }
        for pair in &self.pairs[next..] {
            wiped::extend(&mut before, &pair.before);
        }
        wiped::extend(&mut before, &self.said);
        others.push_back(before);
        Ok(Written {
            changed,
            others,
            inserted: self.inserted,
        })
    }
}

/// The type of the numbers of pairs.
fn integer() -> u32 {
    values::oid(LogicalType::Integer)
}

/// The type of the elements of an array.
fn element_type(array: Option<&[u8]>) -> u32 {
    let bytes = array.and_then(|array| array.get(8..12)?.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}
