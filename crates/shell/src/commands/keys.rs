//! Dot commands about keys; the store does the work.

use super::{Command, Takes, at_most_one, usage};
use crate::database::{Database, access};
use crate::error::{ShellError, StateError};
use crate::session::{Flow, Shell};
use crypto::cipher::Cipher;
use crypto::secret::SecretBytes;
use keyring::Credential;
use std::io::Write;
use store::KeyToken;
use store::convert::encrypt_in_place;
use store::database::{Access, FileKind, file_kind, status};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "cipher",
        usage: ".cipher [NAME]",
        summary: "Name the cipher, or choose it before .encrypt",
        details: "aegis-256x2, aegis-256, aes-256-gcm, xchacha20-poly1305.",
        takes: Takes::OneOf(|| Cipher::ALL.map(Cipher::name).to_vec()),
        run: cipher,
    },
    Command {
        name: "decrypt",
        usage: ".decrypt [PASSPHRASE]",
        summary: "Open an encrypted database for this session",
        details: "The file stays encrypted: what is written is sealed too. `strongroom decrypt`\n\
                  makes a plain copy. Without PASSPHRASE it is asked for and not shown.",
        takes: Takes::Nothing,
        run: decrypt,
    },
    Command {
        name: "encrypt",
        usage: ".encrypt [PASSPHRASE]",
        summary: "Encrypt this database, new or plain",
        details: "A new database is encrypted from its first write on. A plain one is converted:\n\
                  an encrypted copy is written beside it, checked, and put in its place; other\n\
                  programs must have closed it. Blocks of the old plain file may remain on the\n\
                  disk until they are used for something else. Without PASSPHRASE it is asked\n\
                  for, twice, and not shown.",
        takes: Takes::Nothing,
        run: encrypt,
    },
    Command {
        name: "keys",
        usage: ".keys",
        summary: "List the key slots",
        details: "",
        takes: Takes::Nothing,
        run: keys,
    },
    Command {
        name: "rekey",
        usage: ".rekey [PASSPHRASE]",
        summary: "Replace the key that opened this database by a passphrase",
        details: "Instant: no page is written. Other key slots stay as they are.",
        takes: Takes::Nothing,
        run: rekey,
    },
];

/// The passphrase given as argument, or one that is asked for.
fn passphrase(
    shell: &mut Shell,
    arguments: &[String],
    new: bool,
) -> Result<Credential, ShellError> {
    if let Some(word) = at_most_one(arguments)? {
        if word.is_empty() {
            return Err(ShellError::EmptyPassphrase);
        }
        return Ok(Credential::passphrase(word.as_bytes()));
    }
    let prompt = if new {
        "New passphrase: "
    } else {
        "Passphrase: "
    };
    let secret = ask(shell, prompt)?;
    if new && !ask(shell, "The same again: ")?.constant_time_eq(&secret) {
        return Err(ShellError::PassphrasesDiffer);
    }
    Ok(Credential::Passphrase(secret))
}

fn ask(shell: &mut Shell, prompt: &str) -> Result<SecretBytes, ShellError> {
    shell.output.flush()?;
    let secret = shell
        .console
        .ask_secret(prompt)
        .map_err(ShellError::NoPrompt)?;
    if secret.is_empty() {
        return Err(ShellError::EmptyPassphrase);
    }
    Ok(secret)
}

