//! Drives a session: reads from both sockets into it, and sends what it has for them.
//!
//! One task per session polls both directions. Reading stops at a short read, so that the socket is
//! not asked again before it has something; what a read gave leaves in one write. So a message
//! costs one wait, one read and one write, and memory for reading is the worker's, not the
//! session's.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use session_core::Outbox;
use session_core::counters::add;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::counters::OpenSession;
use crate::shared::Shared;
use crate::stream::Stream;

/// What one read takes at most.
const READ_SIZE: usize = 64 * 1024;
/// Memory that a worker keeps for what is written next.
const SPARES_MAX: usize = 16;
/// Larger memory than this is given back to the system.
const SPARE_SIZE_MAX: usize = 512 * 1024;

/// How long a client is waited for after the end: that it takes the last word, and that it stops
/// sending.
pub const LINGER: Duration = Duration::from_secs(2);

/// What decides over the bytes of a client and its server. It does no I/O with either.
///
/// Protocols share nothing but this: what their messages are, only their sessions know.
pub trait Session: Unpin {
    /// Takes bytes of the client.
    fn client_bytes(&mut self, bytes: &[u8]);
    /// Takes bytes of the server.
    fn server_bytes(&mut self, bytes: &[u8]);
    /// Notes that the client has closed its side.
    fn client_closed(&mut self);
    /// Notes that the server has closed its side.
    fn server_closed(&mut self);
    /// Notes that the client has taken too long until the server let it in.
    fn start_timed_out(&mut self);
    /// Ends as soon as it is between transactions, or at once.
    fn drain(&mut self, at_once: bool);
    /// Whether more may be read from the client.
    fn wants_client(&self) -> bool;
    /// Whether more may be read from the server.
    fn wants_server(&self) -> bool;
    /// Whether the server has let the client in.
    fn has_begun(&self) -> bool;
    /// Whether it takes no more bytes; those that wait are still sent.
    fn has_ended(&self) -> bool;
    /// Whether an error of the client's ended it. The client may still be sending.
    fn client_erred(&self) -> bool;
    /// Bytes for the client.
    fn to_client(&mut self) -> &mut Outbox;
    /// Bytes for the server.
    fn to_server(&mut self) -> &mut Outbox;

    /// Sees to what it needs of others than its client and its server. Gives whether something
    /// came of it.
    fn poll_others(&mut self, _context: &mut Context<'_>) -> bool {
        false
    }

    /// Whether the client gets nothing for now.
    fn holds_client_back(&mut self, _context: &mut Context<'_>) -> bool {
        false
    }
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::new(Memory {
        read: vec![0; READ_SIZE].into_boxed_slice(),
        spares: Vec::new(),
    });
}

struct Memory {
    read: Box<[u8]>,
    spares: Vec<Vec<u8>>,
}

impl Memory {
    fn lend(&mut self, outbox: &mut Outbox) {
        outbox.lend(|| self.spares.pop().unwrap_or_default());
    }

    fn take_back(&mut self, outbox: &mut Outbox) {
        if let Some(spare) = outbox.give_back()
            && self.spares.len() < SPARES_MAX
            && spare.capacity() <= SPARE_SIZE_MAX
        {
            self.spares.push(spare);
        }
    }
}

/// A session with its sockets.
struct Connection<S> {
    session: S,
    client: Stream,
    server: Stream,
    shared: Arc<Shared>,
    /// Wakes the session when the proxy is to stop.
    stopping: Option<Pin<Box<OwnedNotified>>>,
    /// Since the server let the client in.
    open: Option<OpenSession>,
    /// Until when it has to; None: it has.
    deadline: Option<Pin<Box<Sleep>>>,
    client_is_gone: bool,
}

/// Drives a session to its end. It ends unless it has begun by `deadline`.
pub async fn drive<S: Session>(
    session: S,
    (client, server): (Stream, Stream),
    shared: Arc<Shared>,
    deadline: Instant,
) {
    let metrics = Arc::clone(&shared.metrics);
    let mut connection = Connection {
        session,
        client,
        server,
        shared,
        stopping: None,
        open: None,
        deadline: Some(Box::pin(sleep_until(deadline))),
        client_is_gone: false,
    };
    (&mut connection).await;
    if connection.open.is_none() {
        add(&metrics.logins_failed, 1);
    }
    if let Some(client) = connection.into_sending_client() {
        // Best effort, as everything after the end.
        let _ = timeout(LINGER, linger(client)).await;
    }
}

/// A socket that is closed before all was read is reset, and the client may lose what it was told.
async fn linger(mut client: Stream) -> io::Result<()> {
    client.shutdown().await?;
    let mut nothing = vec![0; 16 * 1024];
    while client.read(&mut nothing).await? > 0 {}
    Ok(())
}

