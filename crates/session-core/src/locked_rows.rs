//! Cache of rows that the transaction has read and locked, so that new values can be computed from
//! them without reading them again.
//!
//! No other session can change a locked row, so only this session's own messages invalidate an
//! entry. They do so when they are sent, while answers to earlier messages are still to come.
//! Hence:
//!
//! 1. Messages are counted when they are sent. What a message has read is kept only if no later
//!    message may have changed it, whenever the answer comes.
//! 2. An entry is known by the values of one unique key. When a row is written by one key, entries
//!    of the same table under other keys are dropped, since they may be the same row.
//! 3. A Sync outside of a transaction block releases the locks, so it clears the cache; an error
//!    does as well, since it may end the block.

use std::collections::HashMap;

use sql_plan::{ColumnId, Effects, Form, LockKey, Plan, Purpose, TransactionEffect};
use sql_rewrite::{ProtectedColumn, Schema};

use crate::inputs::Inputs;
use crate::plans::{ServerStatement, TextPlan};
use crate::statements::Statement;
use crate::value_format::ValueFormat;

/// How many rows are kept at a time.
const ROWS_MAX: usize = 1024;
/// How many bytes of values these may have.
const BYTES_MAX: usize = 1 << 20;

/// Identifies a row by its table and the values of a unique key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowName {
    bytes: Box<[u8]>,
    /// Where the part ends that a table shares with its partitions.
    table_end: usize,
    /// Where the list of the key's columns ends.
    key_end: usize,
}

impl RowName {
    /// The row that a statement finds by its key. None: it finds none by a key, or equal keys can
    /// have different bytes.
    pub fn new<F: ValueFormat>(
        statement: &Statement,
        at: ServerStatement,
        lock: &LockKey,
        inputs: &Inputs<'_, F>,
    ) -> Option<Self> {
        let translated = statement.plan.translated(at)?;
        let schema = &statement.plan.loaded.schema;
        let columns = &schema.tables.get(&lock.table)?.columns;
        let mut bytes = origin(schema, &lock.table)?.to_vec();
        let table_end = bytes.len();
        for name in [&lock.table.0, &lock.table.1] {
            bytes.extend_from_slice(name.as_bytes());
            // No name of PostgreSQL's has a zero byte.
            bytes.push(0);
        }
        bytes.extend_from_slice(&u32::try_from(lock.key.len()).ok()?.to_be_bytes());
        for (index, _) in &lock.key {
            bytes.extend_from_slice(&u32::try_from(*index).ok()?.to_be_bytes());
        }
        let key_end = bytes.len();
        for (index, hole) in &lock.key {
            let hole = translated.holes.get(*hole)?;
            let start = bytes.len();
            bytes.extend_from_slice(&[0; 4]);
            match hole.form {
                // Equal values have equal ciphertexts: the server compares bytes, too.
                Form::Sealed(_, Purpose::Match) => {
                    let filled = statement.fill(hole, inputs, &mut bytes);
                    filled.ok().filter(|has_value| *has_value)?;
                }
                Form::Sealed(..) | Form::SealedArray(..) => return None,
                Form::Plain => {
                    let physical = columns.get(*index)?.physical?;
                    let number = statement.whole_number(hole, physical, inputs)?;
                    bytes.extend_from_slice(&number.to_be_bytes());
                }
            }
            let size = u32::try_from(bytes.len() - start - 4).ok()?;
            bytes[start..start + 4].copy_from_slice(&size.to_be_bytes());
        }
        Some(Self {
            bytes: bytes.into(),
            table_end,
            key_end,
        })
    }

    fn table(&self) -> &[u8] {
        &self.bytes[..self.table_end]
    }

    /// Table and columns of the key.
    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_end]
    }
}

/// What a table shares with its partitions, whose rows are its own: its first protected column.
fn origin(schema: &Schema, table: &(String, String)) -> Option<[u8; 4]> {
    let columns = schema.tables.get(table)?.columns.iter();
    let first = columns.filter_map(|column| column.protected).min()?;
    Some(first.0.to_be_bytes())
}

/// Sealed values by column; None: NULL.
pub type SealedColumns = Vec<(ColumnId, Option<Box<[u8]>>)>;

