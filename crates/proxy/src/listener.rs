//! Where clients arrive: a port, and a socket of the file system.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// Clients that the system lets wait until they are accepted.
const BACKLOG: u32 = 4096;

/// A client that has arrived.
#[derive(Debug)]
pub enum Arrival {
    /// By a port.
    Tcp(std::net::TcpStream),
    /// By a socket of the file system.
    Local(UnixStream),
}

/// Where clients arrive.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    local: Option<LocalListener>,
}

impl Listener {
    /// Listens at a port, and at a socket where there is to be one.
    pub fn new(tcp: TcpListener, local: Option<LocalListener>) -> Self {
        Self { tcp, local }
    }

    /// The port.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// The socket, if any.
    pub fn socket(&self) -> Option<&Path> {
        Some(&self.local.as_ref()?.path)
    }

    /// The next client.
    ///
    /// # Errors
    /// There are no descriptors left, for example.
    pub async fn accept(&self) -> io::Result<Arrival> {
        let Some(local) = &self.local else {
            return self.accept_tcp().await;
        };
        tokio::select! {
            arrival = self.accept_tcp() => arrival,
            accepted = local.listener.accept() => accepted?.0.into_std().map(Arrival::Local),
        }
    }

    async fn accept_tcp(&self) -> io::Result<Arrival> {
        let (socket, _) = self.tcp.accept().await?;
        socket.into_std().map(Arrival::Tcp)
    }
}

/// Listens at an address.
///
/// # Errors
/// The address is taken, or is none of this machine.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A proxy that is started anew finds its port although old connections linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A socket of the file system; its file goes with it.
#[derive(Debug)]
pub struct LocalListener {
    listener: UnixListener,
    path: PathBuf,
    /// Device and number of the file: somebody else's of the same name stays.
    file: (u64, u64),
}

impl LocalListener {
    /// Listens at a path. A file that an earlier process left there is replaced.
    ///
    /// # Errors
    /// Somebody listens there, there is something else, or the folder cannot be written to.
    pub fn bind(path: PathBuf) -> io::Result<Self> {
        remove_leftover(&path)?;
        let listener = UnixListener::bind(&path)?;
        // As the server's own socket: who may log in is the server's to say.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
        let metadata = fs::symlink_metadata(&path)?;
        Ok(Self {
            listener,
            path,
            file: (metadata.dev(), metadata.ino()),
        })
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        let metadata = fs::symlink_metadata(&self.path);
        if metadata.is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.file) {
            // Whoever comes next replaces it, too.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn remove_leftover(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            let message = "there is a file of this name that is no socket: remove it";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside<T>(work: impl FnOnce() -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let _inside = runtime.enter();
        work()
    }

    #[test]
    fn a_socket_goes_with_its_listener_and_a_leftover_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        // Dropped without that its file is removed: as after a crash.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("it binds"));
        assert!(path.exists());
        inside(|| {
            let listener = LocalListener::bind(path.clone()).expect("nobody listens");
            UnixStream::connect(&path).expect("somebody listens");
            let error = LocalListener::bind(path.clone()).expect_err("somebody listens");
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            assert!(path.exists(), "the file of who listens was removed");
            drop(listener);
            assert!(!path.exists());
        });
    }

    #[test]
    fn what_is_no_socket_of_ours_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        fs::write(&path, "mine").expect("a file");
        inside(|| {
            let error = LocalListener::bind(path.clone()).expect_err("it is no socket");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            fs::remove_file(&path).expect("the file is there");
            let listener = LocalListener::bind(path.clone()).expect("now there is nothing");
            fs::remove_file(&path).expect("the socket is there");
            fs::write(&path, "another's").expect("a file");
            drop(listener);
        });
        assert_eq!(fs::read(&path).expect("it is there"), b"another's");
    }
}
