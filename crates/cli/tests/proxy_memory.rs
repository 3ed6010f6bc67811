//! Memory use of `strongroom proxy`: with very many clients, and with clients and servers that do
//! not read.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/proxy_process.rs"]
mod proxy_process;
#[path = "support/replay.rs"]
mod replay;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use postgres::Client;
use rcgen::CertifiedKey;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use server_testkit::Postgres;

use proxy_process::{PATIENCE, Proxy, read_until_ready, startup, wait_for};
use replay::{Replay, Socket};

const RULES: &str = "[columns.pair]\nid = { type = \"integer\", mode = \"equality\" }\n\
                     name = { type = \"text\" }\n";
const CREATE: &str = "CREATE TABLE pair (id integer, half integer, name text)";

/// Maximum data that may be queued in the proxy and in the system's sockets.
const TAKEN_MAX: u64 = 20_000_000;
/// Maximum growth of a proxy's memory.
const GROWTH_MAX_KIB: u64 = 24 * 1024;

/// Waits until a counter of the proxy has changed and is stable, and returns by how much it
/// changed.
fn moved(proxy: &Proxy, counter: &str, at_begin: u64) -> u64 {
    let mut last = (at_begin, 0);
    wait_for(|| {
        thread::sleep(Duration::from_millis(50));
        let now = proxy.metric(counter);
        last = if now == last.0 && now > at_begin {
            (now, last.1 + 1)
        } else {
            (now, 0)
        };
        last.1 == 10
    });
    last.0 - at_begin
}

/// A message of the protocol.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &size.to_be_bytes()[..], body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// A raw client connection.
fn raw(proxy: &Proxy) -> TcpStream {
    let mut socket = TcpStream::connect(proxy.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(&startup()).unwrap();
    read_until_ready(&mut socket);
    socket
}

#[test]
fn a_slow_client_holds_the_server_up_and_takes_no_memory() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    // A table with rules, so that each row is opened.
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
    let mut writer = proxy.connect().unwrap();
    let insert = writer
        .prepare("INSERT INTO pair VALUES ($1, 1, $2)")
        .unwrap();
    let name = format!("CANARY{}", "x".repeat(100_000));
    for id in 0..400 {
        writer.execute(&insert, &[&id, &name]).unwrap();
    }
    let before = proxy.memory_kib("VmRSS");
    for query in ["SELECT name FROM pair", "SELECT repeat('x', 40000000)"] {
        let mut socket = raw(&proxy);
        let at_begin = proxy.metric("server_bytes_total");
        socket.write_all(&self::query(query)).unwrap();
        // Nobody reads, so the flow from the server stops.
        let taken = moved(&proxy, "server_bytes_total", at_begin);
        assert!(
            taken < TAKEN_MAX,
            "{taken} bytes were taken for a client that reads nothing"
        );
        let mut bytes = 0;
        let mut buffer = vec![0; 1 << 16];
        while bytes < 40_000_000 {
            match socket.read(&mut buffer).unwrap() {
                0 => panic!("the proxy gave up after {bytes} bytes"),
                size => bytes += size,
            }
        }
        let most = proxy.memory_kib("VmHWM");
        println!("{query}: {taken} bytes held; memory {before} KiB before, {most} KiB at most");
        assert!(
            most < before + GROWTH_MAX_KIB,
            "{most} KiB, {before} before"
        );
    }
}

