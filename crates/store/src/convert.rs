//! Conversion of whole databases from plain to encrypted and back.
//!
//! SQLite itself writes each copy (`VACUUM INTO`, or the backup API) into a file beside the
//! destination. The copy is read back and synced, and only then renamed to the destination.

use crate::KeyToken;
use crate::database::{
    Access, FileKind, OpenError, encrypted_uri, expect_encrypted, file_kind, open_encrypted,
    open_plain, plain_uri, uri,
};
use crate::progress::{Decision, Phase, Progress, Step};
use crate::replace::{FileBeside, copy_permissions, remove_side_files};
use crate::uri::FileUri;
use crate::verify::{VerifyError, verify_connection};
use crypto::cipher::Cipher;
use rusqlite::{Connection, ErrorCode};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

mod error;

pub use self::error::ConvertError;
pub(crate) use self::error::{copy_error, file_error, with_room};
pub use crate::replace::Overwrite;

/// Options for an encrypted copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncryptOptions {
    /// The cipher; `None` for the default.
    pub cipher: Option<Cipher>,
    /// Page size in bytes; `None` keeps that of the source.
    pub page_size: Option<u32>,
}

/// Writes an encrypted copy of a plain database, or of an encrypted one that `source_token` opens.
/// The source may be in use.
///
/// # Errors
///
/// If the source cannot be read or the copy cannot be written; the destination is then unchanged.
pub fn encrypt_copy(
    source: &Path,
    source_token: Option<&KeyToken>,
    target: &Path,
    token: &KeyToken,
    options: EncryptOptions,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<(), ConvertError> {
    check_names(source, target, overwrite)?;
    // Reports a problem with source or key before anything is attached.
    let connection = match source_token {
        Some(source_token) => open_encrypted(source, Access::Write, Some(source_token), None)?,
        None => open_existing_plain(source)?,
    };
    let from = match (options.page_size, source_token) {
        (None, _) => Source {
            connection,
            schema: "main",
        },
        (Some(page_size), None) => attached(&connection, &uri(source)?, page_size)?,
        (Some(page_size), token) => {
            attached(&connection, &encrypted_uri(source, token, None)?, page_size)?
        }
    };
    let beside = encrypted_beside(&from, target, token, options.cipher, progress)?;
    copy_permissions(source, beside.path()).map_err(|source| file_error(target, source))?;
    settle(beside, target, overwrite)
}

/// The source of a copy: one schema of a connection.
pub(crate) struct Source {
    pub(crate) connection: Connection,
    pub(crate) schema: &'static str,
}

/// Opens a source whose copies get another page size.
///
/// SQLite keeps the page size of future databases per connection, and the encrypting VFS refuses to
/// change that of its own database. So the source is attached to a connection whose main database
/// is not the VFS's. That connection must have the source's encoding, which is read from `opened`.
pub(crate) fn attached(
    opened: &Connection,
    name: &FileUri,
    page_size: u32,
) -> Result<Source, ConvertError> {
    if !page_codec::header::is_page_size(page_size) {
        return Err(ConvertError::PageSize(page_size));
    }
    let encoding: String = opened
        .query_row("PRAGMA encoding", [], |row| row.get(0))
        .map_err(|source| copy_error(opened, source))?;
    let connection = open_plain(None, Access::Create)?;
    connection
        .pragma_update(Some("main"), "encoding", encoding)
        .and_then(|()| connection.execute("ATTACH ?1 AS source", [name.as_str()]))
        .and_then(|_| connection.pragma_update(Some("main"), "page_size", page_size))
        .map_err(|source| copy_error(&connection, source))?;
    Ok(Source {
        connection,
        schema: "source",
    })
}

/// Writes a plain copy of an encrypted database, readable only by its owner. The source may be in
/// use.
///
/// # Errors
///
/// As for [`encrypt_copy`].
pub fn decrypt_copy(
    source: &Path,
    token: &KeyToken,
    target: &Path,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<(), ConvertError> {
    check_names(source, target, overwrite)?;
    expect_encrypted(source)?;
    let connection = open_encrypted(source, Access::Write, Some(token), None)?;
    decrypt_connection(&connection, target, overwrite, progress)
}

/// Writes a plain copy of an open database, readable only by its owner.
///
/// # Errors
///
/// As for [`encrypt_copy`].
pub fn decrypt_connection(
    connection: &Connection,
    target: &Path,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<(), ConvertError> {
    check_target(target, overwrite)?;
    let beside = beside(target)?;
    // Without an explicit parameter the copy would be encrypted like the source.
    let name = plain_uri(beside.path())?;
    with_room(target, connection, "main", || {
        vacuum_into(connection, "main", &name, beside.path(), progress)
    })?;
    let copy = open_plain(Some(beside.path()), Access::Read)?;
    check_structure(&copy)?;
    drop(copy);
    settle(beside, target, overwrite)
}

/// Atomically replaces a plain database with its encrypted copy, under an exclusive lock.
///
/// # Errors
///
/// If another program has the database open, or as for [`encrypt_copy`]; the file is then
/// unchanged.
pub fn encrypt_in_place(
    path: &Path,
    token: &KeyToken,
    cipher: Option<Cipher>,
    progress: &Progress,
) -> Result<(), ConvertError> {
    // A symbolic link is kept: its target is replaced.
    let path = &fs::canonicalize(path).map_err(|source| file_error(path, source))?;
    let connection = open_existing_plain(path)?;
    let journal_mode = lock_exclusively(path, &connection)?;
    let from = Source {
        connection,
        schema: "main",
    };
    let beside = encrypted_beside(&from, path, token, cipher, progress)?;
    copy_permissions(path, beside.path()).map_err(|source| file_error(path, source))?;
    // SQLite keeps a journal that is finished (journal_mode=PERSIST), with plaintext. So does the
    // end of WAL mode in a connection that is exclusive.
    remove_remains(path)?;
    put_in_place(beside, path, Overwrite::Always)?;
    drop(from);
    if journal_mode.eq_ignore_ascii_case("wal") {
        let converted = open_encrypted(path, Access::Write, Some(token), None)?;
        converted
            .query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
            .map_err(|source| copy_error(&converted, source))?;
    }
    Ok(())
}

/// Refuses to copy a file onto itself, or onto an existing file unless that was requested. The copy
/// itself checks again; this allows an early error, before a person types a passphrase.
///
/// # Errors
///
/// If the copy would be refused.
pub fn check_names(source: &Path, target: &Path, overwrite: Overwrite) -> Result<(), ConvertError> {
    let canonical = |path: &Path| fs::canonicalize(path).ok();
    if canonical(source).is_some_and(|source| canonical(target) == Some(source)) {
        return Err(ConvertError::SameFile(source.to_owned()));
    }
    check_target(target, overwrite)
}

/// Only for an early error; the rename at the end refuses as well.
pub(crate) fn check_target(target: &Path, overwrite: Overwrite) -> Result<(), ConvertError> {
    if target == Path::new("-") {
        return Err(ConvertError::StandardOutput);
    }
    if target.is_dir() {
        return Err(ConvertError::Folder(target.to_owned()));
    }
    if overwrite == Overwrite::Never && target.symlink_metadata().is_ok() {
        return Err(ConvertError::Exists(target.to_owned()));
    }
    Ok(())
}

/// Opens a plain database with content.
pub(crate) fn open_existing_plain(path: &Path) -> Result<Connection, ConvertError> {
    let path = path.to_owned();
    Err(match file_kind(&path)? {
        FileKind::Plain => return Ok(open_plain(Some(&path), Access::Write)?),
        FileKind::Missing => OpenError::Missing(path),
        FileKind::Empty => OpenError::Empty(path),
        FileKind::Encrypted(_) => OpenError::Encrypted(path),
        FileKind::Other(source) => OpenError::Header { path, source },
    }
    .into())
}

/// Locks the database exclusively; returns its journal mode. WAL mode is ended first, since its log
/// would contain content that the renamed file lacks.
pub(crate) fn lock_exclusively(
    path: &Path,
    connection: &Connection,
) -> Result<String, ConvertError> {
    let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
    let locked = (|| {
        let before = text("PRAGMA journal_mode")?;
        text("PRAGMA locking_mode=EXCLUSIVE")?;
        text("PRAGMA journal_mode=DELETE")?;
        connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
        Ok(before)
    })();
    locked.map_err(|error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ConvertError::InUse(path.to_owned())
        }
        _ => copy_error(connection, error),
    })
}

pub(crate) fn encrypted_beside(
    source: &Source,
    target: &Path,
    token: &KeyToken,
    cipher: Option<Cipher>,
    progress: &Progress,
) -> Result<FileBeside, ConvertError> {
    let beside = beside(target)?;
    let name = encrypted_uri(beside.path(), Some(token), cipher)?;
    with_room(target, &source.connection, source.schema, || {
        let connection = &source.connection;
        vacuum_into(connection, source.schema, &name, beside.path(), progress)
    })?;
    let copy = open_encrypted(beside.path(), Access::Read, Some(token), None)?;
    check_pages(&copy, progress)?;
    check_structure(&copy)?;
    Ok(beside)
}

/// Verifies every page of a copy.
pub(crate) fn check_pages(copy: &Connection, progress: &Progress) -> Result<(), ConvertError> {
    let report = match verify_connection(copy, progress) {
        Err(VerifyError::Stopped) => return Err(ConvertError::Stopped),
        other => other?,
    };
    if report.bad.is_empty() {
        return Ok(());
    }
    let bad: Vec<u64> = report.bad.iter().map(|bad| bad.page).collect();
    Err(ConvertError::Unsound(format!("pages {bad:?} do not open")))
}

pub(crate) fn check_structure(copy: &Connection) -> Result<(), ConvertError> {
    let answer: String = copy
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|source| copy_error(copy, source))?;
    if answer == "ok" {
        Ok(())
    } else {
        Err(ConvertError::Unsound(answer))
    }
}

