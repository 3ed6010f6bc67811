//! `strongroom key`: the key slots of a database, and new key files.

use crate::key_arguments::{KeyArguments, NewKeyArguments};
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::PathBuf;
use store::KeyToken;
use store::database::{Access, open_encrypted};

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
        Action::Remove { file, slot, key } => remove(&file, slot, &key),
        Action::Change { file, key, new_key } => change(&file, &key, &new_key),
        Action::Generate { file } => {
            store::key_file::generate(&file)?;
            eprintln!(
                "{} holds a new key. Keep a copy elsewhere: without it nothing opens what it \
                 encrypts.",
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

fn open(file: &std::path::Path, key: &KeyArguments) -> anyhow::Result<Opened> {
    store::inspect::inspect(file)?;
    let token = KeyToken::new(key.open()?);
    let connection = open_encrypted(file, Access::Write, Some(&token), None)?;
    Ok(Opened {
        connection,
        _token: token,
    })
}

fn add(
    file: &std::path::Path,
    key: &KeyArguments,
    new_key: &NewKeyArguments,
) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let token = KeyToken::new(new_key.create()?);
    let before = store::keys::list(&opened.connection)?.len();
    match store::keys::add(&opened.connection, &token)? {
        Some(slot) => eprintln!(
            "The new key is in slot {slot}; {} keys open the file.",
            before + 1
        ),
        None => eprintln!("The new key is added; {} keys open the file.", before + 1),
    }
    Ok(())
}

fn list(file: &std::path::Path, json: bool) -> anyhow::Result<()> {
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

fn remove(file: &std::path::Path, slot: usize, key: &KeyArguments) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    store::keys::remove(&opened.connection, slot)?;
    let left = store::keys::list(&opened.connection)?.len();
    eprintln!(
        "Slot {slot} is empty now; {left} left. Old copies of the file still open with the removed \
         key."
    );
    Ok(())
}

fn change(
    file: &std::path::Path,
    key: &KeyArguments,
    new_key: &NewKeyArguments,
) -> anyhow::Result<()> {
    let opened = open(file, key)?;
    let token = KeyToken::new(new_key.create()?);
    store::keys::change(&opened.connection, &token)?;
    eprintln!("The key is changed. Old copies of the file, and other key slots, open as before.");
    Ok(())
}
