//! A client that sends commands of its own making, which no driver has.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use wire_mysql::Capabilities;
use wire_mysql::answer;
use wire_mysql::greeting::Greeting;
use wire_mysql::login::Head;
use wire_mysql::packet;

/// A connection of the user `root`, who has no password.
pub struct Raw {
    stream: TcpStream,
    pub capabilities: Capabilities,
}

const UTF8MB4: u8 = 45;

impl Raw {
    /// Logs in, with these capabilities where the server has them.
    pub fn connect(port: u16, database: &str, more: Capabilities) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
        let mut raw = Self {
            stream,
            capabilities: Capabilities::default(),
        };
        let (sequence, greeting) = raw.packet();
        let greeting = Greeting::read(&greeting).expect("a greeting");
        let needed = Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_RESULTS;
        let common = greeting.capabilities & (needed | more);
        raw.capabilities = common;
        let head = Head {
            capabilities: common,
            packet_size_max: 1 << 24,
            collation: UTF8MB4,
        };
        let mut login = Vec::new();
        head.write_tls_request(&mut login);
        login.extend_from_slice(b"root\0\0");
        login.extend_from_slice(database.as_bytes());
        login.extend_from_slice(b"\0mysql_native_password\0");
        raw.send_as(sequence + 1, &login);
        let (mut sequence, mut said) = raw.packet();
        if said.first() == Some(&answer::EOF) {
            // By another method; its answer is empty, too.
            raw.send_as(sequence + 1, b"");
            (sequence, said) = raw.packet();
        }
        assert_eq!(said.first(), Some(&answer::OK), "{sequence}: {said:?}");
        raw
    }

    /// Sends a command.
    pub fn send(&mut self, payload: &[u8]) {
        self.send_as(0, payload);
    }

    fn send_as(&mut self, mut sequence: u8, payload: &[u8]) {
        let mut bytes = Vec::new();
        packet::write_bytes(payload, &mut sequence, &mut bytes);
        self.stream.write_all(&bytes).expect("it reads");
    }

    /// The next packet, with its number.
    pub fn packet(&mut self) -> (u8, Vec<u8>) {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).expect("a packet");
        let [a, b, c, sequence] = header;
        let size = u32::from_le_bytes([a, b, c, 0]);
        let mut payload = vec![0; usize::try_from(size).expect("24 bits")];
        self.stream.read_exact(&mut payload).expect("a packet");
        (sequence, payload)
    }

    /// All packets up to one that ends an answer of rows or definitions, with that one.
    pub fn packets(&mut self) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        loop {
            let (_, payload) = self.packet();
            let is_end = matches!(payload.first(), Some(&(answer::EOF | answer::ERR)));
            found.push(payload);
            if is_end {
                return found;
            }
        }
    }
}
