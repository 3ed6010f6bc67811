//! Sockets by TCP, of which the system says when the other side is gone.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::TcpStream;

/// After so long without a byte the system asks whether the other side is still there.
const KEEPALIVE_IDLE_SECONDS: u32 = 60;
/// How long after each question the next one follows.
const KEEPALIVE_INTERVAL_SECONDS: u32 = 10;
/// Questions without an answer, after which the other side is gone.
const KEEPALIVE_COUNT: u32 = 6;

/// Connects to the port of a server.
///
/// # Errors
/// Nobody listens there, or the system has no such host.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let socket = TcpStream::connect((host, port)).await?;
    socket.set_nodelay(true)?;
    keep_alive(&socket)?;
    Ok(socket)
}

/// Has the system find out that the other side is gone without a word: its machine, or the way to
/// it. Until then a session keeps its locks. The server asks its own clients, but not ours.
///
/// # Errors
/// It has gone already.
pub fn keep_alive(socket: &impl AsFd) -> io::Result<()> {
    setsockopt(socket, sockopt::KeepAlive, &true)?;
    #[cfg(not(target_vendor = "apple"))]
    setsockopt(socket, sockopt::TcpKeepIdle, &KEEPALIVE_IDLE_SECONDS)?;
    #[cfg(target_vendor = "apple")]
    setsockopt(socket, sockopt::TcpKeepAlive, &KEEPALIVE_IDLE_SECONDS)?;
    setsockopt(
        socket,
        sockopt::TcpKeepInterval,
        &KEEPALIVE_INTERVAL_SECONDS,
    )?;
    setsockopt(socket, sockopt::TcpKeepCount, &KEEPALIVE_COUNT)?;
    Ok(())
}
