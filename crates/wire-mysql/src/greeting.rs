//! The server's first packet: protocol `HandshakeV10`.

use crate::capabilities::{Capabilities, Status};
use crate::reader::{Malformed, Reader, put_text};

/// Size of the nonce of a login, without the zero byte behind it.
pub const NONCE_SIZE: usize = 20;

const VERSION: u8 = 10;
/// Bytes of the nonce before the flags.
const NONCE_HEAD_SIZE: usize = 8;

/// What a server says of itself, and the nonce of the login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version. Up to 10.x MariaDB's begins with `5.5.5-`.
    pub version: &'a [u8],
    /// The number of the connection: `KILL` takes it.
    pub connection: u32,
    /// What the method named in `plugin` answers to.
    pub nonce: [u8; NONCE_SIZE],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The number of the server's default collation, in its lowest byte.
    pub collation: u8,
    /// The state of the session.
    pub status: Status,
    /// The name of the method of login.
    pub plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    ///
    /// If it is malformed, or of a server before version 4.1 or without names of methods. An error
    /// in its place, such as that of too many connections, is another packet.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != VERSION {
            return Err(Malformed);
        }
        let version = reader.text()?;
        let connection = reader.u32()?;
        let mut nonce = [0; NONCE_SIZE];
        let (head, tail) = nonce.split_at_mut(NONCE_HEAD_SIZE);
        head.copy_from_slice(reader.bytes(NONCE_HEAD_SIZE)?);
        if reader.u8()? != 0 {
            return Err(Malformed);
        }
        let lower = reader.u16()?;
        let collation = reader.u8()?;
        let status = Status(reader.u16()?);
        let upper = reader.u16()?;
        let nonce_size = reader.u8()?;
        reader.bytes(6)?;
        let of_mariadb = reader.u32()?;
        let common = u32::from(lower) | u32::from(upper) << 16;
        let is_mysql = Capabilities::new(common, 0).has(Capabilities::MYSQL);
        // MySQL leaves these bytes empty, but does not promise to.
        let of_mariadb = if is_mysql { 0 } else { of_mariadb };
        let capabilities = Capabilities::new(common, of_mariadb);
        let needed =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        if !capabilities.has(needed) || usize::from(nonce_size) != NONCE_SIZE + 1 {
            return Err(Malformed);
        }
        tail.copy_from_slice(reader.bytes(NONCE_SIZE - NONCE_HEAD_SIZE)?);
        if reader.u8()? != 0 {
            return Err(Malformed);
        }
        // Some servers left out the zero byte (MySQL's bug 59453).
        let plugin = reader.text_or_rest();
        reader.end()?;
        Ok(Self {
            version,
            connection,
            nonce,
            capabilities,
            collation,
            status,
            plugin,
        })
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (head, tail) = self.nonce.split_at(NONCE_HEAD_SIZE);
        let [a, b, c, d] = self.capabilities.common().to_le_bytes();
        out.push(VERSION);
        put_text(out, self.version);
        out.extend_from_slice(&self.connection.to_le_bytes());
        out.extend_from_slice(head);
        out.push(0);
        out.extend_from_slice(&[a, b]);
        out.push(self.collation);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&[c, d]);
        out.push(NONCE_SIZE as u8 + 1);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.capabilities.of_mariadb().to_le_bytes());
        out.extend_from_slice(tail);
        out.push(0);
        put_text(out, self.plugin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(common: Capabilities) -> Greeting<'static> {
        let needed =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        Greeting {
            version: b"5.5.5-10.11.19-MariaDB",
            connection: 0x0102_0304,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities: common | needed,
            collation: 45,
            status: Status(Status::AUTOCOMMIT),
            plugin: b"mysql_native_password",
        }
    }

    #[test]
    fn a_greeting_is_read_as_it_was_written() {
        for flags in [
            Capabilities::MYSQL,
            Capabilities::BULK | Capabilities::PROGRESS,
        ] {
            let greeting = greeting(flags);
            let mut out = Vec::new();
            greeting.write(&mut out);
            assert_eq!(Greeting::read(&out), Ok(greeting));
            let without_zero = &out[..out.len() - 1];
            assert!(Greeting::read(without_zero).is_ok());
            let longer = [&out[..], b"x"].concat();
            assert!(Greeting::read(&longer).is_err());
            let plugin = out.len() - b"mysql_native_password\0".len();
            for size in 0..plugin {
                assert!(Greeting::read(&out[..size]).is_err(), "{size}");
            }
        }
    }

    #[test]
    fn flags_of_mariadb_are_read_of_mariadb_alone() {
        let mut out = Vec::new();
        greeting(Capabilities::MYSQL | Capabilities::BULK).write(&mut out);
        let read = Greeting::read(&out).expect("well formed");
        assert_eq!(read.capabilities.of_mariadb(), 0);
    }

    #[test]
    fn a_server_without_the_protocol_of_4_1_is_refused() {
        let mut old = greeting(Capabilities::MYSQL);
        old.capabilities = Capabilities::MYSQL;
        let mut out = Vec::new();
        old.write(&mut out);
        assert_eq!(Greeting::read(&out), Err(Malformed));
    }
}
