//! `strongroom rekey`: rotates the data key of a database in use.

use crate::error_text::about;
use crate::key_arguments::KeyArguments;
use crate::terminal::Bar;
use clap::Parser;
use std::path::PathBuf;
use store::KeyToken;
use store::rotate::{RotateOptions, rotate};

/// Seal every page under a new data key, while the database is used
///
/// Passphrases and keys stay as they are: they wrap the data key, and `key change` replaces them.
/// Other programs may read and write meanwhile. Stopped at any moment, also by a power cut, it goes
/// on when it is run again. Afterwards no page opens with the former data key; old copies of the
/// file still do.
#[derive(Debug, Parser)]
pub struct Args {
    /// Encrypted database
    file: PathBuf,
    /// Replace the master key too, and empty all key slots but the one used here
    ///
    /// For the case that somebody who knows another key, or an old one, may have kept a copy of
    /// the file: with the master key out of it he could find every later data key.
    #[arg(long)]
    drop_other_keys: bool,
    /// Megabytes sealed in a second, at most
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Let pages tell their version, so that an older copy of one is found, or no longer
    #[arg(long, value_name = "ON|OFF", value_parser = on_or_off)]
    freshness: Option<bool>,
    #[command(flatten)]
    key: KeyArguments,
}

fn on_or_off(word: &str) -> Result<bool, &'static str> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("it is on or off"),
    }
}

/// Runs `strongroom rekey`.
pub fn run(args: Args) -> anyhow::Result<()> {
    store::inspect::inspect(&args.file)?;
    let token = KeyToken::new(args.key.open()?);
    let options = RotateOptions {
        alone: args.drop_other_keys,
        freshness: args.freshness,
        bytes_per_second: args.rate.map(|rate| rate * 1_000_000),
    };
    let bar = Bar::new()?;
    let rotated =
        rotate(&args.file, &token, options, &bar.progress()).map_err(about(&args.file))?;
    drop(bar);
    let file = args.file.display();
    if rotated.resumed {
        eprintln!("An earlier, interrupted rekey of {file} is finished now.");
    }
    eprintln!(
        "All {} pages of {file} are sealed under data key {}; the former one is gone. Old copies \
         of the file open as before.",
        rotated.pages, rotated.epoch
    );
    if args.drop_other_keys {
        eprintln!(
            "The master key is new: only the key used here opens the file now. `strongroom key \
             add` lets others in again."
        );
    }
    Ok(())
}
