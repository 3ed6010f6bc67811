//! Rows of a file, as `LOAD DATA` reads them.
//!
//! This is the reading of MariaDB and MySQL (`READ_INFO` in `sql_load.cc`), byte by byte: marks and
//! escapes are of ASCII, which no letter of UTF-8 beyond it has in it.

use sql_rewrite::mysql::load::FileForm;

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// None: NULL.
    pub(super) value: Option<Vec<u8>>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// As many as there are columns, or fewer.
    pub(super) fields: Vec<Field>,
    /// Whether the mark of a field follows the last one.
    pub(super) goes_on: bool,
    /// Whether something follows that mark.
    pub(super) has_more: bool,
}

/// More bytes are needed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Incomplete;

/// Bytes of a file from some place on.
pub(super) struct Reader<'a> {
    form: &'a FileForm,
    bytes: &'a [u8],
    /// Where the next byte is.
    pub(super) at: usize,
    /// Whether the file ends with the bytes.
    is_all: bool,
}

/// How a field ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Field,
    Line,
}

impl<'a> Reader<'a> {
    pub(super) fn new(form: &'a FileForm, bytes: &'a [u8], is_all: bool) -> Self {
        Self {
            form,
            bytes,
            at: 0,
            is_all,
        }
    }

    /// The next byte. None: the file has ended.
    fn next(&mut self) -> Result<Option<u8>, Incomplete> {
        let byte = self.bytes.get(self.at).copied();
        match (byte, self.is_all) {
            (Some(_), _) => self.at += 1,
            (None, true) => {}
            (None, false) => return Err(Incomplete),
        }
        Ok(byte)
    }

    /// Takes the rest of a mark whose first byte has been taken.
    fn take_mark(&mut self, first: u8, mark: &[u8]) -> Result<bool, Incomplete> {
        let Some((own, rest)) = mark.split_first() else {
            return Ok(false);
        };
        if *own != first {
            return Ok(false);
        }
        let behind = &self.bytes[self.at..];
        let known = behind.len().min(rest.len());
        if behind[..known] != rest[..known] {
            return Ok(false);
        }
        match (known == rest.len(), self.is_all) {
            (true, _) => {
                self.at += rest.len();
                Ok(true)
            }
            (false, true) => Ok(false),
            (false, false) => Err(Incomplete),
        }
    }

    /// Takes what is left of a line. Gives whether that is something before its mark: the server
    /// does not count what the end of the file ends.
    pub(super) fn skip_line(&mut self) -> Result<bool, Incomplete> {
        let mut is_something = false;
        while let Some(byte) = self.next()? {
            if Some(byte) == self.form.escape {
                is_something = true;
                if self.next()?.is_none() {
                    break;
                }
                continue;
            }
            if self.take_mark(byte, &self.form.line_end)? {
                return Ok(is_something);
            }
            is_something = true;
        }
        Ok(false)
    }

    /// The next row with at most so many fields. None: the file has ended.
    pub(super) fn row(&mut self, count: usize) -> Result<Option<Row>, Incomplete> {
        if self.is_all && self.at == self.bytes.len() {
            return Ok(None);
        }
        let mut fields = Vec::new();
        let mut end = End::Field;
        while fields.len() < count && end == End::Field {
            let is_end = self.is_all && self.at == self.bytes.len();
            if is_end {
                // A mark of a field is the last of the file.
                end = End::Line;
                break;
            }
            let (field, own) = self.field()?;
            fields.push(field);
            end = own;
        }
        let goes_on = end == End::Field;
        let has_more = goes_on && self.skip_line()?;
        Ok(Some(Row {
            fields,
            goes_on,
            has_more,
        }))
    }

