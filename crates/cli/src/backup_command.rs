//! `strongroom backup`: copies an encrypted database that may be in use.

use crate::key_arguments::{KeyArguments, NewKeyArguments};
use crate::terminal::Bar;
use clap::Parser;
use std::path::PathBuf;
use store::KeyToken;
use store::backup::backup_file;
use store::convert::{Overwrite, check_names};

/// Write an encrypted backup of an encrypted database that may be in use
///
/// The backup holds the database as of one moment. With a write-ahead log programs go on writing
/// meanwhile; in the other journal modes their commits wait. Every page of the backup is read back
/// before it is given its name. It opens with the key that opened the source, or with the new key.
#[derive(Debug, Parser)]
pub struct Args {
    /// Encrypted database
    file: PathBuf,
    /// Backup to make
    destination: PathBuf,
    /// Replace the destination if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    new_key: NewKeyArguments,
}

/// Runs `strongroom backup`.
pub fn run(args: Args) -> anyhow::Result<()> {
    let overwrite = match args.force {
        true => Overwrite::Always,
        false => Overwrite::Never,
    };
    check_names(&args.file, &args.destination, overwrite)?;
    store::inspect::inspect(&args.file)?;
    let credential = args.key.open()?;
    let (new, whose) = match args.new_key.read()? {
        Some(new) => (new, "the new key"),
        None => (credential.duplicate(), "the key you gave"),
    };
    let (source_token, token) = (KeyToken::new(credential), KeyToken::new(new));
    let bar = Bar::new()?;
    backup_file(
        &args.file,
        &source_token,
        &args.destination,
        &token,
        overwrite,
        &bar.progress(),
    )?;
    drop(bar);
    eprintln!(
        "{} is a backup of {}, every page read back. It opens with {whose}, and with no other.",
        args.destination.display(),
        args.file.display()
    );
    Ok(())
}
