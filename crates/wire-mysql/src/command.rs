//! Commands of the client: kinds, readers and writers.
//!
//! `COM_STMT_EXECUTE` is in [`crate::execute`], since it depends on the prepared statement.

use crate::capabilities::Capabilities;
use crate::login::{put_answer, read_answer, read_attributes};
use crate::reader::{Malformed, Reader, put_counted, put_text};

/// First bytes of commands.
pub mod kind {
    #![allow(
        missing_docs,
        reason = "each is the name of the command in the documentation, without COM_"
    )]
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const CREATE_DB: u8 = 0x05;
    pub const DROP_DB: u8 = 0x06;
    pub const REFRESH: u8 = 0x07;
    pub const SHUTDOWN: u8 = 0x08;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const BINLOG_DUMP: u8 = 0x12;
    pub const TABLE_DUMP: u8 = 0x13;
    pub const REGISTER_SLAVE: u8 = 0x15;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const BINLOG_DUMP_GTID: u8 = 0x1e;
    pub const RESET_CONNECTION: u8 = 0x1f;
    pub const CLONE: u8 = 0x20;
    /// MariaDB.
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// A command, by what follows its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Ends the connection; it has no answer.
    Quit,
    /// Changes the default database.
    InitDb(&'a [u8]),
    /// Asks for the columns of a table: its name, and a pattern of their names.
    FieldList(&'a [u8], &'a [u8]),
    /// Runs a text.
    Query(&'a [u8]),
    /// Prepares a text.
    Prepare(&'a [u8]),
    /// Runs a prepared statement; [`crate::execute::Execute`] reads the rest.
    Execute(&'a [u8]),
    /// MariaDB: runs a prepared statement for many rows; [`crate::bulk::Bulk`] reads the rest.
    BulkExecute(&'a [u8]),
    /// Appends to a parameter; it has no answer.
    SendLongData(LongData<'a>),
    /// Forgets a prepared statement; it has no answer.
    Close(u32),
    /// Forgets the long data and the cursor of a prepared statement.
    ResetStatement(u32),
    /// Reads from the cursor of a prepared statement.
    Fetch(Fetch),
    /// Switches several statements in one text on or off.
    SetOption(u16),
    /// Ends another connection.
    ProcessKill(u32),
    /// Asks whether the server is there.
    Ping,
    /// Asks for a line of figures, which is the whole answer.
    Statistics,
    /// Logs in anew; [`ChangeUser`] reads the rest.
    ChangeUser(&'a [u8]),
    /// Makes the session as it was after the login.
    ResetConnection,
    /// Any other, by its kind.
    Other(u8),
}

/// A piece of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongData<'a> {
    /// The prepared statement.
    pub statement: u32,
    /// The index of the parameter.
    pub parameter: u16,
    /// The piece.
    pub data: &'a [u8],
}

/// A request for rows of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The prepared statement.
    pub statement: u32,
    /// The most rows to send.
    pub rows_max: u32,
}

impl<'a> Command<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// It is empty, or malformed.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let kind = reader.u8()?;
        let command = match kind {
            kind::INIT_DB => return Ok(Self::InitDb(reader.rest())),
            kind::QUERY => return Ok(Self::Query(reader.rest())),
            kind::FIELD_LIST => return Ok(Self::FieldList(reader.text()?, reader.rest())),
            kind::STMT_PREPARE => return Ok(Self::Prepare(reader.rest())),
            kind::STMT_EXECUTE => return Ok(Self::Execute(reader.rest())),
            kind::STMT_BULK_EXECUTE => return Ok(Self::BulkExecute(reader.rest())),
            kind::CHANGE_USER => return Ok(Self::ChangeUser(reader.rest())),
            kind::STMT_SEND_LONG_DATA => {
                let (statement, parameter) = (reader.u32()?, reader.u16()?);
                return Ok(Self::SendLongData(LongData {
                    statement,
                    parameter,
                    data: reader.rest(),
                }));
            }
            kind::QUIT => Self::Quit,
            kind::STMT_CLOSE => Self::Close(reader.u32()?),
            kind::STMT_RESET => Self::ResetStatement(reader.u32()?),
            kind::STMT_FETCH => Self::Fetch(Fetch {
                statement: reader.u32()?,
                rows_max: reader.u32()?,
            }),
            kind::SET_OPTION => Self::SetOption(reader.u16()?),
            kind::PROCESS_KILL => Self::ProcessKill(reader.u32()?),
            kind::PING => Self::Ping,
            kind::STATISTICS => Self::Statistics,
            kind::RESET_CONNECTION => Self::ResetConnection,
            other => return Ok(Self::Other(other)),
        };
        reader.end()?;
        Ok(command)
    }

    /// Whether the server answers.
    pub fn has_answer(&self) -> bool {
        !matches!(self, Self::Quit | Self::SendLongData(_) | Self::Close(_))
    }
}

/// A login on a connection that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user.
    pub user: &'a [u8],
    /// The answer to the nonce of the connection, by the method `plugin`.
    pub answer: &'a [u8],
    /// The database; empty for none.
    pub database: &'a [u8],
    /// The number of the client's collation.
    pub collation: u16,
    /// The method of the answer, if it is named.
    pub plugin: Option<&'a [u8]>,
    /// Attributes of the client, if it sends them: validated on reading.
    attributes: Option<&'a [u8]>,
}

impl<'a> ChangeUser<'a> {
    /// Reads what follows the first byte, from a client with these capabilities.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(body: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let user = reader.text()?;
        // Its length is one byte here, whatever the login's was.
        let short = capabilities & !Capabilities::LONG_LOGIN_ANSWER;
        let answer = read_answer(short, &mut reader)?;
        let mut change = Self {
            user,
            answer,
            database: reader.text()?,
            collation: 0,
            plugin: None,
            attributes: None,
        };
        if !reader.is_at_end() {
            change.collation = reader.u16()?;
            if capabilities.has(Capabilities::PLUGIN_AUTH) && !reader.is_at_end() {
                change.plugin = Some(reader.text_or_rest());
            }
            // Some clients send attributes here without having taken the flag; servers allow it.
            let attributes = Capabilities::CONNECT_ATTRIBUTES;
            change.attributes = read_attributes(capabilities | attributes, &mut reader)?;
        }
        reader.end()?;
        Ok(change)
    }

    /// Appends what follows the first byte, for a server with these capabilities.
    pub fn write(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        put_text(out, self.user);
        let short = capabilities & !Capabilities::LONG_LOGIN_ANSWER;
        put_answer(short, self.answer, out);
        put_text(out, self.database);
        out.extend_from_slice(&self.collation.to_le_bytes());
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_text(out, self.plugin.unwrap_or_default());
            if let Some(attributes) = self.attributes {
                put_counted(out, attributes);
            }
        }
    }
}

