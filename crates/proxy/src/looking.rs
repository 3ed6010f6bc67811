//! Looking whether servers are there, and what they are, beside sessions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use configuration::Protocol;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::monitor::Monitor;
use crate::servers::{Server, Witness};
use crate::shared::Shared;
use crate::{patroni, upstream};

/// How long a look at a server may take.
const LOOK_TIME: Duration = Duration::from_secs(5);
/// The time between two looks.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// Looks at all servers before the first client comes, and warns of those that are not there. The
/// monitor does that by itself, and a server is not known to be usable before it has said so.
pub(crate) async fn look_for_servers(shared: Arc<Shared>) {
    if shared.config.monitor.is_some() {
        return;
    }
    for server in shared.servers.all() {
        tokio::spawn(look(Arc::clone(server)));
    }
}

/// Looks at a server again and again, and asks what it is.
pub(crate) async fn watch(server: Arc<Server>, shared: Arc<Shared>) {
    let mut ticks = interval(LOOK_PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut monitor = shared.config.monitor.clone().map(|account| {
        let protocol = shared.config.protocol;
        Monitor::new(account, protocol, Arc::clone(&server))
    });
    loop {
        ticks.tick().await;
        if let Some(port) = shared.config.patroni_port {
            let asked = timeout(LOOK_TIME, patroni::ask(&server, port.get())).await;
            if let Ok(Some(verdict)) = asked {
                server.note_verdict(Witness::Patroni, verdict);
            }
        }
        if let Some(monitor) = &mut monitor {
            monitor.look().await;
        } else if is_looked_at(&server, &shared) {
            look(Arc::clone(&server)).await;
        }
    }
}

/// A server that answers is looked at only where that does no harm, and somebody wants to know:
/// MySQL counts connections that say nothing against the host that they come from, until it lets
/// nobody of it in (`max_connect_errors`).
fn is_looked_at(server: &Server, shared: &Shared) -> bool {
    let is_harmless = shared.config.protocol == Protocol::Postgres;
    let is_of_use = shared.servers.are_several() || shared.config.metrics.is_some();
    is_of_use && (is_harmless || server.is_to_be_looked_for())
}

async fn look(server: Arc<Server>) {
    // No TLS: the server would log a connection that says nothing behind it.
    let reached = timeout(LOOK_TIME, upstream::reach(&server)).await;
    match reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(_) => server.note_reached(),
        Err(error) => server.note_unreached(&error),
    }
}
