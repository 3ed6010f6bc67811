//! `COM_STMT_EXECUTE`: the values of a prepared statement's parameters.

use crate::command::kind;
use crate::reader::{Malformed, Reader};
use crate::row::{bitmap_size, has_bit, put_values};
use crate::value::{FieldType, Value};

/// The bit that says of a parameter's type that it has no sign.
const UNSIGNED: u8 = 0x80;

/// The cursor that a client wants: none.
pub const NO_CURSOR: u8 = 0;
/// A cursor for reading.
pub const READ_ONLY_CURSOR: u8 = 1;

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// The type.
    pub kind: FieldType,
    /// Whether a number has no sign.
    pub is_unsigned: bool,
}

/// What stands before the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The prepared statement.
    pub statement: u32,
    /// The kind of the cursor.
    pub cursor: u8,
}

/// Values for a prepared statement.
#[derive(Clone, Debug)]
pub struct Execute<'a> {
    /// Statement and cursor.
    pub head: Head,
    /// Whether the types are in the packet. They hold until others come.
    pub has_types: bool,
    /// The types, of this packet or of an earlier one.
    pub types: Vec<ParameterType>,
    /// For each parameter; None: it was sent before by `COM_STMT_SEND_LONG_DATA`.
    pub values: Vec<Option<Value<'a>>>,
}

impl Head {
    /// Reads the start of what follows the first byte: the statement says what the rest is.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        Self::read_from(&mut Reader::new(body))
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let head = Self {
            statement: reader.u32()?,
            cursor: reader.u8()?,
        };
        // The number of executions, which is 1.
        match reader.u32()? {
            1 => Ok(head),
            _ => Err(Malformed),
        }
    }
}

impl<'a> Execute<'a> {
    /// Reads what follows the first byte, for a statement with this many parameters.
    /// `earlier_types` are those of the last execution, `is_long` tells whether long data was sent
    /// for a parameter since.
    ///
    /// # Errors
    /// It is malformed, or has no types and none came before.
    pub fn read(
        body: &'a [u8],
        parameters: usize,
        earlier_types: &[ParameterType],
        is_long: impl Fn(usize) -> bool,
    ) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut execute = Self {
            head: Head::read_from(&mut reader)?,
            has_types: false,
            types: Vec::new(),
            values: Vec::new(),
        };
        if parameters == 0 {
            // Some clients send the byte that says whether there are types also then.
            return match reader.rest() {
                [] | [0 | 1] => Ok(execute),
                _ => Err(Malformed),
            };
        }
        let nulls = reader.bytes(bitmap_size(parameters, 0))?;
        match reader.u8()? {
            1 => {
                execute.has_types = true;
                let types = reader.bytes(2 * parameters)?;
                execute.types = types.chunks_exact(2).map(parameter_type).collect();
            }
            0 => execute.types = earlier_types.to_vec(),
            _ => return Err(Malformed),
        }
        if execute.types.len() != parameters {
            return Err(Malformed);
        }
        for (index, of) in execute.types.iter().enumerate() {
            // As the servers do it: long data first, then NULL.
            let value = if is_long(index) {
                None
            } else if has_bit(nulls, index) {
                Some(Value::Null)
            } else {
                Some(Value::read(of.kind, &mut reader)?)
            };
            execute.values.push(value);
        }
        reader.end()?;
        Ok(execute)
    }
}

pub(crate) fn parameter_type(bytes: &[u8]) -> ParameterType {
    ParameterType {
        kind: FieldType(bytes[0]),
        is_unsigned: bytes[1] & UNSIGNED != 0,
    }
}

pub(crate) fn put_type(of: ParameterType, out: &mut Vec<u8>) {
    let sign = if of.is_unsigned { UNSIGNED } else { 0 };
    out.extend_from_slice(&[of.kind.0, sign]);
}

/// Appends a command with a type and a value for each parameter.
pub fn write<'v>(
    head: Head,
    parameters: impl ExactSizeIterator<Item = (ParameterType, Value<'v>)> + Clone,
    out: &mut Vec<u8>,
) {
    out.push(kind::STMT_EXECUTE);
    out.extend_from_slice(&head.statement.to_le_bytes());
    out.push(head.cursor);
    out.extend_from_slice(&1_u32.to_le_bytes());
    if parameters.len() == 0 {
        return;
    }
    let mut values = Vec::new();
    put_values(parameters.clone().map(|(_, value)| value), 0, &mut values);
    let (nulls, values) = values.split_at(bitmap_size(parameters.len(), 0));
    out.extend_from_slice(nulls);
    out.push(1);
    parameters.for_each(|(of, _)| put_type(of, out));
    out.extend_from_slice(values);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head {
        statement: 3,
        cursor: NO_CURSOR,
    };

    fn of(kind: FieldType) -> ParameterType {
        ParameterType {
            kind,
            is_unsigned: kind == FieldType::LONGLONG,
        }
    }

    fn parameters() -> Vec<(ParameterType, Value<'static>)> {
        vec![
            (of(FieldType::LONGLONG), Value::LongLong(u64::MAX)),
            (of(FieldType::NULL), Value::Null),
            (of(FieldType::VAR_STRING), Value::Bytes(b"anna")),
        ]
    }

    fn body() -> Vec<u8> {
        let mut out = Vec::new();
        write(HEAD, parameters().into_iter(), &mut out);
        out.split_off(1)
    }

    #[test]
    fn parameters_are_read_as_they_were_written() {
        let body = body();
        let execute = Execute::read(&body, 3, &[], |_| false).expect("well formed");
        assert_eq!((execute.head, execute.has_types), (HEAD, true));
        let read: Vec<_> = execute
            .types
            .into_iter()
            .zip(execute.values.into_iter().flatten())
            .collect();
        assert_eq!(read, parameters());
        for size in 0..body.len() {
            assert!(
                Execute::read(&body[..size], 3, &[], |_| false).is_err(),
                "{size}"
            );
        }
        assert!(Execute::read(&[&body[..], b"x"].concat(), 3, &[], |_| false).is_err());
        assert!(Execute::read(&body, 2, &[], |_| false).is_err());
    }

    #[test]
    fn types_of_an_earlier_execution_hold() {
        let body = b"\x03\0\0\0\0\x01\0\0\0\0\0\x07";
        assert!(Execute::read(body, 1, &[], |_| false).is_err());
        let earlier = [of(FieldType::TINY)];
        let execute = Execute::read(body, 1, &earlier, |_| false).expect("well formed");
        assert_eq!(execute.values, [Some(Value::Tiny(7))]);
    }

    #[test]
    fn a_parameter_sent_before_has_no_value_here() {
        let mut out = Vec::new();
        let short = parameters()[..2].to_vec();
        write(HEAD, short.into_iter(), &mut out);
        // A third parameter: its type, and no value.
        let types_end = 1 + 9 + 1 + 1 + 4;
        out.splice(types_end..types_end, [FieldType::LONG_BLOB.0, 0]);
        let execute = Execute::read(&out[1..], 3, &[], |index| index == 2).expect("well formed");
        assert_eq!(execute.values[2], None);
        assert_eq!(execute.values[0], Some(Value::LongLong(u64::MAX)));
    }

    #[test]
    fn a_statement_without_parameters_has_a_head_alone() {
        let mut out = Vec::new();
        write(HEAD, [].into_iter(), &mut out);
        assert!(Execute::read(&out[1..], 0, &[], |_| false).is_ok());
        assert_eq!(Head::read(&out[1..]), Ok(HEAD));
        out.extend([0, 0]);
        assert!(Execute::read(&out[1..], 0, &[], |_| false).is_err());
    }
}
