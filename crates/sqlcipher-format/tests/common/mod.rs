//! Sample files written by SQLCipher itself, and the parameters to read them with.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crypto::secret::SecretBytes;
use serde::Deserialize;
use sqlcipher_format::detect::{Candidate, DetectError, Known, detect};
use sqlcipher_format::key::{Salt, SourceKey, parse_salt};
use sqlcipher_format::page::PageOpener;
use sqlcipher_format::parameters::Algorithm;

/// The folder of the samples, with its list of cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sqlcipher")
}

/// A sample of `cases.json`.
#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub key: String,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

pub fn cases() -> Vec<Case> {
    let json = fs::read_to_string(folder().join("cases.json")).expect("the list of cases");
    serde_json::from_str(&json).expect("cases")
}

pub fn case(name: &str) -> Case {
    let found = cases().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("there is no case {name}"))
}

pub fn key(text: &str) -> SourceKey {
    SourceKey::from_pragma(SecretBytes::new(text.into()))
}

impl Case {
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(folder().join(format!("{}.db", self.name))).expect("a sample")
    }

    pub fn salt(&self) -> Option<Salt> {
        let text = self.options.get("cipher-salt")?;
        Some(parse_salt(text).expect("a salt"))
    }

    /// Tries the missing options in the same way as the program does.
    pub fn candidates(&self) -> Vec<Candidate> {
        let text = |name: &str| self.options.get(name).map(String::as_str);
        let number = |name: &str| Some(text(name)?.parse::<u32>().expect("a number"));
        let algorithm = |name: &str| Some(Algorithm::from_name(text(name)?).expect("a name"));
        let known = Known {
            version: number("sqlcipher-version").map(|version| version as u8),
            page_size: number("cipher-page-size"),
            kdf_iterations: number("kdf-iter"),
            kdf_algorithm: algorithm("cipher-kdf-algorithm"),
            hmac_algorithm: algorithm("cipher-hmac-algorithm"),
            use_hmac: text("cipher-use-hmac").map(|text| text == "on"),
            plaintext_header_size: number("cipher-plaintext-header-size"),
        };
        known.candidates()
    }

    pub fn detect(&self, bytes: &[u8]) -> Result<PageOpener, DetectError> {
        detect(&key(&self.key), self.salt(), &self.candidates(), bytes)
    }
}
