//! The plan of a statement: what the proxy sends to the server, and what it does with the answer.

use std::ops::Range;

use column_value::LogicalType;

use crate::{
    AggregateFunction, ColumnId, Effects, Expression, FinisherMerge, FinisherQuery, FinisherTables,
    FinisherWrite, Form, Hole, Literal, LockKey, OutputKind, Template, Translated,
};

/// One statement of a text, and what to do for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The byte range of the statement in the text.
    pub span: Range<usize>,
    /// What to do.
    pub plan: Plan,
}

/// What to do for one statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// No protected column takes part: the client's text and the server's answers are passed on
    /// unchanged.
    Pass(Effects),
    /// One statement for the server; sealed columns of its rows are opened.
    One(Translated, Effects),
    /// `column = column + x` on sealed columns.
    ReadModifyWrite(Box<ReadModifyWrite>),
    /// The proxy fetches rows, and computes the answer from them.
    Finish(Box<Finish>),
    /// The proxy fetches rows, and the finisher computes the answer from them.
    Finisher(Box<FinisherQuery>),
    /// The proxy fetches the rows of tables, and the finisher evaluates the client's text over them
    /// (before MariaDB).
    FinisherTables(Box<FinisherTables>),
    /// The finisher finds rows and computes values, and the proxy writes them.
    FinisherWrite(Box<FinisherWrite>),
    /// The finisher finds what `MERGE` does with each row, and the proxy writes them.
    FinisherMerge(Box<FinisherMerge>),
    /// `COPY` of a protected table.
    Copy(Box<Copy>),
}

impl Plan {
    /// The effects of the statement.
    pub fn effects(&self) -> &Effects {
        match self {
            Self::Pass(effects) | Self::One(_, effects) => effects,
            Self::ReadModifyWrite(modify) => &modify.effects,
            Self::Finish(finish) => &finish.effects,
            Self::Finisher(query) => &query.effects,
            Self::FinisherTables(query) => &query.effects,
            Self::FinisherWrite(write) => &write.query.effects,
            Self::FinisherMerge(merge) => &merge.query.effects,
            Self::Copy(copy) => &copy.effects,
        }
    }

    /// The effects of the statement, mutable.
    pub fn effects_mut(&mut self) -> &mut Effects {
        match self {
            Self::Pass(effects) | Self::One(_, effects) => effects,
            Self::ReadModifyWrite(modify) => &mut modify.effects,
            Self::Finish(finish) => &mut finish.effects,
            Self::Finisher(query) => &mut query.effects,
            Self::FinisherTables(query) => &mut query.effects,
            Self::FinisherWrite(write) => &mut write.query.effects,
            Self::FinisherMerge(merge) => &mut merge.query.effects,
            Self::Copy(copy) => &mut copy.effects,
        }
    }
}

impl Plan {
    /// Whether the proxy reads or writes values of protected columns for it.
    pub fn has_sealed_values(&self) -> bool {
        match self {
            Self::Pass(_) => false,
            Self::One(translated, _) => {
                let mut holes = translated.holes.iter();
                holes.any(|hole| hole.form != Form::Plain) || !translated.outputs.is_empty()
            }
            Self::ReadModifyWrite(_)
            | Self::Finish(_)
            | Self::Finisher(_)
            | Self::FinisherTables(_)
            | Self::FinisherWrite(_)
            | Self::FinisherMerge(_)
            | Self::Copy(_) => true,
        }
    }

    /// Whether what the proxy itself writes for the server has no letters beyond ASCII, so that it
    /// is the same in every encoding.
    pub fn is_ascii(&self) -> bool {
        match self {
            Self::Pass(_) => true,
            Self::One(translated, _) => translated.template.is_ascii(),
            Self::ReadModifyWrite(_)
            | Self::Finish(_)
            | Self::Finisher(_)
            | Self::FinisherTables(_)
            | Self::FinisherWrite(_)
            | Self::FinisherMerge(_)
            | Self::Copy(_) => false,
        }
    }
}

