//! What a connector is made of: rules, key, TLS, limits.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use configuration::{
    ConfigError, FinishConfig, FinishEngine, KeysConfig, KeysError, Parts, Protocol, ProxyConfig,
    TlsError, Upstream, UpstreamServer, read_toml,
};
use crypto::secret::Key;
use finisher_postgres::{FinisherOptions, Finishers};
use rustls::ClientConfig;
use session_core::{CHECK_INTERVAL, Protection, Root};
use sql_plan::{Rules, RulesError};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::wire::{Tls, with_protocol};

/// As the proxy has it where its configuration does not say otherwise.
const MESSAGE_SIZE_MAX: usize = 256 << 20;
/// The same.
const CONNECTIONS_MAX: NonZeroUsize = NonZeroUsize::new(10_000).expect("it is not zero");
/// The same.
const START_TIME: Duration = Duration::from_secs(60);

/// Rules, key, and how to speak with the server.
pub struct Options {
    rules: Rules,
    key: Source,
    tls: Tls,
    /// Whose limits hold. None: those that the proxy has by itself.
    limits: Option<ProxyConfig>,
    finish: Option<FinishConfig>,
}

/// How many drivers a program serves at a time ([`Connector::serve`](crate::Connector::serve)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `max_connections` of `[proxy]`.
    pub connections_max: NonZeroUsize,
    /// `startup_timeout_seconds` of `[proxy]`.
    pub start_time: Duration,
    /// `workers` of `[proxy]`. None: as many as are of use.
    pub workers: Option<NonZeroUsize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            start_time: START_TIME,
            workers: None,
        }
    }
}

/// What the connections of a connector share.
pub(crate) struct Opened {
    pub(crate) protection: Protection,
    pub(crate) tls: Tls,
    pub(crate) finishers: Option<Finishers>,
}

enum Source {
    Known(Root),
    Named(KeysConfig),
}

/// Options that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The file cannot be read, is no TOML, or has other tables.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// Another server than these sessions are for.
    #[error(
        "[proxy] has protocol = \"mysql\": in process there are sessions with PostgreSQL alone"
    )]
    Protocol,
    /// Rules that contradict themselves.
    #[error("{}", in_lines(.0))]
    Rules(Vec<RulesError>),
    /// Nothing would be protected.
    #[error("there are no rules: name the columns to protect in [columns.TABLE]")]
    NoRules,
    /// There is no key.
    #[error("there is no key to protect columns with: add [keys]")]
    NoKeys,
    /// The key cannot be had.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The authorities cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

fn in_lines(errors: &[RulesError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Options(..)")
    }
}

