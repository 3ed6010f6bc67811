//! The rows of a COPY that leaves a column with a sequence out. How many values it needs is known
//! only at its end, and no other statement can ask for them during a COPY. So the proxy itself
//! answers CopyInResponse, holds the rows, asks for the values, and only then sends the COPY.

use session_core::{Fault, StatementError, wiped};
use sql_plan::{ColumnId, Copy, CopyFormat, Literal, OutputKind};
use wire_postgres::backend;
use wire_postgres::frontend;
use zeroize::Zeroizing;

use crate::copy::Stream;

/// What a value takes that is drawn for a row, and added to it.
const ADDED_SIZE: usize = 128;
/// What sealing adds to a value.
const SEALED_SIZE: usize = 64;

/// Rows that are held, and the message that they are for.
#[derive(Debug)]
pub(super) struct HeldRows {
    /// The client's Query or Execute.
    message: Zeroizing<Vec<u8>>,
    /// The client's messages with rows, up to CopyDone; CopyFail alone if the client gave up.
    rows: Zeroizing<Vec<u8>>,
    /// Reads the rows to count them. None: they have ended, or cannot be read any further. The
    /// error comes again when they are sent.
    counter: Option<Stream>,
    /// The number of the first field that is added to each row.
    added_from: usize,
    count: usize,
    /// What a row takes beside its own bytes, once its values are drawn and sealed.
    row_growth: usize,
    columns: Vec<ColumnId>,
    size_max: usize,
    is_complete: bool,
}

/// The columns for which a COPY needs values of a sequence in each row.
pub(super) fn drawn_by(copy: &Copy) -> Vec<ColumnId> {
    let added = copy.added.iter();
    let drawn = added.filter(|(_, default)| *default == Literal::Drawn);
    drawn.map(|(column, _)| *column).collect()
}

fn sealed_fields(copy: &Copy) -> usize {
    let sealed = |field: &&OutputKind| **field != OutputKind::Plain;
    copy.fields.iter().filter(sealed).count()
}

impl HeldRows {
    /// Begins to hold the rows of a COPY, in at most so many bytes. `counter` reads them from their
    /// beginning.
    pub(super) fn begin(message: &[u8], copy: &Copy, counter: Stream, size_max: usize) -> Self {
        Self {
            message: Zeroizing::new(message.to_vec()),
            rows: Zeroizing::default(),
            counter: Some(counter),
            added_from: copy.fields.len(),
            count: 0,
            row_growth: copy.added.len() * ADDED_SIZE + sealed_fields(copy) * SEALED_SIZE,
            columns: drawn_by(copy),
            size_max,
            is_complete: false,
        }
    }

    /// Takes a part of the client's rows.
    ///
    /// # Errors
    /// They are too many.
    pub(super) fn push(&mut self, data: &[u8]) -> Result<(), StatementError> {
        if self.rows.len() + data.len() > self.size_max {
            return Err(self.too_large());
        }
        wiped::reserve(&mut self.rows, wire_postgres::HEADER_SIZE + data.len());
        backend::write(frontend::kind::COPY_DATA, &mut self.rows, |out| {
            out.extend_from_slice(data);
        });
        self.count_rows(Some(data));
        // All rows are sealed at once.
        let growth = self.count.saturating_mul(self.row_growth);
        if self.rows.len().saturating_add(growth) > self.size_max {
            return Err(self.too_large());
        }
        Ok(())
    }

    fn too_large(&self) -> StatementError {
        let size_max = self.size_max;
        let message = format!(
            "the proxy holds the rows of a COPY that leaves out a protected column whose values \
             are drawn from a sequence, and these take more than {size_max} bytes"
        );
        StatementError::limit(message).hint(
            "Send the rows by several COPY, name the column and give its values, or raise \
             max_finish_bytes in the proxy's configuration.",
        )
    }

    /// Takes the client's CopyDone or CopyFail.
    pub(super) fn end(&mut self, kind: u8) {
        if self.is_complete {
            return;
        }
        self.is_complete = true;
        if kind == frontend::kind::COPY_DONE {
            self.count_rows(None);
            backend::write_empty(kind, &mut self.rows);
            return;
        }
        // What the client says may be plaintext.
        self.rows = Zeroizing::default();
        self.count = 0;
        backend::write(kind, &mut self.rows, |out| out.push(0));
    }

    fn count_rows(&mut self, data: Option<&[u8]>) {
        let Some(counter) = &mut self.counter else {
            return;
        };
        let (added_from, count) = (self.added_from, &mut self.count);
        let mut out = Vec::new();
        let mut counting = |field: usize, _: &[u8], _: &mut Vec<u8>| {
            *count += usize::from(field == added_from);
            Ok(true)
        };
        let read = match data {
            Some(data) => counter.push(data, &mut counting, &mut out),
            None => counter.end(&mut counting, &mut out),
        };
        let ended = read.is_err() || data.is_none();
        drop(Zeroizing::new(out));
        if ended {
            self.counter = None;
        }
    }

    /// The client's Query or Execute, once all rows are there.
    pub(super) fn complete(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.is_complete.then(|| self.message.clone())
    }

    /// The values that the rows need, by column.
    pub(super) fn wanted(&self) -> Vec<(ColumnId, usize)> {
        let columns = self.columns.iter();
        columns.map(|column| (*column, self.count)).collect()
    }

    /// Whether a COPY takes the rows as the one for which they were sent.
    pub(super) fn are_for(&self, copy: &Copy) -> bool {
        (self.added_from, &self.columns) == (copy.fields.len(), &drawn_by(copy))
    }

    /// The rows, as the client's messages.
    pub(super) fn into_rows(self) -> Zeroizing<Vec<u8>> {
        self.rows
    }
}

/// Tells the client to send rows of so many fields.
pub(super) fn write_copy_in(copy: &Copy, out: &mut Vec<u8>) {
    let format = i16::from(copy.format == CopyFormat::Binary);
    backend::write(backend::kind::COPY_IN, out, |out| {
        out.push(u8::from(format != 0));
        let count = i16::try_from(copy.fields.len()).expect("a table has at most 1,600 columns");
        out.extend_from_slice(&count.to_be_bytes());
        for _ in &copy.fields {
            out.extend_from_slice(&format.to_be_bytes());
        }
    });
}

/// The refusal of such a COPY beside other statements in one text.
pub(super) fn beside_others() -> StatementError {
    StatementError::unsupported(
        "COPY that leaves out a protected column whose values are drawn from a sequence is not \
         supported beside other statements in one text",
    )
    .hint("Send it by itself.")
}

/// The table is another one than when the client began to send rows.
pub(super) fn changed() -> StatementError {
    let message = "the table has changed while the proxy held the rows of the COPY";
    StatementError::new(
        Fault::Statement,
        sqlstate::SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
    )
    .hint("Send the COPY again.")
}

/// A message that is none of a COPY came before its end.
pub(super) fn unexpected_message() -> StatementError {
    StatementError::new(
        Fault::Statement,
        sqlstate::SqlState::PROTOCOL_VIOLATION,
        "unexpected message during COPY from stdin",
    )
}
