//! Errors of the server that show sealed values. The client is shown its own values in their
//! place, or nothing.
//!
//! Invariants:
//! 1. A value is shown only if it opens, so it is the one that the server means, whatever language
//!    the server speaks and however its text is cut.
//! 2. What looks like a sealed value and does not open is not shown: its field is left out. Of a
//!    value that the server has cut, the beginning tells which one it is, if it was sealed lately.

use std::borrow::Cow;

use semantics_postgres::TextContext;
use session_core::{Loaded, ValueFormat};
use sql_rewrite::{ProtectedColumn, ServerType, Table};
use wire_postgres::Malformed;
use wire_postgres::backend::{self, kind};

use numbers::Detail;

use super::{Outputs, Protected};
use crate::session::End;
use crate::session::format::FormatCode;

mod numbers;

impl Protected {
    /// Gives the client an error of the server, with the client's values in place of sealed ones.
    pub(super) fn pass_error(
        &self,
        body: &[u8],
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let can_be_written = self.settings.encoding().check().is_ok();
        let opening = Opening {
            loaded: self.schema.loaded().ok().map(|loaded| &**loaded),
            context: can_be_written.then(|| self.settings.context()),
        };
        write_error_of_server(body, message, opening, outputs.to_client)?;
        Ok(())
    }
}

/// With what values are opened and shown.
#[derive(Clone, Copy, Default)]
struct Opening<'a> {
    /// Tables and keys. None: none were read.
    loaded: Option<&'a Loaded>,
    /// How values are written. None: the proxy cannot write them as the server would.
    context: Option<&'a TextContext>,
}

/// Writes an error of the server for the client.
///
/// # Errors
/// The body is malformed.
fn write_error_of_server(
    body: &[u8],
    message: &[u8],
    opening: Opening<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let fields = backend::read_fields(body)?;
    let shows = |(letter, text): &(u8, &[u8])| may_show(*letter) && sealed_at(text).is_some();
    let error = ServerError::new(&fields);
    let may_show_number = |loaded| numbers::may_show(&error, loaded);
    if !fields.iter().any(shows) && !opening.loaded.is_some_and(may_show_number) {
        out.extend_from_slice(message);
        return Ok(());
    }
    if opening
        .loaded
        .is_some_and(|loaded| error.is_of_plain(loaded))
    {
        out.extend_from_slice(message);
        return Ok(());
    }
    let shown = fields.iter().filter_map(|&(letter, text)| {
        let text = match letter {
            _ if !may_show(letter) => Some(Cow::Borrowed(text)),
            b'D' => error.opened(text, opening),
            _ => without_sealed_lines(text),
        };
        Some((letter, text?))
    });
    backend::write_fields(kind::ERROR, shown, out);
    Ok(())
}

/// Whether a field is one in which the server itself shows values: the detail, or the context of
/// a COPY.
fn may_show(letter: u8) -> bool {
    matches!(letter, b'D' | b'W')
}

/// Where a sealed value may begin, in one of both styles of `bytea_output`.
fn sealed_at(text: &[u8]) -> Option<usize> {
    (0..text.len()).find(|&at| first_byte(&text[at..]).is_some_and(column_codec::may_begin))
}

/// The first of the bytes that are written there, if some are and it is no letter.
fn first_byte(text: &[u8]) -> Option<u8> {
    let (digits, base) = match text {
        [b'\\', b'x', digits @ ..] => (digits.get(..2)?, 16),
        [b'\\', digits @ ..] => (digits.get(..3)?, 8),
        _ => return None,
    };
    u8::from_str_radix(str::from_utf8(digits).ok()?, base).ok()
}

/// What an error says of where its values are.
struct ServerError<'a> {
    code: &'a [u8],
    schema: &'a [u8],
    table: &'a [u8],
}

