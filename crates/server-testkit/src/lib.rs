//! For tests only: a separate PostgreSQL server for each test.
//!
//! The programs are taken from the folder `STRONGROOM_TEST_POSTGRES`, from the newest version
//! installed by Debian's packages, or from a folder in `PATH`. PostgreSQL refuses to run as root;
//! if the test is root, the server runs as `nobody`. The server listens on a free local port, keeps
//! its files in a temporary folder, and is killed when the value is dropped.
#![cfg(unix)]

mod cluster;
mod galera;
pub mod mysql;
mod standby;

pub use galera::Galera;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use rustix::fs::statvfs;
use tempfile::TempDir;

/// Debian's folder with the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// User and group `nobody` and `nogroup`; a few systems have other numbers.
const NOBODY: u32 = 65534;
/// Linux's folder of files in memory.
const MEMORY: &str = "/dev/shm";
/// Some servers run at once, and one takes 200 MB at most.
const MEMORY_FREE_MIN: u64 = 1 << 30;
/// A server needs about a second to start; a busy machine gets a minute.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A running server. The superuser is `postgres`; no password is needed, unless [`Options`] require
/// one.
pub struct Postgres {
    child: Child,
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    locales: Option<PathBuf>,
}

/// Options for starting a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Settings, as `("log_statement", "all")`.
    pub settings: &'a [(&'a str, &'a str)],
    /// Lines that replace the default `pg_hba.conf`, which lets everybody in. One of them must let
    /// `postgres` in by TCP without a password.
    pub access: Option<&'a str>,
    /// Files to put into the folder `data` before the server starts, readable only by it.
    pub files: &'a [(&'a str, &'a [u8])],
    /// A folder of locales compiled by `localedef`, used instead of the system's.
    pub locales: Option<&'a Path>,
}

/// Whether PostgreSQL is installed; tests that need it are skipped otherwise.
///
/// # Panics
///
/// If it is not, although `STRONGROOM_TEST_SERVERS` says that it must be.
pub fn is_installed() -> bool {
    let found = programs().is_some();
    assert!(
        found || std::env::var_os("STRONGROOM_TEST_SERVERS").is_none(),
        "STRONGROOM_TEST_SERVERS is set, and no folder has PostgreSQL's server: neither \
         STRONGROOM_TEST_POSTGRES, nor one in {DEBIAN}, nor one of PATH"
    );
    found
}

/// Whether the server supports TLS; tests that need it are skipped otherwise, and must say so.
///
/// # Panics
///
/// If it does not, and is not the one in `STRONGROOM_TEST_POSTGRES`: the system's packages all have
/// TLS.
pub fn has_tls() -> bool {
    // The message of the check for the setting `ssl`, only in builds without TLS.
    const WITHOUT: &[u8] = b"SSL is not supported by this build";
    let program = programs().map(|folder| folder.join("postgres"));
    let bytes = program.and_then(|program| fs::read(program).ok());
    let has = bytes.is_some_and(|bytes| !contains(&bytes, WITHOUT));
    assert!(
        has || std::env::var_os("STRONGROOM_TEST_POSTGRES").is_some(),
        "PostgreSQL's server is built without TLS, and STRONGROOM_TEST_POSTGRES does not name it"
    );
    has
}

/// A server and a connection to it; `None` unless [`is_installed`].
///
/// # Panics
///
/// As [`is_installed`] and [`Postgres::start`] do.
pub fn connected() -> Option<(Postgres, Client)> {
    is_installed().then(|| {
        let server = Postgres::start();
        let client = server.connect();
        (server, client)
    })
}

/// Whether some bytes occur in others. Tests search all files of a server, so this must be quick in
/// a test build as well.
pub fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(bytes, wanted).is_some()
}

/// The folder of the programs.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("STRONGROOM_TEST_POSTGRES") {
        return Some(folder.into());
    }
    newest_of_debian().or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| has_server(folder))
    })
}

fn newest_of_debian() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, folder)| has_server(folder))
        .collect();
    versions.sort();
    versions.pop().map(|(_, folder)| folder)
}

