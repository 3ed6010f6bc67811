//! From an accepted socket to a session: encryption, the first packet, the server's socket.

use std::io;
use std::sync::Arc;

use configuration::Upstream;
use session_core::counters::add;
use session_core::{Database, Protection};
use session_postgres::{ServerKey, Session, Terms};
use sqlstate::SqlState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};
use wire_postgres::backend::Failure;
use wire_postgres::startup::{self, First, Startup};

use crate::connection::{self, LINGER, Session as _};
use crate::places::ClientPlace;
use crate::postgres::Postgres;
use crate::scram::Verifier;
use crate::servers::Server;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::{tls, upstream};

mod choice;
mod login;

use choice::Chosen;
pub(crate) use choice::cannot_serve;
use login::Login;

/// First byte of TLS (RFC 8446, 5.1): a client that does not ask first.
const TLS_HANDSHAKE: u8 = 0x16;

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
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The client gets what the server has said.
    #[error("the server cannot serve now")]
    Said(Vec<u8>),
    /// The client has what the server said.
    #[error("the server refuses the login")]
    Told,
}

/// Serves one accepted socket until its end.
pub async fn serve(client: Stream, shared: Arc<Shared>) {
    // Of all that is done until the session begins: each step has what those before it left.
    let deadline = Instant::now() + shared.config.startup_timeout();
    let place = shared.places.wait();
    let greeted = tokio::select! {
        greeted = timeout_at(deadline, greet(client, &shared)) => {
            greeted.map_err(|_| io::ErrorKind::TimedOut.into())
        }
        () = place.taken() => Err(io::Error::other("it said nothing while many others came")),
    };
    drop(place);
    let (mut client, first) = match greeted {
        Ok(greeted) => greeted,
        Err(error) => return refused(&shared, &StartError::Client(error)),
    };
    let result = match first {
        Ok(packet) => begin(&mut client, &packet, &shared, deadline).await,
        Err(error) => Err(error),
    };
    match (result, client) {
        // By TLS that is the answer to a request to cancel: without it the client sees a failure.
        (Ok(None), Some(mut client)) => {
            let _ = timeout(LINGER, client.shutdown()).await;
        }
        (Ok(Some((session, server, _place))), Some(client)) => {
            connection::drive(session, (client, server), shared, deadline).await;
        }
        (Err(error), client) => {
            refused(&shared, &error);
            if let Some(mut client) = client {
                // Best effort: it may be gone.
                let _ = timeout(LINGER, tell(&mut client, error)).await;
            }
        }
        (Ok(_), None) => {}
    }
}

fn refused(shared: &Shared, error: &StartError) {
    add(&shared.metrics.connections_refused, 1);
    let is_login = match error {
        // Class 28: who it is was not believed.
        StartError::Refused(failure) => failure.sqlstate.class() == "28",
        StartError::Told => true,
        StartError::Client(_) | StartError::Server(_) | StartError::Said(_) => false,
    };
    if is_login {
        add(&shared.metrics.logins_failed, 1);
    }
    match error {
        StartError::Server(_) => tracing::warn!(%error, "no session"),
        _ => tracing::info!(%error, "no session"),
    }
}

async fn tell(client: &mut Stream, error: StartError) -> io::Result<()> {
    let failure = match error {
        StartError::Client(_) => return Ok(()),
        StartError::Said(message) => {
            client.write_all(&message).await?;
            client.flush().await?;
            return client.shutdown().await;
        }
        StartError::Told => return client.shutdown().await,
        // Addresses are for the log and for this machine, not for whoever asks.
        StartError::Server(error) if client.is_of_this_machine() => Failure::fatal(
            SqlState::CONNECTION_FAILURE,
            format!("the proxy cannot reach the server: {error}"),
        ),
        StartError::Server(_) => Failure::fatal(
            SqlState::CONNECTION_FAILURE,
            "the proxy cannot reach the server",
        )
        .hint("The proxy's log says which server, and why."),
        StartError::Refused(failure) => failure,
    };
    let mut message = Vec::new();
    failure.write(&mut message);
    client.write_all(&message).await?;
    client.flush().await?;
    client.shutdown().await
}

/// Settles encryption, and gives the packet that says what the client wants.
async fn greet(client: Stream, shared: &Shared) -> (Option<Stream>, Result<Vec<u8>, StartError>) {
    match encrypt(client, shared).await {
        Ok((mut stream, None)) => match read_packet(&mut stream).await {
            Ok(packet) => (Some(stream), Ok(packet)),
            Err(error) => (Some(stream), Err(error)),
        },
        Ok((stream, Some(packet))) => (Some(stream), Ok(packet)),
        Err(error) => (None, Err(error)),
    }
}

