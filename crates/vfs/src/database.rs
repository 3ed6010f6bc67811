//! One open database: its state, its keys, and what its files share.
//!
//! A database and its journals are separate files to SQLite; here they share one value behind a
//! lock, since they share keys, nonces and the order of writes.
//!
//! States:
//!
//! ```text
//!   New ──first write, key given──▶ Open ◀──right key── Locked
//!    │                               ▲
//!    └─ somebody else created it ────┴──▶ Plain, Locked or Broken
//! ```
//!
//! `New`: no byte on disk. `Plain`: an ordinary SQLite file, passed through. `Locked`: encrypted,
//! no key yet. `Open`: encrypted, keys at hand. `Broken`: nothing to work with, and the reason.

use std::cell::RefCell;
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crypto::cipher::Cipher;
use crypto::page::Nonce;
use keyring::Credential;
use keyring::slots::Unlocked;
use keyring::work::WorkLimit;
use page_codec::header::{Header, PLAIN_SQLITE_MAGIC, REGION_SIZE};
use page_codec::page::PageCodec;

use crate::abi::{SQLITE_IOERR, SQLITE_LOCK_NONE, SQLITE_NOTADB, sqlite3};
use crate::api::SqliteApi;
use crate::base::{BaseFile, SharedHeader};
use crate::base_vfs::BaseVfs;
use crate::error::{Code, Outcome};
use crate::gathered::Gathered;
use crate::journal_file::JournalFile;
use crate::known_page_one::KnownPageOne;
use crate::log_index::LogEnd;
use crate::map::Map;
use crate::nonces::Nonces;
use crate::resize::DivertedUnits;
use crate::stamps::Stamps;
use crate::wal_file::WalFile;

/// Keys and header of a database that is open.
pub(crate) struct Opened {
    pub header: Header,
    pub unlocked: Unlocked,
    pub codec: PageCodec,
    /// Kept while the creation may still be rolled back, as in [`Prepared`].
    pub credential: Option<Credential>,
}

/// A header made for a database that is not on disk yet.
pub(crate) struct Prepared {
    pub header: Header,
    pub unlocked: Unlocked,
    /// Kept for the case that another connection creates the file first, with another salt.
    pub credential: Option<Credential>,
}

/// See the head of this module.
pub(crate) enum State {
    New(Option<Box<Prepared>>),
    Plain,
    Locked,
    Open(Box<Opened>),
    Broken,
}

/// The connection that SQLite says the file belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Connection(pub *mut *mut sqlite3);

// SAFETY: only used inside callbacks, where SQLite holds the connection's mutex on this thread.
unsafe impl Send for Connection {}

/// One open database. See the head of this module.
pub(crate) struct Database {
    pub base: BaseFile,
    pub vfs: BaseVfs,
    pub identity: Identity,
    pub state: State,
    pub asked: Asked,
    pub main: MainFile,
    /// Memory of pages on their way, and what seals them.
    pub sealing: Sealing,
    pub journal: Option<JournalFile>,
    pub log: Log,
    pub page_size_change: PageSizeChange,
    pub freshness: Freshness,
    pub failures: Failures,
}

/// By what others know the file.
pub(crate) struct Identity {
    /// Its name as SQLite gave it, where that stands in memory, and as it is told in messages.
    pub name: CString,
    pub name_address: usize,
    pub path: String,
    pub connection: Option<Connection>,
}

/// What whoever opened the file asked for, and what the system gave.
pub(crate) struct Asked {
    pub plain_asked: bool,
    /// Whether the URI lets SQL change keys, or forbids it.
    pub keys_in_sql: Option<bool>,
    pub credential: Option<Credential>,
    /// The key at hand is what a file or a variable holds that the URI names.
    pub key_named: bool,
    /// What a header may cost before it is known to be genuine.
    pub unlock_work: WorkLimit,
    pub cipher: Cipher,
    /// The system gave no more than reading.
    pub is_read_only: bool,
}

