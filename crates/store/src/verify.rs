//! Verification of every page of an encrypted database, and the fingerprint of the file.
//!
//! Several connections of this process check pages through SQLite's own file layer, which keeps the
//! locks of all of them on one descriptor. The check takes no lock, so that it does not block
//! writers. A page that does not open may be half written, and is retried under a lock. The
//! fingerprint needs a single state of the file, and keeps a lock until it is computed.

mod pages;

use crate::KeyToken;
use crate::database::{Access, OpenError, expect_encrypted, last_error, open_for_check};
use crate::progress::Progress;
use page_codec::fingerprint::Fingerprint;
use page_codec::header::COPY_SIZE;
use rusqlite::{Connection, ErrorCode, ffi};
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why pages could not be verified.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The storage engine failed.
    #[error("the check stopped: {}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Storage {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: Option<String>,
    },
    /// The file cannot be locked in one state because another program writes to it.
    #[error(
        "{0} is being written by another program, and a fingerprint needs a moment of rest; try \
         again when it is not"
    )]
    InUse(PathBuf),
    /// Some of the content is in the log.
    #[error(
        "the log {}-wal holds transactions that are not in the database file yet, and the \
         fingerprint is that of the file; say --checkpoint to bring them there first, or close the \
         programs that use it",
        .0.display()
    )]
    ContentInLog(PathBuf),
    /// The data key is being rotated.
    #[error(
        "the data key of {} is being rotated, and its pages change until that ends; \
         `strongroom rekey` finishes it", .0.display()
    )]
    Rotating(PathBuf),
    /// An interrupted transaction has not been rolled back yet.
    #[error(
        "the journal {}-journal holds a transaction that was cut off; open the database once for \
         writing (`strongroom shell`, `.tables`), which rolls it back, and try again",
        .0.display()
    )]
    HotJournal(PathBuf),
    /// The caller asked to stop.
    #[error("stopped before all pages were checked")]
    Stopped,
    /// The storage engine's answer cannot be parsed.
    #[error("the answer to the check is not readable: {0}")]
    Answer(#[from] serde_json::Error),
}

/// What to verify, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions {
    /// Number of connections that check in parallel; `None` for one per processor.
    pub jobs: Option<NonZeroUsize>,
    /// Whether to compute the fingerprint.
    pub fingerprint: bool,
    /// Whether to checkpoint the log first; this writes to the file.
    pub checkpoint: bool,
}

/// A page that does not open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadPage {
    /// Its number, from 1.
    pub page: u64,
    /// Why it does not open.
    pub reason: String,
}

/// The result of verifying the write-ahead log. Frames count from 0.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The number of frames of completed transactions.
    pub committed: u64,
    /// The number of frames after them: from an earlier log, of an unfinished transaction, or
    /// damaged. These cannot be distinguished; SQLite does not use them.
    pub behind: u64,
    /// Frames of completed transactions that do not open.
    pub bad: Vec<u64>,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of pages tried.
    pub checked: u64,
    /// The pages that do not open.
    pub bad: Vec<BadPage>,
    /// The number of pages that page 1 counts and the file lacks, at its end.
    pub pages_missing: u64,
    /// The write-ahead log, if it could be read and is not empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReport>,
    /// A file beside the database that could not be checked, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// The fingerprint in hexadecimal digits, if it was requested and everything is sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        let log_is_sound = self.log.as_ref().is_none_or(|log| log.bad.is_empty());
        self.bad.is_empty() && self.pages_missing == 0 && log_is_sound
    }
}

