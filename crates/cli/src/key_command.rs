//! `strongroom key`: manages the key slots of a database, new key files, and keys in the system's
//! keyring.

use crate::error_text::about;
use crate::key_arguments::{KeyArguments, NewKeyArguments};
use crate::system_keyring::{self, Name};
use crate::terminal;
use anyhow::bail;
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use store::KeyToken;
use store::database::{Access, open_for_key_changes};
use store::keys::Loss;

/// Add, list, remove and change keys; no page is rewritten
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Let another passphrase or key open a database too
    Add {
        /// Encrypted database
        file: PathBuf,
        #[command(flatten)]
        key: KeyArguments,
        #[command(flatten)]
        new_key: NewKeyArguments,
    },
    /// List the key slots; needs no key
    List {
        /// Encrypted database
        file: PathBuf,
        /// Write the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a key slot; the last one stays
    Remove {
        /// Encrypted database
        file: PathBuf,
        /// Number of the slot, as `key list` shows it
        slot: usize,
        /// Remove it without a question, also the one that opens the file now
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        key: KeyArguments,
    },
    /// Replace the passphrase or key that opens a database
    Change {
        /// Encrypted database
        file: PathBuf,
        #[command(flatten)]
        key: KeyArguments,
        #[command(flatten)]
        new_key: NewKeyArguments,
    },
    /// Write a new random key to a new file
    Generate {
        /// Key file to make
        file: PathBuf,
    },
    /// Put a key into the system's keyring: a new random one, or the one that an option names
    Store {
        /// Name of the entry, for --key-keyring
        name: Name,
        /// Replace the key that the name has now
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        key: KeyArguments,
    },
    /// Remove a key from the system's keyring
    Forget {
        /// Name of the entry
        name: Name,
        /// Remove it without a question
        #[arg(long)]
        yes: bool,
    },
}

/// Runs `strongroom key`.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.action {
        Action::Add { file, key, new_key } => add(&file, &key, &new_key),
        Action::List { file, json } => list(&file, json),
        Action::Remove {
            file,
            slot,
            yes,
            key,
        } => remove(&file, slot, yes, &key),
        Action::Change { file, key, new_key } => change(&file, &key, &new_key),
        Action::Generate { file } => {
            store::key_file::generate(&file)?;
            eprintln!(
                "{} holds a new key. Keep a copy elsewhere: if it is lost, no one can recover what \
                 it encrypts.",
                file.display()
            );
            Ok(())
        }
        Action::Store { name, force, key } => store_in_keyring(&name, force, &key),
        Action::Forget { name, yes } => forget(&name, yes),
    }
}

/// A database that a key has opened for writing.
struct Opened {
    connection: rusqlite::Connection,
    /// Kept as long as the connection may need it.
    _token: KeyToken,
}

fn open(file: &Path, key: &KeyArguments) -> anyhow::Result<Opened> {
    store::inspect::inspect(file)?;
    let token = KeyToken::new(key.open()?);
    let connection = open_for_key_changes(file, Access::Write, Some(&token), None)?;
    Ok(Opened {
        connection,
        _token: token,
    })
}

/// Prints which keys now open the file.
fn print_slots(file: &Path, opened: &Opened) -> anyhow::Result<()> {
    let slots = store::keys::list(&opened.connection)?;
    match slots.as_slice() {
        [only] => eprintln!("One key opens {} now:\n  {only}", file.display()),
        _ => {
            eprintln!("{} keys open {} now:", slots.len(), file.display());
            for slot in &slots {
                eprintln!("  {slot}");
            }
        }
    }
    Ok(())
}

fn add(file: &Path, key: &KeyArguments, new_key: &NewKeyArguments) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let token = KeyToken::new(new_key.create()?);
    match store::keys::add(&opened.connection, &token).map_err(about(file))? {
        Some(slot) => eprintln!("The new key is in slot {slot}."),
        None => eprintln!("The new key is added."),
    }
    print_slots(file, &opened)?;
    eprintln!(
        "Copies made before open with the keys that they had. If all keys are lost, no one can \
         recover the data."
    );
    Ok(())
}

