//! The monitor: an account of the proxy's own, by which it asks each server every second what it is
//! and whether it can serve.
//!
//! It has a connection to each server for as long as that answers. What it learns decides which
//! servers sessions may try. It needs no right, and reads nothing of a database.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use configuration::{KeysError, MonitorConfig, Protocol};
use crypto::secret::SecretBytes;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::servers::{Server, Verdict, Witness};

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
    /// The password, until the server refuses it: it may be another one by then.
    password: Option<Zeroizing<Vec<u8>>>,
    /// A command may take its time: it keeps nobody from this thread, and runs once at a time.
    reading: Option<JoinHandle<Result<SecretBytes, KeysError>>>,
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
    /// It says that it cannot serve anybody now.
    #[error("{0}")]
    CannotServe(String),
}

impl Monitor {
    pub(crate) fn new(account: MonitorConfig, protocol: Protocol, server: Arc<Server>) -> Self {
        Self {
            account,
            protocol,
            server,
            connection: None,
            password: None,
            reading: None,
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
                self.server.note_verdict(Witness::Monitor, verdict);
                self.server.note_look();
                if self.told.take().is_some() {
                    tracing::info!(server = %self.server.name, "the monitor is back");
                }
            }
            Err(MonitorError::Server(error)) => self.server.note_failure(&error),
            Err(MonitorError::CannotServe(error)) => {
                self.server.note_refusal();
                tracing::debug!(server = %self.server.name, %error, "the server cannot serve");
            }
            // Nobody knows of it that it can serve, unless a session finds out.
            Err(MonitorError::Refused(error)) => {
                self.server.note_silence();
                self.password = None;
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
        self.read_password().await?;
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
        // Empty: the servers ask for none.
        let password = self.password.as_ref().map_or(&[][..], |own| own);
        Ok(match self.protocol {
            Protocol::Mysql => {
                let opened = mysql::Connection::open(server, account, password);
                Connection::MySql(opened.await?)
            }
            Protocol::Postgres => {
                let opened = postgres::Connection::open(server, account, password);
                Connection::Postgres(opened.await?)
            }
        })
    }

    /// Reads the password, where it is not known.
    async fn read_password(&mut self) -> Result<(), MonitorError> {
        let Some(source) = &self.account.password else {
            return Ok(());
        };
        if self.password.is_some() {
            return Ok(());
        }
        let reading = self.reading.get_or_insert_with(|| {
            let source = source.clone();
            spawn_blocking(move || source.read())
        });
        let refused = |error: &dyn std::fmt::Display| MonitorError::Refused(error.to_string());
        let Ok(read) = timeout(ASK_TIME, reading).await else {
            return Err(refused(
                &"the command that prints the password has not ended yet",
            ));
        };
        self.reading = None;
        let read = read.map_err(|error| refused(&error))?;
        let read = read.map_err(|error| refused(&error))?;
        self.password = Some(Zeroizing::new(read.expose().to_vec()));
        Ok(())
    }
}