fn has_server(folder: &Path) -> bool {
    ["postgres", "initdb"]
        .iter()
        .all(|program| folder.join(program).is_file())
}

/// A new folder, in memory if there is room. A server has a thousand files: to create and remove
/// them on a disk takes more processor time than most tests need.
fn temporary_folder() -> TempDir {
    let about = statvfs(MEMORY);
    let has_room = about.is_ok_and(|about| about.f_bavail * about.f_frsize >= MEMORY_FREE_MIN);
    let folder = match has_room {
        true => TempDir::new_in(MEMORY),
        false => TempDir::new(),
    };
    folder.expect("a temporary folder")
}

/// A new folder that only the user who runs the server can enter.
fn folder_of_server() -> TempDir {
    let folder = temporary_folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("own folder");
    give_away(folder.path());
    folder
}

impl Postgres {
    /// Starts a server with an empty database.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with settings, as `("log_statement", "all")`.
    ///
    /// # Panics
    ///
    /// If it does not start, since a test cannot go on.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_as(&Options {
            settings,
            ..Options::default()
        })
    }

    /// Starts a server with options.
    ///
    /// # Panics
    ///
    /// If it does not start, since a test cannot go on.
    pub fn start_as(options: &Options<'_>) -> Self {
        let programs = programs().expect("PostgreSQL is installed; ask is_installed() first");
        let folder = folder_of_server();
        let data = folder.path().join("data");
        cluster::make(&programs, &data);
        for (name, bytes) in options.files {
            put(&data.join(name), bytes);
        }
        if let Some(access) = options.access {
            put(&data.join("pg_hba.conf"), access.as_bytes());
        }
        let locales = options.locales.map(Path::to_owned);
        Self::start_in((folder, programs), options.settings, locales)
    }

    /// Starts a server with the files of its folder.
    fn start_in(
        (folder, programs): (TempDir, PathBuf),
        settings: &[(&str, &str)],
        locales: Option<PathBuf>,
    ) -> Self {
        let settings = settings.iter();
        let settings: Vec<(String, String)> = settings
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        // Another process may take the port between its choice and the server's start.
        for attempt in 1.. {
            let port = free_port();
            let mut command = server(&programs, folder.path(), port, &settings);
            command.envs(locales.iter().map(|path| ("LOCPATH", path)));
            let mut child = command.spawn().expect("postgres runs");
            if wait_until_ready(&mut child, port) {
                return Self {
                    child,
                    folder,
                    programs,
                    port,
                    settings,
                    locales,
                };
            }
            let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            assert!(attempt < 5, "PostgreSQL does not start:\n{log}");
        }
        unreachable!("the loop ends by return or panic")
    }

    /// Kills the server like a crash, without any shutdown.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn crash(&mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("it is dead");
    }

    /// Restarts it after [`Self::crash`], with the same files and port.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        // Its child processes notice that it is gone, and exit; until the last one has, no new
        // server can start.
        for attempt in 1.. {
            let mut command = server(
                &self.programs,
                self.folder.path(),
                self.port,
                &self.settings,
            );
            command.envs(self.locales.iter().map(|path| ("LOCPATH", path)));
            self.child = command.spawn().expect("postgres runs");
            if wait_until_ready(&mut self.child, self.port) {
                return;
            }
            assert!(attempt < 600, "PostgreSQL does not start:\n{}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether an extension library of PostgreSQL is installed, as `pg_stat_statements`.
    pub fn has_library(name: &str) -> bool {
        let file = format!("{name}.so");
        programs().is_some_and(|programs| {
            let version = programs.parent().unwrap_or(&programs);
            ["lib", "lib/postgresql"]
                .iter()
                .any(|folder| version.join(folder).join(&file).is_file())
        })
    }

    /// Writes a file into [`Self::folder`] that only programs of [`Self::run`] and the server can
    /// read, and returns its path.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn add_file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        put(&path, bytes);
        path
    }

    /// The port, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of all its files: `data`, and the server's `log`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The server's process number; killing it is a crash.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// A connection URL for libpq and Rust clients.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// A connection.
    ///
    /// # Panics
    /// When there is none.
    pub fn connect(&self) -> Client {
        Client::connect(&self.url(), NoTls).expect("the server runs")
    }

    /// Runs one of PostgreSQL's programs against the server: `psql`, `pg_dump`, `pgbench`.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.run_at(self.port, program, arguments)
    }

    /// The same on another port, such as that of a proxy for the server.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run_at(&self, port: u16, program: &str, arguments: &[&str]) -> Output {
        self.run_with(port, program, arguments, &[])
    }

    /// The same with environment variables, as `("PGSSLMODE", "require")`.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run_with(
        &self,
        port: u16,
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Output {
        self.program(port, program)
            .envs(environment.iter().copied())
            .args(arguments)
            .output()
            .unwrap_or_else(|error| panic!("{program} does not run: {error}"))
    }

    /// The same as a command, for the caller to start.
    pub fn program(&self, port: u16, program: &str) -> Command {
        let mut command = command(&self.programs.join(program));
        command
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", port.to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres")
            .env("PGCLIENTENCODING", "UTF8")
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            // It has crashed, and its number may have been reused.
            return;
        }
        // SIGQUIT would let its children outlive it briefly; on SIGINT the server ends them first.
        let _ = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        let since = Instant::now();
        while since.elapsed() < START_WITHIN {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    // A process runs as the owner of its folder in /proc.
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A command that runs as `nobody` if this process is root, in a folder that it can enter.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    // libpq looks for certificates in the home folder, which belongs to another user.
    command.current_dir("/").env("HOME", "/");
    command.env("LC_ALL", "C").env("TZ", "UTC");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Makes the user who runs the server the owner of a file.
fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root gives files away");
    }
}

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file in the own folder");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("own file");
    give_away(path);
}

