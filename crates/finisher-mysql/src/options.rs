//! What a proxy decides about its finishers.

use std::path::PathBuf;
use std::time::Duration;

use crate::product::Product;

/// Options of [`crate::Finishers`].
#[derive(Clone, Debug)]
pub struct FinisherOptions {
    /// Of which product the servers are.
    pub product: Product,
    /// The folder with `mariadbd` or `mysqld`. None: it is looked for where packages put it, and in
    /// `PATH`.
    pub programs: Option<PathBuf>,
    /// The user who runs the server. It does not run as root: a proxy that does must name one here.
    /// None: the proxy's own user.
    pub run_as: Option<String>,
    /// Where the server's folder is made, on a tmpfs. None: where the system offers that.
    pub folder: Option<PathBuf>,
    /// How many questions are answered at a time; more wait in order. At least 1.
    pub connections_max: usize,
    /// How long a question may take, apart from waiting.
    pub statement_timeout: Duration,
    /// How long a server may take to start.
    pub start_timeout: Duration,
    /// Temporary tables and files of one connection, in MiB of memory.
    pub temporary_mib: u32,
}

impl Default for FinisherOptions {
    fn default() -> Self {
        Self {
            product: Product::MariaDb,
            programs: None,
            run_as: None,
            folder: None,
            connections_max: 8,
            statement_timeout: Duration::from_secs(30),
            start_timeout: Duration::from_secs(60),
            temporary_mib: 256,
        }
    }
}
