//! Counters, and `/metrics` in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

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
    /// Requests to cancel.
    pub cancels: AtomicU64,
    /// Bytes read from clients.
    pub client_bytes: AtomicU64,
    /// Bytes read from the server.
    pub server_bytes: AtomicU64,
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Takes from a counter.
pub fn subtract(counter: &AtomicU64, count: u64) {
    counter.fetch_sub(count, Ordering::Relaxed);
}

impl Metrics {
    /// All counters as text.
    pub fn text(&self) -> String {
        let rows = [
            (
                "connections_total",
                "counter",
                "Connections accepted.",
                &self.connections,
            ),
            (
                "connections_open",
                "gauge",
                "Connections open.",
                &self.connections_open,
            ),
            (
                "connections_refused_total",
                "counter",
                "Connections turned away.",
                &self.connections_refused,
            ),
            (
                "sessions_total",
                "counter",
                "Sessions begun.",
                &self.sessions,
            ),
            (
                "cancels_total",
                "counter",
                "Requests to cancel.",
                &self.cancels,
            ),
            (
                "client_bytes_total",
                "counter",
                "Bytes from clients.",
                &self.client_bytes,
            ),
            (
                "server_bytes_total",
                "counter",
                "Bytes from the server.",
                &self.server_bytes,
            ),
        ];
        let mut text = String::new();
        for (name, kind, help, counter) in rows {
            let count = counter.load(Ordering::Relaxed);
            writeln!(
                text,
                "# HELP strongroom_proxy_{name} {help}\n# TYPE strongroom_proxy_{name} {kind}\n\
                 strongroom_proxy_{name} {count}"
            )
            .expect("a String takes everything");
        }
        text
    }
}

/// Largest head of a request.
const REQUEST_SIZE_MAX: usize = 8 * 1024;
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Answers requests for metrics until it is dropped.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let metrics = Arc::clone(&metrics);
                tokio::spawn(async move {
                    // Whoever asks and goes away gets no answer.
                    let _ = timeout(REQUEST_TIME, answer(socket, &metrics)).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "metrics: accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(mut socket: TcpStream, metrics: &Metrics) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        if request.len() > REQUEST_SIZE_MAX || socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let mut words = request.split(|byte| byte.is_ascii_whitespace());
    let is_known = words.next() == Some(b"GET") && words.next() == Some(b"/metrics");
    let (status, body) = if is_known {
        ("200 OK", metrics.text())
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
