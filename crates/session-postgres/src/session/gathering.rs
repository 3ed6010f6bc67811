//! A query that the finisher answers, while the rows of its relations come.

use std::convert::Infallible;
use std::sync::Arc;

use column_value::{LogicalType, OpaqueType, Value};
use finish::Limits;
use semantics_postgres::TextContext;
use session_core::{Statement, StatementError, ValueFormat};
use sql_plan::{
    Element, FetchedColumnPlan, FinisherMerge, FinisherQuery, FinisherWrite, KeptCursor,
    ObjectEffect, OutputKind, Plan, Scroll,
};
use wire_postgres::Malformed;
use wire_postgres::backend;
use wire_postgres::frontend::KeptBind;
use wire_postgres::values;

use super::arrays::ArrayBuilder;
use super::format::FormatCode;
use super::rows::RowError;
use crate::finisher::FinisherExecution;
use session_core::plans::TextPlan;

/// The first number of a type that is not the server's own (`FirstNormalObjectId`).
const FIRST_OF_USERS: u32 = 16384;

/// A query for the finisher, while its rows come.
#[derive(Debug)]
pub(super) struct Gathering {
    pub statement: Arc<Statement>,
    pub index: usize,
    /// The client's Bind.
    pub bind: Arc<KeptBind>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// How many rows the client wants. None: all.
    pub rows_max: Option<usize>,
    pub limits: Limits,
    /// One for each column of each relation. Empty: the columns are not known yet.
    pub arrays: Vec<ArrayBuilder>,
    /// How many rows the server has sent.
    pub fetched: usize,
    /// It has failed with this error. Rows that still come are dropped.
    pub failure: Option<StatementError>,
    /// The client's Sync was sent after it.
    pub is_synced: bool,
    /// The formats of the answer, unless they are those that the client asked for.
    pub formats: Option<Box<[i16]>>,
    /// The rows are those that the statement has returned which writes what the finisher has found.
    pub is_returned: bool,
}

/// The query for the finisher at an index of a text.
pub(super) fn query_at(plan: &TextPlan, index: usize) -> Option<&FinisherQuery> {
    match &plan.planned.get(index)?.plan {
        Plan::Finisher(query) => Some(query),
        Plan::FinisherWrite(plan) => Some(&plan.query),
        Plan::FinisherMerge(plan) => Some(&plan.query),
        _ => None,
    }
}

/// The statement at an index of a text that writes what the finisher finds.
pub(super) fn write_at(plan: &TextPlan, index: usize) -> Option<&FinisherWrite> {
    match &plan.planned.get(index)?.plan {
        Plan::FinisherWrite(plan) => Some(plan),
        _ => None,
    }
}

/// The `MERGE` at an index of a text.
pub(super) fn merge_at(plan: &TextPlan, index: usize) -> Option<&FinisherMerge> {
    match &plan.planned.get(index)?.plan {
        Plan::FinisherMerge(plan) => Some(plan),
        _ => None,
    }
}

/// Whether the statement at an index of a text writes what the finisher finds.
pub(super) fn writes_at(plan: &TextPlan, index: usize) -> bool {
    write_at(plan, index).is_some() || merge_at(plan, index).is_some()
}

/// The query over the rows that a statement returns which writes what the finisher finds.
pub(super) fn returned_at(plan: &TextPlan, index: usize) -> Option<&FinisherQuery> {
    write_at(plan, index)?.returning.as_ref()
}

/// Whether the server does the statement at an index of a text, and the finisher evaluates what it
/// returns.
pub(super) fn is_returned(plan: &TextPlan, index: usize) -> bool {
    query_at(plan, index).is_some_and(|query| query.returned_by.is_some())
}

/// The cursor that a statement declares, if its rows are kept.
pub(super) fn kept_at(plan: &TextPlan, index: usize) -> Option<&KeptCursor> {
    plan.effects(index)?
        .objects
        .iter()
        .find_map(|effect| match effect {
            ObjectEffect::Keeps(kept) => Some(kept),
            _ => None,
        })
}

/// How a statement moves a cursor whose rows are kept.
pub(super) fn scroll_at(plan: &TextPlan, index: usize) -> Option<&Scroll> {
    plan.effects(index)?.scroll()
}

/// The formats in which to ask for the columns of the fetch.
pub(super) fn formats(query: &FinisherQuery) -> Vec<i16> {
    let mut formats = vec![1; query.fetch.outputs.len()];
    for column in query.columns() {
        if column.element == Element::Text {
            formats[column.output] = 0;
        }
    }
    formats
}

fn query_of(plan: &TextPlan, index: usize, is_returned: bool) -> Option<&FinisherQuery> {
    match is_returned {
        false => query_at(plan, index),
        true => returned_at(plan, index),
    }
}

