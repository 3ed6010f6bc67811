//! Answers of the server without rows: OK, ERR, EOF, the answer to a prepared statement; and how
//! an answer to a query begins.

use crate::capabilities::{Capabilities, Status};
use crate::reader::{Malformed, Reader, put_counted, put_integer};

/// First byte of OK.
pub const OK: u8 = 0x00;
/// First byte of EOF, and of OK in its place.
pub const EOF: u8 = 0xfe;
/// First byte of ERR.
pub const ERR: u8 = 0xff;
/// First byte of a request for a file of the client.
pub const LOCAL_FILE: u8 = 0xfb;

/// A payload that begins with [`EOF`] is a row from this size on: its first value is longer than
/// 16 MiB.
const EOF_SIZE_MAX: usize = 0xff_ffff;
/// The same for an EOF of the older form.
const OLD_EOF_SIZE_MAX: usize = 8;

/// How the answer to a query begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// No rows: [`OkPacket`] reads it.
    Ok,
    /// [`ErrorPacket`] reads it.
    Error,
    /// The server asks for a file of the client, by its name.
    LocalFile(&'a [u8]),
    /// Definitions of this many columns follow, then rows.
    Columns(u64),
}

impl<'a> Start<'a> {
    /// Reads the first payload of an answer.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        match payload.split_first() {
            Some((&OK, _)) => Ok(Self::Ok),
            Some((&ERR, _)) => Ok(Self::Error),
            Some((&LOCAL_FILE, name)) => Ok(Self::LocalFile(name)),
            Some(_) => {
                let mut reader = Reader::new(payload);
                let count = reader.integer()?;
                reader.end()?;
                Ok(Self::Columns(count))
            }
            None => Err(Malformed),
        }
    }
}

/// Whether a payload in the place of a row ends the rows; with [`Capabilities::DEPRECATE_EOF`] it
/// is OK, else EOF.
pub fn ends_rows(payload: &[u8], capabilities: Capabilities) -> bool {
    let size_max = match capabilities.has(Capabilities::DEPRECATE_EOF) {
        true => EOF_SIZE_MAX,
        false => OLD_EOF_SIZE_MAX,
    };
    payload.first() == Some(&EOF) && payload.len() <= size_max
}

/// A statement has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows that were changed, or found.
    pub affected_rows: u64,
    /// The first number that the server gave to a row.
    pub last_insert_id: u64,
    /// The state of the session.
    pub status: Status,
    /// How many warnings there are.
    pub warnings: u16,
    /// A text on what was done, which some clients read.
    pub info: &'a [u8],
    /// How the session's state has changed: validated on reading.
    changes: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Reads a payload that begins with [`OK`], or with [`EOF`] behind rows.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8()?, OK | EOF) {
            return Err(Malformed);
        }
        let affected_rows = reader.integer()?;
        let last_insert_id = reader.integer()?;
        let status = Status(reader.u16()?);
        let warnings = reader.u16()?;
        let (mut info, mut changes) = (&[][..], &[][..]);
        // Without changes of the state, the documentation has a text up to the end of the payload;
        // the servers write its length before it.
        if !reader.is_at_end() {
            info = reader.counted()?;
        }
        let may_change = capabilities.has(Capabilities::SESSION_TRACK);
        if may_change && status.has(Status::SESSION_STATE_CHANGED) && !reader.is_at_end() {
            changes = reader.counted()?;
            check_changes(changes)?;
        }
        reader.end()?;
        Ok(Self {
            affected_rows,
            last_insert_id,
            status,
            warnings,
            info,
            changes,
        })
    }

    /// A result of a statement that the server has not seen.
    pub fn new(affected_rows: u64, status: Status) -> Self {
        Self {
            affected_rows,
            last_insert_id: 0,
            status,
            warnings: 0,
            info: &[],
            changes: &[],
        }
    }

    /// How the session's state has changed.
    pub fn changes(&self) -> Changes<'a> {
        Changes {
            rest: Reader::new(self.changes),
        }
    }

    /// The same without changes of the session's state, for clients that did not ask for them.
    #[must_use]
    pub fn without_changes(mut self) -> Self {
        self.changes = &[];
        self.status.0 &= !Status::SESSION_STATE_CHANGED;
        self
    }

    /// Appends the payload for a client with these capabilities; `first` is [`OK`] or [`EOF`].
    pub fn write(&self, first: u8, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(first);
        put_integer(out, self.affected_rows);
        put_integer(out, self.last_insert_id);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        let has_changes = self.status.has(Status::SESSION_STATE_CHANGED);
        let has_changes = has_changes && capabilities.has(Capabilities::SESSION_TRACK);
        if has_changes || !self.info.is_empty() {
            put_counted(out, self.info);
        }
        if has_changes {
            put_counted(out, self.changes);
        }
    }
}

