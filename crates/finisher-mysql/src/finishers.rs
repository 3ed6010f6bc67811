//! The finishers of a proxy: a server for each kind, and the way from a question to its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use finisher_core::{Busy, FinisherCounters, Pool};
use session_core::StatementError;
use session_core::counters::add;
use session_mysql::finisher::{FinisherAnswer, FinisherKind, FinisherRequest};
use tokio::time::timeout;

use crate::bound::{self, Unanswered};
use crate::connection::{Connection, Failure, Kept};
use crate::error::FinisherError;
use crate::options::FinisherOptions;
use crate::product::{Product, name_of};
use crate::programs::Programs;
use crate::server::{Access, Server};

/// The finishers of a proxy. Copies are the same finishers; when the last is dropped, the servers
/// end.
#[derive(Clone, Debug)]
pub struct Finishers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Arc<FinisherOptions>,
    programs: Programs,
    pool: Pool<(FinisherKind, Kept)>,
    servers: Mutex<HashMap<FinisherKind, Arc<Server>>>,
    counters: Arc<FinisherCounters>,
}

impl Finishers {
    /// Finishers that start when they are first needed.
    pub fn new(options: FinisherOptions) -> Self {
        Self(Arc::new(Inner {
            programs: Programs::new(options.product, options.programs.clone()),
            pool: Pool::new(options.connections_max),
            options: Arc::new(options),
            servers: Mutex::default(),
            counters: Arc::default(),
        }))
    }

    /// Whether there is a finisher for servers of this series: its programs are installed. The log
    /// is told once of a series that is not.
    pub fn offers(&self, series: u16) -> bool {
        let offers = self.0.programs.find(series).is_some();
        if !offers && self.0.programs.is_missed_anew(series) {
            let (name, own) = (name_of(series), self.0.options.product);
            match Product::of(series) {
                product if product == own => tracing::warn!(
                    "the server is {name}, and no {name} is installed on this machine: statements \
                     that need the finisher are refused. Install it, or name the folder of {} \
                     ([finish] programs)",
                    product.program()
                ),
                _ => tracing::warn!(
                    "the server is {name}, and the finisher is {}: statements that need the \
                     finisher are refused",
                    own.name()
                ),
            }
        }
        offers
    }

    /// Tells the log which versions of its product there are programs of.
    pub fn tell_versions(&self) {
        let all = self.0.programs.all();
        let product = self.0.options.product;
        if all.is_empty() {
            tracing::warn!(
                "no {} is found for the finisher: statements that need it are refused. Install \
                 {} of the server's version, or name the folder of its program ([finish] programs)",
                product.program(),
                product.name()
            );
            return;
        }
        let versions: Vec<String> = all.iter().map(|own| name_of(own.series)).collect();
        tracing::info!(?versions, "programs for the finisher");
    }

    /// Answers a question. Waits while as many are being answered as the options allow.
    ///
    /// Who drops the future gets no answer, and the connection is closed.
    pub async fn ask(&self, request: FinisherRequest) -> FinisherAnswer {
        let since = Instant::now();
        let counters = self.counters();
        add(&counters.asked, 1);
        let size: usize = request.tables.iter().map(|table| table.len()).sum();
        add(&counters.bytes, size as u64);
        let answer = self.0.answer(&request).await;
        if let Ok(FinisherAnswer::Rows(rows)) = &answer {
            let size: usize = rows.rows.iter().map(|row| row.len()).sum();
            add(&counters.rows, rows.rows.len() as u64);
            add(&counters.bytes, size as u64);
        }
        let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        add(&counters.microseconds, took);
        if matches!(answer, Err(_) | Ok(FinisherAnswer::Refused(_))) {
            add(&counters.failed, 1);
        }
        answer.unwrap_or_else(FinisherAnswer::Failed)
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
        let _place = self.pool.place().await;
        let _busy = Busy::new(&self.counters);
        let (kind, product) = (request.kind, self.options.product);
        let server = self
            .server(kind)
            .map_err(|error| error.for_client(product))?;
        let access = server.access(&request.databases).await;
        let access = access.map_err(|error| error.for_client(product))?;
        while let Some((_, kept)) = self.pool.take(|(own, _)| *own == kind, |_| true) {
            // One that its server has ended is dropped.
            let Some(mut connection) = kept.resume() else {
                continue;
            };
            let answer = self.asked(&mut connection, &access, request).await;
            // A kept connection may have broken unseen. A question changes nothing but tables of
            // its own: it is asked again.
            if !matches!(answer, Err(Failure::Gone(_))) {
                return self.settle(kind, connection, answer);
            }
        }
        self.pool.make_room();
        let opened = server.connect(&request.databases).await;
        let (mut connection, access) = opened.map_err(|error| error.for_client(product))?;
        let answer = self.asked(&mut connection, &access, request).await;
        self.settle(kind, connection, answer)
    }

    /// Asks a connection. The server bounds the time of what it evaluates; before MySQL that of
    /// queries alone.
    async fn asked(
        &self,
        connection: &mut Connection,
        access: &Access,
        request: &FinisherRequest,
    ) -> Result<FinisherAnswer, Failure> {
        let changes = request.read_back.is_some();
        if self.options.product == Product::MariaDb || !changes {
            return connection.answer(request).await;
        }
        let unanswered = Unanswered::new(access.clone(), connection.number());
        let answer = connection.answer(request);
        let answer = timeout(self.options.statement_timeout, answer).await;
        let answer = answer.map_err(|_| Failure::Late)?;
        unanswered.answered();
        answer
    }

    /// Keeps a connection that goes on.
    fn settle(
        &self,
        kind: FinisherKind,
        connection: Connection,
        answer: Result<FinisherAnswer, Failure>,
    ) -> Result<FinisherAnswer, StatementError> {
        if answer.is_ok()
            && let Some(kept) = connection.keep()
        {
            self.pool.keep((kind, kept));
        }
        answer.or_else(|failure| match failure {
            Failure::Last(error) => Err(error),
            Failure::Gone(error) => {
                Err(FinisherError::Connection(error).for_client(self.options.product))
            }
            Failure::Late => Ok(FinisherAnswer::Refused(bound::too_late())),
        })
    }

    fn server(&self, kind: FinisherKind) -> Result<Arc<Server>, FinisherError> {
        let mut servers = self.servers();
        if let Some(server) = servers.get(&kind) {
            return Ok(Arc::clone(server));
        }
        let series = kind.series;
        let program = self.programs.find(series);
        let program = program.ok_or(FinisherError::NotInstalled { series })?;
        let server = Server::new(kind, program.clone(), &self.options, &self.counters);
        let server = Arc::new(server);
        servers.insert(kind, Arc::clone(&server));
        Ok(server)
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, HashMap<FinisherKind, Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
