//! What all sessions of a proxy have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use configuration::ProxyConfig;
use session_core::Protection;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::cancel::CancelRegistry;
use crate::counters::Metrics;
use crate::finishers::Finishers;
use crate::logins::Logins;
use crate::places::Places;
use crate::servers::{Server, Servers};
use crate::tls::ClientAcceptor;

/// What all sessions know.
pub struct Shared {
    /// Limits.
    pub config: ProxyConfig,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// How many clients there may be.
    pub places: Arc<Places>,
    /// Whom requests to cancel mean.
    pub cancels: CancelRegistry,
    /// TLS towards clients.
    pub acceptor: Option<ClientAcceptor>,
    /// The servers.
    pub servers: Servers,
    /// Whom the proxy logs in by itself.
    pub logins: Option<Logins>,
    /// Rules and what goes with them. None: everything passes.
    pub protection: Option<Arc<Protection>>,
    /// Servers of the proxy's own that answer queries. None: there are none.
    pub finishers: Option<Finishers>,
    /// The runtime beside the workers', for what belongs to no session.
    pub main: Handle,
    /// Wakes sessions when [`Self::stop_level`] rises.
    pub stop: Arc<Notify>,
    pub(crate) stop_level: AtomicU8,
}

impl Shared {
    /// 0: go on; 1: end between transactions; 2: end.
    pub fn stop_level(&self) -> u8 {
        self.stop_level.load(Ordering::Acquire)
    }

    /// Whether clients must come by TLS.
    pub fn requires_tls(&self) -> bool {
        self.config
            .client_tls
            .as_ref()
            .is_some_and(|tls| tls.required)
    }

    /// Notes whether a server is a standby. What was read on it in its role before is forgotten.
    pub(crate) fn note_role(&self, server: &Server, is_standby: bool) {
        if server.note_role(is_standby)
            && let Some(protection) = &self.protection
        {
            protection.forget_all();
        }
    }

    pub(crate) fn rise_stop_level(&self, level: u8) {
        self.stop_level.store(level, Ordering::Release);
        self.stop.notify_waiters();
    }
}
