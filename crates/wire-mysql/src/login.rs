//! Packets of a login: what the client asks for, and the exchange of the chosen method.

use crate::capabilities::Capabilities;
use crate::greeting::NONCE_SIZE;
use crate::reader::{Malformed, Reader, put_counted, put_text};

/// First byte of a request for another method.
pub const SWITCH: u8 = 0xfe;
/// First byte of further data of a method.
pub const MORE: u8 = 0x01;

/// Size of a request for TLS: a login without its names.
const TLS_REQUEST_SIZE: usize = 32;

/// What stands in a login before the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the client takes of the server's capabilities.
    pub capabilities: Capabilities,
    /// The largest packet that the client reads.
    pub packet_size_max: u32,
    /// The number of the client's collation, in its lowest byte.
    pub collation: u8,
}

/// The first packet of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// TLS begins behind this packet; then the client sends its login.
    TlsRequest(Head),
    /// The login.
    Login(Login<'a>),
}

/// A login: protocol `HandshakeResponse41`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login<'a> {
    /// Flags and sizes.
    pub head: Head,
    /// The user.
    pub user: &'a [u8],
    /// The answer to the greeting's nonce, by the method `plugin`.
    pub answer: &'a [u8],
    /// The database, if one is named.
    pub database: Option<&'a [u8]>,
    /// The method of the answer.
    pub plugin: &'a [u8],
    /// Attributes of the client, if it sends them: validated on reading.
    attributes: Option<&'a [u8]>,
    /// The level of compression, by Zstandard only.
    pub compression_level: Option<u8>,
}

impl Head {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let common = reader.u32()?;
        let packet_size_max = reader.u32()?;
        let collation = reader.u8()?;
        reader.bytes(19)?;
        let of_mariadb = reader.u32()?;
        let is_mysql = Capabilities::new(common, 0).has(Capabilities::MYSQL);
        let of_mariadb = if is_mysql { 0 } else { of_mariadb };
        let capabilities = Capabilities::new(common, of_mariadb);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return Err(Malformed);
        }
        Ok(Self {
            capabilities,
            packet_size_max,
            collation,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.common().to_le_bytes());
        out.extend_from_slice(&self.packet_size_max.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.capabilities.of_mariadb().to_le_bytes());
    }

    /// Appends the request for TLS.
    pub fn write_tls_request(&self, out: &mut Vec<u8>) {
        self.write(out);
    }
}

impl<'a> First<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    ///
    /// If it is malformed, or of a client before version 4.1.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let head = Head::read(&mut reader)?;
        if payload.len() == TLS_REQUEST_SIZE {
            return match head.capabilities.has(Capabilities::TLS) {
                true => Ok(Self::TlsRequest(head)),
                false => Err(Malformed),
            };
        }
        Login::read(head, reader).map(Self::Login)
    }
}

impl<'a> Login<'a> {
    fn read(head: Head, mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let capabilities = head.capabilities;
        let user = reader.text()?;
        let answer = read_answer(capabilities, &mut reader)?;
        let names_database = capabilities.has(Capabilities::CONNECT_WITH_DB);
        let database = match names_database && !reader.is_at_end() {
            true => Some(reader.text_or_rest()),
            false => None,
        };
        let plugin = match capabilities.has(Capabilities::PLUGIN_AUTH) {
            // The zero byte was left out by some clients, as by some servers.
            true => reader.text_or_rest(),
            false => b"mysql_native_password",
        };
        let attributes = read_attributes(capabilities, &mut reader)?;
        let compression_level = match capabilities.has(Capabilities::ZSTD) {
            true => Some(reader.u8()?),
            false => None,
        };
        reader.end()?;
        Ok(Self {
            head,
            user,
            answer,
            database,
            plugin,
            attributes,
            compression_level,
        })
    }