fn server(programs: &Path, folder: &Path, port: u16, settings: &[(String, String)]) -> Command {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .expect("a file in the own folder");
    let mut command = command(&programs.join("postgres"));
    command.arg("-D").arg(folder.join("data"));
    let port = port.to_string();
    let own = [
        ("listen_addresses", "127.0.0.1"),
        ("port", &port),
        ("unix_socket_directories", ""),
        ("fsync", "off"),
        ("timezone", "UTC"),
    ];
    let settings = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.into_iter().chain(settings) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle of a file"))
        .stderr(log);
    command
}

fn wait_until_ready(child: &mut Child, port: u16) -> bool {
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let since = Instant::now();
    while since.elapsed() < START_WITHIN {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return false;
        }
        if Client::connect(&url, NoTls).is_ok() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    address.port()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Postgres, is_installed};

    #[test]
    fn a_server_starts_answers_and_goes() {
        if !is_installed() {
            return;
        }
        let server = Postgres::start_with(&[("work_mem", "5MB")]);
        let row = server
            .connect()
            .query_one("SHOW work_mem", &[])
            .expect("an answer");
        assert_eq!(row.get::<_, String>(0), "5MB");
        let said = server.run("psql", &["-XAtc", "SELECT 1 + 1"]);
        assert_eq!(String::from_utf8_lossy(&said.stdout), "2\n");
        let folder = server.folder().to_owned();
        drop(server);
        assert!(!folder.exists());
    }

    #[test]
    fn a_server_that_crashed_starts_again_with_what_was_committed() {
        if !is_installed() {
            return;
        }
        let mut server = Postgres::start();
        let mut client = server.connect();
        client
            .batch_execute("CREATE TABLE t AS SELECT 7 AS a")
            .expect("made");
        server.crash();
        // Its processes briefly outlive it, and may answer once more.
        let patience = Instant::now() + Duration::from_secs(60);
        while client.batch_execute("SELECT 1").is_ok() {
            assert!(Instant::now() < patience, "its processes live on");
        }
        server.start_again();
        let row = server.connect().query_one("SELECT a FROM t", &[]);
        assert_eq!(row.expect("one row").get::<_, i32>(0), 7);
    }
}
