//! Sessions of foreign drivers: whoever speaks PostgreSQL's protocol over a socket of this process
//! is served as the proxy serves its clients, without a listener of the network.
//!
//! The driver logs in to the server itself. What it sends first is read here, the server is
//! connected as the configuration says, and the session is driven between both sockets.

use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use session_postgres::{Session, Terms};
use sockets::LocalStream;
use sqlstate::SqlState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use wire_postgres::backend::Failure;
use wire_postgres::startup::{self, First};

use crate::connector::{Connector, PORT};
use crate::stream::FirstError;
use crate::wire::{Wire, WireError};

mod drive;

use drive::Drive;

/// How long a driver that is told why it has no session may take to read it.
const LINGER: Duration = Duration::from_secs(2);

/// The server that sessions of foreign drivers go to.
#[derive(Clone, Debug)]
pub struct Server {
    config: Config,
    place: Place,
}

/// Where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A port. The name is the one to expect in the certificate.
    Tcp {
        /// To look up, unless the address is known.
        name: String,
        /// Known.
        address: Option<IpAddr>,
        /// Of it.
        port: u16,
    },
    /// A socket of the file system.
    Local(PathBuf),
}

/// A configuration that names no server for foreign drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// None, or several.
    #[error(
        "name one host, and at most one hostaddr and port: drivers are served by one server, which \
         the program must name where [proxy] has several"
    )]
    Hosts,
    /// What the driver says.
    #[error(
        "leave out user, password, dbname, options and application_name: the driver says them \
         when it connects"
    )]
    Login,
    /// What only a driver can find out.
    #[error("target_session_attrs is not supported here: set it in the driver, or leave it out")]
    Target,
}

/// Why a driver has no session. It was told where it could be.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its socket.
    #[error("the driver's socket: {0}")]
    Client(io::Error),
    /// It said nothing, or not all, until the time was over.
    #[error("the driver has not begun a session in time")]
    Late,
    /// The server cannot be reached.
    #[error("the server cannot be reached: {0}")]
    Server(#[from] WireError),
    /// What it asks for cannot be.
    #[error("{0}")]
    Refused(&'static str),
}

impl Server {
    /// The server of a configuration of tokio-postgres: host or socket, port, TLS, time to
    /// connect. It may say nothing of the login.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub fn new(config: Config) -> Result<Self, ServerError> {
        let says_login = config.get_user().is_some()
            || config.get_password().is_some()
            || config.get_dbname().is_some()
            || config.get_options().is_some()
            || config.get_application_name().is_some();
        if says_login {
            return Err(ServerError::Login);
        }
        if config.get_target_session_attrs() != TargetSessionAttrs::Any {
            return Err(ServerError::Target);
        }
        let port = match config.get_ports() {
            [] => PORT,
            [port] => *port,
            _ => return Err(ServerError::Hosts),
        };
        let tcp = |name: String, address| Place::Tcp {
            name,
            address,
            port,
        };
        let place = match (config.get_hosts(), config.get_hostaddrs()) {
            ([Host::Tcp(name)], []) => tcp(name.clone(), None),
            ([Host::Tcp(name)], [address]) => tcp(name.clone(), Some(*address)),
            ([], [address]) => tcp(address.to_string(), Some(*address)),
            ([Host::Unix(folder)], []) => Place::Local(configuration::socket_path(folder, port)),
            _ => return Err(ServerError::Hosts),
        };
        Ok(Self { config, place })
    }
}

