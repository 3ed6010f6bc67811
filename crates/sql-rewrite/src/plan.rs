//! The plan: what the proxy sends for a statement, and what it does with the answer.
//!
//! A [`Translated`] statement is a text with *holes*. What goes into a hole is known when the
//! statement is executed: a parameter of the client, a literal of its text, a value that was
//! computed. A protocol with parameters binds each hole as `$1`, `$2`, …; one without writes a
//! literal in its place. So a sealed literal is sealed anew each time, and no plan holds a
//! ciphertext.

use std::fmt;
use std::ops::Range;

use column_types::LogicalType;
use sqlstate::SqlState;

use crate::{ColumnId, Effects};

/// One statement of a text, and what to do for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Where the statement stands in the text, in bytes.
    pub span: Range<usize>,
    /// What to do.
    pub plan: Plan,
}

/// What to do for one statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// No protected column takes part: the client's own text goes on, and answers come back
    /// as they are.
    Pass(Effects),
    /// One statement for the server; its rows are opened where they are sealed.
    One(Translated, Effects),
    /// `column = column + x` on sealed columns.
    ReadModifyWrite(Box<ReadModifyWrite>),
    /// Rows are fetched; the proxy computes the answer.
    Finish(Box<Finish>),
    /// `COPY` of a protected table.
    Copy(Box<Copy>),
}

impl Plan {
    /// What the statement changes beside rows.
    pub fn effects(&self) -> &Effects {
        match self {
            Self::Pass(effects) | Self::One(_, effects) => effects,
            Self::ReadModifyWrite(modify) => &modify.effects,
            Self::Finish(finish) => &finish.effects,
            Self::Copy(copy) => &copy.effects,
        }
    }

    pub(crate) fn effects_mut(&mut self) -> &mut Effects {
        match self {
            Self::Pass(effects) | Self::One(_, effects) => effects,
            Self::ReadModifyWrite(modify) => &mut modify.effects,
            Self::Finish(finish) => &mut finish.effects,
            Self::Copy(copy) => &mut copy.effects,
        }
    }
}

/// A statement that is not executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// SQLSTATE: `0A000` for what is not supported on protected columns, `42601` for what
    /// cannot be parsed.
    pub sqlstate: SqlState,
    /// Names table, column and reason.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

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
    /// Place of [`Translated::holes`]; one hole may stand at several places.
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

/// Where a value is from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The client's parameter, from 0 (`$1`).
    Parameter(usize),
    /// A constant of the text.
    Literal(Literal),
    /// What the proxy computes from parameters and constants alone, a value of this type.
    Calculated(Box<Expression>, LogicalType),
    /// [`ReadModifyWrite::assignments`], by place.
    Computed(usize),
    /// [`ReadModifyWrite`]: where the row lies, as it was read; place among the outputs of
    /// `read`: 0 is `ctid`, 1 is `tableoid` (partitions of one table number their rows alike).
    Locator(usize),
}

/// A constant. Its `Debug` does not show the content: it may be meant for a protected column.
#[derive(Clone, PartialEq, Eq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Boolean(bool),
    /// Digits as they were written, with sign.
    Number(String),
    /// A quoted text, without quotes; of whatever type its place asks for.
    Text(String),
    /// Time of the transaction's start (`CURRENT_TIMESTAMP`, `now()`).
    TransactionTime,
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Boolean(_) => "Boolean(…)",
            Self::Number(_) => "Number(…)",
            Self::Text(_) => "Text(…)",
            Self::TransactionTime => "TransactionTime",
        })
    }
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
    /// Values of the key: columns by place in the table, and the hole that each is compared with.
    pub key: Vec<(usize, usize)>,
    /// Sealed columns of the row among the outputs.
    pub read: Vec<LockedColumn>,
}

/// A sealed column of a locked row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedColumn {
    /// Which.
    pub column: ColumnId,
    /// Place among the outputs.
    pub output: usize,
}

