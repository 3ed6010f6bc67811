//! Messages of the client: readers and writers.

use crate::backend::{count, put_text, write};
use crate::reader::{Formats, Malformed, Reader, Values};

/// Kinds of messages that a client sends.
pub mod kind {
    #![allow(
        missing_docs,
        reason = "each is the name of the message in the documentation"
    )]
    pub const BIND: u8 = b'B';
    pub const CLOSE: u8 = b'C';
    pub const COPY_DATA: u8 = b'd';
    pub const COPY_DONE: u8 = b'c';
    pub const COPY_FAIL: u8 = b'f';
    pub const DESCRIBE: u8 = b'D';
    pub const EXECUTE: u8 = b'E';
    pub const FLUSH: u8 = b'H';
    pub const FUNCTION_CALL: u8 = b'F';
    pub const PARSE: u8 = b'P';
    /// Also SASLInitialResponse, SASLResponse, GSSResponse.
    pub const PASSWORD: u8 = b'p';
    pub const QUERY: u8 = b'Q';
    pub const SYNC: u8 = b'S';
    pub const TERMINATE: u8 = b'X';
}

/// Whether messages of a kind end behind their length.
pub fn is_without_body(kind: u8) -> bool {
    matches!(
        kind,
        kind::COPY_DONE | kind::FLUSH | kind::SYNC | kind::TERMINATE
    )
}

/// Prepares a statement.
#[derive(Clone, Copy, Debug)]
pub struct Parse<'a> {
    /// Its name; empty for the unnamed one.
    pub statement: &'a [u8],
    /// SQL, in the client's encoding.
    pub text: &'a [u8],
    types: &'a [u8],
}

impl<'a> Parse<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (statement, text) = (reader.text()?, reader.text()?);
        let count = usize::from(reader.u16()?);
        let types = reader.bytes(4 * count)?;
        reader.end()?;
        Ok(Self {
            statement,
            text,
            types,
        })
    }

    /// Numbers of the parameters' types; 0 lets the server infer the type.
    pub fn types(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.types
            .chunks_exact(4)
            .map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]))
    }
}

/// Creates a portal from a statement and parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The portal's name; empty for the unnamed one.
    pub portal: &'a [u8],
    /// The statement's name; empty for the unnamed one.
    pub statement: &'a [u8],
    /// Format codes of the parameters.
    pub formats: Formats<'a>,
    /// Parameters.
    pub parameters: Values<'a>,
    /// Format codes of the result columns.
    pub result_formats: Formats<'a>,
}

impl<'a> Bind<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let bind = Self {
            portal: reader.text()?,
            statement: reader.text()?,
            formats: reader.formats()?,
            parameters: reader.values()?,
            result_formats: reader.formats()?,
        };
        reader.end()?;
        Ok(bind)
    }
}

/// The number of the function that FunctionCall calls.
///
/// # Errors
/// It is malformed.
pub fn read_called_function(body: &[u8]) -> Result<u32, Malformed> {
    Reader::new(body).u32()
}

/// A Bind that is kept: it is read once, however often it is asked for.
#[derive(Debug, Default)]
pub struct KeptBind {
    /// The names, formats and values, one behind the other.
    bytes: Box<[u8]>,
    /// Where each but the last ends: portal, statement, formats, parameters.
    ends: [usize; 4],
    parameter_count: u16,
}

impl KeptBind {
    /// Keeps what a Bind holds.
    pub fn new(bind: &Bind<'_>) -> Self {
        let parts = [
            bind.portal,
            bind.statement,
            bind.formats.codes(),
            bind.parameters.raw(),
            bind.result_formats.codes(),
        ];
        let mut end = 0;
        let ends = [0, 1, 2, 3].map(|part: usize| {
            end += parts[part].len();
            end
        });
        Self {
            bytes: parts.concat().into(),
            ends,
            parameter_count: bind.parameters.count_in_message(),
        }
    }

