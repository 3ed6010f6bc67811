//! COPY in a session: messages with rows of a protected table are rewritten.

use std::sync::Arc;

use semantics_postgres::{Drawn, OpaqueForms, TextContext, Wanted};
use session_core::plans::TextPlan;
use session_core::{Fault, Loaded, StatementError};
use sql_plan::Copy;
use wire_postgres::backend::{self, kind};
use wire_postgres::frontend::{self, write_parse};
use zeroize::Zeroizing;

use super::MessageAction;
use super::held_rows::HeldRows;
use crate::copy::{CopyError, Fields, Stream};
use crate::session::texts::render;

/// A COPY under way.
#[derive(Debug)]
pub(super) enum Copying {
    /// `FROM STDIN` of a table without rules: rows are forwarded unchanged.
    Plain,
    /// `FROM STDIN`
    In(Box<Copier>),
    /// `TO STDOUT`
    Out(Box<Copier>),
    /// The proxy has refused a row and sent CopyFail. Rows that the client still sends are dropped.
    Refused,
    /// The proxy holds the rows, and has sent nothing to the server yet.
    Held(Box<HeldRows>),
    /// The COPY was sent. Rows that were held follow, with these values of sequences.
    Released(Box<HeldRows>, Drawn),
}

/// How many bytes of the client become one message for the server: sealing can make a short field
/// fifty times as long.
const PIECE_SIZE: usize = 16 * 1024;
/// A longer message for the server is split. The server does not mind where messages end.
const BODY_SIZE_MAX: usize = 1 << 20;

/// Rewrites the rows of a COPY.
#[derive(Clone, Debug)]
pub(super) struct Copier {
    stream: Stream,
    fields: Fields,
    table: String,
    piece_size: usize,
    body_size_max: usize,
    /// Why the next row cannot be rewritten.
    failure: Option<StatementError>,
}

/// The COPY of a session.
#[derive(Debug, Default)]
pub(super) struct CopyState {
    /// The COPY that is under way.
    under_way: Option<Copying>,
    /// The error for the client, in place of the server's error about CopyFail.
    failure: Option<StatementError>,
    /// The server has begun the COPY of rows that were held: they come next.
    rows: Option<Zeroizing<Vec<u8>>>,
    /// A COPY waits until the server owes nothing.
    awaits_idle: bool,
}

impl CopyState {
    /// Notes whether a COPY waits until the server owes nothing: its message is read again then.
    /// True: it waits already.
    pub(super) fn set_awaits_idle(&mut self, awaits: bool) -> bool {
        std::mem::replace(&mut self.awaits_idle, awaits)
    }

    /// Whether a COPY waits until the server owes nothing.
    pub(super) fn awaits_idle(&self) -> bool {
        self.awaits_idle
    }

    /// Begins to hold rows.
    pub(super) fn hold(&mut self, rows: HeldRows) {
        self.under_way = Some(Copying::Held(Box::new(rows)));
    }

    /// The rows that are held.
    pub(super) fn held(&mut self) -> Option<&mut HeldRows> {
        match &mut self.under_way {
            Some(Copying::Held(rows)) => Some(rows),
            _ => None,
        }
    }

    /// Whether rows are held, or wait for the server to begin their COPY.
    pub(super) fn has_held(&self) -> bool {
        let waits = |own: &Copying| matches!(own, Copying::Held(_) | Copying::Released(..));
        self.rows.is_some() || self.under_way.as_ref().is_some_and(waits)
    }

    /// Gives up rows that are held.
    pub(super) fn drop_held(&mut self) {
        if matches!(self.under_way, Some(Copying::Held(_))) {
            self.under_way = None;
        }
    }

    /// Whether the server has yet to begin the COPY of rows that were held.
    pub(super) fn is_released(&self) -> bool {
        matches!(self.under_way, Some(Copying::Released(..)))
    }

    /// Notes that the COPY of the rows that are held is sent now.
    pub(super) fn release(&mut self, drawn: Drawn) {
        if let Some(Copying::Held(rows)) = self.under_way.take() {
            self.under_way = Some(Copying::Released(rows, drawn));
        }
    }

