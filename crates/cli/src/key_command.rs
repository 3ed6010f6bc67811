//! `strongroom key`: the key slots of a database, and new key files.

use crate::key_arguments::{KeyArguments, NewKeyArguments};
use crate::terminal;
use anyhow::bail;
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use store::KeyToken;
use store::database::{Access, open_encrypted};
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
    }
}

/// A database that a key has opened for writing.
struct Opened {
    connection: rusqlite::Connection,
    /// Lives as long as the connection may need it.
    _token: KeyToken,
}

fn open(file: &Path, key: &KeyArguments) -> anyhow::Result<Opened> {
    store::inspect::inspect(file)?;
    let token = KeyToken::new(key.open()?);
    let connection = open_encrypted(file, Access::Write, Some(&token), None)?;
    Ok(Opened {
        connection,
        _token: token,
    })
}

/// Says which keys open the file now.
fn tell_slots(file: &Path, opened: &Opened) -> anyhow::Result<()> {
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
    match store::keys::add(&opened.connection, &token)? {
        Some(slot) => eprintln!("The new key is in slot {slot}."),
        None => eprintln!("The new key is added."),
    }
    tell_slots(file, &opened)?;
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
    let losses = store::keys::losses(&slots, slot)?;
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
    store::keys::remove(&opened.connection, slot)?;
    eprintln!("Slot {slot} is empty now.");
    tell_slots(file, &opened)?;
    eprintln!(
        "Copies made before still open with the removed key. Whoever held it may have kept the \
         inner keys: `strongroom rekey --drop-other-keys` replaces those."
    );
    Ok(())
}

fn change(file: &Path, key: &KeyArguments, new_key: &NewKeyArguments) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let token = KeyToken::new(new_key.create()?);
    store::keys::change(&opened.connection, &token)?;
    eprintln!("The key is changed; the former one does not open the file any more.");
    tell_slots(file, &opened)?;
    eprintln!(
        "Copies made before still open with the former key. Whoever held it may have kept the \
         inner keys: `strongroom rekey --drop-other-keys` replaces those."
    );
    Ok(())
}
