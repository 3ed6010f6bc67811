//! The monitor's connection to PostgreSQL.

use configuration::MonitorConfig;
use tokio::task::JoinSet;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

use super::MonitorError;
use crate::servers::{Server, Verdict};
use crate::startup::cannot_serve;
use crate::upstream;
use crate::watch::{Guarded, rows_of};

/// An open connection.
pub(super) struct Connection {
    client: Client,
    /// Reads the socket until it is dropped.
    _task: JoinSet<()>,
}

impl Connection {
    pub(super) async fn open(
        server: &Server,
        account: &MonitorConfig,
        password: &[u8],
    ) -> Result<Self, MonitorError> {
        let mut config = Config::new();
        config
            .application_name("strongroom monitor")
            .user(&account.user)
            .dbname(&account.database)
            .ssl_mode(SslMode::Disable);
        if !password.is_empty() {
            config.password(password);
        }
        let stream = Guarded::new(upstream::open(server).await?);
        let connected = config.connect_raw(stream, NoTls).await;
        let (client, connection) = connected.map_err(|error| said(&error))?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // Its end is seen by the next question.
            let _ = connection.await;
        });
        Ok(Self {
            client,
            _task: task,
        })
    }

    pub(super) async fn ask(&mut self) -> Result<Verdict, MonitorError> {
        let query = "SELECT pg_catalog.pg_is_in_recovery()";
        let answer = self.client.simple_query(query).await;
        let rows = rows_of(&answer.map_err(|error| said(&error))?);
        match rows.first().and_then(|row| row.first()?.as_deref()) {
            Some("f") => Ok(Verdict::Serves { is_standby: false }),
            Some("t") => Ok(Verdict::Serves { is_standby: true }),
            _ => Err(MonitorError::Refused("an answer without a row".to_owned())),
        }
    }
}

/// What the server said, without the words of the library around it.
fn said(error: &tokio_postgres::Error) -> MonitorError {
    let Some(said) = error.as_db_error() else {
        return MonitorError::Refused(error.to_string());
    };
    let message = said.message().to_owned();
    match cannot_serve(said.code().code().as_bytes()) {
        true => MonitorError::CannotServe(message),
        false => MonitorError::Refused(message),
    }
}
