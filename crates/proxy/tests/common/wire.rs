//! Messages of the protocol, as no driver sends them.

use std::io::{ErrorKind, Read, Write};
use std::iter::empty;
use std::net::TcpStream;
use std::time::Duration;

use wire_postgres::backend::{kind, read_data_row, read_fields, write_value};
use wire_postgres::frontend::{write_bind, write_execute, write_parse, write_query};

/// Nothing here takes as long; a test that hangs says so.
const PATIENCE: Duration = Duration::from_secs(60);

pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// What is said until the server is ready, or the session is over.
#[derive(Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Option<String>>>,
    pub tag: String,
    /// Of the last error, as are severity and message.
    pub code: String,
    pub severity: String,
    pub message: String,
    pub is_over: bool,
}

/// A client.
pub struct Session(TcpStream);

impl Session {
    pub fn connect(port: u16) -> Self {
        let (session, answer) = Self::begin(port, b"user\0postgres\0database\0postgres\0");
        assert!(!answer.is_over, "{answer:?}");
        session
    }

    /// A session with these parameters, and what it is told first.
    pub fn begin(port: u16, parameters: &[u8]) -> (Self, Answer) {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
        let set = socket.set_read_timeout(Some(PATIENCE));
        set.expect("a socket has timeouts");
        let mut session = Self(socket);
        let body = [&b"\0\x03\0\0"[..], parameters, b"\0"].concat();
        let size = u32::try_from(body.len() + 4).expect("small");
        let answer = session.say(&[&size.to_be_bytes(), &body[..]].concat());
        (session, answer)
    }

    /// Sends messages, and takes what comes up to ReadyForQuery.
    pub fn say(&mut self, messages: &[u8]) -> Answer {
        self.send(messages);
        self.answer()
    }

    pub fn send(&mut self, messages: &[u8]) {
        self.0.write_all(messages).expect("it is read");
    }

    /// What comes up to ReadyForQuery, kinds and bodies. Without that the session is over.
    pub fn messages(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        loop {
            let mut header = [0; 5];
            if let Err(error) = self.0.read_exact(&mut header) {
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
                return messages;
            }
            let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
            let mut body = vec![0; size as usize - 4];
            self.0.read_exact(&mut body).expect("its body");
            messages.push((header[0], body));
            if header[0] == kind::READY_FOR_QUERY {
                return messages;
            }
        }
    }

    /// The same, read.
    pub fn answer(&mut self) -> Answer {
        let mut answer = Answer {
            is_over: true,
            ..Answer::default()
        };
        for (kind, body) in self.messages() {
            match kind {
                kind::DATA_ROW => {
                    let row = read_data_row(&body).expect("well formed");
                    let values = row.iter().map(|value| value.map(text));
                    answer.rows.push(values.collect());
                }
                kind::COMMAND_COMPLETE => answer.tag = text(&body),
                kind::ERROR => answer.note_error(&body),
                kind::READY_FOR_QUERY => answer.is_over = false,
                _ => {}
            }
        }
        answer
    }

    /// A text by the simple protocol.
    pub fn query(&mut self, text: &str) -> Answer {
        let mut message = Vec::new();
        write_query(text.as_bytes(), &mut message);
        self.say(&message)
    }
}

impl Answer {
    fn note_error(&mut self, body: &[u8]) {
        for (letter, word) in read_fields(body).expect("well formed") {
            match letter {
                b'C' => self.code = text(word),
                b'S' => self.severity = text(word),
                b'M' => self.message = text(word),
                _ => {}
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parse, Bind and Execute of a statement without parameters.
pub fn put_text(text: &str, out: &mut Vec<u8>) {
    write_parse(b"", text.as_bytes(), empty(), out);
    put(b"", &[], out);
}

/// Bind of values and Execute; all as texts.
pub fn put(statement: &[u8], values: &[&str], out: &mut Vec<u8>) {
    let write_values = |out: &mut Vec<u8>| {
        for value in values {
            write_value(out, |out| {
                out.extend_from_slice(value.as_bytes());
                Ok::<_, ()>(true)
            })?;
        }
        Ok::<_, ()>(())
    };
    let formats = values.iter().map(|_| 0);
    let names = (&b""[..], statement);
    write_bind(names, formats, write_values, empty(), out).expect("no failure");
    write_execute(b"", 0, out);
}
