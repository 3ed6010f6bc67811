//! What a session asks of the *finisher*: a PostgreSQL server on the proxy's side that computes the
//! answer to a query from rows that the session has fetched and opened.
//!
//! The session does no I/O. It gives a [`FinisherRequest`], and waits: it takes no message of
//! client or server before it was given the [`FinisherAnswer`].

use std::sync::Arc;

use column_value::OpaqueType;
use session_core::{StatementError, wiped};
use sql_rewrite::Extension;
use zeroize::Zeroizing;

/// What the finisher must have in common with the client's server, so that it computes the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FinisherKind {
    /// The major version, for instance 15.
    pub major: u16,
    /// The locale provider of the database: `c` for the C library, `i` for ICU.
    pub locale_provider: String,
    /// `LC_COLLATE` of the database.
    pub collate: String,
    /// `LC_CTYPE` of the database.
    pub ctype: String,
    /// The ICU locale of the database. Empty: none.
    pub icu_locale: String,
    /// The version of the rules by which the database sorts texts. Empty: it has none, or the
    /// server does not tell.
    pub collation_version: String,
    /// Enumerations of users, and types of extensions, with the numbers that they have in the
    /// server.
    pub named_types: Vec<OpaqueType>,
    /// Extensions of PostgreSQL's own that the database has.
    pub extensions: Vec<Extension>,
    /// Those of the schemas of both that the session looks names up in, in their order.
    pub search_path: Vec<String>,
}

/// A question for the finisher. Without an execution it asks for types and columns only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinisherRequest {
    /// The kind of server.
    pub kind: Arc<FinisherKind>,
    /// Settings of the client's session, by name, that decide how values are read and written.
    pub settings: Arc<[(String, String)]>,
    /// The query, with `$n` for parameters.
    pub query: Arc<str>,
    /// The types of the first parameters, by their numbers in the catalogue. 0: the server infers
    /// it.
    pub parameter_types: Arc<[u32]>,
    /// The values to compute with.
    pub execution: Option<FinisherExecution>,
}

/// Values for a query. They are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FinisherExecution {
    /// The format of each parameter: 0 for text, 1 for binary.
    pub formats: Vec<i16>,
    /// The value of each parameter. None: NULL.
    pub values: Vec<Option<Vec<u8>>>,
    /// The formats of the columns of the answer, as in Bind: none, one for all, or one for each.
    pub result_formats: Box<[i16]>,
    /// Limit of the answer, in bytes.
    pub answer_size_max: usize,
}

impl Drop for FinisherExecution {
    fn drop(&mut self) {
        wiped::wipe(&mut self.values);
    }
}

impl std::fmt::Debug for FinisherExecution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The values are plaintext.
        write!(f, "FinisherExecution({} values)", self.values.len())
    }
}

/// The finisher's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinisherAnswer {
    /// To a request without an execution.
    Described(Described),
    /// To a request with one.
    Rows(FinisherRows),
    /// The query fails, or there is no finisher.
    Failed(StatementError),
}

/// Types of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The type of each parameter.
    pub parameter_types: Vec<u32>,
    /// The body of RowDescription, with all formats 0. Empty: the query returns no rows.
    pub row_description: Vec<u8>,
}

/// Rows of an answer. They are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FinisherRows {
    /// The body of RowDescription, with all formats 0.
    pub row_description: Vec<u8>,
    /// DataRow messages.
    pub messages: Zeroizing<Vec<u8>>,
    /// How many.
    pub count: u64,
}

impl FinisherRows {
    /// Takes a DataRow message.
    pub fn push(&mut self, message: &[u8]) {
        wiped::extend(&mut self.messages, message);
        self.count += 1;
    }
}

impl std::fmt::Debug for FinisherRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rows are plaintext.
        write!(f, "FinisherRows({} rows)", self.count)
    }
}
