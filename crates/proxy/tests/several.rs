//! Several servers: which one a session begins on, and what happens when one dies, comes back, or
//! gets another role.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use proxy::Running;
use server_testkit::{Options, Postgres};
use tempfile::TempDir;

use crate::common::proxy_before;
use crate::connection_failures::{free_port, metric, wait_for};

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";
/// Without a password for the superuser and for replication, by SCRAM for `ann`.
const ACCESS: &str = "host replication postgres 127.0.0.1/32 trust\n\
                      host all postgres 127.0.0.1/32 trust\n\
                      host all all 127.0.0.1/32 scram-sha-256\n";
const LOGGED: &[(&str, &str)] = &[("log_statement", "all")];

/// Servers, and a proxy before them.
struct Several {
    proxy: Running,
    metrics: u16,
    _folder: TempDir,
}

impl Several {
    fn before(servers: &[&Postgres], rules: &str, more: &str) -> Self {
        let addresses: Vec<_> = servers.iter().map(|server| address(server)).collect();
        Self::at(&addresses, rules, more)
    }

    fn at(addresses: &[String], rules: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let metrics = free_port();
        let more = format!("metrics = \"127.0.0.1:{metrics}\"\n{more}");
        let upstream = format!("[{}]", addresses.join(", "));
        Self {
            proxy: proxy_before(&folder, &upstream, rules, &more),
            metrics,
            _folder: folder,
        }
    }

    fn try_connect(&self, user: &str) -> Result<Client, postgres::Error> {
        let port = self.proxy.address.port();
        Client::connect(
            &format!("postgres://{user}:secret@127.0.0.1:{port}/postgres"),
            NoTls,
        )
    }

    fn connect(&self) -> Client {
        self.try_connect("postgres").expect("a server can be used")
    }

    /// The port of the server that a new session is on.
    #[track_caller]
    fn port_of(&self, user: &str) -> u16 {
        port(&mut self.try_connect(user).expect("a server can be used"))
    }

    /// Status and text of `/ready`.
    fn ready(&self) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.metrics)).expect("it listens");
        let request = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n";
        socket.write_all(request).expect("it is taken");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.lines().next().expect("a line");
        format!("{} {}", &status["HTTP/1.1 ".len()..][..3], body.trim_end())
    }
}

/// An address as TOML.
fn address(server: &Postgres) -> String {
    format!("\"127.0.0.1:{}\"", server.port())
}

fn port(client: &mut Client) -> u16 {
    let row = client.query_one("SELECT current_setting('port')", &[]);
    let port: String = row.expect("an answer").get(0);
    port.parse().expect("a number")
}

fn primary() -> Option<Postgres> {
    server_testkit::is_installed().then(|| {
        let server = Postgres::start_as(&Options {
            settings: LOGGED,
            access: Some(ACCESS),
            ..Options::default()
        });
        let script = "CREATE ROLE ann LOGIN PASSWORD 'secret'; CREATE TABLE t (a int); \
                      GRANT ALL ON t TO ann";
        server.connect().batch_execute(script).expect("made");
        server
    })
}

#[track_caller]
fn assert_code(result: Result<Client, postgres::Error>, code: &SqlState) {
    match result {
        Ok(mut client) => panic!("a session at {}", port(&mut client)),
        Err(error) => assert_eq!(error.code(), Some(code), "{error}"),
    }
}

#[test]
fn a_dead_server_is_passed_over_until_it_is_back() {
    let (Some(mut first), Some(second)) = (primary(), primary()) else {
        return;
    };
    // The tables of one say nothing of those of the other.
    let create = "CREATE TABLE person (name bytea)";
    first.connect().batch_execute(create).expect("made");
    let create = "CREATE TABLE person (n int, name bytea)";
    second.connect().batch_execute(create).expect("made");
    let several = Several::before(&[&first, &second], RULES, "guard = false");
    let mut on_first = several.connect();
    assert_eq!(port(&mut on_first), first.port());
    let read = |client: &mut Client| {
        let row = client.query_one("SELECT * FROM person", &[])?;
        Ok::<_, postgres::Error>((row.len(), row.get::<_, String>("name")))
    };
    let insert = "INSERT INTO person (name) VALUES ('CANARY')";
    on_first.batch_execute(insert).expect("inserted");
    let whole = (1, "CANARY".to_owned());
    assert_eq!(read(&mut on_first).expect("a row"), whole);
    assert_eq!(several.ready(), "200 2 of 2 servers can be used.");

    first.crash();
    wait_for(|| on_first.batch_execute("SELECT 1").is_err());
    let mut on_second = several.connect();
    assert_eq!(port(&mut on_second), second.port());
    on_second.batch_execute(insert).expect("inserted");
    assert_eq!(read(&mut on_second).expect("a row").0, 2);
    wait_for(|| several.ready() == "200 1 of 2 servers can be used.");
    assert_eq!(metric(several.metrics, "servers_usable"), 1);

    first.start_again();
    wait_for(|| several.port_of("postgres") == first.port());
    let mut on_first = several.connect();
    assert_eq!(read(&mut on_first).expect("a row"), whole);
    // Each session stays where it is, and a request to cancel goes there.
    for (client, server) in [(on_first, &first), (on_second, &second)] {
        assert_cancelled(client, server);
    }
}

