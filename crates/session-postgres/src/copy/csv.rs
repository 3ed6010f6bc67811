//! `FORMAT csv`: fields in quotes where they would end otherwise.

use sql_plan::CopyForced;

use super::lines::{Lines, Stray};
use super::{Convert, CopyError, RowState};

/// What is no content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub delimiter: u8,
    pub quote: u8,
    pub escape: u8,
}

/// A stream in CSV format.
#[derive(Clone)]
pub(super) struct Csv {
    marks: Marks,
    null: Vec<u8>,
    forced: CopyForced,
    /// The line at hand holds names.
    in_header: bool,
    state: QuoteState,
    lines: Lines,
    /// The field without quotes.
    content: Vec<u8>,
    /// A quote stood in the field: it is not NULL.
    was_quoted: bool,
    /// Whether the line at hand has any byte.
    has_begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    Unquoted,
    Quoted,
    /// Behind an escape inside of quotes; where that is the quote itself, they may have ended.
    Escaped,
    /// `\.` was there; what follows is nothing.
    Done,
}

impl Csv {
    pub(super) fn new(marks: Marks, null: &str, has_header: bool, forced: CopyForced) -> Self {
        Self {
            marks,
            null: null.as_bytes().to_vec(),
            forced,
            in_header: has_header,
            state: QuoteState::Unquoted,
            lines: Lines::default(),
            content: Vec::new(),
            was_quoted: false,
            has_begun: false,
        }
    }

