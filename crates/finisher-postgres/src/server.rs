//! A server of one major version: started when it is first needed, and again when it has died.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use finisher_core::{
    FAILURE_PAUSE, FinisherCounters, HostError, Keeper, Owner, Place, PrivateFolder,
    SOCKET_PATH_SIZE_MAX, Start, Starting,
};
use session_core::counters::add;
use session_postgres::finisher::FinisherKind;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::connection::{Connection, Failure};
use crate::enums;
use crate::error::FinisherError;
use crate::extensions;
use crate::lacking::Lacking;
use crate::moment_casts;
use crate::options::FinisherOptions;
use crate::order::OrderCheck;
use crate::walls;

/// The name that the server gives its socket, by its port.
const SOCKET: &str = ".s.PGSQL.5432";
/// Arguments: the folder of the programs, options of the server.
const COMMAND: &str = r#"
programs=$1
shift
"$programs/initdb" --pgdata="$folder/data" --username=strongroom_owner --encoding=UTF8 \
    --locale=C --auth-local=peer --auth-host=reject --no-sync --wal-segsize=1 >/dev/null &&
    exec $end_with_keeper "$programs/postgres" -D "$folder/data" "$@"
"#;
/// Databases at a time: each takes 8 MB of memory. A change of the enumerations or extensions of a
/// server makes another kind.
const DATABASES_MAX: usize = 24;
/// The first version that drops a database with connections.
const FORCES_SINCE: u16 = 13;
/// How often a server that starts is asked whether it has.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// How long a server that refuses connections for now is given.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(10);

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
    major: u16,
    programs: PathBuf,
    options: Arc<FinisherOptions>,
    counters: Arc<FinisherCounters>,
}

/// Whether it runs.
type State = Starting<Running, FinisherError>;

#[derive(Debug)]
struct Running {
    keeper: Keeper,
    socket: Arc<Path>,
    /// The one that was asked for last is last.
    databases: Vec<(FinisherKind, Database)>,
    /// Kinds that got no database, when they last got none, and why.
    failed: HashMap<FinisherKind, (Instant, Arc<FinisherError>)>,
    /// How many databases were begun: no name is used again.
    names: usize,
}

impl finisher_core::Kept for Running {
    fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    fn into_keeper(self) -> Keeper {
        self.keeper
    }
}

/// A database for questions of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    socket: Arc<Path>,
    name: Arc<str>,
    pub(crate) collation_version: Option<Arc<str>>,
    /// The server's rules have another version.
    order: Option<Arc<OrderCheck>>,
    lacking: Arc<Lacking>,
}

impl Server {
    pub(crate) fn new(
        major: u16,
        programs: PathBuf,
        options: &Arc<FinisherOptions>,
        counters: &Arc<FinisherCounters>,
    ) -> Self {
        let shared = Shared {
            major,
            programs,
            options: Arc::clone(options),
            counters: Arc::clone(counters),
        };
        Self {
            shared: Arc::new(shared),
            state: Arc::default(),
        }
    }