impl Gathering {
    /// The query that gets the rows.
    pub(super) fn query(&self) -> Result<&FinisherQuery, StatementError> {
        self.find().ok_or_else(StatementError::other_plan)
    }

    fn find(&self) -> Option<&FinisherQuery> {
        query_of(&self.statement.plan, self.index, self.is_returned)
    }

    /// What the client is told that was done, if the rows are what a statement returns.
    pub(super) fn returned_by(&self) -> Option<&'static str> {
        self.find()?.returned_by
    }

    /// The same for the rows that the statement returns which writes what was found.
    pub(super) fn of_returned(self) -> Self {
        Self {
            arrays: Vec::new(),
            fetched: 0,
            formats: None,
            is_returned: true,
            ..self
        }
    }

    /// Takes the RowDescription of the fetch.
    pub(super) fn columns(&mut self, body: &[u8]) -> Result<(), RowError> {
        let fields = backend::read_row_description(body)?;
        let query = self.query()?;
        if fields.len() != query.fetch.outputs.len() {
            return Err(StatementError::other_columns().into());
        }
        let arrays = query.columns().map(|column| {
            let oid = result_type(column.element, fields[column.output].type_oid);
            let array = oid.map(ArrayBuilder::new);
            array.ok_or_else(StatementError::other_columns)
        });
        match arrays.collect() {
            Ok(arrays) => self.arrays = arrays,
            Err(failure) => self.failure = Some(failure),
        }
        Ok(())
    }

    /// Takes the row without content of a query that has no relation.
    pub(super) fn take_no_row(&mut self) {
        let mut array = ArrayBuilder::new(values::oid(LogicalType::Integer));
        let Ok(()) = array.push::<Infallible>(4, |out| {
            out.extend_from_slice(&1_i32.to_be_bytes());
            Ok(true)
        });
        self.arrays = vec![array];
    }

    /// Takes a row of the fetch.
    pub(super) fn row(&mut self, body: &[u8], context: &TextContext) -> Result<(), RowError> {
        self.fetched += 1;
        if self.failure.is_some() {
            return Ok(());
        }
        let row: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        match self.take(&row, context) {
            Err(failure) if failure.ends_session => return Err(failure.into()),
            taken => self.failure = taken.err(),
        }
        Ok(())
    }

    fn take(&mut self, row: &[Option<&[u8]>], context: &TextContext) -> Result<(), StatementError> {
        if self.fetched > self.limits.rows_max {
            return Err(self.too_many_rows());
        }
        let plan = &self.statement.plan;
        let query = query_of(plan, self.index, self.is_returned);
        let query = query.ok_or_else(StatementError::other_plan)?;
        if row.len() != query.fetch.outputs.len() {
            return Err(StatementError::other_columns());
        }
        let (columns, start) = relation_of(query, row).ok_or_else(StatementError::other_columns)?;
        let end = start + columns.len();
        let arrays = self
            .arrays
            .get_mut(start..end)
            .ok_or_else(StatementError::other_columns)?;
        for (column, array) in columns.iter().zip(arrays) {
            let value = row[column.output];
            // The binary form of a value may be longer than its sealed one by some bytes.
            let size = value.map_or(0, |value| 2 * value.len() + 64);
            let kind = query.fetch.outputs[column.output].kind;
            array.push(size, |out| write_element(plan, kind, value, context, out))?;
        }
        let size: usize = self.arrays.iter().map(ArrayBuilder::size).sum();
        match size <= self.limits.bytes_max {
            true => Ok(()),
            false => Err(self.too_many_bytes()),
        }
    }

    /// Whether rows have arrays: only PostgreSQL knows their texts.
    pub(super) fn asks(&self) -> bool {
        let mut columns = self.find().into_iter().flat_map(FinisherQuery::columns);
        self.failure.is_none()
            && columns.any(|column| matches!(column.element, Element::Opened(own) if is_array(own)))
    }

    /// Has a context note the arrays of a row.
    pub(super) fn note_texts(&self, body: &[u8], context: &TextContext) -> Result<(), Malformed> {
        let plan = &self.statement.plan;
        let row: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        let columns = self
            .find()
            .and_then(|query| Some((query, relation_of(query, &row)?.0)));
        let Some((query, columns)) = columns else {
            return Ok(());
        };
        let mut written = Vec::new();
        for column in columns {
            if matches!(column.element, Element::Opened(own) if is_array(own)) {
                written.clear();
                let value = row.get(column.output).copied().flatten();
                // An error comes again when the row is taken.
                let kind = query.fetch.outputs[column.output].kind;
                let _ = write_element(plan, kind, value, context, &mut written);
            }
        }
        Ok(())
    }

    /// Ends the fetch. Returns what the finisher executes.
    ///
    /// # Errors
    /// What went wrong first.
    pub(super) fn end(&mut self) -> Result<FinisherExecution, StatementError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.fetched > self.limits.rows_max {
            return Err(self.too_many_rows());
        }
        let bind = self.bind.bind();
        let (mut formats, mut values) = self.parameters(self.query()?.parameters);
        for array in std::mem::take(&mut self.arrays) {
            formats.push(1);
            values.push(Some(array.into_value()));
        }
        Ok(FinisherExecution {
            formats,
            values,
            result_formats: match &self.formats {
                None => bind.result_formats.iter().collect(),
                Some(formats) => formats.clone(),
            },
            answer_size_max: self.limits.bytes_max,
        })
    }

    /// The formats and values of the client's parameters, of so many.
    pub(super) fn parameters(&self, count: usize) -> (Vec<i16>, Vec<Option<Vec<u8>>>) {
        let bind = self.bind.bind();
        let all = bind.parameters.iter().enumerate().take(count);
        let all = all.map(|(number, value)| (bind.formats.of(number), value.map(<[u8]>::to_vec)));
        all.unzip()
    }

    fn too_many_rows(&self) -> StatementError {
        let rows_max = self.limits.rows_max;
        StatementError::limit(format!(
            "the query needs more than {rows_max} rows to be answered outside of the server"
        ))
        .hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_rows.",
        )
    }

    pub(super) fn too_many_bytes(&self) -> StatementError {
        let bytes_max = self.limits.bytes_max;
        StatementError::limit(format!(
            "the query needs more than {bytes_max} bytes to be answered outside of the server"
        ))
        .hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_bytes.",
        )
    }
}

