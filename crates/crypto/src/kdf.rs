//! Keys from passphrases and from other keys.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

use crate::secret::{KEY_SIZE, Key, SecretBytes, leaving_no_trace};

/// Cost of one derivation with Argon2id (RFC 9106), as stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2idParameters {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes, which could run in parallel.
    pub lanes: u32,
}

/// Why no key was derived from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KdfError {
    /// The cost is below the floor, so guessing would be too cheap.
    #[error(
        "Argon2id parameters below the floor ({} KiB, {} passes, {} lane): \
         choose stronger ones",
        Argon2idParameters::FLOOR.memory_kib,
        Argon2idParameters::FLOOR.passes,
        Argon2idParameters::FLOOR.lanes
    )]
    BelowFloor,
    /// The cost is above the ceiling for work demanded by a file.
    #[error(
        "Argon2id parameters above the ceiling ({} KiB, {} passes, {} lanes): \
         the header is damaged or hostile; restore it from a backup",
        Argon2idParameters::CEILING.memory_kib,
        Argon2idParameters::CEILING.passes,
        Argon2idParameters::CEILING.lanes
    )]
    AboveCeiling,
    /// The memory could not be allocated.
    #[error(
        "not enough memory for Argon2id ({memory_kib} KiB): free some, or use a larger machine"
    )]
    OutOfMemory {
        /// Memory asked for, in KiB.
        memory_kib: u32,
    },
    /// Longer than Argon2 takes: 2^32 - 1 bytes.
    #[error("the passphrase is longer than 4 GiB: use a shorter one")]
    PassphraseTooLong,
}

impl Argon2idParameters {
    /// The least that [`check`](Self::check) accepts: 19 MiB, 2 passes, 1 lane, the first choice
    /// of OWASP's Password Storage Cheat Sheet.
    pub const FLOOR: Self = Self {
        memory_kib: 19 * 1024,
        passes: 2,
        lanes: 1,
    };

    /// The most that [`check`](Self::check) accepts, so that a hostile header cannot demand
    /// unbounded work or memory.
    pub const CEILING: Self = Self {
        memory_kib: 4 * 1024 * 1024,
        passes: 64,
        lanes: 16,
    };

    /// The default for new files: 64 MiB, 3 passes, the memory of RFC 9106's second recommendation
    /// in one lane.
    pub const DEFAULT: Self = Self {
        memory_kib: 64 * 1024,
        passes: 3,
        lanes: 1,
    };

    /// Checks each parameter against floor and ceiling.
    ///
    /// # Errors
    ///
    /// [`KdfError::BelowFloor`] or [`KdfError::AboveCeiling`].
    pub fn check(&self) -> Result<(), KdfError> {
        let any = |exceeds: fn(u32, u32) -> bool, limit: &Self| {
            exceeds(self.memory_kib, limit.memory_kib)
                || exceeds(self.passes, limit.passes)
                || exceeds(self.lanes, limit.lanes)
        };
        if any(|value, limit| value < limit, &Self::FLOOR) {
            return Err(KdfError::BelowFloor);
        }
        if any(|value, limit| value > limit, &Self::CEILING) {
            return Err(KdfError::AboveCeiling);
        }
        Ok(())
    }
}

/// Derives a key from a passphrase with Argon2id version 1.3 (RFC 9106).
///
/// # Errors
/// [`KdfError`] if the parameters fail their [check](Argon2idParameters::check) or the machine
/// has not the memory.
pub fn derive_from_passphrase(
    passphrase: &SecretBytes,
    salt: &[u8; 16],
    parameters: Argon2idParameters,
) -> Result<Key, KdfError> {
    parameters.check()?;
    let Argon2idParameters {
        memory_kib,
        passes,
        lanes,
    } = parameters;
    let params = Params::new(memory_kib, passes, lanes, Some(KEY_SIZE))
        .expect("parameters between floor and ceiling are valid");

    // Allocated here, so that failure is an error and the memory can be wiped.
    let mut memory: Vec<Block> = Vec::new();
    memory
        .try_reserve_exact(params.block_count())
        .map_err(|_| KdfError::OutOfMemory { memory_kib })?;
    memory.resize(params.block_count(), Block::new());

    let mut key = Key::zero();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let outcome = leaving_no_trace(|| {
        let (secret, out) = (passphrase.expose(), key.expose_mut());
        argon2.hash_password_into_with_memory(secret, salt, out, &mut memory)
    });
    memory.zeroize();
    match outcome {
        Ok(()) => Ok(key),
        // Salt, output and parameters have valid sizes, so only the passphrase can be at fault.
        Err(_) => Err(KdfError::PassphraseTooLong),
    }
}

