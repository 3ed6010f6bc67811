//! The servers of `upstream`, what is known of each, and which of them a session tries first.
//!
//! What attempts and looks have found decides the order, and keeps a server out only where
//! Patroni or the monitor has said a moment ago that it is of no use. So nothing old that is known
//! here can make a session impossible, and nothing here can put a session onto a wrong server: what
//! the server says when the session begins decides that.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use configuration::{ProxyConfig, TargetSessionAttrs, TlsError, Upstream};
use session_postgres::{ServerFacts, Target};

use crate::mysql::Threads;
use crate::tls::ServerConnector;

/// How long a server is tried last that has said that it cannot serve.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a connection alone does not prove that a server answers which has failed behind one:
/// the system accepts connections for a process that stands still.
const DOUBT: Duration = Duration::from_secs(30);
/// How long the word of Patroni or of the monitor holds.
const VERDICT_TIME: Duration = Duration::from_secs(5);

/// All servers.
pub struct Servers {
    all: Vec<Arc<Server>>,
    target: TargetSessionAttrs,
    /// The numbers that sessions before MySQL have at them.
    pub threads: Arc<Threads>,
}

/// One server.
pub struct Server {
    /// Its place in the configuration.
    pub index: usize,
    /// Where it is.
    pub address: Upstream,
    /// The same in words.
    pub name: String,
    /// TLS with it.
    pub connector: Option<ServerConnector>,
    /// It is a node of Galera, where a change is seen later on the other nodes.
    is_galera: Arc<AtomicBool>,
    state: Mutex<State>,
}

/// What is known of a server.
#[derive(Debug, Default)]
struct State {
    reach: Reach,
    /// Whether it was a standby, and when it said so.
    role: Option<(bool, Instant)>,
    /// Whether it is of use, by those who are asked beside sessions.
    patroni: Option<(Verdict, Instant)>,
    monitor: Option<(Verdict, Instant)>,
}

/// How the last attempt to reach a server has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reach {
    /// There was none.
    #[default]
    Unknown,
    /// It answers.
    Answers,
    /// It has said that it cannot serve.
    Refuses(Instant),
    /// It cannot be reached, or has not answered behind the connection. Until then only an answer
    /// proves that it is back.
    Fails(Option<Instant>),
}

/// Who is asked beside sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// It decides which server is the primary.
    Patroni,
    /// The proxy's own account, which sees the server alone.
    Monitor,
}

/// What Patroni or the monitor says of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can serve, as a standby or not.
    Serves {
        /// Whether it is a standby.
        is_standby: bool,
    },
    /// It can serve, but has something else to do: a node of Galera that gives its data to another.
    IsBusy,
    /// It cannot.
    IsOut,
}

/// How good a server is for a session. The best ones are first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    service: Service,
    fit: Fit,
    /// Of those that had the wrong role, whoever has said so longest ago is asked first.
    since: Option<Instant>,
}

/// Whether a server can serve, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Service {
    Serves,
    Refuses,
    Fails,
}

/// Whether a server is what a session wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Patroni or the monitor says that it is.
    Told,
    Good,
    /// It is of use where no better one is.
    Second,
    Wrong,
    /// Patroni or the monitor says that it is of no use.
    Out,
}

