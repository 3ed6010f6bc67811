//! Passphrases and raw keys, and the keys derived from them.

use crypto::secret::{KEY_SIZE, Key, SecretBytes};
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use zeroize::Zeroizing;

use crate::parameters::{Algorithm, Parameters, SALT_SIZE};

/// The salt of a file. Not a secret: it is the file's first 16 bytes.
pub type Salt = [u8; SALT_SIZE];

/// The HMAC key's salt is the file's salt with each byte XORed with this.
const HMAC_SALT_MASK: u8 = 0x3a;

/// PBKDF2 iterations from the cipher key to the HMAC key.
const HMAC_KEY_ITERATIONS: u32 = 2;

/// A secret of a SQLCipher user.
#[derive(Debug)]
pub enum SourceKey {
    /// Stretched by PBKDF2.
    Passphrase(SecretBytes),
    /// The cipher key itself, with the salt if one was given with it.
    Raw {
        /// The key.
        key: Key,
        /// The salt; if missing, it is read from the file.
        salt: Option<Salt>,
    },
}

impl SourceKey {
    /// Parses a key as `PRAGMA key` takes it: a passphrase, `x'64 digits'` for a raw key, or `x'96
    /// digits'` for a raw key and the salt.
    #[must_use]
    pub fn from_pragma(text: SecretBytes) -> Self {
        let raw = text
            .expose()
            .strip_prefix(b"x'")
            .or_else(|| text.expose().strip_prefix(b"X'"))
            .and_then(|rest| rest.strip_suffix(b"'"))
            .and_then(parse_raw);
        raw.unwrap_or(SourceKey::Passphrase(text))
    }

    /// The salt, if it was given with the key.
    #[must_use]
    pub fn salt(&self) -> Option<Salt> {
        match self {
            SourceKey::Passphrase(_) => None,
            SourceKey::Raw { salt, .. } => *salt,
        }
    }
}

fn parse_raw(digits: &[u8]) -> Option<SourceKey> {
    let bytes = Zeroizing::new(hexadecimal(digits)?);
    let (key, salt) = bytes.split_at_checked(KEY_SIZE)?;
    let salt = match salt {
        [] => None,
        salt => Some(salt.try_into().ok()?),
    };
    Some(SourceKey::Raw {
        key: Key::from_slice(key)?,
        salt,
    })
}

/// Parses a salt of 32 hexadecimal digits, with or without `x'…'` around them.
#[must_use]
pub fn parse_salt(text: &str) -> Option<Salt> {
    let text = text.as_bytes();
    let digits = text
        .strip_prefix(b"x'")
        .and_then(|rest| rest.strip_suffix(b"'"))
        .unwrap_or(text);
    hexadecimal(digits)?.try_into().ok()
}

/// Decodes hexadecimal digits; `None` for more bytes than a key and a salt have.
fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() > 2 * (KEY_SIZE + SALT_SIZE) || !digits.len().is_multiple_of(2) {
        return None;
    }
    let mut bytes = Vec::with_capacity(KEY_SIZE + SALT_SIZE);
    let digit = |digit: u8| char::from(digit).to_digit(16);
    for pair in digits.chunks_exact(2) {
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
            zeroize::Zeroize::zeroize(&mut bytes);
            return None;
        };
        bytes.push((high << 4 | low) as u8);
    }
    Some(bytes)
}

/// The keys that pages are opened with.
pub struct PageKeys {
    pub(crate) cipher: Key,
    pub(crate) hmac: Key,
}

impl PageKeys {
    /// Derives the keys of a file. Slow for a passphrase, depending on the parameters.
    #[must_use]
    pub fn derive(key: &SourceKey, salt: &Salt, parameters: &Parameters) -> Self {
        let algorithm = parameters.kdf_algorithm;
        let cipher = match key {
            SourceKey::Passphrase(passphrase) => {
                let iterations = parameters.kdf_iterations;
                pbkdf2(algorithm, passphrase.expose(), salt, iterations)
            }
            SourceKey::Raw { key, .. } => key.duplicate(),
        };
        let hmac_salt = salt.map(|byte| byte ^ HMAC_SALT_MASK);
        let hmac = pbkdf2(algorithm, cipher.expose(), &hmac_salt, HMAC_KEY_ITERATIONS);
        PageKeys { cipher, hmac }
    }
}

fn pbkdf2(algorithm: Algorithm, secret: &[u8], salt: &Salt, iterations: u32) -> Key {
    let mut key = Zeroizing::new([0; KEY_SIZE]);
    match algorithm {
        Algorithm::Sha1 => pbkdf2_hmac::<Sha1>(secret, salt, iterations, &mut key[..]),
        Algorithm::Sha256 => pbkdf2_hmac::<Sha256>(secret, salt, iterations, &mut key[..]),
        Algorithm::Sha512 => pbkdf2_hmac::<Sha512>(secret, salt, iterations, &mut key[..]),
    }
    Key::from_bytes(*key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SourceKey {
        SourceKey::from_pragma(SecretBytes::new(text.into()))
    }

    #[test]
    fn raw_keys_are_distinguished_from_passphrases() {
        let key = "0f".repeat(32);
        let SourceKey::Raw { key: raw, salt } = parsed(&format!("x'{key}'")) else {
            panic!("a raw key");
        };
        assert_eq!(raw.expose(), &[0x0f; 32]);
        assert_eq!(salt, None);
        let with_salt = parsed(&format!("X'{key}{}'", "A1".repeat(16)));
        assert_eq!(with_salt.salt(), Some([0xa1; 16]));
        for text in [
            "x''",
            "x'0f'",
            &key,
            &format!("x'{key}"),
            &format!("x'{key}00'"),
            &format!("x'{}'", "0g".repeat(32)),
            &format!("x'{}'", "0f".repeat(49)),
            "",
        ] {
            assert!(matches!(parsed(text), SourceKey::Passphrase(_)), "{text}");
        }
    }

    #[test]
    fn a_salt_has_32_digits() {
        assert_eq!(parse_salt(&"0a".repeat(16)), Some([10; 16]));
        assert_eq!(
            parse_salt(&format!("x'{}'", "0a".repeat(16))),
            Some([10; 16])
        );
        assert_eq!(parse_salt(&"0a".repeat(15)), None);
        assert_eq!(parse_salt(&"zz".repeat(16)), None);
    }

    #[test]
    fn nothing_of_a_key_is_printed() {
        let printed = format!(
            "{:?} {:?}",
            parsed("secret"),
            parsed(&format!("x'{}'", "ab".repeat(32)))
        );
        assert!(
            !printed.contains("secret") && !printed.contains("171"),
            "{printed}"
        );
    }
}