/// Answers requests for encryption. Gives the first packet that is none, where one was read.
async fn encrypt(
    mut stream: Stream,
    shared: &Shared,
) -> Result<(Stream, Option<Vec<u8>>), StartError> {
    let mut byte = [0];
    if let Stream::Tcp(socket) = &stream
        && socket.peek(&mut byte).await.map_err(StartError::Client)? == 1
        && byte[0] == TLS_HANDSHAKE
    {
        return accept_tls(stream, shared).await;
    }
    // One request for each kind of encryption.
    for _ in 0..2 {
        let packet = read_packet(&mut stream).await?;
        match First::read(&packet) {
            Ok(First::TlsRequest) if shared.acceptor.is_some() && !stream.is_local() => {
                write(&mut stream, b"S").await?;
                return accept_tls(stream, shared).await;
            }
            Ok(First::TlsRequest | First::GssRequest) => write(&mut stream, b"N").await?,
            _ => return Ok((stream, Some(packet))),
        }
    }
    Ok((stream, None))
}

async fn accept_tls(
    stream: Stream,
    shared: &Shared,
) -> Result<(Stream, Option<Vec<u8>>), StartError> {
    let (Some(acceptor), Stream::Tcp(socket)) = (&shared.acceptor, stream) else {
        return Err(StartError::Client(io::ErrorKind::Unsupported.into()));
    };
    let tls = acceptor
        .acceptor
        .accept(socket)
        .await
        .map_err(StartError::Client)?;
    Ok((Stream::TlsFromClient(Box::new(tls)), None))
}

async fn write(stream: &mut Stream, bytes: &[u8]) -> Result<(), StartError> {
    stream.write_all(bytes).await.map_err(StartError::Client)
}

async fn read_packet(stream: &mut Stream) -> Result<Vec<u8>, StartError> {
    let mut packet = vec![0; 4];
    stream
        .read_exact(&mut packet)
        .await
        .map_err(StartError::Client)?;
    let Ok(Some(size)) = startup::size(&packet) else {
        return Err(malformed());
    };
    packet.resize(size, 0);
    stream
        .read_exact(&mut packet[4..])
        .await
        .map_err(StartError::Client)?;
    Ok(packet)
}

fn malformed() -> StartError {
    StartError::Refused(Failure::fatal(
        SqlState::PROTOCOL_VIOLATION,
        "invalid startup packet",
    ))
}

fn unreadable() -> StartError {
    let failure = Failure::fatal(SqlState::PROTOCOL_VIOLATION, "invalid startup packet");
    let hint = "It is to be pairs of names and values, and to have no name twice.";
    StartError::Refused(failure.hint(hint))
}

type Begun = Option<(Postgres, Stream, ClientPlace)>;

/// Does what the packet asks for. None: it was no session.
async fn begin(
    client: &mut Option<Stream>,
    packet: &[u8],
    shared: &Arc<Shared>,
    deadline: Instant,
) -> Result<Begun, StartError> {
    let first = First::read(packet).map_err(|_| unreadable())?;
    let client_tls = client.as_ref().is_some_and(Stream::is_tls);
    let is_local = client.as_ref().is_some_and(Stream::is_local);
    let startup = match first {
        First::TlsRequest | First::GssRequest => return Err(malformed()),
        First::Cancel(request) => {
            add(&shared.metrics.cancels, 1);
            let done = cancel_named(request.process_id, request.key, shared);
            let done = timeout_at(deadline, done).await;
            done.unwrap_or(Ok(())).map_err(StartError::Server)?;
            return Ok(None);
        }
        First::Startup(_) if shared.requires_tls() && !client_tls && !is_local => {
            let failure = Failure::fatal(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "the proxy takes connections by TLS only",
            )
            .hint("Connect with sslmode=require or better.");
            return Err(StartError::Refused(failure));
        }
        First::Startup(startup) => startup,
    };
    let (protection, verifier) = (protection(&startup, shared)?, verifier(&startup, shared));
    let Some(place) = shared.places.enter() else {
        let failure = Failure::fatal(
            SqlState::TOO_MANY_CONNECTIONS,
            "sorry, too many clients already",
        );
        return Err(StartError::Refused(failure));
    };
    let mut chosen = choice::choose(packet, shared, deadline).await?;
    let acceptor = shared.acceptor.as_ref().filter(|_| client_tls);
    let has_logged_in = verifier.is_some();
    let said = match (verifier, client) {
        (Some((user, verifier)), Some(client)) => {
            let server_end_point = tls::server_end_point(&chosen.stream);
            let login = Login {
                client,
                server: &mut chosen.stream,
                heard: std::mem::take(&mut chosen.said),
                verifier: verifier.as_deref(),
                user: &user,
                client_end_point: acceptor.and_then(|acceptor| acceptor.end_point.as_deref()),
                server_end_point: server_end_point.as_deref(),
                said: Vec::new(),
            };
            // Boxed: few sessions have it, and for a moment.
            let done = timeout_at(deadline, Box::pin(login.run())).await;
            done.map_err(|_| StartError::Client(io::ErrorKind::TimedOut.into()))??
        }
        _ => std::mem::take(&mut chosen.said),
    };
    let is_shared = acceptor.is_some_and(|acceptor| acceptor.shows_the_same(&chosen.stream));
    let terms = Terms {
        client_tls,
        certificate_is_shared: is_shared,
        ..terms_of(shared, protection, &chosen, has_logged_in)
    };
    let mut session = session_of(shared, terms, Arc::clone(&chosen.server))?;
    session.server_bytes(&said);
    Ok(Some((session, chosen.stream, place)))
}

