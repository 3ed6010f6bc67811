//! The configuration file.

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use session_core::Protection;
use sql_plan::Rules;

use crate::keys::{KeysConfig, PasswordConfig};
use crate::upstreams::{TargetSessionAttrs, Upstreams};

/// The configuration of `strongroom proxy`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Listener, server, limits.
    pub proxy: ProxyConfig,
    /// Where the column root key is.
    pub keys: Option<KeysConfig>,
    /// What is protected. None: everything passes.
    #[serde(default)]
    pub columns: Rules,
    /// A server of the proxy's own that answers queries over the rows that it has opened. None:
    /// such queries are refused.
    pub finish: Option<FinishConfig>,
}

/// The same file for programs other than the proxy. Each part may be missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// See [`Config::proxy`].
    pub proxy: Option<ProxyConfig>,
    /// See [`Config::keys`].
    pub keys: Option<KeysConfig>,
    /// See [`Config::columns`].
    #[serde(default)]
    pub columns: Rules,
    /// See [`Config::finish`].
    pub finish: Option<FinishConfig>,
}

/// `[finish]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishConfig {
    /// What answers.
    pub engine: FinishEngine,
    /// The folder of its programs. None: the usual folders of packages.
    pub programs: Option<PathBuf>,
    /// The user of the operating system that it runs as. None: that of the proxy. PostgreSQL does
    /// not run as root.
    pub run_as: Option<String>,
    /// Where the folder of its server is made. None: in memory where the system offers that.
    pub folder: Option<PathBuf>,
}

impl FinishConfig {
    /// Takes its paths as relative to a folder.
    pub fn resolve(&mut self, folder: &Path) {
        for path in [&mut self.programs, &mut self.folder].into_iter().flatten() {
            *path = folder.join(&path);
        }
    }
}

/// A server that answers queries for the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishEngine {
    /// PostgreSQL of the server's own major version, as a child of the proxy.
    Postgres,
    /// MariaDB of the server's own version, as a child of the proxy.
    #[serde(rename = "mariadb")]
    MariaDb,
    /// MySQL of the server's own version, as a child of the proxy.
    #[serde(rename = "mysql")]
    MySql,
    /// Nothing does.
    None,
}

/// What clients and server speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// PostgreSQL.
    #[default]
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
}

/// TLS towards clients with a certificate that the proxy makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfSignedTls {
    /// Clients may take it.
    Offered,
    /// Clients must take it.
    Required,
    /// There is none.
    Off,
}

/// `[proxy]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// What clients and server speak.
    #[serde(default)]
    pub protocol: Protocol,
    /// Where clients connect to.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// A socket of the file system where clients of this machine may connect to as well, or the
    /// folder that gets one.
    pub socket: Option<PathBuf>,
    /// The servers.
    pub upstream: Upstreams,
    /// Which of them sessions may be on; of PostgreSQL alone.
    #[serde(default)]
    pub target_session_attrs: TargetSessionAttrs,
    /// How long a server is waited for while there is another one to try.
    #[serde(default = "defaults::connect_timeout_seconds")]
    pub connect_timeout_seconds: NonZeroU32,
    /// The port of Patroni's REST interface, on the hosts of the servers.
    pub patroni_port: Option<NonZeroU16>,
    /// Threads; None: as many as the machine has processors.
    pub workers: Option<NonZeroUsize>,
    /// Clients at a time.
    #[serde(default = "defaults::max_connections")]
    pub max_connections: NonZeroUsize,
    /// Largest message that is looked into; larger ones only pass where they are relayed unread.
    #[serde(default = "defaults::max_message_bytes")]
    pub max_message_bytes: usize,
    /// Rows that the proxy fetches to finish one query.
    #[serde(default = "defaults::max_finish_rows")]
    pub max_finish_rows: usize,
    /// Bytes that the proxy keeps at a time to finish one query.
    #[serde(default = "defaults::max_finish_bytes")]
    pub max_finish_bytes: usize,
    /// How often sessions look whether somebody changed the catalogues past this proxy.
    #[serde(default = "defaults::schema_check_seconds")]
    pub schema_check_seconds: NonZeroU32,
    /// Whether tables that are made get a check by which the server itself refuses plaintext in
    /// protected columns.
    #[serde(default = "defaults::guard")]
    pub guard: bool,
    /// How long a client may take until its session begins.
    #[serde(default = "defaults::startup_timeout_seconds")]
    pub startup_timeout_seconds: NonZeroU32,
    /// How long sessions may go on after the signal to end.
    #[serde(default = "defaults::drain_seconds")]
    pub drain_seconds: u32,
    /// TLS towards clients.
    pub client_tls: Option<ClientTls>,
    /// What holds where [`Self::client_tls`] is not there. None: clients of MySQL are offered TLS,
    /// those of PostgreSQL are not.
    pub self_signed_tls: Option<SelfSignedTls>,
    /// TLS towards the server.
    pub server_tls: Option<ServerTls>,
    /// Verifiers of users, by which the proxy logs them in on both sides; None: it passes on what
    /// both say.
    pub logins: Option<PathBuf>,
    /// Whether users who are not in that file are refused, without that they can tell.
    #[serde(default)]
    pub logins_only: bool,
    /// Whether the server may let clients in without a question when the proxy reaches it by a
    /// socket of the file system: then each of them is whom it says, or the proxy's own user.
    #[serde(default)]
    pub accept_peer: bool,
    /// A connection of the proxy's own to each database. None: other proxies' changes of the schema
    /// are noticed by looking.
    pub watch: Option<WatchConfig>,
    /// An account of the proxy's own, by which it asks each server what it is. None: it learns that
    /// from sessions.
    pub monitor: Option<MonitorConfig>,
    /// Where `/metrics` is served.
    #[serde(default, deserialize_with = "some_address")]
    pub metrics: Option<SocketAddr>,
}

