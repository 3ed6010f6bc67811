//! Which key a file is opened with: the one that its URI names, else the one from the environment.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;

use crypto::cipher::Cipher;
use keyring::Credential;
use keyring::source::{KeySource, KeySourceError};
use keyring::work::{WorkLimit, WorkLimitError};
use thiserror::Error;

use crate::abi::SQLITE_NOTADB;
use crate::api::SqliteApi;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};

/// What the URI of a database, or the environment, requests.
pub(crate) struct Request {
    pub credential: Option<Credential>,
    pub cipher: Option<Cipher>,
    pub map: bool,
    /// Whether pages of a new database carry versions.
    pub freshness: Option<bool>,
    /// The URI explicitly requests a plain database.
    pub plain: bool,
    /// The URI names the file or environment variable that holds the key.
    pub named_by_uri: bool,
    /// Limit on the work of unlocking, before the header is known to be genuine.
    pub unlock_work: WorkLimit,
    /// Whether SQL may change keys.
    pub keys_in_sql: Option<bool>,
}

impl Request {
    /// The request of a file that is not opened.
    pub fn refused() -> Self {
        Request {
            credential: None,
            cipher: None,
            map: true,
            freshness: None,
            plain: false,
            named_by_uri: false,
            unlock_work: WorkLimit::DEFAULT,
            keys_in_sql: None,
        }
    }
}

/// Why the request cannot be met.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// A source from the environment, which was chosen by whoever runs the program.
    #[error(transparent)]
    Source(#[from] KeySourceError),
    /// A source from the URI. SQL can supply a URI, and must not learn about other files from the
    /// error.
    #[error("{}", NOT_BY_THIS_KEY)]
    Named(KeySourceError),
    #[error("the URI names an unknown cipher; known are {}", cipher_names())]
    Cipher,
    #[error("the key token in the URI is not valid (any more)")]
    Token,
    #[error("the URI gives more than one key; give one")]
    Several,
    #[error(transparent)]
    Work(#[from] WorkLimitError),
    #[error("keys_in_sql in the URI is on or off")]
    KeysInSql,
}

/// The single message for any failure of a key source that the URI of an attached database names:
/// it must not reveal whether the source is missing, unreadable, holds no key, or holds another
/// key.
const NOT_BY_THIS_KEY: &str = "the key that the URI names does not open this database: its \
                               source cannot be read, holds no key, or another one; SQLite's \
                               error log says which";

/// The names of all ciphers, for error messages.
pub(crate) fn cipher_names() -> String {
    Cipher::ALL.map(Cipher::name).join(", ")
}

/// The name of an open database. SQLite stores the URI parameters behind it.
#[derive(Clone, Copy)]
pub(crate) struct FileName(*const c_char);

impl FileName {
    /// # Safety
    /// `name` must be the file name that SQLite passed to `xOpen` for a main database, and must
    /// live while the value is used.
    pub unsafe fn new(name: *const c_char) -> Self {
        FileName(name)
    }

    /// Its address in memory.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// The address where SQLite stores the name of the journal: behind the URI parameters.
    pub fn journal_address(self) -> usize {
        let mut at = self.0;
        // SAFETY: reads what `sqlite3_uri_parameter` reads: the name, then pairs of strings, up to
        // an empty one. Nothing beyond that is read.
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

/// Reads the request from URI and environment.
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
    let unlock_work = match name.parameter("unlock_work") {
        Some(text) => WorkLimit::parse(&text)?,
        None => WorkLimit::of_process()?,
    };
    let keys_in_sql = match name.parameter("keys_in_sql").as_deref() {
        None => None,
        Some("on" | "1" | "yes" | "true") => Some(true),
        Some("off" | "0" | "no" | "false") => Some(false),
        Some(_) => return Err(RequestError::KeysInSql),
    };
    let mut named_by_uri = false;
    let credential = match from_uri(name)? {
        _ if plain => None,
        Some(given) => {
            named_by_uri = given.named;
            Some(given.credential)
        }
        None => from_environment()?,
    };
    Ok(Request {
        keys_in_sql,
        unlock_work,
        named_by_uri,
        credential,
        cipher,
        map,
        freshness,
        plain,
    })
}

/// Key parameters of a URI.
struct UriKey {
    credential: Credential,
    /// The key source is named in the URI. False for a token, which only the process itself can
    /// create.
    named: bool,
}

fn from_uri(name: FileName) -> Result<Option<UriKey>, RequestError> {
    // No parameter runs a command: SQL can supply a URI (ATTACH), and SQL must not start programs.
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
        [("key_token", value)] => match crate::tokens::redeem(value) {
            Some(credential) => Ok(Some(UriKey {
                credential,
                named: false,
            })),
            None => Err(RequestError::Token),
        },
        [(parameter, value)] => match read(parameter, value) {
            Ok(credential) => Ok(Some(UriKey {
                credential,
                named: true,
            })),
            Err(error) => Err(RequestError::Named(error)),
        },
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
            Ok(value) if !value.is_empty() => return Ok(Some(read(parameter, &value)?)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
}

fn read(parameter: &str, value: &str) -> Result<Credential, KeySourceError> {
    let value = value.to_owned();
    Ok(match parameter {
        "key_file" => Credential::key_file(KeySource::File(PathBuf::from(value)).read_raw_key()?),
        "key_env" => Credential::raw_key(KeySource::Environment(value).read_raw_key()?),
        "key_command" => Credential::raw_key(KeySource::Command(value).read_raw_key()?),
        "passphrase_file" => passphrase(KeySource::File(PathBuf::from(value)))?,
        "passphrase_env" => passphrase(KeySource::Environment(value))?,
        _ => passphrase(KeySource::Command(value))?,
    })
}

fn passphrase(source: KeySource) -> Result<Credential, KeySourceError> {
    Ok(Credential::Passphrase(source.read_passphrase()?))
}

impl Database {
    /// Loads the file as far as its request allows.
    pub fn load_as_asked(&mut self, problem: Option<RequestError>) -> Outcome {
        match problem {
            None => self.load(),
            // The file stays locked, and PRAGMA strongroom_last_error says why: a failed open could
            // not carry a message.
            Some(RequestError::Named(reason)) => {
                self.load()?;
                match &self.state {
                    State::Plain => self.refuse_plain(),
                    State::New(_) => {
                        self.state = State::Broken;
                        self.fail_concealed(reason.to_string());
                    }
                    State::Locked => {
                        self.fail_concealed(reason.to_string());
                    }
                    State::Open(_) | State::Broken => {}
                }
                Ok(())
            }
            Some(error) => {
                self.state = State::Broken;
                self.fail(SQLITE_NOTADB, error.to_string());
                Ok(())
            }
        }
    }
    /// Writes the reason to SQLite's error log, which SQL cannot read, and records it on the main
    /// database.
    pub fn fail_concealed(&mut self, reason: String) -> Code {
        let message = format!("strongroom: {}: {reason}", self.identity.path);
        SqliteApi::get().write_log(SQLITE_NOTADB, &message);
        let code = self.fail(SQLITE_NOTADB, NOT_BY_THIS_KEY);
        self.failures.concealed = Some(reason);
        code
    }
}
