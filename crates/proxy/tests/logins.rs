//! Who logs in how: TLS on either side and on both, SCRAM with and without channel binding, with
//! and without a file of logins. The client is PostgreSQL's own, psql.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Output;
use std::sync::Arc;

use postgres::{Client, NoTls};
use proxy::Running;
use rcgen::CertifiedKey;
use rustls::pki_types::ServerName;
use server_testkit::{Options, Postgres};
use tempfile::TempDir;

/// Without a password for the superuser, by SCRAM for all others.
const ACCESS: &str =
    "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
const PASSWORD: &str = "CANARY pass, word=1";

struct Certificate {
    certificate: String,
    key: String,
}

impl Certificate {
    fn new() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(names).expect("a certificate");
        Self {
            certificate: cert.pem(),
            key: signing_key.serialize_pem(),
        }
    }
}

/// A server that speaks TLS, if it can, and asks `ann` for her password, and the certificates of
/// both sides.
struct Place {
    has_tls: bool,
    server: Postgres,
    of_server: Certificate,
    of_proxy: Certificate,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    client_tls: bool,
    server_tls: bool,
    shares_certificate: bool,
    logins: bool,
}

impl Place {
    fn new() -> Option<Self> {
        if !server_testkit::is_installed() {
            return None;
        }
        let of_server = Certificate::new();
        let has_tls = server_testkit::has_tls();
        let ssl = if has_tls { "on" } else { "off" };
        let server = Postgres::start_as(&Options {
            settings: &[("ssl", ssl), ("log_statement", "all")],
            access: Some(ACCESS),
            files: &[
                ("server.crt", of_server.certificate.as_bytes()),
                ("server.key", of_server.key.as_bytes()),
            ],
            ..Options::default()
        });
        let place = Self {
            has_tls,
            server,
            of_server,
            of_proxy: Certificate::new(),
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        place.set_password(PASSWORD);
        Some(place)
    }

    /// The same, for tests that are about TLS alone.
    fn with_tls() -> Option<Self> {
        let place = Self::new()?;
        if !place.has_tls {
            eprintln!("left out: this server is built without TLS");
        }
        place.has_tls.then_some(place)
    }

    /// What server and psql can do: both are of one build.
    fn cases(&self) -> impl Iterator<Item = Case> {
        let has_tls = self.has_tls;
        cases().filter(move |case| has_tls || !(case.client_tls || case.server_tls))
    }

    fn set_password(&self, password: &str) {
        let mut client = self.server.connect();
        // The role is made once; its password is not for the log.
        let script = format!(
            "SET log_statement TO none; DO $$ BEGIN CREATE ROLE ann LOGIN; EXCEPTION WHEN \
             duplicate_object THEN NULL; END $$; ALTER ROLE ann PASSWORD '{password}'"
        );
        client.batch_execute(&script).expect("the superuser may");
    }

    /// Writes the file of logins, as `docs/proxy.md` says.
    fn write_logins(&self) {
        let query = "\\copy (SELECT rolname, rolpassword FROM pg_authid \
                     WHERE rolpassword LIKE 'SCRAM-SHA-256$%') TO STDOUT";
        let said = self.server.run("psql", &["-XAtq", "-c", query]);
        assert!(said.status.success());
        self.write("logins.tsv", &said.stdout);
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.folder.path().join(name), bytes).expect("a file in the own folder");
    }

    fn proxy(&self, case: Case) -> Running {
        self.proxy_with(case, "")
    }

    fn proxy_with(&self, case: Case, more: &str) -> Running {
        let of_proxy = match case.shares_certificate {
            true => &self.of_server,
            false => &self.of_proxy,
        };
        self.write("proxy.crt", of_proxy.certificate.as_bytes());
        self.write("proxy.key", of_proxy.key.as_bytes());
        self.write("root.crt", self.of_server.certificate.as_bytes());
        self.server
            .add_file("proxy-root.crt", of_proxy.certificate.as_bytes());
        let mut more = more.to_owned();
        if case.logins {
            self.write_logins();
            more.push_str("logins = \"logins.tsv\"\n");
        }
        if case.client_tls {
            more.push_str(
                "client_tls = { certificate = \"proxy.crt\", key = \"proxy.key\", \
                 required = true }\n",
            );
        }
        if case.server_tls {
            more.push_str("server_tls = { root = \"root.crt\" }\n");
        }
        let upstream = format!("127.0.0.1:{}", self.server.port());
        crate::common::proxy(&self.folder, &upstream, "", &more)
    }

    fn psql(&self, proxy: &Running, case: Case, binding: &str, password: &str) -> Output {
        self.psql_as("ann", proxy, case, (binding, password))
    }