/// Opens every page of a file.
///
/// # Errors
///
/// If the file cannot be opened or read, or cannot be locked for the fingerprint. A bad page is not
/// an error but part of the report.
pub fn verify(
    path: &Path,
    token: &KeyToken,
    options: VerifyOptions,
    progress: &Progress,
) -> Result<Report, VerifyError> {
    expect_encrypted(path)?;
    let access = match options.checkpoint {
        true => Access::Write,
        false => access_that_leaves_no_trace(path),
    };
    let open = || open_for_check(path, access, token);
    let connection = open()?;
    connection
        .busy_timeout(PATIENCE)
        .map_err(|source| storage_error(&connection, source))?;
    if options.checkpoint {
        checkpoint(path, &connection)?;
    }
    let state = match options.fingerprint {
        true => hold(path, &connection)?,
        false => file_state(&connection)?,
    };
    let fingerprint = match (options.fingerprint, state.held.as_str()) {
        (false, _) => None,
        (true, _) if state.rotating => return Err(VerifyError::Rotating(path.to_owned())),
        (true, "file and log") => return Err(VerifyError::ContentInLog(path.to_owned())),
        (true, _) => Some(Fingerprint::new(&header_copy(&state)?, state.pages)),
    };
    let range_pages = (RANGE_SIZE / u64::from(state.page_size)).max(1);
    let work = pages::Work::new(state.pages, range_pages, fingerprint, progress);
    let jobs = options.jobs.map_or_else(processors, NonZeroUsize::get);
    work.run(&connection, jobs, &open)?;
    let (mut report, fingerprint) = work.finish();
    // A rotation reseals pages while others read them; it starts by changing the header.
    let held = state.held == "file" && file_state(&connection)?.header == state.header;
    if !held {
        try_again(&connection, &mut report);
    }
    look_at_end_and_log(path, &connection, &mut report)?;
    if options.fingerprint && report.is_sound() {
        match fingerprint.filter(|_| held) {
            Some(fingerprint) => report.fingerprint = Some(hexadecimal(&fingerprint)),
            None => return Err(VerifyError::InUse(path.to_owned())),
        }
    }
    Ok(report)
}

/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that are checked between two progress reports.
const RANGE_SIZE: u64 = 8 * 1024 * 1024;
/// How often a page that does not open is retried, and after which pause.
const ROUNDS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(20);
/// More bad pages than this are not a race with a writer.
const RACES_MAX: usize = 1000;

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Opens every page of an open database.
pub(crate) fn verify_connection(
    connection: &Connection,
    progress: &Progress,
) -> Result<Report, VerifyError> {
    let state = file_state(connection)?;
    let range_pages = (RANGE_SIZE / u64::from(state.page_size)).max(1);
    let work = pages::Work::new(state.pages, range_pages, None, progress);
    work.run_alone(connection)?;
    Ok(work.finish().0)
}

/// A connection with write access removes an empty log when it closes. It would also checkpoint a
/// log with content, or roll a journal back, which a verification should not do.
pub(crate) fn access_that_leaves_no_trace(path: &Path) -> Access {
    match holds_anything(path, "-wal") || holds_anything(path, "-journal") {
        true => Access::Read,
        false => Access::Write,
    }
}

/// Whether the file with this suffix beside a database has any content.
fn holds_anything(path: &Path, suffix: &str) -> bool {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.into_os_string();
    name.push(suffix);
    std::fs::metadata(name).is_ok_and(|metadata| metadata.len() != 0)
}

/// The result of `PRAGMA strongroom_file`.
#[derive(Debug, Deserialize)]
pub(crate) struct FileState {
    pub pages: u64,
    pub pages_told: u64,
    pub page_size: u32,
    pub held: String,
    pub rotating: bool,
    pub header: String,
}

pub(crate) fn file_state(connection: &Connection) -> Result<FileState, VerifyError> {
    let json = ask(connection, "PRAGMA strongroom_file")?;
    Ok(serde_json::from_str(&json)?)
}

/// Runs a query that returns one text.
fn ask(connection: &Connection, sql: &str) -> Result<String, VerifyError> {
    connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(|source| storage_error(connection, source))
}

fn storage_error(connection: &Connection, source: rusqlite::Error) -> VerifyError {
    let detail = last_error(connection);
    VerifyError::Storage { source, detail }
}