impl Servers {
    /// Those of a configuration.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(config: &ProxyConfig) -> Result<Self, TlsError> {
        let servers = config.upstream.servers().iter().enumerate();
        let all = servers.map(|(index, server)| {
            let tls = config.server_tls.as_ref();
            let connector = tls
                .map(|tls| ServerConnector::new(tls, server))
                .transpose()?;
            Ok(Arc::new(Server {
                index,
                name: server.address.to_string(),
                address: server.address.clone(),
                connector,
                is_galera: Arc::default(),
                state: Mutex::default(),
            }))
        });
        Ok(Self {
            all: all.collect::<Result<_, TlsError>>()?,
            target: config.target_session_attrs,
            threads: Arc::default(),
        })
    }

    /// All, in the order of the configuration.
    pub fn all(&self) -> &[Arc<Server>] {
        &self.all
    }

    /// Whether there is a choice.
    pub fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Those that a session may try, the best first; of equals the one of which is known longest
    /// that it was not right, then the one that stands first in the configuration. A server that
    /// the monitor or Patroni says is right comes before one of which nothing is known.
    pub fn candidates(&self) -> Vec<Arc<Server>> {
        let now = Instant::now();
        let ranks = self.all.iter().map(|one| (self.rank(one, now), one));
        let mut ranked: Vec<_> = ranks.collect();
        ranked.retain(|(rank, _)| rank.fit != Fit::Out || !self.are_several());
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked
            .into_iter()
            .map(|(_, server)| Arc::clone(server))
            .collect()
    }

    /// Which server a session wants that has these left to try after the one at hand.
    pub fn target(&self, left: &[Arc<Server>]) -> Target {
        match self.target {
            TargetSessionAttrs::Any => Target::Any,
            TargetSessionAttrs::ReadWrite => Target::ReadWrite,
            TargetSessionAttrs::ReadOnly => Target::ReadOnly,
            TargetSessionAttrs::Primary => Target::Primary,
            TargetSessionAttrs::Standby => Target::Standby,
            TargetSessionAttrs::PreferStandby => {
                let now = Instant::now();
                let may_be_standby = |server: &Arc<Server>| {
                    let rank = self.rank(server, now);
                    rank.service == Service::Serves && rank.fit <= Fit::Good
                };
                match left.iter().any(may_be_standby) {
                    true => Target::Standby,
                    false => Target::Any,
                }
            }
        }
    }

    /// How many servers are known that sessions can be on.
    pub fn usable(&self) -> usize {
        let now = Instant::now();
        let is_usable = |server: &&Arc<Server>| {
            let is_reached = server.lock().reach == Reach::Answers;
            is_reached && self.rank(server, now).fit <= Fit::Second
        };
        self.all.iter().filter(is_usable).count()
    }

    fn rank(&self, server: &Server, now: Instant) -> Rank {
        let state = server.lock();
        let service = match state.reach {
            Reach::Fails(_) => Service::Fails,
            Reach::Refuses(since) if now.duration_since(since) < PAUSE => Service::Refuses,
            Reach::Refuses(_) | Reach::Unknown | Reach::Answers => Service::Serves,
        };
        let (fit, since) = match (state.verdict(now), state.role) {
            (Some(Verdict::IsOut), _) => (Fit::Out, None),
            (Some(Verdict::IsBusy), _) => (Fit::Second, None),
            (Some(Verdict::Serves { is_standby }), _) => match self.fit(is_standby) {
                // A primary may have been made one for reading: only a session finds that out.
                Fit::Wrong if self.target != TargetSessionAttrs::ReadOnly => (Fit::Out, None),
                // A server of which nothing is known yet may be a wrong one.
                Fit::Good if self.target != TargetSessionAttrs::Any => (Fit::Told, None),
                fit => (fit, None),
            },
            (None, Some((is_standby, since))) => match self.fit(is_standby) {
                Fit::Wrong => (Fit::Wrong, Some(since)),
                fit => (fit, None),
            },
            (None, None) => (Fit::Good, None),
        };
        Rank {
            service,
            fit,
            since,
        }
    }

    fn fit(&self, is_standby: bool) -> Fit {
        let is_right = match self.target {
            TargetSessionAttrs::Any => true,
            TargetSessionAttrs::ReadWrite | TargetSessionAttrs::Primary => !is_standby,
            TargetSessionAttrs::ReadOnly
            | TargetSessionAttrs::Standby
            | TargetSessionAttrs::PreferStandby => is_standby,
        };
        match (is_right, self.target) {
            (true, _) => Fit::Good,
            (false, TargetSessionAttrs::PreferStandby) => Fit::Second,
            (false, _) => Fit::Wrong,
        }
    }
}

impl State {
    /// Patroni's word, since a primary that was replaced does not know it; but a server that says
    /// itself that it cannot serve, cannot.
    fn verdict(&self, now: Instant) -> Option<Verdict> {
        let holds = |own: Option<(Verdict, Instant)>| {
            let (verdict, since) = own?;
            (now.duration_since(since) < VERDICT_TIME).then_some(verdict)
        };
        match (holds(self.patroni), holds(self.monitor)) {
            (Some(_), Some(Verdict::IsOut)) => Some(Verdict::IsOut),
            (Some(patroni), _) => Some(patroni),
            (None, monitor) => monitor,
        }
    }
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each part of it is written whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it did not serve when it was tried, or nobody has tried.
    pub fn is_to_be_looked_for(&self) -> bool {
        self.lock().reach != Reach::Answers
    }