    fn psql_as(
        &self,
        user: &str,
        proxy: &Running,
        case: Case,
        (binding, password): (&str, &str),
    ) -> Output {
        let root = self.server.folder().join("proxy-root.crt");
        let mode = if case.client_tls {
            "verify-full"
        } else {
            "disable"
        };
        let question = "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        self.server.run_with(
            proxy.address.port(),
            "psql",
            &["-XAtq", "-c", question],
            &[
                ("PGUSER", user),
                ("PGPASSWORD", password),
                ("PGSSLMODE", mode),
                ("PGSSLROOTCERT", &root.to_string_lossy()),
                ("PGCHANNELBINDING", binding),
                ("PGGSSENCMODE", "disable"),
            ],
        )
    }
}

fn cases() -> impl Iterator<Item = Case> {
    (0..16).filter_map(|bits| {
        let case = Case {
            client_tls: bits & 1 > 0,
            server_tls: bits & 2 > 0,
            shares_certificate: bits & 4 > 0,
            logins: bits & 8 > 0,
        };
        let is_another = case.client_tls && case.server_tls || !case.shares_certificate;
        is_another.then_some(case)
    })
}

/// What must come of it: RFC 5802, section 6.
fn may_log_in(case: Case, binding: &str) -> bool {
    // Somebody who knows the verifier, or shows the server's certificate, can be bound to.
    let can_bind = case.client_tls && (case.logins || case.server_tls && case.shares_certificate);
    match binding {
        "disable" => true,
        "require" => can_bind,
        // The client says that it could have bound; the server by TLS takes that for an attack.
        _ => can_bind || !(case.client_tls && case.server_tls),
    }
}

#[test]
fn every_combination_of_tls_and_binding_logs_in_or_says_why_not() {
    let Some(place) = Place::new() else { return };
    for case in place.cases() {
        let proxy = place.proxy(case);
        for binding in ["disable", "prefer", "require"] {
            let said = place.psql(&proxy, case, binding, PASSWORD);
            let out = String::from_utf8_lossy(&said.stdout);
            let errors = String::from_utf8_lossy(&said.stderr);
            if may_log_in(case, binding) {
                let wanted = if case.server_tls {
                    "ann|t\n"
                } else {
                    "ann|f\n"
                };
                assert_eq!(out, wanted, "{case:?}, {binding}: {errors}");
                continue;
            }
            assert_eq!(out, "", "{case:?}, {binding}");
            let words = match binding {
                "require" => "channel binding",
                _ => "Set logins in the configuration of the proxy",
            };
            assert!(errors.contains(words), "{case:?}, {binding}: {errors}");
        }
    }
}

#[test]
fn a_wrong_password_is_refused_in_every_way() {
    let Some(place) = Place::new() else { return };
    for case in place.cases() {
        let proxy = place.proxy(case);
        let said = place.psql(&proxy, case, "disable", "another");
        let errors = String::from_utf8_lossy(&said.stderr);
        let words = "password authentication failed for user \"ann\"";
        assert!(errors.contains(words), "{case:?}: {errors}");
        assert_eq!(String::from_utf8_lossy(&said.stdout), "", "{case:?}");
    }
}

#[test]
fn a_changed_password_is_told_and_the_file_is_read_anew() {
    let Some(place) = Place::with_tls() else {
        return;
    };
    let case = Case {
        client_tls: true,
        server_tls: true,
        shares_certificate: false,
        logins: true,
    };
    let proxy = place.proxy(case);
    let old = place.psql(&proxy, case, "require", PASSWORD);
    assert!(old.status.success());
    place.set_password("another");
    let said = place.psql(&proxy, case, "require", "another");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(
        errors.contains("password authentication failed"),
        "{errors}"
    );
    // Who knows the password of the file is told more.
    let said = place.psql(&proxy, case, "require", PASSWORD);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(errors.contains("write the file of logins"), "{errors}");
    place.write_logins();
    let said = place.psql(&proxy, case, "require", "another");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "ann|t\n");
    let said = place.psql(&proxy, case, "require", PASSWORD);
    assert!(!said.status.success());
}

/// Something was sent to the server, and the password is not in it.
#[track_caller]
fn assert_without_password(tap: &crate::common::tap::Tap) {
    let sent = tap.sent();
    assert!(!sent.is_empty());
    let mut parts = sent.windows(PASSWORD.len());
    assert!(!parts.any(|part| part == PASSWORD.as_bytes()));
}

#[test]
fn the_password_reaches_nobody() {
    let Some(place) = Place::new() else { return };
    let tap = crate::common::tap::Tap::start(place.server.port());
    place.write_logins();
    let upstream = tap.address.to_string();
    let more = "logins = \"logins.tsv\"\n";
    let proxy = crate::common::proxy(&place.folder, &upstream, "", more);
    let case = Case {
        client_tls: false,
        server_tls: false,
        shares_certificate: false,
        logins: true,
    };
    let said = place.psql(&proxy, case, "disable", PASSWORD);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "ann|f\n");
    assert_without_password(&tap);
}

