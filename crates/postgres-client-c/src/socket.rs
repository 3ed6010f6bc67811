//! A socket of the file system that only this process may use, for drivers that take no descriptor.
//!
//! Whoever connects is served with the key of this process. So three things stand before it: the
//! folder, which nobody but its user may enter; the socket's own mode; and the system's word for
//! which process is at the other end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use nix::unistd::Uid;
use tempfile::TempDir;
use tokio::net::unix::UCred;

use crate::error::Error;

/// As drivers put it together from a host that is a folder, and PostgreSQL's port.
const NAME: &str = ".s.PGSQL.5432";
/// How long to wait where the system gives no socket: it has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The socket's folder, which is removed when this is dropped.
pub struct PrivateSocket {
    folder: TempDir,
}

impl PrivateSocket {
    /// Makes the folder and listens there.
    pub fn make() -> Result<(Self, UnixListener), Error> {
        let failed = |error| Error::System("a socket in the temporary folder (TMPDIR)", error);
        let folder = tempfile::Builder::new()
            .prefix("strongroom-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(failed)?;
        let path = folder.path().join(NAME);
        let listener = UnixListener::bind(&path).map_err(failed)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok((Self { folder }, listener))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The next who comes, and whether it is this very process. Without a listener nobody does.
pub async fn accept(listener: &mut Option<tokio::net::UnixListener>) -> (UnixStream, bool) {
    let Some(listener) = listener else {
        return std::future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let is_own = socket.peer_cred().is_ok_and(|peer| is_this_process(&peer));
                if let Ok(socket) = socket.into_std() {
                    return (socket, is_own);
                }
            }
            Err(error) if is_of_one(&error) => {}
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// The process that connected: not the one that has the socket now, if it was handed on.
fn is_this_process(peer: &UCred) -> bool {
    let process = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    process == Some(std::process::id()) && peer.uid() == Uid::effective().as_raw()
}

/// Whether only the one who came is affected.
fn is_of_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
