//! Listener and workers: a thread per processor, each with a runtime of its own; a session stays
//! with its thread.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc as channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use configuration::{
    Config, KeysError, Protocol, ProxyConfig, TlsError, socket_path, warn_if_exposed,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use session_core::Protection;
use session_core::counters::add;
use sql_plan::RulesError;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cancel::CancelRegistry;
use crate::counters::{Metrics, subtract};
use crate::finishers::Finishers;
use crate::listener::{self, Arrival, Listener, LocalListener};
use crate::logins::{Logins, LoginsError};
use crate::mysql::UnsupportedError;
use crate::places::Places;
use crate::servers::Servers;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::tls;
use crate::{looking, metrics, mysql, startup};

/// Pause after an accept that failed, as it does when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A proxy that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where: an address, or a path.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A part that a proxy before MySQL does not have.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedError),
    /// The file of logins.
    #[error(transparent)]
    Logins(#[from] LoginsError),
    /// Nobody could log in.
    #[error("logins_only lets nobody in without a file of logins: add logins below [proxy]")]
    NoLogins,
    /// Rules for columns, and no key.
    #[error("[columns] holds rules, and there is no key to protect columns with: add [keys]")]
    Rules,
    /// Rules that contradict themselves.
    #[error("{}", in_lines(.0))]
    Contradiction(Vec<RulesError>),
    /// The key.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// A thread or its runtime.
    #[error("cannot start a worker: {0}")]
    Worker(io::Error),
}

/// Tells the log of what is allowed and seldom meant.
fn warn_of(config: &Config) {
    let is_protecting = !config.columns.tables.is_empty();
    if config.keys.is_some() && !is_protecting {
        tracing::warn!("there is a key and no [columns]: nothing is protected");
    }
    let client_tls = config.proxy.client_tls.as_ref();
    let is_open = client_tls.is_none_or(|tls| !tls.required);
    if is_protecting && is_open && !config.proxy.listen.ip().is_loopback() {
        tracing::warn!(
            "clients of other machines may send and get protected values in clear: set \
             [proxy.client_tls] with required = true"
        );
    }
}

