//! PostgreSQL behind `strongroom proxy`, which encrypts columns by rules: one engine without rules,
//! to show the cost of the proxy itself, and one for each set of columns of TPC-C.
//!
//! Server, proxy and key are new for each pass. The proxy is this program itself, so another
//! program, such as a test, has no proxy.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::engine::{
    Cause, Connection, Durability, Engine, EngineError, Profile, ScriptCommand, Server,
};
use lab::tpcc::{Terminal, Terminals};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use workloads::Dialect;
use workloads::tpcc::Isolation;

use crate::mysql::{self, Brand, MySql};
use crate::names::{self, PROXY_FAMILY};
use crate::postgres::{self, Postgres};
use crate::server::{Address, Product, Running, Witness, free_port};
use crate::server_engine::ServerEngine;

mod variants;

use variants::VARIANTS_OF_MYSQL;
pub(crate) use variants::{VARIANTS, Variant};

/// Timeout for the proxy to start listening, or to exit.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// A server and a proxy before it.
pub(crate) struct ProxyEngine<P: Product> {
    profile: Profile,
    variant: Variant,
    server: ServerEngine<P>,
    proxy: Mutex<Option<Arc<Proxy>>>,
}

pub(crate) fn family() -> impl Iterator<Item = ProxyEngine<Postgres>> {
    VARIANTS.into_iter().map(|variant| {
        let words = format!("PostgreSQL behind `strongroom proxy`, {}", variant.words);
        let profile = profile(PROXY_FAMILY, variant.suffix, words);
        ProxyEngine {
            server: ServerEngine::new(profile.clone(), postgres::product()),
            profile,
            variant,
            proxy: Mutex::new(None),
        }
    })
}

/// MariaDB and MySQL, each behind a proxy.
pub(crate) fn family_of_mysql() -> impl Iterator<Item = ProxyEngine<MySql>> {
    [
        (Brand::MariaDb, names::MARIADB, names::MARIADB_PROXY_FAMILY),
        (Brand::MySql, names::MYSQL, names::MYSQL_PROXY_FAMILY),
    ]
    .into_iter()
    .flat_map(|(brand, base, family)| {
        VARIANTS_OF_MYSQL.into_iter().map(move |variant| {
            let product = mysql::product(brand);
            let name = product.name();
            let words = format!("{name} behind `strongroom proxy`, {}", variant.words);
            let profile = Profile {
                name: format!("{base}{}", variant.suffix),
                family: family.to_owned(),
                dialect: Dialect::Mysql,
                base: Some(base.to_owned()),
                ..profile(family, variant.suffix, words)
            };
            ProxyEngine {
                server: ServerEngine::new(profile.clone(), product),
                profile,
                variant,
                proxy: Mutex::new(None),
            }
        })
    })
}

