//! A server of one kind: started when it is first needed, and again when it has died.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use finisher_core::{
    FinisherCounters, HostError, Keeper, Owner, Place, PrivateFolder, SOCKET_PATH_SIZE_MAX, Start,
    Starting,
};
use session_core::counters::add;
use session_mysql::finisher::FinisherKind;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use zeroize::Zeroizing;

use crate::connection::{Connection, Failure};
use crate::error::FinisherError;
use crate::options::FinisherOptions;
use crate::product::Product;
use crate::programs::Program;
use crate::walls;

const SOCKET: &str = "socket";
/// What is executed at the start.
const FIRST: &str = "first.sql";
/// How often a server that starts is asked whether it has.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    /// Held while it is started, or a database is created: others wait for the result.
    state: Arc<Mutex<State>>,
}

/// What a start needs to know.
#[derive(Debug)]
struct Shared {
    kind: FinisherKind,
    program: Program,
    options: Arc<FinisherOptions>,
    counters: Arc<FinisherCounters>,
}

/// Whether it runs.
type State = Starting<Running, FinisherError>;

#[derive(Debug)]
struct Running {
    keeper: Keeper,
    access: Access,
    databases: HashSet<String>,
}

impl finisher_core::Kept for Running {
    fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    fn into_keeper(self) -> Keeper {
        self.keeper
    }
}

/// How to connect.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    product: Product,
    socket: Arc<Path>,
    password: Arc<Zeroizing<String>>,
    /// How many users of questions were made.
    users: Arc<AtomicU64>,
}

impl Access {
    async fn connect(&self, user: &str) -> Result<Connection, FinisherError> {
        let opened = Connection::open(&self.socket, self.product, (user, &self.password)).await;
        opened.map_err(refused)
    }

    /// A connection for questions, with a user of its own: none sees the questions of another.
    async fn connect_for_questions(&self) -> Result<Connection, FinisherError> {
        let user = walls::user(self.users.fetch_add(1, Ordering::Relaxed));
        let mut owner = self.connect(walls::OWNER).await?;
        for sql in walls::make_user(self.product, &user, &self.password) {
            owner.execute(&sql).await.map_err(refused)?;
        }
        let connection = self.connect(&user).await?;
        let dropped = owner.execute(&walls::drop_user(&user)).await;
        dropped.map_err(refused)?;
        Ok(connection)
    }

    /// Ends a connection, whatever it does.
    pub(crate) async fn end_connection(&self, number: u32) -> Result<(), FinisherError> {
        let mut owner = self.connect(walls::OWNER).await?;
        owner
            .execute(&format!("KILL CONNECTION {number}"))
            .await
            .map_err(refused)
    }
}

fn refused(failure: Failure) -> FinisherError {
    match failure {
        Failure::Last(error) => FinisherError::SetUp(error),
        Failure::Late => HostError::Late.into(),
        Failure::Gone(error) => FinisherError::Connection(error),
    }
}

impl Server {
    pub(crate) fn new(
        kind: FinisherKind,
        program: Program,
        options: &Arc<FinisherOptions>,
        counters: &Arc<FinisherCounters>,
    ) -> Self {
        let shared = Shared {
            kind,
            program,
            options: Arc::clone(options),
            counters: Arc::clone(counters),
        };
        Self {
            shared: Arc::new(shared),
            state: Arc::default(),
        }
    }

    /// How to connect, once the server runs and has these databases. The server goes on starting
    /// when the caller stops waiting.
    pub(crate) async fn access(&self, databases: &[String]) -> Result<Access, Arc<FinisherError>> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        if let Some(running) = state.running()
            && databases.iter().all(|own| running.databases.contains(own))
        {
            return Ok(running.access.clone());
        }
        let (shared, databases) = (Arc::clone(&self.shared), databases.to_vec());
        let made = tokio::spawn(async move { shared.make(state, databases).await });
        let stopped = |_| Arc::new(HostError::Late.into());
        made.await.map_err(stopped)?
    }

    /// A connection for questions over tables of these databases, and how it was made.
    pub(crate) async fn connect(
        &self,
        databases: &[String],
    ) -> Result<(Connection, Access), Arc<FinisherError>> {
        let access = self.access(databases).await?;
        match access.connect_for_questions().await {
            // The server has ended, whatever its keeper knows.
            Err(FinisherError::Connection(_)) => {
                let mut state = self.state.lock().await;
                state.give_up(|own| own.access.socket == access.socket);
                drop(state);
                let access = self.access(databases).await?;
                Ok((access.connect_for_questions().await?, access))
            }
            other => Ok((other?, access)),
        }
    }

    /// Ends it, and waits for that.
    pub(crate) async fn end(&self) {
        let running = self.state.lock().await.take();
        if let Some(running) = running {
            finisher_core::end(running).await;
        }
    }
}

