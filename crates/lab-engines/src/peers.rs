//! Other products that encrypt SQLite, as installed by `strongroom lab install`.

use std::fs;
use std::path::Path;

use lab::engine::Cause;
use sqlite_api::Library;

use crate::connection::{DATABASE_FILE, Opening, uri};
use crate::engine::{NOSYNC, SYNC, SqliteEngine, Storage};
use crate::install;

/// A product with one of its ciphers.
#[derive(Clone, Copy)]
struct Product {
    /// The engine's name.
    name: &'static str,
    /// The installable it needs.
    library: &'static str,
    title: &'static str,
    cipher: &'static str,
    /// Run before the key is given.
    chooses_cipher: Option<&'static str>,
    passphrase_derivation: &'static str,
    /// The pragma that sets a 32-byte key without derivation.
    raw_key: &'static str,
    reports: &'static [(&'static str, &'static str)],
}

/// Protects nothing: the databases live only as long as a pass.
const PASSPHRASE: &str = "key = 'a passphrase that protects nothing'";

const SQLITE3MC_REPORTS: &[(&str, &str)] = &[
    ("sqlite3mc", "SELECT sqlite3mc_version()"),
    ("cipher", "PRAGMA cipher"),
];

/// 32 bytes, in hexadecimal.
macro_rules! raw_key {
    () => {
        "2b7e151628aed2a6abf7158809cf4f3c603deb1015ca71be2b73aef0857d7781"
    };
}

const PRODUCTS: [Product; 3] = [
    Product {
        name: "sqlcipher",
        library: "sqlcipher",
        title: "SQLCipher",
        cipher: "aes-256-cbc with hmac-sha512",
        chooses_cipher: None,
        passphrase_derivation: "PBKDF2, 256,000 rounds",
        raw_key: concat!("key = \"x'", raw_key!(), "'\""),
        reports: &[
            ("sqlcipher", "PRAGMA cipher_version"),
            ("cipher_provider", "PRAGMA cipher_provider_version"),
        ],
    },
    Product {
        name: "sqlite3mc-chacha20",
        library: "sqlite3mc",
        title: "SQLite3MultipleCiphers",
        cipher: "chacha20-poly1305",
        chooses_cipher: Some("cipher = 'chacha20'"),
        passphrase_derivation: "PBKDF2, 64,007 rounds",
        raw_key: concat!("key = 'raw:", raw_key!(), "'"),
        reports: SQLITE3MC_REPORTS,
    },
    Product {
        name: "sqlite3mc-aegis",
        library: "sqlite3mc",
        title: "SQLite3MultipleCiphers",
        cipher: "aegis-256",
        chooses_cipher: Some("cipher = 'aegis'"),
        passphrase_derivation: "Argon2id",
        raw_key: concat!("key = 'raw:", raw_key!(), "'"),
        reports: SQLITE3MC_REPORTS,
    },
];

struct Peer {
    product: Product,
    key: &'static str,
}

pub(crate) fn family() -> Vec<SqliteEngine> {
    PRODUCTS.iter().copied().flat_map(members).collect()
}

fn members(product: Product) -> Vec<SqliteEngine> {
    let Product {
        name,
        title,
        cipher,
        ..
    } = product;
    let derivation = product.passphrase_derivation;
    let raw = format!("{name}-rawkey");
    let with_passphrase = format!("{title}, {cipher}, passphrase by {derivation}");
    let with_raw_key = format!("{title}, {cipher}, key without derivation");
    let kinds = [
        (name, with_passphrase, PASSPHRASE),
        (raw.as_str(), with_raw_key, product.raw_key),
    ];
    let mut members = Vec::new();
    for (name, description, key) in kinds {
        for variant in [SYNC, NOSYNC] {
            let peer = Peer { product, key };
            let family = product.library;
            members.push(variant.engine(family, name, &description, Some(cipher), peer));
        }
    }
    members
}

#[derive(Debug, thiserror::Error)]
#[error("{title} is not installed; `strongroom lab install {library}` compiles it")]
struct NotInstalled {
    title: &'static str,
    library: &'static str,
}

impl Storage for Peer {
    fn opening(&self, folder: &Path, _new: bool) -> Result<Opening, Cause> {
        let Product { library, title, .. } = self.product;
        let installed = install::named(library)?;
        let path = (installed.find)(installed).ok_or(NotInstalled { title, library })?;
        let uri = uri(&folder.join(DATABASE_FILE), &[]);
        let mut opening = Opening::new(Library::load(&path)?, uri);
        let pragmas = self.product.chooses_cipher.into_iter().chain([self.key]);
        opening.key_pragmas = pragmas.map(str::to_owned).collect();
        opening.reports = self.product.reports.to_vec();
        let how = path.with_file_name(install::HOW_FILE);
        opening.compiled = fs::read_to_string(how).ok();
        Ok(opening)
    }
}