/// A message that reads and locks a row was sent; the row may be cached when it has come.
#[derive(Debug)]
pub struct LockedRead {
    row: RowName,
    at: u64,
    /// How many rows came.
    rows: usize,
    columns: SealedColumns,
}

impl LockedRead {
    /// Notes a row that came, with these sealed values in this format, of columns of these types.
    pub fn note_row<'v, F: ValueFormat>(
        &mut self,
        columns: impl Iterator<Item = (&'v ProtectedColumn, Option<&'v [u8]>)>,
        format: F,
    ) {
        let mut memory = Vec::new();
        let mut own = |column: &ProtectedColumn, value: Option<&[u8]>| -> Option<Box<[u8]>> {
            let sealed = format.sealed(column.server_type(), value?, &mut memory);
            // Bytes that cannot be decoded do not open later.
            Some(sealed.unwrap_or_default().into())
        };
        self.rows += 1;
        self.columns = columns
            .map(|(column, value)| (column.id, own(column, value)))
            .collect();
    }
}

/// The cache of locked rows.
#[derive(Debug, Default)]
pub struct LockedRows {
    rows: HashMap<Box<[u8]>, LockedRow>,
    /// At least as many bytes as the values of the rows have.
    bytes: usize,
    /// Counts messages that are sent.
    clock: u64,
    /// Rows read by messages up to this count are not cached.
    forgotten: u64,
    /// By table: the keys by which rows were written, and when last. An empty key: without a key.
    written: HashMap<Box<[u8]>, Vec<Written>>,
    /// Whether a transaction block is open after all messages that were sent. When unsure: no.
    in_block: bool,
}

/// A key, and when a row was last written by it.
type Written = (Box<[u8]>, u64);

#[derive(Debug)]
struct LockedRow {
    /// When the proxy last wrote a value that it computed.
    written: u64,
    /// Sealed values; None: NULL.
    columns: SealedColumns,
}

impl LockedRow {
    fn size(&self) -> usize {
        let values = self.columns.iter();
        values
            .filter_map(|(_, value)| value.as_ref())
            .map(|value| value.len())
            .sum()
    }
}

impl LockedRows {
    /// Whether a transaction block is open after all messages that were sent. When unsure: no.
    #[inline]
    pub fn is_in_block(&self) -> bool {
        self.in_block
    }

    /// Notes that a message is sent that reads and locks a row.
    pub fn begin_reading(&mut self, row: RowName) -> LockedRead {
        self.clock += 1;
        LockedRead {
            row,
            at: self.clock,
            rows: 0,
            columns: Vec::new(),
        }
    }

    /// Caches the row that such a message has read, once the answer is complete.
    pub fn keep(&mut self, reading: LockedRead) {
        let LockedRead {
            row,
            at,
            rows,
            columns,
        } = reading;
        let written = self.written.get(row.table());
        let was_written = written.is_some_and(|keys| {
            keys.iter()
                .any(|(key, when)| **key != *row.key() && *when > at)
        });
        let known = self.rows.get(&row.bytes);
        let is_older = known.is_some_and(|known| known.written > at);
        // Tables that inherit from each other may contain the same key twice.
        if rows == 1 && at > self.forgotten && !was_written && !is_older {
            self.put(row.bytes, at, columns);
        }
    }

