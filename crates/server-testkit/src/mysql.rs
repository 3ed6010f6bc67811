//! A separate MariaDB or MySQL for each test.
//!
//! MariaDB comes from the system's packages. MySQL is looked for in the folder
//! `STRONGROOM_TEST_MYSQL`, or where `strongroom lab install mysql` puts it. Neither runs as root.

use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{START_WITHIN, command, free_port, give_away, put, temporary_folder};

/// Which of the two products with one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brand {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Brand {
    /// Whether it is installed; tests that need it are skipped otherwise, and must say so.
    ///
    /// # Panics
    ///
    /// If MariaDB is not, although `STRONGROOM_TEST_SERVERS` says that it must be.
    pub fn is_installed(self) -> bool {
        let found = self.server().is_some();
        assert!(
            found || self == Self::MySql || env::var_os("STRONGROOM_TEST_SERVERS").is_none(),
            "STRONGROOM_TEST_SERVERS is set, and MariaDB is not installed"
        );
        found
    }

    /// The folder of its server's program. None: it is not installed.
    pub fn programs(self) -> Option<PathBuf> {
        Some(self.server()?.parent()?.to_owned())
    }

    fn server(self) -> Option<PathBuf> {
        let program = match self {
            Self::MariaDb => ["/usr/sbin", "/usr/libexec"]
                .map(|folder| Path::new(folder).join("mariadbd"))
                .into_iter()
                .find(|program| program.is_file())?,
            Self::MySql => mysql_folder()?.join("bin/mysqld"),
        };
        program.is_file().then_some(program)
    }
}

/// The folder of MySQL.
fn mysql_folder() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("STRONGROOM_TEST_MYSQL") {
        return Some(folder.into());
    }
    let home = env::var_os("HOME").map(PathBuf::from)?;
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.unwrap_or_else(|| home.join(".local/share"));
    Some(data.join("strongroom/lab/mysql"))
}

/// A running server. The superuser is `root`, who has no password.
pub struct MySql {
    child: Child,
    folder: TempDir,
    port: u16,
    /// How to start it again.
    brand: Brand,
    arguments: Vec<String>,
}

impl MySql {
    /// Starts a server with arguments besides those that it needs, and files of its folder `data`'s
    /// parent. It runs `sql` first, a statement a line.
    ///
    /// # Panics
    ///
    /// If it does not start, since a test cannot go on.
    pub fn start(brand: Brand, arguments: &[&str], files: &[(&str, &[u8])], sql: &str) -> Self {
        let program = brand.server().expect("ask is_installed() first");
        let folder = temporary_folder();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
        give_away(folder.path());
        initialise(brand, folder.path());
        put(&folder.path().join("first.sql"), sql.as_bytes());
        for (name, bytes) in files {
            put(&folder.path().join(name), bytes);
        }
        // Another process may take the port between its choice and the server's start.
        for attempt in 1.. {
            let port = free_port();
            let mut child = server(brand, &program, folder.path(), port)
                .args(arguments)
                .spawn()
                .expect("the server runs");
            if is_ready(&mut child, port) {
                let arguments = arguments.iter().map(|argument| (*argument).to_owned());
                return Self {
                    child,
                    folder,
                    port,
                    brand,
                    arguments: arguments.collect(),
                };
            }
            let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            assert!(attempt < 5, "{brand:?} does not start:\n{log}");
        }
        unreachable!("the loop ends by return or panic")
    }

    /// Starts it again after [`Self::crash`], with the same files and port.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        self.start_again_with(self.arguments.clone());
    }

    /// The same with other arguments.
    pub(crate) fn start_again_with(&mut self, arguments: Vec<String>) {
        self.arguments = arguments;
        let program = self.brand.server().expect("it was there");
        // What was done first has been done.
        put(&self.folder().join("first.sql"), b"");
        self.child = server(self.brand, &program, self.folder(), self.port)
            .args(&self.arguments)
            .spawn()
            .expect("the server runs");
        let is_ready = is_ready(&mut self.child, self.port);
        let log = fs::read_to_string(self.folder().join("log")).unwrap_or_default();
        assert!(is_ready, "{:?} does not start:\n{log}", self.brand);
    }

    /// The port, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The socket of the file system.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("server.sock")
    }

    /// The folder of all its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
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
}

impl Drop for MySql {
    fn drop(&mut self) {
        // It may be dead; its folder goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Log files of the usual size would be most of what is written.
const SMALL: &str = "--innodb-log-file-size=8M";

fn initialise(brand: Brand, folder: &Path) {
    let data = format!("--datadir={}", folder.join("data").display());
    let mut command = match brand {
        Brand::MariaDb => {
            let mut command = command(Path::new("mariadb-install-db"));
            command.args(["--no-defaults", SMALL, "--skip-test-db"]);
            command.arg("--auth-root-authentication-method=normal");
            command
        }
        Brand::MySql => {
            let mut command = command(&brand.server().expect("it is installed"));
            command.args(["--no-defaults", SMALL, "--initialize-insecure"]);
            command.args(mysql_folders());
            command
        }
    };
    let made = own_files(&mut command, folder).arg(data).output();
    let made = made.expect("the installation runs");
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{brand:?} is not set up:\n{said}");
}

/// A server that starts removes the temporary tables that it finds, also those of another server.
fn own_files<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command.current_dir(folder).env("TMPDIR", folder)
}

/// A MySQL that was unpacked to any folder must be told where it is.
fn mysql_folders() -> Vec<String> {
    let base = mysql_folder().expect("it is installed");
    let share = base.join("share");
    vec![
        format!("--basedir={}", base.display()),
        format!("--lc-messages-dir={}", share.display()),
    ]
}

fn server(brand: Brand, program: &Path, folder: &Path, port: u16) -> Command {
    let log = File::create(folder.join("log")).expect("own folder");
    let mut command = command(program);
    own_files(&mut command, folder)
        .args(["--no-defaults", SMALL, "--bind-address=127.0.0.1"])
        .arg(format!("--datadir={}", folder.join("data").display()))
        .arg(format!("--port={port}"))
        .arg(format!("--socket={}", folder.join("server.sock").display()))
        .arg(format!("--pid-file={}", folder.join("pid").display()))
        .arg(format!(
            "--init-file={}",
            folder.join("first.sql").display()
        ))
        .args(["--character-set-server=utf8mb4", "--max-allowed-packet=64M"])
        // Tests lose nothing that they need when they lose power.
        .arg("--innodb-flush-log-at-trx-commit=0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    if brand == Brand::MySql {
        command.args(["--mysqlx=OFF", "--skip-log-bin"]);
        command.args(mysql_folders());
    }
    command
}

/// Whether the server greets before it ends, or fails to.
fn is_ready(child: &mut Child, port: u16) -> bool {
    let start = Instant::now();
    while start.elapsed() < START_WITHIN {
        if child.try_wait().expect("it is ours").is_some() {
            return false;
        }
        let greets = TcpStream::connect(("127.0.0.1", port)).is_ok_and(|mut socket| {
            let mut header = [0; 5];
            let read = socket.read_exact(&mut header);
            read.is_ok() && header[4] == 10
        });
        if greets {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
