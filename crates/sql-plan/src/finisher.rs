//! A query that the finisher answers: a server of the same product on the proxy's side.
//!
//! The proxy fetches the rows of all relations of the query in one statement, opens them, and hands
//! them to the finisher as arrays, one for each column. The finisher evaluates the client's own
//! query over them.

use std::ops::Range;

use column_value::LogicalType;

use crate::{ColumnId, Effects, Literal, Translated};

/// A query that the finisher answers.
#[derive(Clone, Debug, PartialEq)]
pub struct FinisherQuery {
    /// Fetches the rows of all relations.
    pub fetch: Translated,
    /// Whether the first output of `fetch` is the index of the relation that a row belongs to.
    /// Otherwise all rows belong to the only one.
    pub has_index: bool,
    /// Whether `fetch` returns one row without content, since the query has no relation and asks
    /// nothing of the server. It need not be sent.
    pub is_of_no_row: bool,
    /// The relations.
    pub relations: Vec<FetchedRelation>,
    /// The query for the finisher. Its first parameters are those of the client's statement; an
    /// array for each column of each relation follows, in their order.
    pub text: String,
    /// How many parameters the client's statement has.
    pub parameters: usize,
    /// Types of parameters that the query does not have, since others of the server's statements
    /// do. They are declared to the finisher.
    pub declared: Vec<Option<LogicalType>>,
    /// What the client is told that was done, if `fetch` is the client's own statement and writes:
    /// the query is what it returns. Then the parameters are those of `fetch`.
    pub returned_by: Option<&'static str>,
    /// The effects of the statement.
    pub effects: Effects,
}

impl FinisherQuery {
    /// The columns of all relations, in the order of their arrays.
    pub fn columns(&self) -> impl Iterator<Item = &FetchedColumnPlan> {
        self.relations.iter().flat_map(|relation| &relation.columns)
    }
}

/// `UPDATE` and `DELETE` of rows that the finisher finds, with values that it computes; `INSERT` of
/// rows that it computes.
#[derive(Clone, Debug, PartialEq)]
pub struct FinisherWrite {
    /// Finds the rows. If they are updated or deleted, its first columns locate a row
    /// ([`Source::Locator`](crate::Source::Locator)), and the others are the values of `columns`
    /// ([`Source::Computed`](crate::Source::Computed)).
    pub query: FinisherQuery,
    /// The protected columns that get computed values. Empty for `INSERT`.
    pub columns: Vec<ColumnId>,
    /// What `INSERT` does with the columns of the answer.
    pub inserted: Option<InsertedRows>,
    /// What becomes of rows that `INSERT` finds in the table, if only the finisher can compute it.
    pub upsert: Option<Upsert>,
    /// Writes all rows at once.
    pub write: Translated,
    /// What the client gets of the rows that `write` returns, if only the finisher can compute it.
    /// Its fetch is `write`.
    pub returning: Option<FinisherQuery>,
    /// What the client is told that was done: `UPDATE`, `DELETE`, or `INSERT 0`.
    pub verb: &'static str,
}

/// `MERGE`: the finisher joins source and target, and finds what is to be done with each pair.
#[derive(Clone, Debug, PartialEq)]
pub struct FinisherMerge {
    /// Finds pairs of rows. The first columns of its answer locate the row of the target
    /// ([`Source::Locator`](crate::Source::Locator)), and are NULL if there is none. The number of
    /// the clause that applies follows, from 1 (0: none writes), then values for the clauses.
    pub query: FinisherQuery,
    /// The clauses that write, in their order.
    pub clauses: Vec<MergeClause>,
    /// What is sent to the server: the number of the clause, then the values of all clauses, which
    /// are NULL where another one applies.
    pub rows: InsertedRows,
    /// The `MERGE` of these rows. Without a clause that writes it gets none.
    pub write: Translated,
}

