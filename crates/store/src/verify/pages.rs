//! Verification of pages, range by range, by several connections in parallel.

use super::{BadPage, Report, VerifyError, ask};
use crate::database::OpenError;
use crate::progress::{Decision, Phase, Progress, Step};
use page_codec::fingerprint::Fingerprint;
use rusqlite::Connection;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The storage engine's result for a range of pages.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    checked: u64,
    #[serde(default)]
    trailers: String,
    #[serde(default)]
    reasons: Vec<String>,
    bad: Vec<u64>,
}

impl Part {
    pub fn bad_pages(self) -> impl Iterator<Item = BadPage> {
        let pages = self.bad.into_iter().zip(self.reasons);
        pages.map(|(page, reason)| BadPage { page, reason })
    }
}

/// Verifies a range of pages.
pub(super) fn check_range(
    connection: &Connection,
    first: u64,
    last: u64,
    with_trailers: bool,
) -> Result<Part, VerifyError> {
    let trailers = if with_trailers { " trailers" } else { "" };
    let sql = format!("PRAGMA strongroom_verify='{first}-{last}{trailers}'");
    Ok(serde_json::from_str(&ask(connection, &sql)?)?)
}

/// The pages to verify, and the results so far.
pub(super) struct Work<'a> {
    total: u64,
    range_pages: u64,
    with_trailers: bool,
    next_range: AtomicU64,
    done: AtomicU64,
    abandoned: AtomicBool,
    found: Mutex<Found>,
    progress: &'a Progress,
}

/// Ranges complete in any order; the fingerprint takes them in page order.
struct Found {
    report: Report,
    fingerprint: Option<Fingerprint>,
    next_range: u64,
    waiting: BTreeMap<u64, Part>,
}

impl<'a> Work<'a> {
    pub fn new(
        total: u64,
        range_pages: u64,
        fingerprint: Option<Fingerprint>,
        progress: &'a Progress,
    ) -> Self {
        Work {
            total,
            range_pages,
            with_trailers: fingerprint.is_some(),
            next_range: AtomicU64::new(0),
            done: AtomicU64::new(0),
            abandoned: AtomicBool::new(false),
            found: Mutex::new(Found {
                report: Report::default(),
                fingerprint,
                next_range: 0,
                waiting: BTreeMap::new(),
            }),
            progress,
        }
    }

    /// Verifies all pages with this connection, and with others of the same process.
    pub fn run(
        &self,
        connection: &Connection,
        jobs: usize,
        open: &(impl Fn() -> Result<Connection, OpenError> + Sync),
    ) -> Result<(), VerifyError> {
        let ranges = self.total.div_ceil(self.range_pages);
        let others = (jobs.max(1) as u64).min(ranges).saturating_sub(1);
        std::thread::scope(|scope| {
            let work_alone = || {
                let checked = open()
                    .map_err(VerifyError::from)
                    .and_then(|connection| self.check_ranges(&connection));
                self.abandon_after(checked)
            };
            let workers: Vec<_> = (0..others).map(|_| scope.spawn(work_alone)).collect();
            let mut result = self.abandon_after(self.check_ranges(connection));
            for worker in workers {
                let checked = worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(checked);
            }
            result
        })
    }

    /// Verifies all pages with this connection.
    pub fn run_alone(&self, connection: &Connection) -> Result<(), VerifyError> {
        self.check_ranges(connection)
    }

    /// The report, and the fingerprint if it covers every page.
    pub fn finish(self) -> (Report, Option<[u8; 32]>) {
        let found = self
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let whole = found.report.checked == self.total;
        let fingerprint = found.fingerprint.filter(|_| whole);
        (found.report, fingerprint.map(Fingerprint::finish))
    }

    fn abandon_after(&self, result: Result<(), VerifyError>) -> Result<(), VerifyError> {
        if result.is_err() {
            self.abandoned.store(true, Ordering::Release);
        }
        result
    }

    fn check_ranges(&self, connection: &Connection) -> Result<(), VerifyError> {
        self.report_step(0)?;
        while !self.abandoned.load(Ordering::Acquire) {
            let range = self.next_range.fetch_add(1, Ordering::Relaxed);
            let first = range * self.range_pages + 1;
            if first > self.total {
                return Ok(());
            }
            let last = self.total.min(first + self.range_pages - 1);
            let part = check_range(connection, first, last, self.with_trailers)?;
            self.found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(range, part)?;
            self.report_step(last - first + 1)?;
        }
        Ok(())
    }

    fn report_step(&self, pages: u64) -> Result<(), VerifyError> {
        let done = self.done.fetch_add(pages, Ordering::Relaxed) + pages;
        let step = Step {
            phase: Phase::Checking,
            done,
            total: self.total,
        };
        match (self.progress)(step) {
            Decision::GoOn => Ok(()),
            Decision::Stop => Err(VerifyError::Stopped),
        }
    }
}

impl Found {
    fn take(&mut self, range: u64, part: Part) -> Result<(), VerifyError> {
        self.waiting.insert(range, part);
        while let Some(part) = self.waiting.remove(&self.next_range) {
            self.next_range += 1;
            self.report.checked += part.checked;
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.add(&bytes_of(&part.trailers)?);
            }
            self.report.bad.extend(part.bad_pages());
        }
        Ok(())
    }
}

/// Decodes hexadecimal digits.
pub(super) fn bytes_of(digits: &str) -> Result<Vec<u8>, VerifyError> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let byte = |pair: &[u8]| Some(nibble(pair[0])? << 4 | nibble(pair[1])?);
    let bytes = digits.as_bytes().chunks_exact(2).map(byte).collect();
    let wrong = || serde::de::Error::custom("these are no hexadecimal digits");
    Option::ok_or_else(bytes, || VerifyError::Answer(wrong()))
}
