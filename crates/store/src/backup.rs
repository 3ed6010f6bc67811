//! Backups: a consistent copy of a database while others go on writing.
//!
//! One read transaction spans the whole copy. So the copy is a snapshot, and writers cannot make it
//! restart. In WAL mode writers go on; in the other journal modes their commits wait.

use crate::KeyToken;
use crate::convert::{
    ConvertError, beside, check_names, check_pages, check_structure, check_target, file_error,
    settle, vacuum_into, with_room,
};
use crate::database::{
    Access, encrypted_uri, expect_encrypted, last_error, open_encrypted, open_plain, status,
};
use crate::progress::{Decision, Phase, Progress, Step};
use crate::replace::{Overwrite, copy_permissions};
use crate::verify::{begin, end};
use crypto::cipher::Cipher;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::Duration;

/// Writes an encrypted backup of an encrypted database that may be in use. The copy has one key
/// slot, for the credential of `token`; every page of it is verified.
///
/// # Errors
///
/// If the source cannot be read or the copy cannot be written; the target is then unchanged.
pub fn backup_file(
    source: &Path,
    source_token: &KeyToken,
    target: &Path,
    token: &KeyToken,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<(), ConvertError> {
    check_names(source, target, overwrite)?;
    expect_encrypted(source)?;
    let connection = open_encrypted(source, Access::Write, Some(source_token), None)?;
    connection
        .busy_timeout(PATIENCE)
        .map_err(|error| failure(&connection, None, error))?;
    let beside = beside(target)?;
    with_room(target, &connection, "main", || {
        copy_encrypted(&connection, token, beside.path(), progress)
    })?;
    copy_permissions(source, beside.path()).map_err(|source| file_error(target, source))?;
    settle(beside, target, overwrite)
}

/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Copies an open database without changing its kind: an encrypted one stays encrypted.
///
/// With a token the copy gets one key slot, for that credential, and the pages are copied by the
/// backup API. Without one the copy inherits the slot that opened the source.
///
/// # Errors
///
/// As for [`backup_file`].
pub fn backup(
    connection: &Connection,
    encrypted: bool,
    token: Option<&KeyToken>,
    target: &Path,
    overwrite: Overwrite,
    progress: &Progress,
) -> Result<(), ConvertError> {
    check_target(target, overwrite)?;
    let beside = beside(target)?;
    let path = beside.path();
    with_room(target, connection, "main", || match (encrypted, token) {
        (true, None) => {
            let name = encrypted_uri(path, None, cipher_of(connection))?;
            vacuum_into(connection, "main", &name, path, progress)
        }
        (true, Some(token)) => copy_encrypted(connection, token, path, progress),
        (false, _) => {
            let mut copy = open_plain(Some(path), Access::Create)?;
            copy_pages(connection, &mut copy, progress)?;
            check_structure(&copy)
        }
    })?;
    settle(beside, target, overwrite)
}

fn cipher_of(connection: &Connection) -> Option<Cipher> {
    Cipher::from_name(&status(connection)?.cipher?)
}

fn copy_encrypted(
    connection: &Connection,
    token: &KeyToken,
    path: &Path,
    progress: &Progress,
) -> Result<(), ConvertError> {
    let cipher = cipher_of(connection);
    let mut copy = open_encrypted(path, Access::Create, Some(token), cipher)?;
    copy_pages(connection, &mut copy, progress)?;
    check_pages(&copy, progress)?;
    check_structure(&copy)
}

/// Pages between two progress reports.
const STEP_PAGES: i32 = 1024;

fn copy_pages(
    connection: &Connection,
    copy: &mut Connection,
    progress: &Progress,
) -> Result<(), ConvertError> {
    let begun = connection.is_autocommit();
    if begun {
        begin(connection).map_err(|source| failure(connection, None, source))?;
    }
    let copied = step_through(connection, copy, progress);
    if begun {
        end(connection);
    }
    match copied {
        Ok(Decision::GoOn) => Ok(()),
        Ok(Decision::Stop) => Err(ConvertError::Stopped),
        Err(source) => Err(failure(connection, Some(copy), source)),
    }
}

fn step_through(
    connection: &Connection,
    copy: &mut Connection,
    progress: &Progress,
) -> rusqlite::Result<Decision> {
    let backup = Backup::new(connection, copy)?;
    loop {
        let result = backup.step(STEP_PAGES)?;
        let (pages, left) = (backup.progress().pagecount, backup.progress().remaining);
        let step = Step {
            phase: Phase::Copying,
            done: u64::try_from(pages - left).unwrap_or(0),
            total: u64::try_from(pages).unwrap_or(0),
        };
        match (progress(step), result) {
            (Decision::Stop, _) => return Ok(Decision::Stop),
            (Decision::GoOn, StepResult::Done) => return Ok(Decision::GoOn),
            (Decision::GoOn, StepResult::Busy | StepResult::Locked) => std::thread::sleep(PAUSE),
            (Decision::GoOn, _) => {}
        }
    }
}

/// Pause before a step that found the database busy is retried.
const PAUSE: Duration = Duration::from_millis(5);

fn failure(
    connection: &Connection,
    copy: Option<&Connection>,
    source: rusqlite::Error,
) -> ConvertError {
    if let Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) = source.sqlite_error_code()
        && let Some(path) = connection.path()
    {
        return ConvertError::InUse(path.into());
    }
    let detail = copy.and_then(last_error).or_else(|| last_error(connection));
    ConvertError::Copy { source, detail }
}