/// Derives a key from another with HKDF-SHA256 (RFC 5869). `info` names the purpose.
#[must_use]
pub fn derive_key(secret: &Key, salt: &[u8], info: &[u8]) -> Key {
    let mut key = Key::zero();
    leaving_no_trace(|| {
        Hkdf::<Sha256>::new(Some(salt), secret.expose())
            .expand(info, key.expose_mut())
            .expect("32 bytes are within HKDF's limit of 8,160");
    });
    key
}

/// Derivation of AES-256-GCM keys as in XAES-256-GCM (C2SP): NIST SP 800-108 in counter mode with
/// CMAC-AES256, inlined.
///
/// It stores an AES key and a mask, so that one derivation is two block encryptions.
pub struct XaesDerivation(Box<XaesKey>);

/// On the heap, so that moving the derivation leaves no copy of its key behind.
struct XaesKey {
    cipher: Aes256,
    /// The first sub-key of CMAC: the encryption of the zero block, doubled.
    mask: Zeroizing<[u8; 16]>,
}

impl XaesDerivation {
    /// Prepares the derivation from `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            let cipher = Aes256::new(key.expose().into());
            let mut block = Zeroizing::new([0; 16]);
            cipher.encrypt_block((&mut *block).into());
            // Doubling in GF(2^128), without a branch on the secret bit.
            let value = Zeroizing::new(u128::from_be_bytes(*block));
            let mask = Zeroizing::new(((*value << 1) ^ ((*value >> 127) * 0x87)).to_be_bytes());
            Box::new(XaesKey { cipher, mask })
        }))
    }

    /// The AES-256-GCM key of `prefix`, the first 12 bytes of an XAES-256-GCM nonce.
    #[must_use]
    pub fn derive(&self, prefix: &[u8; 12]) -> Key {
        let mut key = Key::zero();
        leaving_no_trace(|| {
            for (counter, half) in (1..).zip(key.expose_mut().as_chunks_mut::<16>().0) {
                half[..4].copy_from_slice(&[0, counter, b'X', 0]);
                half[4..].copy_from_slice(prefix);
                for (byte, mask) in half.iter_mut().zip(self.0.mask.iter()) {
                    *byte ^= mask;
                }
                self.0.cipher.encrypt_block(half.into());
            }
        });
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_parameters_pass_the_check() {
        for parameters in [
            Argon2idParameters::FLOOR,
            Argon2idParameters::DEFAULT,
            Argon2idParameters::CEILING,
        ] {
            assert_eq!(parameters.check(), Ok(()), "{parameters:?}");
        }
    }

    #[test]
    fn each_parameter_is_checked_by_itself() {
        let floor = Argon2idParameters::FLOOR;
        let ceiling = Argon2idParameters::CEILING;
        for below in [
            Argon2idParameters {
                memory_kib: floor.memory_kib - 1,
                ..ceiling
            },
            Argon2idParameters {
                passes: floor.passes - 1,
                ..ceiling
            },
            Argon2idParameters {
                lanes: floor.lanes - 1,
                ..ceiling
            },
        ] {
            assert_eq!(below.check(), Err(KdfError::BelowFloor), "{below:?}");
        }
        for above in [
            Argon2idParameters {
                memory_kib: ceiling.memory_kib + 1,
                ..floor
            },
            Argon2idParameters {
                passes: ceiling.passes + 1,
                ..floor
            },
            Argon2idParameters {
                lanes: ceiling.lanes + 1,
                ..floor
            },
        ] {
            assert_eq!(above.check(), Err(KdfError::AboveCeiling), "{above:?}");
        }
    }

    #[test]
    fn a_hostile_header_is_refused_before_any_work() {
        let hostile = Argon2idParameters {
            memory_kib: u32::MAX,
            passes: u32::MAX,
            lanes: u32::MAX,
        };
        let passphrase = SecretBytes::new(b"passphrase".to_vec());
        let outcome = derive_from_passphrase(&passphrase, &[0; 16], hostile);
        assert_eq!(outcome.unwrap_err(), KdfError::AboveCeiling);
    }

    #[test]
    fn salt_and_info_separate_keys() {
        let secret = Key::from_bytes([1; 32]);
        let key = derive_key(&secret, b"salt", b"pages");
        assert!(key.constant_time_eq(&derive_key(&secret, b"salt", b"pages")));
        assert!(!key.constant_time_eq(&derive_key(&secret, b"salt", b"masks")));
        assert!(!key.constant_time_eq(&derive_key(&secret, b"pepper", b"pages")));
    }
}