impl FinisherMerge {
    /// The column with the number of the clause.
    pub const NUMBER: usize = 2;
    /// How many columns stand before the values.
    pub const COLUMNS: usize = Self::NUMBER + 1;
}

/// A `WHEN` clause of `MERGE` that writes.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Whether it inserts. Otherwise it updates or deletes rows, found by their locators.
    pub inserts: bool,
    /// Its values among the columns of [`FinisherMerge::rows`].
    pub values: Range<usize>,
}

/// Rows that the finisher computes, and that one statement inserts.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertedRows {
    /// How many columns the answer must have.
    pub width: usize,
    /// What is sent to the server: an array for each of them, with an element for each row
    /// ([`Source::Computed`](crate::Source::Computed)).
    pub columns: Vec<InsertedColumn>,
}

/// A column of rows that are inserted.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertedColumn {
    /// A column of the answer by its index, sealed for a protected column.
    Sealed(usize, ColumnId),
    /// A column of the answer by its index, in clear for a plain column: no protected column took
    /// part in its values.
    Plain(usize),
    /// The default of a protected column, sealed anew for each row.
    Default(Literal, ColumnId),
}

/// `ON CONFLICT DO UPDATE` with new values that only the finisher can compute.
///
/// [`FinisherWrite::write`] inserts the rows. A row that is there already is given the values that
/// it has, which locks it and returns it. The first outputs are [`Upsert::LOCATORS`] that locate
/// the row, then whether it was there before; the columns of `existing` follow, then those that the
/// client asked for. The finisher computes new values from pairs of such a row and the one that was
/// to be inserted, and `update` writes them row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Upsert {
    /// The query for the finisher: the number of a pair, and values of `columns`. Its first
    /// parameters are those of the client's statement. Arrays follow: the numbers of the pairs and
    /// each column of `existing`, then the same numbers and each column of `proposed`.
    pub text: String,
    /// The columns of rows that were there, by their indices among the outputs.
    pub existing: Vec<FetchedColumnPlan>,
    /// The columns of rows that were to be inserted, by their indices in [`InsertedRows::columns`].
    pub proposed: Vec<usize>,
    /// The protected columns that get computed values
    /// ([`Source::Computed`](crate::Source::Computed)).
    pub columns: Vec<ColumnId>,
    /// Values in clear of rows that were to be inserted, by their indices in
    /// [`InsertedRows::columns`]. They are numbered behind the computed ones.
    pub passed: Vec<usize>,
    /// Writes one row.
    pub update: Translated,
}

impl Upsert {
    /// How many of the first outputs locate a row.
    pub const LOCATORS: usize = 2;
    /// The output that says whether the row was there before.
    pub const WAS_THERE: usize = Self::LOCATORS;
    /// How many outputs stand before the columns of `existing`.
    pub const OUTPUTS: usize = Self::WAS_THERE + 1;
}

/// A relation whose rows are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedRelation {
    /// Its columns; at least one.
    pub columns: Vec<FetchedColumnPlan>,
}

/// A column that is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedColumnPlan {
    /// Its index among the outputs of the fetch.
    pub output: usize,
    /// How its values go to the finisher.
    pub element: Element,
}

/// How the values of a column go to the finisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Opened, as values of this type.
    Opened(LogicalType),
    /// As the server gives them, in binary.
    Binary,
    /// As the server gives them, as text. The finisher casts them. So a column whose values are
    /// arrays becomes no array of arrays.
    Text,
}

/// A statement that the finisher before MariaDB or MySQL evaluates: the client's own text over
/// temporary tables, which have the names and declared columns of the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinisherTables {
    /// The client's text. Whoever sends it to the finisher sends it as it came.
    pub text: String,
    /// How many parameters it has.
    pub parameters: usize,
    /// The tables that it may read; at least one.
    pub tables: Vec<FilledTable>,
    /// Whether the answer depends on the rules of the session's time zone for other moments than
    /// this one.
    pub uses_zone: bool,
    /// Whether it asks for the present moment.
    pub uses_moment: bool,
    /// What becomes of the rows that it changes. None: it changes none.
    pub write: Option<FilledWrite>,
    /// What becomes of the rows that it inserts. None: it inserts none.
    pub insert: Option<FilledInsert>,
    /// The effects of the statement.
    pub effects: Effects,
}

