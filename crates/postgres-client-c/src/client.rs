//! A client: rules, key and server, the threads that serve its connections, and its socket.
//!
//! Invariants:
//! 1. When `close` returns, no thread of the client runs, and nothing holds its keys.
//! 2. There are no more connections at a time than the configuration allows, by descriptor and by
//!    socket together.
//! 3. No thread takes the signal of a socket whose other side is gone (SIGPIPE), which ends
//!    programs that do not expect it. Those that serve connections take none at all.
//! 4. The finisher's sockets belong to the main thread, which ends after the workers.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use nix::sys::signal::Signal;
use strongroom_postgres::{Connector, Options, Refusal, Server, tokio_postgres};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::error::{Error, lock};
use crate::service::{Arrival, Service};
use crate::socket::{PrivateSocket, accept};
use crate::threads::{runtime, spawn};
use crate::worker::Worker;

/// Threads that serve connections, where the configuration does not say: a driver's process seldom
/// keeps more of them busy.
const WORKERS_MAX: usize = 4;

/// Drivers that are told at a time why they are not served.
const REFUSED_MAX: usize = 64;

/// One client.
pub struct Client {
    /// None: it is closed.
    running: Mutex<Option<Running>>,
}

/// What lives until a client is closed. Dropping it ends its threads and waits for them.
struct Running {
    service: Arc<Service>,
    socket: Option<PrivateSocket>,
    workers: Arc<Mutex<Vec<Worker>>>,
    /// Sockets to listen at; closed, the main thread ends.
    listeners: Option<mpsc::UnboundedSender<std::os::unix::net::UnixListener>>,
    main: Option<JoinHandle<()>>,
}

impl Client {
    /// Reads the configuration, and starts the threads.
    pub fn open(configuration: &Path, server: Option<&str>) -> Result<Self, Error> {
        let options = Options::read(configuration)?;
        let limits = options.limits();
        let server = match server {
            None => options.upstream().ok_or(Error::NoServer)?,
            Some(text) => text
                .parse::<tokio_postgres::Config>()
                .map_err(Error::ServerText)?,
        };
        let server = Server::new(server)?;
        let connector = Connector::new(options)?;
        let main = runtime().map_err(|error| Error::System("a thread's poll", error))?;
        let places = limits.connections_max.get().min(Semaphore::MAX_PERMITS);
        let service = Arc::new(Service {
            connector: connector.finish_on(main.handle().clone()),
            server,
            limits,
            places: Arc::new(Semaphore::new(places)),
        });
        let running = Running::start(service, main);
        let running = running.map_err(|error| Error::System("a thread", error))?;
        Ok(Self {
            running: Mutex::new(Some(running)),
        })
    }

    /// One more connection: the driver's end.
    pub fn connect(&self) -> Result<UnixStream, Error> {
        let running = lock(&self.running);
        let running = running.as_ref().ok_or(Error::Unknown)?;
        let places_max = running.service.limits.connections_max.get();
        let place = running.service.place().ok_or(Error::TooMany(places_max))?;
        let pair = UnixStream::pair();
        let (ours, drivers) = pair.map_err(|error| Error::System("a pair of sockets", error))?;
        give(
            &running.workers,
            Arrival {
                socket: ours,
                place,
            },
        );
        Ok(drivers)
    }

    /// The folder of the socket, which is made by the first call.
    pub fn listen(&self) -> Result<PathBuf, Error> {
        let mut running = lock(&self.running);
        let running = running.as_mut().ok_or(Error::Unknown)?;
        if let Some(socket) = &running.socket {
            return Ok(socket.folder().to_owned());
        }
        let (socket, listener) = PrivateSocket::make()?;
        if let Some(listeners) = &running.listeners {
            listeners.send(listener).map_err(|_| Error::Defect)?;
        }
        let folder = socket.folder().to_owned();
        running.socket = Some(socket);
        Ok(folder)
    }

    /// Ends everything, and waits until it has ended.
    pub fn close(&self) {
        let running = lock(&self.running).take();
        drop(running);
    }
}

impl Running {
    fn start(service: Arc<Service>, main: Runtime) -> io::Result<Self> {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        let workers = service.limits.workers.map(usize::from);
        let workers = workers.unwrap_or_else(|| processors().min(WORKERS_MAX));
        let (listeners, arriving) = mpsc::unbounded_channel();
        // Dropped where a thread cannot be started, it ends those that were.
        let mut running = Self {
            service: Arc::clone(&service),
            socket: None,
            workers: Arc::default(),
            listeners: Some(listeners),
            main: None,
        };
        for _ in 0..workers {
            let worker = Worker::start(&service)?;
            lock(&running.workers).push(worker);
        }
        let workers = Arc::clone(&running.workers);
        // The finisher's processes begin with this thread's mask: it blocks nothing else.
        running.main = Some(spawn("strongroom", &[Signal::SIGPIPE], move || {
            main.block_on(listen(arriving, &service, &workers));
        })?);
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.socket.take());
        let workers = std::mem::take(&mut *lock(&self.workers));
        for worker in workers {
            worker.end();
        }
        drop(self.listeners.take());
        if let Some(main) = self.main.take() {
            // A panic was caught by its runtime, or ended it.
            let _ = main.join();
        }
    }
}

/// The main thread's work: hears of the socket, takes who comes, ends the finishers at last.
async fn listen(
    mut arriving: mpsc::UnboundedReceiver<std::os::unix::net::UnixListener>,
    service: &Service,
    workers: &Mutex<Vec<Worker>>,
) {
    let mut listener = None;
    let mut refusing = JoinSet::new();
    loop {
        let refusal = tokio::select! {
            arrived = arriving.recv() => match arrived {
                Some(socket) => {
                    listener = tokio::net::UnixListener::from_std(socket).ok();
                    continue;
                }
                None => break,
            },
            (socket, is_own) = accept(&mut listener) => match (is_own, service.place()) {
                (true, Some(place)) => {
                    give(workers, Arrival { socket, place });
                    continue;
                }
                (true, None) => Refusal::TooMany.tell(socket),
                (false, _) => Refusal::NotThisProcess.tell(socket),
            },
            Some(_) = refusing.join_next() => continue,
        };
        // Those beyond see their socket closed.
        if refusing.len() < REFUSED_MAX {
            refusing.spawn(refusal);
        }
    }
    drop(listener);
    service.connector.end_finishers().await;
}

/// Gives a connection to the worker that has the fewest. Where the client is being closed it ends.
fn give(workers: &Mutex<Vec<Worker>>, arrival: Arrival) {
    let workers = lock(workers);
    if let Some(worker) = workers.iter().min_by_key(|worker| worker.load()) {
        worker.give(arrival);
    }
}
