//! Messages of the server: readers, and writers for messages that the proxy sends in the server's
//! place.

use sqlstate::SqlState;

use crate::reader::{Malformed, Reader, Values};

/// Kinds of messages that a server sends.
pub mod kind {
    #![allow(
        missing_docs,
        reason = "each is the name of the message in the documentation"
    )]
    pub const AUTHENTICATION: u8 = b'R';
    pub const BACKEND_KEY_DATA: u8 = b'K';
    pub const BIND_COMPLETE: u8 = b'2';
    pub const CLOSE_COMPLETE: u8 = b'3';
    pub const COMMAND_COMPLETE: u8 = b'C';
    pub const COPY_BOTH: u8 = b'W';
    pub const COPY_DATA: u8 = b'd';
    pub const COPY_DONE: u8 = b'c';
    pub const COPY_IN: u8 = b'G';
    pub const COPY_OUT: u8 = b'H';
    pub const DATA_ROW: u8 = b'D';
    pub const EMPTY_QUERY: u8 = b'I';
    pub const ERROR: u8 = b'E';
    pub const FUNCTION_RESULT: u8 = b'V';
    pub const NEGOTIATE_VERSION: u8 = b'v';
    pub const NO_DATA: u8 = b'n';
    pub const NOTICE: u8 = b'N';
    pub const NOTIFICATION: u8 = b'A';
    pub const PARAMETER_DESCRIPTION: u8 = b't';
    pub const PARAMETER_STATUS: u8 = b'S';
    pub const PARSE_COMPLETE: u8 = b'1';
    pub const PORTAL_SUSPENDED: u8 = b's';
    pub const READY_FOR_QUERY: u8 = b'Z';
    pub const ROW_DESCRIPTION: u8 = b'T';
}

/// An authentication request or result from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Authentication succeeded.
    Ok,
    /// SASL is required, with one of these mechanisms.
    Sasl(Vec<&'a [u8]>),
    /// A SASL challenge, with the mechanism's data.
    SaslContinue(&'a [u8]),
    /// SASL succeeded, with the mechanism's final data.
    SaslFinal(&'a [u8]),
    /// Another method, by its number.
    Other(u32),
}

impl<'a> Authentication<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        match reader.u32()? {
            0 => reader.end().map(|()| Self::Ok),
            10 => {
                let mut mechanisms = Vec::new();
                loop {
                    match reader.text()? {
                        [] => break,
                        mechanism => mechanisms.push(mechanism),
                    }
                }
                reader.end()?;
                Ok(Self::Sasl(mechanisms))
            }
            11 => Ok(Self::SaslContinue(reader.rest())),
            12 => Ok(Self::SaslFinal(reader.rest())),
            other => Ok(Self::Other(other)),
        }
    }
}

/// Identifies a session for a cancel request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendKeyData<'a> {
    /// The server's process.
    pub process_id: u32,
    /// The secret; 4 bytes up to version 3.0 of the protocol.
    pub key: &'a [u8],
}

impl<'a> BackendKeyData<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self {
            process_id: reader.u32()?,
            key: reader.rest(),
        })
    }
}

/// Name and value of a ParameterStatus.
///
/// # Errors
/// The body is malformed.
pub fn read_parameter_status(body: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let mut reader = Reader::new(body);
    let status = (reader.text()?, reader.text()?);
    reader.end()?;
    Ok(status)
}

/// The values of a DataRow.
///
/// # Errors
/// The body is malformed.
pub fn read_data_row(body: &[u8]) -> Result<Values<'_>, Malformed> {
    let mut reader = Reader::new(body);
    let values = reader.values()?;
    reader.end()?;
    Ok(values)
}

/// The types of a ParameterDescription.
///
/// # Errors
/// The body is malformed.
pub fn read_parameter_description(body: &[u8]) -> Result<Vec<u32>, Malformed> {
    let mut reader = Reader::new(body);
    let count = reader.u16()?;
    let types = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
    reader.end()?;
    Ok(types)
}

/// A column of a RowDescription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The table it comes from, or 0.
    pub table: u32,
    /// Its number in that table, or 0.
    pub column: i16,
    /// The type's number.
    pub type_oid: u32,
    /// Size of the type; negative for types of variable size.
    pub type_size: i16,
    /// The type modifier, or -1.
    pub type_modifier: i32,
    /// 0: text, 1: binary.
    pub format: i16,
}

/// The columns of a RowDescription.
///
/// # Errors
/// The body is malformed.
pub fn read_row_description(body: &[u8]) -> Result<Vec<Field<'_>>, Malformed> {
    let mut reader = Reader::new(body);
    let count = reader.u16()?;
    let mut fields = Vec::new();
    for _ in 0..count {
        fields.push(Field {
            name: reader.text()?,
            table: reader.u32()?,
            column: reader.i16()?,
            type_oid: reader.u32()?,
            type_size: reader.i16()?,
            type_modifier: reader.i32()?,
            format: reader.i16()?,
        });
    }
    reader.end()?;
    Ok(fields)
}