impl Shared {
    fn product(&self) -> Product {
        Product::of(self.kind.series)
    }

    /// Starts the server, if it does not run, and creates databases.
    async fn make(
        self: &Arc<Self>,
        mut state: OwnedMutexGuard<State>,
        databases: Vec<String>,
    ) -> Result<Access, Arc<FinisherError>> {
        let start = async {
            self.start().await.inspect_err(|error| {
                let series = self.kind.series;
                tracing::error!(series, %error, "the finisher does not start");
            })
        };
        let running = state.started(start, &self.counters).await?;
        running.create(databases).await.map_err(Arc::new)?;
        Ok(running.access.clone())
    }

    async fn start(self: &Arc<Self>) -> Result<Running, FinisherError> {
        let mut secret = Zeroizing::new([0_u8; 24]);
        aws_lc_rs::rand::fill(&mut *secret)
            .map_err(|_| HostError::Keeper(std::io::Error::other("there is no randomness")))?;
        let password: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let password = Arc::new(Zeroizing::new(password));
        let (shared, own) = (Arc::clone(self), Arc::clone(&password));
        let begun = spawn_blocking(move || shared.begin(&own)).await;
        let (keeper, folder) = begun.map_err(|_| HostError::Late)??;
        let access = Access {
            product: self.product(),
            socket: folder.join(SOCKET).into(),
            password,
            users: Arc::default(),
        };
        self.wait_until_ready(&keeper, &access).await?;
        // It has the password, and was read.
        drop(fs::remove_file(folder.join(FIRST)));
        keeper.ready();
        add(&self.counters.started, 1);
        tracing::info!(series = self.kind.series, "the finisher has started");
        Ok(Running {
            keeper,
            access,
            databases: HashSet::new(),
        })
    }

    /// Makes its folder and starts its keeper. Blocks.
    fn begin(&self, password: &str) -> Result<(Keeper, PathBuf), FinisherError> {
        let owner = Owner::find(self.options.run_as.as_deref())?;
        let place = Place::choose(self.options.folder.as_deref(), &owner);
        if !place.is_memory {
            return Err(FinisherError::NoMemory);
        }
        let folder = PrivateFolder::create(&place, &owner)?;
        let path = folder.path().to_owned();
        let socket = path.join(SOCKET);
        if socket.as_os_str().len() > SOCKET_PATH_SIZE_MAX {
            return Err(HostError::LongPath { path: socket }.into());
        }
        let first = folder.write(FIRST, &walls::first_statements(self.product(), password))?;
        let start = Start {
            owner: &owner,
            command: walls::command(self.product()),
            // It has nothing to keep.
            signal: "KILL",
            arguments: walls::arguments(
                &self.program,
                &self.options,
                (&socket, &first),
                self.kind.folds_tables,
            ),
            locales: None,
        };
        let keeper = Keeper::start(folder, &start).map_err(HostError::Keeper)?;
        Ok((keeper, path))
    }

    async fn wait_until_ready(
        &self,
        keeper: &Keeper,
        access: &Access,
    ) -> Result<(), FinisherError> {
        let since = Instant::now();
        loop {
            // Read first: a server that ended after its last refusal has said why.
            let is_over = keeper.is_over();
            match access.connect(walls::OWNER).await {
                Ok(_) => return Ok(()),
                Err(FinisherError::Connection(_)) => {}
                Err(failure) => return Err(failure),
            }
            if is_over {
                let said = keeper.said();
                return Err(HostError::Ended { said }.into());
            }
            if since.elapsed() > self.options.start_timeout {
                return Err(HostError::Late.into());
            }
            sleep(LOOK_PAUSE).await;
        }
    }
}

impl Running {
    /// Creates the databases that are not there.
    async fn create(&mut self, databases: Vec<String>) -> Result<(), FinisherError> {
        let missing = databases.into_iter();
        let missing: Vec<String> = missing
            .filter(|name| !self.databases.contains(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut owner = self.access.connect(walls::OWNER).await?;
        for name in missing {
            let quoted = name.replace('`', "``");
            let sql = format!("CREATE DATABASE IF NOT EXISTS `{quoted}`");
            owner.execute(&sql).await.map_err(refused)?;
            self.databases.insert(name);
        }
        Ok(())
    }
}
