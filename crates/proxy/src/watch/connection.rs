//! The connection of a watch: it listens, looks at the catalogues, announces, and confirms.
//!
//! A proxy shows that it listens by an advisory lock, which the server takes back when its
//! connection ends. Whoever announces a change asks who holds one, and waits for their answers:
//! those who begin to listen later read the schema as it is by then. A proxy that has lost its
//! connection holds none, and plans by what it knows until its lease ends: `listeners` has who may.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use configuration::KeysError;
use session_core::counters::add;
use session_core::{Protection, Requests, Watch, Watching};
use sql_rewrite::{ASKED, CHECKED};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use super::listeners::Listeners;
use super::login::Guarded;
use super::rows_of;
use crate::servers::Server;
use crate::shared::Shared;
use crate::upstream;

const CHANNEL: &str = "strongroom_schema";
/// The first number of the advisory locks of proxies that listen; the second is the proxy's own.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"stro");
/// The longest time between two looks at the catalogues.
const PAUSE: Duration = Duration::from_secs(1);
/// Notifications that wait to be heard. Any user may notify: with more the connection ends, and the
/// next one looks at the catalogues.
const WAITING_MAX: usize = 1024;
/// How long the connection is kept without sessions.
const IDLE: Duration = Duration::from_secs(30);

/// Why the connection ended.
#[derive(Debug, thiserror::Error)]
enum WatchError {
    #[error("{0}")]
    Connect(std::io::Error),
    #[error("{}", in_words(.0))]
    Server(#[from] tokio_postgres::Error),
    #[error("the server does not answer")]
    Silent,
    #[error("the server closed the connection, or too many notify on it")]
    Closed,
    #[error("the server has opened another database than was asked for")]
    Elsewhere,
    #[error("the server is no standby any more")]
    Promoted,
    #[error("the name of the database is not in UTF-8")]
    Name,
    #[error("[proxy.watch] password: {0}")]
    Password(#[from] KeysError),
}

/// What the server said, without the words of the library around it.
fn in_words(error: &tokio_postgres::Error) -> String {
    let said = error.as_db_error().map(|said| said.message().to_owned());
    said.unwrap_or_else(|| error.to_string())
}

/// A session of the database begins: its watch runs until the last has ended.
pub(crate) fn begin(watch: Arc<Watch>, server: Arc<Server>, shared: &Arc<Shared>) -> Watching {
    // Counted before the task is looked for: a task that ends looks for sessions once more.
    let watching = watch.begin_session();
    if let Some(requests) = watch.take_requests() {
        let (own, all) = (watch, Arc::clone(shared));
        shared.main.spawn(run(own, server, all, requests));
    }
    watching
}

/// Keeps the connection while there are sessions.
async fn run(watch: Arc<Watch>, server: Arc<Server>, shared: Arc<Shared>, mut requests: Requests) {
    let Some(protection) = shared.protection.clone() else {
        return;
    };
    let mut use_of = Use {
        last_wanted: Instant::now(),
        is_down: false,
    };
    loop {
        let ended = watch_on(
            &watch,
            (&server, &shared),
            &protection,
            &mut requests,
            &mut use_of,
        )
        .await;
        if let Err(error) = ended {
            if !std::mem::replace(&mut use_of.is_down, true) {
                let database = watch.known_as();
                tracing::warn!(database, %error, "the watch of the schema is down");
            }
            sleep(PAUSE).await;
        }
        if use_of.is_over(&watch) {
            match watch.give_back(requests) {
                Some(again) => requests = again,
                None => return,
            }
        }
    }
}

/// Whether the connection is of use, and was.
struct Use {
    last_wanted: Instant,
    /// The log was told that it is down.
    is_down: bool,
}

impl Use {
    /// Sessions that come and go find it, down or not: or each would begin a lease of its own.
    fn is_over(&mut self, watch: &Watch) -> bool {
        if watch.is_wanted() {
            self.last_wanted = Instant::now();
        }
        self.last_wanted.elapsed() > IDLE
    }
}

/// Until the connection ends, or nobody needs it any more.
async fn watch_on(
    watch: &Arc<Watch>,
    (server, shared): (&Server, &Shared),
    protection: &Protection,
    requests: &mut Requests,
    use_of: &mut Use,
) -> Result<(), WatchError> {
    let opened = Open::new(watch, server, shared);
    let opened = timeout(shared.config.startup_timeout(), opened).await;
    let mut open = opened.map_err(|_| WatchError::Silent)??;
    // Nobody has waited for this proxy until now. What it knows may be old, and so may be what a
    // session is just reading.
    protection.forget(watch.known_as());
    open.look(watch, protection).await?;
    if std::mem::take(&mut use_of.is_down) {
        let database = watch.known_as();
        tracing::info!(database, "the watch of the schema is back");
    }
    let mut ticks = interval(PAUSE.min(watch.lease() / 3));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => open.look(watch, protection).await?,
            request = requests.recv() => match request {
                Some(done) => open.announce(watch, done).await?,
                None => return Ok(()),
            },
            said = open.said.recv() => match said {
                Some(said) => open.hear(&said, watch, protection).await?,
                None => return Err(WatchError::Closed),
            },
        }
        if use_of.is_over(watch) {
            return Ok(());
        }
    }
}