    /// Notes that the server begins the COPY of rows that were held, if it does. True: the client
    /// has been told already.
    pub(super) fn begin_released(&mut self, begun: &mut Option<Copying>) -> bool {
        match (self.under_way.take(), begun) {
            (Some(Copying::Released(rows, drawn)), Some(Copying::In(copier))) => {
                copier.fields.set_drawn(drawn);
                self.rows = Some(rows.into_rows());
                true
            }
            _ => false,
        }
    }

    /// Rows that were held, once the server has begun their COPY.
    pub(super) fn take_rows(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.rows.take()
    }

    /// What to do with a message of the client that belongs to a COPY. `is_idle`: the server owes
    /// nothing.
    pub(super) fn client_action(&self, kind: u8, is_idle: bool) -> MessageAction {
        let is_data = kind == frontend::kind::COPY_DATA;
        match &self.under_way {
            Some(Copying::Plain) if is_data => MessageAction::Pass,
            Some(Copying::Refused) if is_data => MessageAction::Drop,
            Some(Copying::In(_) | Copying::Held(_)) if is_data => MessageAction::Copy,
            Some(Copying::Released(..)) => MessageAction::Wait,
            Some(Copying::Plain | Copying::In(_) | Copying::Refused | Copying::Held(_)) => {
                MessageAction::Read
            }
            // The server ignores it outside of a COPY.
            None if is_idle => MessageAction::Drop,
            // It may belong to a COPY that the server has not begun yet.
            Some(Copying::Out(_)) | None => MessageAction::Wait,
        }
    }

    /// Whether the client sends rows. The server ignores a Sync among them.
    pub(super) fn is_in(&self) -> bool {
        let copying = self.under_way.as_ref();
        copying.is_some_and(|copying| !matches!(copying, Copying::Out(_)))
    }

    /// Whether rows of the server are rewritten.
    pub(super) fn is_out(&self) -> bool {
        matches!(self.under_way, Some(Copying::Out(_)))
    }

    /// Notes that the server begins a COPY. None: `TO STDOUT` of a table without rules.
    pub(super) fn begin(&mut self, copying: Option<Copying>) {
        self.under_way = copying;
    }

    /// Values of rows of which another form is needed that is not known. None: there are none.
    pub(super) fn wanted(
        &self,
        data: Option<&[u8]>,
        known: &OpaqueForms,
        is_in: bool,
    ) -> Option<Wanted> {
        match &self.under_way {
            Some(Copying::In(copier)) if is_in => copier.wanted(data, known),
            Some(Copying::Out(copier)) if !is_in => copier.wanted(data, known),
            _ => None,
        }
    }

    /// Takes what is known of values that are kept unread.
    pub(super) fn set_forms(&mut self, forms: &OpaqueForms) {
        if let Some(Copying::In(copier) | Copying::Out(copier)) = &mut self.under_way {
            copier.fields.set_forms(forms.clone());
        }
    }

    /// Notes that a row of the client cannot be rewritten.
    pub(super) fn note_failure(&mut self, failure: StatementError) {
        if let Some(Copying::In(copier)) = &mut self.under_way {
            copier.failure = Some(failure);
        }
    }

    /// Takes a piece of the client's rows. After a failure they are dropped.
    pub(super) fn take_data(&mut self, data: &[u8], to_server: &mut Vec<u8>) {
        if let Some(Copying::In(copier)) = &mut self.under_way
            && let Err(failure) = copier.push(data, to_server)
        {
            self.under_way = Some(Copying::Refused);
            self.refuse(failure, to_server);
        }
    }

    /// Takes the client's CopyDone or CopyFail.
    pub(super) fn end_data(&mut self, kind: u8, message: &[u8], to_server: &mut Vec<u8>) {
        match self.under_way.take() {
            Some(Copying::In(mut copier)) if kind == frontend::kind::COPY_DONE => {
                match copier.end(to_server) {
                    Ok(()) => to_server.extend_from_slice(message),
                    Err(failure) => self.refuse(failure, to_server),
                }
            }
            // The client's own message is not forwarded: it may contain plaintext of a row.
            Some(Copying::In(_)) => write_fail("the client gave up", to_server),
            Some(Copying::Plain) => to_server.extend_from_slice(message),
            Some(Copying::Refused | Copying::Out(_) | Copying::Held(_) | Copying::Released(..))
            | None => {}
        }
    }

