//! The interface that an engine implements for terminals of `tpcc`, and accessors for its rows.

use std::fmt;
use std::path::Path;

use workloads::tpcc::Isolation;
use workloads::tpcc::population::Row;
use workloads::tpcc::schema::{INDEX, TABLES, Table};
use workloads::tpcc::statements::Statement;
use workloads::tpcc::value::{Decimal, Value};

use crate::engine::error::EngineError;

/// An engine that terminals can use.
pub trait Terminals {
    /// Connects a terminal to the database in the folder.
    ///
    /// # Errors
    ///
    /// If it cannot be connected.
    fn open_terminal(
        &self,
        folder: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError>;

    /// The process of the proxy between terminals and server, if there is one.
    fn proxy(&self) -> Option<i32> {
        None
    }

    /// Gathers the statistics by which the server chooses indexes of a table.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    fn gather_statistics(&self, table: &str) -> Result<(), EngineError>;

    /// Does the maintenance that the server would otherwise do some time after the tables were
    /// filled, and has it store rows closely that came in another order than that of their keys.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    fn settle(&self) -> Result<(), EngineError>;

    /// Size of the database, as reported by the server.
    ///
    /// # Errors
    ///
    /// If the server does not report it.
    fn database_bytes(&self) -> Result<u64, EngineError>;
}

/// A connection with the prepared statements of `tpcc`.
///
/// A transaction begins with the first statement after the end of the last one.
pub trait Terminal: Send {
    /// Runs a single DDL statement.
    ///
    /// # Errors
    ///
    /// If it fails.
    fn define(&mut self, statement: &str) -> Result<(), EngineError>;

    /// Creates the tables with their indexes.
    ///
    /// # Errors
    ///
    /// If it fails.
    fn define_tables(&mut self) -> Result<(), EngineError> {
        for table in &TABLES {
            self.define(&table.ddl())?;
        }
        self.define(INDEX)
    }

    /// Inserts rows.
    ///
    /// # Errors
    /// When it fails.
    fn insert(&mut self, table: &Table, rows: &[Row]) -> Result<(), EngineError>;

    /// Runs statements, in one batch if the engine supports it, and returns their rows.
    ///
    /// # Errors
    ///
    /// If one fails; those after it are not run.
    fn run(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), EngineError>;

    /// Commits the transaction.
    ///
    /// # Errors
    ///
    /// If it could not be committed.
    fn commit(&mut self) -> Result<(), EngineError>;

    /// Rolls the transaction back.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    fn rollback(&mut self) -> Result<(), EngineError>;

    /// Disconnects.
    ///
    /// # Errors
    ///
    /// If the server was already gone.
    fn close(self: Box<Self>) -> Result<(), EngineError>;
}

/// A statement with values for its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The statement.
    pub statement: Statement,
    /// A value for each parameter.
    pub parameters: &'a [Value<'a>],
}

/// The replies to the statements of one batch; reused for the next batch.
#[derive(Debug, Default)]
pub struct Replies {
    text: Vec<u8>,
    cells: Vec<Cell>,
    ends: Vec<End>,
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Float(f64),
    /// A range of the common text buffer.
    Text {
        start: usize,
        end: usize,
    },
}

#[derive(Debug, Clone, Copy)]
struct End {
    statement: Statement,
    first_cell: usize,
    /// The number of rows it changed, once it has ended.
    changed: Option<u64>,
}

impl Replies {
    /// Clears the replies of the last batch.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cells.clear();
        self.ends.clear();
    }

    /// Starts the reply of a statement.
    pub fn begin(&mut self, statement: Statement) {
        self.ends.push(End {
            statement,
            first_cell: self.cells.len(),
            changed: None,
        });
    }

    /// Adds NULL as the next cell.
    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// Adds a whole number as the next cell.
    pub fn push_integer(&mut self, number: i64) {
        self.cells.push(Cell::Integer(number));
    }

    /// Adds a floating-point number as the next cell.
    pub fn push_float(&mut self, number: f64) {
        self.cells.push(Cell::Float(number));
    }

    /// Adds a text as the next cell, or the text of a number or a time.
    pub fn push_text(&mut self, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        let end = self.text.len();
        self.cells.push(Cell::Text { start, end });
    }

    /// Ends the statement, which has changed this many rows.
    pub fn end(&mut self, rows: u64) {
        if let Some(end) = self.ends.last_mut() {
            end.changed = Some(rows);
        }
    }

    /// The number of complete replies.
    pub fn count(&self) -> usize {
        self.ends.iter().filter(|end| end.changed.is_some()).count()
    }

    /// The reply of the statement with this index.
    pub fn of(&self, index: usize) -> Reply<'_> {
        let end = self.ends.get(index).copied();
        let next = self
            .ends
            .get(index + 1)
            .map_or(self.cells.len(), |end| end.first_cell);
        Reply {
            statement: end.map(|end| end.statement),
            text: &self.text,
            cells: end.map_or(&[], |end| &self.cells[end.first_cell..next]),
            changed: end.and_then(|end| end.changed).unwrap_or(0),
        }
    }
}

