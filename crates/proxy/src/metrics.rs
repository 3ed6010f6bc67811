//! Counters, and `/metrics` in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::protection::Protection;
use crate::server::Shared;

/// Counters of the whole proxy.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Connections that were accepted.
    pub connections: AtomicU64,
    /// Those that are open now.
    pub connections_open: AtomicU64,
    /// Those that were turned away, or did not become a session.
    pub connections_refused: AtomicU64,
    /// Sessions that the server let in.
    pub sessions: AtomicU64,
    /// Those that go on.
    pub sessions_open: AtomicU64,
    /// Clients that were not let in.
    pub logins_failed: AtomicU64,
    /// Requests to cancel.
    pub cancels: AtomicU64,
    /// Bytes read from clients.
    pub client_bytes: AtomicU64,
    /// Bytes read from the server.
    pub server_bytes: AtomicU64,
}

/// A session that was let in, counted while it lives.
pub struct OpenSession(Arc<Metrics>);

impl OpenSession {
    /// One more.
    pub fn new(metrics: &Arc<Metrics>) -> Self {
        add(&metrics.sessions, 1);
        add(&metrics.sessions_open, 1);
        Self(Arc::clone(metrics))
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        subtract(&self.0.sessions_open, 1);
    }
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Takes from a counter.
pub fn subtract(counter: &AtomicU64, count: u64) {
    counter.fetch_sub(count, Ordering::Relaxed);
}

/// What a number is to Prometheus.
#[derive(Clone, Copy)]
enum Kind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
}

type Row = (&'static str, Kind, &'static str, u64);

impl Metrics {
    /// All counters as text; `protection` has its own. `docs/proxy.md` explains each.
    pub fn text(&self, protection: Option<&Protection>) -> String {
        let none = Counters::default();
        let counters = protection.map_or(&none, Protection::counters);
        let plans_cached = protection.map_or(0, Protection::plans_cached);
        let mut text = String::new();
        for (name, kind, help, count) in self.rows().into_iter().chain(counters.rows(plans_cached))
        {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
            };
            writeln!(
                text,
                "# HELP strongroom_proxy_{name} {help}\n# TYPE strongroom_proxy_{name} {kind}\n\
                 strongroom_proxy_{name} {count}"
            )
            .expect("a String takes everything");
        }
        text
    }

    fn rows(&self) -> [Row; 9] {
        use Kind::{Counter, Gauge};
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "connections_total",
                Counter,
                "Connections accepted.",
                of(&self.connections),
            ),
            (
                "connections_open",
                Gauge,
                "Connections open.",
                of(&self.connections_open),
            ),
            (
                "connections_refused_total",
                Counter,
                "Connections turned away by the proxy.",
                of(&self.connections_refused),
            ),
            (
                "sessions_total",
                Counter,
                "Sessions begun.",
                of(&self.sessions),
            ),
            (
                "sessions_open",
                Gauge,
                "Sessions that go on.",
                of(&self.sessions_open),
            ),
            (
                "logins_failed_total",
                Counter,
                "Clients that were not let in, by the server or by the proxy.",
                of(&self.logins_failed),
            ),
            (
                "cancels_total",
                Counter,
                "Requests to cancel.",
                of(&self.cancels),
            ),
            (
                "client_bytes_total",
                Counter,
                "Bytes from clients.",
                of(&self.client_bytes),
            ),
            (
                "server_bytes_total",
                Counter,
                "Bytes from the server.",
                of(&self.server_bytes),
            ),
        ]
    }
}

/// What protection did. All sessions count here, so only what is seldom is counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Plans that were made, since none was kept.
    pub plans: AtomicU64,
    /// Statements that the proxy failed in place of the server.
    pub statements_refused: AtomicU64,
    /// Those of them that had a plan, which the second proof refused.
    pub plans_unproved: AtomicU64,
    /// Looks that found the catalogues changed past all sessions.
    pub schema_changes_noticed: AtomicU64,
    /// Queries whose rows the proxy fetched to finish them.
    pub queries_finished: AtomicU64,
    /// Those rows.
    pub rows_finished: AtomicU64,
    /// Sessions that ended by a value that does not open.
    pub values_damaged: AtomicU64,
}

impl Counters {
    fn rows(&self, plans_cached: u64) -> [Row; 8] {
        use Kind::{Counter, Gauge};
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "plans_total",
                Counter,
                "Plans made for texts of statements.",
                of(&self.plans),
            ),
            (
                "plans_cached",
                Gauge,
                "Plans kept for the next time.",
                plans_cached,
            ),
            (
                "statements_refused_total",
                Counter,
                "Statements that the proxy failed in place of the server.",
                of(&self.statements_refused),
            ),
            (
                "plans_unproved_total",
                Counter,
                "Statements refused because the second proof refused their plan: a defect.",
                of(&self.plans_unproved),
            ),
            (
                "schema_changes_noticed_total",
                Counter,
                "Changes of a schema that were not made through this proxy, as it noticed them.",
                of(&self.schema_changes_noticed),
            ),
            (
                "queries_finished_total",
                Counter,
                "Queries that the proxy finished.",
                of(&self.queries_finished),
            ),
            (
                "rows_finished_total",
                Counter,
                "Rows fetched to finish queries.",
                of(&self.rows_finished),
            ),
            (
                "values_damaged_total",
                Counter,
                "Sessions that ended by a value that does not open.",
                of(&self.values_damaged),
            ),
        ]
    }
}

/// Largest head of a request.
const REQUEST_SIZE_MAX: usize = 8 * 1024;
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Requests at a time: collectors are few, and each takes a descriptor from clients.
const REQUESTS_MAX: usize = 32;

/// Answers requests for metrics until it is dropped.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(REQUESTS_MAX));
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                // One too many is turned away: those before it end within their time.
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    continue;
                };
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Whoever asks and goes away gets no answer.
                    let _ = timeout(REQUEST_TIME, answer(socket, &shared)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "metrics: accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(mut socket: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        if request.len() > REQUEST_SIZE_MAX || socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let mut words = request.split(|byte| byte.is_ascii_whitespace());
    let is_known = words.next() == Some(b"GET") && words.next() == Some(b"/metrics");
    let (status, body) = if is_known {
        ("200 OK", shared.metrics.text(shared.protection.as_deref()))
    } else {
        ("404 Not Found", "Only GET /metrics is here.\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    socket.shutdown().await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Metrics;

    #[test]
    fn the_page_for_operators_names_all_that_is_counted_and_nothing_else() {
        let page = include_str!("../../../docs/proxy.md");
        let (_, chapter) = page.split_once("\n## Metrics\n").expect("a chapter");
        let chapter = chapter.split("\n## ").next().expect("the chapter itself");
        let names = chapter.lines().filter_map(|line| {
            let cell = line.strip_prefix("| `")?;
            cell.split_once('`').map(|(name, _)| name)
        });
        let told: BTreeSet<&str> = names.collect();
        let text = Metrics::default().text(None);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let names = rows.filter_map(|row| {
            let (name, count) = row.strip_prefix("strongroom_proxy_")?.split_once(' ')?;
            (count == "0").then_some(name)
        });
        let counted: BTreeSet<&str> = names.collect();
        assert_eq!(counted.len(), 17);
        assert_eq!(told, counted);
    }
}