/// Uses a Unix socket, which takes little at a time, so that the proxy always has more data for it.
#[test]
fn a_client_that_reads_more_slowly_than_the_server_sends_takes_no_memory() {
    const ROWS: usize = 60_000;
    const ROW_SIZE: usize = 1000;
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let sockets = tempfile::tempdir().unwrap();
    let more = format!("socket = \"{}\"", sockets.path().display());
    let proxy = Proxy::start(&server.port().to_string(), RULES, &more);
    let name = format!(".s.PGSQL.{}", proxy.address.port());
    let mut socket = UnixStream::connect(sockets.path().join(name)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(&startup()).unwrap();
    replay::read_until_ready(&mut socket);
    let before = proxy.memory_kib("VmRSS");
    let text = format!("SELECT repeat('x', {ROW_SIZE}) FROM generate_series(1, {ROWS})");
    socket.write_all(&query(&text)).unwrap();
    let mut bytes = 0;
    // Slow enough for the server to be faster.
    let mut buffer = [0; 64];
    while bytes < ROWS * ROW_SIZE {
        match socket.read(&mut buffer).unwrap() {
            0 => panic!("the proxy gave up after {bytes} bytes"),
            size => bytes += size,
        }
    }
    let most = proxy.memory_kib("VmHWM");
    println!("{bytes} bytes read slowly; memory {before} KiB before, {most} KiB at most");
    assert!(
        most < before + GROWTH_MAX_KIB,
        "{most} KiB, {before} before"
    );
}

#[test]
fn statements_without_end_take_no_memory() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    let mut client = proxy.connect().unwrap();
    client.batch_execute(CREATE).unwrap();
    client
        .batch_execute("CREATE TABLE plain (a integer)")
        .unwrap();
    let round = |client: &mut Client| {
        for number in 0..1500 {
            client.batch_execute("SELECT count(*) FROM plain").unwrap();
            let insert = "INSERT INTO pair VALUES ($1, 1, $2)";
            client.execute(insert, &[&number, &"CANARY"]).unwrap();
            // Distinct texts, because the plan cache has a limit.
            let text = format!("DELETE FROM pair WHERE id = {number} AND half = 1");
            client.batch_execute(&text).unwrap();
            assert!(client.batch_execute("SELECT md5(name) FROM pair").is_err());
        }
        proxy.memory_kib("VmRSS")
    };
    let sizes: Vec<u64> = (0..4).map(|_| round(&mut client)).collect();
    println!("memory after each round: {sizes:?} KiB");
    assert!(sizes[3] < sizes[1] + 1024, "{sizes:?} KiB");
}

/// A process stopped by SIGSTOP, which is resumed when this is dropped.
struct Stopped(String);

impl Stopped {
    fn new(process_id: i32) -> Self {
        signal("STOP", &process_id.to_string());
        Self(process_id.to_string())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("CONT", &self.0);
    }
}

fn signal(name: &str, process_id: &str) {
    let arguments = [&*format!("-{name}"), process_id];
    let sent = Command::new("kill").args(arguments).status();
    assert!(sent.unwrap().success());
}

/// What a client sends without reading the replies.
struct Flood {
    name: &'static str,
    /// What the server answers before it is stopped.
    begin: Vec<u8>,
    /// The first message of that answer to wait for.
    awaited: u8,
    piece: Vec<u8>,
    pieces: usize,
    end: Vec<u8>,
    /// The number of rows afterwards.
    rows: i64,
    table: &'static str,
}

fn copy(name: &'static str, table: &'static str, row: &str) -> Flood {
    let rows = 32 * 1024 / row.len();
    let columns = if table == "pair" { " (id, name)" } else { "" };
    Flood {
        name,
        begin: query(&format!("COPY {table}{columns} FROM STDIN")),
        awaited: b'G',
        piece: message(b'd', row.repeat(rows).as_bytes()),
        pieces: 1280,
        end: message(b'c', b""),
        rows: 1280 * i64::try_from(rows).unwrap(),
        table,
    }
}

/// Bind and Execute, repeatedly before a single Sync.
fn pipeline(name: &'static str, value: &str, pieces: usize) -> Flood {
    let text = "INSERT INTO pair (id, name) VALUES ($1, $2)";
    let parse = message(b'P', format!("s\0{text}\0\0\0").as_bytes());
    let size = u32::try_from(value.len()).unwrap();
    let head = b"\0s\0\0\0\0\x02\0\0\0\x017";
    let body = [head, &size.to_be_bytes()[..], value.as_bytes(), b"\0\0"].concat();
    let execute = message(b'E', b"\0\0\0\0\0");
    let sync = message(b'S', b"");
    Flood {
        name,
        begin: [&parse[..], &sync].concat(),
        awaited: b'Z',
        piece: [&message(b'B', &body)[..], &execute].concat(),
        pieces,
        end: sync,
        rows: i64::try_from(pieces).unwrap(),
        table: "pair",
    }
}

