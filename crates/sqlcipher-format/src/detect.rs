//! Detects the parameters a file was written with: those under which page 1 opens.

use std::fmt;

use thiserror::Error;

use crate::key::{PageKeys, Salt, SourceKey};
use crate::page::{PLAIN_MAGIC, PageError, PageOpener};
use crate::parameters::{Algorithm, PAGE_SIZES, ParameterError, Parameters, SALT_SIZE};

/// How many bytes from a file's start [`detect`] can use: two pages of the largest size.
pub const BEGINNING_SIZE: usize = 2 * 65_536;

/// What the user knows about a file; the rest is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The version whose defaults replace missing values.
    pub version: Option<u8>,
    /// See [`Parameters`].
    pub page_size: Option<u32>,
    /// See [`Parameters`].
    pub kdf_iterations: Option<u32>,
    /// See [`Parameters`].
    pub kdf_algorithm: Option<Algorithm>,
    /// See [`Parameters`].
    pub hmac_algorithm: Option<Algorithm>,
    /// Whether pages have an HMAC.
    pub use_hmac: Option<bool>,
    /// See [`Parameters`].
    pub plaintext_header_size: Option<u32>,
}

/// Versions from the newest, which is the most likely.
const VERSIONS: [u8; 4] = [4, 3, 2, 1];

/// The first version with plaintext headers.
const VERSION_WITH_PLAINTEXT_HEADER: u8 = 4;

impl Known {
    /// The parameters to try, without duplicates, the most likely first. Empty for an unknown
    /// version.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        let versions = match (self.version, self.plaintext_header_size) {
            (Some(version), _) => vec![version],
            (None, Some(1..)) => vec![VERSION_WITH_PLAINTEXT_HEADER],
            (None, None | Some(0)) => VERSIONS.to_vec(),
        };
        let mut candidates: Vec<Candidate> = Vec::new();
        for version in versions {
            let Some(candidate) = self.candidate(version) else {
                continue;
            };
            let tried = |other: &Candidate| other.tries_all_of(&candidate);
            if !candidates.iter().any(tried) {
                candidates.push(candidate);
            }
        }
        candidates
    }

    fn candidate(&self, version: u8) -> Option<Candidate> {
        let defaults = Parameters::of_version(version)?;
        let hmac_algorithm = match (self.use_hmac, self.hmac_algorithm) {
            (Some(false), _) => None,
            (_, Some(algorithm)) => Some(algorithm),
            (Some(true), None) => defaults.hmac_algorithm.or(Some(defaults.kdf_algorithm)),
            (None, None) => defaults.hmac_algorithm,
        };
        let parameters = Parameters {
            page_size: self.page_size.unwrap_or(defaults.page_size),
            kdf_iterations: self.kdf_iterations.unwrap_or(defaults.kdf_iterations),
            kdf_algorithm: self.kdf_algorithm.unwrap_or(defaults.kdf_algorithm),
            hmac_algorithm,
            plaintext_header_size: self.plaintext_header_size.unwrap_or(0),
        };
        Some(Candidate {
            version,
            parameters,
            page_size_known: self.page_size.is_some(),
        })
    }
}

/// A set of parameters to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The version whose defaults they are based on.
    pub version: u8,
    /// The parameters.
    pub parameters: Parameters,
    /// Whether the page size is given; if not, it is tried first, and then all others.
    pub page_size_known: bool,
}

impl Candidate {
    /// Whether trying `self` also covers everything that `other` would try.
    fn tries_all_of(&self, other: &Self) -> bool {
        let mut other = other.parameters;
        if !self.page_size_known {
            other.page_size = self.parameters.page_size;
        }
        self.parameters == other
    }
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

/// The parameters that were tried, for a message.
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

/// Why no parameters were found.
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
    /// The file has a plaintext header, so the salt is not in it.
    #[error(
        "a file with a plaintext header does not hold its salt; give it (PRAGMA cipher_salt tells \
         it), or a raw key of 96 digits"
    )]
    NoSalt,
    /// A plaintext header was requested, but the file does not begin with one.
    #[error("it does not begin with a plaintext header: that was damaged, or there is none")]
    NoPlaintextHeader,
    /// No candidate opens the file.
    #[error(
        "wrong key, or other parameters than those that were tried: {tried}. (A damaged salt, in \
         the first 16 bytes, looks the same.)"
    )]
    WrongKey {
        /// What was tried.
        tried: Tried,
    },
    /// The key is right, because page 2 is authentic, but page 1 is not.
    #[error("the key is right, but page 1 is damaged: {reason} ({candidate})")]
    PageOneDamaged {
        /// The parameters that open page 2.
        candidate: Candidate,
        /// What is wrong with page 1.
        reason: PageError,
    },
}

/// Finds the candidate that opens a file. `beginning` is its first [`BEGINNING_SIZE`] bytes, or the
/// whole file if it is shorter.
///
/// # Errors
///
/// If none does; the error names what was tried.
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

/// Tries the page sizes that the candidate allows; the keys do not depend on them.
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
                // Without an HMAC every page opens, so page 2 proves nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(known: Known) -> Vec<u8> {
        let candidates = known.candidates();
        candidates
            .iter()
            .map(|candidate| candidate.version)
            .collect()
    }

    #[test]
    fn known_parameters_are_not_tried_twice() {
        let nothing = Known::default();
        assert_eq!(versions(nothing), [4, 3, 2, 1]);
        let iterations = Known {
            kdf_iterations: Some(10),
            ..nothing
        };
        // Versions 3 and 2 differ only in the number of iterations.
        assert_eq!(versions(iterations), [4, 3, 1]);
        let all = Known {
            kdf_algorithm: Some(Algorithm::Sha1),
            use_hmac: Some(false),
            ..iterations
        };
        assert_eq!(versions(all), [4]);
        let header = Known {
            plaintext_header_size: Some(32),
            ..nothing
        };
        assert_eq!(versions(header), [4]);
        let version = Known {
            version: Some(2),
            ..nothing
        };
        assert_eq!(versions(version), [2]);
        let unknown = Known {
            version: Some(5),
            ..nothing
        };
        assert_eq!(unknown.candidates(), []);
    }
}
