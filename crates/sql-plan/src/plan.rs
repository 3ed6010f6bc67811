//! The plan: what the proxy sends for a statement, and what it does with the answer.

use std::ops::Range;

use column_value::LogicalType;

use crate::{
    AggregateFunction, ColumnId, Effects, Expression, Hole, LockKey, OutputKind, Template,
    Translated,
};

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

    /// The same, to be changed.
    pub fn effects_mut(&mut self) -> &mut Effects {
        match self {
            Self::Pass(effects) | Self::One(_, effects) => effects,
            Self::ReadModifyWrite(modify) => &mut modify.effects,
            Self::Finish(finish) => &mut finish.effects,
            Self::Copy(copy) => &mut copy.effects,
        }
    }
}

/// `UPDATE` that needs the old values of sealed columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadModifyWrite {
    /// Reads and locks: outputs 0 and 1 are where the row lies ([`Source::Locator`]), the others
    /// are `current`, in its order.
    pub read: Translated,
    /// The columns that are read.
    pub current: Vec<Current>,
    /// What is computed for each row; its columns are indices of the outputs of `read`.
    pub assignments: Vec<Assignment>,
    /// Writes one row, found by [`Source::Locator`].
    pub write: Translated,
    /// Writes the one row of `locks` by its key, without a locator: for values known from
    /// the lock cache.
    pub write_by_key: Option<Translated>,
    /// The key of the row, where it is one: whether the cache may know it. Its holes are those
    /// of `read`, and so are the values that `write_by_key` compares with.
    pub locks: Option<LockKey>,
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
    /// All that is computed.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
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