fn encrypt(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let path = shell.database.file()?.to_owned();
    let options = shell.database.options;
    if options.read_only {
        return Err(StateError::ReadOnly.into());
    }
    let kind = file_kind(&path)?;
    if let FileKind::Encrypted(_) = kind {
        return Err(StateError::AlreadyEncrypted(path).into());
    }
    shell.database.check_idle()?;
    let token = KeyToken::new(passphrase(shell, arguments, true)?);
    match kind {
        FileKind::Missing | FileKind::Empty => {
            let database = Database::encrypted(&path, Access::Create, Some(token), options)?;
            shell.replace_database(database);
        }
        _ => {
            // Releases the file before it is replaced.
            let waiting = Database::open(None, None, options)?;
            shell.replace_database(waiting);
            let converted =
                encrypt_in_place(&path, &token, options.cipher, &store::progress::ignored());
            let reopened = match converted {
                Ok(()) => Database::encrypted(&path, Access::Write, Some(token), options)?,
                Err(error) => {
                    shell.replace_database(Database::open(Some(&path), None, options)?);
                    return Err(error.into());
                }
            };
            shell.replace_database(reopened);
            writeln!(
                shell.messages,
                "{} is encrypted now. Blocks of the old plain file may remain on the disk until \
                 they are used for something else.",
                path.display()
            )?;
        }
    }
    Ok(Flow::Continue)
}

fn decrypt(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let path = shell.database.file()?.to_owned();
    let options = shell.database.options;
    match file_kind(&path)? {
        FileKind::Encrypted(_) | FileKind::Other(_) => {}
        FileKind::Plain => return Err(StateError::NotEncrypted(path).into()),
        FileKind::Missing | FileKind::Empty => return Err(StateError::NothingThere(path).into()),
    }
    shell.database.check_idle()?;
    let token = KeyToken::new(passphrase(shell, arguments, false)?);
    let opened = Database::encrypted(&path, access(options, Access::Write), Some(token), options)?;
    shell.replace_database(opened);
    Ok(Flow::Continue)
}

/// Fails unless an encrypted database is open.
fn check_encrypted(shell: &Shell) -> Result<(), ShellError> {
    let path = shell.database.file()?;
    match status(shell.database.connection())
        .map(|status| status.state)
        .as_deref()
    {
        Some("encrypted") => Ok(()),
        Some("locked") => Err(ShellError::Locked),
        Some("new") => Err(StateError::NothingThere(path.to_owned()).into()),
        _ => Err(StateError::NotEncrypted(path.to_owned()).into()),
    }
}

fn rekey(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    check_encrypted(shell)?;
    let token = KeyToken::new(passphrase(shell, arguments, true)?);
    store::keys::change(shell.database.connection(), &token)?;
    shell.database.set_token(token);
    Ok(Flow::Continue)
}

fn keys(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    if !arguments.is_empty() {
        return usage();
    }
    check_encrypted(shell)?;
    for slot in store::keys::list(shell.database.connection())? {
        writeln!(shell.output, "{slot}")?;
    }
    Ok(Flow::Continue)
}

fn cipher(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let status = status(shell.database.connection());
    let Some(name) = at_most_one(arguments)? else {
        let chosen = shell
            .database
            .options
            .cipher
            .map(|cipher| cipher.name().to_owned());
        let text = match status.and_then(|status| status.cipher).or(chosen) {
            Some(cipher) => cipher,
            None if shell.database.is_plain_file() => "none: the database is not encrypted".into(),
            None => "none chosen: .encrypt takes the default".into(),
        };
        writeln!(shell.output, "{text}")?;
        return Ok(Flow::Continue);
    };
    let Some(cipher) = Cipher::from_name(name) else {
        return Err(ShellError::UnknownWord {
            what: "cipher",
            word: name.to_owned(),
            possible: Cipher::ALL.map(Cipher::name).join(", "),
        });
    };
    match status.as_ref().map(|status| status.state.as_str()) {
        Some("encrypted" | "locked") => return Err(StateError::CipherFixed.into()),
        Some("new") => {
            let name = cipher.name();
            shell
                .database
                .connection()
                .query_row(
                    &format!("PRAGMA strongroom_cipher='{name}'"),
                    [],
                    |_| Ok(()),
                )
                .or_else(|error| match error {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    other => Err(other),
                })?;
        }
        _ => {}
    }
    shell.database.options.cipher = Some(cipher);
    Ok(Flow::Continue)
}