    /// What was kept.
    pub fn bind(&self) -> Bind<'_> {
        let [portal, statement, formats, parameters] = self.ends;
        let parameters_of = &self.bytes[formats..parameters];
        Bind {
            portal: &self.bytes[..portal],
            statement: &self.bytes[portal..statement],
            formats: Formats::of_codes(&self.bytes[statement..formats]),
            parameters: Values::of_checked(self.parameter_count, parameters_of),
            result_formats: Formats::of_codes(&self.bytes[parameters..]),
        }
    }

    /// How many bytes are kept.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// The object of Describe and Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A statement of this name.
    Statement(&'a [u8]),
    /// A portal of this name.
    Portal(&'a [u8]),
}

impl<'a> Target<'a> {
    /// Reads a body of Describe or Close.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = match reader.u8()? {
            b'S' => Self::Statement(reader.text()?),
            b'P' => Self::Portal(reader.text()?),
            _ => return Err(Malformed),
        };
        reader.end()?;
        Ok(target)
    }
}

/// Runs a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The portal's name; empty for the unnamed one.
    pub portal: &'a [u8],
    /// Maximum number of rows before the portal is suspended; 0 or less: no limit.
    pub rows_max: i32,
}

impl<'a> Execute<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let execute = Self {
            portal: reader.text()?,
            rows_max: reader.i32()?,
        };
        reader.end()?;
        Ok(execute)
    }
}

/// The text of a Query.
///
/// # Errors
/// The body is malformed.
pub fn read_query(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(body);
    let text = reader.text()?;
    reader.end()?;
    Ok(text)
}

/// The client's first response to an offer of SASL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslInitialResponse<'a> {
    /// The chosen mechanism.
    pub mechanism: &'a [u8],
    /// The mechanism's first message.
    pub message: &'a [u8],
}

impl<'a> SaslInitialResponse<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mechanism = reader.text()?;
        let size = reader.i32()?;
        let message = reader.bytes(usize::try_from(size).unwrap_or(0))?;
        reader.end()?;
        Ok(Self { mechanism, message })
    }
}

/// Writes a SASLInitialResponse.
pub fn write_sasl_initial(mechanism: &[u8], message: &[u8], out: &mut Vec<u8>) {
    write(kind::PASSWORD, out, |out| {
        put_text(out, mechanism);
        let size = u32::try_from(message.len()).expect("a message of SASL is short");
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(message);
    });
}

/// Writes a SASLResponse.
pub fn write_sasl_response(message: &[u8], out: &mut Vec<u8>) {
    write(kind::PASSWORD, out, |out| out.extend_from_slice(message));
}