/// Reads messages until one of that kind.
fn read_until(socket: &mut TcpStream, kind: u8) {
    let mut header = [0; 5];
    while header[0] != kind {
        socket.read_exact(&mut header).unwrap();
        assert_ne!(header[0], b'E', "the server has an error");
        let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        socket.read_exact(&mut vec![0; size - 4]).unwrap();
    }
}

#[test]
fn a_server_that_stands_still_holds_the_client_up_and_takes_no_memory() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let proxy = Proxy::start(&server.port().to_string(), RULES, "");
    let mut direct = server.connect();
    let plain = "CREATE TABLE plain (name text)";
    direct.batch_execute(plain).unwrap();
    proxy.connect().unwrap().batch_execute(CREATE).unwrap();
    let floods = [
        copy("COPY of sealed rows", "pair", "7\tCANARYseven\n"),
        copy("COPY that passes", "plain", "what stands in no rule\n"),
        pipeline("large values", &"CANARY".repeat(20_000), 400),
        pipeline("small values", "CANARY", 400_000),
    ];
    let others = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid \
                  <> pg_backend_pid()";
    for flood in floods {
        wait_for(|| direct.query(others, &[]).unwrap().is_empty());
        let before = proxy.memory_kib("VmRSS");
        let mut socket = raw(&proxy);
        let process_id = direct.query_one(others, &[]).unwrap().get(0);
        socket.write_all(&flood.begin).unwrap();
        read_until(&mut socket, flood.awaited);
        let still = Stopped::new(process_id);
        let at_begin = proxy.metric("client_bytes_total");
        let mut writer = socket.try_clone().unwrap();
        let Flood {
            name,
            piece,
            pieces,
            end,
            rows,
            table,
            ..
        } = flood;
        let size = (piece.len() * pieces) as u64;
        let written = thread::spawn(move || {
            for _ in 0..pieces {
                writer.write_all(&piece).unwrap();
            }
            writer.write_all(&end).unwrap();
        });
        let taken = moved(&proxy, "client_bytes_total", at_begin);
        assert!(
            taken < TAKEN_MAX && taken < size / 2,
            "{name}: {taken} of {size} bytes were taken for a server that reads nothing"
        );
        drop(still);
        read_until(&mut socket, b'Z');
        written.join().unwrap();
        let most = proxy.memory_kib("VmHWM");
        println!("{name}: {taken} of {size} bytes held; {before} KiB before, {most} KiB at most");
        assert!(
            most < before + GROWTH_MAX_KIB,
            "{name}: {most} KiB, {before} before"
        );
        let count = format!("SELECT count(*) FROM {table}");
        let count: i64 = direct.query_one(&count, &[]).unwrap().get(0);
        assert_eq!(count, rows, "{name}");
        direct.batch_execute(&format!("TRUNCATE {table}")).unwrap();
    }
}

/// Raises the limit of descriptors of this process and of the proxy, with two for each connection.
/// Returns how many connections are possible.
fn connections_possible(wanted: usize) -> usize {
    let needed = 2 * wanted as u64 + 600;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // The superuser may go beyond the limit.
    let raised = setrlimit(Resource::RLIMIT_NOFILE, needed, needed.max(hard));
    if raised.is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    }
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    wanted.min(usize::try_from((soft - 600) / 2).unwrap())
}

/// Idle connections that are open at the same time.
struct Idle {
    rules: &'static str,
    /// TLS on both sides.
    tls: Option<Certificate>,
    count: usize,
}

/// A certificate for `localhost`, which is its own authority.
struct Certificate {
    folder: tempfile::TempDir,
}

impl Certificate {
    fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("crt"), cert.pem()).unwrap();
        std::fs::write(folder.path().join("key"), signing_key.serialize_pem()).unwrap();
        Self { folder }
    }

    fn certificate(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.folder.path().join("crt")).unwrap()
    }

    /// Lines of `[proxy]`.
    fn lines(&self) -> String {
        let path = |name| self.folder.path().join(name).display().to_string();
        format!(
            "client_tls = {{ certificate = {crt:?}, key = {key:?}, required = true }}\n\
             server_tls = {{ root = {crt:?}, name = \"localhost\" }}\n",
            crt = path("crt"),
            key = path("key")
        )
    }

    fn server(&self) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::from_pem_file(self.folder.path().join("key")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate()], key);
        Arc::new(config.unwrap())
    }

    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    }
}

