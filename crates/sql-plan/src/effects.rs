//! What a statement changes beside rows, and what it has the server do with protected columns.

use std::collections::BTreeSet;
use std::fmt;

use crate::{ColumnId, Output};

/// What a statement changes beside rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The transaction.
    pub transaction: Option<TransactionEffect>,
    /// The schema may be another afterwards: load it anew.
    pub changes_schema: bool,
    /// Tables with rules, as (schema, table), that the statement may take such columns from, or
    /// make anew without them.
    pub reshapes: Vec<(String, String)>,
    /// Rows of unknown tables may be written: forget what is known of locked rows.
    pub forgets_locks: bool,
    /// The text shows that no locked row changes: the statement reads, or adds rows.
    pub keeps_locked_rows: bool,
    /// Statements that were prepared under names of the proxy's may be gone.
    pub forgets_statements: bool,
    /// The table that the statement writes, as (schema, table): its locked rows are forgotten.
    pub writes: Option<(String, String)>,
    /// A setting that changes how texts are read (`search_path`, `DateStyle`, …): look at
    /// ParameterStatus.
    pub changes_settings: bool,
    /// A setting by which texts of values are written and read may be another afterwards:
    /// `TimeZone`, `DateStyle`, `IntervalStyle`, `client_encoding`, `standard_conforming_strings`,
    /// `bytea_output`, `extra_float_digits`. The server tells of it no sooner than before
    /// ReadyForQuery, and of the last two only who asks. The end of a transaction may take such a
    /// change back.
    pub changes_texts: bool,
    /// Names that the session gives or takes back: for what keeps them (`sql_rewrite::Objects`).
    pub objects: Vec<ObjectEffect>,
    /// What the server does with protected columns, beside what holes and outputs tell.
    pub uses: BTreeSet<(ColumnId, Use)>,
}

/// How a transaction goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionEffect {
    /// `BEGIN`
    Begin,
    /// `COMMIT`, `ROLLBACK`, `PREPARE TRANSACTION`
    End,
    /// `ROLLBACK TO`: what was read and written since is void.
    RollbackTo,
}

/// What a statement does to the names that its session has given.
#[derive(Clone, PartialEq, Eq)]
pub enum ObjectEffect {
    /// `PREPARE` over a protected table.
    Prepares {
        /// The statement's name.
        name: String,
        /// The types that its parameters are given, as SQL.
        types: Vec<String>,
        /// What is prepared.
        text: String,
    },
    /// `PREPARE` over no protected table, of a statement by its name.
    PreparesPlain(String),
    /// `DEALLOCATE`; None: of all.
    Deallocates(Option<String>),
    /// `DECLARE`: columns of the cursor, as of [`Translated::outputs`].
    Declares {
        /// The cursor's name.
        name: String,
        /// What its columns are; empty: nothing is sealed.
        outputs: Vec<Output>,
        /// Whether it outlives a transaction that is committed.
        hold: bool,
    },
    /// `CLOSE`; None: of all.
    Closes(Option<String>),
}

/// What is prepared may hold confidential constants.
impl fmt::Debug for ObjectEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepares { name, .. } => write!(f, "Prepares({name:?}, …)"),
            Self::Deallocates(name) => write!(f, "Deallocates({name:?})"),
            Self::PreparesPlain(name) => write!(f, "PreparesPlain({name:?})"),
            Self::Declares { name, outputs, .. } => write!(f, "Declares({name:?}, {outputs:?})"),
            Self::Closes(name) => write!(f, "Closes({name:?})"),
        }
    }
}

/// What the server does with values of a protected column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Stores new ones.
    Written,
    /// Finds rows that have a value.
    Matched,
    /// Finds rows beyond a bound, or within two.
    Bounded,
    /// Compares them with those of a column.
    Paired,
    /// Puts equal ones together: `GROUP BY`, `DISTINCT`.
    Grouped,
    /// Sorts by them: `ORDER BY`, `MIN`, `MAX`.
    Sorted,
    /// Finds rows that have none, or counts those that have one.
    NullTested,
    /// Gives them for the client.
    Returned,
    /// Gives them to the proxy, which computes with them.
    Fetched,
}
