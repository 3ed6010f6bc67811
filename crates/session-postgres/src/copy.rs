//! `COPY` of a protected table: its stream of rows is read, fields of protected columns are turned
//! into what goes on, and the rows are written anew.
//!
//! Pure: bytes in, bytes out, cut anywhere. Invariants:
//! 1. What goes on is written by this module, field by field; no byte passes unread. So the other
//!    side finds the same fields as we do, whatever the stream holds.
//! 2. A row of another number of fields goes on no further than to its last good field.
//! 3. Only the field at hand is kept, up to [`Layout::field_size_max`].

mod binary;
mod csv;
mod fields;
mod lines;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use column_value::ValueError;
use sql_plan::CopyFormat;
use sqlstate::SqlState;

use lines::Stray;

pub(crate) use fields::Fields;

/// The columns of a COPY, and which way it goes.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Columns in the order of the fields.
    pub columns: Vec<Column>,
    /// Names of the columns whose fields are added behind those of each row, into the server.
    pub added: Vec<String>,
    /// `FROM STDIN`; else `TO STDOUT`.
    pub into_server: bool,
    /// What one field may have.
    pub field_size_max: usize,
    /// A line `\.` ends CSV that goes into the server, as up to PostgreSQL 17; later it is data.
    pub marker_ends_csv: bool,
}

/// A column of a COPY.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether its fields are turned into others.
    pub is_protected: bool,
    /// Whether its fields are not written, but kept for one that is added.
    pub is_kept: bool,
}

impl Layout {
    /// How many fields of a row are written.
    fn written(&self) -> usize {
        let own = self.columns.iter().filter(|column| !column.is_kept);
        own.count() + self.added.len()
    }
}

/// Turns the content of a field into what goes on: the number of the field, its content (without
/// quotes and escapes), and where to write. It is called for protected fields that are not NULL,
/// and with the numbers that follow for fields that are added, which have no content. False: what
/// goes on is NULL.
pub type Convert<'a> = dyn FnMut(usize, &[u8], &mut Vec<u8>) -> Result<bool, ValueError> + 'a;

/// A stream that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CopyError {
    /// As the server's.
    pub sqlstate: SqlState,
    /// As the server's, without any content of a field.
    pub message: String,
    /// What to do.
    pub hint: Option<&'static str>,
    /// The line, from 1; in binary format the row.
    pub line: u64,
    /// The name of the column, where it is about one.
    pub column: Option<String>,
}

/// A stream of rows. Its `Debug` shows no content.
#[derive(Clone)]
pub struct Stream {
    row: RowState,
    format: Format,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

#[derive(Clone)]
enum Format {
    Text(text::Text),
    Csv(csv::Csv),
    Binary(binary::Binary),
}

impl Stream {
    /// A stream from its beginning.
    ///
    /// # Errors
    /// Characters that the server does not take either: it reads bytes.
    pub fn new(format: &CopyFormat, layout: Layout) -> Result<Self, ValueError> {
        let format = match format {
            CopyFormat::Text {
                delimiter,
                null,
                header,
            } => Format::Text(text::Text::new(one_byte(*delimiter)?, null, *header)),
            CopyFormat::Csv {
                delimiter,
                null,
                header,
                quote,
                escape,
                forced,
            } => {
                let marks = csv::Marks {
                    delimiter: one_byte(*delimiter)?,
                    quote: one_byte(*quote)?,
                    escape: one_byte(*escape)?,
                };
                Format::Csv(csv::Csv::new(marks, null, *header, forced.clone()))
            }
            CopyFormat::Binary => Format::Binary(binary::Binary::default()),
        };
        Ok(Self {
            row: RowState {
                layout,
                line: 1,
                field: 0,
                written: 0,
                converted: Vec::new(),
            },
            format,
        })
    }

    /// Takes what came next, and appends what goes on.
    ///
    /// # Errors
    /// The stream ends with it; what was appended is of no use then.
    pub fn push(
        &mut self,
        bytes: &[u8],
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        match &mut self.format {
            Format::Text(text) => text.push(&mut self.row, bytes, convert, out),
            Format::Csv(csv) => csv.push(&mut self.row, bytes, convert, out),
            Format::Binary(binary) => binary.push(&mut self.row, bytes, convert, out),
        }
    }

    /// Nothing comes any more.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn end(&mut self, convert: &mut Convert<'_>, out: &mut Vec<u8>) -> Result<(), CopyError> {
        match &mut self.format {
            Format::Text(text) => text.end(&mut self.row, convert, out),
            Format::Csv(csv) => csv.end(&mut self.row, convert, out),
            Format::Binary(binary) => binary.end(&self.row),
        }
    }
}

