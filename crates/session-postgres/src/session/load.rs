//! Reads the server's catalogues over the session's own connection, so that its uncommitted changes
//! are seen.

use std::collections::BTreeSet;
use std::time::Instant;

use sql_plan::{ColumnId, Literal};
use sql_rewrite::{
    ASKED, ASKED_OF_CHANGED, Answer, CHECKED, Schema, SessionFacts, fingerprint_of, names_text,
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
    /// No settings: the next values of sequences.
    Draw(Vec<Draw>),
}

/// Values to draw from the sequence of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub column: ColumnId,
    count: usize,
    /// Asks for them, each in a row.
    query: String,
}

impl Draw {
    /// So many values for a column with a sequence.
    pub(super) fn new(schema: &Schema, id: ColumnId, count: usize) -> Self {
        let column = schema.column(id);
        let named = column.draws.as_ref().and_then(|own| own.sequence.clone());
        let constant = |text: String| {
            let mut constant = String::new();
            Literal::Text(text).write(&mut constant);
            constant
        };
        let sequence = match named {
            Some(name) => constant(name),
            None => {
                let table = format!(
                    "\"{}\".\"{}\"",
                    column.schema.replace('"', "\"\""),
                    column.table.replace('"', "\"\"")
                );
                let (table, column) = (constant(table), constant(column.column.clone()));
                format!("pg_catalog.pg_get_serial_sequence({table}, {column})")
            }
        };
        let query = format!(
            "SELECT pg_catalog.nextval(CAST({sequence} AS pg_catalog.regclass))::pg_catalog.text \
             FROM pg_catalog.generate_series(1, {count})"
        );
        Self {
            column: id,
            count,
            query,
        }
    }
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

/// Values of sequences, by the columns that they are for.
type Drawn = Vec<(ColumnId, Vec<i64>)>;

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
            Extent::Session | Extent::Check | Extent::Whole | Extent::Draw(_) => String::new(),
        };
        for query in &load.queries() {
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
    pub(super) fn queries(&self) -> Vec<&str> {
        match &self.extent {
            Extent::Session => ASKED[..1].to_vec(),
            Extent::Check => ASKED[..CHECKED].to_vec(),
            Extent::Changed(_) => ASKED_OF_CHANGED.iter().map(String::as_str).collect(),
            Extent::Whole => ASKED.to_vec(),
            Extent::Draw(draws) => draws.iter().map(|draw| draw.query.as_str()).collect(),
        }
    }

    /// The values that were drawn, by column. None: it was asked for something else.
    ///
    /// # Errors
    /// A column has no sequence.
    pub(super) fn drawn(&self) -> Result<Option<Drawn>, ColumnId> {
        let Extent::Draw(draws) = &self.extent else {
            return Ok(None);
        };
        let drawn = draws.iter().zip(&self.answers).map(|(draw, answer)| {
            let number = |row: &Vec<Option<String>>| row.first()?.as_deref()?.parse().ok();
            let numbers: Option<Vec<i64>> = answer.iter().map(number).collect();
            numbers
                .filter(|numbers| numbers.len() == draw.count)
                .map(|numbers| (draw.column, numbers))
                .ok_or(draw.column)
        });
        drawn.collect::<Result<_, _>>().map(Some)
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
