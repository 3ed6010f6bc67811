//! How connections begin badly and end: cancelled, refused, malformed, too large, too many, without
//! a server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::Setup;
use crate::common::leaks::{CANARY, find_in_files};
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use server_testkit::Postgres;

/// Nothing here takes as long; a test that hangs says so.
const PATIENCE: Duration = Duration::from_secs(60);

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";

fn url(address: SocketAddr) -> String {
    format!("postgres://postgres@127.0.0.1:{}/postgres", address.port())
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

/// A raw client that has sent these bytes.
fn raw(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("the proxy listens");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket has timeouts");
    // The proxy may have refused and gone before all was written.
    let _ = socket.write_all(bytes);
    socket
}

/// All that comes until the other side closes.
fn rest(socket: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes) {
        Ok(_) => {}
        // A proxy that closes with bytes unread resets the connection.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    bytes
}

fn startup() -> Vec<u8> {
    let parameters = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let size = u32::try_from(parameters.len() + 4).expect("small");
    [&size.to_be_bytes(), &parameters[..]].concat()
}

/// Reads until the server is ready.
fn read_until_ready(socket: &mut TcpStream) {
    let mut header = [0; 5];
    loop {
        socket.read_exact(&mut header).expect("a message");
        let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; size - 4];
        socket.read_exact(&mut body).expect("its body");
        if header[0] == b'Z' {
            return;
        }
    }
}

/// The number of a counter of `/metrics`.
pub fn metric(port: u16, name: &str) -> u64 {
    let mut socket = raw(
        SocketAddr::from(([127, 0, 0, 1], port)),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    let text = String::from_utf8(rest(&mut socket)).expect("text");
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("strongroom_proxy_{name} ")));
    let number = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{name} is not in {text}"))
}

pub fn wait_for(mut is_so: impl FnMut() -> bool) {
    let since = std::time::Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_statement_is_cancelled_and_the_session_goes_on() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    let mut client = setup.connect();
    let token = client.cancel_token();
    let (give, take) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        let cancelled = client
            .batch_execute("SELECT pg_sleep(600)")
            .expect_err("cancelled");
        give.send(cancelled.code().cloned()).expect("it is awaited");
        client
            .query_one("SELECT 7", &[])
            .expect("it goes on")
            .get::<_, i32>(0)
    });
    let mut direct = setup.server.connect();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_for(|| {
        direct
            .query_one(sleeps, &[])
            .expect("an answer")
            .get::<_, i64>(0)
            == 1
    });

    // Somebody without the secret.
    let mut forged = vec![0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e];
    forged.extend([0, 0, 0, 1, 9, 9, 9, 9]);
    assert_eq!(rest(&mut raw(setup.proxy.address, &forged)), b"");
    assert!(take.try_recv().is_err(), "nothing was cancelled");

    token.cancel_query(NoTls).expect("the proxy takes it");
    let code = take.recv_timeout(PATIENCE).expect("it is cancelled");
    assert_eq!(code, Some(SqlState::QUERY_CANCELED));
    assert_eq!(sleeper.join().expect("no panic"), 7);
}

#[test]
fn a_server_that_comes_late_is_found() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut server = Postgres::start_with(&[("log_statement", "all")]);
    server.crash();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upstream = format!("127.0.0.1:{}", server.port());
    let proxy = crate::common::proxy(&folder, &upstream, RULES, "");
    let Err(error) = Client::connect(&url(proxy.address), NoTls) else {
        panic!("there is no server");
    };
    assert_eq!(error.code(), Some(&SqlState::CONNECTION_FAILURE));
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
    server.start_again();
    let mut client = Client::connect(&url(proxy.address), NoTls).expect("now there is one");
    client
        .batch_execute("CREATE TABLE person (name text)")
        .expect("made");
    client
        .execute("INSERT INTO person VALUES ($1)", &[&"CANARYlate"])
        .expect("inserted");
    let row = client.query_one("SELECT name FROM person", &[]);
    assert_eq!(row.expect("one row").get::<_, &str>(0), "CANARYlate");
    assert_eq!(find_in_files(&server, &[CANARY]), Vec::<String>::new());
}

