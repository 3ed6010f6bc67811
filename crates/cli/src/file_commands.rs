//! `strongroom encrypt` and `decrypt`.

use crate::key_arguments::{KeyArguments, NewKeyArguments};
use crate::terminal::Bar;
use anyhow::bail;
use clap::Parser;
use crypto::cipher::Cipher;
use std::path::PathBuf;
use store::KeyToken;
use store::convert::{EncryptOptions, Overwrite, check_names, decrypt_copy, encrypt_copy};
use store::database::{FileKind, file_kind};

/// Parses the name of a cipher.
pub fn cipher_named(name: &str) -> Result<Cipher, String> {
    Cipher::from_name(name).ok_or_else(|| {
        format!(
            "unknown cipher; known are {}",
            Cipher::ALL.map(Cipher::name).join(", ")
        )
    })
}

/// Write an encrypted copy of a database
///
/// The source may be in use. It is a plain SQLite database, or an encrypted one that gets another
/// key, cipher or page size. The copy is written beside its destination, read back, and only then
/// given its name.
#[derive(Debug, Parser)]
pub struct EncryptArgs {
    /// Database to copy
    source: PathBuf,
    /// Encrypted copy to make
    destination: PathBuf,
    /// Cipher: aegis-256x2, aegis-256, aes-256-gcm or xchacha20-poly1305
    #[arg(long, value_name = "NAME", value_parser = cipher_named)]
    cipher: Option<Cipher>,
    /// Bytes of a page, a power of two from 512 to 65536 [default: that of the source]
    #[arg(long, value_name = "BYTES")]
    page_size: Option<u32>,
    /// Replace the destination if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    new_key: NewKeyArguments,
}

/// Write a plain copy of an encrypted database
///
/// The source may be in use. The copy is readable by its owner only.
#[derive(Debug, Parser)]
pub struct DecryptArgs {
    /// Encrypted database
    source: PathBuf,
    /// Plain copy to make
    destination: PathBuf,
    /// Replace the destination if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    key: KeyArguments,
}

/// The meaning of `--force`.
pub fn overwrite(force: bool) -> Overwrite {
    if force {
        Overwrite::Always
    } else {
        Overwrite::Never
    }
}

/// Runs `strongroom encrypt`.
pub fn encrypt(args: EncryptArgs) -> anyhow::Result<()> {
    check_names(&args.source, &args.destination, overwrite(args.force))?;
    let (source_token, token) = match file_kind(&args.source)? {
        FileKind::Encrypted(_) => {
            let credential = args.key.open()?;
            let new = args
                .new_key
                .read()?
                .unwrap_or_else(|| credential.duplicate());
            (Some(KeyToken::new(credential)), KeyToken::new(new))
        }
        FileKind::Plain => {
            let credential = match args.new_key.read()? {
                Some(credential) => credential,
                None => args.key.create()?,
            };
            (None, KeyToken::new(credential))
        }
        FileKind::Missing => bail!(store::database::OpenError::Missing(args.source)),
        FileKind::Empty => bail!(store::database::OpenError::Empty(args.source)),
        FileKind::Other(source) => {
            bail!(store::database::OpenError::Header {
                path: args.source,
                source
            })
        }
    };
    let options = EncryptOptions {
        cipher: args.cipher,
        page_size: args.page_size,
    };
    let bar = Bar::new()?;
    encrypt_copy(
        &args.source,
        source_token.as_ref(),
        &args.destination,
        &token,
        options,
        overwrite(args.force),
        &bar.progress(),
    )?;
    drop(bar);
    eprintln!(
        "{} is an encrypted copy of {}, every page read back. If its keys are lost, no one can \
         recover it.",
        args.destination.display(),
        args.source.display()
    );
    Ok(())
}

/// Runs `strongroom decrypt`.
pub fn decrypt(args: DecryptArgs) -> anyhow::Result<()> {
    check_names(&args.source, &args.destination, overwrite(args.force))?;
    store::inspect::inspect(&args.source)?;
    let token = KeyToken::new(args.key.open()?);
    let bar = Bar::new()?;
    let overwrite = overwrite(args.force);
    decrypt_copy(
        &args.source,
        &token,
        &args.destination,
        overwrite,
        &bar.progress(),
    )?;
    drop(bar);
    eprintln!(
        "{} is a plain copy: whoever reads it needs no key.",
        args.destination.display()
    );
    Ok(())
}
