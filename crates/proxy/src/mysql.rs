//! From an accepted socket to a session before MySQL or MariaDB.
//!
//! The server speaks first, so it is reached before the client has said a word. The client gets its
//! greeting, changed; TLS begins behind the client's first packet where it wants that, and towards
//! the server once the client's login is in hand.

use std::io;
use std::path::Path;
use std::sync::Arc;

use configuration::{Config, FinishEngine, Protocol, TargetSessionAttrs, Upstream};
use session_core::counters::add;
use session_mysql::{Among, ClientLeg, Reason, Refusal, ServerLeg, Session, Terms, front};
use sql_rewrite::SchemaError;
use sql_rewrite::mysql::schema::check_rules;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};
use wire_mysql::greeting::Greeting;
use wire_mysql::login::{First, Login};
use wire_mysql::packet::{self, HEADER_SIZE, Header, PacketError};

use crate::connection::{self, LINGER};
use crate::places::ClientPlace;
use crate::servers::Server;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::upstream;

mod choice;
mod session;
mod threads;

use choice::Passed;
use session::MySql;
pub use threads::Threads;

type Begun = (MySql, Stream, ClientPlace);

/// A part of the configuration that a proxy before MySQL does not have.
#[derive(Debug, thiserror::Error)]
pub enum UnsupportedError {
    /// Rules that are not kept there.
    #[error("{}", in_lines(.0))]
    Rules(Vec<SchemaError>),
    /// A part that needs the protocol of PostgreSQL.
    #[error("{0} is for PostgreSQL alone: remove it, or protocol = \"mysql\"")]
    Part(&'static str),
    /// Rules need a finisher.
    #[error(
        "a rule finds texts by a collation, whose keys a finisher gives: set [finish] engine = \
         \"mariadb\" or \"mysql\", as the server is, or write collation = \"binary\" in the rule"
    )]
    NoCollationKeys,
    /// A finisher of another product.
    #[error("[finish] engine = \"{0}\" is for protocol = \"mysql\": use engine = \"postgres\"")]
    Engine(&'static str),
    /// A socket by its folder.
    #[error(
        "{0} must be the path of the socket itself, as /run/mysqld/mysqld.sock: MySQL gives \
         sockets no name by their port"
    )]
    Socket(&'static str),
}