/// Checkpoints the log into the file. Without a log this does nothing.
fn checkpoint(path: &Path, connection: &Connection) -> Result<(), VerifyError> {
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|source| storage_error(connection, source))?;
    match busy {
        0 => Ok(()),
        _ => Err(VerifyError::InUse(path.to_owned())),
    }
}

/// Begins a read transaction, reading page 1 but not the schema.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN")?;
    let begun = connection.query_row("PRAGMA schema_version", [], |_| Ok(()));
    if begun.is_err() {
        end(connection);
    }
    begun
}

/// Ends a read transaction; errors are ignored, since nothing can be lost.
pub(crate) fn end(connection: &Connection) {
    let _ = connection.execute_batch("ROLLBACK");
}

/// Locks the file in its present state unless something other than a damaged page prevents that;
/// returns the state.
fn hold(path: &Path, connection: &Connection) -> Result<FileState, VerifyError> {
    match begin(connection) {
        Ok(()) => {}
        Err(source) if is_hot_journal(&source) => {
            return Err(VerifyError::HotJournal(path.to_owned()));
        }
        Err(source) => match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return Err(VerifyError::InUse(path.to_owned()));
            }
            // Verifying the pages will find the page.
            Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt) => {}
            _ => return Err(storage_error(connection, source)),
        },
    }
    file_state(connection)
}

fn is_hot_journal(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(ffi::SQLITE_READONLY_ROLLBACK) || code == Some(ffi::SQLITE_READONLY_RECOVERY)
}

/// Retries bad pages, under a lock that excludes writers if it can be had.
fn try_again(connection: &Connection, report: &mut Report) {
    for _ in 0..ROUNDS {
        if report.bad.is_empty() || report.bad.len() > RACES_MAX {
            return;
        }
        std::thread::sleep(PAUSE);
        let begun = begin(connection).is_ok();
        report.bad.retain_mut(|bad| {
            let again = pages::check_range(connection, bad.page, bad.page, false);
            match again.map(|part| part.bad_pages().next()) {
                Ok(None) => false,
                Ok(Some(still)) => {
                    *bad = still;
                    true
                }
                Err(_) => true,
            }
        });
        if begun {
            end(connection);
        }
    }
}

/// Looks for missing pages, and verifies the log.
fn look_at_end_and_log(
    path: &Path,
    connection: &Connection,
    report: &mut Report,
) -> Result<(), VerifyError> {
    let begun = !connection.is_autocommit()
        || match begin(connection) {
            Ok(()) => true,
            Err(error) => {
                report.unchecked = what_is_unchecked(path, connection, &error);
                false
            }
        };
    for _ in 0..ROUNDS {
        let state = file_state(connection)?;
        report.pages_missing = state.pages_told.saturating_sub(state.pages);
        if report.pages_missing == 0 {
            break;
        }
        // A checkpoint may write page 1 before the pages that it counts.
        std::thread::sleep(PAUSE);
    }
    if begun {
        let json = ask(connection, "PRAGMA strongroom_verify='log'")?;
        let log: LogReport = serde_json::from_str(&json)?;
        report.log = (log != LogReport::default()).then_some(log);
        end(connection);
    }
    Ok(())
}

/// The file beside the database that could not be checked.
fn what_is_unchecked(
    path: &Path,
    connection: &Connection,
    error: &rusqlite::Error,
) -> Option<String> {
    if is_hot_journal(error) {
        return Some(VerifyError::HotJournal(path.to_owned()).to_string());
    }
    let reason = last_error(connection).unwrap_or_else(|| error.to_string());
    holds_anything(path, "-wal").then(|| format!("the log was not looked at: {reason}"))
}

fn header_copy(state: &FileState) -> Result<[u8; COPY_SIZE], VerifyError> {
    let bytes = pages::bytes_of(&state.header)?;
    let wrong = || serde::de::Error::custom("the header has another size");
    bytes.try_into().map_err(|_| VerifyError::Answer(wrong()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
