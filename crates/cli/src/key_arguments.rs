//! Key sources on the command line. Arguments never contain the keys themselves.

use crate::system_keyring::{self, Name};
use crate::terminal;
use anyhow::{Context, bail};
use clap::Args;
use crypto::secret::Key;
use keyring::Credential;
use keyring::source::KeySource;
use keyring::work::WorkLimit;
use shell::console::NamedKey;
use std::error::Error;
use std::path::PathBuf;

/// The key of a database, and how long a passphrase may take.
#[derive(Args, Debug, Default)]
#[group(skip)]
pub struct KeyArguments {
    #[command(flatten)]
    from: SourceArguments,
    /// Work that a file may ask for to try a passphrase, in times of the default [default: 4]
    #[arg(long, value_name = "N", help_heading = "Key")]
    unlock_work: Option<WorkLimit>,
}

/// Where the key of a database comes from; without any of these it is asked for.
#[derive(Args, Debug, Default)]
#[group(multiple = false)]
struct SourceArguments {
    /// File with a key: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE", help_heading = "Key")]
    key_file: Option<PathBuf>,
    /// File with a passphrase
    #[arg(long, value_name = "FILE", help_heading = "Key")]
    passphrase_file: Option<PathBuf>,
    /// Open file descriptor with a key
    #[arg(long, value_name = "N", help_heading = "Key")]
    key_fd: Option<i32>,
    /// Open file descriptor with a passphrase
    #[arg(long, value_name = "N", help_heading = "Key")]
    passphrase_fd: Option<i32>,
    /// Command that writes a key to its standard output
    #[arg(long, value_name = "COMMAND", help_heading = "Key")]
    key_command: Option<String>,
    /// Command that writes a passphrase to its standard output
    #[arg(long, value_name = "COMMAND", help_heading = "Key")]
    passphrase_command: Option<String>,
    /// Environment variable with a key
    #[arg(long, value_name = "NAME", help_heading = "Key")]
    key_env: Option<String>,
    /// Environment variable with a passphrase
    #[arg(long, value_name = "NAME", help_heading = "Key")]
    passphrase_env: Option<String>,
    /// Key that the system's keyring holds under this name; see `key store`
    #[arg(long, value_name = "NAME", help_heading = "Key")]
    key_keyring: Option<Name>,
}

/// Where a new key comes from; without any of these a passphrase is asked for, twice.
#[derive(Args, Debug, Default)]
#[group(multiple = false)]
pub struct NewKeyArguments {
    /// File with the new key: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE", help_heading = "New key")]
    new_key_file: Option<PathBuf>,
    /// File with the new passphrase
    #[arg(long, value_name = "FILE", help_heading = "New key")]
    new_passphrase_file: Option<PathBuf>,
    /// Open file descriptor with the new key
    #[arg(long, value_name = "N", help_heading = "New key")]
    new_key_fd: Option<i32>,
    /// Open file descriptor with the new passphrase
    #[arg(long, value_name = "N", help_heading = "New key")]
    new_passphrase_fd: Option<i32>,
    /// Command that writes the new key to its standard output
    #[arg(long, value_name = "COMMAND", help_heading = "New key")]
    new_key_command: Option<String>,
    /// Command that writes the new passphrase to its standard output
    #[arg(long, value_name = "COMMAND", help_heading = "New key")]
    new_passphrase_command: Option<String>,
    /// Environment variable with the new key
    #[arg(long, value_name = "NAME", help_heading = "New key")]
    new_key_env: Option<String>,
    /// Environment variable with the new passphrase
    #[arg(long, value_name = "NAME", help_heading = "New key")]
    new_passphrase_env: Option<String>,
    /// Key that the system's keyring holds under this name; see `key store`
    #[arg(long, value_name = "NAME", help_heading = "New key")]
    new_key_keyring: Option<Name>,
}

/// A source, and what is read from it.
enum Source {
    Key(KeySource),
    Passphrase(KeySource),
    Keyring(Name),
}

impl Source {
    fn warn_of_others(&self) {
        let (content, source) = match self {
            Source::Key(source) => ("key", source),
            Source::Passphrase(source) => ("passphrase", source),
            Source::Keyring(_) => return,
        };
        if let (KeySource::File(path), Some(exposed)) = (source, source.exposure()) {
            eprintln!(
                "strongroom: warning: the {content} file {} {}",
                path.display(),
                exposed.exposure()
            );
        }
    }

    fn read(self) -> anyhow::Result<Credential> {
        self.warn_of_others();
        Ok(match self {
            Source::Key(source @ KeySource::File(_)) => {
                Credential::key_file(source.read_raw_key()?)
            }
            Source::Key(source) => Credential::raw_key(source.read_raw_key()?),
            Source::Passphrase(source) => Credential::Passphrase(source.read_passphrase()?),
            Source::Keyring(name) => Credential::raw_key(system_keyring::read(&name)?),
        })
    }
}

impl KeyArguments {
    fn given(&self) -> Option<Source> {
        if let Some(limit) = self.unlock_work {
            limit.set_for_process();
        }
        self.given_by_option().or_else(from_environment)
    }

    fn given_by_option(&self) -> Option<Source> {
        let key = |source| Some(Source::Key(source));
        let passphrase = |source| Some(Source::Passphrase(source));
        None.or_else(|| key(KeySource::File(self.from.key_file.clone()?)))
            .or_else(|| passphrase(KeySource::File(self.from.passphrase_file.clone()?)))
            .or_else(|| key(KeySource::Descriptor(self.from.key_fd?)))
            .or_else(|| passphrase(KeySource::Descriptor(self.from.passphrase_fd?)))
            .or_else(|| key(KeySource::Command(self.from.key_command.clone()?)))
            .or_else(|| passphrase(KeySource::Command(self.from.passphrase_command.clone()?)))
            .or_else(|| key(KeySource::Environment(self.from.key_env.clone()?)))
            .or_else(|| passphrase(KeySource::Environment(self.from.passphrase_env.clone()?)))
            .or_else(|| Some(Source::Keyring(self.from.key_keyring.clone()?)))
    }

