//! Servers, proxies before them, and clients.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use configuration::Config;
use mysql::{Conn, OptsBuilder};
use proxy::{Running, StartError};
use server_testkit::mysql::{Brand, MySql};
use tempfile::TempDir;

use crate::common::compacted;

/// The password of all accounts; it must not be seen on a wire.
pub const PASSWORD: &str = "canary of a password";

/// One server for the tests that run at a time, since each needs a second to start.
static MARIADB: Mutex<Weak<MySql>> = Mutex::new(Weak::new());
static MYSQL: Mutex<Weak<MySql>> = Mutex::new(Weak::new());

/// MariaDB with an account for each method. None: it is not installed.
pub fn mariadb() -> Option<Arc<MySql>> {
    shared(&MARIADB, Brand::MariaDb, start_mariadb)
}

/// The same of MySQL.
pub fn mysql() -> Option<Arc<MySql>> {
    shared(&MYSQL, Brand::MySql, start_mysql)
}

fn shared(server: &Mutex<Weak<MySql>>, brand: Brand, start: fn() -> MySql) -> Option<Arc<MySql>> {
    if !brand.is_installed() {
        println!("left out: {brand:?} is not installed");
        return None;
    }
    let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
    Some(server.upgrade().unwrap_or_else(|| {
        let started = Arc::new(start());
        *server = Arc::downgrade(&started);
        started
    }))
}

/// Starts MariaDB, with TLS by a certificate that [`ROOT`] names.
pub fn start_mariadb() -> MySql {
    start_mariadb_with(&[])
}

/// The same with more arguments.
pub fn start_mariadb_with(more: &[&str]) -> MySql {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let certificate = made.cert.pem();
    let sql = format!(
        "CREATE DATABASE shop;\n\
         CREATE USER nat@localhost IDENTIFIED VIA mysql_native_password \
         USING PASSWORD('{PASSWORD}');\n\
         CREATE USER ed@localhost IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}');\n\
         ALTER USER root@localhost IDENTIFIED VIA unix_socket;\n\
         GRANT ALL ON *.* TO nat@localhost;\n\
         GRANT ALL ON *.* TO ed@localhost;\n"
    );
    let arguments = [
        "--plugin-load-add=auth_ed25519",
        "--ssl-cert=../server.crt",
        "--ssl-key=../server.key",
    ];
    let arguments = [&arguments, more].concat();
    let files = [
        (ROOT, certificate.as_bytes()),
        ("server.key", made.signing_key.serialize_pem().as_bytes()),
    ]
    .map(|(name, bytes)| (name, bytes.to_vec()));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (*name, &bytes[..]))
        .collect();
    MySql::start(Brand::MariaDb, &arguments, &files, &sql)
}

/// The certificate of MariaDB, in its folder.
pub const ROOT: &str = "server.crt";

fn start_mysql() -> MySql {
    let account = |name: &str, plugin: &str| {
        format!(
            "CREATE USER {name}@localhost IDENTIFIED WITH {plugin} BY '{PASSWORD}';\n\
             GRANT ALL ON *.* TO {name}@localhost;\n"
        )
    };
    let sql = [
        "CREATE DATABASE shop;\n".to_owned(),
        account("nat", "mysql_native_password"),
        account("sha2", "caching_sha2_password"),
        account("fresh", "caching_sha2_password"),
        account("old_sha", "sha256_password"),
    ];
    MySql::start(Brand::MySql, &[], &[], &sql.concat())
}

/// A proxy, and the folder of its configuration.
pub struct Proxy {
    running: Running,
    pub folder: TempDir,
}

impl Proxy {
    /// Before a server, with more lines of `[proxy]`.
    pub fn start(server: &MySql, more: &str) -> Self {
        Self::before(&format!("127.0.0.1:{}", server.port()), more)
    }

    /// Before what is at an address.
    pub fn before(upstream: &str, more: &str) -> Self {
        Self::try_before(upstream, more).expect("the proxy starts")
    }

    /// Before several servers, the first first.
    pub fn before_all(servers: &[&MySql], more: &str) -> Self {
        let upstream = servers
            .iter()
            .map(|server| format!("\"127.0.0.1:{}\"", server.port()));
        let upstream = upstream.collect::<Vec<_>>().join(", ");
        Self::configured(&format!("[{upstream}]"), more).expect("the proxy starts")
    }

    pub fn try_before(upstream: &str, more: &str) -> Result<Self, StartError> {
        Self::configured(&format!("\"{upstream}\""), more)
    }

