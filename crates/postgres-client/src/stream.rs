//! A connection to the server that seals what is written and opens what is read.
//!
//! The session does no I/O, so there is no thread, task or socket between the client and it: a
//! write hands bytes to the session, a flush sends what it made of them, a read gives what it made
//! of the server's answer.
//!
//! Invariants:
//! 1. The server is sent nothing but what the session gives, once the first packet is whole; that
//!    packet says who logs in, and holds no value.
//! 2. What waits is bounded: writing stops where the server takes nothing, and the server is read
//!    only when all that it sent before has been read from here.
//! 3. Whoever waits is woken by what he waits for: a reader by bytes that a write made for him, a
//!    writer by a read that made room. Both halves belong to one task, as tokio-postgres has it.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use session_core::{Database, Outbox, Protection};
use session_postgres::{Session, Terms};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire_postgres::startup::{self, First, Startup};

use crate::finishing::{Asking, Finishing};
use crate::pieces::{PIECE_SIZE, read_piece, shrink};

/// What a connection is told when it begins.
#[derive(Clone)]
pub(crate) struct Begin {
    /// Rules, key, and what is known of schemas.
    pub protection: Arc<Protection>,
    /// Connections of one name share what is known of schemas.
    pub server: Arc<str>,
    /// Largest message that is looked into.
    pub message_size_max: usize,
    /// Servers of this program's own that answer queries.
    pub finishers: Asking,
}

/// A connection to the server, of which the client sees the plain side. Neither side is printed.
pub struct SealedStream<S> {
    stream: S,
    is_tls: bool,
    state: SessionState,
    /// Waits for bytes.
    reader: Option<Waker>,
    /// Waits until bytes are taken.
    writer: Option<Waker>,
    /// Why there was nothing more to read or to write.
    lost: Option<io::Error>,
    finishing: Finishing,
}

enum SessionState {
    /// The client has not sent the whole of its first packet.
    Beginning(Begin, Vec<u8>),
    /// Boxed: it is large, and is moved into the connection.
    Begun(Box<Session>),
}

impl<S> fmt::Debug for SealedStream<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealedStream(..)")
    }
}

/// A first packet that begins no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FirstError {
    /// It cannot be read, or not in one way only.
    #[error("the first packet of the connection is malformed, or names a parameter twice")]
    Malformed,
    /// Encryption would go through the session.
    #[error("TLS belongs below the sealed stream; connect by Connector::connect")]
    Tls,
    /// It has no session.
    #[error("a request to cancel needs a plain connection; send it by Connector::cancel")]
    Cancel,
    /// It would see ciphertext.
    #[error("replication is refused where columns are protected; connect to the server itself")]
    Replication,
}

impl<S> SealedStream<S> {
    /// `is_tls`: whether `stream` is encrypted.
    pub(crate) fn new(stream: S, is_tls: bool, begin: Begin) -> Self {
        Self {
            finishing: Finishing::new(begin.finishers.clone()),
            stream,
            is_tls,
            state: SessionState::Beginning(begin, Vec::new()),
            reader: None,
            writer: None,
            lost: None,
        }
    }

    /// What lies below: the socket, or TLS.
    pub(crate) fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Whether a write would be taken at once.
    fn has_room(&self) -> bool {
        match &self.state {
            SessionState::Beginning(..) => true,
            SessionState::Begun(session) => session.wants_client() || session.has_ended(),
        }
    }
}

impl Begin {
    /// The session that a first packet begins; None while it is not whole. The packet is of the
    /// client in this process: all of it may go to the server.
    fn session(&self, is_tls: bool, packet: &mut Vec<u8>) -> Result<Option<Session>, FirstError> {
        let malformed = |_| FirstError::Malformed;
        match startup::size(packet).map_err(malformed)? {
            Some(size) if size == packet.len() => {}
            Some(size) if size < packet.len() => return Err(FirstError::Malformed),
            Some(_) | None => return Ok(None),
        }
        let database = match First::read(packet).map_err(malformed)? {
            First::Startup(startup) => self.database(&startup)?,
            First::TlsRequest | First::GssRequest => return Err(FirstError::Tls),
            First::Cancel(_) => return Err(FirstError::Cancel),
        };
        let mut session = Session::new(Terms {
            client_tls: is_tls,
            server_tls: is_tls,
            // The client binds its login to what lies below: the server's own certificate.
            certificate_is_shared: true,
            message_size_max: self.message_size_max,
            protection: Some((Arc::clone(&self.protection), database)),
            ..Terms::default()
        });
        session.to_server.bytes.append(packet);
        Ok(Some(session))
    }