fn in_lines(errors: &[RulesError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A proxy that listens.
pub struct Server {
    shared: Arc<Shared>,
    runtime: Runtime,
    listener: Listener,
    metrics: Option<TcpListener>,
    workers: Vec<Worker>,
}

struct Worker {
    /// Clients; closed when there are to come no more.
    arrivals: mpsc::UnboundedSender<Arrival>,
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Binds the listeners and starts the workers.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(config: &Config) -> Result<Self, StartError> {
        mysql::check(config)?;
        warn_of(config);
        let proxy = config.proxy.clone();
        let finishers = config.finish.as_ref().and_then(Finishers::of);
        let protection = protection(config, finishers.as_ref())?;
        let watch = proxy.watch.as_ref().and_then(|own| own.password.as_ref());
        let monitor = proxy.monitor.as_ref();
        let monitor = monitor.and_then(|own| own.password.as_ref());
        for password in [watch, monitor].into_iter().flatten() {
            password.read()?;
            warn_if_exposed(&password.source()?);
        }
        let places = places(proxy.max_connections.get());
        let acceptor = proxy.client_tls.as_ref();
        let acceptor = acceptor.map(|tls| tls::acceptor(tls, proxy.protocol));
        let acceptor = acceptor.transpose()?;
        let servers = Servers::new(&proxy)?;
        if proxy.logins_only && proxy.logins.is_none() {
            return Err(StartError::NoLogins);
        }
        let logins = proxy.logins.as_deref().map(Logins::read).transpose()?;
        let runtime = runtime().map_err(StartError::Worker)?;
        let listener = listener(&runtime, &proxy)?;
        let metrics = proxy.metrics.map(|address| listen(&runtime, address));
        let metrics = metrics.transpose()?;
        let workers = proxy
            .workers
            .or_else(|| thread::available_parallelism().ok())
            .map_or(1, usize::from);
        let shared = Arc::new(Shared {
            config: proxy,
            metrics: Arc::default(),
            places: Arc::new(places),
            cancels: CancelRegistry::default(),
            acceptor,
            servers,
            logins,
            protection,
            finishers,
            main: runtime.handle().clone(),
            stop: Arc::default(),
            stop_level: AtomicU8::new(0),
        });
        let workers = (0..workers)
            .map(|number| Worker::start(number, &shared))
            .collect::<io::Result<_>>()
            .map_err(StartError::Worker)?;
        Ok(Self {
            shared,
            runtime,
            listener,
            metrics,
            workers,
        })
    }

    /// Where clients connect to.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// The socket of the file system where clients connect to, if any.
    pub fn socket(&self) -> Option<&Path> {
        self.listener.socket()
    }

    /// Where metrics are, if anywhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.local_addr().ok()
    }

    /// Looks for the servers that it stands before, while it runs, and warns of those that are not
    /// there.
    pub fn look_for_servers(&self) {
        let look = looking::look_for_servers(Arc::clone(&self.shared));
        self.runtime.spawn(look);
    }

    /// Serves until `stop` is done, then lets sessions end between transactions for as long as the
    /// configuration says.
    pub fn run(self, stop: impl Future<Output = ()>) {
        let Self {
            shared,
            runtime,
            listener,
            metrics,
            workers,
        } = self;
        runtime.block_on(async {
            if let Some(listener) = metrics {
                tokio::spawn(metrics::serve(listener, Arc::clone(&shared)));
            }
            for server in shared.servers.all() {
                tokio::spawn(looking::watch(Arc::clone(server), Arc::clone(&shared)));
            }
            tokio::select! {
                () = stop => {}
                () = accept(&listener, &workers) => {}
            }
            drop(listener);
            tracing::info!("draining");
            shared.rise_stop_level(1);
            let ended = join(workers);
            tokio::pin!(ended);
            if tokio::time::timeout(shared.config.drain_time(), &mut ended)
                .await
                .is_err()
            {
                shared.rise_stop_level(2);
                ended.await;
            }
            if let Some(finishers) = &shared.finishers {
                finishers.end().await;
            }
        });
    }
}

impl Worker {
    fn start(number: usize, shared: &Arc<Shared>) -> io::Result<Self> {
        let (sender, mut arrivals) = mpsc::unbounded_channel();
        let load = Arc::new(AtomicUsize::new(0));
        let runtime = runtime()?;
        let (shared, worker_load) = (Arc::clone(shared), Arc::clone(&load));
        let work = async move {
            let mut sessions = JoinSet::new();
            loop {
                tokio::select! {
                    arrival = arrivals.recv() => match arrival {
                        Some(arrival) => {
                            let (shared, load) = (Arc::clone(&shared), Arc::clone(&worker_load));
                            sessions.spawn_local(session(arrival, shared, load));
                        }
                        None => break,
                    },
                    Some(_) = sessions.join_next() => {}
                }
            }
            while sessions.join_next().await.is_some() {}
        };
        let thread = thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || tokio::task::LocalSet::new().block_on(&runtime, work))?;
        Ok(Self {
            arrivals: sender,
            load,
            thread,
        })
    }
}

async fn session(arrival: Arrival, shared: Arc<Shared>, load: Arc<AtomicUsize>) {
    let open = Open::new(&shared, &load);
    match Stream::of_client(arrival) {
        Ok(client) => match shared.config.protocol {
            Protocol::Postgres => startup::serve(client, Arc::clone(&shared)).await,
            Protocol::Mysql => mysql::serve(client, Arc::clone(&shared)).await,
        },
        Err(error) => tracing::warn!(%error, "a socket that cannot be used"),
    }
    drop(open);
}

/// Counts a connection while it lives, also where its task panics.
struct Open<'a> {
    metrics: &'a Metrics,
    load: &'a AtomicUsize,
}