#[test]
fn clients_without_tls_are_told_to_use_it() {
    let Some(place) = Place::with_tls() else {
        return;
    };
    let case = Case {
        client_tls: true,
        server_tls: false,
        shares_certificate: false,
        logins: false,
    };
    let proxy = place.proxy(case);
    let url = format!(
        "postgres://postgres@127.0.0.1:{}/postgres",
        proxy.address.port()
    );
    let Err(error) = Client::connect(&url, NoTls) else {
        panic!("TLS is required");
    };
    assert_eq!(error.code().map(|code| code.code()), Some("28000"));
}

#[test]
fn a_server_with_another_certificate_is_not_spoken_to() {
    let Some(mut place) = Place::with_tls() else {
        return;
    };
    let case = Case {
        client_tls: false,
        server_tls: true,
        shares_certificate: false,
        logins: false,
    };
    place.of_server = Certificate::new();
    let proxy = place.proxy(case);
    let said = place.psql(&proxy, case, "disable", PASSWORD);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(errors.contains("cannot reach the server"), "{errors}");
}

#[test]
fn a_statement_is_cancelled_over_tls() {
    let Some(place) = Place::with_tls() else {
        return;
    };
    let case = Case {
        client_tls: true,
        server_tls: true,
        shares_certificate: false,
        logins: true,
    };
    let proxy = place.proxy(case);
    let root = place.server.folder().join("proxy-root.crt");
    let mut psql = place.server.program(proxy.address.port(), "psql");
    let mut child = psql
        .args(["-XAtq", "-c", "SELECT pg_sleep(600)"])
        .envs([("PGUSER", "ann"), ("PGPASSWORD", PASSWORD)])
        .envs([
            ("PGSSLMODE", "verify-full"),
            ("PGCHANNELBINDING", "require"),
        ])
        .env("PGSSLROOTCERT", root)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("psql runs");
    let mut client = place.server.connect();
    let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'";
    while client
        .query_one(sleeps, &[])
        .expect("an answer")
        .get::<_, i64>(0)
        == 0
    {
        assert!(
            child.try_wait().expect("it is known").is_none(),
            "psql has ended"
        );
        std::thread::yield_now();
    }
    // As Ctrl-C does: psql asks to cancel.
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.expect("kill runs").success());
    let said = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(
        errors.contains("canceling statement due to user request"),
        "{errors}"
    );
}

/// libpq (17) takes the end of a connection without the end of TLS for a failure to cancel.
#[test]
fn a_request_to_cancel_by_tls_ends_as_tls_does() {
    let Some(place) = Place::with_tls() else {
        return;
    };
    let proxy = place.proxy(Case {
        client_tls: true,
        server_tls: false,
        shares_certificate: false,
        logins: false,
    });
    let root = place.server.folder().join("proxy-root.crt");
    let config = configuration::client_config(&root).expect("the proxy's certificate");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut socket = TcpStream::connect(proxy.address).expect("the proxy runs");
    let mut byte = [0];
    // SSLRequest.
    socket
        .write_all(&[0, 0, 0, 8, 4, 210, 22, 47])
        .expect("sent");
    socket.read_exact(&mut byte).expect("an answer");
    assert_eq!(byte, *b"S");
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    // CancelRequest, of nobody.
    stream
        .write_all(&[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 1])
        .expect("sent");
    assert_eq!(stream.read(&mut byte).expect("TLS ends"), 0);
}

/// Passes on what client and server say, with the server's leave altered to a request for the
/// password in clear. Gives the port to connect to.
fn ask_again(server: u16) -> u16 {
    const LEAVE: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const REQUEST: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    // Ends with the test's process.
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("the proxy comes");
        let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server is there");
        let (mut to_client, mut from_server) = (
            client.try_clone().expect("a second handle"),
            server.try_clone().expect("a second handle"),
        );
        std::thread::spawn(move || std::io::copy(&mut client, &mut server));
        let mut part = vec![0; 64 * 1024];
        while let Ok(size @ 1..) = from_server.read(&mut part) {
            let said = &mut part[..size];
            let place = said.windows(LEAVE.len()).position(|part| part == LEAVE);
            if let Some(place) = place {
                said[place..][..REQUEST.len()].copy_from_slice(REQUEST);
            }
            if to_client.write_all(said).is_err() {
                break;
            }
        }
    });
    port
}