/// A statement is cancelled by the number and the secret of its session.
#[track_caller]
fn assert_cancelled(mut client: Client, server: &Postgres) {
    let token = client.cancel_token();
    let sleeper = thread::spawn(move || client.batch_execute("SELECT pg_sleep(600)"));
    let mut direct = server.connect();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    wait_for(|| {
        let row = direct.query_one(sleeps, &[]).expect("an answer");
        row.get::<_, i64>(0) == 1
    });
    token.cancel_query(NoTls).expect("the proxy takes it");
    let error = sleeper.join().expect("no panic").expect_err("cancelled");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
}

#[test]
fn a_standby_that_is_promoted_gets_the_sessions() {
    let Some(mut first) = primary() else { return };
    let standby = first.start_standby(LOGGED);
    // The standby stands first.
    let several = Several::before(
        &[&standby, &first],
        RULES,
        "target_session_attrs = \"read-write\"",
    );
    // The client has answered the standby when that says what it is: the next attempt is better.
    assert_code(several.try_connect("ann"), &SqlState::CANNOT_CONNECT_NOW);
    let mut client = several.try_connect("ann").expect("the primary");
    assert_eq!(port(&mut client), first.port());
    let insert = "INSERT INTO t VALUES (1)";
    client.batch_execute(insert).expect("it can write");
    wait_for(|| several.ready() == "200 1 of 2 servers can be used.");

    first.crash();
    // Its processes outlive it for a moment. Nothing is sent to another server then.
    wait_for(|| client.batch_execute("SELECT 1").is_err());
    client
        .batch_execute(insert)
        .expect_err("the session has ended");
    wait_for(|| client.is_closed());
    assert_code(several.try_connect("ann"), &SqlState::CANNOT_CONNECT_NOW);
    wait_for(|| several.ready() == "503 No server can be used.");
    standby.promote();
    let mut client = several.try_connect("ann").expect("it is the primary now");
    assert_eq!(port(&mut client), standby.port());
    client.batch_execute(insert).expect("it can write");
    let row = client.query_one("SELECT count(*) FROM t", &[]);
    assert_eq!(row.expect("a row").get::<_, i64>(0), 2);
    assert_eq!(several.ready(), "200 1 of 2 servers can be used.");
}

#[test]
fn sessions_are_on_servers_of_the_role_that_is_asked_for() {
    let Some(first) = primary() else { return };
    let standby = first.start_standby(LOGGED);
    let both = [&first, &standby];
    // A client that is let in without a question moves on by itself.
    for (target, wanted) in [
        ("any", &first),
        ("read-write", &first),
        ("primary", &first),
        ("read-only", &standby),
        ("standby", &standby),
        ("prefer-standby", &standby),
    ] {
        let more = format!("target_session_attrs = \"{target}\"");
        for servers in [both, [&standby, &first]] {
            let several = Several::before(&servers, "", &more);
            let found = several.port_of("postgres");
            let wanted = match target {
                "any" => servers[0].port(),
                _ => wanted.port(),
            };
            assert_eq!(found, wanted, "{target}");
        }
        // Before one server alone the same holds.
        let several = Several::before(&[&standby], "", &more);
        match several.try_connect("postgres") {
            Ok(mut client) => assert_eq!(port(&mut client), standby.port(), "{target}"),
            Err(error) => {
                assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW));
                assert!(matches!(target, "read-write" | "primary"), "{target}");
            }
        }
    }
    // Where there is no standby, any server is taken.
    let more = "target_session_attrs = \"prefer-standby\"";
    let dead = format!("\"127.0.0.1:{}\"", free_port());
    let several = Several::at(&[dead, address(&first)], "", more);
    assert_eq!(several.port_of("postgres"), first.port());
    // A session that may not write by default is for reading.
    let alter = "ALTER ROLE ann SET default_transaction_read_only TO on";
    first.connect().batch_execute(alter).expect("altered");
    let several = Several::before(&[&first], "", "target_session_attrs = \"read-write\"");
    assert_code(several.try_connect("ann"), &SqlState::CANNOT_CONNECT_NOW);
    assert_eq!(several.port_of("postgres"), first.port());
}

