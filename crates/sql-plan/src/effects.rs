//! The effects of a statement beside the rows that it changes, and how the server uses protected
//! columns in it.

use std::collections::BTreeSet;
use std::fmt;

use crate::{ColumnId, KeptCursor, Output, Scroll};

/// What a statement changes beside the rows that it writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// How it begins or ends a transaction.
    pub transaction: Option<TransactionEffect>,
    /// The schema may have changed afterwards: load it again.
    pub changes_schema: bool,
    /// If it has: names of which one is that of each relation that may have changed, where nothing
    /// can have gone. None: anything may have changed.
    pub changes_only: Option<Vec<String>>,
    /// Tables with rules, as (schema, table), that may lack protected columns afterwards: the
    /// statement drops columns, or creates the table without them.
    pub reshapes: Vec<(String, String)>,
    /// Rows of unknown tables may be written: forget all locked rows.
    pub forgets_locks: bool,
    /// The text shows that no locked row changes: the statement only reads or adds rows.
    pub keeps_locked_rows: bool,
    /// Statements that the proxy has prepared for itself may be gone.
    pub forgets_statements: bool,
    /// The table that the statement writes, as (schema, table): its locked rows are forgotten.
    pub writes: Option<(String, String)>,
    /// A setting that changes how texts are read (`search_path`, `DateStyle`, …): look at
    /// ParameterStatus.
    pub changes_settings: bool,
    /// A setting that decides how values are written as text may have changed afterwards:
    /// `TimeZone`, `DateStyle`, `IntervalStyle`, `client_encoding`, `standard_conforming_strings`,
    /// `bytea_output`, `extra_float_digits`. The server reports it right before ReadyForQuery; the
    /// last two have to be asked for. The end of a transaction may undo such a change.
    pub changes_texts: bool,
    /// Names that the session creates or drops, for `sql_rewrite::Objects`.
    pub objects: Vec<ObjectEffect>,
    /// What the server does with protected columns, apart from what holes and outputs show.
    pub uses: BTreeSet<(ColumnId, Use)>,
}

impl Effects {
    /// How the statement moves a cursor whose rows the proxy keeps.
    pub fn scroll(&self) -> Option<&Scroll> {
        self.objects.iter().find_map(|effect| match effect {
            ObjectEffect::Scrolls(scroll) => Some(scroll),
            _ => None,
        })
    }
}

/// How a statement begins or ends a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionEffect {
    /// `BEGIN`
    Begin,
    /// `COMMIT`, `ROLLBACK`, `PREPARE TRANSACTION`
    End,
    /// `ROLLBACK TO`: what was read and written since the savepoint is undone.
    RollbackTo,
}

/// What a statement does to the prepared statements and cursors of its session.
#[derive(Clone, PartialEq, Eq)]
pub enum ObjectEffect {
    /// `PREPARE` over a protected table.
    Prepares {
        /// The statement's name.
        name: String,
        /// The declared types of its parameters, as SQL.
        types: Vec<String>,
        /// The statement that is prepared.
        text: String,
    },
    /// `PREPARE` over no protected table. The names in it may come to mean other relations before
    /// it is executed.
    PreparesPlain {
        /// The statement's name.
        name: String,
        /// The statement that is prepared.
        text: String,
    },
    /// `DEALLOCATE`; None: of all.
    Deallocates(Option<String>),
    /// `DECLARE`: columns of the cursor, as of [`Translated::outputs`].
    Declares {
        /// The cursor's name.
        name: String,
        /// Its columns; empty: none is sealed.
        outputs: Vec<Output>,
        /// Whether it outlives a transaction that is committed.
        hold: bool,
    },
    /// `DECLARE` of a cursor whose rows the proxy keeps.
    Keeps(KeptCursor),
    /// `FETCH` or `MOVE` of such a cursor.
    Scrolls(Scroll),
    /// `CLOSE`; None: of all.
    Closes(Option<String>),
}

/// Leaves out the prepared text, which may hold confidential constants.
impl fmt::Debug for ObjectEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepares { name, .. } => write!(f, "Prepares({name:?}, …)"),
            Self::Deallocates(name) => write!(f, "Deallocates({name:?})"),
            Self::PreparesPlain { name, .. } => write!(f, "PreparesPlain({name:?}, …)"),
            Self::Declares { name, outputs, .. } => write!(f, "Declares({name:?}, {outputs:?})"),
            Self::Keeps(cursor) => write!(f, "Keeps({cursor:?})"),
            Self::Scrolls(scroll) => write!(f, "Scrolls({scroll:?})"),
            Self::Closes(name) => write!(f, "Closes({name:?})"),
        }
    }
}

/// What the server does with values of a protected column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Stores new ones.
    Written,
    /// Finds rows that have a given value.
    Matched,
    /// Finds rows above or below a bound, or between two.
    Bounded,
    /// Compares them with values of another column.
    Paired,
    /// Puts equal ones together: `GROUP BY`, `DISTINCT`.
    Grouped,
    /// Sorts by them: `ORDER BY`, `MIN`, `MAX`.
    Sorted,
    /// Finds rows that are NULL, or counts those that are not.
    NullTested,
    /// Would store an empty value in the place of NULL (`INSERT IGNORE`): a new one is not NULL.
    NeverNull,
    /// Returns them for the client.
    Returned,
    /// Returns them to the proxy, which computes with them.
    Fetched,
}
