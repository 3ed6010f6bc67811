//! Rows: values as texts, or in the binary form of prepared statements.

use crate::reader::{Malformed, Reader, put_counted};
use crate::value::{FieldType, Value};

/// NULL in a row of texts.
pub(crate) const NULL: u8 = 0xfb;
/// First byte of a row in the binary form.
const BINARY_ROW: u8 = 0x00;
/// The first bits of the NULL bitmap of a row are of no column.
const BITMAP_OFFSET: usize = 2;

/// A row of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRow<'a> {
    /// Validated on reading.
    payload: &'a [u8],
}

impl<'a> TextRow<'a> {
    /// Reads a payload of as many values as there are columns.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8], columns: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        for _ in 0..columns {
            read_text(&mut reader)?;
        }
        reader.end()?;
        Ok(Self { payload })
    }

    /// The values, with NULL as `None`.
    pub fn iter(&self) -> TextValues<'a> {
        TextValues {
            rest: Reader::new(self.payload),
        }
    }
}

fn read_text<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    if reader.peek() == Some(NULL) {
        reader.u8()?;
        return Ok(None);
    }
    reader.counted().map(Some)
}

/// [`TextRow::iter`]
#[derive(Clone, Debug)]
pub struct TextValues<'a> {
    rest: Reader<'a>,
}

impl<'a> Iterator for TextValues<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        read_text(&mut self.rest).ok()
    }
}

/// Appends a value to a row of texts.
pub fn write_text(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(text) => put_counted(out, text),
        None => out.push(NULL),
    }
}

/// A row in the binary form.
#[derive(Clone, Copy, Debug)]
pub struct BinaryRow<'a> {
    /// The NULL bitmap.
    nulls: &'a [u8],
    /// Validated on reading: the values that are not NULL.
    values: &'a [u8],
}

impl<'a> BinaryRow<'a> {
    /// Reads a payload of a value for each of the columns' types.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8], types: &[FieldType]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != BINARY_ROW {
            return Err(Malformed);
        }
        let nulls = reader.bytes(bitmap_size(types.len(), BITMAP_OFFSET))?;
        let values = reader.clone().rest();
        for (index, kind) in types.iter().enumerate() {
            if !has_bit(nulls, index + BITMAP_OFFSET) {
                Value::read(*kind, &mut reader)?;
            }
        }
        reader.end()?;
        Ok(Self { nulls, values })
    }

    /// The values, for the types with which the row was read.
    pub fn values<'t>(
        &self,
        types: &'t [FieldType],
    ) -> impl Iterator<Item = Value<'a>> + use<'a, 't> {
        let (nulls, mut reader) = (self.nulls, Reader::new(self.values));
        types.iter().enumerate().map_while(move |(index, kind)| {
            match has_bit(nulls, index + BITMAP_OFFSET) {
                true => Some(Value::Null),
                false => Value::read(*kind, &mut reader).ok(),
            }
        })
    }
}

/// Appends a row in the binary form.
pub fn write_binary<'v>(values: impl ExactSizeIterator<Item = Value<'v>>, out: &mut Vec<u8>) {
    out.push(BINARY_ROW);
    put_values(values, BITMAP_OFFSET, out);
}

/// Appends the NULL bitmap and the values.
pub(crate) fn put_values<'v>(
    values: impl ExactSizeIterator<Item = Value<'v>>,
    offset: usize,
    out: &mut Vec<u8>,
) {
    let bitmap = out.len();
    out.resize(bitmap + bitmap_size(values.len(), offset), 0);
    for (index, value) in values.enumerate() {
        if value == Value::Null {
            let bit = index + offset;
            out[bitmap + bit / 8] |= 1 << (bit % 8);
        }
        value.write(out);
    }
}

pub(crate) fn bitmap_size(values: usize, offset: usize) -> usize {
    (values + offset).div_ceil(8)
}

pub(crate) fn has_bit(bitmap: &[u8], bit: usize) -> bool {
    bitmap
        .get(bit / 8)
        .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_texts_gives_its_values() {
        let values = [Some(&b"a"[..]), None, Some(b"")];
        let mut out = Vec::new();
        values.iter().for_each(|value| write_text(*value, &mut out));
        let row = TextRow::read(&out, 3).expect("well formed");
        assert_eq!(row.iter().collect::<Vec<_>>(), values);
        assert_eq!(TextRow::read(&out, 2), Err(Malformed));
        assert_eq!(TextRow::read(&out, 4), Err(Malformed));
        assert_eq!(TextRow::read(&out[..1], 1), Err(Malformed));
    }

    #[test]
    fn a_binary_row_gives_its_values() {
        // More than six columns need a second byte for their bits.
        let mut types = vec![FieldType::LONG; 7];
        types.push(FieldType::VAR_STRING);
        let mut values = vec![Value::Long(7); 7];
        values[5] = Value::Null;
        values.push(Value::Bytes(b"text"));
        let mut out = Vec::new();
        write_binary(values.iter().copied(), &mut out);
        let row = BinaryRow::read(&out, &types).expect("well formed");
        assert_eq!(row.values(&types).collect::<Vec<_>>(), values);
        for size in 0..out.len() {
            assert!(BinaryRow::read(&out[..size], &types).is_err(), "{size}");
        }
        assert!(BinaryRow::read(&[&out[..], b"x"].concat(), &types).is_err());
        out[0] = 1;
        assert!(BinaryRow::read(&out, &types).is_err());
    }
}