/// `[proxy.watch]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchConfig {
    /// A user of the server who may connect to each database. It needs no other right.
    pub user: String,
    /// Where the password is; None: the server asks for none.
    pub password: Option<PasswordConfig>,
    /// How long statements are planned without that the server was heard of.
    #[serde(default = "defaults::schema_lease_seconds")]
    pub schema_lease_seconds: NonZeroU32,
}

/// `[proxy.monitor]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorConfig {
    /// A user of each server. It needs no right but to connect.
    pub user: String,
    /// Where the password is; None: the servers ask for none.
    pub password: Option<PasswordConfig>,
    /// The database that it connects to, before PostgreSQL.
    #[serde(default = "defaults::monitor_database")]
    pub database: String,
}

/// `[proxy.client_tls]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientTls {
    /// PEM file of the certificate, with those between it and the root.
    pub certificate: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
    /// Whether clients without TLS are refused.
    #[serde(default)]
    pub required: bool,
    /// Whether the proxy makes both at its first start: in one file.
    #[serde(skip)]
    pub is_self_signed: bool,
}

/// The file of a certificate that the proxy makes, beside the configuration.
const SELF_SIGNED: &str = "client-tls.pem";

/// `[proxy.server_tls]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTls {
    /// PEM file of the authorities that may have signed the server's certificate.
    pub root: PathBuf,
    /// The name in the certificates of servers that have none of their own in `upstream`; None:
    /// their hosts.
    pub name: Option<String>,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| {
        D::Error::custom(format!(
            "{text:?} is no address with a port, as 127.0.0.1:6432, 0.0.0.0:6432 or [::1]:6432"
        ))
    };
    text.parse().map_err(wrong)
}

fn some_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(deserializer).map(Some)
}

mod defaults {
    use std::num::{NonZeroU32, NonZeroUsize};

    pub fn max_connections() -> NonZeroUsize {
        NonZeroUsize::new(10_000).expect("it is not zero")
    }

    /// As much as a statement of PostgreSQL may have is a GiB; few need more than this.
    pub fn max_message_bytes() -> usize {
        256 << 20
    }

    pub fn max_finish_rows() -> usize {
        100_000
    }

    pub fn max_finish_bytes() -> usize {
        128 << 20
    }

    pub fn schema_lease_seconds() -> NonZeroU32 {
        NonZeroU32::new(10).expect("it is not zero")
    }

    pub fn monitor_database() -> String {
        "postgres".to_owned()
    }

    pub fn schema_check_seconds() -> NonZeroU32 {
        NonZeroU32::MIN
    }

    pub fn guard() -> bool {
        true
    }

    pub fn connect_timeout_seconds() -> NonZeroU32 {
        NonZeroU32::new(5).expect("it is not zero")
    }

    /// As PostgreSQL's `authentication_timeout`.
    pub fn startup_timeout_seconds() -> NonZeroU32 {
        NonZeroU32::new(60).expect("it is not zero")
    }

    pub fn drain_seconds() -> u32 {
        30
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The file is no TOML, or has other fields. The line is not shown: a key may stand in it by
    /// mistake.
    #[error("{path}, line {line}: {message}")]
    Syntax {
        /// Which.
        path: PathBuf,
        /// Where: the first has number 1.
        line: usize,
        /// Why.
        message: String,
    },
}

/// Reads a file of TOML. Paths in it are as they stand there.
///
/// # Errors
/// It cannot be read, or says what is not understood.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Read {
        path: path.to_owned(),
        error,
    })?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let index = error.span().map_or(0, |span| span.start);
        let before = text.get(..index).unwrap_or_default();
        ConfigError::Syntax {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    })
}

