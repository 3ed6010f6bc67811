//! From a configuration of tokio-postgres to a client whose columns are sealed in this process.
//!
//! tokio-postgres tries hosts, waits, looks at `target_session_attrs` and remembers whom to ask to
//! cancel. It asks for TLS last, and takes any stream for it: there the session is put in. For that
//! it is told `sslmode=require` and `sslnegotiation=direct`, by which no connection goes past the
//! session; what the user asked for is settled here.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use finisher_postgres::Finishers;
use session_core::Protection;
use tokio::io::{Empty, empty};
use tokio::runtime::Handle;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, Error, Socket};

use crate::finishing::Asking;
use crate::options::{Options, OptionsError};
use crate::stream::{Begin, SealedStream};
use crate::wire::{Terms, Tls, Wire, WireError};

mod through;

use through::{Aimed, Named, Sealing};

/// PostgreSQL's port.
pub(crate) const PORT: u16 = 5432;

/// Makes connections whose protected columns are sealed and opened in this process. All that are
/// made by one connector and its clones share rules, key, schemas and plans: make one per program.
#[derive(Clone)]
pub struct Connector {
    shared: Arc<Shared>,
    /// Where finishers are driven. None: where who asks is.
    runtime: Option<Handle>,
}

struct Shared {
    protection: Arc<Protection>,
    message_size_max: usize,
    tls: Tls,
    finishers: Option<Finishers>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Connector(..)")
    }
}

/// Does the work of one connection: to be spawned, as [`tokio_postgres::Connection`] is. It ends
/// when the client is dropped, or the server is gone.
#[must_use = "nothing happens on a connection that is not polled"]
pub struct Connection(Kind);

// Both are as large, and there is one per connection.
enum Kind {
    Tcp(tokio_postgres::Connection<Socket, SealedStream<Wire>>),
    Local(tokio_postgres::Connection<Empty, SealedStream<Wire>>),
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Connection(..)")
    }
}

/// Connects once: [`Connector::connect`] of a new connector.
///
/// # Errors
/// The options, or the connection.
pub async fn connect(
    config: &Config,
    options: Options,
) -> Result<(Client, Connection), ConnectError> {
    Ok(Connector::new(options)?.connect(config).await?)
}

/// Why [`connect`] gives no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Rules, key or TLS.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// Server or network.
    #[error(transparent)]
    Postgres(#[from] Error),
}

impl Connector {
    /// Checks the rules and reads the key.
    ///
    /// # Errors
    /// See [`OptionsError`].
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        let message_size_max = options.message_size_max();
        let opened = options.open()?;
        let shared = Shared {
            protection: Arc::new(opened.protection),
            message_size_max,
            tls: opened.tls,
            finishers: opened.finishers,
        };
        Ok(Self {
            shared: Arc::new(shared),
            runtime: None,
        })
    }

    /// Has finishers driven by a runtime that outlives all connections: for programs whose
    /// connections are served by several runtimes, of which one may end before the others.
    #[must_use]
    pub fn finish_on(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Connects as [`Config::connect`] does. `sslmode` and `sslnegotiation` of the configuration
    /// are kept, and the server's certificate is always checked.
    ///
    /// # Errors
    /// Those of tokio-postgres. What this crate finds before the session has begun is the source of
    /// one that speaks of TLS, as there is no other to put it into.
    pub async fn connect(&self, config: &Config) -> Result<(Client, Connection), Error> {
        let sealing = Sealing {
            terms: self.terms(config),
            begin: self.begin(config),
        };
        let sealed = through_session(config);
        match Target::of(config) {
            Target::Tcp => {
                let (client, connection) = sealed.connect(Named(sealing)).await?;
                Ok((client, Connection(Kind::Tcp(connection))))
            }
            target => {
                let aimed = Aimed(sealing, target);
                let (client, connection) = sealed.connect_raw(empty(), aimed).await?;
                Ok((client, Connection(Kind::Local(connection))))
            }
        }
    }

    /// Ends the finishers, and waits until their folders are gone. A later query starts them anew.
    /// Without this they end after the last connection and connector.
    pub async fn end_finishers(&self) {
        if let Some(finishers) = &self.shared.finishers {
            finishers.end().await;
        }
    }

    /// Asks the server to stop what it does for a client: [`Client::cancel_token`] gives the token.
    /// What a finisher computes goes on, until the client is dropped or its 30 seconds are over.
    /// `config` is the one that the client was connected by.
    ///
    /// # Errors
    /// The server cannot be reached. Whether there was anything to stop is not known.
    pub async fn cancel(&self, config: &Config, token: &CancelToken) -> Result<(), Error> {
        let terms = self.terms(config);
        match Target::of(config) {
            Target::Tcp => token.cancel_query(Named(terms)).await,
            target => token.cancel_query_raw(empty(), Aimed(terms, target)).await,
        }
    }

    pub(crate) fn terms(&self, config: &Config) -> Terms {
        Terms {
            tls: self.shared.tls.clone(),
            mode: config.get_ssl_mode(),
            negotiation: config.get_ssl_negotiation(),
            connect_timeout: config.get_connect_timeout().copied(),
        }
    }

    pub(crate) fn begin(&self, config: &Config) -> Begin {
        // Several hosts of one configuration are one database, whichever of them answers.
        let server = format!(
            "{:?}{:?}{:?}",
            config.get_hosts(),
            config.get_hostaddrs(),
            config.get_ports()
        );
        Begin {
            protection: Arc::clone(&self.shared.protection),
            server: server.into(),
            message_size_max: self.shared.message_size_max,
            finishers: Asking {
                finishers: self.shared.finishers.clone(),
                runtime: self.runtime.clone(),
            },
        }
    }
}