    fn field(&mut self) -> Result<(Field, End), Incomplete> {
        let form = self.form;
        let mut value = Vec::new();
        let mut has_null = false;
        let enclosing = form
            .enclosing
            .filter(|own| self.bytes.get(self.at) == Some(own));
        if self.bytes.len() == self.at && !self.is_all {
            return Err(Incomplete);
        }
        self.at += usize::from(enclosing.is_some());
        let ended = |value: Vec<u8>, is_enclosed: bool, has_null: bool, end: End| {
            let is_word = !is_enclosed && form.enclosing.is_some() && value == b"NULL";
            let is_null = is_word || (has_null && value.len() == 1);
            let value = (!is_null).then_some(value);
            Ok((Field { value }, end))
        };
        loop {
            let Some(mut byte) = self.next()? else {
                // What begins a field and does not end it is a part of it.
                value.splice(0..0, enclosing);
                return ended(value, false, has_null, End::Line);
            };
            if Some(byte) == form.escape {
                let before = self.at;
                match self.next()? {
                    None => {
                        value.push(byte);
                        continue;
                    }
                    Some(escaped) if form.escape != form.enclosing || escaped == byte => {
                        has_null |= escaped == b'N';
                        value.push(unescaped(escaped));
                        continue;
                    }
                    Some(_) => self.at = before,
                }
                byte = form.escape.unwrap_or(byte);
            }
            if enclosing.is_none() && self.take_mark(byte, &form.line_end)? {
                return ended(value, false, has_null, End::Line);
            }
            if enclosing == Some(byte) {
                let before = self.at;
                let end = match self.next()? {
                    Some(again) if Some(again) == enclosing => {
                        value.push(again);
                        continue;
                    }
                    None => Some(End::Line),
                    Some(next) if self.take_mark(next, &form.line_end)? => Some(End::Line),
                    Some(next) if self.take_mark(next, &form.field_end)? => Some(End::Field),
                    Some(_) => None,
                };
                if let Some(end) = end {
                    return ended(value, true, has_null, end);
                }
                self.at = before;
            } else if enclosing.is_none() && self.take_mark(byte, &form.field_end)? {
                return ended(value, false, has_null, End::Field);
            }
            value.push(byte);
        }
    }
}

/// What a byte behind an escape stands for.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'0' => 0,
        b'Z' => 26,
        other => other,
    }
}

/// Appends a field in the form that servers take by default.
pub(super) fn write_field(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else {
        out.extend_from_slice(b"\\N");
        return;
    };
    for &byte in value {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0 => out.extend_from_slice(b"\\0"),
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(field_end: &str, line_end: &str, enclosing: Option<u8>) -> FileForm {
        FileForm {
            field_end: field_end.into(),
            line_end: line_end.into(),
            enclosing,
            escape: Some(b'\\'),
            skipped_lines: 0,
        }
    }

    /// Rows of two fields, in the form of the server.
    fn read(bytes: &[u8], form: &FileForm) -> String {
        let mut reader = Reader::new(form, bytes, true);
        let mut out = Vec::new();
        while let Ok(Some(row)) = reader.row(2) {
            for field in &row.fields {
                write_field(field.value.as_deref(), &mut out);
                out.push(b'|');
            }
            out.extend_from_slice(match (row.goes_on, row.has_more) {
                (true, true) => b"+;",
                (true, false) => b"-;",
                (false, _) => b";",
            });
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn rows_are_those_that_servers_read() {
        let tabs = form("\t", "\n", None);
        for (bytes, wanted) in [
            (&b"1\ta\n2\tb"[..], "1|a|;2|b|;"),
            (b"1\t\\N\n\\N\tN\n", "1|\\N|;\\N|N|;"),
            (b"1\ta\\tb\\\\\\\nc\n", "1|a\\tb\\\\\\nc|;"),
            (b"1\n\n2\tb\tc\n3\tb\t\n4\t", "1|;|;2|b|+;3|b|-;4|;"),
            (b"NULL\t\"a\"\n\\", "NULL|\"a\"|;\\\\|;"),
        ] {
            assert_eq!(read(bytes, &tabs), wanted, "{bytes:?}");
        }
        let commas = form(",", "\r\n", Some(b'"'));
        for (bytes, wanted) in [
            (&b"\"a,\"\"b\"\r\nc\",NULL\r\n"[..], "a,\"b|;c\"|\\N|;"),
            (
                b"\"a\"x\",\"NULL\"\r\r\n\"\\N\",\"\"",
                "a\"x|NULL\"\r\r\\n\"N|-;",
            ),
            (b"\"\\N\",\"\"", "\\N||;"),
            // A field that does not end takes all that follows.
            (b"\"open,b\r\n", "\"open,b\r\\n|;"),
        ] {
            assert_eq!(read(bytes, &commas), wanted, "{bytes:?}");
        }
    }

    #[test]
    fn nothing_is_read_before_it_is_there() {
        let commas = form(",,", "\r\n", Some(b'"'));
        let bytes = b"\"a\"\",,b\",,c\r\nd,e,,\\\\f\r\ng,,h,,i\r\n";
        let mut whole = Reader::new(&commas, bytes, true);
        let first = whole.row(2).expect("all is there").expect("a row");
        let end = whole.at;
        for size in 0..end {
            let mut cut = Reader::new(&commas, &bytes[..size], false);
            assert_eq!(cut.row(2), Err(Incomplete), "{size}");
        }
        let mut cut = Reader::new(&commas, &bytes[..end], false);
        assert_eq!(cut.row(2), Ok(Some(first)));
    }
}