/// Writes a Parse.
pub fn write_parse(
    statement: &[u8],
    text: &[u8],
    types: impl ExactSizeIterator<Item = u32>,
    out: &mut Vec<u8>,
) {
    write(kind::PARSE, out, |out| {
        put_text(out, statement);
        put_text(out, text);
        out.extend_from_slice(&count(types.len()));
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// Writes a Bind. `values` writes as many values as there are `formats`, each with
/// [`crate::backend::write_value`].
///
/// # Errors
///
/// Those of `values`; `out` is then unchanged.
pub fn write_bind<E>(
    (portal, statement): (&[u8], &[u8]),
    formats: impl ExactSizeIterator<Item = i16>,
    values: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    result_formats: impl ExactSizeIterator<Item = i16>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let start = out.len();
    let mut result = Ok(());
    write(kind::BIND, out, |out| {
        put_text(out, portal);
        put_text(out, statement);
        let values_count = count(formats.len());
        put_formats(formats, out);
        out.extend_from_slice(&values_count);
        result = values(out);
        put_formats(result_formats, out);
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn put_formats(formats: impl ExactSizeIterator<Item = i16>, out: &mut Vec<u8>) {
    out.extend_from_slice(&count(formats.len()));
    for format in formats {
        out.extend_from_slice(&format.to_be_bytes());
    }
}

/// Writes a Describe or a Close, by its kind.
pub fn write_target(kind: u8, target: Target<'_>, out: &mut Vec<u8>) {
    write(kind, out, |out| {
        let (letter, name) = match target {
            Target::Statement(name) => (b'S', name),
            Target::Portal(name) => (b'P', name),
        };
        out.push(letter);
        put_text(out, name);
    });
}

/// Writes an Execute.
pub fn write_execute(portal: &[u8], rows_max: i32, out: &mut Vec<u8>) {
    write(kind::EXECUTE, out, |out| {
        put_text(out, portal);
        out.extend_from_slice(&rows_max.to_be_bytes());
    });
}

/// Writes a Query.
pub fn write_query(text: &[u8], out: &mut Vec<u8>) {
    write(kind::QUERY, out, |out| put_text(out, text));
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIND: &[u8] = b"p\0s\0\0\x01\0\x01\0\x03\0\0\0\x01x\xff\xff\xff\xff\0\0\0\0\0\0";

    #[test]
    fn a_bind_gives_its_parts() {
        let bind = Bind::read(BIND).expect("well formed");
        assert_eq!((bind.portal, bind.statement), (&b"p"[..], &b"s"[..]));
        assert_eq!(bind.formats.of(2), 1, "one code is for all");
        assert_eq!(bind.result_formats.of(2), 0, "no code is text");
        let values: Vec<_> = bind.parameters.iter().collect();
        assert_eq!(values, [Some(&b"x"[..]), None, Some(&b""[..])]);
    }

    #[test]
    fn a_bind_that_is_kept_is_the_same() {
        let bytes = b"p\0name\0\0\x02\0\x01\0\0\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\x01";
        for body in [&bytes[..], BIND, &[0; 8]] {
            let bind = Bind::read(body).expect("well formed");
            let kept = KeptBind::new(&bind);
            assert_eq!(format!("{:?}", kept.bind()), format!("{bind:?}"));
        }
        let empty = KeptBind::default();
        assert_eq!(empty.bind().parameters.count(), 0);
        assert_eq!((empty.size(), empty.bind().portal), (0, &b""[..]));
    }

    #[test]
    fn a_choice_of_a_mechanism_is_read_as_it_was_written() {
        let mut out = Vec::new();
        write_sasl_initial(b"SCRAM-SHA-256", b"n,,n=,r=x", &mut out);
        let choice = SaslInitialResponse {
            mechanism: b"SCRAM-SHA-256",
            message: b"n,,n=,r=x",
        };
        assert_eq!(SaslInitialResponse::read(&out[5..]), Ok(choice));
    }

    #[test]
    fn a_bind_that_is_cut_or_longer_is_malformed() {
        for size in 0..BIND.len() {
            assert!(Bind::read(&BIND[..size]).is_err(), "{size}");
        }
        let longer = [BIND, b"x"].concat();
        assert!(Bind::read(&longer).is_err());
    }

    #[test]
    fn a_size_below_null_is_malformed() {
        let mut bind = BIND.to_vec();
        let null = bind.windows(4).position(|four| four == [0xff; 4]);
        bind[null.expect("it holds NULL") + 3] = 0xfe;
        assert!(Bind::read(&bind).is_err());
    }

    #[test]
    fn other_messages_give_their_parts() {
        let parse = Parse::read(b"s\0select $1\0\0\x01\0\0\0\x17").expect("well formed");
        assert_eq!(parse.text, b"select $1");
        assert_eq!(parse.types().collect::<Vec<_>>(), [23]);
        assert_eq!(Target::read(b"Sx\0"), Ok(Target::Statement(b"x")));
        assert_eq!(Target::read(b"Qx\0"), Err(Malformed));
        let execute = Execute::read(b"\0\0\0\0\x05").expect("well formed");
        assert_eq!(execute.rows_max, 5);
        assert_eq!(read_query(b"select 1\0"), Ok(&b"select 1"[..]));
        assert_eq!(read_query(b"select 1"), Err(Malformed));
    }
}