    /// A login of this user, with a method and its answer to the nonce, without a database and
    /// attributes.
    pub fn new(head: Head, user: &'a [u8], (plugin, answer): (&'a [u8], &'a [u8])) -> Self {
        Self {
            head,
            user,
            answer,
            database: None,
            plugin,
            attributes: None,
            compression_level: None,
        }
    }

    /// Names and values of the client's attributes.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes {
            rest: Reader::new(self.attributes.unwrap_or_default()),
        }
    }

    /// The same login with these capabilities: parts for which no flag is set are left out.
    ///
    /// The flags must not add a part that the login does not have.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.head.capabilities = capabilities;
        self
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let capabilities = self.head.capabilities;
        self.head.write(out);
        put_text(out, self.user);
        put_answer(capabilities, self.answer, out);
        if let Some(database) = self.database
            && capabilities.has(Capabilities::CONNECT_WITH_DB)
        {
            put_text(out, database);
        }
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_text(out, self.plugin);
        }
        if capabilities.has(Capabilities::CONNECT_ATTRIBUTES) {
            put_counted(out, self.attributes.unwrap_or_default());
        }
        if capabilities.has(Capabilities::ZSTD) {
            out.push(self.compression_level.unwrap_or_default());
        }
    }
}

pub(crate) fn read_answer<'a>(
    capabilities: Capabilities,
    reader: &mut Reader<'a>,
) -> Result<&'a [u8], Malformed> {
    if capabilities.has(Capabilities::LONG_LOGIN_ANSWER) {
        reader.counted()
    } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
        let size = usize::from(reader.u8()?);
        reader.bytes(size)
    } else {
        reader.text()
    }
}

pub(crate) fn put_answer(capabilities: Capabilities, answer: &[u8], out: &mut Vec<u8>) {
    if capabilities.has(Capabilities::LONG_LOGIN_ANSWER) {
        put_counted(out, answer);
    } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
        let size = u8::try_from(answer.len()).expect("a long answer needs the flag for it");
        out.push(size);
        out.extend_from_slice(answer);
    } else {
        put_text(out, answer);
    }
}

/// The attributes behind their size in bytes. Each is checked, so that reading them cannot fail.
pub(crate) fn read_attributes<'a>(
    capabilities: Capabilities,
    reader: &mut Reader<'a>,
) -> Result<Option<&'a [u8]>, Malformed> {
    if !capabilities.has(Capabilities::CONNECT_ATTRIBUTES) || reader.is_at_end() {
        return Ok(None);
    }
    let attributes = reader.counted()?;
    let mut checked = Reader::new(attributes);
    while !checked.is_at_end() {
        checked.counted()?;
        checked.counted()?;
    }
    Ok(Some(attributes))
}

/// [`Login::attributes`]
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: Reader<'a>,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.rest.counted().ok()?, self.rest.counted().ok()?))
    }
}

/// The server asks for another method: protocol `AuthSwitchRequest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch<'a> {
    /// The method; None: that of servers before version 4.1, which nobody should answer.
    pub plugin: Option<&'a [u8]>,
    /// What it answers to.
    pub data: &'a [u8],
}

impl<'a> Switch<'a> {
    /// Reads a payload that begins with [`SWITCH`].
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != SWITCH {
            return Err(Malformed);
        }
        if reader.is_at_end() {
            return Ok(Self {
                plugin: None,
                data: &[],
            });
        }
        Ok(Self {
            plugin: Some(reader.text()?),
            data: reader.rest(),
        })
    }

    /// The nonce, where the data is one.
    pub fn nonce(&self) -> Option<[u8; NONCE_SIZE]> {
        match self.data.strip_suffix(&[0]) {
            Some(nonce) => nonce.try_into().ok(),
            None => self.data.try_into().ok(),
        }
    }

    /// Appends the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(SWITCH);
        if let Some(plugin) = self.plugin {
            put_text(out, plugin);
            out.extend_from_slice(self.data);
        }
    }
}

