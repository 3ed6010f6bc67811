//! The server for a page: gives it files and work, and receives its answers.
//!
//! Invariants:
//!
//! 1. It listens only on 127.0.0.1, and every path begins with a random word chosen for the
//!    session: neither another user's program nor another page finds anything there.
//! 2. Each piece of work is given out once, and only the answer to the pending piece is accepted.
//! 3. The size of a request is bounded ([`crate::http`]), and so are the number of connections and
//!    how long one may be silent.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Method, Request, RequestError, Response, Status};

/// Looks up a file by its name relative to the page; `None` if it does not exist. Names consist of
/// letters, digits, `.`, `-`, `_` and `/`; none begins with a dot.
pub type Files = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

/// Maximum size of an answer.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Browsers open six connections to a host; one browser must not be able to take all of these.
const CONNECTIONS_MAX: usize = 32;

/// How long a connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long a request for work is held before it is answered with 204.
const WORK_PATIENCE: Duration = Duration::from_secs(10);

/// Interval for checking whether the page still exists.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// How much is kept of a page's other messages.
const SAID_BYTES_MAX: usize = 4 << 10;

/// The page served at the root path.
const FIRST_PAGE: &str = "index.html";

/// A server that gives work to a page.
pub struct Session {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Why a page did not answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Timeout.
    #[error("the page gave no answer within {seconds} s{said}")]
    TooLong {
        /// The timeout.
        seconds: u64,
        /// The page's messages, in parentheses.
        said: String,
    },
    /// The page or its browser is gone.
    #[error("the browser ended before the page gave an answer{said}")]
    Ended {
        /// The page's messages, in parentheses.
        said: String,
    },
}

struct Shared {
    /// Prefix of every path: a slash, the random word, a slash.
    prefix: String,
    files: Box<Files>,
    exchange: Mutex<Exchange>,
    changed: Condvar,
    closing: AtomicBool,
    connections: AtomicUsize,
}

/// State shared between the caller and the page.
#[derive(Default)]
struct Exchange {
    /// Number of the latest piece of work.
    number: u64,
    /// Whether somebody waits for its answer.
    waits: bool,
    /// The work, until the page fetches it.
    work: Option<Vec<u8>>,
    answer: Option<Vec<u8>>,
    said: String,
}