/// The descriptors of this process suffice for one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A connection to the proxy, with TLS or without.
fn open(proxy: &Proxy, config: Option<&Arc<ClientConfig>>) -> Box<dyn Socket> {
    let mut socket = TcpStream::connect(proxy.address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let Some(config) = config else {
        return Box::new(socket);
    };
    socket.write_all(&replay::TLS_REQUEST).unwrap();
    let mut answer = [0];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    Box::new(StreamOwned::new(connection, socket))
}

/// A named prepared statement, as drivers use.
fn select() -> Vec<u8> {
    let text = "SELECT id, name FROM pair WHERE id = $1";
    let parse = format!("s\0{text}\0\0\0");
    [
        message(b'P', parse.as_bytes()),
        message(b'B', b"\0s\0\0\0\0\x01\0\0\0\x017\0\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
    ]
    .concat()
}

/// The proxy's memory per connection, KiB.
fn idle_kib(idle: &Idle) -> Option<f64> {
    if !server_testkit::is_installed() {
        return None;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = connections_possible(idle.count);
    if count < idle.count {
        println!("descriptors allow {count} connections only");
    }
    let server = Postgres::start();
    let replay = Replay::start(server.port(), idle.tls.as_ref().map(Certificate::server));
    let tls = idle
        .tls
        .as_ref()
        .map(Certificate::lines)
        .unwrap_or_default();
    let proxy = Proxy::start(
        &replay.port.to_string(),
        idle.rules,
        // The replay cannot answer queries of the catalogues.
        &format!("workers = 2\nschema_check_seconds = 3600\n{tls}"),
    );
    let config = idle.tls.as_ref().map(Certificate::client);
    let work = |messages: &[Vec<u8>]| {
        let mut socket = open(&proxy, config.as_ref());
        socket.write_all(&startup()).unwrap();
        replay::read_until_ready(&mut *socket);
        for message in messages {
            socket.write_all(message).unwrap();
            replay::read_until_ready(&mut *socket);
        }
        socket
    };
    let insert = "INSERT INTO pair (id, name) VALUES (7, 'CANARYseven')";
    drop(work(&[query(CREATE), query(insert)]));
    let select = [select()];
    // What the first ones create is shared by all.
    let first: Vec<_> = (0..100).map(|_| work(&select)).collect();
    let before = proxy.memory_kib("VmRSS");
    let since = Instant::now();
    let sockets: Vec<_> = (100..count).map(|_| work(&select)).collect();
    let after = proxy.memory_kib("VmRSS");
    let each = (after - before) as f64 / sockets.len() as f64;
    println!(
        "{count} connections in {:.1} s (rules: {}, TLS: {}): {each:.1} KiB each, {after} KiB in \
         all",
        since.elapsed().as_secs_f64(),
        !idle.rules.is_empty(),
        idle.tls.is_some()
    );
    assert_eq!(proxy.metric("connections_open"), count as u64);
    drop(sockets);
    drop(first);
    wait_for(|| proxy.metric("connections_open") == 0);
    Some(each)
}

fn is_bounded(idle: &Idle) {
    if let Some(each) = idle_kib(idle) {
        assert!(each <= 64.0, "{each} KiB for each idle connection");
    }
}

#[test]
fn ten_thousand_idle_connections_take_little_memory() {
    is_bounded(&Idle {
        rules: "",
        tls: None,
        count: 10_000,
    });
}

#[test]
fn ten_thousand_idle_connections_with_rules_take_little_memory() {
    is_bounded(&Idle {
        rules: RULES,
        tls: None,
        count: 10_000,
    });
}

/// Fewer connections: each has four TLS endpoints, three of which are processed sequentially.
#[test]
fn idle_connections_with_rules_and_tls_take_little_memory() {
    is_bounded(&Idle {
        rules: RULES,
        tls: Some(Certificate::new()),
        count: 2_000,
    });
}
