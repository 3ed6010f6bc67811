//! Minor versions of the protocol: client and server settle one, and the secrets that cancel a
//! statement are as long as it says. (PostgreSQL 18 speaks 3.2, older servers 3.0.)

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::common::Setup;

const PATIENCE: Duration = Duration::from_secs(60);

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";

/// What was said before the server was ready.
#[derive(Debug, PartialEq, Eq)]
struct Greeting {
    /// NegotiateProtocolVersion, where one came.
    negotiated: Option<Vec<u8>>,
    /// Number and secret of BackendKeyData.
    key: Vec<u8>,
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("somebody listens");
    let set = socket.set_read_timeout(Some(PATIENCE));
    set.expect("a socket has timeouts");
    socket
}

/// A packet behind its length.
fn packet(body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 4).expect("small");
    [&size.to_be_bytes(), body].concat()
}

fn message(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 5];
    socket.read_exact(&mut header).expect("a message");
    let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let mut body = vec![0; size - 4];
    socket.read_exact(&mut body).expect("its body");
    (header[0], body)
}

/// A session of this version, with more parameters than who and where.
fn begin(address: SocketAddr, minor: u16, more: &[u8]) -> (TcpStream, Greeting) {
    let mut socket = connect(address);
    let version = (3_u32 << 16 | u32::from(minor)).to_be_bytes();
    let who = b"user\0postgres\0database\0postgres\0";
    let startup = packet(&[&version[..], who, more, b"\0"].concat());
    socket.write_all(&startup).expect("it is read");
    let mut greeting = Greeting {
        negotiated: None,
        key: Vec::new(),
    };
    loop {
        match message(&mut socket) {
            (b'v', body) => greeting.negotiated = Some(body),
            (b'K', body) => greeting.key = body,
            (b'E', body) => panic!("{}", String::from_utf8_lossy(&body)),
            (b'Z', _) => return (socket, greeting),
            _ => {}
        }
    }
}

fn send_query(socket: &mut TcpStream, query: &str) {
    let body = [query.as_bytes(), b"\0"].concat();
    let query = [b"Q".to_vec(), packet(&body)].concat();
    socket.write_all(&query).expect("it is read");
}

/// All that a query is answered.
fn answers(socket: &mut TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    loop {
        let (kind, body) = message(socket);
        if kind == b'Z' {
            return said;
        }
        said.extend(body);
    }
}

fn has(said: &[u8], word: &str) -> bool {
    said.windows(word.len()).any(|part| part == word.as_bytes())
}

#[test]
fn a_version_is_settled_as_the_server_itself_would() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let server = SocketAddr::from(([127, 0, 0, 1], setup.server.port()));
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE person (name text); INSERT INTO person VALUES ('CANARY ann')")
        .expect("a table");
    let row = client.query_one("SELECT current_setting('server_version_num')::int4", &[]);
    let is_new = row.expect("an answer").get::<_, i32>(0) >= 180_000;
    for minor in [0, 2, 9999] {
        for more in [&b""[..], b"_pq_.unheard\0x\0"] {
            let (_, direct) = begin(server, minor, more);
            let (mut socket, by_proxy) = begin(setup.proxy.address, minor, more);
            assert_eq!(by_proxy.negotiated, direct.negotiated, "{minor}");
            assert_eq!(by_proxy.key.len(), direct.key.len(), "{minor}");
            let is_long = is_new && minor >= 2;
            assert_eq!(by_proxy.key.len(), if is_long { 36 } else { 8 }, "{minor}");
            send_query(&mut socket, "SELECT name FROM person");
            assert!(has(&answers(&mut socket), "CANARY ann"), "{minor}");
        }
    }
}

/// `pg_stat_activity` and `NOTIFY` know a session by it.
#[test]
fn a_client_is_told_the_process_of_the_server() {
    if !server_testkit::is_installed() {
        return;
    }
    for rules in [RULES, ""] {
        let setup = Setup::start(rules);
        let (mut socket, greeting) = begin(setup.proxy.address, 0, b"");
        let (number, _) = greeting.key.split_first_chunk().expect("a number");
        send_query(&mut socket, "SELECT pg_backend_pid()");
        let number = u32::from_be_bytes(*number).to_string();
        assert!(has(&answers(&mut socket), &number), "{number}");
        send_query(&mut socket, "LISTEN a; NOTIFY a; SELECT 1");
        let said = answers(&mut socket);
        assert!(said.windows(4).any(|part| part == &greeting.key[..4]));
    }
}

#[test]
fn a_statement_is_cancelled_by_the_whole_secret_alone() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    for minor in [0, 2] {
        let (mut socket, greeting) = begin(setup.proxy.address, minor, b"");
        send_query(&mut socket, "SELECT pg_sleep(600)");
        let mut client = setup.connect();
        let mut sleeps = || {
            let query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(600)' AND \
                         state = 'active'";
            client
                .query_one(query, &[])
                .expect("an answer")
                .get::<_, i64>(0)
                == 1
        };
        while !sleeps() {
            std::thread::yield_now();
        }
        let cancel = |key: &[u8]| {
            let mut socket = connect(setup.proxy.address);
            let code = 80_877_102_u32.to_be_bytes();
            let request = packet(&[&code[..], key].concat());
            socket.write_all(&request).expect("it is read");
            // Its end says that the request was looked at.
            let _ = socket.read_to_end(&mut Vec::new());
        };
        let mut wrong = greeting.key.clone();
        *wrong.last_mut().expect("a secret") ^= 1;
        cancel(&wrong);
        cancel(&greeting.key[..greeting.key.len() - 1]);
        cancel(&[&greeting.key[..], b"x"].concat());
        assert!(sleeps(), "another secret has cancelled");
        cancel(&greeting.key);
        assert!(has(&answers(&mut socket), "57014"), "{minor}");
    }
}
