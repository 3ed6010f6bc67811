//! A real server, a proxy before it, and a tap between both that keeps what the server is sent.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use postgres::{Client, NoTls};
use proxy::{Config, Running};
use server_testkit::Postgres;

/// Server, tap and proxy.
pub struct Setup {
    /// Dropped first: sessions end before their server does.
    pub proxy: Running,
    pub tap: Tap,
    pub server: Postgres,
    _folder: tempfile::TempDir,
}

impl Setup {
    /// A proxy with these rules (TOML, below `[columns]`).
    pub fn start(rules: &str) -> Self {
        Self::start_with(rules, "")
    }

    /// The same with more lines of `[proxy]`.
    pub fn start_with(rules: &str, more: &str) -> Self {
        let settings = [("log_statement", "all"), ("max_connections", "50")];
        let server = Postgres::start_with(&settings);
        let tap = Tap::start(server.port());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = folder.path().join("columns.key");
        std::fs::write(&key, [0x5a; 32]).expect("a file in the own folder");
        let text = format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\nworkers = 1\n\
             drain_seconds = 0\n{more}\n[keys]\nfile = \"columns.key\"\n{rules}",
            tap.address
        );
        let file = folder.path().join("strongroom.toml");
        std::fs::write(&file, text).expect("a file in the own folder");
        let config = Config::read(&file).expect("the configuration");
        let proxy = Running::start(config).expect("the proxy starts");
        Self {
            proxy,
            tap,
            server,
            _folder: folder,
        }
    }

    /// A client of the proxy.
    pub fn connect(&self) -> Client {
        let port = self.proxy.address.port();
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        Client::connect(&url, NoTls).expect("the proxy runs")
    }

    /// What `psql` prints for a script, through the proxy. Errors are among it.
    pub fn psql(&self, script: &str) -> String {
        let port = self.proxy.address.port();
        let said = self.server.run_at(port, "psql", &["-XAtq", "-c", script]);
        let mut text = String::from_utf8_lossy(&said.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&said.stderr));
        text
    }

    /// No `canary` stands in what the server was sent, nor in any of its files.
    pub fn assert_unseen(&self, canaries: &[&str]) {
        self.server
            .connect()
            .batch_execute("CHECKPOINT")
            .expect("the server writes its pages");
        let sent = self.tap.sent();
        for canary in canaries {
            assert!(!holds(&sent, canary), "{canary} was sent to the server");
        }
        look_into(self.server.folder(), canaries);
    }
}

fn holds(bytes: &[u8], canary: &str) -> bool {
    bytes
        .windows(canary.len())
        .any(|part| part == canary.as_bytes())
}

fn look_into(folder: &Path, canaries: &[&str]) {
    for entry in std::fs::read_dir(folder).expect("a folder of the server") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_into(&path, canaries);
            continue;
        }
        // The server may remove a file meanwhile.
        let bytes = std::fs::read(&path).unwrap_or_default();
        for canary in canaries {
            assert!(!holds(&bytes, canary), "{canary} is in {}", path.display());
        }
    }
}

/// Passes everything on, and keeps what goes to the server.
pub struct Tap {
    pub address: SocketAddr,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let back = (
                    server.try_clone().expect("a second handle"),
                    client.try_clone().expect("a second handle"),
                );
                let kept = Arc::clone(&kept);
                thread::spawn(move || pump(client, server, Some(&kept)));
                thread::spawn(move || pump(back.0, back.1, None));
            }
        });
        Self { address, sent }
    }

    /// All that was sent to the server.
    pub fn sent(&self) -> Vec<u8> {
        self.sent.lock().expect("no panic while it is held").clone()
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, kept: Option<&Mutex<Vec<u8>>>) {
    let _ = to.set_nodelay(true);
    let mut buffer = [0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        if let Some(kept) = kept {
            let mut kept = kept.lock().expect("no panic while it is held");
            kept.extend_from_slice(&buffer[..size]);
        }
        if to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