/// The profile of an engine with rules.
pub(crate) fn profile(family: &str, suffix: &str, description: String) -> Profile {
    Profile {
        name: format!("{family}{suffix}"),
        description,
        family: family.to_owned(),
        dialect: Dialect::Postgres,
        base: Some("postgres".to_owned()),
        durability: Durability::Full,
        // Only single columns are encrypted: most of what a server stores stays readable.
        cipher: None,
        control: false,
    }
}

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
enum ProxyError {
    #[error("this program has no command `{command}`: the engine is not available")]
    Missing { command: &'static str },
    #[error("cannot use {path}", path = .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the key was not created ({status}); it said: {said}")]
    Key {
        status: std::process::ExitStatus,
        said: String,
    },
    #[error("the proxy has ended ({status}); it said: {said}")]
    Ended {
        status: std::process::ExitStatus,
        said: String,
    },
    #[error("the proxy does not listen after {seconds} s; it said: {said}")]
    Silent { seconds: u64, said: String },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ProxyError {
    let path = path.to_owned();
    move |source| ProxyError::File { path, source }
}

/// A running proxy. Dropping the last reference kills it.
struct Proxy {
    child: Mutex<Child>,
    address: Address,
    log: PathBuf,
    server: Arc<Running>,
}

/// The path of this program, if it has a proxy, and can generate a key if there are rules.
fn program(has_rules: bool) -> Result<PathBuf, ProxyError> {
    static HAS_PROXY: OnceLock<bool> = OnceLock::new();
    static HAS_KEYS: OnceLock<bool> = OnceLock::new();
    let this_program = std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?;
    let says = |command: &str, word: &str| {
        let help = Command::new(&this_program)
            .args([command, "--help"])
            .output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(word))
    };
    if !HAS_PROXY.get_or_init(|| says("proxy", "--config")) {
        return Err(ProxyError::Missing { command: "proxy" });
    }
    if has_rules && !HAS_KEYS.get_or_init(|| says("columns", "create-key")) {
        let command = "columns create-key";
        return Err(ProxyError::Missing { command });
    }
    Ok(this_program)
}

/// The configuration of a proxy between two local ports.
fn configuration(port: u16, upstream: u16, key: &Path, variant: &Variant) -> String {
    let mut text = format!(
        "[proxy]\nlisten = \"127.0.0.1:{port}\"\nupstream = \"127.0.0.1:{upstream}\"\n\
         drain_seconds = 1\nguard = {}\nprotocol = \"{}\"\nself_signed_tls = \"off\"\n",
        variant.guards, variant.protocol
    );
    if let Some(rules) = variant.rules {
        let key = toml::Value::String(key.display().to_string());
        // The database of the lab.
        let rules = rules.replace("[columns.\"tpcc.", "[columns.\"lab.");
        text += &format!("\n[keys]\nfile = {key}\n\n{rules}");
    }
    text
}

impl Proxy {
    /// Starts a proxy in its folder, and returns when it listens.
    fn start(
        folder: &Path,
        variant: &Variant,
        server: Arc<Running>,
    ) -> Result<Arc<Self>, ProxyError> {
        let has_rules = variant.rules.is_some();
        let program = program(has_rules)?;
        fs::create_dir_all(folder).map_err(at(folder))?;
        let key = folder.join("column.key");
        if has_rules && !key.exists() {
            create_key(&program, &key)?;
        }
        let port = free_port().map_err(at(folder))?;
        let path = folder.join("strongroom.toml");
        let text = configuration(port, server.address.port, &key, variant);
        fs::write(&path, text).map_err(at(&path))?;
        let log = folder.join("proxy.log");
        let output = || {
            File::options()
                .append(true)
                .create(true)
                .open(&log)
                .map_err(at(&log))
        };
        let child = Command::new(&program)
            // The lab must read its files below /proc to measure it.
            .args(["proxy", "--allow-dumps", "--config"])
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(output()?)
            .stderr(output()?)
            .spawn()
            .map_err(at(&program))?;
        let address = Address {
            port,
            password: server.address.password.clone(),
        };
        let proxy = Self {
            child: Mutex::new(child),
            address,
            log,
            server,
        };
        proxy.wait_for()?;
        Ok(Arc::new(proxy))
    }

    fn wait_for(&self) -> Result<(), ProxyError> {
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.address.port)).is_err() {
            if let Some(error) = self.obituary() {
                return Err(error);
            }
            if began.elapsed() > PATIENCE {
                return Err(ProxyError::Silent {
                    seconds: PATIENCE.as_secs(),
                    said: last_words(&self.log),
                });
            }
            sleep(PAUSE);
        }
        Ok(())
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pid(&self) -> i32 {
        self.child().id().cast_signed()
    }

    /// How it exited, if it has.
    fn obituary(&self) -> Option<ProxyError> {
        let status = self.child().try_wait().ok()??;
        let log_end = last_words(&self.log);
        Some(ProxyError::Ended {
            status,
            said: log_end,
        })
    }

    /// Ends it gracefully, or by force after a timeout.
    fn end(&self) {
        if self.obituary().is_some() {
            return;
        }
        // Not reaped yet, so the number is still this process.
        let _reported_by_wait = kill(Pid::from_raw(self.pid()), Signal::SIGTERM);
        let began = Instant::now();
        while self.obituary().is_none() {
            if began.elapsed() > PATIENCE {
                drop(self.child().kill());
                drop(self.child().wait());
                return;
            }
            sleep(PAUSE);
        }
    }
}

