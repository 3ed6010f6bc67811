//! What the proxy counts of connections. What sessions count is in `session_core::counters`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use session_core::counters::{MetricKind, MetricRow, add};

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
    /// Servers that sessions can be on, when the counters were read.
    pub servers_usable: AtomicU64,
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

/// Takes from a counter.
pub fn subtract(counter: &AtomicU64, count: u64) {
    counter.fetch_sub(count, Ordering::Relaxed);
}

impl Metrics {
    pub(crate) fn rows(&self) -> [MetricRow; 10] {
        use MetricKind::{Counter, Gauge};
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
            (
                "servers_usable",
                Gauge,
                "Servers that sessions can be on.",
                of(&self.servers_usable),
            ),
        ]
    }
}