/// The reply to one statement.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    statement: Option<Statement>,
    text: &'a [u8],
    cells: &'a [Cell],
    changed: u64,
}

impl<'a> Reply<'a> {
    fn columns(&self) -> usize {
        let columns = self
            .statement
            .map(|statement| statement.text().results.len());
        columns.unwrap_or(0).max(1)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns()
    }

    /// The error for a reply that does not fit the statement.
    pub fn odd(&self, words: impl fmt::Display) -> EngineError {
        let statement = self.statement.map_or("", |statement| statement.text().sql);
        EngineError::Statement {
            number: 1,
            statement: statement.to_owned(),
            source: format!("it answered {words}").into(),
        }
    }

    /// Returns the reply if it has exactly one row.
    ///
    /// # Errors
    ///
    /// If it has another number of rows.
    pub fn only_row(self) -> Result<Self, EngineError> {
        match self.rows() {
            1 => Ok(self),
            rows => Err(self.odd(format_args!("{rows} rows instead of one"))),
        }
    }

    /// Checks that exactly one row was changed.
    ///
    /// # Errors
    ///
    /// If another number of rows was changed.
    pub fn changed_one(self) -> Result<(), EngineError> {
        match self.changed {
            1 => Ok(()),
            rows => Err(self.odd(format_args!("that it changed {rows} rows instead of one"))),
        }
    }

    /// Checks that a row was changed.
    ///
    /// # Errors
    ///
    /// If none was.
    pub fn changed_some(self) -> Result<(), EngineError> {
        match self.changed {
            0 => Err(self.odd("that it changed no row")),
            _ => Ok(()),
        }
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell, EngineError> {
        let cell = self.cells.get(row * self.columns() + column);
        cell.copied().ok_or_else(|| self.odd("too few values"))
    }

    fn expected(&self, column: usize, what: &str) -> EngineError {
        self.odd(format_args!("no {what} in column {}", column + 1))
    }

    /// A number in a row.
    ///
    /// # Errors
    ///
    /// If it is not a number.
    pub fn integer(&self, row: usize, column: usize) -> Result<u32, EngineError> {
        let number = self.integer_or_null(row, column)?;
        number.ok_or_else(|| self.expected(column, "whole number"))
    }

    /// A number in a row, or NULL.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn integer_or_null(&self, row: usize, column: usize) -> Result<Option<u32>, EngineError> {
        match self.cell(row, column)? {
            Cell::Integer(number) => match u32::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.expected(column, "number from 0 on")),
            },
            Cell::Null => Ok(None),
            Cell::Float(_) | Cell::Text { .. } => Err(self.expected(column, "whole number")),
        }
    }

    /// A floating-point number in a row.
    ///
    /// # Errors
    ///
    /// If it is not one.
    pub fn float(&self, row: usize, column: usize) -> Result<f64, EngineError> {
        match self.cell(row, column)? {
            Cell::Float(number) => Ok(number),
            _ => Err(self.expected(column, "binary number")),
        }
    }

    /// Whether a value is NULL.
    ///
    /// # Errors
    ///
    /// If there is no such value.
    pub fn is_null(&self, row: usize, column: usize) -> Result<bool, EngineError> {
        Ok(matches!(self.cell(row, column)?, Cell::Null))
    }

    /// A text in a row.
    ///
    /// # Errors
    ///
    /// If it is not a text.
    pub fn text(&self, row: usize, column: usize) -> Result<&'a str, EngineError> {
        match self.cell(row, column)? {
            Cell::Text { start, end } => std::str::from_utf8(&self.text[start..end])
                .map_err(|_| self.expected(column, "text in UTF-8")),
            _ => Err(self.expected(column, "text")),
        }
    }

    /// The digits of a decimal number in a row, with `scale` digits after the point.
    ///
    /// # Errors
    ///
    /// If it is not a number, or has more of them.
    pub fn digits(&self, row: usize, column: usize, scale: u8) -> Result<i64, EngineError> {
        let text = self.text(row, column)?;
        Decimal::parse(text, scale)
            .map(|decimal| decimal.digits)
            .ok_or_else(|| self.expected(column, "decimal number of its scale"))
    }

    /// An amount of money, in cents.
    ///
    /// # Errors
    ///
    /// If it is not a number.
    pub fn cents(&self, row: usize, column: usize) -> Result<i64, EngineError> {
        self.digits(row, column, 2)
    }
}