/// Fields of an ErrorResponse or NoticeResponse: a letter and a text.
///
/// # Errors
/// The body is malformed.
pub fn read_fields(body: &[u8]) -> Result<Vec<(u8, &[u8])>, Malformed> {
    let mut reader = Reader::new(body);
    let mut fields = Vec::new();
    loop {
        match reader.u8()? {
            0 => break,
            letter => fields.push((letter, reader.text()?)),
        }
    }
    reader.end()?;
    Ok(fields)
}

/// The longest message that PostgreSQL accepts, including the length field
/// (`PQ_LARGE_MESSAGE_LIMIT`).
pub const LENGTH_MAX: usize = (1 << 30) - 2;

/// Writes one message: type byte, length, and the output of `body`. No receiver accepts a message
/// longer than [`LENGTH_MAX`]; it ends the connection.
pub fn write(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    // A length of u32::MAX is rejected by every receiver.
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Writes a text and its terminating zero byte. The text is truncated at a zero byte inside it.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    out.extend_from_slice(text);
    out.push(0);
}

/// Writes AuthenticationSASL with these mechanisms.
pub fn write_sasl(mechanisms: &[&[u8]], out: &mut Vec<u8>) {
    write(kind::AUTHENTICATION, out, |out| {
        out.extend_from_slice(&10_u32.to_be_bytes());
        for mechanism in mechanisms {
            put_text(out, mechanism);
        }
        out.push(0);
    });
}

/// Writes AuthenticationSASLContinue.
pub fn write_sasl_continue(message: &[u8], out: &mut Vec<u8>) {
    write_sasl_message(11, message, out);
}

/// Writes AuthenticationSASLFinal.
pub fn write_sasl_final(message: &[u8], out: &mut Vec<u8>) {
    write_sasl_message(12, message, out);
}

fn write_sasl_message(code: u32, message: &[u8], out: &mut Vec<u8>) {
    write(kind::AUTHENTICATION, out, |out| {
        out.extend_from_slice(&code.to_be_bytes());
        out.extend_from_slice(message);
    });
}

/// Writes BackendKeyData.
pub fn write_key_data(process_id: u32, key: &[u8], out: &mut Vec<u8>) {
    write(kind::BACKEND_KEY_DATA, out, |out| {
        out.extend_from_slice(&process_id.to_be_bytes());
        out.extend_from_slice(key);
    });
}

/// An error reported by the proxy itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whether the connection ends with it.
    pub fatal: bool,
    /// The code (PostgreSQL, appendix A).
    pub sqlstate: SqlState,
    /// The primary message.
    pub message: String,
    /// The detail: the values or names that it is about.
    pub detail: Option<Box<str>>,
    /// The hint, what to do.
    pub hint: Option<String>,
    /// The context: `COPY t, line 3, column c`.
    pub context: Option<Box<str>>,
    /// The server's function that reports the same error, for clients that check it.
    pub routine: Option<&'static str>,
}

impl Failure {
    /// An error that ends the connection.
    pub fn fatal(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self {
            fatal: true,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            routine: None,
        }
    }

    /// An error that ends only the statement.
    pub fn error(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self {
            fatal: false,
            ..Self::fatal(sqlstate, message)
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a context.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into().into_boxed_str());
        self
    }

    /// Adds the server's function that reports the same error.
    #[must_use]
    pub fn routine(mut self, routine: &'static str) -> Self {
        self.routine = Some(routine);
        self
    }

    /// Writes it as ErrorResponse.
    pub fn write(&self, out: &mut Vec<u8>) {
        let severity = if self.fatal { "FATAL" } else { "ERROR" };
        write(kind::ERROR, out, |out| {
            for (letter, text) in [
                (b'S', severity),
                (b'V', severity),
                (b'C', self.sqlstate.as_str()),
                (b'M', &self.message),
            ] {
                out.push(letter);
                put_text(out, text.as_bytes());
            }
            for (letter, text) in [
                (b'D', self.detail.as_deref()),
                (b'H', self.hint.as_deref()),
                (b'W', self.context.as_deref()),
                (b'R', self.routine),
            ] {
                if let Some(text) = text {
                    out.push(letter);
                    put_text(out, text.as_bytes());
                }
            }
            out.push(0);
        });
    }
}

/// Writes an ErrorResponse or NoticeResponse with these fields: a letter and a text.
pub fn write_fields<T: AsRef<[u8]>>(
    kind: u8,
    fields: impl Iterator<Item = (u8, T)>,
    out: &mut Vec<u8>,
) {
    write(kind, out, |out| {
        for (letter, text) in fields {
            out.push(letter);
            put_text(out, text.as_ref());
        }
        out.push(0);
    });
}

