//! The answer to a query, built incrementally: fetched rows in, written rows out.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::fmt;

use column_value::{Value, ValueError};
use semantics_postgres::{TextContext, compare, compare_char};
use sqlstate::SqlState;

use crate::equal;
use crate::error::FinishError;
use crate::evaluate::{Cell, Row};
use crate::expression::{Ready, error, known};
use crate::groups::Groups;
use crate::program::{Program, Projected, SortKey};
use crate::row_writer::{Field, RowWriter};

/// Approximate memory of a row in addition to its bytes.
const ROW_SIZE: usize = 64;
/// With a LIMIT, this many additional rows are kept before the surplus is dropped.
const SPARE_ROWS: usize = 1000;

/// Resource limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of fetched rows.
    pub rows_max: usize,
    /// Approximate maximum of bytes kept at a time.
    pub bytes_max: usize,
}

/// The result of [`Answer::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The number of rows.
    pub rows: u64,
    /// Whether the answer is complete and no row is left.
    pub is_last: bool,
}

/// An answer in progress. Its `Debug` shows no content.
pub struct Answer<W> {
    program: Program,
    writer: W,
    limits: Limits,
    fetched: usize,
    groups: Option<Groups>,
    /// Rows seen so far, for DISTINCT.
    seen: HashSet<Box<[u8]>>,
    /// Rows to be sorted.
    kept: Vec<Kept>,
    /// Rows ready to be taken.
    ready: VecDeque<Vec<u8>>,
    /// Approximate bytes in `seen`, `kept` and `ready`.
    size: usize,
    /// Rows still to be skipped for OFFSET.
    offset: usize,
    /// Rows still to be returned; `None`: all.
    limit: Option<usize>,
    has_ended: bool,
}

struct Kept {
    keys: Vec<Option<Value>>,
    /// The row in the writer's format.
    written: Vec<u8>,
}

impl Kept {
    fn size(&self) -> usize {
        let keys = self.keys.iter();
        let keys = keys.map(|key| key.as_ref().map_or(size_of::<Value>(), equal::size));
        ROW_SIZE + self.written.len() + keys.sum::<usize>()
    }
}

impl<W> fmt::Debug for Answer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

impl<W: RowWriter> Answer<W> {
    /// Approximate bytes that it keeps.
    pub fn size(&self) -> usize {
        self.size
    }

    /// An empty answer.
    ///
    /// # Errors
    ///
    /// If LIMIT or OFFSET is negative.
    pub fn new(
        program: Program,
        writer: W,
        limits: Limits,
        context: &TextContext,
    ) -> Result<Self, ValueError> {
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
            writer,
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

    /// The program that is computed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The writer of its rows.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Counts values of other rows that came with a row.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub fn count(&mut self, rows: usize) -> Result<(), FinishError> {
        self.fetched = self.fetched.saturating_add(rows);
        match self.fetched > self.limits.rows_max {
            true => Err(self.too_many_rows()),
            false => Ok(()),
        }
    }

    /// Processes a fetched row.
    ///
    /// # Errors
    ///
    /// The server's error for this row, or too many rows.
    pub fn push(&mut self, cells: &[Cell<'_>], context: &TextContext) -> Result<(), FinishError> {
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

    /// Signals that all rows have been fetched.
    ///
    /// # Errors
    ///
    /// The server's error for a group.
    pub fn end(&mut self, context: &TextContext) -> Result<(), FinishError> {
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
            self.give(kept.written);
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

    /// Writes rows that are ready, at most `rows_max`; `None`: all.
    pub fn take(&mut self, rows_max: Option<usize>, out: &mut Vec<u8>) -> Taken {
        let rows = self.ready.len().min(rows_max.unwrap_or(usize::MAX));
        for written in self.ready.drain(..rows) {
            self.size -= ROW_SIZE + written.len();
            out.extend_from_slice(&written);
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

    /// Whether no further row can change the answer.
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

    /// Adds a row to the answer, unless DISTINCT has seen it.
    fn emit(&mut self, row: &Row<'_>) -> Result<(), ValueError> {
        if self.program.is_distinct && !self.is_new(row)? {
            return Ok(());
        }
        let written = self.write(row)?;
        let sorts = &self.program.sorts;
        if sorts.is_empty() {
            self.give(written);
            return Ok(());
        }
        let keys = sorts.iter().map(|sort| sort.value.owned(row));
        let keys = keys.collect::<Result<_, _>>()?;
        let kept = Kept { keys, written };
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

    fn write(&self, row: &Row<'_>) -> Result<Vec<u8>, ValueError> {
        let fields = self.program.project.iter();
        let fields = fields.map(|projected| field(projected, row));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let mut written = Vec::new();
        self.writer.write(&fields, row.context, &mut written)?;
        Ok(written)
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

    /// Outputs the next row of the answer, in order.
    fn give(&mut self, written: Vec<u8>) {
        if self.offset > 0 {
            self.offset -= 1;
            return;
        }
        match &mut self.limit {
            Some(0) => return,
            Some(limit) => *limit -= 1,
            None => {}
        }
        self.size += ROW_SIZE + written.len();
        self.ready.push_back(written);
    }

    fn sort(&mut self) {
        let sorts = &self.program.sorts;
        self.kept
            .sort_by(|one, other| order(sorts, &one.keys, &other.keys));
    }

    fn check_size(&self) -> Result<(), FinishError> {
        let groups = self.groups.as_ref().map_or(0, |groups| groups.size);
        if self.size + groups <= self.limits.bytes_max {
            return Ok(());
        }
        Err(FinishError::TooManyBytes(self.limits.bytes_max))
    }

    fn too_many_rows(&self) -> FinishError {
        FinishError::TooManyRows(self.limits.rows_max)
    }
}

fn bound(
    ready: &Ready,
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
                // All keys of a column have the same type.
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

/// A field of a row of the answer.
fn field<'a>(projected: &'a Projected, row: &Row<'a>) -> Result<Field<'a>, ValueError> {
    if let Some(column) = projected.passed {
        return Ok(match row.columns.get(column) {
            Some(Cell::Raw(bytes)) => Field::Passed(bytes),
            _ => Field::Null,
        });
    }
    Ok(match projected.value.value(row)? {
        Some(value) => Field::Value(value, known(projected.value.logical)?),
        None => Field::Null,
    })
}
