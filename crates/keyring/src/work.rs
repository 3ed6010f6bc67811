//! Limit on the work that a header may demand before it is known to be genuine.
//!
//! Whoever can write to a file can add slots that take as long to derive as the format allows. The
//! unit is one derivation at the default cost, as memory times passes; lanes are computed
//! sequentially and cost nothing extra.

use std::sync::OnceLock;

use crypto::kdf::Argon2idParameters;
use thiserror::Error;

/// Environment variable with the limit for programs that set none.
const VARIABLE: &str = "STRONGROOM_UNLOCK_WORK";

static OF_PROCESS: OnceLock<WorkLimit> = OnceLock::new();

/// The most work that is spent on trying one passphrase on one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimit(u32);

/// The text is not a valid limit.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "unlock_work takes how many times the work of one passphrase at the default cost may be done: \
     a number from 1 to {}",
    WorkLimit::MAX
)]
pub struct WorkLimitError;

impl WorkLimit {
    /// Enough for every file that Strongroom creates. One slot within it uses at most 6 times the
    /// default memory, since no slot has fewer than 2 passes.
    pub const DEFAULT: Self = Self(4);

    /// More than eight slots at the format's ceiling need.
    pub const MAX: u32 = 20_000;

    /// Parses a limit given by the user.
    ///
    /// # Errors
    ///
    /// If it is not a number within the bounds.
    pub fn parse(text: &str) -> Result<Self, WorkLimitError> {
        match text.parse() {
            Ok(times @ 1..=Self::MAX) => Ok(WorkLimit(times)),
            Ok(_) | Err(_) => Err(WorkLimitError),
        }
    }

    /// Sets the result of [`of_process`](Self::of_process). Only the first call has an effect.
    pub fn set_for_process(self) {
        let _ = OF_PROCESS.set(self);
    }

    /// The limit set by the program, else the one in the environment, else the default.
    ///
    /// # Errors
    ///
    /// If the environment variable is not a valid limit.
    pub fn of_process() -> Result<Self, WorkLimitError> {
        if let Some(limit) = OF_PROCESS.get() {
            return Ok(*limit);
        }
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::parse(&text),
            Ok(_) | Err(_) => Ok(Self::DEFAULT),
        }
    }

    /// The limit as a multiple of the default cost.
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

/// The work of one derivation, in KiB times passes; zero for a raw key.
pub(crate) fn work_of(kdf: Option<Argon2idParameters>) -> u64 {
    kdf.map_or(0, |kdf| u64::from(kdf.memory_kib) * u64::from(kdf.passes))
}

/// Some work as a multiple of the default cost, rounded up: the limit that would allow it.
pub(crate) fn times_for(work: u64) -> u64 {
    work.div_ceil(work_of(Some(Argon2idParameters::DEFAULT)))
}
