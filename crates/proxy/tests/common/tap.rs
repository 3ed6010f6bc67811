//! Passes everything on between proxy and server, and keeps what goes to the server; what comes
//! back while somebody wants that.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What goes to the server.
pub struct Tap {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    sent: Mutex<Vec<u8>>,
    /// None: nobody wants it.
    answered: Mutex<Option<Vec<u8>>>,
    round_trips: AtomicUsize,
}

impl Tap {
    /// Between whoever connects and the server at `port`.
    pub fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Seen::default());
        let noted = Arc::clone(&seen);
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let back = (
                    server.try_clone().expect("a second handle"),
                    client.try_clone().expect("a second handle"),
                );
                let seen = Arc::clone(&noted);
                let has_answered = Arc::new(AtomicBool::new(true));
                let answered = Arc::clone(&has_answered);
                let note_question = move |bytes: &[u8]| {
                    if has_answered.swap(false, Ordering::SeqCst) {
                        seen.round_trips.fetch_add(1, Ordering::SeqCst);
                    }
                    let mut sent = seen.sent.lock().expect("no panic while it is held");
                    sent.extend_from_slice(bytes);
                };
                let seen = Arc::clone(&noted);
                let note_answer = move |bytes: &[u8]| {
                    answered.store(true, Ordering::SeqCst);
                    let mut answered = seen.answered.lock().expect("no panic while it is held");
                    if let Some(answered) = &mut *answered {
                        answered.extend_from_slice(bytes);
                    }
                };
                thread::spawn(move || pump(client, server, note_question));
                thread::spawn(move || pump(back.0, back.1, note_answer));
            }
        });
        Self { address, seen }
    }

    /// All that was sent to the server.
    pub fn sent(&self) -> Vec<u8> {
        let sent = self.seen.sent.lock().expect("no panic while it is held");
        sent.clone()
    }

    /// Keeps what the server answers from now on.
    pub fn keep_answers(&self) {
        let mut answered = self
            .seen
            .answered
            .lock()
            .expect("no panic while it is held");
        *answered = Some(Vec::new());
    }

    /// What the server has answered since.
    pub fn answered(&self) -> Vec<u8> {
        let answered = self.seen.answered.lock();
        let answered = answered.expect("no panic while it is held");
        answered.clone().expect("answers are kept")
    }

    /// How often something was sent after something had been answered, on all connections.
    pub fn round_trips(&self) -> usize {
        self.seen.round_trips.load(Ordering::SeqCst)
    }
}

/// Notes what comes before it passes it on, so that nobody has answered it yet.
fn pump(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let _ = to.set_nodelay(true);
    let mut buffer = [0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        note(&buffer[..size]);
        if to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
