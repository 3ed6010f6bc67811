//! The parameters in which versions of SQLCipher differ, and which its pragmas can change.

use std::fmt;

use thiserror::Error;

/// Bytes of an initialisation vector, and of a block of AES.
pub const IV_SIZE: usize = 16;

/// Bytes of the salt at the beginning of the file.
pub const SALT_SIZE: usize = 16;

/// Page sizes that SQLite supports.
pub const PAGE_SIZES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

/// A hash function, for PBKDF2 or for the HMAC of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sha1, Self::Sha256, Self::Sha512];

    /// Its name; SQLCipher prefixes it with `PBKDF2_HMAC_` or `HMAC_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA1",
            Self::Sha256 => "SHA256",
            Self::Sha512 => "SHA512",
        }
    }

    /// Parses a name: `SHA512`, `HMAC_SHA512` or `PBKDF2_HMAC_SHA512`, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let name = name.strip_prefix("PBKDF2_").unwrap_or(&name);
        let name = name.strip_prefix("HMAC_").unwrap_or(name);
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Bytes of its output.
    #[must_use]
    pub fn output_size(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

/// The parameters of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of a page; `PRAGMA cipher_page_size`.
    pub page_size: u32,
    /// Iterations of PBKDF2; `PRAGMA kdf_iter`.
    pub kdf_iterations: u32,
    /// `PRAGMA cipher_kdf_algorithm`.
    pub kdf_algorithm: Algorithm,
    /// `PRAGMA cipher_hmac_algorithm`; `None` is `PRAGMA cipher_use_hmac = OFF`.
    pub hmac_algorithm: Option<Algorithm>,
    /// Size of the unencrypted header; `PRAGMA cipher_plaintext_header_size`.
    pub plaintext_header_size: u32,
}

/// Why no file can have these parameters.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParameterError {
    /// Not a page size of SQLite.
    #[error("{0} is no page size: it is a power of two from 512 to 65536")]
    PageSize(u32),
    /// Zero iterations.
    #[error("kdf_iter is at least 1")]
    Iterations,
    /// The plaintext header does not end at a block boundary, or leaves nothing of the file's
    /// header to encrypt.
    #[error(
        "{0} is no size of a plaintext header: it is 0 or a multiple of 16, at most 96, and \
         without HMACs at most 80"
    )]
    PlaintextHeader(u32),
}

/// The header of a SQLite file has 100 bytes; a plaintext header ends at a block boundary within
/// it.
const PLAINTEXT_HEADER_SIZE_MAX: u32 = 96;
/// Lower, so that enough of the header is decrypted to recognise the right key.
const PLAINTEXT_HEADER_SIZE_MAX_WITHOUT_HMAC: u32 = 80;

impl Parameters {
    /// The defaults of a version of SQLCipher, 1 to 4; `PRAGMA cipher_compatibility`.
    #[must_use]
    pub fn of_version(version: u8) -> Option<Self> {
        let older = Self {
            page_size: 1024,
            kdf_iterations: 64_000,
            kdf_algorithm: Algorithm::Sha1,
            hmac_algorithm: Some(Algorithm::Sha1),
            plaintext_header_size: 0,
        };
        Some(match version {
            4 => Self {
                page_size: 4096,
                kdf_iterations: 256_000,
                kdf_algorithm: Algorithm::Sha512,
                hmac_algorithm: Some(Algorithm::Sha512),
                plaintext_header_size: 0,
            },
            3 => older,
            2 => Self {
                kdf_iterations: 4_000,
                ..older
            },
            1 => Self {
                kdf_iterations: 4_000,
                hmac_algorithm: None,
                ..older
            },
            _ => return None,
        })
    }

    /// Checks whether a file with these parameters can exist.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub fn check(&self) -> Result<(), ParameterError> {
        if !PAGE_SIZES.contains(&self.page_size) {
            return Err(ParameterError::PageSize(self.page_size));
        }
        if self.kdf_iterations == 0 {
            return Err(ParameterError::Iterations);
        }
        let header = self.plaintext_header_size;
        let header_max = match self.hmac_algorithm {
            Some(_) => PLAINTEXT_HEADER_SIZE_MAX,
            None => PLAINTEXT_HEADER_SIZE_MAX_WITHOUT_HMAC,
        };
        if header > header_max || !header.is_multiple_of(IV_SIZE as u32) {
            return Err(ParameterError::PlaintextHeader(header));
        }
        Ok(())
    }

    /// Bytes at the end of each page for IV and HMAC. Byte 20 of page 1 is at least this.
    #[must_use]
    pub fn reserve(&self) -> usize {
        let tag_size = self.hmac_algorithm.map_or(0, Algorithm::output_size);
        (IV_SIZE + tag_size).next_multiple_of(IV_SIZE)
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kdf = self.kdf_algorithm.name();
        write!(
            formatter,
            "PBKDF2_HMAC_{kdf} with {} iterations, {}, pages of {} bytes",
            self.kdf_iterations,
            match self.hmac_algorithm {
                Some(algorithm) => format!("HMAC_{}", algorithm.name()),
                None => "no HMAC".to_owned(),
            },
            self.page_size,
        )?;
        match self.plaintext_header_size {
            0 => Ok(()),
            size => write!(formatter, ", a plaintext header of {size} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_whole_blocks() {
        let reserve = |version| Parameters::of_version(version).map(|p| p.reserve());
        assert_eq!(reserve(4), Some(80));
        assert_eq!(reserve(3), Some(48));
        assert_eq!(reserve(2), Some(48));
        assert_eq!(reserve(1), Some(16));
        assert_eq!(reserve(5), None);
        let sha256 = Parameters {
            hmac_algorithm: Some(Algorithm::Sha256),
            ..Parameters::of_version(4).unwrap()
        };
        assert_eq!(sha256.reserve(), 48);
    }

    #[test]
    fn parameters_that_no_file_has_are_refused() {
        let good = Parameters::of_version(4).unwrap();
        assert_eq!(good.check(), Ok(()));
        for page_size in [0, 1, 256, 4097, 131_072] {
            let parameters = Parameters { page_size, ..good };
            assert_eq!(parameters.check(), Err(ParameterError::PageSize(page_size)));
        }
        for size in [1, 15, 100, 112, u32::MAX] {
            let parameters = Parameters {
                plaintext_header_size: size,
                ..good
            };
            assert_eq!(
                parameters.check(),
                Err(ParameterError::PlaintextHeader(size))
            );
        }
        let none = Parameters {
            kdf_iterations: 0,
            ..good
        };
        assert_eq!(none.check(), Err(ParameterError::Iterations));
    }

    #[test]
    fn algorithms_have_the_names_that_sqlcipher_gives_them() {
        for name in ["sha512", "HMAC_SHA512", "PBKDF2_HMAC_SHA512"] {
            assert_eq!(Algorithm::from_name(name), Some(Algorithm::Sha512));
        }
        assert_eq!(Algorithm::from_name("md5"), None);
        assert_eq!(Algorithm::from_name(""), None);
    }
}
