//! Definitions of columns and parameters: protocol `ColumnDefinition41`.

use crate::reader::{Malformed, Reader, put_counted, put_integer};
use crate::row::NULL;
use crate::value::FieldType;

/// Size of the parts behind the names.
const FIXED_SIZE: u64 = 12;

/// The number of the character set of bytes.
pub const BINARY: u16 = 63;

/// What a column is besides its type.
pub mod flag {
    #![allow(
        missing_docs,
        reason = "each is the name of the flag in the documentation, without _FLAG"
    )]
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const NUM: u16 = 1 << 15;
}

/// A column of a result, or a parameter of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Always `def`.
    pub catalog: &'a [u8],
    /// The database.
    pub schema: &'a [u8],
    /// The table as the statement calls it.
    pub table: &'a [u8],
    /// The table's own name; empty if the column is computed.
    pub original_table: &'a [u8],
    /// The column as the statement calls it.
    pub name: &'a [u8],
    /// The column's own name; empty if it is computed.
    pub original_name: &'a [u8],
    /// The number of the character set of its texts.
    pub character_set: u16,
    /// The longest value, in bytes.
    pub length: u32,
    /// The type.
    pub kind: FieldType,
    /// What else it is: see [`flag`].
    pub flags: u16,
    /// Digits behind the point; 31 for numbers without a fixed point.
    pub decimals: u8,
}

impl<'a> Column<'a> {
    /// Reads a payload, from a server without [`EXTENDED_METADATA`].
    ///
    /// # Errors
    /// It is malformed.
    ///
    /// [`EXTENDED_METADATA`]: crate::Capabilities::EXTENDED_METADATA
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let column = Self::read_from(&mut reader)?;
        reader.end()?;
        Ok(column)
    }

    /// Reads a payload of the answer to `COM_FIELD_LIST`: the column, and the value that it has by
    /// default; None: NULL.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read_listed(payload: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), Malformed> {
        let mut reader = Reader::new(payload);
        let column = Self::read_from(&mut reader)?;
        match reader.rest() {
            [NULL] => Ok((column, None)),
            counted => {
                let mut reader = Reader::new(counted);
                let value = reader.counted()?;
                reader.end()?;
                Ok((column, Some(value)))
            }
        }
    }

    fn read_from(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut name = || reader.counted();
        let names = [name()?, name()?, name()?, name()?, name()?, name()?];
        let [catalog, schema, table, original_table, name, original_name] = names;
        if reader.integer()? != FIXED_SIZE {
            return Err(Malformed);
        }
        let column = Self {
            catalog,
            schema,
            table,
            original_table,
            name,
            original_name,
            character_set: reader.u16()?,
            length: reader.u32()?,
            kind: FieldType(reader.u8()?),
            flags: reader.u16()?,
            decimals: reader.u8()?,
        };
        reader.bytes(2)?;
        Ok(column)
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let names = [
            self.catalog,
            self.schema,
            self.table,
            self.original_table,
            self.name,
            self.original_name,
        ];
        for name in names {
            put_counted(out, name);
        }
        put_integer(out, FIXED_SIZE);
        out.extend_from_slice(&self.character_set.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.kind.0);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.push(self.decimals);
        out.extend_from_slice(&[0; 2]);
    }

    /// Appends the payload of the answer to `COM_FIELD_LIST`.
    pub fn write_listed(&self, default: Option<&[u8]>, out: &mut Vec<u8>) {
        self.write(out);
        match default {
            None => out.push(NULL),
            Some(value) => put_counted(out, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_read_as_it_was_written() {
        let column = Column {
            catalog: b"def",
            schema: b"shop",
            table: b"c",
            original_table: b"customer",
            name: b"mail",
            original_name: b"c_mail",
            character_set: BINARY,
            length: 80,
            kind: FieldType::VAR_STRING,
            flags: flag::NOT_NULL | flag::BINARY,
            decimals: 0,
        };
        let mut out = Vec::new();
        column.write(&mut out);
        assert_eq!(Column::read(&out), Ok(column));
        for size in 0..out.len() {
            assert_eq!(Column::read(&out[..size]), Err(Malformed), "{size}");
        }
        let longer = [&out[..], b"x"].concat();
        assert_eq!(Column::read(&longer), Err(Malformed));
        for default in [None, Some(&b""[..]), Some(b"a@b")] {
            let mut out = Vec::new();
            column.write_listed(default, &mut out);
            assert_eq!(Column::read_listed(&out), Ok((column, default)));
            for size in 0..out.len() {
                assert_eq!(Column::read_listed(&out[..size]), Err(Malformed), "{size}");
            }
        }
    }
}
