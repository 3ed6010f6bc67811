//! TLS on either side.

use std::io;
use std::sync::Arc;

use configuration::{
    ClientTls, Protocol, ServerTls, TlsError, Upstream, UpstreamServer, certificates,
    client_config, end_point, warn_if_exposed,
};
use keyring::source::KeySource;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::stream::Stream;

mod self_signed;

/// The name of the protocol for clients that begin with TLS at once (PostgreSQL 17).
const ALPN: &[u8] = b"postgresql";

/// Accepts TLS of clients.
pub struct ClientAcceptor {
    /// Speaks it.
    pub acceptor: TlsAcceptor,
    /// What is shown to clients.
    certificate: CertificateDer<'static>,
    /// What logins are bound to by clients.
    pub end_point: Option<Vec<u8>>,
}

impl ClientAcceptor {
    /// Whether the server shows the same certificate as the proxy. Then what a client binds its
    /// login to is what the server expects.
    pub fn shows_the_same(&self, server: &Stream) -> bool {
        certificate(server) == Some(&self.certificate)
    }
}

/// What a login by this connection to the server is bound to.
pub fn server_end_point(server: &Stream) -> Option<Vec<u8>> {
    certificate(server).and_then(|certificate| end_point(certificate))
}

/// What the server showed, if it speaks TLS.
fn certificate(server: &Stream) -> Option<&CertificateDer<'static>> {
    let Stream::TlsToServer(tls) = server else {
        return None;
    };
    tls.get_ref().1.peer_certificates()?.first()
}

/// Reads certificate and key, and makes them before where they are to be the proxy's own.
pub fn acceptor(config: &ClientTls, protocol: Protocol) -> Result<ClientAcceptor, TlsError> {
    if config.is_self_signed {
        let path = config.certificate.clone();
        self_signed::make(&path).map_err(|error| TlsError::SelfSigned { path, error })?;
    }
    let wrong_key = |error| TlsError::Pem {
        path: config.key.clone(),
        error,
    };
    let key = PrivateKeyDer::from_pem_file(&config.key).map_err(wrong_key)?;
    warn_if_exposed(&KeySource::File(config.key.clone()));
    let certificates = certificates(&config.certificate)?;
    let certificate = certificates.first().cloned().ok_or_else(|| TlsError::Pem {
        path: config.certificate.clone(),
        error: pem::Error::NoItemsFound,
    })?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(certificates, key)
        })
        .map_err(|error| TlsError::Config {
            path: config.certificate.clone(),
            error,
        })?;
    server.alpn_protocols = match protocol {
        Protocol::Postgres => vec![ALPN.to_vec()],
        Protocol::Mysql => Vec::new(),
    };
    Ok(ClientAcceptor {
        acceptor: TlsAcceptor::from(Arc::new(server)),
        end_point: end_point(&certificate),
        certificate,
    })
}

/// Speaks TLS with the server, and checks who it is.
#[derive(Clone)]
pub struct ServerConnector {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl ServerConnector {
    /// Reads the roots.
    ///
    /// # Errors
    /// A file, or the server's name.
    pub fn new(config: &ServerTls, server: &UpstreamServer) -> Result<Self, TlsError> {
        let Upstream::Tcp(host, _) = &server.address else {
            return Err(TlsError::Socket);
        };
        let client = client_config(&config.root)?;
        let name = server.tls_name.clone().or_else(|| config.name.clone());
        let name = name.unwrap_or_else(|| host.clone());
        Ok(Self {
            connector: TlsConnector::from(Arc::new(client)),
            name: ServerName::try_from(name)?,
        })
    }

    /// Begins TLS on a connection whose server agreed to it.
    pub async fn connect(&self, socket: TcpStream) -> io::Result<Stream> {
        let tls = self.connector.connect(self.name.clone(), socket).await?;
        Ok(Stream::TlsToServer(Box::new(tls)))
    }
}