/// How rows are written that a statement of the client has changed in the finisher.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledWrite {
    /// The index of their table among [`FinisherTables::tables`].
    pub table: usize,
    /// The columns of its primary key, by index among its columns. They are the row locator.
    pub key: Vec<usize>,
    /// The protected columns that get computed values, by index among its columns.
    pub computed: Vec<(usize, ColumnId)>,
    /// Whether one of them is part of a unique key, so that it matters in which order rows are
    /// written.
    pub is_unique: bool,
    /// Whether it deletes rows. Otherwise it updates them.
    pub deletes: bool,
    /// Whether it returns rows, which the finisher gives.
    pub returns: bool,
    /// Writes a row: takes its locator ([`Source::Locator`](crate::Source::Locator), by index in
    /// `key`) and new values ([`Source::Computed`](crate::Source::Computed), by index in
    /// `computed`).
    pub write: Translated,
}

/// How rows are inserted that a statement of the client has put into a table of the finisher.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledInsert {
    /// The index of their table among [`FinisherTables::tables`].
    pub table: usize,
    /// The columns that get values, by index among its columns.
    pub columns: Vec<usize>,
    /// What becomes of rows that are there.
    pub form: InsertForm,
    /// Which of `columns` numbers rows, where it may not be left to the server: behind a query with
    /// `ON DUPLICATE KEY UPDATE`, servers tell of no number that is given.
    pub numbered: Option<usize>,
    /// Inserts a row: takes its values ([`Source::Computed`](crate::Source::Computed), by index in
    /// `columns`).
    pub write: Translated,
    /// The pieces of its template that are between the parentheses of the row.
    pub row: std::ops::Range<usize>,
}

/// What an `INSERT` does with rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertForm {
    /// `INSERT`, also with `ON DUPLICATE KEY UPDATE`.
    Insert,
    /// `INSERT IGNORE`
    Ignore,
    /// `REPLACE`
    Replace,
}

/// A temporary table and its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledTable {
    /// The database.
    pub database: String,
    /// Its name with the database, in quotes.
    pub name: String,
    /// The statement that makes it.
    pub create: String,
    /// Its columns; at least one. The table that is written has two more, which no text of a client
    /// can mean: [`Self::ROW`] and [`Self::CHANGED`].
    pub columns: Vec<FilledColumn>,
    /// Fetches the rows that the statement may need. None: it needs none.
    pub fetch: Option<Translated>,
    /// Fetches all rows: for values of parameters that cannot be written as constants. None: no
    /// parameter is sent.
    pub fetch_all: Option<Translated>,
}

impl FilledTable {
    /// The column with the number of a row, in quotes.
    pub const ROW: &str = "`strongroom row`";
    /// The column that has a value once an `UPDATE` has changed the row, in quotes.
    pub const CHANGED: &str = "`strongroom changed`";
}

/// A column of a temporary table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledColumn {
    /// Its name, in quotes.
    pub name: String,
    /// The protected column whose sealed values the server gives.
    pub sealed: Option<ColumnId>,
    /// How its values are written.
    pub form: FilledForm,
}

/// How the values of a column are fetched, and written for the finisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilledForm {
    /// Letters of ASCII in quotes: numbers, dates and times.
    Quoted,
    /// Those of a `FLOAT`, whose text is not exact.
    Float,
    /// The number of a `BIT`.
    Bits,
    /// Bytes.
    Bytes,
    /// Bytes in this character set.
    Text(String),
    /// The seconds of a `TIMESTAMP`.
    Moment,
}