impl<'a> ServerError<'a> {
    fn new(fields: &[(u8, &'a [u8])]) -> Self {
        let of = |wanted: u8| {
            let found = fields.iter().find(|(letter, _)| *letter == wanted);
            found.map_or(&b""[..], |(_, text)| text)
        };
        Self {
            code: of(b'C'),
            schema: of(b's'),
            table: of(b't'),
        }
    }

    /// A detail with the client's values in place of sealed ones. None: one does not open.
    fn opened<'t>(&self, text: &'t [u8], opening: Opening<'_>) -> Option<Cow<'t, [u8]>> {
        let numbers = match opening
            .loaded
            .filter(|loaded| numbers::may_show(self, loaded))
        {
            None => Detail::Without,
            Some(loaded) => numbers::opened(text, self, loaded, opening.context?),
        };
        match numbers {
            Detail::Without => self.opened_bytes(Cow::Borrowed(text), opening),
            Detail::Opened(text) => self.opened_bytes(Cow::Owned(text), opening),
            Detail::Unknown => None,
        }
    }

    /// A detail with the client's values in place of sealed bytes.
    fn opened_bytes<'t>(&self, text: Cow<'t, [u8]>, opening: Opening<'_>) -> Option<Cow<'t, [u8]>> {
        let mut shown = Vec::new();
        let mut rest = &*text;
        while let Some(at) = sealed_at(rest) {
            let (loaded, context) = (opening.loaded?, opening.context?);
            shown.extend_from_slice(&rest[..at]);
            let sealed = &rest[at..];
            if let Some((value, size)) = noted(sealed, loaded, context) {
                shown.extend_from_slice(&value);
                rest = &sealed[size..];
                continue;
            }
            let size = ends(sealed).find(|&end| {
                let value = self.open(&sealed[..end], loaded, context);
                value.is_some_and(|value| {
                    shown.extend_from_slice(&value);
                    true
                })
            })?;
            rest = &sealed[size..];
        }
        if shown.is_empty() {
            return Some(text);
        }
        shown.extend_from_slice(rest);
        Some(Cow::Owned(shown))
    }

    /// The text of a value. None: it does not open, or columns that share a key would write it in
    /// different ways.
    fn open(&self, text: &[u8], loaded: &Loaded, context: &TextContext) -> Option<Vec<u8>> {
        let mut memory = Vec::new();
        let sealed = FormatCode::TEXT.sealed(ServerType::Bytes, text, &mut memory)?;
        let mut found: Option<Vec<u8>> = None;
        let all = loaded.schema.protected.iter();
        // Of values that are sealed together, each column would show only one.
        let alone = all.filter(|own| own.form.group.is_none());
        for column in alone.filter(|own| own.server_type() == ServerType::Bytes) {
            let Ok(Some(value)) = loaded.sealer.open(column.id, sealed) else {
                continue;
            };
            let mut out = Vec::new();
            let format = FormatCode::TEXT;
            let written = format.write(&value, column.logical, context, &mut out);
            written.ok()?;
            if self.is_of(column) {
                return Some(out);
            }
            match &found {
                Some(other) if *other != out => return None,
                _ => found = Some(out),
            }
        }
        found
    }

    /// Whether the error is about a table without protected columns: nothing in it is sealed.
    fn is_of_plain(&self, loaded: &Loaded) -> bool {
        self.table_of(loaded)
            .is_some_and(|table| !table.is_protected())
    }

    /// The table that the error names.
    fn table_of<'l>(&self, loaded: &'l Loaded) -> Option<&'l Table> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let name = (text(self.schema), text(self.table));
        loaded.schema.tables.get(&name)
    }

    fn is_of_foreign_key(&self) -> bool {
        const FOREIGN_KEY_VIOLATION: &[u8] = b"23503";
        self.code == FOREIGN_KEY_VIOLATION
    }

    /// Whether the error is about the table of a column. An error about a foreign key names one of
    /// its two tables, and shows values of either.
    fn is_of(&self, column: &ProtectedColumn) -> bool {
        !self.is_of_foreign_key()
            && self.schema == column.schema.as_bytes()
            && self.table == column.table.as_bytes()
    }
}

/// What the server puts behind the beginning of a value that is longer than what it shows
/// (`ExecBuildSlotValueDescription`), and how many bytes of one it shows.
const CUT: &[u8] = b"...";
const SHOWN_MAX: usize = 64;