/// A change of a session's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A variable has this value now.
    Variable(&'a [u8], &'a [u8]),
    /// This is the default database now.
    Database(&'a [u8]),
    /// Any other, by its kind.
    Other(u8),
}

fn check_changes(changes: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(changes);
    while !reader.is_at_end() {
        read_change(&mut reader)?;
    }
    Ok(())
}

fn read_change<'a>(reader: &mut Reader<'a>) -> Result<Change<'a>, Malformed> {
    let kind = reader.u8()?;
    let mut body = Reader::new(reader.counted()?);
    let change = match kind {
        0 => Change::Variable(body.counted()?, body.counted()?),
        1 => Change::Database(body.counted()?),
        other => return Ok(Change::Other(other)),
    };
    body.end()?;
    Ok(change)
}

/// [`OkPacket::changes`]
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    rest: Reader<'a>,
}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        read_change(&mut self.rest).ok()
    }
}

/// A statement has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorPacket<'a> {
    /// The server's number of the error.
    pub code: u16,
    /// The class of the error by the SQL standard; none before the login.
    pub state: Option<[u8; 5]>,
    /// What went wrong, in the client's character set.
    pub message: &'a [u8],
}

impl<'a> ErrorPacket<'a> {
    /// Reads a payload that begins with [`ERR`].
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != ERR {
            return Err(Malformed);
        }
        let code = reader.u16()?;
        let state = match reader.peek() {
            Some(b'#') => {
                reader.u8()?;
                Some(reader.array()?)
            }
            _ => None,
        };
        Ok(Self {
            code,
            state,
            message: reader.rest(),
        })
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        out.extend_from_slice(&self.code.to_le_bytes());
        if let Some(state) = self.state {
            out.push(b'#');
            out.extend_from_slice(&state);
        }
        out.extend_from_slice(self.message);
    }
}

/// Ends definitions or rows, without [`Capabilities::DEPRECATE_EOF`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EofPacket {
    /// How many warnings there are.
    pub warnings: u16,
    /// The state of the session.
    pub status: Status,
}

impl EofPacket {
    /// Reads a payload.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != EOF {
            return Err(Malformed);
        }
        let warnings = reader.u16()?;
        let status = Status(reader.u16()?);
        reader.end()?;
        Ok(Self { warnings, status })
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(EOF);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.0.to_le_bytes());
    }
}

/// A statement was prepared: definitions of its parameters follow, then those of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The number of the statement.
    pub statement: u32,
    /// How many columns its rows have.
    pub columns: u16,
    /// How many parameters it has.
    pub parameters: u16,
    /// How many warnings there are.
    pub warnings: u16,
}

impl Prepared {
    /// Reads a payload that begins with [`OK`], from a server that does not leave out definitions.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != OK {
            return Err(Malformed);
        }
        let statement = reader.u32()?;
        let columns = reader.u16()?;
        let parameters = reader.u16()?;
        reader.u8()?;
        let warnings = reader.u16()?;
        reader.end()?;
        Ok(Self {
            statement,
            columns,
            parameters,
            warnings,
        })
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(OK);
        out.extend_from_slice(&self.statement.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.parameters.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
    }
}

