//! `COM_STMT_BULK_EXECUTE` of MariaDB: many rows of values for a prepared statement.

use crate::command::kind;
use crate::execute::{ParameterType, parameter_type, put_type};
use crate::reader::{Malformed, Reader};
use crate::value::Value;

/// The server is to answer with a row for each row of values.
pub const UNIT_RESULTS: u16 = 64;
/// The types of the parameters are in the packet.
const HAS_TYPES: u16 = 128;

/// A value follows.
const GIVEN: u8 = 0;
const NULL: u8 = 1;
const DEFAULT: u8 = 2;
const IGNORED: u8 = 3;

/// What a parameter has in one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// A value, or NULL.
    Value(Value<'a>),
    /// The default of the column.
    Default,
    /// The value that the column has, or its default.
    Ignored,
}

/// Rows for a prepared statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk<'a> {
    /// The prepared statement.
    pub statement: u32,
    /// What the client asks for.
    pub flags: u16,
    /// The types, of this packet or of an earlier one.
    pub types: Vec<ParameterType>,
    /// The items of each row.
    pub rows: Vec<Vec<Item<'a>>>,
}

/// The statement that a command executes, by what follows its first byte.
///
/// # Errors
/// It is malformed.
pub fn statement(body: &[u8]) -> Result<u32, Malformed> {
    Reader::new(body).u32()
}

impl<'a> Bulk<'a> {
    /// Reads what follows the first byte, for a statement with this many parameters. None: its rows
    /// have more than `values_max` values.
    ///
    /// # Errors
    /// It is malformed, has no row, or no types although none came before.
    pub fn read(
        body: &'a [u8],
        parameters: usize,
        earlier_types: &[ParameterType],
        values_max: usize,
    ) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(body);
        let (statement, flags) = (reader.u32()?, reader.u16()?);
        let types: Vec<ParameterType> = match flags & HAS_TYPES != 0 {
            true => {
                let types = reader.bytes(2 * parameters)?;
                types.chunks_exact(2).map(parameter_type).collect()
            }
            false => earlier_types.to_vec(),
        };
        if parameters == 0 || types.len() != parameters || reader.is_at_end() {
            return Err(Malformed);
        }
        let mut rows = Vec::new();
        while !reader.is_at_end() {
            if (rows.len() + 1) * parameters > values_max {
                return Ok(None);
            }
            let row = types.iter().map(|of| {
                Ok(match reader.u8()? {
                    GIVEN => Item::Value(Value::read(of.kind, &mut reader)?),
                    NULL => Item::Value(Value::Null),
                    DEFAULT => Item::Default,
                    IGNORED => Item::Ignored,
                    _ => return Err(Malformed),
                })
            });
            rows.push(row.collect::<Result<_, _>>()?);
        }
        Ok(Some(Self {
            statement,
            flags,
            types,
            rows,
        }))
    }

    /// Appends the command, with its types.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(kind::STMT_BULK_EXECUTE);
        out.extend_from_slice(&self.statement.to_le_bytes());
        out.extend_from_slice(&(self.flags | HAS_TYPES).to_le_bytes());
        self.types.iter().for_each(|of| put_type(*of, out));
        for item in self.rows.iter().flatten() {
            match item {
                Item::Value(Value::Null) => out.push(NULL),
                Item::Value(value) => {
                    out.push(GIVEN);
                    value.write(out);
                }
                Item::Default => out.push(DEFAULT),
                Item::Ignored => out.push(IGNORED),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::FieldType;

    fn bulk() -> Bulk<'static> {
        let types = [FieldType::LONG, FieldType::VAR_STRING].map(|kind| ParameterType {
            kind,
            is_unsigned: kind == FieldType::LONG,
        });
        Bulk {
            statement: 7,
            flags: UNIT_RESULTS | HAS_TYPES,
            types: types.to_vec(),
            rows: vec![
                vec![Item::Value(Value::Long(5)), Item::Value(Value::Null)],
                vec![Item::Default, Item::Value(Value::Bytes(b"anna"))],
                vec![Item::Ignored, Item::Value(Value::Bytes(b""))],
            ],
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut out = Vec::new();
        bulk().write(&mut out);
        assert_eq!(out[0], kind::STMT_BULK_EXECUTE);
        assert_eq!(statement(&out[1..]), Ok(7));
        assert_eq!(Bulk::read(&out[1..], 2, &[], 6), Ok(Some(bulk())));
        assert_eq!(Bulk::read(&out[1..], 2, &[], 5), Ok(None));
        let row_ends = [6 + 4 + 6, 6 + 4 + 6 + 7];
        for size in 0..out.len() - 1 {
            let read = Bulk::read(&out[1..=size], 2, &[], 6);
            assert_eq!(read.is_ok(), row_ends.contains(&size), "{size}");
        }
        assert!(Bulk::read(&out[1..], 0, &[], 6).is_err());
        assert!(Bulk::read(&[&out[1..], &[9]].concat(), 2, &[], 8).is_err());
    }

    #[test]
    fn types_of_an_earlier_execution_hold() {
        let body = b"\x07\0\0\0\0\0\0\x05\0\0\0\x02";
        assert!(Bulk::read(body, 2, &[], 2).is_err());
        let read = Bulk::read(body, 2, &bulk().types, 2).expect("well formed");
        let read = read.expect("few values");
        assert_eq!(read.rows, [[Item::Value(Value::Long(5)), Item::Default]]);
    }
}
