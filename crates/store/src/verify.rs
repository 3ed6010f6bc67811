//! Every page of an encrypted database, opened.

use crate::KeyToken;
use crate::convert::expect_encrypted;
use crate::database::{Access, FileKind, OpenError, file_kind, last_error, open_encrypted};
use crate::progress::{Decision, Phase, Progress, Step};
use page_codec::header::REGION_SIZE;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why pages could not be checked.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file's size could not be learned.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The storage engine could not check.
    #[error("the check stopped: {}", .detail.clone().unwrap_or_else(|| .source.to_string()))]
    Storage {
        /// What SQLite said.
        source: rusqlite::Error,
        /// What the storage engine said.
        detail: Option<String>,
    },
    /// The caller asked to stop.
    #[error("stopped before all pages were checked")]
    Stopped,
    /// The answer of the storage engine makes no sense.
    #[error("the answer to the check is not readable: {0}")]
    Answer(#[from] serde_json::Error),
}

/// What a check found.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Pages opened, or tried.
    pub checked: u64,
    /// Numbers of the pages that did not open.
    pub bad: Vec<u64>,
}

/// Opens every page of a file.
///
/// # Errors
/// When the file cannot be opened or read; a bad page is no error but part of the report.
pub fn verify(path: &Path, token: &KeyToken, progress: &Progress) -> Result<Report, VerifyError> {
    expect_encrypted(path)?;
    let connection = open_encrypted(path, Access::Read, Some(token), None)?;
    verify_connection(&connection, path, progress)
}

/// Pages that are checked between two reports.
const RANGE_PAGES: u64 = 1024;

/// Opens every page of an open database in `path`.
pub(crate) fn verify_connection(
    connection: &Connection,
    path: &Path,
    progress: &Progress,
) -> Result<Report, VerifyError> {
    let total = page_count(path)?;
    let mut report = Report::default();
    for first in (1..=total).step_by(RANGE_PAGES as usize) {
        report_step(progress, first - 1, total)?;
        let last = total.min(first + RANGE_PAGES - 1);
        let json: String = connection
            .query_row(
                &format!("PRAGMA strongroom_verify='{first}-{last}'"),
                [],
                |row| row.get(0),
            )
            .map_err(|source| VerifyError::Storage {
                detail: last_error(connection),
                source,
            })?;
        let part: Report = serde_json::from_str(&json)?;
        report.checked += part.checked;
        report.bad.extend(part.bad);
    }
    report_step(progress, total, total)?;
    Ok(report)
}

fn report_step(progress: &Progress, done: u64, total: u64) -> Result<(), VerifyError> {
    match progress(Step {
        phase: Phase::Checking,
        done,
        total,
    }) {
        Decision::GoOn => Ok(()),
        Decision::Stop => Err(VerifyError::Stopped),
    }
}

/// Pages in the file; a page that was cut off counts too.
fn page_count(path: &Path) -> Result<u64, VerifyError> {
    let FileKind::Encrypted(region) = file_kind(path)? else {
        return Ok(0);
    };
    let size = std::fs::metadata(path)
        .map_err(|source| VerifyError::File {
            path: path.to_owned(),
            source,
        })?
        .len();
    Ok(size
        .saturating_sub(REGION_SIZE as u64)
        .div_ceil(u64::from(region.header.page_size)))
}
