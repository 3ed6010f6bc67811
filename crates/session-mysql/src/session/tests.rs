//! Client and server, played by bytes.

use std::sync::Arc;

use session_core::Protection;
use wire_mysql::answer::{EofPacket, ErrorPacket, OkPacket, Prepared};
use wire_mysql::greeting::Greeting;
use wire_mysql::login::{First, Head, SWITCH, Switch};

use super::*;

mod collations;
mod commands;
mod files;
mod logins;
mod random;
mod ruled;
mod several;

const NONCE: [u8; NONCE_SIZE] = *b"abcdefghijklmnopqrst";
const SERVER: Capabilities = Capabilities::new(0x01ff_ffff, 0);

/// Both sides of a session.
struct Played {
    session: Session,
}

/// How the legs are.
#[derive(Clone, Copy)]
struct Ways {
    client_tls: bool,
    server_tls: bool,
    must_ask: bool,
}

const CLEAR: Ways = Ways {
    client_tls: false,
    server_tls: false,
    must_ask: false,
};
const TLS: Ways = Ways {
    client_tls: true,
    server_tls: true,
    must_ask: false,
};
/// A client with TLS, and a server without.
const MIXED: Ways = Ways {
    client_tls: true,
    server_tls: false,
    must_ask: false,
};

impl Played {
    /// A client that answers by a method; the login has gone to the server.
    fn answering(plugin: &str, answer: &[u8], ways: Ways) -> Self {
        Self::with(SERVER, plugin, answer, ways)
    }

    fn with(capabilities: Capabilities, plugin: &str, answer: &[u8], ways: Ways) -> Self {
        Self::under(None, capabilities, (plugin, answer), ways)
    }

    fn under(
        protection: Option<Arc<Protection>>,
        capabilities: Capabilities,
        (plugin, answer): (&str, &[u8]),
        ways: Ways,
    ) -> Self {
        let greeting = Greeting {
            version: b"8.0.15",
            connection: 7,
            nonce: NONCE,
            capabilities: SERVER,
            collation: 255,
            status: Status(Status::AUTOCOMMIT),
            plugin: b"caching_sha2_password",
        };
        let packet = login(capabilities, plugin, answer);
        let Ok(First::Login(login)) = First::read(&packet) else {
            panic!("no login");
        };
        let session = Session::new(&Terms {
            greeting: &greeting,
            login: &login,
            client: ClientLeg {
                is_private: ways.client_tls,
                sequence: if ways.client_tls { 3 } else { 2 },
            },
            server: ServerLeg {
                is_tls: ways.server_tls,
                is_secure: ways.server_tls || ways.must_ask,
                is_private: ways.server_tls || ways.must_ask,
                must_ask: ways.must_ask,
                sequence: if ways.server_tls { 2 } else { 1 },
            },
            protection,
            among: None,
        });
        Self {
            session: session.expect("the login can be passed on"),
        }
    }

    /// A session whose client is in.
    fn begun() -> Self {
        Self::begun_with(SERVER)
    }

    fn begun_with(capabilities: Capabilities) -> Self {
        Self::begun_under(None, capabilities)
    }

    fn begun_under(protection: Option<Arc<Protection>>, capabilities: Capabilities) -> Self {
        let login = ("mysql_native_password", &b"proof"[..]);
        let mut played = Self::under(protection, capabilities, login, CLEAR);
        played.sent();
        played.server(2, &ok(0));
        assert_eq!(played.got(), [(2, ok(0))]);
        assert!(played.session.has_begun());
        played
    }

    fn server(&mut self, sequence: u8, payload: &[u8]) {
        self.session.server_bytes(&framed(sequence, payload));
    }

    fn client(&mut self, sequence: u8, payload: &[u8]) {
        self.session.client_bytes(&framed(sequence, payload));
    }

    /// What the client was sent since the last call.
    fn got(&mut self) -> Vec<(u8, Vec<u8>)> {
        packets(&std::mem::take(&mut self.session.to_client.bytes))
    }

    /// What the server was sent since the last call.
    fn sent(&mut self) -> Vec<(u8, Vec<u8>)> {
        packets(&std::mem::take(&mut self.session.to_server.bytes))
    }

    /// The session has ended with an error of the proxy's own.
    #[track_caller]
    fn assert_refused(&mut self, sequence: u8, reason: Reason) {
        let got = self.got();
        let (last, payload) = got.last().expect("the client is told");
        let error = ErrorPacket::read(payload).expect("an error");
        let said = String::from_utf8_lossy(error.message);
        assert_eq!((*last, error.code), (sequence, reason.code().0), "{said}");
        assert!(said.starts_with("strongroom: "), "{said}");
        assert!(self.session.has_ended());
    }
}

fn login(capabilities: Capabilities, plugin: &str, answer: &[u8]) -> Vec<u8> {
    let head = Head {
        capabilities: capabilities & !Capabilities::CONNECT_ATTRIBUTES,
        packet_size_max: 1 << 24,
        collation: 45,
    };
    let mut out = Vec::new();
    head.write_tls_request(&mut out);
    out.extend_from_slice(b"anna\0");
    out.push(u8::try_from(answer.len()).expect("a short answer"));
    out.extend_from_slice(answer);
    out.extend_from_slice(b"shop\0");
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out
}

fn framed(mut sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::write_bytes(payload, &mut sequence, &mut out);
    out
}

/// Numbers and bodies of packets.
fn packets(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some(header) = Header::read(bytes) {
        let (packet, rest) = bytes.split_at(HEADER_SIZE + header.length);
        found.push((header.sequence, packet[HEADER_SIZE..].to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a packet is cut");
    found
}

fn ok(status: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let ok = OkPacket::new(0, Status(status));
    ok.write(answer::OK, SERVER, &mut out);
    out
}

/// OK in the place of EOF.
fn end(status: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let ok = OkPacket::new(0, Status(status));
    ok.write(answer::EOF, SERVER, &mut out);
    out
}

fn eof(status: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let status = Status(status);
    let eof = EofPacket {
        warnings: 0,
        status,
    };
    eof.write(&mut out);
    out
}

fn error(code: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let error = ErrorPacket {
        code,
        state: Some(*b"HY000"),
        message: b"said by the server",
    };
    error.write(&mut out);
    out
}

fn switch(plugin: &str, nonce: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let data = [nonce, b"\0"].concat();
    let switch = Switch {
        plugin: Some(plugin.as_bytes()),
        data: &data,
    };
    switch.write(&mut out);
    out
}

fn prepared(parameters: u16, columns: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let prepared = Prepared {
        statement: 1,
        columns,
        parameters,
        warnings: 0,
    };
    prepared.write(&mut out);
    out
}
