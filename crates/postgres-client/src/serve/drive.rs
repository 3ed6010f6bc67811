//! Moves the bytes of a driver and its server through a session.
//!
//! One task polls both directions, as the proxy does it. What waits is bounded by the session,
//! which says whom to read from.

use std::pin::Pin;
use std::task::{Context, Poll};

use session_core::Outbox;
use session_postgres::Session;
use sockets::LocalStream;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::finishing::{Asking, Finishing};
use crate::pieces::{read_piece, shrink};
use crate::wire::Wire;

/// A session with its sockets: done when either side has ended.
pub(super) struct Drive {
    session: Box<Session>,
    driver: LocalStream,
    server: Wire<TcpStream>,
    finishing: Finishing,
    /// Until when the server has to let the driver in; None: it has.
    deadline: Option<Pin<Box<Sleep>>>,
    driver_is_gone: bool,
}

impl Drive {
    /// Nothing has moved yet.
    pub(super) fn new(
        session: Session,
        (driver, server): (LocalStream, Wire<TcpStream>),
        finishers: Asking,
        deadline: Instant,
    ) -> Self {
        Self {
            session: Box::new(session),
            driver,
            server,
            finishing: Finishing::new(finishers),
            deadline: Some(Box::pin(sleep_until(deadline))),
            driver_is_gone: false,
        }
    }

    fn read_driver(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.session.wants_client() {
            return Poll::Pending;
        }
        let session = &mut self.session;
        let is_gone = &mut self.driver_is_gone;
        read_piece(&mut self.driver, context, |read| match read {
            Ok(bytes) if !bytes.is_empty() => session.client_bytes(bytes),
            Ok(_) | Err(_) => {
                *is_gone = true;
                session.client_closed();
            }
        })
    }

    fn read_server(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.session.wants_server() {
            return Poll::Pending;
        }
        let session = &mut self.session;
        let read = read_piece(&mut self.server, context, |read| match read {
            Ok(bytes) if !bytes.is_empty() => session.server_bytes(bytes),
            Ok(_) | Err(_) => session.server_closed(),
        });
        if self.session.has_begun() {
            self.deadline = None;
        }
        read
    }

    /// Ready: something was sent, and nothing is left.
    fn send_server(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let outbox = &mut self.session.to_server;
        match outbox.poll_send(&mut self.server, context) {
            Poll::Ready(Ok(true)) => {
                shrink(outbox);
                Poll::Ready(())
            }
            Poll::Ready(Ok(false)) | Poll::Pending => Poll::Pending,
            Poll::Ready(Err(_)) => {
                // The server may have said why before it went: that is read first.
                *outbox = Outbox::default();
                Poll::Pending
            }
        }
    }

    fn send_driver(&mut self, context: &mut Context<'_>) -> Sent {
        if self.driver_is_gone {
            return Sent::Nothing;
        }
        let outbox = &mut self.session.to_client;
        match outbox.poll_send(&mut self.driver, context) {
            Poll::Ready(Ok(true)) => {
                shrink(outbox);
                Sent::All
            }
            Poll::Ready(Ok(false)) => Sent::Nothing,
            Poll::Pending => Sent::Waiting,
            Poll::Ready(Err(_)) => {
                self.driver_is_gone = true;
                self.session.client_closed();
                Sent::Nothing
            }
        }
    }
}

enum Sent {
    Nothing,
    All,
    Waiting,
}

impl Future for Drive {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if let Some(deadline) = &mut this.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            this.deadline = None;
            this.session.start_timed_out();
        }
        loop {
            let mut has_moved = this.read_driver(context).is_ready();
            has_moved |= this.send_server(context).is_ready();
            has_moved |= this.read_server(context).is_ready();
            has_moved |= this.finishing.poll(&mut this.session, context).is_ready();
            match this.send_driver(context) {
                Sent::All => has_moved = true,
                Sent::Nothing if this.session.has_ended() => return Poll::Ready(()),
                Sent::Nothing | Sent::Waiting => {}
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }
}