    fn put(&mut self, row: Box<[u8]>, written: u64, columns: SealedColumns) {
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&row) {
            return self.forget();
        }
        let row_of = LockedRow { written, columns };
        self.bytes += row_of.size();
        self.rows.insert(row, row_of);
        if self.bytes > BYTES_MAX {
            // Rows that were replaced or dropped have been counted, too.
            self.bytes = self.rows.values().map(LockedRow::size).sum();
            if self.bytes > BYTES_MAX {
                self.forget();
            }
        }
    }

    /// The sealed values of these columns of a row. None: not all of them are cached.
    pub fn known(&self, row: &RowName, columns: &[ColumnId]) -> Option<Vec<Option<&[u8]>>> {
        let known = &self.rows.get(&row.bytes)?.columns;
        let value = |column: &ColumnId| {
            let found = known.iter().find(|(own, _)| own == column);
            found.map(|(_, value)| value.as_deref())
        };
        columns.iter().map(value).collect()
    }

    /// Notes that a row is written by its key, with these sealed values. Other columns are dropped.
    pub fn write_row(&mut self, row: &RowName, columns: SealedColumns) {
        self.begin_writing(row);
        self.put(row.bytes.clone(), self.clock, columns);
    }

    /// Notes that a row will be written by its key. Entries of the table under other keys are
    /// dropped: they may be the same row.
    pub fn begin_writing(&mut self, row: &RowName) {
        self.clock += 1;
        let (table, key) = (row.table(), row.key());
        self.rows
            .retain(|name, _| !name.starts_with(table) || name.starts_with(key));
        self.rows.remove(&row.bytes);
        let written = self.written.entry(table.into()).or_default();
        match written.iter_mut().find(|(known, _)| **known == *key) {
            Some((_, when)) => *when = self.clock,
            None => written.push((key.into(), self.clock)),
        }
    }

    /// Notes that any row of a table may be written.
    fn write_table(&mut self, schema: &Schema, table: &(String, String)) {
        let Some(table) = origin(schema, table) else {
            return self.forget();
        };
        self.clock += 1;
        self.rows.retain(|name, _| !name.starts_with(&table));
        self.written
            .insert(table.into(), vec![(Box::default(), self.clock)]);
    }

    /// Clears the cache.
    pub fn forget(&mut self) {
        self.clock += 1;
        self.forgotten = self.clock;
        self.rows.clear();
        self.bytes = 0;
        self.written.clear();
    }

    /// Notes that a statement is sent for which the proxy computes nothing.
    pub fn note_statement(&mut self, plan: &TextPlan, index: usize) {
        let (Some(one), Some(effects)) = (plan.planned.get(index), plan.effects(index)) else {
            return;
        };
        match effects.transaction {
            Some(TransactionEffect::Begin) => self.in_block = true,
            Some(TransactionEffect::End) => {
                self.forget();
                self.in_block = false;
            }
            Some(TransactionEffect::RollbackTo) => self.forget(),
            None if !effects.keeps_locked_rows || may_change_all(effects) => self.forget(),
            None => match (&one.plan, &effects.writes) {
                (Plan::Pass(_) | Plan::One(..), Some(table)) => {
                    self.write_table(&plan.loaded.schema, table);
                }
                (Plan::Pass(_) | Plan::One(..) | Plan::Finish(_) | Plan::Finisher(_), None) => {}
                _ => self.forget(),
            },
        }
    }

    /// Notes that Sync is sent, or the end of a Query.
    pub fn note_sync(&mut self) {
        if !self.in_block {
            self.forget();
        }
    }

    /// Notes that the server is ready. `in_block`: a transaction block is open and has not failed;
    /// `is_idle`: the server has nothing more to answer.
    pub fn note_ready(&mut self, in_block: bool, is_idle: bool) {
        if is_idle {
            self.in_block = in_block;
            if !self.in_block {
                self.forget();
            }
        }
    }

    /// Notes an error of the server: messages that were sent may not have been executed.
    pub fn note_error(&mut self) {
        self.forget();
        self.in_block = false;
    }
}

/// Whether a statement may change any row of any table.
pub fn may_change_all(effects: &Effects) -> bool {
    effects.forgets_locks || effects.changes_schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_the_cache_are_bounded_together() {
        let mut locked = LockedRows::default();
        let row = |number: u8| RowName {
            bytes: [1, 2, number].into(),
            table_end: 1,
            key_end: 2,
        };
        let columns = || vec![(ColumnId(0), Some(vec![0; BYTES_MAX / 4].into()))];
        // What is written again counts once.
        for _ in 0..20 {
            locked.write_row(&row(0), columns());
        }
        assert!(locked.known(&row(0), &[ColumnId(0)]).is_some());
        for number in 1..20 {
            locked.write_row(&row(number), columns());
            let held: usize = locked.rows.values().map(LockedRow::size).sum();
            assert!(held <= BYTES_MAX);
        }
    }
}