#[test]
fn a_server_that_asks_again_after_its_signature_gets_nothing() {
    let Some(place) = Place::new() else { return };
    place.write_logins();
    let tap = crate::common::tap::Tap::start(ask_again(place.server.port()));
    let more = "logins = \"logins.tsv\"\n";
    let proxy = crate::common::proxy(&place.folder, &tap.address.to_string(), "", more);
    let case = Case {
        client_tls: false,
        server_tls: false,
        shares_certificate: false,
        logins: true,
    };
    let said = place.psql(&proxy, case, "disable", PASSWORD);
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(errors.contains("does not prove"), "{errors}");
    assert_without_password(&tap);
}

/// A message of the server: its kind, and what follows its size.
fn message(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 5];
    socket.read_exact(&mut header).expect("a message");
    let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    let mut body = vec![0; size as usize - 4];
    socket.read_exact(&mut body).expect("all of it");
    (header[0], body)
}

/// What somebody is told who has no password: everything but what is fresh, and his own name.
fn told(proxy: &Running, user: &str) -> Vec<String> {
    let mut socket = TcpStream::connect(proxy.address).expect("the proxy runs");
    let packet = format!("\0\x03\0\0user\0{user}\0database\0postgres\0\0");
    let size = u32::try_from(packet.len() + 4).expect("small");
    let packet = [&size.to_be_bytes(), packet.as_bytes()].concat();
    socket.write_all(&packet).expect("sent");
    let mut told = vec![format!("{:?}", message(&mut socket))];
    let mut out = Vec::new();
    let first = b"n,,n=,r=ours";
    wire_postgres::frontend::write_sasl_initial(b"SCRAM-SHA-256", first, &mut out);
    socket.write_all(&out).expect("sent");
    let (kind, body) = message(&mut socket);
    let challenge = String::from_utf8(body[4..].to_vec()).expect("a text");
    let parts: Vec<&str> = challenge.split(',').collect();
    let sizes: Vec<usize> = parts[..2].iter().map(|part| part.len()).collect();
    told.push(format!("{kind} {:?} {sizes:?} {}", &body[..4], parts[2]));
    out.clear();
    let proof = "A".repeat(43);
    let last = format!("c=biws,{},p={proof}=", parts[0]);
    wire_postgres::frontend::write_sasl_response(last.as_bytes(), &mut out);
    socket.write_all(&out).expect("sent");
    let (kind, body) = message(&mut socket);
    let error = String::from_utf8_lossy(&body).replace(user, "USER");
    told.push(format!("{kind} {error:?}"));
    assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0, "it is over");
    told
}

#[test]
fn nobody_can_tell_who_is_in_the_file_of_logins() {
    let Some(place) = Place::new() else { return };
    let case = Case {
        client_tls: false,
        server_tls: false,
        shares_certificate: false,
        logins: true,
    };
    let proxy = place.proxy(case);
    // Not in the file, which was written before.
    let made = "SET log_statement TO none; CREATE ROLE bob LOGIN PASSWORD 'CANARY of bob'";
    place.server.connect().batch_execute(made).expect("made");
    let ann = told(&proxy, "ann");
    assert!(ann[2].contains("28P01"), "{ann:?}");
    for user in ["bob", "eve"] {
        assert_eq!(told(&proxy, user), ann, "{user}");
    }
}

#[test]
fn with_logins_only_others_are_refused_as_if_their_password_were_wrong() {
    let Some(place) = Place::new() else { return };
    let made = "SET log_statement TO none; CREATE ROLE bob LOGIN PASSWORD 'CANARY of bob'";
    for case in place.cases().filter(|case| case.logins) {
        let proxy = place.proxy_with(case, "logins_only = true\n");
        let direct = place.server.connect().batch_execute(made);
        direct.expect("made");
        let binding = match case.client_tls {
            true => "require",
            false => "disable",
        };
        let said = place.psql(&proxy, case, binding, PASSWORD);
        assert!(said.status.success(), "{case:?}");
        for (user, password) in [("ann", "another"), ("bob", "CANARY of bob"), ("eve", "x")] {
            let said = place.psql_as(user, &proxy, case, (binding, password));
            let errors = String::from_utf8_lossy(&said.stderr);
            let words = format!("password authentication failed for user \"{user}\"");
            assert!(errors.contains(&words), "{case:?}: {errors}");
        }
        if !case.client_tls {
            let ann = told(&proxy, "ann");
            assert_eq!(told(&proxy, "bob"), ann);
            assert_eq!(told(&proxy, "eve"), ann);
        }
        let drop = "DROP ROLE bob";
        place.server.connect().batch_execute(drop).expect("dropped");
    }
}

#[test]
fn logins_only_needs_a_file_of_logins() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n\
                logins_only = true\n";
    let file = folder.path().join("strongroom.toml");
    std::fs::write(&file, text).expect("written");
    let config = configuration::Config::read(&file).expect("well formed");
    let Err(error) = Running::start(config) else {
        panic!("nobody could log in");
    };
    assert!(error.to_string().contains("add logins"), "{error}");
}