/// `UPDATE` that needs the old values of sealed columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadModifyWrite {
    /// Reads and locks the rows. The first outputs are the row locator ([`Source::Locator`]), the
    /// others are `current`, in its order.
    pub read: Translated,
    /// The columns that are read.
    pub current: Vec<Current>,
    /// What is computed for each row; its columns are indices of the outputs of `read`.
    pub assignments: Vec<Assignment>,
    /// Writes one row, found by [`Source::Locator`].
    pub write: Translated,
    /// Writes all rows, in place of `write` for more than one: locators and computed values are
    /// arrays, with an element for each row. None: `write` is executed for each row.
    pub write_all: Option<Translated>,
    /// Writes the one row of `locks` by its key, without a locator: for a row whose values are
    /// known from the lock cache.
    pub write_by_key: Option<Translated>,
    /// The key of the row, if the statement finds at most one: the cache may know it. Its holes are
    /// those of `read`; `write_by_key` compares with the same values.
    pub locks: Option<LockKey>,
    /// The effects of the statement.
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
    /// The protected column, if it is one.
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
    /// The value, computed from the row that was read.
    pub value: Expression,
}

/// A query that the proxy finishes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// Fetches the rows. If there are more than the proxy's limit, it answers with an error.
    pub fetch: Translated,
    /// The condition of the rows that are kept.
    pub filter: Option<Expression>,
    /// Group keys; empty and without aggregates: no grouping.
    pub group_by: Vec<GroupKey>,
    /// Aggregates of each group.
    pub aggregates: Vec<Aggregate>,
    /// Whether rows are grouped even without keys (`SELECT SUM(x) FROM t`).
    pub grouped: bool,
    /// The condition of the groups that are kept.
    pub having: Option<Expression>,
    /// Columns of the answer: name, value, and type. Without a type the value is a fetched column
    /// or group key, and has the type of that column; a plain one has the type that the server
    /// gives.
    pub project: Vec<(String, Expression, Option<LogicalType>)>,
    /// `DISTINCT`
    pub distinct: bool,
    /// `ORDER BY`
    pub order_by: Vec<Sort>,
    /// `LIMIT`
    pub limit: Option<Expression>,
    /// `OFFSET`
    pub offset: Option<Expression>,
    /// The effects of the statement.
    pub effects: Effects,
}

impl Finish {
    /// All expressions but `LIMIT` and `OFFSET`.
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

/// A key that rows are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupKey {
    /// The value.
    pub value: Expression,
}

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The function.
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
    /// The statement for the server, with the format that the client asked for.
    pub template: Template,
    /// What fills its holes: constants of a query that meet protected columns.
    pub holes: Vec<Hole>,
    /// Whether rows are sent to the server (`FROM STDIN`) or come from it (`TO STDOUT`).
    pub into_server: bool,
    /// Schema and table; empty for a query.
    pub table: (String, String),
    /// Names of the fields of a row, in order.
    pub columns: Vec<String>,
    /// The kind of each field of a row, in order.
    pub fields: Vec<OutputKind>,
    /// How rows are written.
    pub format: CopyFormat,
    /// Protected columns with a default that the client leaves out, each with its default. Their
    /// fields are added behind those of each row.
    pub added: Vec<(ColumnId, Literal)>,
    /// Groups of protected columns of which rows give members. Fields of members are not sent; one
    /// for each group is added behind all others, and then those of the last members.
    pub groups: Vec<CopiedGroup>,
    /// The effects of the statement.
    pub effects: Effects,
}

/// A group that `COPY` writes.
#[derive(Clone, Debug, PartialEq)]
pub struct CopiedGroup {
    /// The column that holds its values.
    pub holder: ColumnId,
    /// What each member gets, in their order.
    pub members: Vec<CopiedMember>,
    /// The column of the last member, which gets the empty value; None: that is the holder.
    pub last: Option<ColumnId>,
}

/// What a member of a group gets.
#[derive(Clone, Debug, PartialEq)]
pub enum CopiedMember {
    /// The field at this index.
    Field(usize),
    /// A constant.
    Default(Literal),
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
        /// Fields that are read or written otherwise.
        forced: CopyForced,
    },
    /// `FORMAT binary`
    Binary,
}

/// Fields of `COPY` in CSV that are read or written otherwise than others, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyForced {
    /// `FORCE_QUOTE`: written in quotes if they are not NULL.
    pub quote: Vec<usize>,
    /// `FORCE_NOT_NULL`: never read as NULL.
    pub not_null: Vec<usize>,
    /// `FORCE_NULL`: read as NULL also if what stands for NULL is in quotes.
    pub null: Vec<usize>,
}