/// `UPDATE` that needs the old values of sealed columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadModifyWrite {
    /// Reads and locks: outputs 0 and 1 are where the row lies ([`Source::Locator`]), the others
    /// are `current`, in its order.
    pub read: Translated,
    /// The columns that are read.
    pub current: Vec<Current>,
    /// What is computed for each row; its columns are places among the outputs of `read`.
    pub assignments: Vec<Assignment>,
    /// Writes one row, found by [`Source::Locator`].
    pub write: Translated,
    /// Writes the one row of `locks` by its key, without a locator: for values known from
    /// the lock cache.
    pub write_by_key: Option<Translated>,
    /// The key of the row, where it is one: whether the cache may know it. Its holes are those
    /// of `read`, and so are the values that `write_by_key` compares with.
    pub locks: Option<LockKey>,
    /// Whether the server cannot but write the rows that were read, as long as no value is NULL:
    /// the outcome is known before it has.
    pub is_certain: bool,
    /// Effects.
    pub effects: Effects,
}

/// A column that is read to compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Current {
    /// Sealed values of this column.
    Sealed(ColumnId),
    /// Plain values of this type.
    Plain(LogicalType),
}

impl Current {
    /// The protected column.
    pub fn sealed(self) -> Option<ColumnId> {
        match self {
            Self::Sealed(column) => Some(column),
            Self::Plain(_) => None,
        }
    }
}

/// A column's new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnId,
    /// The value, over the row that was read.
    pub value: Expression,
}

/// What the proxy computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A column of the fetched row, by place among the outputs.
    Column(usize),
    /// A constant or parameter, taken for a value of the type.
    Value(Source, LogicalType),
    /// An aggregate, by place in [`Finish::aggregates`].
    Aggregate(usize),
    /// A group key, by place in [`Finish::group_by`].
    Group(usize),
    /// One operand.
    Unary(UnaryOperator, Box<Expression>),
    /// Two operands.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `LIKE`, `ILIKE`: operand, pattern, escape character, whether case counts.
    Like {
        /// What is looked at.
        operand: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// Escape character; None: backslash.
        escape: Option<char>,
        /// Whether case counts (`LIKE`).
        case_sensitive: bool,
    },
    /// `IN (…)`
    In(Box<Expression>, Vec<Expression>),
    /// `= ANY (…)`: an array of values of the type.
    InArray(Box<Expression>, Source, LogicalType),
    /// `COALESCE(…)`
    Coalesce(Vec<Expression>),
    /// `CASE WHEN … THEN … ELSE … END`
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// `CAST(… AS type)`
    Cast(Box<Expression>, LogicalType),
    /// A function of one value.
    Call(ScalarFunction, Box<Expression>),
}

impl Expression {
    /// How many expressions are within each other.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut rest = vec![(self, 1)];
        while let Some((expression, depth)) = rest.pop() {
            deepest = deepest.max(depth);
            let inner = expression.parts();
            rest.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
        }
        deepest
    }

    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Column(_) | Self::Value(..) | Self::Aggregate(_) | Self::Group(_) => Vec::new(),
            Self::Unary(_, inner)
            | Self::InArray(inner, ..)
            | Self::Cast(inner, _)
            | Self::Call(_, inner) => vec![inner],
            Self::Binary(_, left, right) => vec![left, right],
            Self::Like {
                operand, pattern, ..
            } => vec![operand, pattern],
            Self::In(operand, values) => values.iter().chain([&**operand]).collect(),
            Self::Coalesce(values) => values.iter().collect(),
            Self::Case(whens, otherwise) => whens
                .iter()
                .flat_map(|(when, then)| [when, then])
                .chain(otherwise.as_deref())
                .collect(),
        }
    }
}

/// Functions of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarFunction {
    /// `lower`, by Unicode
    Lower,
    /// `upper`, by Unicode
    Upper,
    /// `length`, `char_length`: characters of a text
    Length,
    /// `trim`, `btrim` of blanks
    Trim,
    /// `abs`
    Absolute,
}

