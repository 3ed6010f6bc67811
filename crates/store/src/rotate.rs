//! Rotation of the data key of a database in use, step by step.

use crate::KeyToken;
use crate::database::{Access, OpenError, expect_encrypted, last_error, open_for_key_changes};
use crate::progress::{Decision, Phase, Progress, Step};
use rusqlite::{Connection, ErrorCode};
use serde::Deserialize;
use std::path::Path;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why a rotation did not finish. Resealed pages stay resealed, and the rotation can be continued.
#[derive(Debug, Error)]
pub enum RotateError {
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The storage engine failed.
    #[error(
        "the rotation stopped: {}; run `strongroom rekey` again to go on",
        .detail.clone().unwrap_or_else(|| .source.to_string())
    )]
    Storage {
        /// SQLite's error.
        source: rusqlite::Error,
        /// The storage engine's message.
        detail: Option<String>,
    },
    /// The options of an interrupted rotation cannot be changed.
    #[error(
        "an interrupted rotation is under way; run `strongroom rekey` without further wishes to \
         finish it, then again with them"
    )]
    UnderWay,
    /// Another connection kept the database busy for too long.
    #[error(
        "another connection kept the database busy for {0} seconds; run `strongroom rekey` again \
         to go on"
    )]
    Busy(u64),
    /// The caller asked to stop.
    #[error(
        "stopped; pages are sealed under two keys now, and every program reads both; run \
         `strongroom rekey` again to go on"
    )]
    Stopped,
    /// The storage engine's answer cannot be parsed.
    #[error("the answer of the rotation is not readable: {0}")]
    Answer(#[from] serde_json::Error),
}

/// Options for a rotation.
#[derive(Clone, Copy, Debug, Default)]
pub struct RotateOptions {
    /// Also create a new master key, and empty all key slots but the one in use.
    pub alone: bool,
    /// Whether pages carry versions from now on; `None` keeps the setting.
    pub freshness: Option<bool>,
    /// Maximum rate of resealing, in bytes per second.
    pub bytes_per_second: Option<u64>,
}

/// The result of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The epoch of the new data key.
    pub epoch: u32,
    /// The number of pages in the file.
    pub pages: u64,
    /// Whether an interrupted rotation was completed.
    pub resumed: bool,
}

#[derive(Deserialize)]
struct Answer {
    state: String,
    epoch: u32,
    pages_done: u64,
    pages: u64,
    waiting_for: Option<String>,
}

/// Bytes of pages that are resealed before other connections may write.
const STEP_SIZE: u64 = 4 * 1024 * 1024;
/// How long a single step is retried.
const BUSY_SECONDS_MAX: u64 = 60;
const PAUSE: Duration = Duration::from_millis(5);

/// Reseals every page of a database under a new data key, or continues an interrupted rotation.
/// Other connections may read and write meanwhile.
///
/// # Errors
///
/// If the key does not open the file, or a page does not open; see [`RotateError`].
pub fn rotate(
    path: &Path,
    token: &KeyToken,
    options: RotateOptions,
    progress: &Progress,
) -> Result<Rotated, RotateError> {
    expect_encrypted(path)?;
    let connection = open_for_key_changes(path, Access::Write, Some(token), None)?;
    let mut rotation = Rotation {
        connection,
        progress,
        done: 0,
        total: 0,
    };
    rotation.read()?;
    let resumed = rotation.ask("strongroom_rotation")?.state == "running";
    if resumed && (options.alone || options.freshness.is_some()) {
        return Err(RotateError::UnderWay);
    }
    if !resumed {
        if let Some(on) = options.freshness {
            let wish = if on { "on" } else { "off" };
            rotation.value::<String>(&format!("PRAGMA strongroom_freshness={wish}"))?;
        }
        rotation.until_free(|rotation| {
            rotation.ask(if options.alone {
                "strongroom_rotate='start-alone'"
            } else {
                "strongroom_rotate='start'"
            })
        })?;
    }
    let last = rotation.pass(options.bytes_per_second)?;
    Ok(Rotated {
        epoch: last.epoch,
        pages: last.pages,
        resumed,
    })
}

struct Rotation<'a> {
    connection: Connection,
    progress: &'a Progress,
    done: u64,
    total: u64,
}

impl Rotation<'_> {
    fn pass(&mut self, bytes_per_second: Option<u64>) -> Result<Answer, RotateError> {
        let page_size = u64::from(self.value::<u32>("PRAGMA page_size")?);
        let pages = (STEP_SIZE / page_size.max(1)).max(1);
        let step = format!("strongroom_rotate={pages}");
        loop {
            let start = Instant::now();
            let answer = self.until_free(|rotation| rotation.ask(&step))?;
            self.report(Phase::Resealing, answer.pages_done, answer.pages)?;
            if answer.state == "finished" {
                return Ok(answer);
            }
            match answer.waiting_for {
                // A checkpoint, the only statement that must be run by SQLite itself.
                Some(statement) if statement.contains("wal_checkpoint") => {
                    self.until_free(|rotation| rotation.checkpoint(&statement))?;
                }
                Some(_) => self.read()?,
                None => {}
            }
            if let Some(rate) = bytes_per_second {
                let due = Duration::from_secs_f64((pages * page_size) as f64 / rate.max(1) as f64);
                self.pause(due.saturating_sub(start.elapsed()))?;
            }
        }
    }

    /// Sleeps, and regularly checks whether to stop.
    fn pause(&mut self, mut left: Duration) -> Result<(), RotateError> {
        const NAP: Duration = Duration::from_millis(100);
        while !left.is_zero() {
            let nap = left.min(NAP);
            std::thread::sleep(nap);
            left -= nap;
            self.report(Phase::Resealing, self.done, self.total)?;
        }
        Ok(())
    }

    fn report(&mut self, phase: Phase, done: u64, total: u64) -> Result<(), RotateError> {
        (self.done, self.total) = (done, total);
        match (self.progress)(Step { phase, done, total }) {
            Decision::GoOn => Ok(()),
            Decision::Stop => Err(RotateError::Stopped),
        }
    }

    /// Retries until no other connection holds a lock.
    fn until_free<T>(
        &mut self,
        mut action: impl FnMut(&mut Self) -> Result<T, RotateError>,
    ) -> Result<T, RotateError> {
        let start = Instant::now();
        loop {
            match action(self) {
                Err(RotateError::Storage { source, .. }) if is_busy(&source) => {}
                other => return other,
            }
            if start.elapsed().as_secs() >= BUSY_SECONDS_MAX {
                return Err(RotateError::Busy(BUSY_SECONDS_MAX));
            }
            std::thread::sleep(PAUSE);
            self.report(Phase::Waiting, self.done, self.total)?;
        }
    }

    /// Reads, so that SQLite opens the log and rolls back an interrupted transaction.
    fn read(&self) -> Result<(), RotateError> {
        self.value::<i64>("SELECT count(*) FROM sqlite_schema")
            .map(drop)
    }

    fn checkpoint(&self, statement: &str) -> Result<(), RotateError> {
        match self.value::<i64>(statement)? {
            0 => Ok(()),
            _ => Err(self.failed(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                None,
            ))),
        }
    }

    fn ask(&self, pragma: &str) -> Result<Answer, RotateError> {
        let json: String = self.value(&format!("PRAGMA {pragma}"))?;
        Ok(serde_json::from_str(&json)?)
    }

    fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T, RotateError> {
        let answer = self.connection.query_row(sql, [], |row| row.get(0));
        answer.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> RotateError {
        RotateError::Storage {
            detail: last_error(&self.connection),
            source,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}