/// An open connection.
struct Open {
    client: Client,
    /// What is notified.
    said: mpsc::Receiver<String>,
    /// Of this proxy and connection.
    number: i32,
    listeners: Listeners,
    /// Changes that were announced.
    changes: u64,
    /// Whether the server was a standby when the connection was opened.
    is_standby: bool,
    /// Who has not answered yet, by change; and whom to tell when all have.
    waiting: HashMap<u64, (HashSet<String>, oneshot::Sender<()>)>,
    /// Reads the socket until it is dropped.
    _task: JoinSet<()>,
}

impl Open {
    async fn new(watch: &Watch, server: &Server, shared: &Shared) -> Result<Self, WatchError> {
        let config = config(watch, shared).await?;
        let stream = upstream::open(server).await.map_err(WatchError::Connect)?;
        let (client, mut connection) = config.connect_raw(Guarded::new(stream), NoTls).await?;
        let (notify, said) = mpsc::channel(WAITING_MAX);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notification) = message
                    && notification.channel() == CHANNEL
                    && notify.try_send(notification.payload().to_owned()).is_err()
                {
                    return;
                }
            }
        });
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes).map_err(|error| WatchError::Connect(error.into()))?;
        let mut open = Self {
            client,
            said,
            number: i32::from_be_bytes(bytes) & i32::MAX,
            listeners: Listeners::new(watch.lease(), Instant::now()),
            changes: 0,
            is_standby: false,
            waiting: HashMap::new(),
            _task: task,
        };
        open.begin(watch).await?;
        Ok(open)
    }

    /// Listens, and shows that it does.
    async fn begin(&mut self, watch: &Watch) -> Result<(), WatchError> {
        let facts = self.ask(
            watch,
            "SELECT pg_catalog.current_database(), pg_catalog.pg_is_in_recovery()",
        );
        let facts = facts.await?;
        let [Some(database), Some(is_standby)] = facts.first().map_or(&[][..], Vec::as_slice)
        else {
            return Err(WatchError::Elsewhere);
        };
        if watch.name() != Some(database) {
            return Err(WatchError::Elsewhere);
        }
        // A standby lets nobody listen, nor change the schema: looking has to do.
        self.is_standby = is_standby == "t";
        if !self.is_standby {
            let number = self.number;
            let text = format!(
                "LISTEN {CHANNEL}; \
                 SELECT pg_catalog.pg_advisory_lock_shared({LOCK_CLASS}, {number})"
            );
            self.ask(watch, &text).await?;
        }
        Ok(())
    }

    /// Asks the server, which is to answer within the lease.
    async fn ask(&self, watch: &Watch, text: &str) -> Result<Vec<Vec<Option<String>>>, WatchError> {
        let answer = timeout(watch.lease(), self.client.simple_query(text)).await;
        let messages = answer.map_err(|_| WatchError::Silent)??;
        Ok(rows_of(&messages))
    }

    /// Looks whether the catalogues changed, and who listens.
    async fn look(&mut self, watch: &Watch, protection: &Protection) -> Result<(), WatchError> {
        let asked = Instant::now();
        self.check_role(watch).await?;
        let forgets = protection.forgets(watch.known_as());
        let answer = self.ask(watch, ASKED[CHECKED - 1]).await?;
        let fingerprint = answer.first().and_then(|row| row.first()?.as_deref());
        protection.compare(watch.known_as(), fingerprint.unwrap_or_default(), forgets);
        if let Some(freshness) = protection.freshness(watch.known_as()) {
            freshness.note_look(asked, Instant::now());
        }
        watch.note_heard(asked);
        self.others(watch).await.map(drop)
    }

    /// A server that was made the primary lets others change the schema, of which this connection
    /// hears nothing: the next one listens.
    async fn check_role(&self, watch: &Watch) -> Result<(), WatchError> {
        if !self.is_standby {
            return Ok(());
        }
        let rows = self.ask(watch, "SELECT pg_catalog.pg_is_in_recovery()");
        match rows.await?.first().and_then(|row| row.first()?.as_deref()) {
            Some("t") => Ok(()),
            _ => Err(WatchError::Promoted),
        }
    }

    /// The other proxies that listen.
    async fn others(&mut self, watch: &Watch) -> Result<HashSet<String>, WatchError> {
        let text = format!(
            "SELECT l.objid::pg_catalog.text FROM pg_catalog.pg_locks l
              WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted
                AND l.classid OPERATOR(pg_catalog.=) '{LOCK_CLASS}'::pg_catalog.oid
                AND l.objsubid OPERATOR(pg_catalog.=) '2'::pg_catalog.int2
                AND l.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()
                AND l.database OPERATOR(pg_catalog.=)
                    (SELECT d.oid FROM pg_catalog.pg_database d
                      WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())"
        );
        let rows = self.ask(watch, &text).await?;
        let others: HashSet<String> = rows.into_iter().flatten().flatten().collect();
        self.listeners.note(&others, Instant::now());
        Ok(others)
    }

    /// Tells the other proxies, and later whoever waits for them.
    async fn announce(
        &mut self,
        watch: &Watch,
        done: oneshot::Sender<()>,
    ) -> Result<(), WatchError> {
        self.changes += 1;
        let (number, change) = (self.number, self.changes);
        let mut others = self.others(watch).await?;
        if self.listeners.may_be_cut_off(Instant::now()) {
            // Nobody answers by this name: whoever waits does so until every lease has ended.
            others.insert(String::new());
        }
        if others.is_empty() {
            // Whoever waited may be gone.
            let _ = done.send(());
            return Ok(());
        }
        // Whoever has waited for a lease waits no more.
        self.waiting.retain(|_, (_, done)| !done.is_closed());
        self.waiting.insert(change, (others, done));
        self.notify(watch, &format!("changed {number} {change}"))
            .await
    }

    async fn notify(&self, watch: &Watch, said: &str) -> Result<(), WatchError> {
        let text = format!("SELECT pg_catalog.pg_notify('{CHANNEL}', '{said}')");
        self.ask(watch, &text).await.map(drop)
    }

    /// Another proxy, or whoever else may notify, says something.
    async fn hear(
        &mut self,
        said: &str,
        watch: &Watch,
        protection: &Protection,
    ) -> Result<(), WatchError> {
        let own = self.number.to_string();
        match said.split(' ').collect::<Vec<_>>()[..] {
            ["changed", by, change] if by != own => {
                add(&protection.counters().schema_changes_noticed, 1);
                protection.forget(watch.known_as());
                if let (Ok(by), Ok(change)) = (by.parse::<i32>(), change.parse::<u64>()) {
                    let said = format!("seen {own} {by} {change}");
                    self.notify(watch, &said).await?;
                }
            }
            ["seen", by, to, change] if to == own => {
                let change = change.parse().unwrap_or(0);
                let Some((others, _)) = self.waiting.get_mut(&change) else {
                    return Ok(());
                };
                others.remove(by);
                if others.is_empty()
                    && let Some((_, done)) = self.waiting.remove(&change)
                {
                    let _ = done.send(());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// How to log in.
async fn config(watch: &Watch, shared: &Shared) -> Result<Config, WatchError> {
    let mut config = Config::new();
    let own = shared.config.watch.as_ref();
    let name = watch.name().ok_or(WatchError::Name)?;
    config
        .application_name("strongroom watch")
        .dbname(name)
        .ssl_mode(SslMode::Disable);
    if let Some(own) = own {
        config.user(&own.user);
        if let Some(password) = &own.password {
            let source = password.clone();
            // A command may take its time, and this thread accepts clients.
            let read = spawn_blocking(move || source.read()).await;
            let read = read.map_err(|error| WatchError::Connect(error.into()))?;
            config.password(read?.expose());
        }
    }
    Ok(config)
}
