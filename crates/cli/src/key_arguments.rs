//! Keys on the command line: where to read them from, never what they are.

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

/// A source, and what to read from it.
enum Given {
    Key(KeySource),
    Passphrase(KeySource),
    Keyring(Name),
}

impl Given {
    fn warn_of_others(&self) {
        let (content, source) = match self {
            Given::Key(source) => ("key", source),
            Given::Passphrase(source) => ("passphrase", source),
            Given::Keyring(_) => return,
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
            Given::Key(source @ KeySource::File(_)) => Credential::key_file(source.read_raw_key()?),
            Given::Key(source) => Credential::raw_key(source.read_raw_key()?),
            Given::Passphrase(source) => Credential::Passphrase(source.read_passphrase()?),
            Given::Keyring(name) => Credential::raw_key(system_keyring::read(&name)?),
        })
    }
}

impl KeyArguments {
    fn given(&self) -> Option<Given> {
        if let Some(limit) = self.unlock_work {
            limit.set_for_process();
        }
        self.given_by_option().or_else(from_environment)
    }

    fn given_by_option(&self) -> Option<Given> {
        let key = |source| Some(Given::Key(source));
        let passphrase = |source| Some(Given::Passphrase(source));
        None.or_else(|| key(KeySource::File(self.from.key_file.clone()?)))
            .or_else(|| passphrase(KeySource::File(self.from.passphrase_file.clone()?)))
            .or_else(|| key(KeySource::Descriptor(self.from.key_fd?)))
            .or_else(|| passphrase(KeySource::Descriptor(self.from.passphrase_fd?)))
            .or_else(|| key(KeySource::Command(self.from.key_command.clone()?)))
            .or_else(|| passphrase(KeySource::Command(self.from.passphrase_command.clone()?)))
            .or_else(|| key(KeySource::Environment(self.from.key_env.clone()?)))
            .or_else(|| passphrase(KeySource::Environment(self.from.passphrase_env.clone()?)))
            .or_else(|| Some(Given::Keyring(self.from.key_keyring.clone()?)))
    }

    /// The key that an option names, for who wants no passphrase and asks for nothing. The
    /// environment does not count: it speaks of a database.
    ///
    /// # Errors
    /// When it cannot be read, or is a passphrase.
    pub fn read_raw_key(&self) -> anyhow::Result<Option<Key>> {
        let Some(given) = self.given_by_option() else {
            return Ok(None);
        };
        given.warn_of_others();
        match given {
            Given::Key(source) => Ok(Some(source.read_raw_key()?)),
            Given::Keyring(name) => system_keyring::read(&name).map(Some),
            Given::Passphrase(_) => bail!(
                "only a key of 256 bits can be stored, no passphrase; give --key-file or the \
                 like, or nothing for a new key"
            ),
        }
    }

    /// The credential that the options or the environment name, if they name one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> anyhow::Result<Option<Credential>> {
        self.given().map(Given::read).transpose()
    }

    /// The credential that opens a database: named, or asked for.
    ///
    /// # Errors
    /// When it cannot be read or asked for.
    pub fn open(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask("Passphrase: ", "--key-file, --passphrase-file"),
        }
    }

    /// The credential of a database that is to be made: named, or asked for twice.
    ///
    /// # Errors
    /// When it cannot be read or asked for.
    pub fn create(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask_twice("--key-file, --passphrase-file"),
        }
    }
}

/// The key for all databases of a session. It is read anew for each, so that it need not be kept.
pub struct SessionKey {
    arguments: KeyArguments,
    /// What came by a descriptor, which gives its content once.
    kept: Option<Credential>,
}

impl SessionKey {
    /// The key that these options, or the environment, name.
    pub fn new(arguments: KeyArguments) -> Self {
        SessionKey {
            arguments,
            kept: None,
        }
    }

    /// The key for the first database.
    ///
    /// # Errors
    /// When it cannot be read.
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
    fn given(&self) -> Option<Given> {
        let key = |source| Some(Given::Key(source));
        let passphrase = |source| Some(Given::Passphrase(source));
        None.or_else(|| key(KeySource::File(self.new_key_file.clone()?)))
            .or_else(|| passphrase(KeySource::File(self.new_passphrase_file.clone()?)))
            .or_else(|| key(KeySource::Descriptor(self.new_key_fd?)))
            .or_else(|| passphrase(KeySource::Descriptor(self.new_passphrase_fd?)))
            .or_else(|| key(KeySource::Command(self.new_key_command.clone()?)))
            .or_else(|| passphrase(KeySource::Command(self.new_passphrase_command.clone()?)))
            .or_else(|| key(KeySource::Environment(self.new_key_env.clone()?)))
            .or_else(|| passphrase(KeySource::Environment(self.new_passphrase_env.clone()?)))
            .or_else(|| Some(Given::Keyring(self.new_key_keyring.clone()?)))
    }

    /// The credential that the options name, if they name one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> anyhow::Result<Option<Credential>> {
        self.given().map(Given::read).transpose()
    }

    /// The new credential: named, or asked for twice.
    ///
    /// # Errors
    /// When it cannot be read or asked for.
    pub fn create(&self) -> anyhow::Result<Credential> {
        match self.read()? {
            Some(credential) => Ok(credential),
            None => ask_twice("--new-key-file, --new-passphrase-file"),
        }
    }
}

/// The variables by which unmodified programs get their key too.
fn from_environment() -> Option<Given> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    None.or_else(|| {
        Some(Given::Key(KeySource::File(
            variable("STRONGROOM_KEY_FILE")?.into(),
        )))
    })
    .or_else(|| {
        Some(Given::Key(KeySource::Command(variable(
            "STRONGROOM_KEY_COMMAND",
        )?)))
    })
    .or_else(|| {
        let path = variable("STRONGROOM_PASSPHRASE_FILE")?;
        Some(Given::Passphrase(KeySource::File(path.into())))
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