impl<S: Session> Connection<S> {
    /// The socket of a client that may still be sending what ended the session.
    fn into_sending_client(self) -> Option<Stream> {
        (self.session.client_erred() && !self.client_is_gone).then_some(self.client)
    }

    fn poll_both(&mut self, context: &mut Context<'_>, memory: &mut Memory) -> Poll<()> {
        loop {
            let mut has_moved = false;
            if self.session.wants_client() {
                has_moved |= self.read_client(context, &mut memory.read);
            }
            has_moved |= self.send_server(context);
            if self.session.wants_server() {
                has_moved |= self.read_server(context, &mut memory.read);
            }
            has_moved |= self.session.poll_others(context);
            match self.send_client(context) {
                Sent::All => has_moved = true,
                Sent::Nothing if self.session.has_ended() => return Poll::Ready(()),
                Sent::Nothing | Sent::Waiting => {}
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }

    fn read_client(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> bool {
        match read(&mut self.client, context, buffer) {
            Poll::Ready(Ok(bytes)) if !bytes.is_empty() => {
                add(&self.shared.metrics.client_bytes, bytes.len() as u64);
                self.session.client_bytes(bytes);
            }
            Poll::Ready(_) => {
                self.client_is_gone = true;
                self.session.client_closed();
            }
            Poll::Pending => return false,
        }
        true
    }

    fn read_server(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> bool {
        match read(&mut self.server, context, buffer) {
            Poll::Ready(Ok(bytes)) if !bytes.is_empty() => {
                add(&self.shared.metrics.server_bytes, bytes.len() as u64);
                self.session.server_bytes(bytes);
                self.note_begin();
            }
            Poll::Ready(_) => self.session.server_closed(),
            Poll::Pending => return false,
        }
        true
    }

    fn note_begin(&mut self) {
        if self.open.is_none() && self.session.has_begun() {
            self.open = Some(OpenSession::new(&self.shared.metrics));
            self.deadline = None;
        }
    }

    fn send_server(&mut self, context: &mut Context<'_>) -> bool {
        match send(self.session.to_server(), &mut self.server, context) {
            Ok(sent) => sent == Sent::All,
            Err(_) => {
                // The server may have said why before it went: that is read first.
                *self.session.to_server() = Outbox::default();
                false
            }
        }
    }

    fn send_client(&mut self, context: &mut Context<'_>) -> Sent {
        if self.client_is_gone {
            return Sent::Nothing;
        }
        if self.session.holds_client_back(context) {
            return Sent::Waiting;
        }
        send(self.session.to_client(), &mut self.client, context).unwrap_or_else(|_| {
            self.client_is_gone = true;
            self.session.client_closed();
            Sent::Nothing
        })
    }

    fn look_for_the_end(&mut self, context: &mut Context<'_>) {
        loop {
            // First listen, then look: a call in between is not missed.
            let stopping = self
                .stopping
                .get_or_insert_with(|| Box::pin(Arc::clone(&self.shared.stop).notified_owned()));
            let was_called = stopping.as_mut().poll(context).is_ready();
            match self.shared.stop_level() {
                0 => {}
                level => self.session.drain(level > 1),
            }
            if !was_called {
                return;
            }
            self.stopping = None;
        }
    }
}

impl<S: Session> Future for Connection<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        // Registered once: a task keeps its waker.
        if this.stopping.is_none() || this.shared.stop_level() > 0 {
            this.look_for_the_end(context);
        }
        if let Some(deadline) = &mut this.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            this.deadline = None;
            this.session.start_timed_out();
        }
        MEMORY.with_borrow_mut(|memory| {
            let session = &mut this.session;
            memory.lend(session.to_client());
            memory.lend(session.to_server());
            let result = this.poll_both(context, memory);
            memory.take_back(this.session.to_client());
            memory.take_back(this.session.to_server());
            result
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing,
    All,
    Waiting,
}

fn send(outbox: &mut Outbox, stream: &mut Stream, context: &mut Context<'_>) -> io::Result<Sent> {
    match outbox.poll_send(stream, context) {
        Poll::Ready(Ok(true)) => Ok(Sent::All),
        Poll::Ready(Ok(false)) => Ok(Sent::Nothing),
        Poll::Ready(Err(error)) => Err(error),
        Poll::Pending => Ok(Sent::Waiting),
    }
}

fn read<'a>(
    stream: &mut Stream,
    context: &mut Context<'_>,
    buffer: &'a mut [u8],
) -> Poll<io::Result<&'a [u8]>> {
    let mut read = ReadBuf::new(buffer);
    std::task::ready!(Pin::new(stream).poll_read(context, &mut read))?;
    let size = read.filled().len();
    Poll::Ready(Ok(&buffer[..size]))
}