/// The database file itself.
pub(crate) struct MainFile {
    pub lock_level: i32,
    /// Size on disk, known while a lock keeps others from changing it.
    pub size_known: Option<u64>,
    pub map: Map,
    /// Sealed pages on their way to the file.
    pub gathered: Gathered,
    /// Both copies of the header as they were when they were looked at last.
    pub header_region: Vec<u8>,
    pub page_one: KnownPageOne,
    /// Where the pass of a rotation goes on: all pages before it are under the current epoch.
    pub rotation_next: u64,
}

/// Memory of pages on their way, and what seals them.
pub(crate) struct Sealing {
    pub nonces: Nonces,
    pub scratch: Vec<u8>,
}

/// The write-ahead log and its index.
#[derive(Default)]
pub(crate) struct Log {
    pub wal: Option<WalFile>,
    /// Exclusive locks that SQLite holds of the log, a bit for each.
    pub locks: u32,
    pub shared_memory: bool,
    /// The header of the log's index, while it is mapped, and how far it said the log goes.
    pub shared_header: Option<SharedHeader>,
    pub end: Option<LogEnd>,
    /// The read lock of the log that this connection holds, by its number.
    pub read_lock: Option<i32>,
}

/// A change of page size.
#[derive(Default)]
pub(crate) struct PageSizeChange {
    /// It is under way.
    pub units: Option<DivertedUnits>,
    /// The page size before a change that is sealed, and may still be rolled back.
    pub from: Option<u32>,
    /// The page size that the header told when the file was opened.
    pub told: Option<u32>,
    /// The journal that is being played back gives the file a former page size.
    pub is_played_back: bool,
}

/// Whether pages tell their version, and which they were read with.
#[derive(Default)]
pub(crate) struct Freshness {
    /// Whether new pages are to tell their version, where that is still to be decided.
    pub asked: Option<bool>,
    /// Whether pages of the file may tell their version.
    pub versions_in_file: bool,
    pub stamps: Stamps,
}

/// What went wrong last.
#[derive(Default)]
pub(crate) struct Failures {
    pub last: Option<Failure>,
    /// The reason behind the last error that conceals it.
    pub concealed: Option<String>,
}

/// What went wrong, and when: failures are counted through the process, so that the newest can be
/// told.
#[derive(Clone)]
pub(crate) struct Failure {
    number: u64,
    pub message: String,
}