/// What the session is told of the server that it is on.
fn terms_of(
    shared: &Shared,
    protection: Option<(Arc<Protection>, Database)>,
    chosen: &Chosen,
    has_logged_in: bool,
) -> Terms {
    let server = &chosen.server;
    let is_by_socket = matches!(server.address, Upstream::Unix(_));
    Terms {
        server_tls: chosen.stream.is_tls(),
        // A login that the proxy has done by itself was asked for.
        must_be_asked: is_by_socket && !shared.config.accept_peer && !has_logged_in,
        message_size_max: shared.config.max_message_bytes,
        // What one server has said of its tables says nothing of those of another.
        protection: protection.map(|(rules, database)| match shared.servers.are_several() {
            true => (rules, database.of(&server.name)),
            false => (rules, database),
        }),
        target: chosen.target,
        facts: server.facts(),
        ..Terms::default()
    }
}

/// The session of a client that the server asks who it is, or that has logged in.
fn session_of(
    shared: &Arc<Shared>,
    terms: Terms,
    server: Arc<Server>,
) -> Result<Postgres, StartError> {
    let entered = shared.cancels.enter(server.index);
    let (ticket, cancel_key) =
        entered.map_err(|error| StartError::Server(io::Error::other(error.to_string())))?;
    let session = Session::new(Terms {
        cancel_key: Some(cancel_key),
        ..terms
    });
    Ok(Postgres::new(session, ticket, server, Arc::clone(shared)))
}

/// Rules, and the database that the session is of.
fn protection(
    startup: &Startup<'_>,
    shared: &Shared,
) -> Result<Option<(Arc<Protection>, Database)>, StartError> {
    let Some(protection) = &shared.protection else {
        return Ok(None);
    };
    if startup.parameter("replication").is_some() {
        let message = "replication does not pass a proxy that protects columns";
        let failure = Failure::fatal(SqlState::FEATURE_NOT_SUPPORTED, message)
            .hint("Connect to the server itself.");
        return Err(StartError::Refused(failure));
    }
    let database = Database::named(startup.database().unwrap_or_default());
    Ok(Some((Arc::clone(protection), database)))
}

/// The user whom the proxy logs in by itself, and his verifier; without one he is refused as if his
/// password were wrong.
fn verifier(startup: &Startup<'_>, shared: &Shared) -> Option<(String, Option<Arc<Verifier>>)> {
    let logins = shared.logins.as_ref()?;
    let user = startup.parameter("user").unwrap_or_default();
    let verifier = std::str::from_utf8(user).ok();
    let verifier = verifier.and_then(|user| logins.find(user));
    let is_ours = verifier.is_some() || shared.config.logins_only;
    is_ours.then(|| (String::from_utf8_lossy(user).into_owned(), verifier))
}

/// Ends what is computed for a session, by the finisher or by the server.
async fn cancel_named(process_id: u32, key: &[u8], shared: &Shared) -> io::Result<()> {
    if shared.cancels.end_question(process_id, key) {
        return Ok(());
    }
    match shared.cancels.find(process_id, key) {
        Some((index, key)) => cancel(&key, &shared.servers.all()[index]).await,
        None => Ok(()),
    }
}

/// Passes a request to cancel on. The end of the connection says that the server has taken it.
async fn cancel(key: &ServerKey, server: &Server) -> io::Result<()> {
    let mut server = upstream::open(server).await?;
    let mut packet = Vec::new();
    startup::write_cancel(key.process_id, &key.key, &mut packet);
    server.write_all(&packet).await?;
    server.flush().await?;
    let mut nothing = [0; 1];
    while server.read(&mut nothing).await? > 0 {}
    Ok(())
}
