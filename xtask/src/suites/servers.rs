//! A PostgreSQL server and a proxy of their own, for the suites of protected columns.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::command::{read, succeeds};

/// User and group `nobody` and `nogroup`: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;
const START_WITHIN: Duration = Duration::from_secs(60);

/// A server of its own, which ends with this value.
pub struct Server {
    child: Child,
    programs: PathBuf,
    pub port: u16,
}

impl Server {
    /// Starts one with its data below `folder`, which then belongs to the user of the server.
    pub fn start(programs: &Path, folder: &Path, settings: &[&str]) -> anyhow::Result<Self> {
        let data = folder.join("data");
        fs::create_dir(&data)?;
        give_to_server(folder)?;
        give_to_server(&data)?;
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            as_server(command.stdin(Stdio::null()).current_dir(&data));
            command.arg("-D").arg(&data);
            command
        };
        let initdb = ["-U", "postgres", "-A", "trust", "--locale", "C.UTF-8"];
        read(command("initdb").args(initdb))?;
        let port = free_port()?;
        let log = fs::File::create(folder.join("log"))?;
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let child = command("postgres")
            .args(["-p", &port.to_string(), "-k", "", "-c", "fsync=off"])
            .args(settings)
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let programs = programs.to_owned();
        let server = Self {
            child,
            programs,
            port,
        };
        await_that(|| succeeds(&mut server.psql(port, "postgres", "SELECT 1")))?;
        Ok(server)
    }

    /// Has the server execute a text.
    pub fn sql(&self, database: &str, text: &str) -> anyhow::Result<()> {
        self.sql_by(self.port, database, text)
    }

    /// The same by another port, which may be a proxy's.
    pub fn sql_by(&self, port: u16, database: &str, text: &str) -> anyhow::Result<()> {
        read(&mut self.psql(port, database, text)).map(drop)
    }

    /// What a proxy needs to know of it.
    pub fn upstream(&self) -> Upstream {
        Upstream {
            port: self.port,
            protocol: "postgres",
            engine: "postgres",
        }
    }

    fn psql(&self, port: u16, database: &str, text: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        let port = port.to_string();
        let options = ["-XqAt", "-h", "127.0.0.1", "-U", "postgres", "-p", &port];
        command.args(options).args(["-v", "ON_ERROR_STOP=1"]);
        command.args(["-c", text, database]);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server, as the configuration of a proxy names it.
pub struct Upstream {
    pub port: u16,
    pub protocol: &'static str,
    /// The finisher of this product.
    pub engine: &'static str,
}

/// A proxy, which ends with this value.
pub struct Proxy {
    child: Child,
    pub port: u16,
}

impl Proxy {
    /// Starts one with a key of its own, and with `rules`, a text for its configuration.
    pub fn start(
        strongroom: &Path,
        server: &Upstream,
        folder: &Path,
        rules: &str,
    ) -> anyhow::Result<Self> {
        let port = free_port()?;
        let config = folder.join("strongroom.toml");
        let Upstream {
            port: upstream,
            protocol,
            engine,
        } = server;
        let text = format!(
            "[proxy]\nprotocol = \"{protocol}\"\nlisten = \"127.0.0.1:{port}\"\n\
             upstream = \"127.0.0.1:{upstream}\"\n[keys]\nfile = \"columns.key\"\n\
             [finish]\nengine = \"{engine}\"\nrun_as = \"nobody\"\n{rules}"
        );
        fs::write(&config, text)?;
        let key = folder.join("columns.key");
        if !key.exists() {
            let create = ["columns", "create-key"];
            read(Command::new(strongroom).args(create).arg(key))?;
        }
        let child = Command::new(strongroom)
            .args(["proxy", "--log-level", "error", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .spawn()?;
        let proxy = Self { child, port };
        await_that(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Has a command run as the user of the server.
pub fn as_server(command: &mut Command) -> &mut Command {
    match is_root() {
        true => command.uid(NOBODY).gid(NOBODY),
        false => command,
    }
}

/// Gives a file or folder to the user of the server.
pub fn give_to_server(path: &Path) -> anyhow::Result<()> {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub fn await_that(is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let until = Instant::now() + START_WITHIN;
    while !is_so() {
        if Instant::now() > until {
            bail!("a server did not start");
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