impl Session {
    /// Starts serving these files.
    ///
    /// # Errors
    ///
    /// If the system provides no port or no randomness.
    pub fn start(files: Box<Files>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut word = [0u8; 16];
        getrandom::fill(&mut word).map_err(io::Error::other)?;
        let word: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
        let shared = Arc::new(Shared {
            prefix: format!("/{word}/"),
            files,
            exchange: Mutex::default(),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        thread::Builder::new().spawn(move || own.listen(&listener))?;
        Ok(Self { address, shared })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.shared.prefix)
    }

    /// Gives the page a piece of work and waits for its answer, for at most `patience` and while
    /// `is_alive`. Only one piece at a time: a second caller would replace the first one's.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    pub fn ask(
        &mut self,
        work: Vec<u8>,
        patience: Duration,
        is_alive: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, AskError> {
        let mut exchange = self.shared.exchange();
        exchange.number += 1;
        exchange.waits = true;
        exchange.work = Some(work);
        self.shared.changed.notify_all();
        let began = Instant::now();
        loop {
            if let Some(answer) = exchange.answer.take() {
                return Ok(answer);
            }
            let waited = self.shared.changed.wait_timeout(exchange, LOOK_PERIOD);
            exchange = waited.unwrap_or_else(PoisonError::into_inner).0;
            if exchange.answer.is_some() {
                continue;
            }
            let alive = is_alive();
            if alive && began.elapsed() < patience {
                continue;
            }
            // Work that was not fetched must not be done later.
            exchange.work = None;
            exchange.waits = false;
            let said = exchange.in_parentheses();
            return Err(if alive {
                let seconds = patience.as_secs();
                AskError::TooLong { seconds, said }
            } else {
                AskError::Ended { said }
            });
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        // Wakes the listening thread.
        drop(TcpStream::connect(self.address));
    }
}

impl Exchange {
    fn in_parentheses(&self) -> String {
        if self.said.is_empty() {
            return String::new();
        }
        format!(" (it said: {})", self.said)
    }
}

impl Shared {
    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            if self.is_closing() {
                return;
            }
            if self.connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
                self.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let shared = Arc::clone(&self);
            let started = thread::Builder::new().spawn(move || {
                // If a connection breaks, the page notices: it asks again, or has ended.
                drop(shared.serve(stream));
                shared.connections.fetch_sub(1, Ordering::SeqCst);
            });
            if started.is_err() {
                self.connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        let mut output = stream.try_clone()?;
        let mut input = BufReader::new(stream);
        while !self.is_closing() {
            let request = match http::read(&mut input, ANSWER_BYTES_MAX) {
                Ok(Some(request)) => request,
                Ok(None) => return Ok(()),
                Err(RequestError::Io(error)) => return Err(error),
                Err(RequestError::Refused(status)) => {
                    return http::write(&mut output, &Response::empty(status));
                }
            };
            let response = self.response(request);
            let written = http::write(&mut output, &response);
            if let (Err(error), Some(number)) = (written, response.work) {
                self.put_back(number, response.body);
                return Err(error);
            }
        }
        Ok(())
    }

    fn response(&self, request: Request) -> Response {
        let Some(name) = request.path.strip_prefix(&self.prefix) else {
            return Response::empty(Status::NotFound);
        };
        match (request.method, name) {
            (Method::Get, "work") => self.work(),
            (Method::Post, "answer") => Response::empty(self.take(&request)),
            (Method::Post, "said") => {
                self.note(&request.body);
                Response::empty(Status::NoContent)
            }
            (Method::Get, name) => self.file(name),
            (Method::Post, _) => Response::empty(Status::NotAllowed),
        }
    }

    fn work(&self) -> Response {
        let mut exchange = self.exchange();
        let began = Instant::now();
        loop {
            if let Some(body) = exchange.work.take() {
                return Response {
                    status: Status::Ok,
                    kind: "application/json",
                    work: Some(exchange.number),
                    body,
                };
            }
            let left = WORK_PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() || self.is_closing() {
                return Response::empty(Status::NoContent);
            }
            let waited = self.changed.wait_timeout(exchange, left);
            exchange = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The page never received the work, so it is offered again.
    fn put_back(&self, number: u64, work: Vec<u8>) {
        let mut exchange = self.exchange();
        if exchange.waits && exchange.number == number {
            exchange.work = Some(work);
            self.changed.notify_all();
        }
    }

    fn take(&self, request: &Request) -> Status {
        let mut exchange = self.exchange();
        let was_fetched = exchange.waits && exchange.work.is_none();
        if !was_fetched || request.query.parse() != Ok(exchange.number) {
            return Status::Conflict;
        }
        exchange.waits = false;
        exchange.answer = Some(request.body.clone());
        self.changed.notify_all();
        Status::NoContent
    }

    fn note(&self, text: &[u8]) {
        let mut exchange = self.exchange();
        let text = String::from_utf8_lossy(text);
        let room = SAID_BYTES_MAX.saturating_sub(exchange.said.len());
        if !exchange.said.is_empty() && room > 0 {
            exchange.said.push(' ');
        }
        let kept: String = text.chars().take(room / char::MAX.len_utf8()).collect();
        exchange.said.push_str(&kept);
    }

    fn file(&self, name: &str) -> Response {
        let name = if name.is_empty() { FIRST_PAGE } else { name };
        match Some(name)
            .filter(|name| is_plain(name))
            .and_then(|name| (self.files)(name))
        {
            Some(body) => Response {
                status: Status::Ok,
                kind: kind(name),
                work: None,
                body,
            },
            None => Response::empty(Status::NotFound),
        }
    }
}

/// Whether the name cannot lead out of a folder.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    name.split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain))
}

/// The media type for a file extension.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        for name in ["index.html", "a/b-c_d.mjs", "A1"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "..", "a/../b", "/a", "a//b", ".x", "a/.x", "a%2fb", "ä", "a b", "a\\b",
        ] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn messages_of_a_page_are_kept_up_to_a_limit() {
        let session = Session::start(Box::new(|_| None)).unwrap();
        for _ in 0..100 {
            session.shared.note("ü€x".repeat(1000).as_bytes());
        }
        let said = session.shared.exchange().said.len();
        assert!(said > 1000 && said <= SAID_BYTES_MAX, "{said}");
    }
}