impl Options {
    /// Reads `[keys]`, `[columns]` and `[finish]` of a configuration file. It may be that of the
    /// proxy: of `[proxy]` the limits are taken and the authorities of `server_tls`; all else there
    /// is the proxy's own business.
    ///
    /// # Errors
    /// The file, or its authorities. Rules and key are looked at when the connector is made.
    pub fn read(path: &Path) -> Result<Self, OptionsError> {
        let file: Parts = read_toml(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut keys = file.keys.ok_or(OptionsError::NoKeys)?;
        if let Some(file) = &mut keys.file {
            *file = folder.join(&file);
        }
        let mut options = Self::of(file.columns, Source::Named(keys));
        if let Some(mut proxy) = file.proxy {
            if proxy.protocol != Protocol::Postgres {
                return Err(OptionsError::Protocol);
            }
            if let Some(tls) = proxy.server_tls.take() {
                options = options.tls_root(&folder.join(tls.root))?;
                options.tls.name = tls.name;
                if let [
                    UpstreamServer {
                        tls_name: Some(name),
                        ..
                    },
                ] = proxy.upstream.servers()
                {
                    options.tls.name = Some(name.clone());
                }
            }
            options.limits = Some(proxy);
        }
        options.finish = file.finish;
        if let Some(finish) = &mut options.finish {
            finish.resolve(folder);
        }
        Ok(options)
    }

    /// Rules as the text of `[columns.TABLE]` tables, and the key itself: for programs that have it
    /// from elsewhere than a file, a variable or a command.
    ///
    /// # Errors
    /// The rules.
    pub fn with_key(rules: &str, key: Key) -> Result<Self, OptionsError> {
        let rules = Rules::from_toml(rules).map_err(OptionsError::Rules)?;
        Ok(Self::of(rules, Source::Known(Root::new(key))))
    }

    fn of(rules: Rules, key: Source) -> Self {
        Self {
            rules,
            key,
            tls: Tls {
                config: None,
                name: None,
            },
            limits: None,
            finish: None,
        }
    }

    /// The authorities (a PEM file) of which one must have signed the server's certificate. Without
    /// them no connection has TLS, and `sslmode=require` is refused.
    ///
    /// # Errors
    /// The file.
    pub fn tls_root(self, path: &Path) -> Result<Self, OptionsError> {
        Ok(self.tls(configuration::client_config(path)?))
    }

    /// TLS as the program wants it: with a certificate of its own, or with the authorities of the
    /// system.
    #[must_use]
    pub fn tls(mut self, config: ClientConfig) -> Self {
        self.tls.config = Some(with_protocol(config));
        self
    }

    /// The name to expect in the server's certificate, where it is not the host.
    #[must_use]
    pub fn tls_name(mut self, name: impl Into<String>) -> Self {
        self.tls.name = Some(name.into());
        self
    }

    /// What `[proxy]` says of clients.
    pub fn limits(&self) -> Limits {
        let limits = self.limits.as_ref();
        limits.map_or_else(Limits::default, |proxy| Limits {
            connections_max: proxy.max_connections,
            start_time: proxy.startup_timeout(),
            workers: proxy.workers,
        })
    }

    /// The server of `[proxy]`, as the proxy connects to it, or the servers.
    /// None: the file has no `[proxy]`.
    pub fn upstream(&self) -> Option<Config> {
        let mut config = Config::new();
        for server in self.limits.as_ref()?.upstream.servers() {
            match &server.address {
                Upstream::Tcp(host, port) => config.host(host).port(*port),
                Upstream::Unix(path) => config.host_path(path),
            };
        }
        config.ssl_mode(match self.tls.config.is_some() {
            true => SslMode::Require,
            false => SslMode::Disable,
        });
        Some(config)
    }

    /// Largest message that is looked into.
    pub(crate) fn message_size_max(&self) -> usize {
        let limits = self.limits.as_ref();
        limits.map_or(MESSAGE_SIZE_MAX, |proxy| proxy.max_message_bytes)
    }

    /// What connections share.
    pub(crate) fn open(self) -> Result<Opened, OptionsError> {
        if self.rules.tables.is_empty() {
            return Err(OptionsError::NoRules);
        }
        let finishers = self.finish.as_ref().and_then(finishers);
        Protection::check_rules(&self.rules, finishers.is_some()).map_err(OptionsError::Rules)?;
        let root = match self.key {
            Source::Known(root) => root,
            Source::Named(keys) => keys.read()?,
        };
        let protection = Protection::new(self.rules, root, configuration::now);
        let mut protection = match &self.limits {
            Some(proxy) => proxy.limit(protection),
            None => protection.with_check_interval(CHECK_INTERVAL),
        };
        if let Some(finishers) = finishers.clone() {
            protection = protection.with_finisher(Arc::new(move |major| finishers.offers(major)));
        }
        Ok(Opened {
            protection,
            tls: self.tls,
            finishers,
        })
    }
}

/// Servers of the program's own, by `[finish]`. None is started before it is needed.
fn finishers(finish: &FinishConfig) -> Option<Finishers> {
    match finish.engine {
        // There is nothing that it could answer for PostgreSQL.
        FinishEngine::MariaDb | FinishEngine::MySql | FinishEngine::None => None,
        FinishEngine::Postgres => Some(Finishers::new(FinisherOptions {
            programs: finish.programs.clone(),
            run_as: finish.run_as.clone(),
            folder: finish.folder.clone(),
            ..FinisherOptions::default()
        })),
    }
}