    pub(super) fn push(
        &mut self,
        row: &mut RowState,
        bytes: &[u8],
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.state == QuoteState::Done {
                return Ok(());
            }
            let goes_on = self
                .lines
                .continues(byte)
                .map_err(|stray| error(row, stray))?;
            if goes_on {
                at += 1;
                continue;
            }
            let rest = &bytes[at..];
            let run = rest.iter().position(|byte| self.is_special(*byte));
            let run = &rest[..run.unwrap_or(rest.len())];
            if run.is_empty() {
                if self.take(row, byte, convert, out)? {
                    at += 1;
                }
            } else {
                self.has_begun = true;
                self.content.extend_from_slice(run);
                at += run.len();
            }
            row.check_size(self.content.len())?;
        }
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        row: &mut RowState,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let is_open = match self.state {
            QuoteState::Done => return Ok(()),
            QuoteState::Unquoted => false,
            QuoteState::Quoted => true,
            QuoteState::Escaped => self.marks.escape != self.marks.quote,
        };
        if is_open {
            return Err(row.bad_format("unterminated CSV quoted field"));
        }
        self.lines.end().map_err(|stray| error(row, stray))?;
        if self.has_begun {
            self.end_line(row, convert, out)?;
        }
        Ok(())
    }

    /// Whether a byte is more than content, where the stream is.
    fn is_special(&self, byte: u8) -> bool {
        let Marks {
            delimiter,
            quote,
            escape,
        } = self.marks;
        match self.state {
            QuoteState::Unquoted => {
                byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r')
            }
            QuoteState::Quoted => byte == quote || byte == escape || matches!(byte, b'\n' | b'\r'),
            QuoteState::Escaped | QuoteState::Done => true,
        }
    }

    /// Takes a byte; false: it only ended what was before it, and is to be looked at again.
    fn take(
        &mut self,
        row: &mut RowState,
        byte: u8,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, CopyError> {
        let Marks { quote, escape, .. } = self.marks;
        match self.state {
            QuoteState::Unquoted if byte == quote => {
                self.has_begun = true;
                self.was_quoted = true;
                self.state = QuoteState::Quoted;
            }
            QuoteState::Unquoted if byte == self.marks.delimiter => {
                self.has_begun = true;
                self.end_field(row, convert, out)?;
            }
            QuoteState::Unquoted => {
                self.lines
                    .end_line(byte)
                    .map_err(|stray| error(row, stray))?;
                self.end_line(row, convert, out)?;
            }
            QuoteState::Quoted if byte == escape => self.state = QuoteState::Escaped,
            QuoteState::Quoted if byte == quote => self.state = QuoteState::Unquoted,
            QuoteState::Quoted => {
                row.line += u64::from(self.lines.counts(byte));
                self.content.push(byte);
            }
            QuoteState::Escaped if byte == quote || byte == escape => {
                self.content.push(byte);
                self.state = QuoteState::Quoted;
            }
            QuoteState::Escaped if escape == quote => {
                self.state = QuoteState::Unquoted;
                return Ok(false);
            }
            QuoteState::Escaped => {
                // It escapes nothing, and stands for itself.
                self.content.push(escape);
                self.state = QuoteState::Quoted;
                return Ok(false);
            }
            QuoteState::Done => {}
        }
        Ok(true)
    }

    fn end_field(
        &mut self,
        row: &mut RowState,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let is_null = self.content == self.null
            && match self.was_quoted {
                true => self.forced.null.contains(&row.field),
                false => !self.forced.not_null.contains(&row.field),
            };
        self.was_quoted = false;
        let is_alone = row.layout.written() == 1;
        if self.in_header {
            if !row.layout.into_server {
                if row.field > 0 {
                    out.push(self.marks.delimiter);
                }
                write(
                    &self.content,
                    self.marks,
                    (&self.null, is_alone),
                    false,
                    out,
                );
            }
        } else {
            row.check_field()?;
            let given = (!is_null).then_some(&*self.content);
            if !row.keeps(given, convert)? {
                row.separate(self.marks.delimiter, out);
                let is_quoted = self.forced.quote.contains(&row.field);
                let content = match given {
                    None => None,
                    Some(content) => row.convert(content, convert)?,
                };
                match content {
                    None => out.extend_from_slice(&self.null),
                    Some(content) => {
                        write(content, self.marks, (&self.null, is_alone), is_quoted, out);
                    }
                }
            }
        }
        self.content.clear();
        row.field += 1;
        Ok(())
    }

    fn end_line(
        &mut self,
        row: &mut RowState,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let is_marker = row.field == 0 && !self.was_quoted && self.content == b"\\.";
        if is_marker && row.layout.into_server && row.layout.marker_ends_csv {
            self.state = QuoteState::Done;
            return Ok(());
        }
        self.end_field(row, convert, out)?;
        let mut in_header = std::mem::take(&mut self.in_header);
        let add = |content: Option<&[u8]>, out: &mut Vec<u8>| match content {
            None => out.extend_from_slice(&self.null),
            Some(content) => write(content, self.marks, (&self.null, false), false, out),
        };
        row.end_line(&mut in_header, convert, (self.marks.delimiter, add), out)?;
        self.has_begun = false;
        Ok(())
    }
}

fn error(row: &RowState, stray: Stray) -> CopyError {
    let newline = (
        "unquoted newline found in data",
        "Use quoted CSV field to represent newline.",
    );
    let carriage_return = (
        "unquoted carriage return found in data",
        "Use quoted CSV field to represent carriage return.",
    );
    row.stray(stray, [newline, carriage_return])
}

/// Writes a field that is not NULL, as the server does.
fn write(
    content: &[u8],
    marks: Marks,
    (null, is_alone): (&[u8], bool),
    is_quoted: bool,
    out: &mut Vec<u8>,
) {
    let Marks {
        delimiter,
        quote,
        escape,
    } = marks;
    let ends_it = |&byte: &u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
    let is_marker = is_alone && content == b"\\.";
    if !is_quoted && content != null && !is_marker && !content.iter().any(ends_it) {
        out.extend_from_slice(content);
        return;
    }
    out.push(quote);
    for &byte in content {
        if byte == quote || byte == escape {
            out.push(escape);
        }
        out.push(byte);
    }
    out.push(quote);
}
