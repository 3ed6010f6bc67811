//! The finishers of a proxy: a server for each major version, and the way from a question to its
//! answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use finisher_core::{Busy, FinisherCounters};
use session_core::StatementError;
use session_core::counters::add;
use session_postgres::finisher::{FinisherAnswer, FinisherKind, FinisherRequest};

use crate::connection::{Connection, Failure};
use crate::error::FinisherError;
use crate::options::FinisherOptions;
use crate::pool::{self, Pool};
use crate::programs::Programs;
use crate::server::Server;

/// The finishers of a proxy. Copies are the same finishers; when the last is dropped, the servers
/// end.
#[derive(Clone, Debug)]
pub struct Finishers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Arc<FinisherOptions>,
    programs: Programs,
    pool: Pool,
    servers: Mutex<HashMap<u16, Arc<Server>>>,
    counters: Arc<FinisherCounters>,
}

impl Finishers {
    /// Finishers that start when they are first needed.
    pub fn new(options: FinisherOptions) -> Self {
        Self(Arc::new(Inner {
            programs: Programs::new(options.programs.clone()),
            pool: Pool::new(options.connections_max),
            options: Arc::new(options),
            servers: Mutex::default(),
            counters: Arc::default(),
        }))
    }

    /// Whether there is a finisher for servers of this major version: its programs are installed.
    /// The log is told once of a version that is not.
    pub fn offers(&self, major: u16) -> bool {
        let offers = self.0.programs.find(major).is_some();
        if !offers && self.0.programs.is_missed_anew(major) {
            tracing::warn!(
                "the server is PostgreSQL {major}, and its programs are not installed on this \
                 machine: statements that need the finisher are refused. Install them, or name \
                 their folder ([finish] programs)"
            );
        }
        offers
    }

    /// Tells the log which versions of PostgreSQL there are programs of.
    pub fn tell_versions(&self) {
        let versions = self.0.programs.versions();
        if versions.is_empty() {
            tracing::warn!(
                "no programs of PostgreSQL are found for the finisher: statements that need it are \
                 refused. Install PostgreSQL of the server's major version, or name the folder of \
                 its programs ([finish] programs)"
            );
            return;
        }
        tracing::info!(?versions, "programs of PostgreSQL for the finisher");
    }

    /// Answers a question. Waits while as many are being answered as the options allow.
    ///
    /// Who drops the future gets no answer, and the connection is closed.
    pub async fn ask(&self, request: FinisherRequest) -> FinisherAnswer {
        let since = Instant::now();
        let counters = self.counters();
        add(&counters.asked, 1);
        let values = request.execution.as_ref();
        let size = values.map_or(0, |execution| size_of(&execution.values));
        add(&counters.bytes, size as u64);
        let answer = self.0.answer(&request).await;
        if let Ok(FinisherAnswer::Rows(rows)) = &answer {
            add(&counters.rows, rows.count);
            add(&counters.bytes, rows.messages.len() as u64);
        }
        let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        add(&counters.microseconds, took);
        answer.unwrap_or_else(|error| {
            add(&counters.failed, 1);
            FinisherAnswer::Failed(error)
        })
    }

    /// The version of the rules by which the finisher sorts texts of a kind of server, to compare
    /// with that server's. None: there is no finisher, or the rules have no version.
    pub async fn collation_version(&self, kind: &Arc<FinisherKind>) -> Option<String> {
        let server = self.0.server(kind.major).ok()?;
        let version = server.database(kind).await.ok()?.collation_version?;
        Some(version.to_string())
    }

    /// What was counted.
    pub fn counters(&self) -> &FinisherCounters {
        &self.0.counters
    }

    /// Ends the servers, and waits until their folders are gone. A later question starts them anew.
    pub async fn end(&self) {
        self.0.pool.clear();
        let servers: Vec<Arc<Server>> = self.0.servers().values().cloned().collect();
        for server in servers {
            server.end().await;
        }
    }
}

impl Inner {
    async fn answer(&self, request: &FinisherRequest) -> Result<FinisherAnswer, StatementError> {
        check(request)?;
        let _place = self.pool.place().await;
        let _busy = Busy::new(&self.counters);
        if let Some(mut connection) = pool::take(&self.pool, request) {
            let answer = connection.answer(request).await;
            // A kept connection may have broken unseen. A query changes nothing: it is asked again.
            if !matches!(answer, Err(Failure::Gone(_))) {
                return self.settle(request, connection, answer);
            }
        }
        self.pool.make_room();
        let server = self.server(request.kind.major);
        let server = server.map_err(|error| error.for_client())?;
        let opened = server.connect(&request.kind).await;
        let mut connection = opened.map_err(|error| error.for_client())?;
        let answer = connection.answer(request).await;
        self.settle(request, connection, answer)
    }

    /// Keeps a connection that goes on.
    fn settle(
        &self,
        request: &FinisherRequest,
        connection: Connection,
        answer: Result<FinisherAnswer, Failure>,
    ) -> Result<FinisherAnswer, StatementError> {
        if matches!(answer, Ok(_) | Err(Failure::Query(_))) {
            pool::keep(&self.pool, &request.kind, connection);
        }
        answer.map_err(|failure| match failure {
            Failure::Query(error) | Failure::Last(error) => error,
            Failure::Gone(error) => FinisherError::Connection(error).for_client(),
        })
    }

    fn server(&self, major: u16) -> Result<Arc<Server>, FinisherError> {
        let mut servers = self.servers();
        if let Some(server) = servers.get(&major) {
            return Ok(Arc::clone(server));
        }
        let programs = self.programs.find(major);
        let programs = programs.ok_or(FinisherError::NotInstalled { major })?;
        let server = Server::new(major, programs, &self.options, &self.counters);
        let server = Arc::new(server);
        servers.insert(major, Arc::clone(&server));
        Ok(server)
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, HashMap<u16, Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size_of(values: &[Option<Vec<u8>>]) -> usize {
    values.iter().flatten().map(Vec::len).sum()
}

/// What no message of the protocol can carry is a defect of who asks.
fn check(request: &FinisherRequest) -> Result<(), StatementError> {
    let count_max = usize::from(u16::MAX);
    let mut is_sendable =
        !request.query.contains('\0') && request.parameter_types.len() <= count_max;
    if let Some(execution) = &request.execution {
        is_sendable &= execution.formats.len() == execution.values.len()
            && execution.values.len() <= count_max
            && execution.result_formats.len() <= count_max;
    }
    let defect = || StatementError::defect("a question to the finisher is none that can be sent");
    is_sendable.then_some(()).ok_or_else(defect)
}
