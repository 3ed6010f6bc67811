//! `FORMAT binary`: counts and sizes before the fields.

use super::{Convert, CopyError, RowState};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Signature, flags, and the size of an extension.
const HEADER_SIZE: usize = 19;

/// A stream in binary format.
#[derive(Clone, Default)]
pub(super) struct Binary {
    state: ExpectedPart,
    /// What has come of the part at hand.
    part: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ExpectedPart {
    #[default]
    Header,
    /// Bytes of the extension that are still to come. It is left out.
    Extension(usize),
    /// The count of fields of a row.
    Count,
    /// The size of a field.
    Size,
    /// A field of this size.
    Field(usize),
    /// The trailer was there.
    Done,
}

impl Binary {
    pub(super) fn push(
        &mut self,
        row: &mut RowState,
        mut bytes: &[u8],
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        loop {
            let wanted = match self.state {
                ExpectedPart::Header => HEADER_SIZE,
                ExpectedPart::Extension(size) => {
                    let size_now = size.min(bytes.len());
                    bytes = &bytes[size_now..];
                    match size - size_now {
                        0 => self.state = ExpectedPart::Count,
                        more => {
                            self.state = ExpectedPart::Extension(more);
                            return Ok(());
                        }
                    }
                    continue;
                }
                ExpectedPart::Count => 2,
                ExpectedPart::Size => 4,
                ExpectedPart::Field(size) => size,
                ExpectedPart::Done if bytes.is_empty() => return Ok(()),
                ExpectedPart::Done => {
                    return Err(row.bad_format("received copy data after EOF marker"));
                }
            };
            let size_now = (wanted - self.part.len()).min(bytes.len());
            let (head, rest) = bytes.split_at(size_now);
            bytes = rest;
            if self.part.is_empty() && size_now == wanted {
                // The usual case: it came as a whole.
                self.take(row, head, convert, out)?;
                continue;
            }
            self.part.extend_from_slice(head);
            if self.part.len() < wanted {
                return Ok(());
            }
            let mut part = std::mem::take(&mut self.part);
            self.take(row, &part, convert, out)?;
            part.clear();
            self.part = part;
        }
    }

    pub(super) fn end(&self, row: &RowState) -> Result<(), CopyError> {
        match self.state {
            ExpectedPart::Done => Ok(()),
            // The server does without the trailer.
            ExpectedPart::Count if self.part.is_empty() => Ok(()),
            ExpectedPart::Header => Err(row.bad_format("COPY file signature not recognized")),
            ExpectedPart::Extension(_)
            | ExpectedPart::Count
            | ExpectedPart::Size
            | ExpectedPart::Field(_) => Err(row.bad_format("unexpected EOF in COPY data")),
        }
    }

    /// Takes a part that is there as a whole.
    fn take(
        &mut self,
        row: &mut RowState,
        part: &[u8],
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        match self.state {
            ExpectedPart::Header => self.take_header(row, part, out),
            ExpectedPart::Count => self.take_count(row, part, out),
            ExpectedPart::Size => {
                let size = i32::from_be_bytes(part.try_into().expect("four bytes were asked for"));
                match usize::try_from(size) {
                    Ok(size) => {
                        row.check_size(size)?;
                        self.state = ExpectedPart::Field(size);
                    }
                    Err(_) if size == -1 => {
                        if !row.keeps(None, convert)? {
                            write(None, out);
                        }
                        self.end_field(row, convert, out)?;
                    }
                    Err(_) => return Err(row.bad_format("invalid field size")),
                }
                Ok(())
            }
            ExpectedPart::Field(_) => {
                if !row.keeps(Some(part), convert)? {
                    write(row.convert(part, convert)?, out);
                }
                self.end_field(row, convert, out)
            }
            ExpectedPart::Extension(_) | ExpectedPart::Done => unreachable!("these are no parts"),
        }
    }

    fn take_header(
        &mut self,
        row: &RowState,
        part: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let (head, size) = part.split_at(HEADER_SIZE - 4);
        if !head.starts_with(SIGNATURE) {
            return Err(row.bad_format("COPY file signature not recognized"));
        }
        let size = i32::from_be_bytes(size.try_into().expect("four bytes are left"));
        let size = usize::try_from(size)
            .map_err(|_| row.bad_format("invalid COPY file header (missing length)"))?;
        out.extend_from_slice(head);
        out.extend_from_slice(&[0; 4]);
        self.state = ExpectedPart::Extension(size);
        Ok(())
    }

    fn take_count(
        &mut self,
        row: &RowState,
        part: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        let count = i16::from_be_bytes(part.try_into().expect("two bytes were asked for"));
        let wanted = row.layout.columns.len();
        if count == -1 {
            self.state = ExpectedPart::Done;
            out.extend_from_slice(part);
            return Ok(());
        }
        let sent = i16::try_from(row.layout.written());
        match (usize::try_from(count) == Ok(wanted) && wanted > 0, sent) {
            (true, Ok(sent)) => out.extend_from_slice(&sent.to_be_bytes()),
            _ => {
                let message = format!("row field count is {count}, expected {wanted}");
                return Err(row.bad_format(&message));
            }
        }
        self.state = ExpectedPart::Size;
        Ok(())
    }

    fn end_field(
        &mut self,
        row: &mut RowState,
        convert: &mut Convert<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CopyError> {
        row.field += 1;
        self.state = ExpectedPart::Size;
        if row.field == row.layout.columns.len() {
            for index in 0..row.layout.added.len() {
                write(row.add(index, convert)?, out);
            }
            row.field = 0;
            row.line += 1;
            self.state = ExpectedPart::Count;
        }
        Ok(())
    }
}

/// Writes a field; None: NULL.
fn write(content: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(content) = content else {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return;
    };
    let size = u32::try_from(content.len()).expect("a field is below 4 GiB");
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(content);
}
