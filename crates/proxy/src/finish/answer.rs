//! The answer while it is made: rows in, DataRow messages out.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::fmt;

use column_types::{TextContext, Value, ValueError, compare, compare_char};
use sqlstate::SqlState;
use wire_postgres::backend::{self, kind, write_value};
use wire_postgres::values::{self, Format};

use super::equal;
use super::evaluate::{Cell, Row};
use super::expression::{error, known};
use super::groups::Groups;
use super::program::{Program, Projected, SortKey};

use crate::statement_error::StatementError;

/// Memory of a row beside its bytes, about.
const ROW_SIZE: usize = 64;
/// With a LIMIT, so many rows more than it are kept until those behind it are thrown away.
const SPARE_ROWS: usize = 1000;

/// What one query may cost the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Rows that are fetched.
    pub rows_max: usize,
    /// Bytes that are kept at a time, about.
    pub bytes_max: usize,
    /// What the query is over, for the error: the table.
    pub subject: String,
}

/// What [`Answer::take`] gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Rows.
    pub rows: u64,
    /// Whether there are none left, and all have come.
    pub is_last: bool,
}

/// An answer. Its `Debug` shows no content.
pub(crate) struct Answer {
    program: Program,
    limits: Limits,
    fetched: usize,
    groups: Option<Groups>,
    /// Of DISTINCT.
    seen: HashSet<Box<[u8]>>,
    /// Rows to be sorted.
    kept: Vec<Kept>,
    /// Messages that may leave.
    ready: VecDeque<Vec<u8>>,
    /// Bytes of `seen`, `kept` and `ready`, about.
    size: usize,
    /// Rows still to be left out for OFFSET.
    offset: usize,
    /// Rows still to be given; None: all.
    limit: Option<usize>,
    has_ended: bool,
}

struct Kept {
    keys: Vec<Option<Value>>,
    message: Vec<u8>,
}

impl Kept {
    fn size(&self) -> usize {
        let keys = self.keys.iter();
        let keys = keys.map(|key| key.as_ref().map_or(size_of::<Value>(), equal::size));
        ROW_SIZE + self.message.len() + keys.sum::<usize>()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

impl Answer {
    /// Bytes that it keeps, about.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// An answer of no rows yet.
    ///
    /// # Errors
    /// A LIMIT or OFFSET below 0.
    pub(crate) fn new(
        program: Program,
        limits: Limits,
        context: &TextContext,
    ) -> Result<Self, StatementError> {
        let row = Row {
            columns: &[],
            groups: &[],
            aggregates: &[],
            context,
        };
        let number = |ready: &Option<_>, sqlstate, name| match ready {
            Some(ready) => bound(ready, &row, sqlstate, name),
            None => Ok(None),
        };
        let offset = number(
            &program.offset,
            SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE,
            "OFFSET",
        )?;
        let limit = number(
            &program.limit,
            SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
            "LIMIT",
        )?;
        Ok(Self {
            groups: program.is_grouped.then(Groups::default),
            program,
            limits,
            fetched: 0,
            seen: HashSet::new(),
            kept: Vec::new(),
            ready: VecDeque::new(),
            size: 0,
            offset: offset.unwrap_or(0),
            limit,
            has_ended: false,
        })
    }

    /// What is computed.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Counts values of other rows that came with a row.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn count(&mut self, rows: usize) -> Result<(), StatementError> {
        self.fetched = self.fetched.saturating_add(rows);
        match self.fetched > self.limits.rows_max {
            true => Err(self.too_many_rows()),
            false => Ok(()),
        }
    }

    /// Takes a fetched row.
    ///
    /// # Errors
    /// As the server, over this row; or there are too many.
    pub(crate) fn push(
        &mut self,
        cells: &[Cell<'_>],
        context: &TextContext,
    ) -> Result<(), StatementError> {
        if self.is_satisfied() {
            return Ok(());
        }
        self.fetched += 1;
        if self.fetched > self.limits.rows_max {
            return Err(self.too_many_rows());
        }
        let row = Row {
            columns: cells,
            groups: &[],
            aggregates: &[],
            context,
        };
        self.take_row(&row)?;
        self.check_size()
    }

    /// No row comes any more.
    ///
    /// # Errors
    /// As the server, over a group.
    pub(crate) fn end(&mut self, context: &TextContext) -> Result<(), StatementError> {
        if let Some(groups) = self.groups.take() {
            let mut finished = Vec::new();
            for group in groups.finish(&self.program) {
                finished.push(group?);
            }
            for (keys, aggregates) in finished {
                let row = Row {
                    columns: &[],
                    groups: &keys,
                    aggregates: &aggregates,
                    context,
                };
                self.take_group(&row)?;
                self.check_size()?;
            }
        }
        self.sort();
        for kept in std::mem::take(&mut self.kept) {
            self.size -= kept.size();
            self.give(kept.message);
        }
        self.size -= self
            .seen
            .iter()
            .map(|key| ROW_SIZE + key.len())
            .sum::<usize>();
        self.seen = HashSet::new();
        self.has_ended = true;
        Ok(())
    }

    /// Writes rows of the answer that are ready, at most so many; None: all.
    pub(crate) fn take(&mut self, rows_max: Option<usize>, out: &mut Vec<u8>) -> Taken {
        let rows = self.ready.len().min(rows_max.unwrap_or(usize::MAX));
        for message in self.ready.drain(..rows) {
            self.size -= ROW_SIZE + message.len();
            out.extend_from_slice(&message);
        }
        Taken {
            rows: rows as u64,
            is_last: self.has_ended && self.ready.is_empty(),
        }
    }

    #[cfg(test)]
    pub(crate) fn size_is_zero(&self) -> bool {
        self.size == 0
    }

    /// Whether no row that comes can change the answer.
    fn is_satisfied(&self) -> bool {
        let comes_at_once = self.groups.is_none() && self.program.sorts.is_empty();
        comes_at_once && self.limit == Some(0)
    }

    fn take_row(&mut self, row: &Row<'_>) -> Result<(), ValueError> {
        if let Some(filter) = &self.program.filter
            && !filter.is_true(row)?
        {
            return Ok(());
        }
        match &mut self.groups {
            Some(groups) => groups.add(&self.program, row),
            None => self.emit(row),
        }
    }

    fn take_group(&mut self, row: &Row<'_>) -> Result<(), ValueError> {
        if let Some(having) = &self.program.having
            && !having.is_true(row)?
        {
            return Ok(());
        }
        self.emit(row)
    }

    /// A row of the answer, unless DISTINCT has seen it.
    fn emit(&mut self, row: &Row<'_>) -> Result<(), ValueError> {
        if self.program.is_distinct && !self.is_new(row)? {
            return Ok(());
        }
        let message = write_row(&self.program.project, row)?;
        let sorts = &self.program.sorts;
        if sorts.is_empty() {
            self.give(message);
            return Ok(());
        }
        let keys = sorts.iter().map(|sort| sort.value.owned(row));
        let keys = keys.collect::<Result<_, _>>()?;
        let kept = Kept { keys, message };
        self.size += kept.size();
        self.kept.push(kept);
        if let Some(limit) = self.limit {
            let wanted = limit.saturating_add(self.offset);
            if self.kept.len() >= wanted.saturating_add(SPARE_ROWS) {
                self.sort();
                for kept in self.kept.drain(wanted..) {
                    self.size -= kept.size();
                }
            }
        }
        Ok(())
    }

    fn is_new(&mut self, row: &Row<'_>) -> Result<bool, ValueError> {
        let mut key = Vec::new();
        for projected in &self.program.project {
            let value = projected.value.value(row)?;
            equal::append(value.as_deref(), known(projected.value.logical)?, &mut key)?;
        }
        if self.seen.contains(&*key) {
            return Ok(false);
        }
        self.size += ROW_SIZE + key.len();
        self.seen.insert(key.into());
        Ok(true)
    }

    /// The next row of the answer, in its order.
    fn give(&mut self, message: Vec<u8>) {
        if self.offset > 0 {
            self.offset -= 1;
            return;
        }
        match &mut self.limit {
            Some(0) => return,
            Some(limit) => *limit -= 1,
            None => {}
        }
        self.size += ROW_SIZE + message.len();
        self.ready.push_back(message);
    }

    fn sort(&mut self) {
        let sorts = &self.program.sorts;
        self.kept
            .sort_by(|one, other| order(sorts, &one.keys, &other.keys));
    }

    fn check_size(&self) -> Result<(), StatementError> {
        let groups = self.groups.as_ref().map_or(0, |groups| groups.size);
        if self.size + groups <= self.limits.bytes_max {
            return Ok(());
        }
        let Limits {
            bytes_max, subject, ..
        } = &self.limits;
        let message = format!(
            "a query over {subject} keeps more than {bytes_max} bytes in the proxy to be finished"
        );
        Err(StatementError::limit(message).hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_bytes.",
        ))
    }

    fn too_many_rows(&self) -> StatementError {
        let Limits {
            rows_max, subject, ..
        } = &self.limits;
        let message = format!(
            "a query over {subject} fetches more than {rows_max} rows to be finished by the proxy"
        );
        StatementError::limit(message).hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_rows.",
        )
    }
}