fn list(file: &Path, json: bool) -> anyhow::Result<()> {
    let slots = store::inspect::inspect(file)?.slots;
    let mut output = io::stdout().lock();
    if json {
        writeln!(output, "{}", serde_json::to_string(&slots)?)?;
        return Ok(());
    }
    for slot in &slots {
        writeln!(output, "{slot}")?;
    }
    Ok(())
}

fn remove(file: &Path, slot: usize, yes: bool, key: &KeyArguments) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let slots = store::keys::list(&opened.connection)?;
    let losses = store::keys::losses(&slots, slot).map_err(about(file))?;
    if !yes && !losses.is_empty() {
        let losses: Vec<String> = losses.iter().map(Loss::to_string).collect();
        let losses = losses.join(", and ");
        if !terminal::can_ask() {
            bail!("slot {slot} is not removed: {losses}; say --yes to remove it all the same");
        }
        let question = format!("Slot {slot}: {losses}. Remove it? [y/N] ");
        if !terminal::confirm(&question)? {
            bail!("slot {slot} is not removed");
        }
    }
    store::keys::remove(&opened.connection, slot).map_err(about(file))?;
    eprintln!("Slot {slot} is empty now.");
    print_slots(file, &opened)?;
    warn_of_copies("removed");
    Ok(())
}

/// Prints what a removed key can still do.
fn warn_of_copies(which: &str) {
    eprintln!(
        "Copies made before still open with the {which} key. Whoever held it may have kept the \
         inner keys: `strongroom rekey --drop-other-keys` replaces those."
    );
}

fn change(file: &Path, key: &KeyArguments, new_key: &NewKeyArguments) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let token = KeyToken::new(new_key.create()?);
    store::keys::change(&opened.connection, &token).map_err(about(file))?;
    eprintln!("The key is changed; the former one does not open the file any more.");
    print_slots(file, &opened)?;
    warn_of_copies("former");
    Ok(())
}

fn store_in_keyring(name: &Name, force: bool, key: &KeyArguments) -> anyhow::Result<()> {
    let replaces = system_keyring::exists(name)?;
    if replaces && !force {
        bail!(
            "the system's keyring holds a key {name} already, and it is not overwritten: it may \
             be the only key of a database. Choose another name, or say --force"
        );
    }
    let given = key.read_raw_key()?;
    let origin = if given.is_some() { "the" } else { "a new" };
    let key = match given {
        Some(key) => key,
        None => keyring::random_key()?,
    };
    system_keyring::write(name, &key)?;
    eprintln!("The system's keyring holds {origin} key under the name {name}.");
    if replaces {
        eprintln!("The key that had this name is gone; what only it opened opens no more.");
    }
    eprintln!(
        "Without it nobody can open what it encrypts, and it is lost with the keyring. Let each \
         database have a second key that is kept elsewhere: `strongroom key add FILE \
         --key-keyring {name} --new-key-file COPY`, where COPY is made by `strongroom key \
         generate`."
    );
    Ok(())
}

fn forget(name: &Name, yes: bool) -> anyhow::Result<()> {
    const LOSS: &str = "what only this key opens can never be opened again";
    if !system_keyring::exists(name)? {
        bail!(system_keyring::absent(name));
    }
    if !yes {
        if !terminal::can_ask() {
            bail!("the key {name} is not removed: {LOSS}; say --yes to remove it all the same");
        }
        if !terminal::confirm(&format!("Key {name}: {LOSS}. Remove it? [y/N] "))? {
            bail!("the key {name} is not removed");
        }
    }
    system_keyring::delete(name)?;
    eprintln!(
        "The system's keyring holds no key {name} any more. A database that it opened needs \
         another of its keys now; copies of the key still open it."
    );
    Ok(())
}