fn in_lines(errors: &[SchemaError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Checks that the configuration has nothing that would be ignored.
///
/// # Errors
/// It has.
pub fn check(config: &Config) -> Result<(), UnsupportedError> {
    let proxy = &config.proxy;
    if proxy.protocol != Protocol::Mysql {
        let engine = config.finish.as_ref().map(|finish| finish.engine);
        return match engine {
            Some(FinishEngine::MariaDb) => Err(UnsupportedError::Engine("mariadb")),
            Some(FinishEngine::MySql) => Err(UnsupportedError::Engine("mysql")),
            _ => Ok(()),
        };
    }
    let errors = check_rules(&config.columns);
    if !errors.is_empty() {
        return Err(UnsupportedError::Rules(errors));
    }
    let engine = config.finish.as_ref().map(|finish| finish.engine);
    let gives_keys = matches!(engine, Some(FinishEngine::MariaDb | FinishEngine::MySql));
    if config.columns.has_tokens() && !gives_keys {
        return Err(UnsupportedError::NoCollationKeys);
    }
    for (is_there, part) in [
        (
            engine == Some(FinishEngine::Postgres),
            "[finish] engine = \"postgres\" (there are \"mariadb\" and \"mysql\")",
        ),
        (proxy.watch.is_some(), "[proxy.watch]"),
        (proxy.logins.is_some(), "logins"),
        (proxy.logins_only, "logins_only"),
        (proxy.patroni_port.is_some(), "patroni_port"),
        (
            proxy.target_session_attrs != TargetSessionAttrs::Any,
            "target_session_attrs",
        ),
    ] {
        if is_there {
            return Err(UnsupportedError::Part(part));
        }
    }
    let is_path = |path: &Path| path.extension().is_some_and(|end| end == "sock");
    for server in proxy.upstream.servers() {
        match &server.address {
            Upstream::Unix(path) if !is_path(path) => {
                return Err(UnsupportedError::Socket("upstream"));
            }
            Upstream::Unix(_) | Upstream::Tcp(..) => {}
        }
    }
    match &proxy.socket {
        Some(path) if !is_path(path) => Err(UnsupportedError::Socket("socket")),
        _ => Ok(()),
    }
}

/// Why a socket becomes no session.
#[derive(Debug, thiserror::Error)]
enum StartError {
    /// The client went away, or speaks something else.
    #[error("client: {0}")]
    Client(io::Error),
    /// The server cannot be reached.
    #[error("server: {0}")]
    Server(io::Error),
    /// The client is told why.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The client has what the server said.
    #[error("the server refuses the connection")]
    Told,
}

/// A socket that is to become a session.
struct Front<'a> {
    shared: &'a Arc<Shared>,
    /// None: it is lost with the failure of TLS.
    client: Option<Stream>,
    /// The number of the client's next packet.
    sequence: u8,
    /// Whether the client has the server's greeting, and with it the form of errors.
    is_greeted: bool,
}

/// Serves one accepted socket until its end.
pub async fn serve(client: Stream, shared: Arc<Shared>) {
    let deadline = Instant::now() + shared.config.startup_timeout();
    let silent = shared.places.wait();
    let mut front = Front {
        shared: &shared,
        client: Some(client),
        sequence: 0,
        is_greeted: false,
    };
    let begun = tokio::select! {
        begun = timeout_at(deadline, front.begin(deadline)) => begun.unwrap_or_else(|_| {
            Err(StartError::Client(io::ErrorKind::TimedOut.into()))
        }),
        () = silent.taken() => {
            let error = io::Error::other("it said nothing while many others came");
            Err(StartError::Client(error))
        }
    };
    drop(silent);
    match begun {
        Ok((session, server, _place)) => {
            let client = front.client.take();
            if let Some(client) = client {
                connection::drive(session, (client, server), shared, deadline).await;
            }
        }
        Err(error) => {
            front.note(&error);
            // Best effort: it may be gone.
            let _ = timeout(LINGER, front.tell(error)).await;
        }
    }
}

impl Front<'_> {
    async fn begin(&mut self, deadline: Instant) -> Result<Begun, StartError> {
        // The server has a place for each client that it greets, whether that says something.
        let place = self.shared.places.enter().ok_or_else(|| {
            Refusal::new(
                Reason::TooManyClients,
                "too many clients already; try later",
            )
        })?;
        let chosen = match choice::choose(self.shared, deadline).await {
            Ok(chosen) => chosen,
            Err(Passed::Unreachable(error)) => return Err(StartError::Server(error)),
            Err(Passed::Refuses(said)) => {
                self.write(|out| out.extend_from_slice(&said)).await?;
                return Err(StartError::Told);
            }
        };
        let greeting = Greeting::read(&chosen.said);
        let greeting = greeting.map_err(|error| StartError::Server(io::Error::other(error)))?;
        let packet = self.greet(&greeting).await?;
        let login = match First::read(&packet).map_err(Refusal::from)? {
            First::Login(login) => login,
            First::TlsRequest(_) => return Err(Refusal::from(wire_mysql::Malformed).into()),
        };
        let client = self.client.as_ref().ok_or_else(gone)?;
        let is_private = client.is_tls() || client.is_local();
        if self.shared.requires_tls() && !is_private {
            return Err(front::needs_tls().into());
        }
        let client = ClientLeg {
            is_private,
            sequence: self.sequence,
        };
        let of_server = &chosen.server;
        let ways = (chosen.stream, &**of_server);
        let (server, sequence) = self.encrypt(ways, &greeting, &login).await?;
        let threads = &self.shared.servers.threads;
        let several = self.shared.servers.are_several();
        let among = several.then(|| Among {
            server: &of_server.name,
            is_galera: of_server.is_galera(),
            elsewhere: threads.elsewhere(of_server.index),
        });
        let is_secure = server.is_tls() || server.is_local();
        let session = Session::new(&Terms {
            greeting: &greeting,
            login: &login,
            client,
            server: ServerLeg {
                is_tls: server.is_tls(),
                is_secure,
                is_private: is_secure || server.is_of_this_machine(),
                must_ask: server.is_local() && !self.shared.config.accept_peer,
                sequence,
            },
            protection: self.shared.protection.clone(),
            among,
        })?;
        let thread = several.then(|| threads.enter(greeting.connection, of_server.index));
        let session = MySql::new(session, self.shared, thread);
        Ok((session, server, place))
    }

    /// Greets the client, settles its TLS, and gives its login.
    async fn greet(&mut self, greeting: &Greeting<'_>) -> Result<Vec<u8>, StartError> {
        let acceptor = self.shared.acceptor.as_ref();
        let is_local = self.client.as_ref().is_some_and(Stream::is_local);
        let acceptor = acceptor.filter(|_| !is_local);
        let shown = front::for_client(
            greeting,
            acceptor.is_some(),
            self.shared.protection.is_some(),
        );
        self.write(|out| shown.write(out)).await?;
        self.is_greeted = true;
        let packet = self.read().await?;
        let wants_tls = matches!(First::read(&packet), Ok(First::TlsRequest(_)));
        if !wants_tls {
            return Ok(packet);
        }
        let (Some(acceptor), Some(Stream::Tcp(socket))) = (acceptor, self.client.take()) else {
            // It was not offered, and no client can have read otherwise.
            return Err(gone());
        };
        let tls = acceptor.acceptor.accept(socket).await;
        let tls = tls.map_err(StartError::Client)?;
        self.client = Some(Stream::TlsFromClient(Box::new(tls)));
        self.read().await
    }

    /// Begins TLS towards the server, where that is configured. Gives the number of the next packet
    /// there, too.
    async fn encrypt(
        &self,
        (mut stream, server): (Stream, &Server),
        greeting: &Greeting<'_>,
        login: &Login<'_>,
    ) -> Result<(Stream, u8), StartError> {
        let mut sequence = 1;
        let Some(connector) = &server.connector else {
            return Ok((stream, sequence));
        };
        let of_server = |error: io::Error| {
            server.note_failure(&error);
            StartError::Server(upstream::named(server, &error))
        };
        let leg = (true, self.shared.protection.is_some());
        let head = front::login_for_server(login, greeting, leg)?.head;
        let mut request = Vec::new();
        packet::write(&mut sequence, &mut request, |out| {
            head.write_tls_request(out)
        });
        stream.write_all(&request).await.map_err(of_server)?;
        let Stream::Tcp(socket) = stream else {
            // A connector is made for ports alone.
            return Err(of_server(io::ErrorKind::Unsupported.into()));
        };
        let stream = connector.connect(socket).await.map_err(of_server)?;
        Ok((stream, sequence))
    }

    async fn write(&mut self, payload: impl FnOnce(&mut Vec<u8>)) -> Result<(), StartError> {
        let mut out = Vec::new();
        packet::write(&mut self.sequence, &mut out, payload);
        let client = self.client.as_mut().ok_or_else(gone)?;
        client.write_all(&out).await.map_err(StartError::Client)?;
        client.flush().await.map_err(StartError::Client)
    }

    async fn read(&mut self) -> Result<Vec<u8>, StartError> {
        let client = self.client.as_mut().ok_or_else(gone)?;
        let read = read_payload(client, self.sequence).await;
        let packet = read.map_err(StartError::Client)?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(packet)
    }

    fn note(&self, error: &StartError) {
        add(&self.shared.metrics.connections_refused, 1);
        let is_login = match error {
            StartError::Refused(refusal) => matches!(
                refusal.reason,
                Reason::AccessDenied | Reason::InsecureTransport
            ),
            StartError::Client(_) | StartError::Server(_) | StartError::Told => false,
        };
        if is_login {
            add(&self.shared.metrics.logins_failed, 1);
        }
        match error {
            StartError::Server(_) => tracing::warn!(%error, "no session"),
            _ => tracing::info!(%error, "no session"),
        }
    }

    /// Tells the client why.
    async fn tell(&mut self, error: StartError) -> io::Result<()> {
        let Some(client) = &mut self.client else {
            return Ok(());
        };
        let refusal = match error {
            StartError::Client(_) => return Ok(()),
            StartError::Told => return client.shutdown().await,
            // Addresses are for the log and for this machine, not for whoever asks.
            StartError::Server(error) if client.is_of_this_machine() => Refusal::new(
                Reason::Server,
                format!("the proxy cannot reach the server: {error}"),
            ),
            StartError::Server(_) => Refusal::new(
                Reason::Server,
                "the proxy cannot reach the server; its log says which server, and why",
            ),
            StartError::Refused(refusal) => refusal,
        };
        let mut out = Vec::new();
        match self.is_greeted {
            true => refusal.write(&mut self.sequence, &mut out),
            false => refusal.write_before_greeting(&mut out),
        }
        client.write_all(&out).await?;
        client.flush().await?;
        client.shutdown().await
    }
}

fn gone() -> StartError {
    StartError::Client(io::ErrorKind::NotConnected.into())
}

/// One payload of a login, and not a byte more.
pub(crate) async fn read_payload(stream: &mut Stream, expected: u8) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER_SIZE];
    stream.read_exact(&mut header).await?;
    let header = Header::read(&header).ok_or(io::ErrorKind::UnexpectedEof)?;
    let found = header.sequence;
    if found != expected {
        return Err(io::Error::other(PacketError::OutOfOrder {
            expected,
            found,
        }));
    }
    let size_max = front::LOGIN_SIZE_MAX;
    if header.length > size_max {
        return Err(io::Error::other(PacketError::TooLarge { size_max }));
    }
    let mut payload = vec![0; header.length];
    stream.read_exact(&mut payload).await?;
    Ok(payload)
}
