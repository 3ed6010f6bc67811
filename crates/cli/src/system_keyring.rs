//! Keys in the system's keyring: Secret Service (GNOME, KDE), macOS Keychain, Windows Credential
//! Manager.
//!
//! An entry is a text of 64 hexadecimal digits under the service `strongroom` and a name, so that
//! the keyring's own programs can show and create it.

use anyhow::{anyhow, bail};
use crypto::secret::{Key, SecretBytes};
use keyring::source::parse_raw_key;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Advice for users without a keyring.
const OTHER_SOURCES: &str =
    "give the key by --key-file, --key-command, --key-fd or --key-env, or a passphrase";

/// Maximum length of a name, within the limits of all keyrings.
const NAME_SIZE_MAX: usize = 255;

/// The name of a key in the keyring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// Why a text is not a valid name.
#[derive(Debug, Error)]
pub enum NameError {
    /// An empty name would match entries of any name on macOS.
    #[error("the name is empty; choose one, such as that of the database")]
    Empty,
    /// Too long.
    #[error("the name is longer than {NAME_SIZE_MAX} bytes; choose a shorter one")]
    TooLong,
    /// A control character could not be displayed.
    #[error("the name holds a control character; choose one without")]
    ControlCharacter,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_SIZE_MAX {
            return Err(NameError::TooLong);
        }
        if text.contains(char::is_control) {
            return Err(NameError::ControlCharacter);
        }
        Ok(Name(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What is stored under a name.
#[cfg_attr(
    not(feature = "system-keyring"),
    expect(dead_code, reason = "without the feature every look fails")
)]
enum Found {
    Nothing,
    Text(SecretBytes),
    /// An entry that this program did not create.
    Unusable(&'static str),
}

/// The key under a name.
///
/// # Errors
///
/// If there is no keyring, no such entry, or no key in it.
pub fn read(name: &Name) -> anyhow::Result<Key> {
    match backend::find(name)? {
        Found::Nothing => bail!(absent(name)),
        Found::Unusable(why) => bail!("the entry {name} of the system's keyring {why}"),
        Found::Text(text) => parse_raw_key(text.expose()).ok_or_else(|| {
            anyhow!(
                "the entry {name} of the system's keyring does not hold a key: 64 hexadecimal \
                 digits are wanted. `strongroom key store` makes one under another name"
            )
        }),
    }
}

/// Whether a name is taken, by a key or by anything else.
///
/// # Errors
///
/// If there is no keyring.
pub fn exists(name: &Name) -> anyhow::Result<bool> {
    Ok(!matches!(backend::find(name)?, Found::Nothing))
}

/// Stores a key under a name, and reads it back.
///
/// # Errors
///
/// If there is no keyring, or it does not return what was stored.
pub fn write(name: &Name, key: &Key) -> anyhow::Result<()> {
    backend::write(name, &store::key_file::digits(key))?;
    if !read(name)?.constant_time_eq(key) {
        bail!(
            "the system's keyring gives back another key than it was given under the name \
             {name}; do not use it, choose another name"
        );
    }
    Ok(())
}

/// Removes the entry of a name.
///
/// # Errors
///
/// If there is no keyring, or it keeps the entry.
pub fn delete(name: &Name) -> anyhow::Result<()> {
    backend::delete(name)
}

/// The message for a name without an entry.
pub fn absent(name: &Name) -> String {
    format!(
        "the system's keyring holds no key {name}; check the name (`strongroom key store` puts one \
         there), or {OTHER_SOURCES}"
    )
}

#[cfg(feature = "system-keyring")]
mod backend {
    use super::{Found, Name, OTHER_SOURCES};
    use anyhow::anyhow;
    use crypto::secret::SecretBytes;
    use system_keyring::{Entry, Error};

    const SERVICE: &str = "strongroom";

    pub fn find(name: &Name) -> anyhow::Result<Found> {
        match entry(name)?.get_password() {
            Ok(text) => Ok(Found::Text(SecretBytes::new(text.into_bytes()))),
            Err(Error::NoEntry) => Ok(Found::Nothing),
            Err(Error::BadEncoding(bytes) | Error::BadDataFormat(bytes, _)) => {
                drop(SecretBytes::new(bytes));
                Ok(Found::Unusable("is no text, and so no key"))
            }
            Err(Error::Ambiguous(_)) => Ok(Found::Unusable(
                "is there more than once; remove all but the right one with the keyring's own \
                 program",
            )),
            Err(error) => Err(explained(&error)),
        }
    }

    pub fn write(name: &Name, text: &str) -> anyhow::Result<()> {
        let written = entry(name)?.set_password(text);
        written.map_err(|error| explained(&error))
    }

    pub fn delete(name: &Name) -> anyhow::Result<()> {
        let deleted = entry(name)?.delete_credential();
        deleted.map_err(|error| explained(&error))
    }

    fn entry(name: &Name) -> anyhow::Result<Entry> {
        if let Err(error) = Entry::store_status() {
            return Err(anyhow!(
                "there is no keyring of the system to be reached ({error}); where nobody is \
                 logged in to a desktop there often is none: {OTHER_SOURCES}"
            ));
        }
        Entry::new(SERVICE, &name.0).map_err(|error| explained(&error))
    }

    fn explained(error: &Error) -> anyhow::Error {
        match error {
            Error::NoStorageAccess(cause) => anyhow!(
                "the system's keyring is locked, or there is none yet ({cause}); unlock or make \
                 it by its own program and try again, or {OTHER_SOURCES}"
            ),
            Error::Ambiguous(_) => anyhow!(
                "the system's keyring has several entries of this name; remove all but the right \
                 one with the keyring's own program"
            ),
            // Its list of errors may grow. None of the remaining ones contains what an entry holds.
            other => anyhow!("the system's keyring fails ({other}); {OTHER_SOURCES}"),
        }
    }
}

#[cfg(not(feature = "system-keyring"))]
mod backend {
    use super::{Found, Name, OTHER_SOURCES};
    use anyhow::bail;

    pub fn find(_name: &Name) -> anyhow::Result<Found> {
        bail!(
            "this program was built without access to the system's keyring (feature \
             `system-keyring`); {OTHER_SOURCES}"
        )
    }

    pub fn write(name: &Name, _text: &str) -> anyhow::Result<()> {
        find(name).map(|_| ())
    }

    pub fn delete(name: &Name) -> anyhow::Result<()> {
        find(name).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mislead_are_refused() {
        assert_eq!("laptop".parse::<Name>().unwrap().to_string(), "laptop");
        assert!("zwei Wörter".parse::<Name>().is_ok());
        assert!(matches!("".parse::<Name>(), Err(NameError::Empty)));
        let long = "n".repeat(NAME_SIZE_MAX);
        assert!(long.parse::<Name>().is_ok());
        let error = format!("{long}n").parse::<Name>();
        assert!(matches!(error, Err(NameError::TooLong)));
        let error = "a\u{1b}[2J".parse::<Name>();
        assert!(matches!(error, Err(NameError::ControlCharacter)));
    }
}
