//! The samples that SQLCipher itself wrote, and the parameters to read them with.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crypto::secret::SecretBytes;
use serde::Deserialize;
use sqlcipher_format::detect::{Candidate, DetectError, detect};
use sqlcipher_format::key::{Salt, SourceKey, parse_salt};
use sqlcipher_format::page::PageOpener;
use sqlcipher_format::parameters::{Algorithm, Parameters};

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

    /// What the options leave open is tried as the program tries it.
    pub fn candidates(&self) -> Vec<Candidate> {
        let number = |name: &str| {
            self.options
                .get(name)
                .map(|text| text.parse().expect("u32"))
        };
        let algorithm = |name: &str| {
            let name = self.options.get(name)?;
            Some(Algorithm::from_name(name).expect("an algorithm"))
        };
        let versions = match number("sqlcipher-version") {
            Some(version) => vec![u8::try_from(version).expect("a version")],
            None => vec![4, 3, 2, 1],
        };
        let candidate = |version| {
            let mut parameters = Parameters::of_version(version).expect("a version");
            if let Some(iterations) = number("kdf-iter") {
                parameters.kdf_iterations = iterations;
            }
            if let Some(algorithm) = algorithm("cipher-kdf-algorithm") {
                parameters.kdf_algorithm = algorithm;
            }
            if let Some(algorithm) = algorithm("cipher-hmac-algorithm") {
                parameters.hmac_algorithm = Some(algorithm);
            }
            if self.options.contains_key("cipher-use-hmac") {
                parameters.hmac_algorithm = None;
            }
            if let Some(size) = number("cipher-plaintext-header-size") {
                parameters.plaintext_header_size = size;
            }
            Candidate {
                version,
                parameters,
                page_size_known: false,
            }
        };
        versions.into_iter().map(candidate).collect()
    }

    pub fn detect(&self, bytes: &[u8]) -> Result<PageOpener, DetectError> {
        detect(&key(&self.key), self.salt(), &self.candidates(), bytes)
    }
}
