//! Which parameters a file was written with: those under which page 1 opens.

use std::fmt;

use thiserror::Error;

use crate::key::{PageKeys, Salt, SourceKey};
use crate::page::{PLAIN_MAGIC, PageError, PageOpener};
use crate::parameters::{PAGE_SIZES, ParameterError, Parameters, SALT_SIZE};

/// How much of a file's beginning [`detect`] can use: two pages of the largest size.
pub const BEGINNING_SIZE: usize = 2 * 65_536;

/// Parameters to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The version whose defaults they are, or began as.
    pub version: u8,
    /// The parameters.
    pub parameters: Parameters,
    /// Whether the page size is certain; otherwise it is tried first, and then all others.
    pub page_size_known: bool,
}

impl fmt::Display for Candidate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, mut parameters) = (self.version, self.parameters.to_string());
        if !self.page_size_known {
            let exact = format!("{} bytes", self.parameters.page_size);
            parameters = parameters.replacen(&exact, "any size", 1);
        }
        if Parameters::of_version(version) == Some(self.parameters) {
            write!(formatter, "version {version} ({parameters})")
        } else {
            formatter.write_str(&parameters)
        }
    }
}

/// A list of what was tried, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried(pub Vec<Candidate>);

impl fmt::Display for Tried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, candidate) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(formatter, "{separator}{candidate}")?;
        }
        Ok(())
    }
}

/// Why a file does not open.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DetectError {
    /// No file can have these parameters.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// Too short for a page.
    #[error("it is no SQLCipher database: it is shorter than one page")]
    TooShort,
    /// An ordinary SQLite database.
    #[error(
        "it begins as a plain SQLite database does; import it as plain, or, if SQLCipher wrote it \
         with a plaintext header, give the size of that header and the salt"
    )]
    Plain,
    /// A plaintext header leaves no place for the salt.
    #[error(
        "a file with a plaintext header does not hold its salt; give it (PRAGMA cipher_salt tells \
         it), or a raw key of 96 digits"
    )]
    NoSalt,
    /// A plaintext header is wanted, and the file does not begin with one.
    #[error("it does not begin with a plaintext header: that was damaged, or there is none")]
    NoPlaintextHeader,
    /// Nothing opens.
    #[error(
        "wrong key, or other parameters than those that were tried: {tried}. (A damaged salt, in \
         the first 16 bytes, looks the same.)"
    )]
    WrongKey {
        /// What was tried.
        tried: Tried,
    },
    /// The key is right, since page 2 is authentic; page 1 is not.
    #[error("the key is right, but page 1 is damaged: {reason} ({candidate})")]
    PageOneDamaged {
        /// The parameters under which page 2 opens.
        candidate: Candidate,
        /// What is wrong with page 1.
        reason: PageError,
    },
}

/// Finds the candidate under which the file opens that begins with `beginning`: its first
/// [`BEGINNING_SIZE`] bytes, or all of it.
///
/// # Errors
/// When none does; the error names what was tried.
pub fn detect(
    key: &SourceKey,
    salt: Option<Salt>,
    candidates: &[Candidate],
    beginning: &[u8],
) -> Result<PageOpener, DetectError> {
    for candidate in candidates {
        candidate.parameters.check()?;
    }
    if beginning.len() < PAGE_SIZES[0] as usize {
        return Err(DetectError::TooShort);
    }
    let given = salt.or(key.salt());
    for candidate in candidates {
        let salt = salt_for(candidate, given, beginning)?;
        let keys = PageKeys::derive(key, &salt, &candidate.parameters);
        if let Some(opener) = try_candidate(candidate, &keys, beginning)? {
            return Ok(opener);
        }
    }
    Err(DetectError::WrongKey {
        tried: Tried(candidates.to_vec()),
    })
}

fn salt_for(
    candidate: &Candidate,
    given: Option<Salt>,
    beginning: &[u8],
) -> Result<Salt, DetectError> {
    let is_plain = beginning.starts_with(PLAIN_MAGIC);
    match (candidate.parameters.plaintext_header_size, is_plain) {
        (0, true) => Err(DetectError::Plain),
        (0, false) => {
            let mut salt = [0; SALT_SIZE];
            salt.copy_from_slice(&beginning[..SALT_SIZE]);
            Ok(given.unwrap_or(salt))
        }
        (_, true) => given.ok_or(DetectError::NoSalt),
        (_, false) => Err(DetectError::NoPlaintextHeader),
    }
}

/// Tries the page sizes that the candidate leaves open; the keys do not depend on them.
fn try_candidate(
    candidate: &Candidate,
    keys: &PageKeys,
    beginning: &[u8],
) -> Result<Option<PageOpener>, DetectError> {
    let first = candidate.parameters.page_size;
    let others = PAGE_SIZES
        .into_iter()
        .filter(|size| *size != first && !candidate.page_size_known);
    let mut damaged = None;
    for page_size in std::iter::once(first).chain(others) {
        let parameters = Parameters {
            page_size,
            ..candidate.parameters
        };
        let opener = PageOpener::new(parameters, keys);
        let mut plain = vec![0; page_size as usize];
        let mut open = |number: u32| {
            let size = page_size as usize;
            let stored = beginning.get((number as usize - 1) * size..number as usize * size)?;
            let opened = opener.open_page(number, stored, &mut plain);
            zeroize::Zeroize::zeroize(&mut plain[..]);
            Some(opened)
        };
        match open(1) {
            Some(Ok(())) => return Ok(Some(opener)),
            None => {}
            Some(Err(reason)) => {
                // Without an HMAC every page opens: page 2 proves nothing.
                let is_authentic = parameters.hmac_algorithm.is_some()
                    && (reason == PageError::NotAHeader || open(2) == Some(Ok(())));
                let candidate = Candidate {
                    parameters,
                    page_size_known: true,
                    ..*candidate
                };
                if is_authentic {
                    damaged = Some(DetectError::PageOneDamaged { candidate, reason });
                }
            }
        }
    }
    damaged.map_or(Ok(None), Err)
}