/// Operators on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-x`
    Negate,
    /// `NOT x`
    Not,
    /// `x IS NULL`
    IsNull,
    /// `x IS NOT NULL`
    IsNotNull,
}

/// Operators on two operands, with SQL's three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`, `power(…)`
    Power,
    /// `||`
    Concatenate,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `AND`
    And,
    /// `OR`
    Or,
}

/// A query that the proxy finishes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// Fetches rows. The proxy takes no more than its limit, and answers with an error beyond it.
    pub fetch: Translated,
    /// Rows that count.
    pub filter: Option<Expression>,
    /// Groups; empty and without aggregates: no grouping.
    pub group_by: Vec<GroupKey>,
    /// Aggregates of each group.
    pub aggregates: Vec<Aggregate>,
    /// Whether rows are grouped even without keys (`SELECT SUM(x) FROM t`).
    pub grouped: bool,
    /// Groups that count.
    pub having: Option<Expression>,
    /// Columns of the answer: name, value, and type. None: that of the fetched column that the
    /// value is, by itself or as a group key; for a plain one it is what the server says.
    pub project: Vec<(String, Expression, Option<LogicalType>)>,
    /// `DISTINCT`
    pub distinct: bool,
    /// Order.
    pub order_by: Vec<Sort>,
    /// `LIMIT`
    pub limit: Option<Expression>,
    /// `OFFSET`
    pub offset: Option<Expression>,
    /// Effects.
    pub effects: Effects,
}

impl Finish {
    /// All that is computed, but for how many rows.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let aggregates = self.aggregates.iter();
        let aggregated = aggregates.flat_map(|one| one.argument.iter().chain(&one.filter));
        let filters = self.filter.iter().chain(&self.having);
        let projected = self.project.iter().map(|(_, value, _)| value);
        let sorted = self.order_by.iter().map(|sort| &sort.value);
        let groups = self.group_by.iter().map(|key| &key.value);
        let all = filters.chain(aggregated).chain(projected);
        all.chain(sorted).chain(groups)
    }
}

/// What rows are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupKey {
    /// The value.
    pub value: Expression,
}

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// `DISTINCT`
    pub distinct: bool,
    /// Its argument; None: `COUNT(*)`.
    pub argument: Option<Expression>,
    /// `FILTER (WHERE …)`
    pub filter: Option<Expression>,
}

/// Aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `COUNT`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Average,
    /// `MIN`
    Minimum,
    /// `MAX`
    Maximum,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// The value.
    pub value: Expression,
    /// `DESC`
    pub descending: bool,
    /// `NULLS FIRST`
    pub nulls_first: bool,
}

/// `COPY` between the client and a protected table: its protected fields are sealed or opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// The whole statement for the server; its format is that of the client.
    pub template: Template,
    /// What fills its holes: constants of a query that are compared with protected columns.
    pub holes: Vec<Hole>,
    /// Whether rows go to the server (`FROM STDIN`); else they come (`TO STDOUT`).
    pub into_server: bool,
    /// Schema and table; empty for a query.
    pub table: (String, String),
    /// Names of the fields of a row, in order.
    pub columns: Vec<String>,
    /// What each field of a row is, in order.
    pub fields: Vec<OutputKind>,
    /// How rows are written.
    pub format: CopyFormat,
    /// Protected columns with a default that the statement leaves out are refused at plan time,
    /// so there is nothing to add to a row.
    pub effects: Effects,
}

/// How rows of `COPY` are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// `FORMAT text`
    Text {
        /// `DELIMITER`
        delimiter: char,
        /// `NULL`
        null: String,
        /// `HEADER`
        header: bool,
    },
    /// `FORMAT csv`
    Csv {
        /// `DELIMITER`
        delimiter: char,
        /// `NULL`
        null: String,
        /// `HEADER`
        header: bool,
        /// `QUOTE`
        quote: char,
        /// `ESCAPE`
        escape: char,
    },
    /// `FORMAT binary`
    Binary,
}
