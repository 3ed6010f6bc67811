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

use session_core::counters::add;
use session_core::{Outbox, StatementError, Watching};
use session_postgres::Session;
use session_postgres::finisher::FinisherAnswer;
use sqlstate::SqlState;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::cancel::Ticket;
use crate::counters::OpenSession;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::watch;

/// What one read takes at most.
const READ_SIZE: usize = 64 * 1024;
/// Memory that a worker keeps for what is written next.
const SPARES_MAX: usize = 16;
/// Larger memory than this is given back to the system.
const SPARE_SIZE_MAX: usize = 512 * 1024;

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

/// A session with its sockets.
pub struct Connection {
    session: Session,
    client: Stream,
    server: Stream,
    shared: Arc<Shared>,
    ticket: Ticket,
    /// Wakes the session when the proxy is to stop.
    stopping: Option<Pin<Box<OwnedNotified>>>,
    /// Since the server let the client in.
    open: Option<OpenSession>,
    /// Until when it has to; None: it has.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Its database is watched.
    watching: Option<Watching>,
    /// What the client waits for before it is sent more.
    announced: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The question to the finisher, at most one. It ends with the session.
    finishing: JoinSet<FinisherAnswer>,
    client_is_gone: bool,
}

impl Connection {
    /// Puts them together. The session ends unless it has begun by `deadline`.
    pub fn new(
        session: Session,
        (client, server): (Stream, Stream),
        ticket: Ticket,
        shared: Arc<Shared>,
        deadline: Instant,
    ) -> Self {
        Self {
            session,
            client,
            server,
            shared,
            ticket,
            stopping: None,
            open: None,
            deadline: Some(Box::pin(sleep_until(deadline))),
            watching: None,
            announced: Vec::new(),
            finishing: JoinSet::new(),
            client_is_gone: false,
        }
    }

    /// Whether the server let the client in.
    pub fn has_begun(&self) -> bool {
        self.open.is_some()
    }

    /// The socket of a client that may still be sending what ended the session.
    pub fn into_sending_client(self) -> Option<Stream> {
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
            if self.shared.config.watch.is_some() {
                self.note_watch();
            }
            has_moved |= self.ask_finisher(context);
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

    /// Takes a question to the finisher, and its answer to the session.
    fn ask_finisher(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(finishers) = &self.shared.finishers
            && let Some(request) = self.session.take_finisher_request()
        {
            let finishers = Arc::clone(finishers);
            // Its sockets belong to the runtime that outlives all workers.
            let asking = async move { finishers.ask(request).await };
            let asking = self.finishing.spawn_on(asking, &self.shared.main);
            self.shared.cancels.asks(self.ticket, asking);
        }
        let Poll::Ready(Some(answer)) = self.finishing.poll_join_next(context) else {
            return false;
        };
        self.session
            .finisher_answered(answer.unwrap_or_else(|error| {
                FinisherAnswer::Failed(match error.is_cancelled() {
                    true => StatementError::statement(
                        SqlState::QUERY_CANCELED,
                        "canceling statement due to user request",
                    ),
                    false => StatementError::defect("the finisher's task has failed"),
                })
            }));
        true
    }

    fn note_begin(&mut self) {
        if self.open.is_some() {
            return;
        }
        if let Some(key) = self.session.take_server_key() {
            self.shared.cancels.learn(self.ticket, key);
        }
        if self.session.has_begun() {
            self.open = Some(OpenSession::new(&self.shared.metrics));
            self.deadline = None;
        }
    }

    fn note_watch(&mut self) {
        if self.watching.is_none()
            && let Some(watch) = self.session.watch()
        {
            // The client is let in once changes of the schema are heard of.
            self.announced
                .push(Box::pin(watch::listens(Arc::clone(&watch))));
            self.watching = Some(watch::connection::begin(watch, &self.shared));
        }
        for announced in self.session.take_announced() {
            self.announced.push(Box::pin(watch::wait(announced)));
        }
    }

    fn send_server(&mut self, context: &mut Context<'_>) -> bool {
        match send(&mut self.session.to_server, &mut self.server, context) {
            Ok(sent) => sent == Sent::All,
            Err(_) => {
                // The server may have said why before it went: that is read first.
                self.session.to_server = Outbox::default();
                false
            }
        }
    }

    fn send_client(&mut self, context: &mut Context<'_>) -> Sent {
        if self.client_is_gone {
            return Sent::Nothing;
        }
        self.announced
            .retain_mut(|announced| announced.as_mut().poll(context).is_pending());
        if !self.announced.is_empty() {
            return Sent::Waiting;
        }
        send(&mut self.session.to_client, &mut self.client, context).unwrap_or_else(|_| {
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

impl Future for Connection {
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
            let Session {
                to_client,
                to_server,
                ..
            } = &mut this.session;
            to_client.lend(|| memory.spares.pop().unwrap_or_default());
            to_server.lend(|| memory.spares.pop().unwrap_or_default());
            let result = this.poll_both(context, memory);
            for outbox in [&mut this.session.to_client, &mut this.session.to_server] {
                if let Some(spare) = outbox.give_back()
                    && memory.spares.len() < SPARES_MAX
                    && spare.capacity() <= SPARE_SIZE_MAX
                {
                    memory.spares.push(spare);
                }
            }
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