/// Appends a command that is a text: `QUERY`, `STMT_PREPARE` or `INIT_DB`.
pub fn write_text(kind: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(text);
}

/// Appends a command about a prepared statement: `STMT_CLOSE` or `STMT_RESET`.
pub fn write_about_statement(kind: u8, statement: u32, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&statement.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_give_their_parts() {
        let commands: [(&[u8], Command<'_>); 11] = [
            (b"\x03select 1", Command::Query(b"select 1")),
            (b"\x04person\0", Command::FieldList(b"person", b"")),
            (b"\x04person\0n%", Command::FieldList(b"person", b"n%")),
            (b"\x16select ?", Command::Prepare(b"select ?")),
            (b"\x02shop", Command::InitDb(b"shop")),
            (b"\x19\x01\0\0\0", Command::Close(1)),
            (b"\x1b\x01\0", Command::SetOption(1)),
            (b"\x0e", Command::Ping),
            (b"\x1f", Command::ResetConnection),
            (b"\x12\x01\x02", Command::Other(kind::BINLOG_DUMP)),
            (
                b"\x1c\x05\0\0\0\x0a\0\0\0",
                Command::Fetch(Fetch {
                    statement: 5,
                    rows_max: 10,
                }),
            ),
        ];
        for (bytes, command) in commands {
            assert_eq!(Command::read(bytes), Ok(command));
        }
        let long = Command::read(b"\x18\x01\0\0\0\x02\0data");
        let expected = Command::SendLongData(LongData {
            statement: 1,
            parameter: 2,
            data: b"data",
        });
        assert_eq!(long, Ok(expected));
    }

    #[test]
    fn commands_that_are_cut_or_longer_are_malformed() {
        let wrong: [&[u8]; 7] = [
            b"\x04person",
            b"",
            b"\x19\x01\0\0",
            b"\x19\x01\0\0\0x",
            b"\x0ex",
            b"\x18\x01\0\0\0\x02",
            b"\x01x",
        ];
        for bytes in wrong {
            assert_eq!(Command::read(bytes), Err(Malformed), "{bytes:?}");
        }
    }

    #[test]
    fn three_commands_have_no_answer() {
        for bytes in [&b"\x01"[..], b"\x19\x01\0\0\0", b"\x18\x01\0\0\0\0\0"] {
            assert!(!Command::read(bytes).unwrap().has_answer());
        }
        assert!(Command::read(b"\x0e").unwrap().has_answer());
        assert!(Command::read(b"\x03").unwrap().has_answer());
    }

    #[test]
    fn a_change_of_the_user_gives_its_parts() {
        let flags = Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::LONG_LOGIN_ANSWER
            | Capabilities::CONNECT_ATTRIBUTES;
        let body = b"anna\0\x03abcshop\0\x2d\0mysql_native_password\0\x06\x03_os\x01L";
        let change = ChangeUser::read(body, flags).expect("well formed");
        assert_eq!((change.user, change.answer), (&b"anna"[..], &b"abc"[..]));
        assert_eq!((change.database, change.collation), (&b"shop"[..], 45));
        assert_eq!(change.plugin, Some(&b"mysql_native_password"[..]));
        let mut out = Vec::new();
        change.write(flags, &mut out);
        assert_eq!(out, body);
        let short = ChangeUser::read(b"anna\0\0\0", flags).expect("well formed");
        assert_eq!((short.plugin, short.database), (None, &b""[..]));
        assert!(ChangeUser::read(b"anna\0\x09abc\0", flags).is_err());
    }
}
