//! TLS towards the server: whom the configuration trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError};
use rustls::{ClientConfig, RootCertStore};

/// TLS that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM file.
    #[error("{path}: {error}")]
    Pem {
        /// Which.
        path: PathBuf,
        /// Why.
        error: pem::Error,
    },
    /// Certificate and key, or the roots.
    #[error("{path}: {error}")]
    Config {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: rustls::Error,
    },
    /// A certificate of the proxy's own.
    #[error(
        "{path}: cannot make a certificate for clients: {error}; name one in [proxy.client_tls], \
         or switch TLS off with self_signed_tls = \"off\" in [proxy]"
    )]
    SelfSigned {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// No name to expect of the server.
    #[error("the server's name cannot be checked ({0}); set `name` in [proxy.server_tls]")]
    Name(#[from] InvalidDnsNameError),
    /// TLS over a socket of the file system.
    #[error(
        "an upstream that is a socket of the file system has no TLS; remove [proxy.server_tls]"
    )]
    Socket,
}

/// TLS with a server whose certificate is signed by one of these authorities (a PEM file).
///
/// # Errors
/// The file.
pub fn client_config(root: &Path) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    let wrong = |error| TlsError::Config {
        path: root.to_owned(),
        error,
    };
    for certificate in certificates(root)? {
        roots.add(certificate).map_err(wrong)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// The certificates of a PEM file.
///
/// # Errors
/// The file.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| TlsError::Pem {
            path: path.to_owned(),
            error,
        })
}
