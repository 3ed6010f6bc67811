//! The schema of a vector file in `vectors/crypto/`, shared by the test that reads them and the
//! example that writes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// What the file proves, in one sentence.
    pub proves: String,
    /// Where the numbers come from; absent if they are our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The operation, its inputs and its expected result.
    pub check: Check,
}

/// An operation, its inputs and its outcome.
#[derive(Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// `page`: open, and, if it opens, seal again.
    Page {
        key: Hex,
        nonce: Hex,
        kind: u8,
        location: u64,
        context: u64,
        associated: Hex,
        /// The same page as each cipher sealed it.
        sealed: Vec<SealedPage>,
        outcome: Outcome,
    },
    /// `page`: AES-256-GCM under the sub-key of a group.
    SubKeys {
        key: Hex,
        nonce: Hex,
        associated: Hex,
        plaintext: Hex,
        groups: Vec<SubKey>,
    },
    /// `wrap`: unwrap, and, if it opens, wrap again.
    WrappedKey {
        key_encryption_key: Hex,
        nonce: Hex,
        associated: Hex,
        wrapped: Hex,
        outcome: Outcome,
    },
    /// `kdf`: Argon2id.
    Passphrase {
        passphrase: Hex,
        salt: Hex,
        memory_kib: u32,
        passes: u32,
        lanes: u32,
        outcome: Derivation,
    },
    /// `kdf`: HKDF-SHA256.
    DerivedKey {
        secret: Hex,
        salt: Hex,
        info: Hex,
        key: Hex,
    },
    /// `mask`: block, both ways.
    MaskedBlock {
        key: Hex,
        tweak: Hex,
        plaintext: Hex,
        ciphertext: Hex,
    },
    /// `mask`: word.
    MaskWord {
        key: Hex,
        nonce: Hex,
        location: u32,
        word: u32,
    },
    /// `mac`: HMAC-SHA256.
    Authentication {
        key: Hex,
        data: Hex,
        tag: Hex,
        outcome: Verdict,
    },
    /// `mac`: SHA-256.
    Checksum { data: Hex, checksum: Hex },
    /// XAES-256-GCM with the derivation of `kdf`; the tag follows the ciphertext.
    Xaes256Gcm {
        key: Hex,
        nonce: Hex,
        associated: Hex,
        plaintext: Hex,
        ciphertext: Hex,
    },
    /// A cipher as implemented by its library.
    LibraryCipher {
        name: LibraryCipher,
        key: Hex,
        nonce: Hex,
        associated: Hex,
        ciphertext: Hex,
        tag: Hex,
        outcome: Outcome,
    },
    /// XTS-AES-256 as implemented by its library, one sector.
    LibraryXts {
        key_1: Hex,
        key_2: Hex,
        tweak: Hex,
        plaintext: Hex,
        ciphertext: Hex,
    },
    /// Argon2id as implemented by its library, with the inputs that we do not use.
    LibraryArgon2id {
        password: Hex,
        salt: Hex,
        secret: Hex,
        associated: Hex,
        memory_kib: u32,
        passes: u32,
        lanes: u32,
        tag: Hex,
    },
    /// HKDF-SHA256 as implemented by its library.
    LibraryHkdf {
        secret: Hex,
        salt: Hex,
        info: Hex,
        output: Hex,
    },
    /// HMAC-SHA256 as implemented by its library.
    LibraryHmac { key: Hex, data: Hex, tag: Hex },
}

/// A page as one cipher sealed it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedPage {
    pub cipher: String,
    pub ciphertext: Hex,
    pub tag: Hex,
}

/// The sub-key of the group that a place belongs to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubKey {
    pub kind: u8,
    pub location: u64,
    pub sub_key: Hex,
}

/// The expected result of opening.
#[derive(Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outcome {
    Opens { plaintext: Hex },
    NotAuthentic,
}

/// The expected result of deriving a key from a passphrase.
#[derive(Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Derivation {
    Derives { key: Hex },
    BelowFloor,
    AboveCeiling,
}

/// The expected result of verifying.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Authentic,
    NotAuthentic,
}

/// Ciphers whose libraries are checked against published vectors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LibraryCipher {
    #[serde(rename = "aegis-256x2")]
    Aegis256X2,
    #[serde(rename = "aegis-256")]
    Aegis256,
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    #[serde(rename = "xchacha20-poly1305")]
    XChaCha20Poly1305,
}

/// Bytes, written as lower-case hexadecimal.
pub struct Hex(pub Vec<u8>);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.as_bytes();
        let is_lower_hex = digits
            .iter()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if digits.len() % 2 != 0 || !is_lower_hex {
            return Err(serde::de::Error::custom("not lower-case hexadecimal"));
        }
        let value = |digit: u8| {
            if digit <= b'9' {
                digit - b'0'
            } else {
                digit - b'a' + 10
            }
        };
        let (pairs, _) = digits.as_chunks::<2>();
        Ok(Self(
            pairs
                .iter()
                .map(|[high, low]| value(*high) << 4 | value(*low))
                .collect(),
        ))
    }
}
