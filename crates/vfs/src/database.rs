//! One open database: its state, its keys, and what its files share.
//!
//! To SQLite, a database and its journals are separate files. Here they share one value behind a
//! lock, since they share keys, nonces and write ordering.
//!
//! States:
//!
//! ```text
//!   New ──first write, key given──▶ Open ◀──right key── Locked
//!    │                               ▲
//!    └─ somebody else created it ────┴──▶ Plain, Locked or Broken
//! ```
//!
//! `New`: nothing on disk. `Plain`: an ordinary SQLite file, passed through. `Locked`: encrypted,
//! key missing. `Open`: encrypted, keys in memory. `Broken`: unusable, with the reason.

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
use crate::resize::diverted_units::DivertedUnits;
use crate::stamps::Stamps;
use crate::wal_file::WalFile;

/// Keys and header of an open database.
pub(crate) struct Opened {
    pub header: Header,
    pub unlocked: Unlocked,
    pub codec: PageCodec,
    /// Kept as long as the creation can be rolled back, as in [`Prepared`].
    pub credential: Option<Credential>,
}

/// The header of a database that is not on disk yet.
pub(crate) struct Prepared {
    pub header: Header,
    pub unlocked: Unlocked,
    /// Kept in case another connection creates the file first, with another salt.
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

/// The connection that the file belongs to, as reported by SQLite.
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
    /// Buffers for pages, and the state needed to seal them.
    pub sealing: Sealing,
    pub journal: Option<JournalFile>,
    pub log: Log,
    pub page_size_change: PageSizeChange,
    pub freshness: Freshness,
    pub failures: Failures,
}

/// How the file is identified.
pub(crate) struct Identity {
    /// Its name as SQLite gave it, the address of that name, and the form shown in messages.
    pub name: CString,
    pub name_address: usize,
    pub path: String,
    pub connection: Option<Connection>,
}

/// What the caller requested on open, and what the system granted.
pub(crate) struct Asked {
    pub plain_asked: bool,
    /// It was asked for the main database of the connection, to which this one is attached.
    pub plain_inherited: bool,
    /// Whether the URI allows or forbids SQL to change keys; `None` if it says nothing.
    pub keys_in_sql: Option<bool>,
    pub credential: Option<Credential>,
    /// The key comes from a file or variable that the URI names.
    pub key_named: bool,
    /// Limit on the work of unlocking, before the header is known to be genuine.
    pub unlock_work: WorkLimit,
    pub cipher: Cipher,
    /// The system opened the file for reading only.
    pub is_read_only: bool,
}

/// The database file itself.
pub(crate) struct MainFile {
    pub lock_level: i32,
    /// Size on disk, while a lock keeps others from changing it.
    pub size_known: Option<u64>,
    pub map: Map,
    /// Sealed pages that are not written out yet.
    pub gathered: Gathered,
    /// A write of pages has failed, and may have left a torn one, which SQLite will undo.
    pub write_failed: bool,
    /// Both copies of the header as they were last read.
    pub header_region: Vec<u8>,
    pub page_one: KnownPageOne,
    /// Next page of the rotation pass; all pages before it are under the current epoch.
    pub rotation_next: u64,
}

/// Buffers for pages, and the state needed to seal them.
pub(crate) struct Sealing {
    pub nonces: Nonces,
    pub scratch: Vec<u8>,
}

/// The write-ahead log and its index.
#[derive(Default)]
pub(crate) struct Log {
    pub wal: Option<WalFile>,
    /// Exclusive WAL locks that SQLite holds, one bit for each.
    pub locks: u32,
    pub shared_memory: bool,
    /// The header of the WAL index while it is mapped, and the end of the log that it last gave.
    pub shared_header: Option<SharedHeader>,
    pub end: Option<LogEnd>,
    /// The WAL read lock that this connection holds, by its index.
    pub read_lock: Option<i32>,
}