impl Witness for Proxy {
    fn why_lost(&self) -> String {
        match self.obituary() {
            Some(error) => error.to_string(),
            None => self.server.why_lost(),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

fn create_key(program: &Path, key: &Path) -> Result<(), ProxyError> {
    let created = Command::new(program)
        .args(["columns", "create-key"])
        .arg(key)
        .stdin(Stdio::null())
        .output()
        .map_err(at(program))?;
    if created.status.success() {
        return Ok(());
    }
    Err(ProxyError::Key {
        status: created.status,
        said: String::from_utf8_lossy(&created.stderr).trim().to_owned(),
    })
}

/// The last lines of a log.
fn last_words(log: &Path) -> String {
    const LINES: usize = 3;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    match lines.len() {
        0 => "nothing".to_owned(),
        count => lines[count.saturating_sub(LINES)..].join(" | "),
    }
}

impl<P: Product> ProxyEngine<P> {
    /// The proxy for the server on the data in the folder; starts both if needed.
    fn ready(&self, folder: &Path) -> Result<Arc<Proxy>, EngineError> {
        let server = self.server.ready(folder)?;
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = &*proxy {
            return Ok(Arc::clone(proxy));
        }
        let started = Proxy::start(&folder.join("proxy"), &self.variant, server);
        let started = started.map_err(|error| EngineError::Open(Cause::from(error)))?;
        Ok(Arc::clone(proxy.insert(started)))
    }

    fn running(&self) -> Option<Arc<Proxy>> {
        let proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        proxy.as_ref().map(Arc::clone)
    }

    fn end_proxy(&self) {
        let proxy = self
            .proxy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(proxy) = proxy {
            proxy.end();
        }
    }
}

impl<P: Product> Engine for ProxyEngine<P> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        let missing = program(self.variant.rules.is_some())
            .err()
            .map(|error| error.to_string());
        self.server.missing().or(missing)
    }

    fn server(&self) -> Server {
        Server::Child
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        self.server.create(folder)?;
        self.ready(folder).map(drop)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let proxy = self.ready(folder)?;
        let address = proxy.address.clone();
        self.server.connection_at(&address, proxy)
    }

    fn stop(&self) -> Result<(), EngineError> {
        self.end_proxy();
        self.server.stop()
    }

    fn terminals(&self) -> Option<&dyn Terminals> {
        Some(self)
    }

    fn script_command(&self, _folder: &Path) -> Option<ScriptCommand> {
        self.server.shell_at(&self.running()?.address)
    }
}

impl<P: Product> Terminals for ProxyEngine<P> {
    fn open_terminal(
        &self,
        folder: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError> {
        let proxy = self.ready(folder)?;
        let address = proxy.address.clone();
        self.server.terminal_at(&address, proxy, isolation)
    }

    fn proxy(&self) -> Option<i32> {
        self.running().map(|proxy| proxy.pid())
    }

    fn gather_statistics(&self, table: &str) -> Result<(), EngineError> {
        self.server.gather_statistics(table)
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.server.settle()
    }

    fn database_bytes(&self) -> Result<u64, EngineError> {
        self.server.database_bytes()
    }
}

impl<P: Product> Drop for ProxyEngine<P> {
    fn drop(&mut self) {
        // Before the server, which would wait for its connections.
        self.end_proxy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_is_one() {
        for variant in VARIANTS.into_iter().chain(VARIANTS_OF_MYSQL) {
            let suffix = variant.suffix;
            let text = configuration(5433, 5432, Path::new("/a \"b\"/key"), &variant);
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(table["proxy"]["upstream"].as_str(), Some("127.0.0.1:5432"));
            for part in ["keys", "columns"] {
                let has_rules = variant.rules.is_some();
                assert_eq!(table.contains_key(part), has_rules, "{suffix}");
            }
            assert_eq!(table["proxy"]["guard"].as_bool(), Some(variant.guards));
        }
    }

    /// The rules' types must match the columns that the workload creates.
    #[test]
    fn rules_and_tables_agree() {
        for Variant { suffix, rules, .. } in VARIANTS.into_iter().chain(VARIANTS_OF_MYSQL) {
            let Some(rules) = rules else { continue };
            let rules: toml::Table = rules.parse().unwrap();
            for (table, columns) in rules["columns"].as_table().unwrap() {
                let table = table.strip_prefix("tpcc.").unwrap_or(table);
                let tables = workloads::tpcc::schema::TABLES;
                let known = tables.iter().find(|one| one.name == table).unwrap();
                for (column, rule) in columns.as_table().unwrap() {
                    let (_, declared) = known
                        .columns
                        .iter()
                        .find(|(known, _)| known == column)
                        .unwrap();
                    let logical = rule["type"].as_str().unwrap();
                    assert!(
                        same(declared, logical),
                        "{suffix}: {column} {declared} {logical}"
                    );
                }
            }
        }
    }

    fn same(declared: &str, logical: &str) -> bool {
        let declared = declared.replace(", ", ",");
        // In MySQL, times have all digits.
        let logical = logical.replace("timestamp(6)", "timestamp");
        let word = declared.split(' ').next().unwrap();
        let known = match word {
            "int" => "integer".to_owned(),
            "float" => "double precision".to_owned(),
            word => word.replace("decimal", "numeric"),
        };
        known == logical
    }
}