#[test]
fn a_server_that_says_nothing_is_waited_for_in_bounds() {
    let Some(server) = primary() else { return };
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let silent = format!("\"{}\"", silent.local_addr().expect("an address"));
    let addresses = [silent, address(&server)];
    let more = "connect_timeout_seconds = 1";
    let several = Several::at(&addresses, "", more);
    let begun = Instant::now();
    assert_eq!(several.port_of("postgres"), server.port());
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_server_that_starts_or_is_full_is_passed_over() {
    let Some(second) = primary() else { return };
    for code in ["57P03", "53300"] {
        let error = format!("SFATAL\0C{code}\0Mnot now\0\0");
        let size = u32::try_from(error.len() + 4).expect("small");
        let said = [b"E", &size.to_be_bytes()[..], error.as_bytes()].concat();
        let refusing = saying(said);
        let several = Several::at(&[refusing.clone(), address(&second)], "", "");
        assert_eq!(several.port_of("postgres"), second.port());
        // Where no other server is left, the client is told what the server said.
        let dead = format!("\"127.0.0.1:{}\"", free_port());
        let several = Several::at(&[refusing, dead], "", "");
        assert_code(several.try_connect("postgres"), &SqlState::from_code(code));
    }
}

#[test]
fn each_server_has_a_certificate_of_its_own() {
    if !(server_testkit::is_installed() && server_testkit::has_tls()) {
        return;
    }
    let names = ["one.example", "two.example"];
    let started = names.map(|name| {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let server = Postgres::start_as(&Options {
            settings: &[("ssl", "on")],
            files: &[
                ("server.crt", certificate.as_bytes()),
                ("server.key", key.as_bytes()),
            ],
            ..Options::default()
        });
        (server, certificate)
    });
    let root = started[0].0.add_file(
        "root.crt",
        (started[0].1.clone() + &started[1].1).as_bytes(),
    );
    let several = |names: [&str; 2]| {
        let named = |(server, _): &(Postgres, String), name: &str| {
            format!("{{ address = {}, tls_name = \"{name}\" }}", address(server))
        };
        let addresses = [named(&started[0], names[0]), named(&started[1], names[1])];
        let more = format!("[proxy.server_tls]\nroot = \"{}\"", root.display());
        Several::at(&addresses, "", &more)
    };
    for (names, wanted) in [(names, 0), (["no.example", names[1]], 1)] {
        assert_eq!(several(names).port_of("postgres"), started[wanted].0.port());
    }
    let swapped = several([names[1], names[0]]);
    assert_code(
        swapped.try_connect("postgres"),
        &SqlState::CONNECTION_FAILURE,
    );
}

#[test]
fn a_login_that_the_proxy_speaks_itself_begins_behind_what_the_server_has_said() {
    let Some(server) = primary() else { return };
    let query =
        "\\copy (SELECT rolname, rolpassword FROM pg_authid WHERE rolname = 'ann') TO STDOUT";
    let logins = server.run("psql", &["-XAtq", "-c", query]).stdout;
    let logins = server.add_file("logins.tsv", &logins);
    let dead = format!("\"127.0.0.1:{}\"", free_port());
    let more = format!("logins = \"{}\"", logins.display());
    let several = Several::at(&[dead, address(&server)], "", &more);
    assert_eq!(several.port_of("ann"), server.port());
    let port = several.proxy.address.port();
    let wrong = format!("postgres://ann:wrong@127.0.0.1:{port}/postgres");
    assert_code(Client::connect(&wrong, NoTls), &SqlState::INVALID_PASSWORD);
}

/// A server that answers whatever it is sent.
fn saying(said: Vec<u8>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    // Ends with the test's process.
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let said = said.clone();
            thread::spawn(move || {
                if socket.read(&mut [0; 1024]).is_ok_and(|size| size > 0) {
                    let _ = socket.write_all(&said);
                }
            });
        }
    });
    format!("\"{address}\"")
}

