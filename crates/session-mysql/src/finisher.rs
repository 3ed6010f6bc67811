//! What a session asks of the *finisher*: a server of the same product on the proxy's side, which
//! evaluates the client's own text over temporary tables with the rows that the session has fetched
//! and opened.
//!
//! The session does no I/O: whoever drives it takes the question
//! ([`Session::take_finisher_request`](crate::Session::take_finisher_request)) and brings the
//! answer.

use session_core::StatementError;
use zeroize::Zeroizing;

/// What a finisher has to have in common with the client's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FinisherKind {
    /// Product and version: 1011 is MariaDB 10.11, 804 MySQL 8.4.
    pub series: u16,
    /// Whether names of tables are compared in small letters.
    pub folds_tables: bool,
}

/// Whether a series is of MariaDB.
pub const fn is_mariadb(series: u16) -> bool {
    series >= 1000
}

/// A question.
#[derive(Clone, Debug)]
pub struct FinisherRequest {
    /// Which finisher answers.
    pub kind: FinisherKind,
    /// The databases of the tables.
    pub databases: Vec<String>,
    /// The current database.
    pub database: Option<String>,
    /// Statements that make the tables and fill them. They are evaluated in one fixed session.
    pub tables: Vec<Zeroizing<Vec<u8>>>,
    /// The statement that makes the settings those of the client's session.
    pub settings: String,
    /// The client's statement.
    pub statement: FinisherStatement,
    /// The query that reads what the statement has changed. None: it is a query itself.
    pub read_back: Option<String>,
    /// How many bytes the rows of the answer may have.
    pub answer_size_max: usize,
}

/// What is asked of a statement.
#[derive(Clone, Debug)]
pub enum FinisherStatement {
    /// The answer to a text.
    Text(Zeroizing<Vec<u8>>),
    /// Parameters and columns of a text that is prepared.
    Described(Zeroizing<Vec<u8>>),
    /// The answer to a prepared text: the command that executes it, whose number of the statement
    /// is set anew.
    Executed {
        /// The text.
        text: Zeroizing<Vec<u8>>,
        /// The command.
        command: Zeroizing<Vec<u8>>,
    },
}

/// An answer.
#[derive(Debug)]
pub enum FinisherAnswer {
    /// Definitions of a prepared text.
    Described(FinisherDefinitions),
    /// Rows.
    Rows(FinisherRows),
    /// What a statement has changed.
    Changed(FinisherChanges),
    /// The query fails: the payload of the error, as the server says it.
    Refused(Vec<u8>),
    /// There is no answer.
    Failed(StatementError),
}

/// Definitions of a prepared text, as the server writes them.
#[derive(Debug, Default)]
pub struct FinisherDefinitions {
    /// Of parameters.
    pub parameters: Vec<Vec<u8>>,
    /// Of columns.
    pub columns: Vec<Vec<u8>>,
}

/// What a statement has changed.
#[derive(Debug, Default)]
pub struct FinisherChanges {
    /// How many rows were changed.
    pub affected_rows: u64,
    /// The text that says what was done.
    pub info: Vec<u8>,
    /// The rows that the statement has returned, if it returns some.
    pub returned: Option<FinisherRows>,
    /// Payloads of rows of the query that reads the changes, in `utf8mb4`, and warnings of the
    /// statement.
    pub read: FinisherRows,
}

/// The rows of an answer, as the server writes them.
#[derive(Debug, Default)]
pub struct FinisherRows {
    /// Definitions of the columns.
    pub columns: Vec<Vec<u8>>,
    /// Payloads of rows.
    pub rows: Vec<Zeroizing<Vec<u8>>>,
    /// How many warnings there are.
    pub warning_count: u16,
    /// Payloads of rows of `SHOW WARNINGS`.
    pub warnings: Vec<Zeroizing<Vec<u8>>>,
}