/// The same configuration, by which tokio-postgres lets no connection go past the session.
fn through_session(config: &Config) -> Config {
    let mut sealed = config.clone();
    sealed
        .ssl_mode(SslMode::Require)
        .ssl_negotiation(SslNegotiation::Direct);
    if config.get_hosts().is_empty() {
        // The certificate is checked by the address where there is no name.
        for address in config.get_hostaddrs() {
            sealed.host(address.to_string());
        }
    }
    sealed
}

/// Where a configuration leads.
enum Target {
    /// tokio-postgres finds it.
    Tcp,
    /// A socket of the file system, for which tokio-postgres asks nobody for TLS.
    Local(PathBuf),
    /// It cannot be.
    Refused(WireError),
}

impl Target {
    fn of(config: &Config) -> Self {
        let folder = |host: &Host| -> Option<PathBuf> {
            match host {
                Host::Tcp(_) => None,
                #[cfg(unix)]
                Host::Unix(folder) => Some(folder.clone()),
            }
        };
        let folders: Vec<PathBuf> = config.get_hosts().iter().filter_map(folder).collect();
        match (
            &*folders,
            config.get_hosts().len() + config.get_hostaddrs().len(),
        ) {
            ([], _) => Self::Tcp,
            ([_], 1) if config.get_target_session_attrs() != TargetSessionAttrs::Any => {
                Self::Refused(WireError::Target)
            }
            ([folder], 1) => {
                let port = config.get_ports().first().copied().unwrap_or(PORT);
                Self::Local(folder.join(format!(".s.PGSQL.{port}")))
            }
            _ => Self::Refused(WireError::Mixed),
        }
    }
}

impl Connection {
    /// The value of a setting that the server reports, as `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        match &self.0 {
            Kind::Tcp(connection) => connection.parameter(name),
            Kind::Local(connection) => connection.parameter(name),
        }
    }

    /// Does the work of the connection until there is a notice or a notification, as
    /// [`tokio_postgres::Connection::poll_message`].
    pub fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, Error>>> {
        match &mut self.0 {
            Kind::Tcp(connection) => connection.poll_message(context),
            Kind::Local(connection) => connection.poll_message(context),
        }
    }
}

impl Future for Connection {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            Kind::Tcp(connection) => Pin::new(connection).poll(context),
            Kind::Local(connection) => Pin::new(connection).poll(context),
        }
    }
}

#[cfg(test)]
mod tests;