/// How often the growth of a copy is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn vacuum_into(
    connection: &Connection,
    schema: &str,
    name: &FileUri,
    path: &Path,
    progress: &Progress,
) -> Result<(), ConvertError> {
    let total = size_of(connection, schema)?;
    let (finished, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
    let handle = connection.get_interrupt_handle();
    let report = |done| {
        let step = Step {
            phase: Phase::Copying,
            done,
            total,
        };
        if progress(step) == Decision::Stop {
            stopped.store(true, Ordering::Release);
        }
    };
    let copied = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                report(
                    fs::metadata(path)
                        .map_or(0, |metadata| metadata.len())
                        .min(total),
                );
                if stopped.load(Ordering::Acquire) {
                    // Repeated, because it has no effect before the statement runs.
                    handle.interrupt();
                }
                std::thread::park_timeout(POLL_INTERVAL);
            }
        });
        let copied = connection.execute(&format!("VACUUM {schema} INTO ?1"), [name.as_str()]);
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        copied
    });
    report(total);
    if stopped.load(Ordering::Acquire) {
        return Err(ConvertError::Stopped);
    }
    copied
        .map(drop)
        .map_err(|source| copy_error(connection, source))
}

pub(crate) fn beside(target: &Path) -> Result<FileBeside, ConvertError> {
    FileBeside::new(target).map_err(|source| file_error(target, source))
}

