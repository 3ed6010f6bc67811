//! A thread that serves connections: all of one connection is done in one thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use nix::sys::signal::Signal;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::service::{Arrival, Service};
use crate::threads::{runtime, spawn};

/// One thread.
pub struct Worker {
    /// Closed, the thread ends, and with it what it serves.
    arrivals: mpsc::UnboundedSender<Arrival>,
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts it.
    pub fn start(service: &Arc<Service>) -> io::Result<Self> {
        let runtime = runtime()?;
        let (arrivals, arriving) = mpsc::unbounded_channel();
        let load = Arc::new(AtomicUsize::new(0));
        let work = serve(arriving, Arc::clone(service), Arc::clone(&load));
        let blocked: Vec<Signal> = Signal::iterator().collect();
        let thread = spawn("strongroom-conn", &blocked, move || runtime.block_on(work))?;
        Ok(Self {
            arrivals,
            load,
            thread,
        })
    }

    /// How many connections it has.
    pub fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Gives it one more.
    pub fn give(&self, arrival: Arrival) {
        self.load.fetch_add(1, Ordering::Relaxed);
        // It is gone only after a panic of its own: then the driver sees the end.
        let _ = self.arrivals.send(arrival);
    }

    /// Ends its connections, and waits for it.
    pub fn end(self) {
        drop(self.arrivals);
        // A panic of a connection was caught by the runtime.
        let _ = self.thread.join();
    }
}

async fn serve(
    mut arriving: mpsc::UnboundedReceiver<Arrival>,
    service: Arc<Service>,
    load: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            arrival = arriving.recv() => match arrival {
                Some(arrival) => {
                    let service = Arc::clone(&service);
                    let open = Open(Arc::clone(&load));
                    connections.spawn(async move {
                        let Arrival { socket, place } = arrival;
                        let (server, time) = (&service.server, service.limits.start_time);
                        // The driver has been told, if it is there.
                        let _ = service.connector.serve(server, socket, time).await;
                        drop((place, open));
                    });
                }
                // What is served ends with the set.
                None => break,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Counts a connection while it lives, also where its task panics.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
