//! `FORMAT text`: fields with backslashes for what would end them.

use super::lines::{Lines, Stray};
use super::{Convert, CopyError, RowState};

/// A stream in text format.
#[derive(Clone)]
pub(super) struct Text {
    delimiter: u8,
    null: Vec<u8>,
    /// The line at hand holds names.
    in_header: bool,
    state: EscapeState,
    lines: Lines,
    /// The beginning of the field as it stands, to tell NULL: no longer than that, and a byte.
    raw: Vec<u8>,
    /// The field without escapes.
    content: Vec<u8>,
    /// Whether the line at hand has any byte.
    has_begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeState {
    Plain,
    /// Behind a backslash.
    Escaped,
    /// Octal digits: their value and count.
    Octal(u16, u8),
    /// Behind `\x`.
    HexBegins,
    /// Behind one hexadecimal digit.
    Hex(u8),
    /// Behind `\.`
    Marker,
    /// `\.` was there; what follows is nothing.
    Done,
}

impl Text {
    pub(super) fn new(delimiter: u8, null: &str, has_header: bool) -> Self {
        Self {
            delimiter,
            null: null.as_bytes().to_vec(),
            in_header: has_header,
            state: EscapeState::Plain,
            lines: Lines::default(),
            raw: Vec::new(),
            content: Vec::new(),
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
            if self.state == EscapeState::Done {
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
            if self.state == EscapeState::Plain {
                let rest = &bytes[at..];
                let run = rest.iter().position(|byte| self.is_special(*byte));
                let run = &rest[..run.unwrap_or(rest.len())];
                if !run.is_empty() {
                    self.take_run(run);
                    row.check_size(self.content.len())?;
                    at += run.len();
                    continue;
                }
            }
            if self.take(row, byte, convert, out)? {
                at += 1;
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
        if matches!(self.state, EscapeState::Done | EscapeState::Marker) {
            return Ok(());
        }
        self.lines.end().map_err(|stray| error(row, stray))?;
        if self.has_begun {
            self.leave_escape();
            self.end_line(row, convert, out)?;
        }
        Ok(())
    }

    fn is_special(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\\' | b'\n' | b'\r')
    }

    fn take_run(&mut self, run: &[u8]) {
        self.has_begun = true;
        self.note_raw(run);
        self.content.extend_from_slice(run);
    }

    fn note_raw(&mut self, bytes: &[u8]) {
        let wanted = self.null.len().max(2) + 1;
        let missing = wanted.saturating_sub(self.raw.len()).min(bytes.len());
        self.raw.extend_from_slice(&bytes[..missing]);
    }

    /// Takes a byte; false: it only ended what was before it, and is to be looked at again.
    fn take(
        &mut self,
        row: &mut RowState,
        byte: u8,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, CopyError> {
        match self.state {
            EscapeState::Plain => return self.take_special(row, byte, convert, out).map(|()| true),
            EscapeState::Escaped => {
                self.take_escaped(row, byte)?;
                self.note_raw(b"\\");
            }
            EscapeState::Octal(value, count) if count < 3 && matches!(byte, b'0'..=b'7') => {
                self.state = EscapeState::Octal(value * 8 + u16::from(byte - b'0'), count + 1);
            }
            EscapeState::HexBegins if byte.is_ascii_hexdigit() => {
                self.state = EscapeState::Hex(digit(byte))
            }
            EscapeState::Hex(high) if byte.is_ascii_hexdigit() => {
                self.content.push(high << 4 | digit(byte));
                self.state = EscapeState::Plain;
            }
            EscapeState::Octal(..) | EscapeState::HexBegins | EscapeState::Hex(_) => {
                self.leave_escape();
                return Ok(false);
            }
            EscapeState::Marker if matches!(byte, b'\n' | b'\r') => self.state = EscapeState::Done,
            EscapeState::Marker => return Err(row.bad_format("end-of-copy marker corrupt")),
            EscapeState::Done => return Ok(true),
        }
        self.note_raw(&[byte]);
        Ok(true)
    }

    /// A delimiter, a backslash, or the end of a line.
    fn take_special(
        &mut self,
        row: &mut RowState,
        byte: u8,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        if byte == self.delimiter {
            self.has_begun = true;
            return self.end_field(row, convert, out);
        }
        if byte == b'\\' {
            // It is noted with what it escapes: at the end of a stream the server leaves it out.
            self.has_begun = true;
            self.state = EscapeState::Escaped;
            return Ok(());
        }
        self.lines
            .end_line(byte)
            .map_err(|stray| error(row, stray))?;
        self.end_line(row, convert, out)
    }

    fn take_escaped(&mut self, row: &RowState, byte: u8) -> Result<(), CopyError> {
        self.state = EscapeState::Plain;
        let character = match byte {
            b'0'..=b'7' => {
                self.state = EscapeState::Octal(u16::from(byte - b'0'), 1);
                return Ok(());
            }
            b'x' => {
                self.state = EscapeState::HexBegins;
                return Ok(());
            }
            b'.' => {
                let is_alone = row.field == 0 && self.raw.is_empty();
                if !is_alone || !row.layout.into_server {
                    return Err(row.bad_format("end-of-copy marker corrupt"));
                }
                self.state = EscapeState::Marker;
                return Ok(());
            }
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            other => other,
        };
        self.content.push(character);
        Ok(())
    }

    /// Digits behind a backslash have ended.
    fn leave_escape(&mut self) {
        match self.state {
            EscapeState::Octal(value, _) => self.content.push(value as u8),
            EscapeState::HexBegins => self.content.push(b'x'),
            EscapeState::Hex(digit) => self.content.push(digit),
            EscapeState::Escaped | EscapeState::Plain | EscapeState::Marker | EscapeState::Done => {
            }
        }
        self.state = EscapeState::Plain;
    }

    fn end_field(
        &mut self,
        row: &mut RowState,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let is_null = self.raw == self.null;
        self.raw.clear();
        if self.in_header {
            if !row.layout.into_server {
                if row.field > 0 {
                    out.push(self.delimiter);
                }
                write(&self.content, self.delimiter, out);
            }
        } else {
            row.check_field()?;
            let given = (!is_null).then_some(&*self.content);
            if !row.keeps(given, convert)? {
                row.separate(self.delimiter, out);
                let into_server = row.layout.into_server;
                let content = match given {
                    None => None,
                    Some(content) => row.convert(content, convert)?,
                };
                self.write_content(content, into_server, out);
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
        self.end_field(row, convert, out)?;
        let mut in_header = std::mem::take(&mut self.in_header);
        let write = |content: Option<&[u8]>, out: &mut Vec<u8>| {
            self.write_content(content, true, out);
        };
        row.end_line(&mut in_header, convert, (self.delimiter, write), out)?;
        self.has_begun = false;
        Ok(())
    }

    /// Writes a field; None: NULL.
    fn write_content(&self, content: Option<&[u8]>, into_server: bool, out: &mut Vec<u8>) {
        let Some(content) = content else {
            out.extend_from_slice(&self.null);
            return;
        };
        let start = out.len();
        write(content, self.delimiter, out);
        if into_server && out[start..] == self.null[..] && !self.null.is_empty() {
            // It was written otherwise, or it would have been NULL.
            let first = self.null[0];
            out.truncate(start);
            out.extend(format!("\\{first:03o}").bytes());
            out.extend_from_slice(&self.null[1..]);
        }
    }
}

fn digit(byte: u8) -> u8 {
    char::from(byte).to_digit(16).unwrap_or(0) as u8
}

fn error(row: &RowState, stray: Stray) -> CopyError {
    let newline = (
        "literal newline found in data",
        "Use \"\\n\" to represent newline.",
    );
    let carriage_return = (
        "literal carriage return found in data",
        "Use \"\\r\" to represent carriage return.",
    );
    row.stray(stray, [newline, carriage_return])
}

/// Writes a field as the server does.
fn write(content: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for &byte in content {
        let letter = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}