impl Config {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// It cannot be read, or says what is not understood.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut config: Self = read_toml(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        if config.proxy.protocol == Protocol::Mysql {
            config.columns.fold_columns();
        }
        let proxy = &mut config.proxy;
        proxy.client_tls = proxy.client_tls.take().or_else(|| proxy.self_signed());
        if let Some(tls) = &mut proxy.client_tls {
            tls.certificate = folder.join(&tls.certificate);
            tls.key = folder.join(&tls.key);
        }
        if let Some(tls) = &mut proxy.server_tls {
            tls.root = folder.join(&tls.root);
        }
        for path in [&mut proxy.logins, &mut proxy.socket].into_iter().flatten() {
            *path = folder.join(&path);
        }
        if let Some(finish) = &mut config.finish {
            finish.resolve(folder);
        }
        let watch = proxy.watch.as_mut().and_then(|own| own.password.as_mut());
        let monitor = proxy.monitor.as_mut();
        let monitor = monitor.and_then(|own| own.password.as_mut());
        let passwords = [watch, monitor].into_iter().flatten();
        let passwords = passwords.filter_map(|password| password.file.as_mut());
        let key = config.keys.as_mut().and_then(|keys| keys.file.as_mut());
        for path in passwords.chain(key) {
            *path = folder.join(&path);
        }
        Ok(config)
    }
}

impl WatchConfig {
    /// [`Self::schema_lease_seconds`]
    pub fn lease(&self) -> Duration {
        Duration::from_secs(self.schema_lease_seconds.get().into())
    }
}

impl ProxyConfig {
    /// TLS towards clients, where no certificate is named.
    fn self_signed(&self) -> Option<ClientTls> {
        let by_protocol = match self.protocol {
            Protocol::Postgres => SelfSignedTls::Off,
            // Clients that want TLS, and are not offered it, may say their password in clear.
            Protocol::Mysql => SelfSignedTls::Offered,
        };
        let required = match self.self_signed_tls.unwrap_or(by_protocol) {
            SelfSignedTls::Off => return None,
            SelfSignedTls::Offered => false,
            SelfSignedTls::Required => true,
        };
        Some(ClientTls {
            certificate: SELF_SIGNED.into(),
            key: SELF_SIGNED.into(),
            required,
            is_self_signed: true,
        })
    }

    /// [`Self::startup_timeout_seconds`]
    pub fn startup_timeout(&self) -> Duration {
        Duration::from_secs(self.startup_timeout_seconds.get().into())
    }

    /// [`Self::connect_timeout_seconds`]
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.connect_timeout_seconds.get().into())
    }

    /// Protection within the limits of the configuration.
    #[must_use]
    pub fn limit(&self, protection: Protection) -> Protection {
        protection
            .with_guards(self.guard)
            .with_finish_rows_max(self.max_finish_rows)
            .with_finish_bytes_max(self.max_finish_bytes)
            .with_field_size_max(self.max_message_bytes)
            .with_check_interval(Duration::from_secs(self.schema_check_seconds.get().into()))
    }

    /// [`Self::drain_seconds`]
    pub fn drain_time(&self) -> Duration {
        Duration::from_secs(self.drain_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_is_an_error() {
        let text = "[proxy]\nlisten = \"127.0.0.1:1\"\nupstream = \"db:2\"\n";
        assert!(toml::from_str::<Config>(text).is_ok());
        let typo = format!("{text}max_conections = 3\n");
        assert!(toml::from_str::<Config>(&typo).is_err());
        let name = text.replace("127.0.0.1:1", "localhost:1");
        let error = toml::from_str::<Config>(&name).expect_err("it is no address");
        assert!(error.message().contains("127.0.0.1:6432"), "{error}");
        let metrics = format!("{text}metrics = \"127.0.0.1:9\"\n");
        let config = toml::from_str::<Config>(&metrics).expect("an address");
        assert_eq!(config.proxy.metrics.map(|address| address.port()), Some(9));
        for nobody in ["max_connections = 0\n", "startup_timeout_seconds = 0\n"] {
            assert!(toml::from_str::<Config>(&format!("{text}{nobody}")).is_err());
        }
    }

    #[test]
    fn clients_of_mysql_are_offered_tls_unless_it_is_switched_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let tls_of = |more: &str| {
            let path = folder.path().join("strongroom.toml");
            let text = format!("[proxy]\nlisten = \"[::1]:1\"\nupstream = \"db:2\"\n{more}");
            std::fs::write(&path, text).expect("a file");
            Config::read(&path).expect(more).proxy.client_tls
        };
        assert!(tls_of("").is_none(), "PostgreSQL");
        let tls = tls_of("protocol = \"mysql\"").expect("it is offered");
        assert_eq!(tls.certificate, folder.path().join(SELF_SIGNED));
        assert_eq!(
            (tls.certificate == tls.key, tls.required, tls.is_self_signed),
            (true, false, true)
        );
        let required = tls_of("protocol = \"mysql\"\nself_signed_tls = \"required\"");
        assert!(required.expect("it is required").required);
        assert!(tls_of("protocol = \"mysql\"\nself_signed_tls = \"off\"").is_none());
        assert!(tls_of("self_signed_tls = \"offered\"").is_some());
        let named = "protocol = \"mysql\"\n[proxy.client_tls]\ncertificate = \"a\"\nkey = \"b\"";
        assert!(!tls_of(named).expect("it is named").is_self_signed);
    }
}