    /// The database, of one server of many.
    pub(crate) fn database(&self, startup: &Startup<'_>) -> Result<Database, FirstError> {
        if startup.parameter("replication").is_some() {
            return Err(FirstError::Replication);
        }
        let name = startup.database().unwrap_or_default();
        Ok(Database::named(name).of(&self.server))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> SealedStream<S> {
    /// Sends what the session has for the server. Ready: nothing is left.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let SessionState::Begun(session) = &mut self.state else {
            return Poll::Ready(());
        };
        let outbox = &mut session.to_server;
        if let Err(error) = ready!(outbox.poll_send(&mut self.stream, context)) {
            // The server may have said why before it went: that is read first.
            *outbox = Outbox::default();
            self.lost.get_or_insert(error);
        }
        shrink(outbox);
        Poll::Ready(())
    }

    /// Takes from the server what is there. Ready: something came, if only the end.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let SessionState::Begun(session) = &mut self.state else {
            return Poll::Pending;
        };
        read_piece(&mut self.stream, context, |read| match read {
            Ok([]) => session.server_closed(),
            Ok(bytes) => session.server_bytes(bytes),
            Err(error) => {
                self.lost.get_or_insert(error);
                session.server_closed();
            }
        })
    }

    /// Takes a question to the finisher, and its answer to the session. Ready: the session goes on.
    fn poll_finisher(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let SessionState::Begun(session) = &mut self.state else {
            return Poll::Pending;
        };
        self.finishing.poll(session, context)
    }

    /// The client's first packet, or a piece of it.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), FirstError> {
        if let SessionState::Beginning(begin, packet) = &mut self.state {
            packet.extend_from_slice(bytes);
            if let Some(session) = begin.session(self.is_tls, packet)? {
                self.state = SessionState::Begun(Box::new(session));
                self.wake_reader();
            }
        }
        Ok(())
    }
}

impl<S> SealedStream<S> {
    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Wakes the writer where there is room now, or nothing to wait for.
    fn wake_writer(&mut self) {
        if self.has_room()
            && let Some(writer) = self.writer.take()
        {
            writer.wake();
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SealedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if let SessionState::Begun(session) = &mut this.state {
                if session.to_client.waiting() > 0 {
                    session.to_client.read_into(buffer);
                    shrink(&mut session.to_client);
                    return Poll::Ready(Ok(()));
                }
                if session.has_ended() {
                    return Poll::Ready(this.lost.take().map_or(Ok(()), Err));
                }
            }
            let answered = this.poll_finisher(context);
            // While the finisher computes, nothing of the server is taken.
            let received = match this.finishing.is_idle() {
                true => this.poll_receive(context),
                false => Poll::Pending,
            };
            // The session may have answered the server, or have waited for what it said. Where the
            // server does not take it, this task is woken when it does, and reads on meanwhile.
            let _ = this.poll_send(context);
            this.wake_writer();
            if received.is_pending() && answered.is_pending() {
                this.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SealedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.writer = None;
        if !this.has_room() {
            let _ = this.poll_send(context);
        }
        let size = bytes.len().min(PIECE_SIZE);
        match &mut this.state {
            SessionState::Beginning(..) => {
                let begun = this.begin(&bytes[..size]);
                begun.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            }
            // A failure here would hide from the client what it is about to read: why.
            SessionState::Begun(session) if session.has_ended() => {}
            SessionState::Begun(session) if session.wants_client() => {
                let waiting = session.to_client.waiting();
                session.client_bytes(&bytes[..size]);
                // A reader also takes questions to the finisher.
                if session.to_client.waiting() > waiting || !session.wants_server() {
                    this.wake_reader();
                }
            }
            SessionState::Begun(_) => {
                this.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(size))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_send(context).map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context));
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
