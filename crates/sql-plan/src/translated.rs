//! A statement for the server: a text with holes, and what comes back.
//!
//! A [`Translated`] statement is a text with *holes*. What goes into a hole is known when the
//! statement is executed: a parameter of the client, a literal of its text, a value that was
//! computed. A protocol with parameters binds each hole as `$1`, `$2`, …; one without writes a
//! literal in its place. So a sealed literal is sealed anew each time, and no plan holds a
//! ciphertext.

use column_types::LogicalType;

use crate::{AggregateFunction, ColumnId, Source};

/// A statement for the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The text, with holes.
    pub template: Template,
    /// What fills them, by number.
    pub holes: Vec<Hole>,
    /// Columns of the rows that come back, in order. Empty: no row comes back, or rows in which
    /// nothing is sealed, and which go on as they are.
    pub outputs: Vec<Output>,
    /// For a client that asks: the type of each of its parameters, where the plan knows it
    /// (protected columns); None where the server infers it. As long as the highest `$n`.
    pub parameter_types: Vec<Option<ParameterType>>,
    /// A `SELECT … FOR UPDATE` that finds at most one row by a unique key: the row stays as
    /// it is read. Its holes are parameters and literals.
    pub locks: Option<LockKey>,
}

/// What a client is told of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A value of the type.
    One(LogicalType),
    /// An array of such values.
    Array(LogicalType),
}

/// A text with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Texts and holes in their order.
    pub pieces: Vec<Piece>,
}

/// A part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// SQL.
    Text(String),
    /// Index into [`Translated::holes`]; one hole may stand at several places.
    Hole(usize),
}

impl Template {
    /// The text with what `hole` writes for each hole.
    pub fn render(&self, mut hole: impl FnMut(usize, &mut String)) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Hole(number) => hole(*number, &mut text),
            }
        }
        text
    }
}

/// What fills a hole.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// Where the value is from.
    pub source: Source,
    /// How it goes to the server.
    pub form: Form,
}

/// How a value goes to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it is: it meets no protected column.
    Plain,
    /// Sealed for a column.
    Sealed(ColumnId, Purpose),
    /// An array of values, each sealed for a column.
    SealedArray(ColumnId, Purpose),
}

/// What a sealed value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To be stored: limits of the column's type are checked as the server would on assignment.
    Store,
    /// To be compared for equality: a value that the type cannot have matches no row.
    Match,
    /// To be compared for order: a value beyond the type's range lies beyond every stored one.
    Bound,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name that the client sees, where the server would call it otherwise.
    pub name: Option<String>,
    /// What it is.
    pub kind: OutputKind,
    /// Whether it was added by the plan, and is not for the client.
    pub hidden: bool,
}

impl Output {
    /// A column that the client sees under the name that the server gives it.
    pub const fn shown(kind: OutputKind) -> Self {
        Self {
            name: None,
            kind,
            hidden: false,
        }
    }
}

/// What a column of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// As the server gives it.
    Plain,
    /// A sealed value of this column (also after `MIN`, `MAX`, `DISTINCT` where the mode allows).
    Sealed(ColumnId),
    /// An array of sealed values of this column: what the proxy has to aggregate. Only among what
    /// is fetched for a [`Finish`].
    Gathered(ColumnId, AggregateFunction),
}

/// A row found by all columns of a unique key.
#[derive(Clone, Debug, PartialEq)]
pub struct LockKey {
    /// Schema and table.
    pub table: (String, String),
    /// Values of the key: columns by index in the table, and the hole that each is compared with.
    pub key: Vec<(usize, usize)>,
    /// Sealed columns of the row among the outputs.
    pub read: Vec<LockedColumn>,
    /// The same `SELECT` with more columns of the row, hidden from the client: the sealed numbers
    /// that the client leaves out. A session that increments one of them later need not read the
    /// row again. None: there is none to add. Its own key has none either.
    pub wider: Option<Box<Translated>>,
}

impl LockKey {
    /// Whether a sealed column of the row is read.
    pub fn reads(&self, column: ColumnId) -> bool {
        self.read.iter().any(|read| read.column == column)
    }
}

/// A sealed column of a locked row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedColumn {
    /// Which.
    pub column: ColumnId,
    /// Place among the outputs.
    pub output: usize,
}