/// The data of a packet that begins with [`MORE`].
///
/// # Errors
/// It begins with something else.
pub fn read_more(payload: &[u8]) -> Result<&[u8], Malformed> {
    match payload.split_first() {
        Some((&MORE, data)) => Ok(data),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: Capabilities =
        Capabilities::new(1 << 9 | 1 << 15 | 1 << 19 | 1 << 3 | 1 << 20 | 1 << 21, 0);

    fn login(capabilities: Capabilities) -> Login<'static> {
        Login {
            head: Head {
                capabilities,
                packet_size_max: 1 << 24,
                collation: 45,
            },
            user: b"anna",
            answer: b"twenty bytes of hash",
            database: Some(b"shop"),
            plugin: b"caching_sha2_password",
            attributes: Some(b"\x04_pid\x0242\x03_os\x05Linux"),
            compression_level: None,
        }
    }

    fn written(login: &Login<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        login.write(&mut out);
        out
    }

    #[test]
    fn a_login_is_read_as_it_was_written() {
        let login = login(FLAGS);
        let out = written(&login);
        assert_eq!(First::read(&out), Ok(First::Login(login)));
        let attributes: Vec<_> = login.attributes().collect();
        assert_eq!(attributes, [(&b"_pid"[..], &b"42"[..]), (b"_os", b"Linux")]);
        let longer = [&out[..], b"x"].concat();
        assert_eq!(First::read(&longer), Err(Malformed));
    }

    #[test]
    fn parts_without_a_flag_are_left_out() {
        let flags = FLAGS & !Capabilities::CONNECT_ATTRIBUTES & !Capabilities::LONG_LOGIN_ANSWER;
        let out = written(&login(FLAGS).with_capabilities(flags));
        let Ok(First::Login(read)) = First::read(&out) else {
            panic!("no login")
        };
        assert_eq!(read.attributes().count(), 0);
        assert_eq!(
            (read.user, read.answer),
            (&b"anna"[..], login(FLAGS).answer)
        );
        assert_eq!(read.database, Some(&b"shop"[..]));
    }

    #[test]
    fn a_login_that_is_cut_is_never_read_as_another_user() {
        let login = login(FLAGS);
        let out = written(&login);
        for size in 0..out.len() {
            if let Ok(First::Login(read)) = First::read(&out[..size]) {
                assert_eq!(
                    (read.user, read.answer),
                    (login.user, login.answer),
                    "{size}"
                );
            }
        }
    }

    #[test]
    fn a_request_for_tls_is_a_head_alone() {
        let mut head = login(FLAGS | Capabilities::TLS).head;
        let mut out = Vec::new();
        head.write_tls_request(&mut out);
        assert_eq!(out.len(), TLS_REQUEST_SIZE);
        assert_eq!(First::read(&out), Ok(First::TlsRequest(head)));
        head.capabilities = FLAGS;
        let mut without_flag = Vec::new();
        head.write_tls_request(&mut without_flag);
        assert_eq!(First::read(&without_flag), Err(Malformed));
    }

    #[test]
    fn attributes_beyond_their_size_are_malformed() {
        let mut login = login(FLAGS);
        login.attributes = Some(b"\x04_pid\x09");
        assert_eq!(First::read(&written(&login)), Err(Malformed));
    }

    #[test]
    fn a_switch_gives_method_and_nonce() {
        let data = b"abcdefghijklmnopqrst\0";
        let switch = Switch {
            plugin: Some(b"mysql_native_password"),
            data,
        };
        let mut out = Vec::new();
        switch.write(&mut out);
        assert_eq!(Switch::read(&out), Ok(switch));
        assert_eq!(
            switch.nonce().as_ref().map(|nonce| &nonce[..]),
            Some(&data[..20])
        );
        let old = Switch::read(&[SWITCH]).expect("the old method");
        assert_eq!((old.plugin, old.nonce()), (None, None));
        assert_eq!(read_more(&[MORE, 4]), Ok(&[4][..]));
        assert_eq!(read_more(&[0, 4]), Err(Malformed));
    }
}
