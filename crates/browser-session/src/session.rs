//! The server beside a page: gives it files and work, and hears its answers.
//!
//! Invariants:
//! 1. It listens on 127.0.0.1 alone, and every address begins with a word drawn for the session:
//!    neither another user's program nor another page finds anything there.
//! 2. Each piece of work is given out once, and an answer counts only for the piece that waits.
//! 3. What a request may bring is bounded ([`crate::http`]), and so is how many connections there
//!    are and how long one may be silent.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Method, Request, RequestError, Response, Status};

/// The file of that name, which is relative to the page; none where there is none. Names are made
/// of letters, digits, `.`, `-`, `_` and `/`; none begins with a dot.
pub type Files = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

/// Largest answer of a page.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Browsers open six to a host; a second browser must not be able to take all.
const CONNECTIONS_MAX: usize = 32;

/// How long a connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long a page waits for work before it asks again.
const WORK_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether the page is still there.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// What is kept of what the page says beside its answers.
const SAID_BYTES_MAX: usize = 4 << 10;

/// The page that is served for the address itself.
const FIRST_PAGE: &str = "index.html";

/// A server that a page gets its work from.
pub struct Session {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Why a page gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It took too long.
    #[error("the page gave no answer within {seconds} s{said}")]
    TooLong {
        /// How long it was waited for.
        seconds: u64,
        /// What the page said, in parentheses.
        said: String,
    },
    /// Nobody is there to answer.
    #[error("the browser ended before the page gave an answer{said}")]
    Ended {
        /// What the page said, in parentheses.
        said: String,
    },
}

struct Shared {
    /// What every address begins with: a slash, the drawn word, a slash.
    prefix: String,
    files: Box<Files>,
    desk: Mutex<Desk>,
    changed: Condvar,
    closing: AtomicBool,
    connections: AtomicUsize,
}

/// What lies between the caller and the page.
#[derive(Default)]
struct Desk {
    /// Number of the latest piece of work.
    number: u64,
    /// Whether it has no answer yet, and somebody waits for one.
    waits: bool,
    /// Nobody has fetched it yet.
    work: Option<Vec<u8>>,
    answer: Option<Vec<u8>>,
    said: String,
}

impl Session {
    /// Begins to serve these files.
    ///
    /// # Errors
    /// When the system gives no port or no randomness.
    pub fn start(files: Box<Files>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut word = [0u8; 16];
        getrandom::fill(&mut word).map_err(io::Error::other)?;
        let word: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
        let shared = Arc::new(Shared {
            prefix: format!("/{word}/"),
            files,
            desk: Mutex::default(),
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

    /// Gives the page a piece of work and waits for its answer, at most `patience` and as long as
    /// `is_alive`. One piece at a time: a second caller would take the first one's place.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn ask(
        &mut self,
        work: Vec<u8>,
        patience: Duration,
        is_alive: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, AskError> {
        let mut desk = self.shared.desk();
        desk.number += 1;
        desk.waits = true;
        desk.work = Some(work);
        self.shared.changed.notify_all();
        let began = Instant::now();
        loop {
            if let Some(answer) = desk.answer.take() {
                return Ok(answer);
            }
            let waited = self.shared.changed.wait_timeout(desk, LOOK_PERIOD);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
            if desk.answer.is_some() {
                continue;
            }
            let alive = is_alive();
            if alive && began.elapsed() < patience {
                continue;
            }
            // What was not fetched must not be done later.
            desk.work = None;
            desk.waits = false;
            let said = desk.in_parentheses();
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
        // Wakes the thread that listens.
        drop(TcpStream::connect(self.address));
    }
}

impl Desk {
    fn in_parentheses(&self) -> String {
        if self.said.is_empty() {
            return String::new();
        }
        format!(" (it said: {})", self.said)
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
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
                // A connection that breaks is the page's to notice: it asks again, or has ended.
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
        let mut desk = self.desk();
        let began = Instant::now();
        loop {
            if let Some(body) = desk.work.take() {
                return Response {
                    status: Status::Ok,
                    kind: "application/json",
                    work: Some(desk.number),
                    body,
                };
            }
            let left = WORK_PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() || self.is_closing() {
                return Response::empty(Status::NoContent);
            }
            let waited = self.changed.wait_timeout(desk, left);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The page never got it.
    fn put_back(&self, number: u64, work: Vec<u8>) {
        let mut desk = self.desk();
        if desk.waits && desk.number == number {
            desk.work = Some(work);
            self.changed.notify_all();
        }
    }

    fn take(&self, request: &Request) -> Status {
        let mut desk = self.desk();
        let was_fetched = desk.waits && desk.work.is_none();
        if !was_fetched || request.query.parse() != Ok(desk.number) {
            return Status::Conflict;
        }
        desk.waits = false;
        desk.answer = Some(request.body.clone());
        self.changed.notify_all();
        Status::NoContent
    }

    fn note(&self, text: &[u8]) {
        let mut desk = self.desk();
        let text = String::from_utf8_lossy(text);
        let room = SAID_BYTES_MAX.saturating_sub(desk.said.len());
        if !desk.said.is_empty() && room > 0 {
            desk.said.push(' ');
        }
        let kept: String = text.chars().take(room / char::MAX.len_utf8()).collect();
        desk.said.push_str(&kept);
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

/// The media type by the end of a name.
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
    fn what_a_page_says_is_kept_up_to_a_limit() {
        let session = Session::start(Box::new(|_| None)).unwrap();
        for _ in 0..100 {
            session.shared.note("ü€x".repeat(1000).as_bytes());
        }
        let said = session.shared.desk().said.len();
        assert!(said > 1000 && said <= SAID_BYTES_MAX, "{said}");
    }
}
