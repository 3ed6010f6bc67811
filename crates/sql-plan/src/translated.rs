//! A statement for the server: a text with holes, and the columns that come back.
//!
//! A *hole* is a parameter slot of a rewritten statement. What fills it is known when the statement
//! is executed: a parameter of the client, a literal of its text, or a computed value. A protocol
//! with parameters binds each hole as `$1`, `$2`, …; one without writes a literal in its place. So
//! a literal is sealed anew for each execution, and no plan holds a ciphertext.

use column_value::LogicalType;

use crate::{AggregateFunction, ColumnId, Source};

/// How a block starts that makes a table and what belongs to it.
pub const BLOCK_START: &str = "DO $strongroom$ BEGIN";

/// How a block starts that changes a table on a condition.
pub const ALTER_BLOCK_START: &str = "DO $strongroom$ /* ALTER TABLE */ BEGIN";

/// A statement for the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The text, with holes.
    pub template: Template,
    /// What fills the holes, by index.
    pub holes: Vec<Hole>,
    /// Columns of the rows that come back, in order. Empty: no rows come back, or rows without
    /// sealed columns, which are passed on unchanged.
    pub outputs: Vec<Output>,
    /// The type of each parameter of the client, for ParameterDescription. None: the parameter
    /// meets no protected column, and the server infers its type. As long as the highest `$n`.
    pub parameter_types: Vec<Option<ParameterType>>,
    /// For a `SELECT … FOR UPDATE` that finds at most one row by a unique key: nobody else changes
    /// that row until the transaction ends. Its holes are parameters and literals.
    pub locks: Option<LockKey>,
}

impl Translated {
    /// What the client is told that was done, where the server would say otherwise.
    pub fn tag(&self) -> Option<&'static str> {
        match self.template.pieces.first() {
            Some(Piece::Text(text)) if text.starts_with(BLOCK_START) => Some("CREATE TABLE"),
            Some(Piece::Text(text)) if text.starts_with(ALTER_BLOCK_START) => Some("ALTER TABLE"),
            _ => None,
        }
    }
}

/// The type of a parameter, as a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A value of the type.
    One(LogicalType),
    /// An array of such values.
    Array(LogicalType),
    /// A value that the statement casts to the type, wherever it stands: one that the client
    /// declares to be of another type is cast first.
    Cast(LogicalType),
    /// An array of such values.
    CastArray(LogicalType),
    /// A value that the statement casts to the type at one place and not at another.
    CastInPart(LogicalType),
}

impl ParameterType {
    /// The type of the value, or of the elements of the array.
    pub fn logical(self) -> LogicalType {
        match self {
            Self::One(logical)
            | Self::Array(logical)
            | Self::Cast(logical)
            | Self::CastArray(logical)
            | Self::CastInPart(logical) => logical,
        }
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        matches!(self, Self::Array(_) | Self::CastArray(_))
    }

    /// What two places say of a parameter. None: it is an array at one of them alone.
    pub fn and(self, other: Self) -> Option<Self> {
        let is_cast = |own| matches!(own, Self::Cast(_) | Self::CastArray(_));
        if self.is_array() != other.is_array() {
            return None;
        }
        Some(match (is_cast(self) || is_cast(other), self == other) {
            (true, false) if is_cast(self) => Self::CastInPart(self.logical()),
            (true, false) => Self::CastInPart(other.logical()),
            _ => self,
        })
    }
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
    /// Index into [`Translated::holes`]. The same hole may occur several times.
    Hole(usize),
}

impl Template {
    /// Whether its texts have no letters beyond ASCII.
    pub fn is_ascii(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(part) => part.is_ascii(),
            Piece::Hole(_) => true,
        })
    }

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
    /// Where the value comes from.
    pub source: Source,
    /// How it is sent to the server.
    pub form: Form,
}

/// How a value is sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// In clear: it meets no protected column.
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
    /// The least bytes behind all values that are equal by the collation of a column with tokens.
    MatchEnd,
    /// To be compared for order: a value beyond the type's range lies beyond every stored one.
    Bound,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name that the client sees, if the server would name the column otherwise.
    pub name: Option<String>,
    /// What kind of values it has.
    pub kind: OutputKind,
    /// The type that the client sees, where it is not that of the protected column.
    pub shown_as: Option<LogicalType>,
    /// Whether the plan added it: the client does not see it.
    pub hidden: bool,
}

impl Output {
    /// A column that the client sees under the name that the server gives it.
    pub const fn shown(kind: OutputKind) -> Self {
        Self {
            name: None,
            kind,
            shown_as: None,
            hidden: false,
        }
    }
}

/// What kind of values a column of an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Plain values, passed on as the server gives them.
    Plain,
    /// A sealed value of this column (also after `MIN`, `MAX`, `DISTINCT` where the mode allows).
    Sealed(ColumnId),
    /// An array of sealed values of this column, which the proxy aggregates. Only in
    /// [`Finish::fetch`](crate::Finish::fetch).
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
    /// The column.
    pub column: ColumnId,
    /// Its index among the outputs.
    pub output: usize,
}