    /// The database of a kind. Starts the server and creates the database, where they are not
    /// there. This goes on when the caller stops waiting.
    pub(crate) async fn database(
        &self,
        kind: &Arc<FinisherKind>,
    ) -> Result<Database, Arc<FinisherError>> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        if let Some(database) = state.running().and_then(|own| own.known(kind)) {
            return Ok(database);
        }
        let (shared, kind) = (Arc::clone(&self.shared), Arc::clone(kind));
        let made = tokio::spawn(async move { shared.make(state, &kind).await });
        let stopped = |_| Arc::new(HostError::Late.into());
        made.await.map_err(stopped)?
    }

    /// A connection to a database that gave none: its server has ended, whatever its keeper knows.
    async fn give_up(&self, socket: &Arc<Path>) {
        let mut state = self.state.lock().await;
        state.give_up(|own| own.socket == *socket);
    }

    /// A connection to the database of a kind.
    pub(crate) async fn connect(
        &self,
        kind: &Arc<FinisherKind>,
    ) -> Result<Connection, Arc<FinisherError>> {
        let database = self.database(kind).await?;
        match database.connect().await {
            Err(FinisherError::Connection(_)) => {
                self.give_up(&database.socket).await;
                let database = self.database(kind).await?;
                Ok(database.connect().await?)
            }
            other => Ok(other?),
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

impl Database {
    async fn connect(&self) -> Result<Connection, FinisherError> {
        let parameters = walls::query_parameters(&self.name);
        let mut connection = connect(&self.socket, &parameters).await?;
        connection.note_lacking(Arc::clone(&self.lacking));
        if let Some(order) = &self.order {
            let checked = connection.check_order(Arc::clone(order)).await;
            checked.map_err(walls::refused)?;
        }
        Ok(connection)
    }
}

/// A connection, waiting for a server that refuses it for now.
async fn connect(socket: &Path, parameters: &[(&str, &str)]) -> Result<Connection, FinisherError> {
    let since = Instant::now();
    loop {
        match Connection::open(socket, parameters).await {
            Ok(connection) => return Ok(connection),
            Err(Failure::Last(error))
                if walls::is_for_now(&error) && since.elapsed() < REFUSAL_TIME_MAX =>
            {
                sleep(LOOK_PAUSE).await;
            }
            Err(failure) => return Err(walls::refused(failure)),
        }
    }
}

impl Shared {
    /// Starts the server, if it does not run, and creates the database of a kind.
    async fn make(
        self: &Arc<Self>,
        mut state: OwnedMutexGuard<State>,
        kind: &FinisherKind,
    ) -> Result<Database, Arc<FinisherError>> {
        let start = async {
            self.start().await.inspect_err(|error| {
                tracing::error!(major = self.major, %error, "the finisher does not start");
            })
        };
        let running = state.started(start, &self.counters).await?;
        if let Some((when, error)) = running.failed.get(kind)
            && when.elapsed() < FAILURE_PAUSE
        {
            return Err(Arc::clone(error));
        }
        let made = running.create_database(kind).await;
        made.map_err(|error| {
            tracing::warn!(major = self.major, %error, "the finisher has no database for a server");
            let error = Arc::new(error);
            let failed = (Instant::now(), Arc::clone(&error));
            running.failed.insert(kind.clone(), failed);
            error
        })
    }

    async fn start(self: &Arc<Self>) -> Result<Running, FinisherError> {
        let shared = Arc::clone(self);
        let begun = spawn_blocking(move || shared.begin()).await;
        let (keeper, socket) = begun.map_err(|_| HostError::Late)??;
        let mut owner = self.wait_until_ready(&keeper, &socket).await?;
        walls::set_up_server(&mut owner).await?;
        keeper.ready();
        add(&self.counters.started, 1);
        tracing::info!(major = self.major, "the finisher has started");
        Ok(Running {
            keeper,
            socket: socket.into(),
            databases: Vec::new(),
            failed: HashMap::new(),
            names: 0,
        })
    }

    /// Makes its folder and starts its keeper. Blocks.
    fn begin(&self) -> Result<(Keeper, PathBuf), FinisherError> {
        let owner = Owner::find(self.options.run_as.as_deref())?;
        let place = Place::choose(self.options.folder.as_deref(), &owner);
        let folder = PrivateFolder::create(&place, &owner)?;
        let socket = folder.path().join(SOCKET);
        if socket.as_os_str().len() > SOCKET_PATH_SIZE_MAX {
            return Err(HostError::LongPath { path: socket }.into());
        }
        let access = folder.write("pg_hba.conf", &walls::access())?;
        let identities = folder.write("pg_ident.conf", &walls::identities(&owner.name))?;
        let mut settings = walls::settings(self.major, &self.options, place.is_memory);
        let named = [
            ("unix_socket_directories", folder.path()),
            ("hba_file", access.as_path()),
            ("ident_file", identities.as_path()),
        ];
        settings.extend(named.map(|(name, path)| (name, path.display().to_string())));
        let mut arguments = vec![self.programs.clone().into_os_string()];
        for (name, value) in settings {
            arguments.extend(["-c".into(), format!("{name}={value}").into()]);
        }
        let start = Start {
            owner: &owner,
            command: COMMAND,
            // It ends its children, and writes nothing more.
            signal: "QUIT",
            arguments,
            locales: self.options.locales.as_deref(),
        };
        let keeper = Keeper::start(folder, &start).map_err(HostError::Keeper)?;
        Ok((keeper, socket))
    }

    async fn wait_until_ready(
        &self,
        keeper: &Keeper,
        socket: &Path,
    ) -> Result<Connection, FinisherError> {
        let since = Instant::now();
        loop {
            // Read first: a server that ended after its last refusal has said why.
            let is_over = keeper.is_over();
            let parameters = walls::owner_parameters("template1");
            match Connection::open(socket, &parameters).await {
                Ok(connection) => return Ok(connection),
                Err(Failure::Gone(_)) => {}
                Err(Failure::Last(error)) if walls::is_for_now(&error) => {}
                Err(failure) => return Err(walls::refused(failure)),
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
    /// The database of a kind, if it is there.
    fn known(&mut self, kind: &FinisherKind) -> Option<Database> {
        let index = self.databases.iter().position(|(own, _)| own == kind)?;
        self.databases[index..].rotate_left(1);
        self.databases.last().map(|(_, own)| own.clone())
    }

    /// Makes room for another database.
    async fn drop_oldest(&mut self, major: u16) -> Result<(), FinisherError> {
        self.failed
            .retain(|_, (when, _)| when.elapsed() < FAILURE_PAUSE);
        while self.databases.len() >= DATABASES_MAX && major >= FORCES_SINCE {
            let (_, oldest) = self.databases.remove(0);
            let mut owner = connect(&self.socket, &walls::owner_parameters("template1")).await?;
            // A question that is under way fails. Whoever asked it has long had another kind.
            let sql = dropping(&oldest.name, major);
            owner.simple(&sql).await.map_err(walls::refused)?;
        }
        Ok(())
    }

    async fn create_database(&mut self, kind: &FinisherKind) -> Result<Database, FinisherError> {
        self.drop_oldest(kind.major).await?;
        self.names += 1;
        let name = format!("kind_{}", self.names);
        let mut owner = connect(&self.socket, &walls::owner_parameters("template1")).await?;
        walls::create_database(&mut owner, &name, kind).await?;
        match self.furnish(&name, kind).await {
            Ok(database) => {
                self.databases.push((kind.clone(), database.clone()));
                Ok(database)
            }
            Err(error) => {
                // Nobody would find it, and it takes memory.
                let _ = owner.simple(&dropping(&name, kind.major)).await;
                Err(error)
            }
        }
    }

    /// Prepares a new database for queries of its kind.
    async fn furnish(&self, name: &str, kind: &FinisherKind) -> Result<Database, FinisherError> {
        let mut owner = connect(&self.socket, &walls::owner_parameters(name)).await?;
        walls::wall_in(&mut owner).await?;
        walls::create_failing_function(&mut owner).await?;
        moment_casts::create(&mut owner).await?;
        // Types of extensions make room for enumerations.
        let lacking = extensions::create(&mut owner, name, kind).await?;
        enums::create(&mut owner, &kind.named_types).await?;
        let version = walls::collation_version(&mut owner, kind.major).await?;
        let (servers, own) = (kind.collation_version.as_str(), version.as_deref());
        let order = match servers.is_empty() || own == Some(servers) {
            true => None,
            false => {
                tracing::warn!(
                    locale = kind.collate,
                    server = servers,
                    here = own,
                    "the server's locale has another version than this machine's: the finisher \
                     refuses queries that sort texts by it"
                );
                let answers = walls::orders(&mut owner).await?;
                Some(Arc::new(OrderCheck::new(answers, servers, own)))
            }
        };
        Ok(Database {
            socket: Arc::clone(&self.socket),
            name: name.into(),
            collation_version: version.map(Into::into),
            order,
            lacking: Arc::new(lacking),
        })
    }
}

/// Drops a database, with the sessions in it where the version can.
fn dropping(name: &str, major: u16) -> String {
    let force = if major >= FORCES_SINCE {
        " WITH (FORCE)"
    } else {
        ""
    };
    format!("DROP DATABASE {name}{force}")
}