    /// The raw key named by an option, for callers that accept neither a passphrase nor a prompt.
    /// The environment is ignored, because it is meant for a database.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is a passphrase.
    pub fn read_raw_key(&self) -> anyhow::Result<Option<Key>> {
        let Some(given) = self.given_by_option() else {
            return Ok(None);
        };
        given.warn_of_others();
        match given {
            Source::Key(source) => Ok(Some(source.read_raw_key()?)),
            Source::Keyring(name) => system_keyring::read(&name).map(Some),
            Source::Passphrase(_) => bail!(
                "only a key of 256 bits can be stored, no passphrase; give --key-file or the \
                 like, or nothing for a new key"
            ),
        }
    }

    /// The credential named by the options or the environment, if any.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(&self) -> anyhow::Result<Option<Credential>> {
        self.given().map(Source::read).transpose()
    }

    /// The credential for opening a database: named, or asked for.
    ///
    /// # Errors
    ///
    /// If it cannot be read or asked for.
    pub fn open(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask("Passphrase: ", "--key-file, --passphrase-file"),
        }
    }

    /// The credential for a new database: named, or asked for twice.
    ///
    /// # Errors
    ///
    /// If it cannot be read or asked for.
    pub fn create(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask_twice("--key-file, --passphrase-file"),
        }
    }
}

/// The key for all databases of a session. It is read again for each, so that it need not be kept.
pub struct SessionKey {
    arguments: KeyArguments,
    /// The key from a descriptor, which can be read only once.
    kept: Option<Credential>,
}

impl SessionKey {
    /// The key named by these options, or by the environment.
    pub fn new(arguments: KeyArguments) -> Self {
        SessionKey {
            arguments,
            kept: None,
        }
    }

    /// The key for the first database.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn first(&mut self) -> anyhow::Result<Option<Credential>> {
        let credential = self.arguments.read()?;
        let from = &self.arguments.from;
        if from.key_fd.is_some() || from.passphrase_fd.is_some() {
            self.kept = credential.as_ref().map(Credential::duplicate);
        }
        Ok(credential)
    }
}

impl NamedKey for SessionKey {
    fn read(&mut self) -> Result<Option<Credential>, Box<dyn Error + Send + Sync>> {
        match &self.kept {
            Some(kept) => Ok(Some(kept.duplicate())),
            None => Ok(self.arguments.read()?),
        }
    }
}

impl NewKeyArguments {
    fn given(&self) -> Option<Source> {
        let key = |source| Some(Source::Key(source));
        let passphrase = |source| Some(Source::Passphrase(source));
        None.or_else(|| key(KeySource::File(self.new_key_file.clone()?)))
            .or_else(|| passphrase(KeySource::File(self.new_passphrase_file.clone()?)))
            .or_else(|| key(KeySource::Descriptor(self.new_key_fd?)))
            .or_else(|| passphrase(KeySource::Descriptor(self.new_passphrase_fd?)))
            .or_else(|| key(KeySource::Command(self.new_key_command.clone()?)))
            .or_else(|| passphrase(KeySource::Command(self.new_passphrase_command.clone()?)))
            .or_else(|| key(KeySource::Environment(self.new_key_env.clone()?)))
            .or_else(|| passphrase(KeySource::Environment(self.new_passphrase_env.clone()?)))
            .or_else(|| Some(Source::Keyring(self.new_key_keyring.clone()?)))
    }

    /// The credential named by the options, if any.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(&self) -> anyhow::Result<Option<Credential>> {
        self.given().map(Source::read).transpose()
    }

    /// The new credential: named, or asked for twice.
    ///
    /// # Errors
    ///
    /// If it cannot be read or asked for.
    pub fn create(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask_twice("--new-key-file, --new-passphrase-file"),
        }
    }
}

/// The environment variables that also give unmodified programs their key.
fn from_environment() -> Option<Source> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    None.or_else(|| {
        Some(Source::Key(KeySource::File(
            variable("STRONGROOM_KEY_FILE")?.into(),
        )))
    })
    .or_else(|| {
        Some(Source::Key(KeySource::Command(variable(
            "STRONGROOM_KEY_COMMAND",
        )?)))
    })
    .or_else(|| {
        let path = variable("STRONGROOM_PASSPHRASE_FILE")?;
        Some(Source::Passphrase(KeySource::File(path.into())))
    })
}

fn ask(prompt: &str, options: &str) -> anyhow::Result<Credential> {
    let secret = terminal::ask_secret(prompt).with_context(|| {
        format!("a key is needed, and nobody can be asked; give it by {options} or the like")
    })?;
    if secret.is_empty() {
        bail!("the passphrase is empty; nothing was done");
    }
    Ok(Credential::Passphrase(secret))
}

fn ask_twice(options: &str) -> anyhow::Result<Credential> {
    let first = ask("New passphrase: ", options)?;
    let second = ask("The same again: ", options)?;
    match (&first, &second) {
        (Credential::Passphrase(first), Credential::Passphrase(second))
            if first.constant_time_eq(second) => {}
        _ => bail!("the two passphrases differ; nothing was done"),
    }
    Ok(first)
}