thread_local! {
    /// The newest failure in this thread: that of a file which could not even be attached has no
    /// connection left to ask.
    static NEWEST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

impl Failure {
    /// Notes a failure on a file: in SQLite's error log, and as the newest of this thread.
    pub fn note(path: &str, code: i32, message: String) -> Self {
        SqliteApi::get().write_log(code, &format!("strongroom: {path}: {message}"));
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let newest = Failure {
            number,
            message: format!("{path}: {message}"),
        };
        NEWEST.with(|place| place.replace(Some(newest)));
        Failure { number, message }
    }
}

/// The message of a file's own last failure, or of a newer one of another file in this thread,
/// which then names that file.
pub(crate) fn newest_failure(own: Option<&Failure>) -> String {
    let newest = NEWEST.with(|place| place.borrow().clone());
    match (own, newest) {
        (Some(own), Some(newest)) if newest.number > own.number => newest.message,
        (Some(own), _) => own.message.clone(),
        (None, Some(newest)) => newest.message,
        (None, None) => String::new(),
    }
}

/// A database as its files share it.
pub(crate) type Shared = Arc<Mutex<Database>>;

/// Locks a shared database. SQLite serialises the calls, so there is no contention; a panic in
/// another call was already turned into an error and leaves no half-written field behind.
pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, Database> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    /// A file of which nothing is read yet.
    pub fn new(base: BaseFile, vfs: BaseVfs, identity: Identity, asked: Asked) -> Self {
        Self {
            base,
            vfs,
            identity,
            state: State::New(None),
            asked,
            main: MainFile {
                lock_level: SQLITE_LOCK_NONE,
                size_known: None,
                map: Map::new(base, false),
                gathered: Gathered::default(),
                header_region: Vec::new(),
                page_one: KnownPageOne::default(),
                rotation_next: 0,
            },
            sealing: Sealing {
                nonces: Nonces::new(),
                scratch: Vec::new(),
            },
            journal: None,
            log: Log::default(),
            page_size_change: PageSizeChange::default(),
            freshness: Freshness::default(),
            failures: Failures::default(),
        }
    }

    /// Page size of an open database.
    pub fn page_size(&self) -> Option<u32> {
        match &self.state {
            State::Open(opened) => Some(opened.header.page_size),
            State::New(_) | State::Plain | State::Locked | State::Broken => None,
        }
    }

    /// Notes what went wrong, for `PRAGMA strongroom_last_error` and SQLite's error log.
    pub fn fail(&mut self, code: i32, message: impl Into<String>) -> Code {
        self.failures.concealed = None;
        self.failures.last = Some(Failure::note(&self.identity.path, code, message.into()));
        Code(code)
    }

    /// The message of this database's last failure, or of a newer one of another file in this
    /// thread, which then names that file.
    pub fn newest_failure(&self) -> String {
        newest_failure(self.failures.last.as_ref())
    }

    /// Reads what is on disk and moves to the fitting state, with the key at hand if there is one.
    pub fn load(&mut self) -> Outcome {
        let size = self.base.size()?;
        if size == 0 {
            self.start_anew();
            return Ok(());
        }
        let mut region = vec![0; REGION_SIZE.min(usize::try_from(size).unwrap_or(REGION_SIZE))];
        match self.base.read(&mut region, 0) {
            Ok(()) => {}
            Err(code) if code.is_short_read() => {
                // The creation under way was rolled back just now. The first lock looks again.
                self.start_anew();
                return Ok(());
            }
            Err(code) => return Err(code),
        }
        if region.starts_with(&PLAIN_SQLITE_MAGIC) {
            self.found_plain();
            return Ok(());
        }
        self.found_header(&region, size);
        Ok(())
    }

    fn found_plain(&mut self) {
        if self.asked.credential.is_some() {
            self.refuse_plain();
        } else {
            self.state = State::Plain;
        }
    }

    /// The file is plain, and a key was given or at least named.
    pub fn refuse_plain(&mut self) {
        self.state = State::Broken;
        self.fail(
            SQLITE_NOTADB,
            "a key was given, but this is a plain SQLite database; `strongroom encrypt` makes an \
             encrypted copy, and plain=on in the URI opens it as it is",
        );
    }

    /// The code for reading or writing content in a state that has none to offer.
    pub fn refuse_content(&mut self) -> Code {
        match &self.state {
            State::Locked if self.failures.last.is_none() => self.fail(
                SQLITE_NOTADB,
                "the database is encrypted and no key was given; use PRAGMA key, key_file in the \
                 URI, or STRONGROOM_KEY_FILE",
            ),
            State::Locked | State::Broken => Code(SQLITE_NOTADB),
            State::New(_) | State::Plain | State::Open(_) => Code(SQLITE_IOERR),
        }
    }

    /// A nonce that was never used before.
    pub fn nonce(&mut self) -> Outcome<Nonce> {
        match self.sealing.nonces.next() {
            Ok(nonce) => Ok(nonce),
            Err(error) => Err(self.fail(SQLITE_IOERR, error.to_string())),
        }
    }

    /// Asks the base VFS to map database and log, or not to.
    pub fn set_map(&mut self, map: bool) {
        self.main.map.enable(map);
        if let Some(wal) = &mut self.log.wal {
            wal.map.enable(map);
        }
    }

    /// Whether the file is an ordinary SQLite database.
    pub fn is_plain(&self) -> bool {
        matches!(self.state, State::Plain)
    }

    /// Whether this connection holds no lock at all.
    pub fn is_unlocked(&self) -> bool {
        self.main.lock_level == SQLITE_LOCK_NONE
    }

    /// Whether it is there, with its keys.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }
}