fn one_byte(character: char) -> Result<u8, ValueError> {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => Ok(byte),
        _ => Err(ValueError {
            sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
            message: "COPY delimiter, quote and escape must be a single one-byte character"
                .to_owned(),
        }),
    }
}

/// Where in the rows the stream is.
#[derive(Clone)]
struct RowState {
    layout: Layout,
    line: u64,
    /// The field at hand, from 0.
    field: usize,
    /// How many fields of the row have been written.
    written: usize,
    converted: Vec<u8>,
}

impl RowState {
    /// What goes on for the field at hand, which is not NULL. None: NULL.
    fn convert<'a>(
        &'a mut self,
        content: &'a [u8],
        convert: &mut Convert<'_>,
    ) -> Result<Option<&'a [u8]>, CopyError> {
        let field = self.field;
        if !self.layout.columns[field].is_protected {
            return Ok(Some(content));
        }
        self.converted.clear();
        match convert(field, content, &mut self.converted) {
            Ok(has_value) => Ok(has_value.then_some(&*self.converted)),
            Err(error) => Err(self.refused(error, &self.layout.columns[field].name)),
        }
    }

    /// Whether the field at hand is not written. It is converted all the same.
    fn keeps(
        &mut self,
        content: Option<&[u8]>,
        convert: &mut Convert<'_>,
    ) -> Result<bool, CopyError> {
        let is_kept = self.layout.columns[self.field].is_kept;
        if let (true, Some(content)) = (is_kept, content) {
            self.convert(content, convert)?;
        }
        Ok(is_kept)
    }

    /// What goes on for the added field of this index. None: NULL.
    fn add(&mut self, index: usize, convert: &mut Convert<'_>) -> Result<Option<&[u8]>, CopyError> {
        self.converted.clear();
        let field = self.layout.columns.len() + index;
        match convert(field, &[], &mut self.converted) {
            Ok(has_value) => Ok(has_value.then_some(&*self.converted)),
            Err(error) => Err(self.refused(error, &self.layout.added[index])),
        }
    }

    /// Writes what stands before a field, unless it is the first.
    fn separate(&mut self, delimiter: u8, out: &mut Vec<u8>) {
        if self.written > 0 {
            out.push(delimiter);
        }
        self.written += 1;
    }

    fn refused(&self, error: ValueError, column: &str) -> CopyError {
        CopyError {
            sqlstate: error.sqlstate,
            message: error.message,
            hint: None,
            line: self.line,
            column: Some(column.to_owned()),
        }
    }

    /// The field at hand is one of the row's.
    fn check_field(&self) -> Result<(), CopyError> {
        if self.field < self.layout.columns.len() {
            return Ok(());
        }
        Err(self.bad_format("extra data after last expected column"))
    }

    /// All fields of the row have come.
    fn check_row(&self) -> Result<(), CopyError> {
        match self.layout.columns.get(self.field) {
            None => Ok(()),
            Some(column) => {
                let message = format!("missing data for column \"{}\"", column.name);
                Err(self.bad_format(&message))
            }
        }
    }

    /// The end of a line, with all its fields. `write` writes an added field behind a delimiter.
    fn end_line(
        &mut self,
        in_header: &mut bool,
        convert: &mut Convert<'_>,
        (delimiter, write): (u8, impl Fn(Option<&[u8]>, &mut Vec<u8>)),
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        if !std::mem::take(in_header) {
            self.check_row()?;
            for index in 0..self.layout.added.len() {
                self.separate(delimiter, out);
                write(self.add(index, convert)?, out);
            }
        }
        // A header that goes to the server is an empty line: what stood there may be anything.
        out.push(b'\n');
        (self.field, self.written) = (0, 0);
        self.line += 1;
        Ok(())
    }

    fn check_size(&self, size: usize) -> Result<(), CopyError> {
        let size_max = self.layout.field_size_max;
        if size <= size_max {
            return Ok(());
        }
        let message = format!("a field of COPY has more than {size_max} bytes");
        Err(CopyError {
            sqlstate: SqlState::PROGRAM_LIMIT_EXCEEDED,
            message,
            hint: Some("Raise max_message_bytes in the configuration of the proxy."),
            ..self.bad_format("")
        })
    }

    /// A line does not end as those before; `words` for `\n` and for `\r`, each with a hint.
    fn stray(&self, stray: Stray, words: [(&str, &'static str); 2]) -> CopyError {
        let (message, hint) = match stray {
            Stray::Newline => words[0],
            Stray::Return => words[1],
        };
        CopyError {
            hint: Some(hint),
            ..self.bad_format(message)
        }
    }

    /// 22P04, `bad_copy_file_format`
    fn bad_format(&self, message: &str) -> CopyError {
        CopyError {
            sqlstate: SqlState::BAD_COPY_FILE_FORMAT,
            message: message.to_owned(),
            hint: None,
            line: self.line,
            column: None,
        }
    }
}