    fn refuse(&mut self, failure: StatementError, to_server: &mut Vec<u8>) {
        write_fail("a row was refused", to_server);
        self.failure = Some(failure);
    }

    /// Takes rows of the server.
    ///
    /// # Errors
    /// A row cannot be rewritten.
    pub(super) fn give_data(
        &mut self,
        data: &[u8],
        to_client: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        match &mut self.under_way {
            Some(Copying::Out(copier)) => copier.push(data, to_client),
            _ => Ok(()),
        }
    }

    /// Takes the server's CopyDone.
    ///
    /// # Errors
    /// The last row cannot be rewritten.
    pub(super) fn end_giving(&mut self, to_client: &mut Vec<u8>) -> Result<(), StatementError> {
        if let Some(Copying::Out(copier)) = &mut self.under_way {
            copier.end(to_client)?;
            self.under_way = None;
        }
        Ok(())
    }

    /// Ends the COPY: the server has failed or is ready. Returns the error for the client, in place
    /// of the server's. Of one whose rows are held the server knows nothing yet.
    pub(super) fn end(&mut self) -> Option<StatementError> {
        if !matches!(self.under_way, Some(Copying::Held(_))) {
            self.under_way = None;
        }
        self.failure.take()
    }
}

fn write_fail(reason: &str, to_server: &mut Vec<u8>) {
    backend::write(frontend::kind::COPY_FAIL, to_server, |out| {
        out.extend_from_slice(reason.as_bytes());
        out.push(0);
    });
}

/// Writes Parse of a COPY.
///
/// # Errors
/// A constant is not a value of its column.
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
    /// Begins the COPY of a plan. `limits` are those of [`Fields::begin`].
    ///
    /// # Errors
    /// The proxy does not support its format.
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
            // Clients expect one message for each row.
            false => (usize::MAX, usize::MAX),
        };
        let copier = Box::new(Copier {
            stream,
            fields,
            table: copy.table.1.clone(),
            piece_size,
            body_size_max,
            failure: None,
        });
        Ok(match copy.into_server {
            true => Self::In(copier),
            false => Self::Out(copier),
        })
    }
}

impl Copier {
    /// Values of rows of which another form is needed. With `None` the rows end.
    fn wanted(&self, data: Option<&[u8]>, known: &OpaqueForms) -> Option<Wanted> {
        if !self.fields.asks() {
            return None;
        }
        let noting = known.noting();
        let mut copier = self.clone();
        copier.fields.set_forms(noting.clone());
        copier.fields.set_drawn(Drawn::counting());
        let mut out = Vec::new();
        // An error comes again when the rows are rewritten.
        let _ = match data {
            Some(data) => copier.push(data, &mut out),
            None => copier.end(&mut out),
        };
        noting.take_wanted()
    }

    /// Takes the body of CopyData, or a piece of it, and writes CopyData.
    ///
    /// # Errors
    /// A row cannot be rewritten.
    pub(super) fn push(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), StatementError> {
        self.failure.take().map_or(Ok(()), Err)?;
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

    /// Ends the rows.
    ///
    /// # Errors
    /// The last row cannot be rewritten.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Result<(), StatementError> {
        self.failure.take().map_or(Ok(()), Err)?;
        let body_size_max = self.body_size_max;
        let Self { stream, fields, .. } = self;
        let mut convert =
            |field: usize, content: &[u8], out: &mut Vec<u8>| fields.convert(field, content, out);
        let ended = write(out, body_size_max, |out| stream.end(&mut convert, out));
        ended.map_err(|error| self.failure(error))
    }

    /// The error in the server's words, without content of the row.
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

/// Writes CopyData, split into several messages if it is long. Writes nothing if the body is empty
/// or fails.
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
    fn long_rows_become_several_messages() {
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
