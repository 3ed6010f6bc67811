//! `strongroom proxy` as a separate process.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use server_testkit::Postgres;
use tempfile::TempDir;

/// Nothing takes that long; a test that hangs fails.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running proxy; killed when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    metrics: SocketAddr,
    child: Child,
    folder: TempDir,
}

/// Options for starting a proxy, besides its rules.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// More lines of `[proxy]`.
    pub more: &'a str,
    /// The line of `[keys]`. `columns.key` lies beside the configuration.
    pub keys: &'a str,
    /// Variables of its environment.
    pub environment: &'a [(&'a str, &'a str)],
    /// More arguments.
    pub arguments: &'a [&'a str],
}

impl Default for How<'_> {
    fn default() -> Self {
        Self {
            more: "",
            keys: "file = \"columns.key\"",
            environment: &[],
            arguments: &[],
        }
    }
}

impl Proxy {
    /// A proxy for the local server at this port, with rules (TOML, `[columns.…]`) and more lines
    /// of `[proxy]`.
    pub fn start(port: &str, rules: &str, more: &str) -> Self {
        let how = How {
            more,
            ..How::default()
        };
        Self::start_as(port, rules, &how)
    }

    /// The same, with further options.
    pub fn start_as(port: &str, rules: &str, how: &How<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("columns.key"), [0x5a; 32]).unwrap();
        let more = how.more;
        let keys = match rules {
            "" => String::new(),
            _ => format!("[keys]\n{}\n", how.keys),
        };
        Self::start_in(folder, how, |address, metrics| {
            format!(
                "[proxy]\nlisten = \"{address}\"\nupstream = \"127.0.0.1:{port}\"\n\
                 metrics = \"{metrics}\"\n{more}\n{keys}{rules}"
            )
        })
    }

    /// A proxy with the configuration of these two addresses, for clients and for metrics. Its
    /// files lie in the folder.
    pub fn start_in(
        folder: TempDir,
        how: &How<'_>,
        configuration: impl Fn(SocketAddr, SocketAddr) -> String,
    ) -> Self {
        let file = folder.path().join("strongroom.toml");
        // Another process may take the port between its choice and the start.
        for _ in 0..5 {
            let (address, metrics) = (free_address(), free_address());
            fs::write(&file, configuration(address, metrics)).unwrap();
            let mut child = Command::new(env!("CARGO_BIN_EXE_strongroom"))
                .args(["proxy", "--config"])
                .arg(&file)
                .args(how.arguments)
                .envs(how.environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(fs::File::create(folder.path().join("log")).unwrap())
                .spawn()
                .unwrap();
            if listens(&mut child, metrics) {
                return Self {
                    address,
                    metrics,
                    child,
                    folder,
                };
            }
        }
        panic!("it does not start: {}", log(&folder));
    }

    /// A client.
    pub fn connect(&self) -> Result<Client, postgres::Error> {
        let url = format!("postgres://postgres@{}/postgres", self.address);
        Client::connect(&url, NoTls)
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_for(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        log(&self.folder)
    }

    /// A file of the process below `/proc`; `None` if it may not be read.
    pub fn of_process(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(format!("/proc/{}/{name}", self.child.id())).ok()
    }

    /// A line of `/proc/…/status`: `VmRSS`, `VmHWM`.
    pub fn memory_kib(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// A counter of `/metrics`.
    pub fn metric(&self, name: &str) -> u64 {
        let mut socket = TcpStream::connect(self.metrics).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let start = format!("strongroom_proxy_{name} ");
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        line[start.len()..].parse().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = log(&self.folder);
        assert!(
            thread::panicking() || !(log.contains("CANARY") || log.contains("panicked")),
            "{log}"
        );
    }
}

fn log(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// The metrics endpoint starts last.
fn listens(child: &mut Child, metrics: SocketAddr) -> bool {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if TcpStream::connect(metrics).is_ok() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Waits until a condition holds.
pub fn wait_for(mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The first packet of a client.
pub fn startup() -> Vec<u8> {
    let parameters = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let size = u32::try_from(parameters.len() + 4).unwrap();
    [&size.to_be_bytes(), &parameters[..]].concat()
}

/// Reads messages until the server is ready.
pub fn read_until_ready(socket: &mut TcpStream) {
    let mut header = [0; 5];
    loop {
        socket.read_exact(&mut header).unwrap();
        let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; size - 4];
        socket.read_exact(&mut body).unwrap();
        if header[0] == b'Z' {
            return;
        }
    }
}

/// Files of the server that contain the word that is part of every protected value.
pub fn plaintexts(server: &Postgres) -> Vec<String> {
    server.connect().batch_execute("CHECKPOINT").unwrap();
    let mut found = Vec::new();
    look_into(server.folder(), &mut found);
    found
}

fn look_into(folder: &Path, found: &mut Vec<String>) {
    // The server may remove listed files.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            look_into(&path, found);
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if server_testkit::contains(&bytes, b"CANARY") {
            found.push(path.display().to_string());
        }
    }
}