pub(crate) fn settle(
    beside: FileBeside,
    target: &Path,
    overwrite: Overwrite,
) -> Result<(), ConvertError> {
    put_in_place(beside, target, overwrite)?;
    match overwrite {
        Overwrite::Never => Ok(()),
        // A log or a journal of the database that was there would be applied to the new one.
        Overwrite::Always => remove_remains(target),
    }
}

/// Gives the new file its name, where the files beside the one that was there are gone. Those that
/// are there from now on are of whoever has opened the new one.
pub(crate) fn put_in_place(
    beside: FileBeside,
    target: &Path,
    overwrite: Overwrite,
) -> Result<(), ConvertError> {
    beside
        .settle(target, overwrite)
        .map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ConvertError::Exists(target.to_owned()),
            _ => file_error(target, source),
        })
}

/// Removes the files beside a database that is replaced.
pub(crate) fn remove_remains(path: &Path) -> Result<(), ConvertError> {
    remove_side_files(path).map_err(|(side, source)| file_error(&side, source))
}

/// Size of a database in bytes.
fn size_of(connection: &Connection, schema: &str) -> Result<u64, ConvertError> {
    let number = |name: &str| {
        let sql = format!("PRAGMA {schema}.{name}");
        connection.query_row(&sql, [], |row| row.get::<_, u32>(0).map(u64::from))
    };
    (|| Ok(number("page_count")? * number("page_size")?))()
        .map_err(|source| copy_error(connection, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyring::Credential;
    use std::sync::Arc;
    use std::sync::Mutex;

    fn token() -> KeyToken {
        KeyToken::new(Credential::raw_key(keyring::random_key().unwrap()))
    }

    fn plain(path: &Path) {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(100000))")
            .unwrap();
    }

    /// Encrypts with a new key, and never overwrites a file.
    fn encrypt_plain(
        source: &Path,
        target: &Path,
        progress: &Progress,
    ) -> Result<(), ConvertError> {
        let options = EncryptOptions::default();
        encrypt_copy(
            source,
            None,
            target,
            &token(),
            options,
            Overwrite::Never,
            progress,
        )
    }

    fn names(directory: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let entries = fs::read_dir(directory).unwrap();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn stopping_leaves_nothing_behind() {
        for phase in [Phase::Copying, Phase::Checking] {
            let directory = tempfile::tempdir().unwrap();
            let source = directory.path().join("plain");
            plain(&source);
            let progress: Progress = Arc::new(move |step| {
                if step.phase == phase {
                    Decision::Stop
                } else {
                    Decision::GoOn
                }
            });
            let target = directory.path().join("target");
            let result = encrypt_plain(&source, &target, &progress);
            assert!(matches!(result, Err(ConvertError::Stopped)), "{result:?}");
            assert_eq!(names(directory.path()), ["plain"]);
        }
    }

    /// In the first case the journal is kept by an earlier connection, in the others by the
    /// conversion itself.
    #[test]
    fn encryption_in_place_leaves_nothing_in_clear() {
        const SECRET: &str = "a text that nobody may read";
        for mode in ["persist", "truncate", "wal", "delete"] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("x.db");
            let connection = Connection::open(&path).unwrap();
            connection
                .execute_batch(&format!(
                    "PRAGMA journal_mode={mode};
                     CREATE TABLE t(a);
                     INSERT INTO t VALUES('{SECRET}');
                     UPDATE t SET a = a || '!'"
                ))
                .unwrap();
            drop(connection);
            let token = token();
            encrypt_in_place(&path, &token, None, &crate::progress::ignored()).unwrap();
            for name in names(directory.path()) {
                let bytes = fs::read(directory.path().join(&name)).unwrap();
                let found = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
                assert!(!found(SECRET.as_bytes()), "{mode}: {name}");
                assert!(!found(b"CREATE TABLE"), "{mode}: {name}");
            }
            let converted = open_encrypted(&path, Access::Read, Some(&token), None).unwrap();
            let count = "SELECT count(*) FROM t";
            let count: i64 = converted.query_row(count, [], |row| row.get(0)).unwrap();
            assert_eq!(count, 1, "{mode}");
        }
    }

    #[test]
    fn a_journal_of_a_file_that_is_replaced_is_not_applied_to_the_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let (source, target) = (directory.path().join("x"), directory.path().join("y"));
        plain(&source);
        plain(&target);
        for suffix in ["-journal", "-wal", "-shm"] {
            fs::write(crate::replace::beside(&target, suffix), [1; 4096]).unwrap();
        }
        let progress = crate::progress::ignored();
        let (token, options) = (token(), EncryptOptions::default());
        let (never, always) = (Overwrite::Never, Overwrite::Always);
        let copy = |overwrite| {
            encrypt_copy(
                &source, None, &target, &token, options, overwrite, &progress,
            )
        };
        assert!(matches!(copy(never), Err(ConvertError::Exists(_))));
        assert_eq!(names(directory.path()).len(), 5);
        copy(always).unwrap();
        let mut left = names(directory.path());
        left.sort_unstable();
        assert_eq!(left, ["x", "y"]);
    }

    #[test]
    fn progress_ends_at_its_total() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("plain");
        plain(&source);
        let steps = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&steps);
        let progress: Progress = Arc::new(move |step| {
            collected.lock().unwrap().push(step);
            Decision::GoOn
        });
        let target = directory.path().join("target");
        encrypt_plain(&source, &target, &progress).unwrap();
        let steps = steps.lock().unwrap();
        for phase in [Phase::Copying, Phase::Checking] {
            let last = steps.iter().rfind(|step| step.phase == phase).unwrap();
            assert_eq!(last.done, last.total);
            assert!(last.total > 0);
        }
    }

    #[test]
    fn a_target_that_appears_meanwhile_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("plain");
        plain(&source);
        let target = directory.path().join("target");
        let appearing = target.clone();
        let progress: Progress = Arc::new(move |_| {
            fs::write(&appearing, b"precious").unwrap();
            Decision::GoOn
        });
        let result = encrypt_plain(&source, &target, &progress);
        assert!(matches!(result, Err(ConvertError::Exists(_))), "{result:?}");
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }
}