/// Writes a RowDescription.
pub fn write_row_description(fields: &[Field<'_>], out: &mut Vec<u8>) {
    write(kind::ROW_DESCRIPTION, out, |out| {
        out.extend_from_slice(&count(fields.len()));
        for field in fields {
            put_text(out, field.name);
            out.extend_from_slice(&field.table.to_be_bytes());
            out.extend_from_slice(&field.column.to_be_bytes());
            out.extend_from_slice(&field.type_oid.to_be_bytes());
            out.extend_from_slice(&field.type_size.to_be_bytes());
            out.extend_from_slice(&field.type_modifier.to_be_bytes());
            out.extend_from_slice(&field.format.to_be_bytes());
        }
    });
}

/// Writes a ParameterDescription.
pub fn write_parameter_description(types: &[u32], out: &mut Vec<u8>) {
    write(kind::PARAMETER_DESCRIPTION, out, |out| {
        out.extend_from_slice(&count(types.len()));
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// Writes a CommandComplete.
pub fn write_command_complete(tag: &str, out: &mut Vec<u8>) {
    write(kind::COMMAND_COMPLETE, out, |out| {
        put_text(out, tag.as_bytes())
    });
}

/// Writes a message without a body.
pub fn write_empty(kind: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, 0, 0, 0, 4]);
}

/// Writes a value with its size. `value` writes the bytes, or returns false for NULL. A value of
/// more than 2 GiB makes its message malformed, not NULL; that message is too long anyway.
///
/// # Errors
///
/// Those of `value`; `out` is then unchanged.
pub fn write_value<E>(
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
) -> Result<(), E> {
    let start = out.len();
    out.extend_from_slice(&[0xff; 4]);
    match value(out) {
        Ok(false) => out.truncate(start + 4),
        Ok(true) => {
            let size = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
            out[start..start + 4].copy_from_slice(&size.to_be_bytes());
        }
        Err(error) => {
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
}

/// A count as the protocol encodes it.
pub fn count(count: usize) -> [u8; 2] {
    u16::try_from(count)
        .expect("the protocol's counts are below 65,536")
        .to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let field = Field {
            name: b"price",
            table: 7,
            column: 2,
            type_oid: 1700,
            type_size: -1,
            type_modifier: 393_222,
            format: 1,
        };
        let mut out = Vec::new();
        write_row_description(&[field], &mut out);
        assert_eq!(read_row_description(&out[5..]), Ok(vec![field]));
        out.clear();
        write_parameter_description(&[23, 17], &mut out);
        assert_eq!(read_parameter_description(&out[5..]), Ok(vec![23, 17]));
        out.clear();
        write_sasl(&[b"SCRAM-SHA-256"], &mut out);
        let sasl = Authentication::Sasl(vec![b"SCRAM-SHA-256"]);
        assert_eq!(Authentication::read(&out[5..]), Ok(sasl));
        out.clear();
        write_sasl_continue(b"r=x", &mut out);
        let read = Authentication::read(&out[5..]);
        assert_eq!(read, Ok(Authentication::SaslContinue(b"r=x")));
        out.clear();
        write_sasl_final(b"v=x", &mut out);
        let read = Authentication::read(&out[5..]);
        assert_eq!(read, Ok(Authentication::SaslFinal(b"v=x")));
    }

    #[test]
    fn a_failure_has_its_fields_and_no_text_escapes_its_field() {
        let mut out = Vec::new();
        Failure::fatal(SqlState::CONNECTION_FAILURE, "gone\0Mforged")
            .hint("reconnect")
            .context("COPY t, line 3")
            .write(&mut out);
        let fields = read_fields(&out[5..]).expect("well formed");
        let letters: Vec<u8> = fields.iter().map(|(letter, _)| *letter).collect();
        assert_eq!(letters, *b"SVCMHW");
        assert_eq!(fields[3].1, b"gone");
    }

    #[test]
    fn a_value_that_fails_leaves_nothing() {
        let mut out = b"before".to_vec();
        let failed = write_value(&mut out, |out| {
            out.push(1);
            Err("no")
        });
        assert_eq!((failed, &out[..]), (Err("no"), &b"before"[..]));
        write_value(&mut out, |_| Ok::<_, ()>(false)).expect("NULL");
        assert_eq!(&out[6..], [0xff; 4]);
    }

    #[test]
    fn cut_bodies_are_malformed() {
        let row = b"\0\x02\0\0\0\x01a\xff\xff\xff\xff";
        assert_eq!(read_data_row(row).map(|values| values.count()), Ok(2));
        for size in 0..row.len() {
            assert!(read_data_row(&row[..size]).is_err(), "{size}");
        }
    }
}
