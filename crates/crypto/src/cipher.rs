//! Names and codes of the page ciphers.

/// An authenticated cipher for pages. All have 256-bit keys and 128-bit tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// AEGIS-256X2, two lanes of AEGIS-256 (draft-irtf-cfrg-aegis-aead).
    Aegis256X2,
    /// AEGIS-256 (draft-irtf-cfrg-aegis-aead).
    Aegis256,
    /// AES-256-GCM (NIST SP 800-38D) with a sub-key per group of pages, as in XAES-256-GCM.
    Aes256Gcm,
    /// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha), for processors without AES instructions.
    XChaCha20Poly1305,
}

impl Cipher {
    /// Every cipher, in the order of the codes.
    pub const ALL: [Self; 4] = [
        Self::Aegis256X2,
        Self::Aegis256,
        Self::Aes256Gcm,
        Self::XChaCha20Poly1305,
    ];

    /// The name that users read and write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aegis256X2 => "aegis-256x2",
            Self::Aegis256 => "aegis-256",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::XChaCha20Poly1305 => "xchacha20-poly1305",
        }
    }

    /// Parses a name as [`Cipher::name`] writes it; `None` for any other text.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cipher| cipher.name() == name)
    }

    /// The code of the cipher in a file. Codes are never reused.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Aegis256X2 => 1,
            Self::Aegis256 => 2,
            Self::Aes256Gcm => 3,
            Self::XChaCha20Poly1305 => 4,
        }
    }

    /// The cipher with this code; `None` for a code that this version does not know.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|cipher| cipher.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_lead_back_to_their_cipher() {
        for cipher in Cipher::ALL {
            assert_eq!(Cipher::from_name(cipher.name()), Some(cipher));
            assert_eq!(Cipher::from_code(cipher.code()), Some(cipher));
        }
    }

    #[test]
    fn unknown_names_and_codes_name_no_cipher() {
        for name in ["", "AEGIS-256", "aegis-256x4", "aes-256-gcm "] {
            assert_eq!(Cipher::from_name(name), None, "{name:?}");
        }
        for code in [0, 5, 255] {
            assert_eq!(Cipher::from_code(code), None, "{code}");
        }
    }
}