impl<'a> Open<'a> {
    fn new(shared: &'a Shared, load: &'a AtomicUsize) -> Self {
        let metrics = &*shared.metrics;
        add(&metrics.connections, 1);
        add(&metrics.connections_open, 1);
        Self { metrics, load }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        subtract(&self.metrics.connections_open, 1);
        self.load.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What protects columns. None: there are no rules.
fn protection(
    config: &Config,
    finishers: Option<&Finishers>,
) -> Result<Option<Arc<Protection>>, StartError> {
    let keys = match (config.columns.tables.is_empty(), &config.keys) {
        (true, _) => return Ok(None),
        (false, None) => return Err(StartError::Rules),
        (false, Some(keys)) => keys,
    };
    match config.proxy.protocol {
        Protocol::Postgres => sql_rewrite::check_rules(&config.columns, finishers.is_some()),
        // The rest was checked when the configuration was.
        Protocol::Mysql => config.columns.check(),
    }
    .map_err(StartError::Contradiction)?;
    let protection = Protection::new(config.columns.clone(), keys.read()?, configuration::now);
    let mut protection = config.proxy.limit(protection);
    if let Some(watch) = &config.proxy.watch {
        protection = protection.with_lease(watch.lease());
    }
    if let Some(finishers) = finishers.cloned() {
        protection = protection.with_finisher(Arc::new(move |major| finishers.offers(major)));
    }
    Ok(Some(Arc::new(protection)))
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn listen(runtime: &Runtime, address: SocketAddr) -> Result<TcpListener, StartError> {
    let _inside = runtime.enter();
    listener::bind(address).map_err(|error| StartError::Listen {
        address: address.to_string(),
        error,
    })
}

/// Where clients arrive.
fn listener(runtime: &Runtime, proxy: &ProxyConfig) -> Result<Listener, StartError> {
    let tcp = listen(runtime, proxy.listen)?;
    let Some(socket) = &proxy.socket else {
        return Ok(Listener::new(tcp, None));
    };
    let port = tcp
        .local_addr()
        .map_or(proxy.listen.port(), |own| own.port());
    let path = socket_path(socket, port);
    let _inside = runtime.enter();
    let address = path.display().to_string();
    let local = LocalListener::bind(path);
    let local = local.map_err(|error| StartError::Listen { address, error })?;
    Ok(Listener::new(tcp, Some(local)))
}

/// Gives each client to the worker that has the fewest.
async fn accept(listener: &Listener, workers: &[Worker]) {
    loop {
        match listener.accept().await {
            Ok(arrival) => {
                let worker = workers
                    .iter()
                    .min_by_key(|worker| worker.load.load(Ordering::Relaxed))
                    .expect("there is at least one worker");
                worker.load.fetch_add(1, Ordering::Relaxed);
                if worker.arrivals.send(arrival).is_err() {
                    tracing::error!("a worker is gone");
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Waits for the workers' threads, without holding up the runtime.
async fn join(workers: Vec<Worker>) {
    for worker in workers {
        drop(worker.arrivals);
        let thread = worker.thread;
        let ended = tokio::task::spawn_blocking(move || thread.join());
        if !matches!(ended.await, Ok(Ok(()))) {
            tracing::error!("a worker panicked");
        }
    }
}

/// Each session has two sockets, and as many clients as there may be can wait beside. Where the
/// system does not allow as many, accepting fails later and says so; a quarter of what it allows is
/// for sockets that have said nothing.
fn places(connections_max: usize) -> Places {
    let wanted = 3 * connections_max as u64 + 256;
    let mut allowed = wanted;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < wanted
    {
        let raised = wanted.min(hard);
        match setrlimit(Resource::RLIMIT_NOFILE, raised, hard) {
            Ok(()) => allowed = raised,
            Err(error) => {
                allowed = soft;
                tracing::warn!(%error, "open files cannot be raised to {wanted}");
            }
        }
    }
    let quarter = usize::try_from(allowed / 4).unwrap_or(usize::MAX);
    Places::new(connections_max, connections_max.min(quarter))
}

/// Done when the program is asked to end: SIGTERM, SIGINT.
pub async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without a handler the signal itself ends the program.
    let _ = interrupt.await;
}

/// Runs a proxy on a thread of its own: for tests, and for programs that have other things to do.
pub struct Running {
    /// Where clients connect to.
    pub address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(config: Config) -> Result<Self, StartError> {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (started, start) = channel::channel();
        let thread = thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || {
                let server = Server::start(&config);
                let address = server.as_ref().map(Server::address);
                match address {
                    Ok(Ok(address)) => {
                        // Whoever started it may be gone; then it stops at once.
                        let _ = started.send(Ok(address));
                        if let Ok(server) = server {
                            server.run(async {
                                let _ = stopped.await;
                            });
                        }
                    }
                    Ok(Err(error)) => drop(started.send(Err(StartError::Worker(error)))),
                    Err(_) => drop(started.send(server.map(|_| unreachable!("it is an error")))),
                }
            })
            .map_err(StartError::Worker)?;
        let address = start
            .recv()
            .map_err(|_| StartError::Worker(io::Error::other("its thread ended")))??;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its own thread.
            let _ = thread.join();
        }
    }
}
