//! A server of one process for any number of connections: it replays a real server's answers to one
//! client for all others that do the same. A real server would need a process for each.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The packet with which a client requests TLS.
pub const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// The first two connections use the real server: one creates the tables, the other is the first to
/// see them.
const UNRECORDED: usize = 2;

/// A socket, with TLS or without.
pub trait Socket: Read + Write + Send {}

impl<T: Read + Write + Send> Socket for T {}

/// A replaying server; dropping this closes its connections.
pub struct Replay {
    pub port: u16,
    idle: Arc<Mutex<Vec<Box<dyn Socket>>>>,
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.idle.lock().unwrap().clear();
    }
}

struct Script {
    /// Port of the real server.
    port: u16,
    tls: Option<Arc<ServerConfig>>,
    /// The server's answers, up to each ReadyForQuery.
    answers: Mutex<Vec<Vec<u8>>>,
}

impl Replay {
    /// Starts one in front of the local server at this port.
    pub fn start(port: u16, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let script = Arc::new(Script {
            port,
            tls,
            answers: Mutex::default(),
        });
        let idle = Arc::<Mutex<Vec<Box<dyn Socket>>>>::default();
        let opened = Arc::clone(&idle);
        thread::spawn(move || {
            let accepted = listener
                .incoming()
                .map(|socket| script.accept(socket.unwrap()));
            for (number, mut client) in accepted.flatten().enumerate() {
                if number <= UNRECORDED {
                    let script = Arc::clone(&script);
                    thread::spawn(move || script.relay(&mut *client, number == UNRECORDED));
                } else if script.play(&mut *client).is_ok() {
                    opened.lock().unwrap().push(client);
                }
            }
        });
        Self { port: own, idle }
    }
}

impl Script {
    fn accept(&self, mut socket: TcpStream) -> io::Result<Box<dyn Socket>> {
        socket.set_nodelay(true)?;
        if socket.peek(&mut [0])? == 0 {
            // The proxy looks whether its server is there.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(config) = &self.tls else {
            return Ok(Box::new(socket));
        };
        let mut request = [0; TLS_REQUEST.len()];
        socket.read_exact(&mut request)?;
        assert_eq!(request, TLS_REQUEST);
        socket.write_all(b"S")?;
        let connection = ServerConnection::new(Arc::clone(config)).unwrap();
        Ok(Box::new(StreamOwned::new(connection, socket)))
    }

    /// Relays both directions, in turns.
    fn relay(&self, client: &mut dyn Socket, is_recorded: bool) {
        let mut server = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut is_first = true;
        while let Ok(said) = turn(client, is_first) {
            is_first = false;
            server.write_all(&said).unwrap();
            let answer = read_until_ready(&mut server);
            if is_recorded {
                self.answers.lock().unwrap().push(answer.clone());
            }
            if client
                .write_all(&answer)
                .and_then(|()| client.flush())
                .is_err()
            {
                return;
            }
        }
    }

    /// Replays the answers.
    fn play(&self, client: &mut dyn Socket) -> io::Result<()> {
        let answers = self.answers.lock().unwrap().clone();
        for (number, answer) in answers.iter().enumerate() {
            turn(client, number == 0)?;
            client.write_all(answer)?;
            client.flush()?;
        }
        Ok(())
    }
}

/// What a client sends until it waits for ReadyForQuery.
fn turn(client: &mut dyn Socket, is_first: bool) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    if is_first {
        // The startup packet has no type byte.
        let mut size = [0; 4];
        client.read_exact(&mut size)?;
        said.extend(size);
        read_body(client, size, &mut said)?;
        return Ok(said);
    }
    loop {
        let kind = read_message(client, &mut said)?;
        if matches!(kind, b'S' | b'Q') {
            return Ok(said);
        }
    }
}

/// Reads messages up to ReadyForQuery, and returns them.
pub fn read_until_ready(server: &mut dyn Socket) -> Vec<u8> {
    let mut said = Vec::new();
    while read_message(server, &mut said).unwrap() != b'Z' {}
    assert!(
        !said.starts_with(b"E"),
        "{}",
        String::from_utf8_lossy(&said)
    );
    said
}

fn read_message(socket: &mut dyn Socket, said: &mut Vec<u8>) -> io::Result<u8> {
    let mut header = [0; 5];
    socket.read_exact(&mut header)?;
    said.extend(header);
    let [kind, size @ ..] = header;
    read_body(socket, size, said)?;
    Ok(kind)
}

fn read_body(socket: &mut dyn Socket, size: [u8; 4], said: &mut Vec<u8>) -> io::Result<()> {
    let start = said.len();
    said.resize(start + u32::from_be_bytes(size) as usize - 4, 0);
    socket.read_exact(&mut said[start..])
}