impl Connector {
    /// Serves a driver of this process at the other end of a socket, until either side ends. The
    /// driver must have begun a session within `start_time`. A request to cancel is served as well.
    ///
    /// # Errors
    /// There was no session. The driver was told why, if it still reads.
    pub async fn serve(
        &self,
        server: &Server,
        driver: UnixStream,
        start_time: Duration,
    ) -> Result<(), ServeError> {
        let deadline = Instant::now() + start_time;
        let mut driver = LocalStream::new(driver).map_err(ServeError::Client)?;
        let started = timeout_at(deadline, self.start(server, &mut driver)).await;
        match started.unwrap_or(Err(ServeError::Late)) {
            Ok(Some((session, wire))) => {
                let finishers = self.begin(&server.config).finishers;
                Drive::new(session, (driver, wire), finishers, deadline).await;
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => {
                // Best effort: it may be gone.
                let _ = timeout(LINGER, tell(&mut driver, &error)).await;
                Err(error)
            }
        }
    }

    /// Does what the driver asks for first. None: it was no session.
    async fn start(
        &self,
        server: &Server,
        driver: &mut LocalStream,
    ) -> Result<Option<(Session, Wire<TcpStream>)>, ServeError> {
        let packet = first_packet(driver).await?;
        let begin = self.begin(&server.config);
        let database = match First::read(&packet).map_err(|_| FirstError::Malformed)? {
            // A server refuses a second request, too.
            First::TlsRequest | First::GssRequest => return Err(FirstError::Malformed.into()),
            First::Cancel(_) => {
                let mut wire = self.reach(server).await?;
                wire.write_all(&packet).await.map_err(WireError::from)?;
                wire.flush().await.map_err(WireError::from)?;
                // The end of the connection says that the server has taken it.
                let mut nothing = [0; 1];
                while wire.read(&mut nothing).await.map_err(WireError::from)? > 0 {}
                return Ok(None);
            }
            First::Startup(startup) => begin.database(&startup)?,
        };
        let wire = self.reach(server).await?;
        let mut session = Session::new(Terms {
            client_tls: false,
            server_tls: wire.is_tls(),
            // The driver cannot bind its login to a certificate that it does not see.
            certificate_is_shared: false,
            message_size_max: begin.message_size_max,
            protection: Some((begin.protection, database)),
            ..Terms::default()
        });
        session.to_server.bytes.extend_from_slice(&packet);
        Ok(Some((session, wire)))
    }

    async fn reach(&self, server: &Server) -> Result<Wire<TcpStream>, WireError> {
        let terms = self.terms(&server.config);
        let (name, address, port) = match &server.place {
            Place::Local(path) => return terms.dial(path.clone()).await,
            Place::Tcp {
                name,
                address,
                port,
            } => (name, address, *port),
        };
        let host = address.map_or_else(|| name.clone(), |address| address.to_string());
        let connect = async {
            let socket = sockets::connect(&host, port).await?;
            terms.settle(socket, name).await
        };
        match terms.connect_timeout {
            None => connect.await,
            Some(time) => timeout(time, connect)
                .await
                .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into())),
        }
    }
}

/// Why a driver is not served at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many as may be are served.
    TooMany,
    /// It is in another process.
    NotThisProcess,
}

impl Refusal {
    /// Tells the driver, by an error of the protocol, if it begins within a moment. Told before, it
    /// may take the error for the answer to a request for encryption; and where its socket is
    /// closed while it still writes, it may not read at all.
    pub async fn tell(self, driver: UnixStream) {
        let (sqlstate, text) = match self {
            Self::TooMany => (
                SqlState::TOO_MANY_CONNECTIONS,
                "sorry, too many clients already",
            ),
            Self::NotThisProcess => (
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "this socket is for connections of the process that listens at it",
            ),
        };
        // Best effort: it may be gone.
        if let Ok(mut driver) = LocalStream::new(driver) {
            let _ = timeout(LINGER, async {
                // Nothing in it matters.
                let _ = first_packet(&mut driver).await;
                end(&mut driver, &Failure::fatal(sqlstate, text)).await
            })
            .await;
        }
    }
}

impl From<FirstError> for ServeError {
    fn from(error: FirstError) -> Self {
        Self::Refused(match error {
            FirstError::Malformed | FirstError::Tls | FirstError::Cancel => {
                "the first packet of the connection is malformed, or names a parameter twice"
            }
            FirstError::Replication => {
                "replication is refused where columns are protected; connect to the server itself"
            }
        })
    }
}

/// The first packet that asks for no encryption: what stays in the process has none.
async fn first_packet(driver: &mut LocalStream) -> Result<Vec<u8>, ServeError> {
    // One request for each kind of encryption.
    for _ in 0..2 {
        let packet = read_packet(driver).await?;
        match First::read(&packet) {
            Ok(First::TlsRequest | First::GssRequest) => {
                driver.write_all(b"N").await.map_err(ServeError::Client)?;
            }
            _ => return Ok(packet),
        }
    }
    read_packet(driver).await
}

async fn read_packet(driver: &mut LocalStream) -> Result<Vec<u8>, ServeError> {
    let mut packet = vec![0; 4];
    let read = driver.read_exact(&mut packet).await;
    read.map_err(ServeError::Client)?;
    let Ok(Some(size)) = startup::size(&packet) else {
        return Err(FirstError::Malformed.into());
    };
    packet.resize(size, 0);
    let read = driver.read_exact(&mut packet[4..]).await;
    read.map_err(ServeError::Client)?;
    Ok(packet)
}

async fn tell(driver: &mut LocalStream, error: &ServeError) -> io::Result<()> {
    let sqlstate = match error {
        ServeError::Client(_) => return Ok(()),
        ServeError::Late => SqlState::QUERY_CANCELED,
        ServeError::Server(_) => SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
        ServeError::Refused(_) => SqlState::PROTOCOL_VIOLATION,
    };
    end(driver, &Failure::fatal(sqlstate, error.to_string())).await
}

/// The last word to a driver, which may still be sending.
async fn end(driver: &mut LocalStream, failure: &Failure) -> io::Result<()> {
    let mut message = Vec::new();
    failure.write(&mut message);
    driver.write_all(&message).await?;
    driver.shutdown().await?;
    let mut nothing = [0; 1024];
    while driver.read(&mut nothing).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests;