#[test]
fn packets_that_are_none_end_their_connection_alone() {
    if !server_testkit::is_installed() {
        return;
    }
    let port = free_port();
    let setup = Setup::start_with(RULES, &format!("metrics = \"127.0.0.1:{port}\""));
    let mut good = setup.connect();
    let first: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\0\0\0\0",
        b"\0\0\0\x07\0\0\0",
        b"\xff\xff\xff\xff\0\x03\0\0",
        b"\0\0\x27\x11\0\x03\0\0",
        b"\0\0\0\x09\0\x03\0\0x",
        b"\0\0\0\x08\0\x09\0\0",
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    for bytes in first {
        let mut socket = raw(setup.proxy.address, bytes);
        // It may have been refused and closed already.
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let said = rest(&mut socket);
        assert!(said.is_empty() || said[0] == b'E', "{bytes:?}: {said:?}");
    }
    let later: [&[u8]; 9] = [
        b"Q\0\0\0\0",
        b"Q\0\0\0\x03",
        b"Q\xff\xff\xff\xff",
        b"Q\0\0\0\x06x!",
        b"P\0\0\0\x05x",
        b"B\0\0\0\x0a\0\0\0\x01\0\x01",
        b"D\0\0\0\x07Xx\0",
        b"!\0\0\0\x04",
        b"F\0\0\0\x04",
    ];
    for bytes in later {
        let mut socket = raw(setup.proxy.address, &startup());
        read_until_ready(&mut socket);
        let _ = socket.write_all(bytes);
        let said = rest(&mut socket);
        // The first statement asks the catalogues; then comes the error, and the end.
        assert!(
            said.windows(6).any(|six| six == b"SFATAL"),
            "{bytes:?}: {said:?}"
        );
    }
    assert!(good.batch_execute("SELECT 1").is_ok());
    drop(good);
    wait_for(|| metric(port, "connections_open") == 0);
    assert!(metric(port, "connections_refused_total") >= 8);
}

#[test]
fn a_message_that_is_too_large_is_refused_where_it_is_read() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with(RULES, "max_message_bytes = 100000");
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE person (name text)")
        .expect("made");
    let large = "x".repeat(100_000);
    let said = setup.psql(&format!("INSERT INTO person VALUES ('{large}')"));
    assert!(
        said.contains("FATAL") && said.contains("max_message_bytes"),
        "{said}"
    );
    let mut client = setup.connect();
    let rows = client.query("SELECT name FROM person", &[]).expect("rows");
    assert!(rows.is_empty(), "nothing was written");
}

#[test]
fn a_message_of_any_size_passes_where_nothing_is_protected() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with("", "max_message_bytes = 100000");
    let mut client = setup.connect();
    let large = "x".repeat(20_000_000);
    let row = client.query_one("SELECT length($1), $1", &[&large]);
    let row = row.expect("it passes");
    assert_eq!(row.get::<_, i32>(0), 20_000_000);
    assert_eq!(row.get::<_, &str>(1), large);
}

#[test]
fn the_limit_of_connections_is_told_as_the_server_does() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with(RULES, "max_connections = 2");
    let first = setup.connect();
    let second = setup.connect();
    let Err(error) = Client::connect(&url(setup.proxy.address), NoTls) else {
        panic!("two are there");
    };
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    drop(first);
    wait_for(|| Client::connect(&url(setup.proxy.address), NoTls).is_ok());
    drop(second);
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with(RULES, "startup_timeout_seconds = 1");
    for bytes in [&b""[..], b"\0\0", &startup()[..20]] {
        let mut socket = raw(setup.proxy.address, bytes);
        assert_eq!(rest(&mut socket), b"");
    }
}

/// Whoever only connects has nothing that others need.
#[test]
fn sockets_that_say_nothing_keep_nobody_out() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start_with("", "max_connections = 2");
    let connect = || Client::connect(&url(setup.proxy.address), NoTls);
    let mut silent: Vec<_> = [&b""[..], b"\0\0", &startup()[..20]]
        .iter()
        .cycle()
        .take(30)
        .map(|bytes| raw(setup.proxy.address, bytes))
        .collect();
    let first = connect().expect("one of two");
    silent.extend((0..10).map(|_| raw(setup.proxy.address, b"")));
    let second = connect().expect("the other");
    // The oldest go, so that those that come find room.
    for socket in &mut silent[..30] {
        assert_eq!(rest(socket), b"");
    }
    let Err(error) = connect() else {
        panic!("two are there");
    };
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    drop(first);
    wait_for(|| connect().is_ok());
    drop((second, silent));
}