    /// Notes that it has answered.
    pub fn note_answer(&self) {
        let before = std::mem::replace(&mut self.lock().reach, Reach::Answers);
        if matches!(before, Reach::Fails(_)) {
            tracing::info!(server = %self.name, "the server is back");
        }
    }

    /// Notes that somebody listens there.
    pub fn note_reached(&self) {
        let reach = self.lock().reach;
        match reach {
            Reach::Fails(Some(until)) if Instant::now() < until => {}
            _ => self.note_look(),
        }
    }

    /// Notes that it answers. Whether it can serve again is for the next session to find out, once
    /// it has had the time.
    pub fn note_look(&self) {
        match self.lock().reach {
            Reach::Refuses(since) if since.elapsed() < PAUSE => return,
            _ => {}
        }
        self.note_answer();
    }

    /// Notes that it has said that it cannot serve now.
    pub fn note_refusal(&self) {
        self.lock().reach = Reach::Refuses(Instant::now());
    }

    /// Notes that it can be reached, and that nobody knows whether it can serve.
    pub fn note_silence(&self) {
        let mut state = self.lock();
        if matches!(state.reach, Reach::Fails(_)) {
            state.reach = Reach::Unknown;
        }
    }

    /// Notes that it cannot be reached: nobody has accepted a connection.
    pub fn note_unreached(&self, error: &io::Error) {
        self.note_failing(Reach::Fails(None), error);
    }

    /// Notes that it cannot be reached, or has failed behind the connection.
    pub fn note_failure(&self, error: &io::Error) {
        use io::ErrorKind as Kind;
        let until = match error.kind() {
            Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NotFound => None,
            _ => Some(Instant::now() + DOUBT),
        };
        self.note_failing(Reach::Fails(until), error);
    }

    fn note_failing(&self, reach: Reach, error: &io::Error) {
        let before = std::mem::replace(&mut self.lock().reach, reach);
        if !matches!(before, Reach::Fails(_)) {
            tracing::warn!(server = %self.name, %error, "the server cannot be reached");
        }
    }

    /// Notes whether it is a standby. True: it was one, and is none any more.
    pub fn note_role(&self, is_standby: bool) -> bool {
        let before = self.lock().role.replace((is_standby, Instant::now()));
        let has_changed = before.is_some_and(|(before, _)| before != is_standby);
        if has_changed {
            tracing::info!(server = %self.name, is_standby, "the server has another role now");
        }
        has_changed
    }

    /// Notes what Patroni or the monitor says.
    pub fn note_verdict(&self, witness: Witness, verdict: Verdict) {
        let now = Instant::now();
        let mut state = self.lock();
        let before = state.verdict(now);
        let said = match witness {
            Witness::Patroni => &mut state.patroni,
            Witness::Monitor => &mut state.monitor,
        };
        *said = Some((verdict, now));
        let after = state.verdict(now);
        drop(state);
        if after != before {
            tracing::info!(server = %self.name, verdict = ?after, "the server's state");
        }
    }

    /// Notes that it is a node of Galera, or none.
    pub fn note_galera(&self, is_galera: bool) {
        self.is_galera.store(is_galera, Ordering::Relaxed);
    }

    /// Whether it is a node of Galera, as far as the monitor has said when this is read.
    pub fn is_galera(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_galera)
    }

    /// What is known of it beside what it says to sessions.
    pub fn facts(&self) -> ServerFacts {
        let is_standby = match self.lock().verdict(Instant::now()) {
            Some(Verdict::Serves { is_standby }) => Some(is_standby),
            Some(Verdict::IsBusy | Verdict::IsOut) | None => None,
        };
        ServerFacts {
            is_standby,
            is_read_only: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_known_to_be_right_comes_before_one_of_which_nothing_is_known() {
        for (target, first) in [("any", 0), ("primary", 1), ("read-write", 1)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("proxy.toml");
            let text = format!(
                "listen = \"127.0.0.1:0\"\nupstream = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n\
                 target_session_attrs = \"{target}\""
            );
            std::fs::write(&path, text).expect("written");
            let config = configuration::read_toml(&path).expect("a configuration");
            let servers = Servers::new(&config).expect("no TLS");
            let verdict = Verdict::Serves { is_standby: false };
            servers.all()[1].note_verdict(Witness::Monitor, verdict);
            let candidates: Vec<_> = servers.candidates().iter().map(|one| one.index).collect();
            assert_eq!(candidates, [first, 1 - first], "{target}");
        }
    }
}
