//! The clients of this process, by their numbers.
//!
//! A fork copies the memory of a process, but none of its threads: a lock that one of them held
//! stays locked. So each process has a list of its own, at the end of a chain, and looks at no lock
//! of the processes before it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::client::Client;
use crate::error::{Error, lock};

/// The first number that is not given yet; children go on where their parent was.
static NEXT: AtomicU64 = AtomicU64::new(1);
static FIRST: OnceLock<Clients> = OnceLock::new();

/// The clients of one process.
struct Clients {
    process: u32,
    /// Lower numbers are of processes before it.
    first_number: u64,
    open: Mutex<HashMap<u64, Arc<Client>>>,
    /// Of a process that was forked from it.
    next: OnceLock<Box<Clients>>,
}

impl Clients {
    fn new() -> Self {
        Self {
            process: std::process::id(),
            first_number: NEXT.load(Ordering::Relaxed),
            open: Mutex::default(),
            next: OnceLock::new(),
        }
    }

    /// Those of this process.
    fn own() -> &'static Self {
        let process = std::process::id();
        let mut clients = FIRST.get_or_init(Self::new);
        while clients.process != process {
            clients = clients.next.get_or_init(|| Box::new(Self::new()));
        }
        clients
    }

    /// Why there is no client of a number.
    fn missing(&self, number: u64) -> Error {
        match number {
            0 => Error::Unknown,
            _ if number < self.first_number => Error::Forked,
            _ => Error::Unknown,
        }
    }
}

/// Opens a client, and gives its number.
pub fn open(configuration: &Path, server: Option<&str>) -> Result<u64, Error> {
    let client = Client::open(configuration, server)?;
    let clients = Clients::own();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&clients.open).insert(number, Arc::new(client));
    Ok(number)
}

/// The client of a number.
pub fn find(number: u64) -> Result<Arc<Client>, Error> {
    let clients = Clients::own();
    let found = lock(&clients.open).get(&number).cloned();
    found.ok_or_else(|| clients.missing(number))
}

/// Closes the client of a number.
pub fn close(number: u64) -> Result<(), Error> {
    let clients = Clients::own();
    let found = lock(&clients.open).remove(&number);
    found.ok_or_else(|| clients.missing(number))?.close();
    Ok(())
}