#[test]
fn a_login_that_does_not_end_gives_its_place_back() {
    if !server_testkit::is_installed() {
        return;
    }
    // A server that takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upstream = silent.local_addr().expect("it is bound").to_string();
    let more = "startup_timeout_seconds = 1\nmax_connections = 1\n";
    let proxy = crate::common::proxy(&folder, &upstream, "", more);
    for _ in 0..2 {
        let mut socket = raw(proxy.address, &startup());
        let said = String::from_utf8_lossy(&rest(&mut socket)).into_owned();
        assert!(said.contains("57014") && said.contains("timeout"), "{said}");
    }
}

/// A session with a table, and the port of the metrics.
fn counted() -> Option<(Setup, Client, u16)> {
    if !server_testkit::is_installed() {
        return None;
    }
    let port = free_port();
    let setup = Setup::start_with(RULES, &format!("metrics = \"127.0.0.1:{port}\""));
    let mut client = setup.connect();
    client
        .batch_execute("CREATE TABLE person (name text)")
        .expect("made");
    Some((setup, client, port))
}

#[test]
fn metrics_count_and_show_no_content() {
    let Some((_setup, mut client, port)) = counted() else {
        return;
    };
    client
        .batch_execute("INSERT INTO person VALUES ('CANARYmetrics')")
        .expect("inserted");
    assert_eq!(metric(port, "connections_open"), 1);
    assert_eq!(metric(port, "sessions_total"), 1);
    let before = metric(port, "client_bytes_total");
    client.batch_execute("SELECT 1").expect("an answer");
    assert!(metric(port, "client_bytes_total") > before);
    assert!(metric(port, "server_bytes_total") > 0);

    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let all = rest(&mut raw(address, b"GET /metrics HTTP/1.1\r\n\r\n"));
    let all = String::from_utf8(all).expect("text");
    assert!(all.starts_with("HTTP/1.1 200 OK\r\n"), "{all}");
    assert!(!all.contains("CANARY") && !all.contains("person"), "{all}");
    for line in all.lines().filter(|line| line.starts_with("strongroom")) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(
            words.len() == 2 && words[1].parse::<u64>().is_ok(),
            "{line}"
        );
    }
    let other = rest(&mut raw(address, b"GET /other HTTP/1.1\r\n\r\n"));
    assert!(other.starts_with(b"HTTP/1.1 404"));
}

#[test]
fn metrics_are_answered_to_a_few_at_a_time() {
    let Some((_setup, _client, port)) = counted() else {
        return;
    };
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let silent: Vec<_> = (0..32).map(|_| raw(address, b"GET")).collect();
    wait_for(|| rest(&mut raw(address, b"GET /metrics HTTP/1.1\r\n\r\n")).is_empty());
    drop(silent);
    wait_for(|| !rest(&mut raw(address, b"GET /metrics HTTP/1.1\r\n\r\n")).is_empty());
}

#[test]
fn metrics_tell_what_protection_did() {
    let Some((setup, mut client, port)) = counted() else {
        return;
    };
    client
        .batch_execute("INSERT INTO person VALUES ('CANARYa'), ('CANARYb'), (NULL)")
        .expect("inserted");
    assert_eq!(metric(port, "sessions_open"), 1);
    let plans = metric(port, "plans_total");
    assert!(plans >= 2);
    // Those from before CREATE TABLE are for another schema.
    assert!(metric(port, "plans_cached") >= 1);

    assert_eq!(metric(port, "queries_finished_total"), 0);
    let query = "SELECT count(*) FROM person WHERE name LIKE 'CANARY%'";
    for _ in 0..2 {
        let count: i64 = client.query_one(query, &[]).expect("one row").get(0);
        assert_eq!(count, 2);
    }
    assert_eq!(metric(port, "queries_finished_total"), 2);
    assert_eq!(metric(port, "rows_finished_total"), 6);
    // The second time the plan was kept.
    assert_eq!(metric(port, "plans_total"), plans + 1);

    assert_eq!(metric(port, "statements_refused_total"), 0);
    let refused = "SELECT max(name) OVER () FROM person";
    client.batch_execute(refused).expect_err("refused");
    client.prepare(refused).expect_err("refused");
    assert_eq!(metric(port, "statements_refused_total"), 2);

    assert_eq!(metric(port, "values_damaged_total"), 0);
    let damage = "UPDATE person SET name = substr(name, 1, 2) || decode(repeat('00', 60), 'hex') \
                  WHERE name IS NOT NULL";
    let damaged = setup.server.connect().batch_execute(damage);
    damaged.expect("past the proxy");
    client
        .query("SELECT name FROM person", &[])
        .expect_err("no value opens");
    assert_eq!(metric(port, "values_damaged_total"), 1);
    wait_for(|| metric(port, "sessions_open") == 0);

    assert_eq!(metric(port, "logins_failed_total"), 0);
    let nobody = format!("postgres://nobody@{}/postgres", setup.proxy.address);
    assert!(Client::connect(&nobody, NoTls).is_err());
    wait_for(|| metric(port, "logins_failed_total") == 1);
    assert_eq!(metric(port, "sessions_total"), 1);
}