/// The text of a value of which the server shows the beginning, if it was sealed lately, cut as the
/// server would cut it; and the size of what the server shows.
fn noted(text: &[u8], loaded: &Loaded, context: &TextContext) -> Option<(Vec<u8>, usize)> {
    let (start, rest) = text.split_at_checked(SHOWN_MAX)?;
    if !start.starts_with(b"\\x") || !rest.starts_with(CUT) {
        return None;
    }
    let mut memory = Vec::new();
    let start = FormatCode::TEXT.sealed(ServerType::Bytes, start, &mut memory)?;
    let (column, value) = context.noted.find(start)?;
    let logical = loaded.schema.protected.get(column as usize)?.logical;
    let mut out = Vec::new();
    FormatCode::TEXT
        .write(&value, logical, context, &mut out)
        .ok()?;
    if out.len() > SHOWN_MAX {
        let written = std::str::from_utf8(&out).ok()?;
        let mut end = SHOWN_MAX;
        while !written.is_char_boundary(end) {
            end -= 1;
        }
        out.truncate(end);
        out.extend_from_slice(CUT);
    }
    Some((out, SHOWN_MAX + CUT.len()))
}

/// Where a value that begins a text may end. Digits end with the last one; in the other style of
/// `bytea_output` a value may hold the brackets and commas that stand behind one.
fn ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let is_hex = text.starts_with(b"\\x");
    let all = (2..=text.len()).filter(move |&end| match text.get(end) {
        None => true,
        Some(next) if is_hex => !next.is_ascii_hexdigit(),
        Some(next) => matches!(next, b')' | b','),
    });
    all.take(if is_hex { 1 } else { usize::MAX })
}

/// A context without what its lines show of sealed values: of the line of a COPY its number is
/// left.
fn without_sealed_lines(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let lines = text.split(|&byte| byte == b'\n');
    let lines: Vec<&[u8]> = lines.filter_map(without_sealed).collect();
    (!lines.is_empty()).then(|| Cow::Owned(lines.join(&b'\n')))
}

fn without_sealed(line: &[u8]) -> Option<&[u8]> {
    let Some(sealed) = sealed_at(line) else {
        return Some(line);
    };
    let start = &line[..sealed];
    let end = start.windows(2).position(|pair| pair == b": ")?;
    start.starts_with(b"COPY ").then(|| &start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_show_what_is_sealed_are_cut() {
        for (context, left) in [
            ("COPY t, line 3", Some("COPY t, line 3")),
            (
                "COPY t, line 3: \"1\t\\\\x90abcdef...\"",
                Some("COPY t, line 3"),
            ),
            (
                "COPY t, line 3, column c: \"\\235abc\"",
                Some("COPY t, line 3, column c"),
            ),
            (
                "SQL statement \"UPDATE t SET c = '\\x9dab'\"\nPL/pgSQL function f()",
                Some("PL/pgSQL function f()"),
            ),
            ("said \\x81ab", None),
            (
                "COPY t, line 3, column c: \"\\x9cab...\"",
                Some("COPY t, line 3, column c"),
            ),
            (
                "COPY t, line 3, column c: \"\\200ab...\"",
                Some("COPY t, line 3, column c"),
            ),
        ] {
            let shown = without_sealed_lines(context.as_bytes());
            assert_eq!(shown.as_deref(), left.map(str::as_bytes), "{context}");
        }
    }

    #[test]
    fn what_does_not_open_is_not_shown() {
        let body = b"SERROR\0C23505\0Mtwice\0DKey (c)=(\\x90ab) already exists.\0nkey\0\0";
        let mut out = Vec::new();
        let written = write_error_of_server(body, b"unused", Opening::default(), &mut out);
        assert_eq!(written, Ok(()));
        let fields = backend::read_fields(&out[wire_postgres::HEADER_SIZE..]);
        let wanted: Vec<(u8, &[u8])> = vec![
            (b'S', b"ERROR"),
            (b'C', b"23505"),
            (b'M', b"twice"),
            (b'n', b"key"),
        ];
        assert_eq!(fields, Ok(wanted));
    }

    #[test]
    fn an_error_that_shows_nothing_sealed_passes() {
        let body = b"SERROR\0C23505\0DKey (c)=(\\x92fe) already exists.\0\0";
        let mut out = Vec::new();
        let written = write_error_of_server(body, b"as it came", Opening::default(), &mut out);
        assert_eq!(written, Ok(()));
        assert_eq!(out, b"as it came");
    }
}
