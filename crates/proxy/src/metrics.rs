//! `/metrics` in Prometheus' text format, and `/ready` for load balancers.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use finisher_core::FinisherCounters;
use session_core::Protection;
use session_core::counters::{Counters, MetricKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::counters::Metrics;
use crate::shared::Shared;

/// All counters as text; `protection` has its own, and so has a finisher. `docs/proxy.md` explains
/// each.
fn text(
    metrics: &Metrics,
    protection: Option<&Protection>,
    finisher: Option<&FinisherCounters>,
) -> String {
    let none = Counters::default();
    let no_finisher = FinisherCounters::default();
    let finisher = finisher.unwrap_or(&no_finisher);
    let counters = protection.map_or(&none, Protection::counters);
    let plans_cached = protection.map_or(0, Protection::plans_cached);
    let mut text = String::new();
    for (name, kind, help, count) in metrics
        .rows()
        .into_iter()
        .chain(counters.rows(plans_cached))
        .chain(finisher.rows())
    {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
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

const OK: &str = "200 OK";

fn metrics(shared: &Shared) -> String {
    let usable = shared.servers.usable() as u64;
    shared
        .metrics
        .servers_usable
        .store(usable, Ordering::Relaxed);
    text(
        &shared.metrics,
        shared.protection.as_deref(),
        shared.finishers.as_ref().map(|own| own.counters()),
    )
}

/// Whether clients are to be sent here.
fn ready(shared: &Shared) -> (&'static str, String) {
    const NOT_READY: &str = "503 Service Unavailable";
    match (shared.stop_level(), shared.servers.usable()) {
        (1.., _) => (NOT_READY, "The proxy is shutting down.\n".to_owned()),
        (0, 0) => (NOT_READY, "No server can be used.\n".to_owned()),
        (0, usable) => {
            let all = shared.servers.all().len();
            (OK, format!("{usable} of {all} servers can be used.\n"))
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
    let method = words.next().unwrap_or_default();
    let (status, body) = match (method, words.next().unwrap_or_default()) {
        (b"GET", b"/metrics") => (OK, metrics(shared)),
        // Load balancers also ask without wanting to read.
        (b"GET" | b"HEAD" | b"OPTIONS", b"/ready") => ready(shared),
        _ => (
            "404 Not Found",
            "Only GET /metrics and GET /ready are here.\n".to_owned(),
        ),
    };
    let body = if method == b"HEAD" {
        String::new()
    } else {
        body
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

    use super::{Metrics, text};

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
        let text = text(&Metrics::default(), None, None);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let names = rows.filter_map(|row| {
            let (name, count) = row.strip_prefix("strongroom_proxy_")?.split_once(' ')?;
            (count == "0").then_some(name)
        });
        let counted: BTreeSet<&str> = names.collect();
        assert_eq!(counted.len(), 26);
        assert_eq!(told, counted);
    }
}
