//! The first packet of a connection, which has no type byte.

use std::collections::HashSet;

use crate::backend::put_text;
use crate::reader::{Malformed, Reader};

/// The same as PostgreSQL's `MAX_STARTUP_PACKET_LENGTH`.
pub const STARTUP_SIZE_MAX: usize = 10_000;

/// Maximum size of the key in a cancel request, from PostgreSQL 18 on.
pub const CANCEL_KEY_SIZE_MAX: usize = 256;

const CANCEL_CODE: u32 = 80_877_102;
const TLS_CODE: u32 = 80_877_103;
const GSS_CODE: u32 = 80_877_104;

/// The first packet of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// SSLRequest.
    TlsRequest,
    /// GSSENCRequest.
    GssRequest,
    /// A request to cancel the statement of another session.
    Cancel(CancelRequest<'a>),
    /// The start of a session.
    Startup(Startup<'a>),
}

/// A request to cancel the statement of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelRequest<'a> {
    /// From that session's BackendKeyData.
    pub process_id: u32,
    /// From that session's BackendKeyData.
    pub key: &'a [u8],
}

/// The startup message of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Startup<'a> {
    /// Major and minor version.
    pub version: (u16, u16),
    /// Validated on reading: pairs of texts.
    parameters: &'a [u8],
}

/// Size of the packet at the start of `bytes`; `None` while its length is incomplete.
///
/// # Errors
///
/// If the length is invalid for a first packet.
pub fn size(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(length) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let size = u32::from_be_bytes(*length) as usize;
    if (8..=STARTUP_SIZE_MAX).contains(&size) {
        Ok(Some(size))
    } else {
        Err(Malformed)
    }
}

impl<'a> First<'a> {
    /// Reads a whole packet, including its length.
    ///
    /// # Errors
    ///
    /// If it is not a packet that PostgreSQL accepts, or repeats a parameter.
    pub fn read(packet: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        if reader.u32()? as usize != packet.len() {
            return Err(Malformed);
        }
        match reader.u32()? {
            TLS_CODE => reader.end().map(|()| Self::TlsRequest),
            GSS_CODE => reader.end().map(|()| Self::GssRequest),
            CANCEL_CODE => {
                let process_id = reader.u32()?;
                let key = reader.rest();
                if key.is_empty() || key.len() > CANCEL_KEY_SIZE_MAX {
                    return Err(Malformed);
                }
                Ok(Self::Cancel(CancelRequest { process_id, key }))
            }
            version => {
                let parameters = reader.rest();
                check(parameters)?;
                Ok(Self::Startup(Startup {
                    version: ((version >> 16) as u16, version as u16),
                    parameters,
                }))
            }
        }
    }
}

/// Checks that there are pairs of texts, and no repeated name. Of two values PostgreSQL takes the
/// last, other readers of the packet may take the first, and it must be unambiguous who logs in to
/// which database.
fn check(parameters: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(parameters);
    let mut names = HashSet::new();
    loop {
        let name = reader.text()?;
        if name.is_empty() {
            return reader.end();
        }
        if !names.insert(name) {
            return Err(Malformed);
        }
        reader.text()?;
    }
}

impl<'a> Startup<'a> {
    /// Names and values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut reader = Reader::new(self.parameters);
        std::iter::from_fn(move || {
            let name = reader.text().ok().filter(|name| !name.is_empty())?;
            Some((name, reader.text().ok()?))
        })
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&'a [u8]> {
        self.parameters()
            .find(|(found, _)| *found == name.as_bytes())
            .map(|(_, value)| value)
    }

    /// The database, which defaults to the user's name.
    pub fn database(&self) -> Option<&'a [u8]> {
        self.parameter("database")
            .filter(|name| !name.is_empty())
            .or_else(|| self.parameter("user"))
    }
}

/// Writes the startup message of a session by version 3.0 of the protocol. A text is truncated at a
/// zero byte inside it.
///
/// # Panics
///
/// If the parameters have more bytes than fit into a packet.
pub fn write_startup(parameters: &[(&[u8], &[u8])], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(3_u32 << 16).to_be_bytes());
    for (name, value) in parameters {
        put_text(out, name);
        put_text(out, value);
    }
    out.push(0);
    let size = u32::try_from(out.len() - start).expect("the parameters fit into a packet");
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}

