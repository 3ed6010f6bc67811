//! COPY of a protected table in a session: messages of rows become others.

use std::sync::Arc;

use column_types::TextContext;
use session_core::plans::TextPlan;
use session_core::{Fault, Loaded, StatementError};
use sql_plan::Copy;
use wire_postgres::backend::{self, kind};
use wire_postgres::frontend::write_parse;

use crate::copy::{CopyError, Fields, Stream};
use crate::session::texts::render;

/// A COPY under way.
#[derive(Debug)]
pub(super) enum Copying {
    /// `FROM STDIN` of a table without rules: rows go on as they are.
    Plain,
    /// `FROM STDIN`
    In(Box<Copier>),
    /// `TO STDOUT`
    Out(Box<Copier>),
    /// The proxy has refused a row, and the server was told to fail: what the client still sends
    /// goes nowhere.
    Refused,
}

/// Bytes of the client that become one message for the server: sealed, a short field has fifty
/// times its size.
const PIECE_SIZE: usize = 16 * 1024;
/// A longer message for the server becomes several. It does not look where they end.
const BODY_SIZE_MAX: usize = 1 << 20;

/// What turns the rows.
#[derive(Debug)]
pub(super) struct Copier {
    stream: Stream,
    fields: Fields,
    table: String,
    piece_size: usize,
    body_size_max: usize,
}

/// The COPY of a session.
#[derive(Debug, Default)]
pub(super) struct CopyState {
    /// What is under way.
    pub under_way: Option<Copying>,
    /// What the client is told in place of the server's error about it.
    pub failure: Option<StatementError>,
}

/// Writes Parse of a COPY.
///
/// # Errors
/// A constant that is none of its column's type.
pub(super) fn write_copy(
    (loaded, copy): (&Loaded, &Copy),
    name: &[u8],
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), StatementError> {
    let text = render(loaded, &copy.template, &copy.holes, context)?;
    write_parse(name, text.as_bytes(), std::iter::empty(), out);
    Ok(())
}

impl Copying {
    /// The server begins with it. `limits` are those of [`Fields::begin`].
    ///
    /// # Errors
    /// The proxy does not know its format.
    pub(super) fn begin(
        plan: &Arc<TextPlan>,
        copy: &Copy,
        context: &TextContext,
        limits: (usize, bool),
    ) -> Result<Self, StatementError> {
        let begun = Fields::begin(copy, &plan.loaded, context, limits);
        let (stream, fields) = begun
            .map_err(|error| StatementError::new(Fault::Value, error.sqlstate, error.message))?;
        let (piece_size, body_size_max) = match copy.into_server {
            true => (PIECE_SIZE, BODY_SIZE_MAX),
            // Clients are used to a message for each row.
            false => (usize::MAX, usize::MAX),
        };
        let copier = Box::new(Copier {
            stream,
            fields,
            table: copy.table.1.clone(),
            piece_size,
            body_size_max,
        });
        Ok(match copy.into_server {
            true => Self::In(copier),
            false => Self::Out(copier),
        })
    }
}

impl Copier {
    /// Takes what is in a CopyData, or a piece of it, and writes others.
    ///
    /// # Errors
    /// A row that cannot go on.
    pub(super) fn push(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), StatementError> {
        let body_size_max = self.body_size_max;
        for piece in data.chunks(self.piece_size) {
            let Self { stream, fields, .. } = self;
            let mut convert = |field: usize, content: &[u8], out: &mut Vec<u8>| {
                fields.convert(field, content, out)
            };
            let pushed = write(out, body_size_max, |out| {
                stream.push(piece, &mut convert, out)
            });
            pushed.map_err(|error| self.failure(error))?;
        }
        Ok(())
    }

    /// No row comes any more.
    ///
    /// # Errors
    /// The last row cannot go on.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Result<(), StatementError> {
        let body_size_max = self.body_size_max;
        let Self { stream, fields, .. } = self;
        let mut convert =
            |field: usize, content: &[u8], out: &mut Vec<u8>| fields.convert(field, content, out);
        let ended = write(out, body_size_max, |out| stream.end(&mut convert, out));
        ended.map_err(|error| self.failure(error))
    }

    /// In the words of the server, without any content.
    fn failure(&self, error: CopyError) -> StatementError {
        let mut context = format!("COPY {}, line {}", self.table, error.line);
        if let Some(column) = &error.column {
            context.push_str(&format!(", column {column}"));
        }
        StatementError {
            hint: error.hint.map(str::to_owned),
            ..StatementError::new(Fault::Value, error.sqlstate, error.message).context(context)
        }
    }
}

/// Writes CopyData, in several messages where it is long; none where there is nothing in it, or
/// something is wrong.
fn write(
    out: &mut Vec<u8>,
    body_size_max: usize,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let start = out.len();
    let mut result = Ok(());
    backend::write(kind::COPY_DATA, out, |out| result = body(out));
    let body_at = start + wire_postgres::HEADER_SIZE;
    let body_size = out.len() - body_at;
    if result.is_err() || body_size == 0 {
        out.truncate(start);
    } else if body_size > body_size_max {
        let long = out.split_off(body_at);
        out.truncate(start);
        for part in long.chunks(body_size_max) {
            backend::write(kind::COPY_DATA, out, |out| out.extend_from_slice(part));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut bodies = Vec::new();
        while let [b'd', a, b, c, d, ..] = *bytes {
            let size = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
            bodies.push(&bytes[wire_postgres::HEADER_SIZE..size]);
            bytes = &bytes[size..];
        }
        assert!(bytes.is_empty());
        bodies
    }

    #[test]
    fn what_is_long_becomes_several_messages() {
        for (size, wanted) in [
            (0, &[][..]),
            (1, &[1]),
            (10, &[10]),
            (11, &[10, 1]),
            (30, &[10, 10, 10]),
        ] {
            let rows: Vec<u8> = (0..size).collect();
            let mut out = Vec::new();
            let written = write(&mut out, 10, |out| {
                out.extend_from_slice(&rows);
                Ok(())
            });
            assert_eq!(written, Ok(()));
            let bodies = bodies(&out);
            assert_eq!(bodies.concat(), rows, "{size}");
            let sizes: Vec<usize> = bodies.iter().map(|body| body.len()).collect();
            assert_eq!(sizes, wanted, "{size}");
        }
    }
}
