//! How much work a header may ask for before it is known to be genuine.
//!
//! Whoever writes to a file can put slots into its header that take as long as the format allows.
//! The unit is one derivation at the default cost, memory times passes; lanes are computed one
//! after the other, and cost no more.

use std::sync::OnceLock;

use crypto::kdf::Argon2idParameters;
use thiserror::Error;

/// The variable that sets the limit of programs which name none.
const VARIABLE: &str = "STRONGROOM_UNLOCK_WORK";

static OF_PROCESS: OnceLock<WorkLimit> = OnceLock::new();

/// The most work that one passphrase is tried with on one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimit(u32);

/// Not a limit.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "unlock_work takes how many times the work of one passphrase at the default cost may be done: \
     a number from 1 to {}",
    WorkLimit::MAX
)]
pub struct WorkLimitError;

impl WorkLimit {
    /// Enough for every file that Strongroom made by itself. One slot within it takes at most 6
    /// times the default memory: no slot has fewer than 2 passes.
    pub const DEFAULT: Self = Self(4);

    /// More than eight slots at the ceiling of the format take.
    pub const MAX: u32 = 20_000;

    /// Reads what a user wrote.
    ///
    /// # Errors
    /// When it is no number within the bounds.
    pub fn parse(text: &str) -> Result<Self, WorkLimitError> {
        match text.parse() {
            Ok(times @ 1..=Self::MAX) => Ok(WorkLimit(times)),
            Ok(_) | Err(_) => Err(WorkLimitError),
        }
    }

    /// Sets what [`of_process`](Self::of_process) gives; the first call counts.
    pub fn set_for_process(self) {
        let _ = OF_PROCESS.set(self);
    }

    /// What the program has set, else what the environment says, else the default.
    ///
    /// # Errors
    /// When the environment holds no limit.
    pub fn of_process() -> Result<Self, WorkLimitError> {
        if let Some(limit) = OF_PROCESS.get() {
            return Ok(*limit);
        }
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::parse(&text),
            Ok(_) | Err(_) => Ok(Self::DEFAULT),
        }
    }

    /// How many times the default.
    pub(crate) fn times(self) -> u32 {
        self.0
    }

    /// The limit in KiB times passes.
    pub(crate) fn work(self) -> u64 {
        u64::from(self.0) * work_of(Some(Argon2idParameters::DEFAULT))
    }
}

impl std::str::FromStr for WorkLimit {
    type Err = WorkLimitError;

    fn from_str(text: &str) -> Result<Self, WorkLimitError> {
        Self::parse(text)
    }
}

/// The work of one derivation, in KiB times passes; none for a raw key.
pub(crate) fn work_of(kdf: Option<Argon2idParameters>) -> u64 {
    kdf.map_or(0, |kdf| u64::from(kdf.memory_kib) * u64::from(kdf.passes))
}

/// How many times the default some work is, rounded up: the limit that would allow it.
pub(crate) fn times_for(work: u64) -> u64 {
    work.div_ceil(work_of(Some(Argon2idParameters::DEFAULT)))
}