/// Writes a CancelRequest.
pub fn write_cancel(process_id: u32, key: &[u8], out: &mut Vec<u8>) {
    let size = u32::try_from(12 + key.len()).expect("a key has at most 256 bytes");
    for word in [size, CANCEL_CODE, process_id] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(key);
}

/// The SSLRequest packet.
pub const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u32, rest: &[u8]) -> Vec<u8> {
        let mut packet = (8 + rest.len() as u32).to_be_bytes().to_vec();
        packet.extend(code.to_be_bytes());
        packet.extend(rest);
        packet
    }

    #[test]
    fn a_startup_gives_its_parameters() {
        let bytes = packet(3 << 16, b"user\0ann\0options\0-c x=1\0\0");
        let Ok(First::Startup(startup)) = First::read(&bytes) else {
            panic!("no startup");
        };
        assert_eq!(startup.version, (3, 0));
        assert_eq!(startup.parameter("options"), Some(&b"-c x=1"[..]));
        assert_eq!(startup.database(), Some(&b"ann"[..]));
        assert_eq!(startup.parameters().count(), 2);
    }

    #[test]
    fn a_startup_is_read_as_it_was_written() {
        let mut packet = Vec::new();
        write_startup(&[(b"user", b"ann"), (b"database", b"a\0b")], &mut packet);
        assert_eq!(size(&packet), Ok(Some(packet.len())));
        let Ok(First::Startup(startup)) = First::read(&packet) else {
            panic!("no startup");
        };
        assert_eq!(startup.version, (3, 0));
        assert_eq!(startup.parameter("user"), Some(&b"ann"[..]));
        assert_eq!(startup.parameter("database"), Some(&b"a"[..]));
    }

    #[test]
    fn kinds_of_first_packets_are_distinguished() {
        assert_eq!(First::read(&TLS_REQUEST), Ok(First::TlsRequest));
        let gss = packet(GSS_CODE, b"");
        assert_eq!(First::read(&gss), Ok(First::GssRequest));
        let mut cancel = Vec::new();
        write_cancel(7, b"key4", &mut cancel);
        let request = CancelRequest {
            process_id: 7,
            key: b"key4",
        };
        assert_eq!(First::read(&cancel), Ok(First::Cancel(request)));
    }

    #[test]
    fn malformed_packets_are_errors() {
        for rest in [
            &b"user"[..],
            b"user\0ann\0",
            b"user\0ann\0\0more",
            b"user\0",
            b"",
        ] {
            assert_eq!(
                First::read(&packet(3 << 16, rest)),
                Err(Malformed),
                "{rest:?}"
            );
        }
        assert_eq!(First::read(&packet(TLS_CODE, b"x")), Err(Malformed));
        assert_eq!(
            First::read(&packet(CANCEL_CODE, b"\0\0\0\0")),
            Err(Malformed)
        );
        assert_eq!(First::read(&[0, 0, 0, 9, 0, 3, 0, 0]), Err(Malformed));
    }

    /// The server would take the last one.
    #[test]
    fn a_parameter_is_named_once() {
        for rest in [
            &b"user\0mallory\0database\0a\0database\0b\0\0"[..],
            b"user\0mallory\0user\0ann\0\0",
            b"user\0ann\0user\0ann\0\0",
            b"user\0ann\0replication\0\0replication\0on\0\0",
            b"user\0ann\0options\0-c x=1\0more\0\0options\0\0\0",
        ] {
            let bytes = packet(3 << 16, rest);
            assert_eq!(First::read(&bytes), Err(Malformed), "{rest:?}");
        }
        // Values may be the same.
        let bytes = packet(3 << 16, b"user\0ann\0database\0ann\0\0");
        assert!(First::read(&bytes).is_ok());
    }

    #[test]
    fn sizes_are_those_of_postgresql() {
        assert_eq!(size(&[0, 0, 0]), Ok(None));
        assert_eq!(size(&[0, 0, 0, 8]), Ok(Some(8)));
        assert_eq!(size(&[0, 0, 0x27, 0x10]), Ok(Some(10_000)));
        for wrong in [[0, 0, 0, 7], [0, 0, 0x27, 0x11], [0xff, 0, 0, 0]] {
            assert_eq!(size(&wrong), Err(Malformed));
        }
    }
}
