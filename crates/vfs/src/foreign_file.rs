//! A database in another product's format, presented to SQLite as plain pages, read-only.
//!
//! The caller knows the format and registers a [`PageSource`]; the URI carries its number, as it
//! carries the number of a key token. SQLite then copies the database like any other, and no
//! plaintext touches the disk.
//!
//! Invariants:
//!
//! 1. Nothing is written to the file or to its log: each write is refused.
//! 2. Locks and shared memory go to the base VFS, so that other processes can safely have the file
//!    open.
//! 3. A page that does not open is an error that names it, never content.

use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use page_codec::header::is_page_size;
use zeroize::Zeroize;

use crate::abi::{
    SQLITE_CANTOPEN, SQLITE_IOERR_DATA, SQLITE_IOERR_SHORT_READ, SQLITE_LOCK_NONE, SQLITE_READONLY,
};
use crate::base::BaseFile;
use crate::credentials::FileName;
use crate::database::{Failure, newest_failure};
use crate::error::{Code, Outcome};

/// Opens the pages of a database in another format.
pub trait PageSource: Send + Sync {
    /// Page size in bytes, as SQLite counts it: a power of two from 512 to 65,536.
    fn page_size(&self) -> u32;

    /// Opens page `number` (from 1) from its bytes in file or log. Both slices have the page size.
    ///
    /// # Errors
    /// When the page is not authentic. What is in `plain` is not used then.
    fn open_page(
        &self,
        number: u32,
        stored: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

#[derive(Default)]
struct Sources {
    next: u64,
    held: HashMap<u64, Arc<dyn PageSource>>,
}

static SOURCES: LazyLock<Mutex<Sources>> = LazyLock::new(Mutex::default);

fn sources() -> MutexGuard<'static, Sources> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered page source. Databases can be opened with it until this value is dropped.
#[derive(Debug)]
pub struct PageSourceToken {
    number: u64,
}

impl PageSourceToken {
    /// Registers a source.
    pub fn new(source: Arc<dyn PageSource>) -> Self {
        let mut sources = sources();
        sources.next += 1;
        let number = sources.next;
        sources.held.insert(number, source);
        PageSourceToken { number }
    }

    /// The number for `page_source=N` in a URI.
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for PageSourceToken {
    fn drop(&mut self) {
        sources().held.remove(&self.number);
    }
}

/// The page source that the URI of a database names, if any.
pub(crate) fn asked_source(name: FileName) -> Option<Outcome<Arc<dyn PageSource>>> {
    let number = name.parameter("page_source")?;
    let source = number
        .parse()
        .ok()
        .and_then(|number: u64| sources().held.get(&number).cloned());
    Some(
        source
            .filter(|source| is_page_size(source.page_size()))
            .ok_or(Code(SQLITE_CANTOPEN)),
    )
}

/// An open foreign database, shared between its file and its log.
pub(crate) type SharedForeign = Arc<Mutex<ForeignFile>>;

/// Locks a shared database; see [`crate::database::lock`].
pub(crate) fn lock(shared: &SharedForeign) -> MutexGuard<'_, ForeignFile> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open foreign database. See the head of this module.
pub(crate) struct ForeignFile {
    base: BaseFile,
    pub name: CString,
    path: String,
    source: Arc<dyn PageSource>,
    lock_level: c_int,
    stored: Vec<u8>,
    plain: Vec<u8>,
    last_error: Option<Failure>,
}

/// <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>
const WAL_HEADER_SIZE: u64 = 32;
const FRAME_HEADER_SIZE: u64 = 24;

impl ForeignFile {
    pub fn new(base: BaseFile, name: CString, source: Arc<dyn PageSource>) -> SharedForeign {
        let page_size = source.page_size() as usize;
        Arc::new(Mutex::new(ForeignFile {
            base,
            path: name.to_string_lossy().into_owned(),
            name,
            source,
            lock_level: SQLITE_LOCK_NONE,
            stored: vec![0; page_size],
            plain: vec![0; page_size],
            last_error: None,
        }))
    }

    fn page_size(&self) -> u64 {
        self.stored.len() as u64
    }

    /// `xRead` of the database.
    pub fn read_main(&mut self, out: &mut [u8], mut offset: u64) -> Outcome {
        if self.lock_level == SQLITE_LOCK_NONE {
            // SQLite probes the file when it opens it, and reads page 1 again under a lock.
            out.fill(0);
            return Err(Code(SQLITE_IOERR_SHORT_READ));
        }
        let mut done = 0;
        while done < out.len() {
            let (index, inside) = (offset / self.page_size(), offset % self.page_size());
            if let Err(code) = self.read_page(index) {
                out[done..].fill(0);
                return Err(code);
            }
            let rest = &self.plain[inside as usize..];
            let count = rest.len().min(out.len() - done);
            out[done..done + count].copy_from_slice(&rest[..count]);
            done += count;
            offset += count as u64;
        }
        Ok(())
    }

    /// Opens page `index` (from 0) of the database into `plain`.
    fn read_page(&mut self, index: u64) -> Outcome {
        let offset = index * self.page_size();
        match self.base.read(&mut self.stored, offset) {
            Ok(()) => self.open_stored(index + 1, ""),
            Err(code) if code.is_short_read() => Err(self.beyond_end(index, offset)),
            Err(code) => Err(code),
        }
    }

    /// The result of a page that is not wholly in the file. If it lies beyond the end, that is a
    /// short read. If a part is missing, or page 1 counts it, the file was truncated, and zeros
    /// would pass for content.
    fn beyond_end(&mut self, index: u64, offset: u64) -> Code {
        match self.base.size() {
            Ok(size) if size > offset => self.bad_page(index + 1, "the file ends in the middle"),
            Ok(size) if size > 0 && index > 0 => match self.pages_by_page_one() {
                Ok(pages) if index < pages => self.bad_page(index + 1, "the file ends before it"),
                Ok(_) => Code(SQLITE_IOERR_SHORT_READ),
                Err(code) => code,
            },
            Ok(_) => Code(SQLITE_IOERR_SHORT_READ),
            Err(code) => code,
        }
    }

    /// The page count in the file's page 1; zero if page 1 gives none
    /// (<https://www.sqlite.org/fileformat2.html#in_header_database_size>).
    fn pages_by_page_one(&mut self) -> Outcome<u64> {
        const CHANGE_COUNTER: usize = 24;
        const PAGE_COUNT: usize = 28;
        const VALID_FOR: usize = 92;
        self.read_page(0)?;
        if self.plain[CHANGE_COUNTER..][..4] != self.plain[VALID_FOR..][..4] {
            return Ok(0);
        }
        let count = [0, 1, 2, 3].map(|byte| self.plain[PAGE_COUNT + byte]);
        Ok(u32::from_be_bytes(count).into())
    }

    /// `xRead` of the log, whose open file is `log`. The log's checksums cover the stored bytes, so
    /// recovery, which reads whole frames, gets them as stored; a read of a frame's page gets the
    /// opened page.
    pub fn read_wal(&mut self, log: BaseFile, out: &mut [u8], offset: u64) -> Outcome {
        let frame_size = FRAME_HEADER_SIZE + self.page_size();
        let is_page = offset >= WAL_HEADER_SIZE
            && (offset - WAL_HEADER_SIZE) % frame_size == FRAME_HEADER_SIZE
            && out.len() <= self.stored.len();
        if !is_page {
            return log.read(out, offset);
        }
        let mut number = [0; 4];
        log.read(&mut number, offset - FRAME_HEADER_SIZE)?;
        log.read(&mut self.stored, offset)?;
        self.open_stored(u32::from_be_bytes(number).into(), " in the write-ahead log")?;
        out.copy_from_slice(&self.plain[..out.len()]);
        Ok(())
    }

    fn open_stored(&mut self, number: u64, location: &str) -> Outcome {
        let Ok(number_in_file) = u32::try_from(number) else {
            return Err(self.bad_page(number, "SQLite has no such page"));
        };
        let opened = self
            .source
            .open_page(number_in_file, &self.stored, &mut self.plain);
        opened.map_err(|error| self.bad_page(number, &format!("{error}{location}")))
    }

    fn bad_page(&mut self, number: u64, reason: &str) -> Code {
        let message = format!("page {number} does not open: {reason}");
        self.last_error = Some(Failure::note(&self.path, SQLITE_IOERR_DATA, message));
        Code(SQLITE_IOERR_DATA)
    }

    /// Refuses a write, to any of the files.
    pub fn refuse_write(&mut self) -> Outcome {
        let message = "a database of another product is open for reading only".to_owned();
        self.last_error = Some(Failure::note(&self.path, SQLITE_READONLY, message));
        Err(Code(SQLITE_READONLY))
    }

    /// `xLock`.
    pub fn lock(&mut self, level: c_int) -> Outcome {
        self.base.lock(level)?;
        self.lock_level = self.lock_level.max(level);
        Ok(())
    }

    /// `xUnlock`.
    pub fn unlock(&mut self, level: c_int) -> Outcome {
        self.lock_level = self.lock_level.min(level);
        self.base.unlock(level)
    }

    /// Answers the pragmas that foreign files support; `None` leaves the pragma to SQLite.
    pub fn pragma(&self, name: &str) -> Option<String> {
        match name {
            "strongroom_status" => Some("{\"state\":\"foreign\"}".to_owned()),
            "strongroom_last_error" => Some(newest_failure(self.last_error.as_ref())),
            _ => None,
        }
    }
}

impl Drop for ForeignFile {
    fn drop(&mut self) {
        self.plain.zeroize();
    }
}
