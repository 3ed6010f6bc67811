//! COPY of a protected table in a session: messages of rows become others.

use std::sync::Arc;

use column_types::TextContext;
use sql_rewrite::{Copy, Plan};
use wire_postgres::backend::{self, Failure, kind};
use wire_postgres::frontend::write_parse;

use super::constants::render;
use crate::copy::{CopyError, Fields, Stream};
use crate::plans::TextPlan;
use crate::protection::Loaded;

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

/// What turns the rows.
#[derive(Debug)]
pub(super) struct Copier {
    stream: Stream,
    fields: Fields,
    table: String,
}

/// The COPY at a place of a text.
pub(super) fn copy_at(plan: &TextPlan, place: usize) -> Option<&Copy> {
    match &plan.planned.get(place)?.plan {
        Plan::Copy(copy) => Some(copy),
        _ => None,
    }
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
) -> Result<(), Failure> {
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
    ) -> Result<Self, Failure> {
        let begun = Fields::begin(copy, &plan.loaded, context, limits);
        let (stream, fields) =
            begun.map_err(|error| Failure::error(error.sqlstate, error.message))?;
        let copier = Box::new(Copier {
            stream,
            fields,
            table: copy.table.1.clone(),
        });
        Ok(match copy.into_server {
            true => Self::In(copier),
            false => Self::Out(copier),
        })
    }
}

impl Copier {
    /// Takes the body of a CopyData, and writes another.
    ///
    /// # Errors
    /// A row that cannot go on.
    pub(super) fn push(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        let Self { stream, fields, .. } = self;
        let mut convert =
            |field: usize, content: &[u8], out: &mut Vec<u8>| fields.convert(field, content, out);
        let pushed = write(out, |out| stream.push(data, &mut convert, out));
        pushed.map_err(|error| self.failure(error))
    }

    /// No row comes any more.
    ///
    /// # Errors
    /// The last row cannot go on.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let Self { stream, fields, .. } = self;
        let mut convert =
            |field: usize, content: &[u8], out: &mut Vec<u8>| fields.convert(field, content, out);
        let ended = write(out, |out| stream.end(&mut convert, out));
        ended.map_err(|error| self.failure(error))
    }

    /// In the words of the server, without any content.
    fn failure(&self, error: CopyError) -> Failure {
        let mut context = format!("COPY {}, line {}", self.table, error.line);
        if let Some(column) = &error.column {
            context.push_str(&format!(", column {column}"));
        }
        Failure {
            hint: error.hint.map(str::to_owned),
            ..Failure::error(error.sqlstate, error.message).context(context)
        }
    }
}

/// Writes a CopyData, unless there is nothing in it, or something is wrong.
fn write(
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let start = out.len();
    let mut result = Ok(());
    backend::write(kind::COPY_DATA, out, |out| result = body(out));
    if result.is_err() || out.len() == start + wire_postgres::HEADER_SIZE {
        out.truncate(start);
    }
    result
}