/// Says in OK, or in EOF of either form, that another result follows.
///
/// # Errors
/// It is neither.
pub fn announce_more(payload: &mut [u8]) -> Result<(), Malformed> {
    /// First byte, warnings and status.
    const EOF_SIZE: usize = 5;
    let place = if payload.first() == Some(&EOF) && payload.len() == EOF_SIZE {
        3
    } else {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        reader.integer()?;
        reader.integer()?;
        payload.len() - reader.rest().len()
    };
    let low = payload.get_mut(place).ok_or(Malformed)?;
    *low |= Status::MORE_RESULTS.to_le_bytes()[0];
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Capabilities = Capabilities::PROTOCOL_41;
    const TRACKING: Capabilities = Capabilities::SESSION_TRACK;

    #[test]
    fn an_answer_begins_in_four_ways() {
        assert_eq!(Start::read(&[0, 0, 0, 2, 0, 0, 0]), Ok(Start::Ok));
        assert_eq!(Start::read(&[0xff, 1, 0]), Ok(Start::Error));
        assert_eq!(Start::read(b"\xfba.csv"), Ok(Start::LocalFile(b"a.csv")));
        assert_eq!(Start::read(&[5]), Ok(Start::Columns(5)));
        assert_eq!(Start::read(&[0xfc, 0, 1]), Ok(Start::Columns(256)));
        assert_eq!(Start::read(&[5, 1]), Err(Malformed));
        assert_eq!(Start::read(&[]), Err(Malformed));
    }

    #[test]
    fn a_long_row_is_not_the_end_of_rows() {
        let mut payload = vec![EOF; 9];
        assert!(!ends_rows(&payload, PLAIN));
        assert!(ends_rows(&payload, Capabilities::DEPRECATE_EOF));
        assert!(ends_rows(&payload[..5], PLAIN));
        payload.resize(EOF_SIZE_MAX + 1, 0);
        assert!(!ends_rows(&payload, Capabilities::DEPRECATE_EOF));
        assert!(!ends_rows(&[OK, 0], PLAIN) && !ends_rows(&[], PLAIN));
    }

    #[test]
    fn ok_is_read_as_it_was_written() {
        let mut ok = OkPacket::new(
            3,
            Status(Status::AUTOCOMMIT | Status::SESSION_STATE_CHANGED),
        );
        ok.last_insert_id = 70_000;
        ok.info = b"Rows matched: 3  Changed: 3  Warnings: 0";
        ok.changes = b"\0\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x05\x01x";
        let mut out = Vec::new();
        ok.write(OK, TRACKING, &mut out);
        let read = OkPacket::read(&out, TRACKING).expect("well formed");
        assert_eq!(read, ok);
        let changes: Vec<_> = read.changes().collect();
        let expected = [
            Change::Variable(b"autocommit", b"OFF"),
            Change::Database(b"shop"),
            Change::Other(5),
        ];
        assert_eq!(changes, expected);

        let mut plain = Vec::new();
        ok.without_changes().write(EOF, PLAIN, &mut plain);
        let read = OkPacket::read(&plain, PLAIN).expect("well formed");
        assert_eq!((read.info, read.changes().count()), (ok.info, 0));
    }

    #[test]
    fn changes_that_are_malformed_are_found_when_ok_is_read() {
        let mut ok = OkPacket::new(0, Status(Status::SESSION_STATE_CHANGED));
        for changes in [&b"\0\x05\x0aauto"[..], b"\x01\x06\x04shopx", b"\x01"] {
            ok.changes = changes;
            let mut out = Vec::new();
            ok.write(OK, TRACKING, &mut out);
            assert_eq!(
                OkPacket::read(&out, TRACKING),
                Err(Malformed),
                "{changes:?}"
            );
        }
    }

    #[test]
    fn an_error_is_read_as_it_was_written() {
        let states = [Some(*b"42000"), None];
        for state in states {
            let error = ErrorPacket {
                code: 1235,
                state,
                message: b"strongroom: no",
            };
            let mut out = Vec::new();
            error.write(&mut out);
            assert_eq!(ErrorPacket::read(&out), Ok(error));
        }
        assert_eq!(ErrorPacket::read(&[ERR, 1, 0, b'#', b'4']), Err(Malformed));
    }

    #[test]
    fn other_answers_are_read_as_they_were_written() {
        let prepared = Prepared {
            statement: 7,
            columns: 2,
            parameters: 3,
            warnings: 1,
        };
        let mut out = Vec::new();
        prepared.write(&mut out);
        assert_eq!(Prepared::read(&out), Ok(prepared));
        assert_eq!(Prepared::read(&out[..11]), Err(Malformed));
        let eof = EofPacket {
            warnings: 1,
            status: Status(Status::IN_TRANSACTION),
        };
        out.clear();
        eof.write(&mut out);
        assert_eq!(EofPacket::read(&out), Ok(eof));
        assert_eq!(EofPacket::read(&out[..4]), Err(Malformed));
    }
}
