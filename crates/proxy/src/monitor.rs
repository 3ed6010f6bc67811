//! The monitor: an account of the proxy's own, by which it asks each server every second what it is
//! and whether it can serve.
//!
//! It has a connection to each server for as long as that answers. What it learns decides which
//! servers sessions may try. It needs no right, and reads nothing of a database.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use configuration::{MonitorConfig, Protocol};
use tokio::time::timeout;

use crate::servers::{Server, Verdict};

mod mysql;
mod postgres;

/// How long a server may take to let the monitor in and to answer.
const ASK_TIME: Duration = Duration::from_secs(5);

/// The monitor of one server.
pub(crate) struct Monitor {
    account: MonitorConfig,
    protocol: Protocol,
    server: Arc<Server>,
    connection: Option<Connection>,
    /// What the log was told last that is wrong.
    told: Option<String>,
}

enum Connection {
    MySql(mysql::Connection),
    Postgres(postgres::Connection),
}

/// Why nothing is learnt.
#[derive(Debug, thiserror::Error)]
enum MonitorError {
    /// The server cannot be reached, or has gone.
    #[error("{0}")]
    Server(#[from] io::Error),
    /// It has been reached, and does not say what it is.
    #[error("{0}")]
    Refused(String),
}

impl Monitor {
    pub(crate) fn new(account: MonitorConfig, protocol: Protocol, server: Arc<Server>) -> Self {
        Self {
            account,
            protocol,
            server,
            connection: None,
            told: None,
        }
    }

    /// Asks once, and notes the answer.
    pub(crate) async fn look(&mut self) {
        // A connection that was lost says little of the server: it is opened anew at once.
        let was_open = self.connection.is_some();
        let mut asked = self.ask_in_time().await;
        if asked.is_err() && was_open {
            asked = self.ask_in_time().await;
        }
        match asked {
            Ok(verdict) => {
                // In this order: it is not to be known as reached without what it is.
                self.server.note_verdict(Some(verdict));
                self.server.note_look();
                if self.told.take().is_some() {
                    tracing::info!(server = %self.server.name, "the monitor is back");
                }
            }
            Err(MonitorError::Server(error)) => self.server.note_failure(&error),
            // Nobody knows of it that it can serve, unless a session finds out.
            Err(MonitorError::Refused(error)) => {
                self.server.note_silence();
                if self.told.as_ref() != Some(&error) {
                    tracing::warn!(
                        server = %self.server.name, %error,
                        "the monitor ([proxy.monitor]) does not learn what the server is"
                    );
                    self.told = Some(error);
                }
            }
        }
    }

    async fn ask_in_time(&mut self) -> Result<Verdict, MonitorError> {
        let asked = timeout(ASK_TIME, self.ask()).await;
        let asked = asked.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
        if asked.is_err() {
            self.connection = None;
        }
        asked
    }

    async fn ask(&mut self) -> Result<Verdict, MonitorError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.open().await?,
        };
        let verdict = match &mut connection {
            Connection::MySql(own) => {
                let (is_galera, verdict) = own.ask().await?;
                self.server.note_galera(is_galera);
                verdict
            }
            Connection::Postgres(own) => own.ask().await?,
        };
        self.connection = Some(connection);
        Ok(verdict)
    }

    async fn open(&self) -> Result<Connection, MonitorError> {
        let (server, account) = (&*self.server, &self.account);
        Ok(match self.protocol {
            Protocol::Mysql => Connection::MySql(mysql::Connection::open(server, account).await?),
            Protocol::Postgres => {
                Connection::Postgres(postgres::Connection::open(server, account).await?)
            }
        })
    }
}

/// The password of the account. Empty: there is none.
fn password(account: &MonitorConfig) -> Result<zeroize::Zeroizing<Vec<u8>>, MonitorError> {
    let Some(password) = &account.password else {
        return Ok(zeroize::Zeroizing::default());
    };
    let password = password.read();
    let password = password.map_err(|error| MonitorError::Refused(error.to_string()))?;
    Ok(zeroize::Zeroizing::new(password.expose().to_vec()))
}