#[test]
fn the_loss_of_the_server_is_told_and_the_next_one_is_found() {
    if !server_testkit::is_installed() {
        return;
    }
    let mut server = Postgres::start_with(&[("log_statement", "all")]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upstream = format!("127.0.0.1:{}", server.port());
    let proxy = crate::common::proxy(&folder, &upstream, RULES, "");
    let mut client = Client::connect(&url(proxy.address), NoTls).expect("the proxy runs");
    client
        .batch_execute("CREATE TABLE person (name text)")
        .expect("made");
    client
        .execute("INSERT INTO person VALUES ($1)", &[&"CANARYkept"])
        .expect("inserted");
    let sleeper = Client::connect(&url(proxy.address), NoTls).expect("the proxy runs");
    let asleep = thread::spawn(move || {
        let mut sleeper = sleeper;
        sleeper
            .batch_execute("SELECT pg_sleep(600)")
            .expect_err("the server is lost")
    });
    let mut direct = server.connect();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_for(|| {
        direct
            .query_one(sleeps, &[])
            .expect("an answer")
            .get::<_, i64>(0)
            == 1
    });
    // One process of the server dies: all others end, and it recovers.
    let id = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let id: i32 = direct.query_one(id, &[]).expect("an answer").get(0);
    let killed = std::process::Command::new("kill")
        .args(["-9", &id.to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    let error = asleep.join().expect("no panic");
    let known = [None, Some("08006"), Some("57P02"), Some("57P01")];
    assert!(
        known.contains(&error.code().map(SqlState::code)),
        "{error:?}"
    );
    wait_for(|| client.is_closed() || client.batch_execute("SELECT 1").is_err());
    server.crash();
    server.start_again();
    let mut client = Client::connect(&url(proxy.address), NoTls).expect("it is back");
    let row = client
        .query_one("SELECT name FROM person", &[])
        .expect("one row");
    assert_eq!(row.get::<_, &str>(0), "CANARYkept");
    assert_eq!(find_in_files(&server, &[CANARY]), Vec::<String>::new());
}

/// Sends a startup packet with one more parameter, and gives all that is said.
fn greeted(address: SocketAddr, more: &[u8]) -> Vec<u8> {
    let parameters = [&startup()[4..startup().len() - 1], more, b"\0"].concat();
    let size = u32::try_from(parameters.len() + 4).expect("small");
    let packet = [&size.to_be_bytes(), &parameters[..]].concat();
    let mut socket = raw(address, &packet);
    rest(&mut socket)
}

/// The code and the message of an ErrorResponse, which is the last that was said.
fn told(said: &[u8]) -> String {
    let words = said.split(|byte| *byte == 0);
    let of = |letter: u8| {
        let mut words = words.clone();
        let word = words.find(|word| word.first() == Some(&letter));
        String::from_utf8_lossy(word.map_or(&[][..], |word| &word[1..])).into_owned()
    };
    format!("{}: {}", of(b'C'), of(b'M'))
}

#[test]
fn replication_is_refused_where_columns_are_protected() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    for value in ["true", "database", "on"] {
        let parameter = format!("replication\0{value}\0");
        let said = greeted(setup.proxy.address, parameter.as_bytes());
        let wanted = "0A000: replication does not pass a proxy that protects columns";
        assert_eq!(told(&said), wanted, "{value}");
        assert_eq!(said[0], b'E', "the server was asked: {said:?}");
    }
    // The server itself would send all of its files.
    let identify = |port: u16| {
        let whole = "dbname=postgres replication=true";
        let arguments = ["-XAtq", whole, "-c", "IDENTIFY_SYSTEM"];
        setup.server.run_at(port, "psql", &arguments)
    };
    assert!(identify(setup.server.port()).status.success());
    let said = identify(setup.proxy.address.port());
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success());
    assert!(
        errors.contains("replication does not pass a proxy"),
        "{errors}"
    );
}
