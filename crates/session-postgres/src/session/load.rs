//! Reads the server's catalogues over the session's own connection, so that its uncommitted changes
//! are seen.

use std::collections::BTreeSet;
use std::time::Instant;

use sql_rewrite::{
    ASKED, ASKED_OF_CHANGED, Answer, CHECKED, SessionFacts, fingerprint_of, names_text,
};
use wire_postgres::Malformed;
use wire_postgres::backend;
use wire_postgres::frontend::{Target, kind, write_bind, write_execute, write_parse, write_target};

/// The name of statement and portal, so that the client's are left alone.
const NAME: &[u8] = b"strongroom_catalogue";

/// The format code of texts, as PostgreSQL's protocol has it.
const TEXT: i16 = 0;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The session's own settings.
    Session,
    /// These, and a fingerprint of the catalogues.
    Check,
    /// These, and relations of these names.
    Changed(BTreeSet<String>),
    /// These, and all catalogues.
    Whole,
}

/// Queries that are under way.
#[derive(Debug)]
pub(super) struct Load {
    /// What is read.
    pub extent: Extent,
    /// When the queries were sent. The answers are of that time or later.
    pub began: Instant,
    /// Whether the queries end with a Sync of their own.
    pub has_sync: bool,
    /// [`Protection::forgets`](session_core::Protection::forgets) before the queries were sent.
    pub forgets: u64,
    /// The answers so far. The last one is not complete.
    pub answers: Vec<Answer>,
}

impl Load {
    /// Writes the queries, after a Close.
    pub(super) fn begin(extent: Extent, has_sync: bool, forgets: u64, out: &mut Vec<u8>) -> Self {
        let load = Self {
            extent,
            began: Instant::now(),
            has_sync,
            forgets,
            answers: Vec::new(),
        };
        // Interrupted queries may have left the statement behind.
        write_target(kind::CLOSE, Target::Statement(NAME), out);
        let names = match &load.extent {
            Extent::Changed(names) => names_text(names.iter().map(String::as_str)),
            Extent::Session | Extent::Check | Extent::Whole => String::new(),
        };
        for query in load.queries() {
            write_parse(NAME, query.as_bytes(), std::iter::empty(), out);
            let formats = vec![TEXT; usize::from(query.contains("$1"))];
            let values = |out: &mut Vec<u8>| {
                if query.contains("$1") {
                    let size = i32::try_from(names.len()).expect("names of a few statements");
                    out.extend_from_slice(&size.to_be_bytes());
                    out.extend_from_slice(names.as_bytes());
                }
                Ok::<(), std::convert::Infallible>(())
            };
            let none = std::iter::empty();
            let Ok(()) = write_bind((NAME, NAME), formats.into_iter(), values, none, out);
            write_execute(NAME, 0, out);
            write_target(kind::CLOSE, Target::Portal(NAME), out);
            write_target(kind::CLOSE, Target::Statement(NAME), out);
        }
        let end = if has_sync { kind::SYNC } else { kind::FLUSH };
        backend::write_empty(end, out);
        load
    }

    /// The session's settings, as the server reports them.
    pub(super) fn session(&self) -> SessionFacts {
        self.answers
            .first()
            .map(SessionFacts::read)
            .unwrap_or_default()
    }

    /// The fingerprint of the catalogues, where it was asked for.
    pub(super) fn fingerprint(&self) -> &str {
        fingerprint_of(&self.answers).unwrap_or_default()
    }

    /// What is read.
    pub(super) fn queries(&self) -> Vec<&'static str> {
        match self.extent {
            Extent::Session => ASKED[..1].to_vec(),
            Extent::Check => ASKED[..CHECKED].to_vec(),
            Extent::Changed(_) => ASKED_OF_CHANGED.iter().map(String::as_str).collect(),
            Extent::Whole => ASKED.to_vec(),
        }
    }

    /// Takes a row of the current answer.
    pub(super) fn read_row(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let values = backend::read_data_row(body)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let row = values.iter().map(|value| value.map(text)).collect();
        self.answers.last_mut().ok_or(Malformed)?.push(row);
        Ok(())
    }
}
