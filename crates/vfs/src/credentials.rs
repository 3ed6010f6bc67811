//! Which key a file is to be opened with: its URI decides, else the environment.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;

use crypto::cipher::Cipher;
use keyring::Credential;
use keyring::source::{KeySource, KeySourceError};
use thiserror::Error;

use crate::api::SqliteApi;

/// What the URI of a database, or the environment, asks for.
#[derive(Default)]
pub(crate) struct Request {
    pub credential: Option<Credential>,
    pub cipher: Option<Cipher>,
    pub map: bool,
    /// Whether pages of a new database are to tell their version.
    pub freshness: Option<bool>,
    /// The URI asks for a plain database in so many words.
    pub plain: bool,
}

/// Why the request cannot be met.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Source(#[from] KeySourceError),
    #[error("the URI names an unknown cipher; known are {}", cipher_names())]
    Cipher,
    #[error("the key token in the URI is not valid (any more)")]
    Token,
    #[error("the URI gives more than one key; give one")]
    Several,
}

/// The names of all ciphers, for messages.
pub(crate) fn cipher_names() -> String {
    Cipher::ALL.map(Cipher::name).join(", ")
}

/// The name of an open database, whose URI parameters SQLite keeps behind it.
#[derive(Clone, Copy)]
pub(crate) struct FileName(*const c_char);

impl FileName {
    /// # Safety
    /// `name` must be the file name that SQLite passed to `xOpen` for a main database, and must
    /// live while the value is used.
    pub unsafe fn new(name: *const c_char) -> Self {
        FileName(name)
    }

    /// Where it stands in memory.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// Where SQLite keeps the name of the database's journal: behind the URI parameters.
    pub fn journal_address(self) -> usize {
        let mut at = self.0;
        // SAFETY: as `sqlite3_uri_parameter` goes through them: the name, then pairs of strings, up
        // to an empty one. Nothing behind that is read.
        unsafe {
            at = at.add(CStr::from_ptr(at).count_bytes() + 1);
            while *at != 0 {
                at = at.add(CStr::from_ptr(at).count_bytes() + 1);
                at = at.add(CStr::from_ptr(at).count_bytes() + 1);
            }
        }
        at as usize + 1
    }

    /// A parameter of its URI.
    pub fn parameter(self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: a name that SQLite passed to xOpen is what this function takes; it returns null
        // or a string that lives as long as the name.
        unsafe {
            let value = (SqliteApi::get().uri_parameter)(self.0, name.as_ptr());
            if value.is_null() {
                return None;
            }
            Some(CStr::from_ptr(value).to_string_lossy().into_owned())
        }
    }
}

/// Gathers what URI and environment ask for.
pub(crate) fn request(name: FileName) -> Result<Request, RequestError> {
    let cipher = match name.parameter("cipher") {
        Some(text) => Some(Cipher::from_name(&text).ok_or(RequestError::Cipher)?),
        None => None,
    };
    let is = |parameter: &str, values: &[&str]| {
        name.parameter(parameter)
            .is_some_and(|value| values.contains(&value.as_str()))
    };
    let plain = is("plain", &["on", "1", "yes", "true"]);
    let map = !is("mmap", &["off", "0", "no", "false"]);
    let freshness = is("freshness", &["on", "1", "yes", "true"]).then_some(true);
    let credential = if plain {
        None
    } else {
        from_uri(name)?.map_or_else(from_environment, some)?
    };
    Ok(Request {
        credential,
        cipher,
        map,
        freshness,
        plain,
    })
}

fn some(credential: Credential) -> Result<Option<Credential>, RequestError> {
    Ok(Some(credential))
}

fn from_uri(name: FileName) -> Result<Option<Credential>, RequestError> {
    // No parameter runs a command: SQL can carry a URI (ATTACH), and SQL must not start programs.
    const PARAMETERS: [&str; 5] = [
        "key_token",
        "key_file",
        "key_env",
        "passphrase_file",
        "passphrase_env",
    ];
    let given: Vec<(&str, String)> = PARAMETERS
        .iter()
        .filter_map(|parameter| Some((*parameter, name.parameter(parameter)?)))
        .collect();
    match given.as_slice() {
        [] => Ok(None),
        [(parameter, value)] => read(parameter, value).map(Some),
        _ => Err(RequestError::Several),
    }
}

fn from_environment() -> Result<Option<Credential>, RequestError> {
    const VARIABLES: [(&str, &str); 3] = [
        ("STRONGROOM_KEY_FILE", "key_file"),
        ("STRONGROOM_KEY_COMMAND", "key_command"),
        ("STRONGROOM_PASSPHRASE_FILE", "passphrase_file"),
    ];
    for (variable, parameter) in VARIABLES {
        match std::env::var(variable) {
            Ok(value) if !value.is_empty() => return read(parameter, &value).map(Some),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
}

fn read(parameter: &str, value: &str) -> Result<Credential, RequestError> {
    let value = value.to_owned();
    Ok(match parameter {
        "key_token" => crate::tokens::redeem(&value).ok_or(RequestError::Token)?,
        "key_file" => Credential::key_file(KeySource::File(PathBuf::from(value)).read_raw_key()?),
        "key_env" => Credential::raw_key(KeySource::Environment(value).read_raw_key()?),
        "key_command" => Credential::raw_key(KeySource::Command(value).read_raw_key()?),
        "passphrase_file" => passphrase(KeySource::File(PathBuf::from(value)))?,
        "passphrase_env" => passphrase(KeySource::Environment(value))?,
        _ => passphrase(KeySource::Command(value))?,
    })
}

fn passphrase(source: KeySource) -> Result<Credential, RequestError> {
    Ok(Credential::Passphrase(source.read_passphrase()?))
}
