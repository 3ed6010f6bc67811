//! A client that costs little: prepared statements on a socket, and nothing is read of an answer
//! but where it ends.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wire_postgres::backend::{self, write_value};
use wire_postgres::{HEADER_SIZE, Header, frontend};

/// Rows of the table that is asked.
pub const ACCOUNTS: u64 = 100_000;
/// Rows of the table that most wait for.
const TELLERS: u64 = 100;

/// What a client does over and over.
#[derive(Clone, Copy)]
pub enum Load {
    /// One row by its key.
    Select,
    /// A transaction of five statements, as pgbench's.
    Transfer,
}

impl Load {
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Transfer => "transfer",
        }
    }

    fn statements(self) -> &'static [&'static str] {
        match self {
            Self::Select => &["SELECT balance FROM account WHERE id = $1"],
            Self::Transfer => &[
                "BEGIN",
                "UPDATE account SET balance = balance + 1 WHERE id = $1",
                "SELECT balance FROM account WHERE id = $1",
                "UPDATE teller SET balance = balance + 1 WHERE id = $2",
                "INSERT INTO history VALUES ($1, $2, 1, CURRENT_TIMESTAMP)",
                "COMMIT",
            ],
        }
    }

    /// Messages of the client that it waits for an answer to, in one turn.
    pub fn round_trips(self) -> usize {
        self.statements().len()
    }
}

/// Where a client connects to.
pub enum Address {
    /// A port of this machine.
    Port(u16),
    /// A socket of the file system.
    Socket(PathBuf),
}

/// What a client speaks by.
trait Socket: Read + Write + Send {}
impl Socket for TcpStream {}
impl Socket for UnixStream {}

impl Address {
    fn connect(&self) -> Box<dyn Socket> {
        match self {
            Self::Port(port) => {
                let socket = TcpStream::connect(("127.0.0.1", *port)).expect("somebody listens");
                socket.set_nodelay(true).expect("a socket of TCP");
                Box::new(socket)
            }
            Self::Socket(path) => Box::new(UnixStream::connect(path).expect("somebody listens")),
        }
    }
}

/// A connection with its statements prepared.
pub struct Client {
    socket: Box<dyn Socket>,
    load: Load,
    random: u64,
    out: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    pub fn connect(address: &Address, load: Load, seed: u64) -> Self {
        let mut client = Self {
            socket: address.connect(),
            load,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            out: Vec::new(),
            answer: Vec::new(),
        };
        let parameters = b"\0\x03\0\0user\0postgres\0\0";
        let size = 4 + parameters.len() as u32;
        client.out.extend_from_slice(&size.to_be_bytes());
        client.out.extend_from_slice(parameters);
        client.round_trip();
        for (number, text) in load.statements().iter().enumerate() {
            let name = number.to_string();
            let types = [23; 2].into_iter().take(parameter_count(text));
            frontend::write_parse(name.as_bytes(), text.as_bytes(), types, &mut client.out);
            backend::write_empty(frontend::kind::SYNC, &mut client.out);
            client.round_trip();
        }
        client
    }

    /// Goes on for that long. The latencies, in microseconds.
    pub fn work(mut self, time: Duration) -> Vec<f64> {
        let begin = Instant::now();
        let mut latencies_us = Vec::new();
        let mut last = begin;
        while last - begin < time {
            let values = [self.draw(ACCOUNTS), self.draw(TELLERS)];
            for (number, text) in self.load.statements().iter().enumerate() {
                let values = &values[..parameter_count(text)];
                write_statement(number, values, &mut self.out);
                self.round_trip();
            }
            let now = Instant::now();
            latencies_us.push((now - last).as_secs_f64() * 1e6);
            last = now;
        }
        let mut farewell = Vec::new();
        backend::write_empty(frontend::kind::TERMINATE, &mut farewell);
        // Whoever has gone already need not be told.
        let _ = self.socket.write_all(&farewell);
        latencies_us
    }

    /// xorshift64: the same keys in both windows of a pair.
    fn draw(&mut self, count: u64) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % count) as u32 + 1
    }

    /// Sends what was written, and reads up to ReadyForQuery.
    fn round_trip(&mut self) {
        self.socket.write_all(&self.out).expect("it takes bytes");
        self.out.clear();
        self.answer.clear();
        let mut at = 0;
        let mut buffer = [0; 8192];
        loop {
            let size = self.socket.read(&mut buffer).expect("it answers");
            assert!(size > 0, "the connection was closed");
            self.answer.extend_from_slice(&buffer[..size]);
            while let Some(header) = Header::read(&self.answer[at..], usize::MAX).expect("messages")
            {
                let end = at + header.size;
                if end > self.answer.len() {
                    break;
                }
                let body = &self.answer[at + HEADER_SIZE..end];
                let is_error = header.kind == backend::kind::ERROR;
                assert!(!is_error, "{}", String::from_utf8_lossy(body));
                at = end;
                if header.kind == backend::kind::READY_FOR_QUERY {
                    return;
                }
            }
        }
    }
}

fn parameter_count(text: &str) -> usize {
    match (text.contains("$1"), text.contains("$2")) {
        (_, true) => 2,
        (true, false) => 1,
        (false, false) => 0,
    }
}

fn write_statement(number: usize, values: &[u32], out: &mut Vec<u8>) {
    let name = [b'0' + number as u8];
    let write_values = |out: &mut Vec<u8>| {
        for value in values {
            write_value(out, |out| {
                out.extend_from_slice(&value.to_be_bytes());
                Ok::<_, Infallible>(true)
            })?;
        }
        Ok(())
    };
    let formats = values.iter().map(|_| 1);
    let written = frontend::write_bind((b"", &name), formats, write_values, [1].into_iter(), out);
    written.unwrap_or_else(|error: Infallible| match error {});
    frontend::write_execute(b"", 0, out);
    backend::write_empty(frontend::kind::SYNC, out);
}