    pub fn configured(upstream: &str, more: &str) -> Result<Self, StartError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("strongroom.toml");
        let key = folder.path().join("columns.key");
        std::fs::write(key, [0x5a; 32]).expect("a file in the own folder");
        let more = match std::env::var_os("STRONGROOM_TEST_COMPACT") {
            Some(_) => compacted(more),
            None => more.to_owned(),
        };
        let text = format!(
            "[proxy]\nprotocol = \"mysql\"\nlisten = \"127.0.0.1:0\"\nupstream = {upstream}\n\
             workers = 1\ndrain_seconds = 0\n{more}\n"
        );
        std::fs::write(&file, text).expect("a file in the own folder");
        let config = Config::read(&file).expect("the configuration");
        let running = Running::start(config)?;
        Ok(Self { running, folder })
    }

    pub fn port(&self) -> u16 {
        self.running.address.port()
    }

    /// Runs a statement by the program `mariadb`, with more arguments.
    pub fn run(&self, user: &str, arguments: &[&str], statement: &str) -> Said {
        run_at(self.port(), user, PASSWORD, arguments, statement)
    }

    /// A client of the Rust driver.
    pub fn connect(&self, user: &str) -> Conn {
        let options = self.options(user);
        Conn::new(options).expect("the proxy runs")
    }

    pub fn options(&self, user: &str) -> OptsBuilder {
        options_at(self.port(), user)
    }
}

pub fn options_at(port: u16, user: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(user))
        .pass(Some(PASSWORD))
        .db_name(Some("shop"))
        .prefer_socket(false)
        .max_allowed_packet(Some(64 << 20))
}

/// What a program has said.
pub struct Said {
    pub is_success: bool,
    pub text: String,
}

/// Runs a statement by the program `mariadb`.
pub fn run_at(port: u16, user: &str, password: &str, arguments: &[&str], statement: &str) -> Said {
    let said = Command::new("mariadb")
        .args(["--no-defaults", "--batch", "--skip-column-names"])
        .args(["--protocol=tcp", "--host=127.0.0.1", "--database=shop"])
        .arg(format!("--port={port}"))
        .arg(format!("--user={user}"))
        .args(arguments)
        .args(["--execute", statement])
        .env("MYSQL_PWD", password)
        .output()
        .expect("mariadb runs");
    Said::of(&said)
}

impl Said {
    fn of(output: &Output) -> Self {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Self {
            is_success: output.status.success(),
            text,
        }
    }

    #[track_caller]
    pub fn assert_says(&self, wanted: &str) {
        assert_eq!((self.is_success, self.text.trim()), (true, wanted));
    }

    /// It failed with this number of an error.
    #[track_caller]
    pub fn assert_fails(&self, code: u16) {
        let number = format!("ERROR {code} ");
        assert!(
            !self.is_success && self.text.contains(&number),
            "{}",
            self.text
        );
    }
}

/// Passes bytes on in both directions, and keeps those of whoever connects.
pub struct Tap {
    pub address: SocketAddr,
    sent: Arc<Mutex<Vec<u8>>>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl Tap {
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let tap = Self {
            address,
            sent: Arc::default(),
            sockets: Arc::default(),
        };
        let (sent, sockets) = (Arc::clone(&tap.sent), Arc::clone(&tap.sockets));
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
                let twin = |socket: &TcpStream| socket.try_clone().expect("a second handle");
                let (back_from, back_to) = (twin(&server), twin(&client));
                sockets.lock().expect("no panic").push(twin(&server));
                let sent = Arc::clone(&sent);
                let note = move |bytes: &[u8]| {
                    sent.lock().expect("no panic").extend_from_slice(bytes);
                };
                thread::spawn(move || pump(client, server, note));
                thread::spawn(move || pump(back_from, back_to, |_| {}));
            }
        });
        tap
    }

    /// What was sent by those who connected.
    pub fn sent(&self) -> Vec<u8> {
        self.sent.lock().expect("no panic").clone()
    }

    /// Ends all connections, as the death of the server does.
    pub fn cut(&self) {
        for socket in &*self.sockets.lock().expect("no panic") {
            // It may have ended before.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        note(&buffer[..size]);
        if to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Whether bytes contain others.
pub fn contain(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// `[proxy.server_tls]` for MariaDB's certificate.
pub fn server_tls(server: &MySql) -> String {
    let root: PathBuf = server.folder().join(ROOT);
    // The tests may run as another user than the server.
    let root = root.display();
    format!("[proxy.server_tls]\nroot = \"{root}\"\nname = \"localhost\"\n")
}