/// Types whose values have the text that the server's own catalogues give them (`pg_type.dat`):
/// `regclass` and its kin, `aclitem`, and the arrays of each.
const OF_CATALOGUE: [u32; 24] = [
    24, 1008, 1033, 1034, 2202, 2203, 2204, 2205, 2206, 2207, 2208, 2209, 2210, 2211, 3734, 3735,
    3769, 3770, 4089, 4090, 4096, 4097, 4191, 4192,
];

/// The type of the elements of an array, given that of the column that the server returns. None: it
/// is one of users, and no enumeration.
pub(super) fn result_type(element: Element, type_oid: u32) -> Option<u32> {
    let oid = match element {
        Element::Opened(logical) if is_array(logical) => values::TEXT,
        Element::Opened(logical) => values::oid(logical),
        Element::Text => values::TEXT,
        Element::Binary => type_oid,
    };
    let is_known = (oid < FIRST_OF_USERS && !OF_CATALOGUE.contains(&oid))
        || OpaqueType::of_oid(oid, -1).is_some();
    is_known.then_some(oid)
}

/// Whether values are arrays: these become no array of arrays, but texts.
pub(super) fn is_array(logical: LogicalType) -> bool {
    logical.opaque().is_some_and(OpaqueType::is_array)
}

/// The columns of the relation that a row belongs to, and the index of their first array.
fn relation_of<'q>(
    query: &'q FinisherQuery,
    row: &[Option<&[u8]>],
) -> Option<(&'q [FetchedColumnPlan], usize)> {
    let index = match query.has_index {
        false => 0,
        true => {
            let bytes: &[u8] = row.first().copied()??;
            let index: [u8; 4] = bytes.try_into().ok()?;
            usize::try_from(i32::from_be_bytes(index)).ok()?
        }
    };
    let before = query.relations.get(..index)?.iter();
    let start = before.map(|relation| relation.columns.len()).sum();
    Some((&query.relations.get(index)?.columns, start))
}

/// Writes an element of the array of a column. False: it is NULL.
///
/// # Errors
/// It does not open, or its text is not known.
pub(super) fn write_element(
    plan: &TextPlan,
    kind: OutputKind,
    value: Option<&[u8]>,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, StatementError> {
    let Some(bytes) = value else {
        return Ok(false);
    };
    let OutputKind::Sealed(id) = kind else {
        out.extend_from_slice(bytes);
        return Ok(true);
    };
    let unopened = |_| StatementError::unopened(plan.loaded.schema.column(id));
    let Some(value) = plan.loaded.sealer.open(id, bytes).map_err(unopened)? else {
        return Ok(false);
    };
    let logical = plan.loaded.schema.column(id).logical;
    if let (Value::Opaque(bytes), LogicalType::Opaque(opaque)) = (&value, logical)
        && opaque.is_array()
    {
        out.extend_from_slice(context.opaque.exact_text(opaque, bytes)?);
        return Ok(true);
    }
    FormatCode::BINARY.write(&value, logical, context, out)?;
    Ok(true)
}
