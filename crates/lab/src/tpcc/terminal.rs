//! The seam of `tpcc`: what an engine must do for a terminal, and how its rows are read.

use std::fmt;
use std::path::Path;

use workloads::tpcc::Isolation;
use workloads::tpcc::population::Row;
use workloads::tpcc::schema::Table;
use workloads::tpcc::statements::Statement;
use workloads::tpcc::value::{Decimal, Value};

use crate::engine::EngineError;

/// An engine that terminals can work at.
pub trait Terminals {
    /// Connects a terminal to the database in the folder.
    ///
    /// # Errors
    /// When it cannot be connected.
    fn open_terminal(
        &self,
        folder: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError>;

    /// The process that stands between the terminals and the server, if one does.
    fn proxy(&self) -> Option<i32> {
        None
    }

    /// Does what the server would else do some time after the tables were filled.
    ///
    /// # Errors
    /// When the server refuses.
    fn settle(&self) -> Result<(), EngineError>;

    /// Size of the database, as the server says.
    ///
    /// # Errors
    /// When the server does not say.
    fn database_bytes(&self) -> Result<u64, EngineError>;
}

/// A connection that knows the statements of `tpcc`.
///
/// A transaction begins with the first statement after the end of the last.
pub trait Terminal: Send {
    /// Runs a statement that defines something, by itself.
    ///
    /// # Errors
    /// When it fails.
    fn define(&mut self, statement: &str) -> Result<(), EngineError>;

    /// Inserts rows.
    ///
    /// # Errors
    /// When it fails.
    fn insert(&mut self, table: &Table, rows: &[Row]) -> Result<(), EngineError>;

    /// Runs statements, at once where the engine can, and gives their rows.
    ///
    /// # Errors
    /// When one fails; those after it are not run.
    fn run(&mut self, calls: &[Call<'_>], replies: &mut Replies) -> Result<(), EngineError>;

    /// Ends the transaction.
    ///
    /// # Errors
    /// When it could not be committed.
    fn commit(&mut self) -> Result<(), EngineError>;

    /// Ends the transaction without a trace.
    ///
    /// # Errors
    /// When the connection is lost.
    fn rollback(&mut self) -> Result<(), EngineError>;

    /// Disconnects.
    ///
    /// # Errors
    /// When the server was gone already.
    fn close(self: Box<Self>) -> Result<(), EngineError>;
}

/// A statement with values for its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Which.
    pub statement: Statement,
    /// A value for each parameter.
    pub parameters: &'a [Value<'a>],
}

/// What the statements of one batch have answered. It is used again for the next.
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
    /// A part of all texts.
    Text {
        start: usize,
        end: usize,
    },
}

#[derive(Debug, Clone, Copy)]
struct End {
    statement: Statement,
    first_cell: usize,
    /// Rows that it changed, once it has ended.
    changed: Option<u64>,
}

impl Replies {
    /// Forgets what the last batch answered.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cells.clear();
        self.ends.clear();
    }

    /// Begins the answer of a statement.
    pub fn begin(&mut self, statement: Statement) {
        self.ends.push(End {
            statement,
            first_cell: self.cells.len(),
            changed: None,
        });
    }

    /// The next cell is NULL.
    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// The next cell is a whole number.
    pub fn push_integer(&mut self, number: i64) {
        self.cells.push(Cell::Integer(number));
    }

    /// The next cell is a binary number.
    pub fn push_float(&mut self, number: f64) {
        self.cells.push(Cell::Float(number));
    }

    /// The next cell is a text, or a number or a time as a text.
    pub fn push_text(&mut self, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        let end = self.text.len();
        self.cells.push(Cell::Text { start, end });
    }

    /// The statement has ended, and has changed so many rows.
    pub fn end(&mut self, rows: u64) {
        if let Some(end) = self.ends.last_mut() {
            end.changed = Some(rows);
        }
    }

    /// How many statements have been answered whole.
    pub fn count(&self) -> usize {
        self.ends.iter().filter(|end| end.changed.is_some()).count()
    }

    /// What the statement of that place, from 0, has answered.
    pub fn of(&self, place: usize) -> Reply<'_> {
        let end = self.ends.get(place).copied();
        let next = self
            .ends
            .get(place + 1)
            .map_or(self.cells.len(), |end| end.first_cell);
        Reply {
            statement: end.map(|end| end.statement),
            text: &self.text,
            cells: end.map_or(&[], |end| &self.cells[end.first_cell..next]),
            changed: end.and_then(|end| end.changed).unwrap_or(0),
        }
    }
}

/// What one statement has answered.
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

    /// How many rows it gave.
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns()
    }

    /// An answer that is not what the statement is for.
    pub fn odd(&self, words: impl fmt::Display) -> EngineError {
        let statement = self.statement.map_or("", |statement| statement.text().sql);
        EngineError::Statement {
            number: 1,
            statement: statement.to_owned(),
            source: format!("it answered {words}").into(),
        }
    }

    /// # Errors
    /// When it gave any other number of rows than one.
    pub fn only_row(self) -> Result<Self, EngineError> {
        match self.rows() {
            1 => Ok(self),
            rows => Err(self.odd(format_args!("{rows} rows instead of one"))),
        }
    }

    /// # Errors
    /// When it changed any other number of rows than one.
    pub fn changed_one(self) -> Result<(), EngineError> {
        match self.changed {
            1 => Ok(()),
            rows => Err(self.odd(format_args!("that it changed {rows} rows instead of one"))),
        }
    }

    /// # Errors
    /// When it changed no row.
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

    /// A number of a row.
    ///
    /// # Errors
    /// When it is none.
    pub fn integer(&self, row: usize, column: usize) -> Result<u32, EngineError> {
        let number = self.integer_or_null(row, column)?;
        number.ok_or_else(|| self.expected(column, "whole number"))
    }

    /// A number of a row, or NULL.
    ///
    /// # Errors
    /// When it is something else.
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

    /// A binary number of a row.
    ///
    /// # Errors
    /// When it is none.
    pub fn float(&self, row: usize, column: usize) -> Result<f64, EngineError> {
        match self.cell(row, column)? {
            Cell::Float(number) => Ok(number),
            _ => Err(self.expected(column, "binary number")),
        }
    }

    /// Whether a value is NULL.
    ///
    /// # Errors
    /// When it is not there.
    pub fn is_null(&self, row: usize, column: usize) -> Result<bool, EngineError> {
        Ok(matches!(self.cell(row, column)?, Cell::Null))
    }

    /// A text of a row.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self, row: usize, column: usize) -> Result<&'a str, EngineError> {
        match self.cell(row, column)? {
            Cell::Text { start, end } => std::str::from_utf8(&self.text[start..end])
                .map_err(|_| self.expected(column, "text in UTF-8")),
            _ => Err(self.expected(column, "text")),
        }
    }

    /// The digits of a decimal number of a row, of which so many stand behind the point.
    ///
    /// # Errors
    /// When it is none, or has more of them.
    pub fn digits(&self, row: usize, column: usize, scale: u8) -> Result<i64, EngineError> {
        let text = self.text(row, column)?;
        Decimal::parse(text, scale)
            .map(|decimal| decimal.digits)
            .ok_or_else(|| self.expected(column, "decimal number of its scale"))
    }

    /// A sum of money, in cents.
    ///
    /// # Errors
    /// When it is none.
    pub fn cents(&self, row: usize, column: usize) -> Result<i64, EngineError> {
        self.digits(row, column, 2)
    }
}