fn bound(
    ready: &super::Ready,
    row: &Row<'_>,
    sqlstate: SqlState,
    name: &str,
) -> Result<Option<usize>, ValueError> {
    match ready.owned(row)? {
        None => Ok(None),
        Some(Value::Integer(number)) => match usize::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(error(sqlstate, format!("{name} must not be negative"))),
        },
        Some(_) => Err(error(
            SqlState::DATATYPE_MISMATCH,
            format!("argument of {name} must be bigint"),
        )),
    }
}

fn order(sorts: &[SortKey], one: &[Option<Value>], other: &[Option<Value>]) -> Ordering {
    for (sort, (one, other)) in sorts.iter().zip(one.iter().zip(other)) {
        let nulls = if sort.nulls_first {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        let order = match (one, other) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => nulls,
            (Some(_), None) => nulls.reverse(),
            (Some(one), Some(other)) => {
                let compare = if sort.is_char { compare_char } else { compare };
                // Keys of one column are of one type.
                let order = compare(one, other).unwrap_or(Ordering::Equal);
                if sort.descending {
                    order.reverse()
                } else {
                    order
                }
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// The message of a row of the answer.
fn write_row(project: &[Projected], row: &Row<'_>) -> Result<Vec<u8>, ValueError> {
    let mut message = Vec::new();
    let mut result = Ok(());
    backend::write(kind::DATA_ROW, &mut message, |out| {
        out.extend_from_slice(&backend::count(project.len()));
        for projected in project {
            result = write_value(out, |out| write_field(projected, row, out));
            if result.is_err() {
                return;
            }
        }
    });
    result.map(|()| message)
}

fn write_field(
    projected: &Projected,
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    if let Some(column) = projected.passed {
        return Ok(match row.columns.get(column) {
            Some(Cell::Raw(bytes)) => {
                out.extend_from_slice(bytes);
                true
            }
            _ => false,
        });
    }
    let Some(value) = projected.value.value(row)? else {
        return Ok(false);
    };
    let logical = known(projected.value.logical)?;
    let format = Format::of_code(projected.format).ok_or_else(|| {
        let code = projected.format;
        error(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("unsupported format code: {code}"),
        )
    })?;
    values::write(&value, logical, format, row.context, out)?;
    Ok(true)
}