/// A change of page size.
#[derive(Default)]
pub(crate) struct PageSizeChange {
    /// Units of a change that is in progress.
    pub units: Option<DivertedUnits>,
    /// The page size before a change that is sealed but may still be rolled back.
    pub from: Option<u32>,
    /// The page size in the header when the file was opened.
    pub at_open: Option<u32>,
    /// The journal being played back restores a former page size.
    pub is_played_back: bool,
}

/// Whether pages carry versions, and the newest versions seen.
#[derive(Default)]
pub(crate) struct Freshness {
    /// The setting requested for a new database, or for the next rotation, if any.
    pub asked: Option<bool>,
    /// Whether pages of the file may carry versions.
    pub versions_in_file: bool,
    pub stamps: Stamps,
}

/// The most recent failure.
#[derive(Default)]
pub(crate) struct Failures {
    pub last: Option<Failure>,
    /// The reason behind the last error with a deliberately vague message.
    pub concealed: Option<String>,
}

/// A failure and its sequence number: failures are counted process-wide, so that the newest can be
/// found.
#[derive(Clone)]
pub(crate) struct Failure {
    number: u64,
    pub message: String,
}

thread_local! {
    /// The newest failure in this thread. A file that could not be attached has no connection left
    /// that could be asked.
    static NEWEST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

impl Failure {
    /// Records a failure on a file: in SQLite's error log, and as the newest of this thread.
    pub fn note(path: &str, code: i32, message: String) -> Self {
        SqliteApi::get().write_log(code, &format!("strongroom: {path}: {message}"));
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let newest = Failure {
            number,
            message: format!("{path}: {message}"),
        };
        NEWEST.with(|cell| cell.replace(Some(newest)));
        Failure { number, message }
    }
}

/// The message of the file's last failure, or of a newer failure of another file in this thread;
/// that message then names the other file.
pub(crate) fn newest_failure(of_file: Option<&Failure>) -> String {
    let newest = NEWEST.with(|cell| cell.borrow().clone());
    match (of_file, newest) {
        (Some(of_file), Some(newest)) if newest.number > of_file.number => newest.message,
        (Some(of_file), _) => of_file.message.clone(),
        (None, Some(newest)) => newest.message,
        (None, None) => String::new(),
    }
}

/// A database, shared between its files.
pub(crate) type Shared = Arc<Mutex<Database>>;

/// Locks a shared database. SQLite serialises the calls, so there is no contention. A poisoned lock
/// is usable: a panic in another call was turned into an error and left no half-written field.
pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, Database> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    /// Creates the state of a file before anything is read from it.
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
                write_failed: false,
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

    /// Records a failure for `PRAGMA strongroom_last_error` and SQLite's error log.
    pub fn fail(&mut self, code: i32, message: impl Into<String>) -> Code {
        self.failures.concealed = None;
        self.failures.last = Some(Failure::note(&self.identity.path, code, message.into()));
        Code(code)
    }

    /// The message of this database's last failure, or of a newer failure of another file in this
    /// thread; that message then names the other file.
    pub fn newest_failure(&self) -> String {
        newest_failure(self.failures.last.as_ref())
    }

    /// Reads the file, moves to the state that fits, and opens it if a key is at hand.
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
                // The creation that was in progress has just been rolled back. The first lock
                // checks again.
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

    /// Fails because the file is plain although a key was given or named.
    pub fn refuse_plain(&mut self) {
        self.state = State::Broken;
        self.fail(
            SQLITE_NOTADB,
            "a key was given, but this is a plain SQLite database; `strongroom encrypt` makes an \
             encrypted copy, and plain=on in the URI opens it as it is",
        );
    }

    /// The error code for reading or writing content in a state without keys.
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

    /// A fresh nonce.
    pub fn nonce(&mut self) -> Outcome<Nonce> {
        match self.sealing.nonces.next() {
            Ok(nonce) => Ok(nonce),
            Err(error) => Err(self.fail(SQLITE_IOERR, error.to_string())),
        }
    }

    /// Enables or disables memory maps of database and log.
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

    /// Whether this connection holds no lock.
    pub fn is_unlocked(&self) -> bool {
        self.main.lock_level == SQLITE_LOCK_NONE
    }

    /// Whether the database is open, with its keys in memory.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }
}