#[test]
fn a_monitor_knows_the_roles_before_a_client_logs_in() {
    let Some(mut first) = primary() else { return };
    let standby = first.start_standby(LOGGED);
    let password = first.add_file("monitor.password", b"secret\n");
    let several = |password: &str| {
        let more = format!(
            "target_session_attrs = \"primary\"\n[proxy.monitor]\nuser = \"ann\"\n\
             password = {{ file = \"{password}\" }}"
        );
        Several::before(&[&standby, &first], "", &more)
    };
    let known = several(&password.display().to_string());
    wait_for(|| known.ready() == "200 1 of 2 servers can be used.");
    assert_eq!(known.port_of("ann"), first.port());
    // Nothing is known where the monitor is not let in, and clients are let in as without it.
    let wrong = first.add_file("wrong.password", b"wrong\n");
    let unknown = several(&wrong.display().to_string());
    assert_code(unknown.try_connect("ann"), &SqlState::CANNOT_CONNECT_NOW);
    assert_eq!(unknown.port_of("ann"), first.port());

    first.crash();
    wait_for(|| known.ready() == "503 No server can be used.");
    assert_code(known.try_connect("ann"), &SqlState::CONNECTION_FAILURE);
    standby.promote();
    wait_for(|| known.ready() == "200 1 of 2 servers can be used.");
    assert_eq!(known.port_of("ann"), standby.port());
}

#[test]
fn patroni_says_which_server_is_the_primary_before_a_client_logs_in() {
    let Some(first) = primary() else { return };
    let standby = first.start_standby(LOGGED);
    let is_first = Arc::new(AtomicBool::new(true));
    let other = Arc::new(AtomicBool::new(false));
    // Each server has a host of its own, and the same port of Patroni.
    let patroni = patroni_at([("127.0.0.2", &other), ("127.0.0.1", &is_first)]);
    let relay = relay("127.0.0.2", standby.port());
    let addresses = [format!("\"{relay}\""), address(&first)];
    let more = format!("target_session_attrs = \"primary\"\npatroni_port = {patroni}");
    let several = Several::at(&addresses, "", &more);
    wait_for(|| several.ready() == "200 1 of 2 servers can be used.");
    assert_eq!(several.port_of("ann"), first.port());
    // None is: nobody is let in, and no server is asked.
    is_first.store(false, Ordering::SeqCst);
    wait_for(|| several.ready() == "503 No server can be used.");
    assert_code(several.try_connect("ann"), &SqlState::CANNOT_CONNECT_NOW);
    other.store(true, Ordering::SeqCst);
    standby.promote();
    wait_for(|| several.ready() == "200 1 of 2 servers can be used.");
    assert_eq!(several.port_of("ann"), standby.port());
}

/// Patroni of two servers, by their hosts, at one port. Each is the primary while its flag says so,
/// and else a standby.
fn patroni_at(hosts: [(&str, &Arc<AtomicBool>); 2]) -> u16 {
    // Another process may have the port at one of the hosts.
    let (port, listeners) = std::iter::repeat_with(free_port)
        .find_map(|port| {
            let bind = |(host, _)| TcpListener::bind((host, port)).ok();
            let listeners: Option<Vec<TcpListener>> = hosts.map(bind).into_iter().collect();
            Some((port, listeners?))
        })
        .expect("a port is free at both");
    for (listener, (_, is_primary)) in listeners.into_iter().zip(hosts) {
        answer_as_patroni(listener, Arc::clone(is_primary));
    }
    port
}

fn answer_as_patroni(listener: TcpListener, is_primary: Arc<AtomicBool>) {
    // Ends with the test's process.
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut request = [0; 1024];
            let size = socket.read(&mut request).unwrap_or(0);
            let asks_primary = request[..size].starts_with(b"GET /primary ");
            let status = match asks_primary == is_primary.load(Ordering::SeqCst) {
                true => "200 OK",
                false => "503 Service Unavailable",
            };
            let _ = write!(socket, "HTTP/1.0 {status}\r\nServer: BaseHTTP\r\n\r\n{{}}");
        }
    });
}

/// Passes everything on to a port of this machine.
fn relay(host: &str, port: u16) -> std::net::SocketAddr {
    let listener = TcpListener::bind((host, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    // Ends with the test's process.
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                continue;
            };
            for (mut from, mut to) in [
                (client.try_clone(), server.try_clone()),
                (Ok(server), Ok(client)),
            ]
            .into_iter()
            .filter_map(|(from, to)| Some((from.ok()?, to.ok()?)))
            {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    address
}
