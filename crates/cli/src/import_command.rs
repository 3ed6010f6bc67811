//! `strongroom import`: converts SQLCipher and plain SQLite databases into encrypted ones.

use crate::file_commands::{cipher_named, overwrite};
use crate::key_arguments::{KeyArguments, NewKeyArguments};
use crate::terminal::Bar;
use anyhow::bail;
use clap::{Args, Parser, ValueEnum};
use crypto::cipher::Cipher;
use keyring::Credential;
use sqlcipher_format::detect::Known;
use sqlcipher_format::key::{Salt, SourceKey, parse_salt};
use sqlcipher_format::parameters::Algorithm;
use std::path::{Path, PathBuf};
use store::KeyToken;
use store::convert::{EncryptOptions, check_names};
use store::database::{FileKind, OpenError, file_kind};
use store::import::{Form, Imported, Original, SqlcipherSource, import_copy, import_in_place};

/// Import a database of SQLCipher or of plain SQLite
///
/// An encrypted copy is made beside its destination. Every page of it is read back, its structure
/// is checked, and the rows of all tables are counted in both; only then it gets its name. With
/// --in-place it takes the name of the source, which is kept as NAME.before-import.
#[derive(Debug, Parser)]
pub struct ImportArgs {
    /// What wrote the source
    #[arg(long, value_name = "FORM")]
    from: From,
    /// Database to import; it may be in use, unless it is imported in place
    source: PathBuf,
    /// Encrypted database to make
    #[arg(required_unless_present = "in_place")]
    destination: Option<PathBuf>,
    /// Let the encrypted database take the name of the source
    #[arg(long, conflicts_with = "destination")]
    in_place: bool,
    /// Remove the source once the encrypted database is verified and synced; its blocks on the
    /// disk are freed, not overwritten
    #[arg(long, requires = "in_place")]
    remove_original: bool,
    /// Cipher: aegis-256x2, aegis-256, aes-256-gcm or xchacha20-poly1305
    #[arg(long, value_name = "NAME", value_parser = cipher_named)]
    cipher: Option<Cipher>,
    /// Bytes of a page in the encrypted database, a power of two from 512 to 65536 [default: that
    /// of the source]
    #[arg(long, value_name = "BYTES", conflicts_with = "in_place")]
    page_size: Option<u32>,
    /// Replace the destination if it exists
    #[arg(long, conflicts_with = "in_place")]
    force: bool,
    #[command(flatten)]
    sqlcipher: SqlcipherArguments,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    new_key: NewKeyArguments,
}

/// What wrote the source.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum From {
    /// SQLCipher, versions 1 to 4
    Sqlcipher,
    /// SQLite itself
    Plain,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// How SQLCipher wrote the source, named as its pragmas are; what is left out is found out.
#[derive(Args, Debug)]
struct SqlcipherArguments {
    /// Version whose defaults were in force, 1 to 4 [default: all are tried]
    #[arg(long, visible_alias = "cipher-compatibility", value_name = "VERSION",
          value_parser = clap::value_parser!(u8).range(1..=4), help_heading = "SQLCipher")]
    sqlcipher_version: Option<u8>,
    /// Iterations of the key derivation
    #[arg(long, value_name = "COUNT", help_heading = "SQLCipher")]
    kdf_iter: Option<u32>,
    /// Bytes of a page in the source [default: all sizes are tried]
    #[arg(long, value_name = "BYTES", help_heading = "SQLCipher")]
    cipher_page_size: Option<u32>,
    /// Key derivation: PBKDF2_HMAC_SHA1, PBKDF2_HMAC_SHA256 or PBKDF2_HMAC_SHA512
    #[arg(long, value_name = "NAME", value_parser = algorithm_named, help_heading = "SQLCipher")]
    cipher_kdf_algorithm: Option<Algorithm>,
    /// Authentication of pages: HMAC_SHA1, HMAC_SHA256 or HMAC_SHA512
    #[arg(long, value_name = "NAME", value_parser = algorithm_named, help_heading = "SQLCipher")]
    cipher_hmac_algorithm: Option<Algorithm>,
    /// Whether pages are authenticated
    #[arg(long, value_name = "SWITCH", help_heading = "SQLCipher")]
    cipher_use_hmac: Option<Switch>,
    /// Bytes at the beginning of the file that are not encrypted
    #[arg(long, value_name = "BYTES", help_heading = "SQLCipher")]
    cipher_plaintext_header_size: Option<u32>,
    /// Salt, 32 hexadecimal digits, where the file does not hold it; it is no secret
    #[arg(long, value_name = "DIGITS", value_parser = salt_named, help_heading = "SQLCipher")]
    cipher_salt: Option<Salt>,
}

fn algorithm_named(name: &str) -> Result<Algorithm, String> {
    Algorithm::from_name(name).ok_or_else(|| "known are SHA1, SHA256 and SHA512".to_owned())
}

fn salt_named(text: &str) -> Result<Salt, String> {
    parse_salt(text).ok_or_else(|| "a salt has 32 hexadecimal digits".to_owned())
}

impl SqlcipherArguments {
    fn source(&self, key: SourceKey) -> SqlcipherSource {
        SqlcipherSource {
            key,
            salt: self.cipher_salt,
            known: self.known(),
        }
    }

    fn known(&self) -> Known {
        Known {
            version: self.sqlcipher_version,
            page_size: self.cipher_page_size,
            kdf_iterations: self.kdf_iter,
            kdf_algorithm: self.cipher_kdf_algorithm,
            hmac_algorithm: self.cipher_hmac_algorithm,
            use_hmac: self
                .cipher_use_hmac
                .map(|switch| matches!(switch, Switch::On)),
            plaintext_header_size: self.cipher_plaintext_header_size,
        }
    }

    fn is_given(&self) -> bool {
        self.cipher_salt.is_some() || self.known() != Known::default()
    }
}

/// The key of the source, if it has one, and that of the copy.
struct Keys {
    source: Option<SourceKey>,
    copy: Credential,
    /// Whether the copy opens with the key of the source.
    is_same: bool,
}

impl ImportArgs {
    fn check(&self) -> anyhow::Result<()> {
        if let Some(destination) = &self.destination {
            check_names(&self.source, destination, overwrite(self.force))?;
        }
        let path = self.source.clone();
        match (file_kind(&path)?, self.from) {
            (FileKind::Missing, _) => bail!(OpenError::Missing(path)),
            (FileKind::Empty, _) => bail!(OpenError::Empty(path)),
            (FileKind::Encrypted(_), _) => bail!(OpenError::Encrypted(path)),
            (FileKind::Other(_), From::Plain) => bail!(
                "{} is no plain SQLite database; if SQLCipher wrote it, say --from sqlcipher",
                path.display()
            ),
            (FileKind::Plain | FileKind::Other(_), _) => {}
        }
        if self.from == From::Plain && self.sqlcipher.is_given() {
            bail!("the options of SQLCipher mean nothing with --from plain");
        }
        Ok(())
    }

    fn keys(&self) -> anyhow::Result<Keys> {
        if self.from == From::Plain {
            let copy = match self.new_key.read()? {
                Some(credential) => credential,
                None => self.key.create()?,
            };
            return Ok(Keys {
                source: None,
                copy,
                is_same: false,
            });
        }
        let source = source_key(self.key.open()?);
        let new = self.new_key.read()?;
        Ok(Keys {
            is_same: new.is_none(),
            copy: new.unwrap_or_else(|| same_key(&source)),
            source: Some(source),
        })
    }
}

fn source_key(credential: Credential) -> SourceKey {
    match credential {
        Credential::Passphrase(text) => SourceKey::from_pragma(text),
        Credential::RawKey(key) | Credential::KeyFile(key) => SourceKey::Raw { key, salt: None },
    }
}

fn same_key(source: &SourceKey) -> Credential {
    match source {
        SourceKey::Passphrase(text) => Credential::Passphrase(text.duplicate()),
        SourceKey::Raw { key, .. } => Credential::raw_key(key.duplicate()),
    }
}

/// Runs `strongroom import`.
pub fn import(args: ImportArgs) -> anyhow::Result<()> {
    args.check()?;
    let keys = args.keys()?;
    let sqlcipher = keys.source.map(|key| args.sqlcipher.source(key));
    let form = sqlcipher.as_ref().map_or(Form::Plain, Form::Sqlcipher);
    let token = KeyToken::new(keys.copy);
    let options = EncryptOptions {
        cipher: args.cipher,
        page_size: args.page_size,
    };
    let bar = Bar::new()?;
    let (progress, source) = (bar.progress(), &args.source);
    let imported = match &args.destination {
        Some(destination) => {
            let overwrite = overwrite(args.force);
            import_copy(
                source,
                form,
                destination,
                &token,
                options,
                overwrite,
                &progress,
            )?
        }
        None => {
            let original = match args.remove_original {
                true => Original::Remove,
                false => Original::Keep,
            };
            import_in_place(source, form, &token, options, original, &progress)?
        }
    };
    drop(bar);
    report(&args, &imported);
    if keys.is_same {
        eprintln!("It opens with the key of the source; `strongroom key change` gives it another.");
    }
    Ok(())
}

fn report(args: &ImportArgs, imported: &Imported) {
    if let Some(parameters) = &imported.parameters {
        eprintln!("{} was written with {parameters}.", args.source.display());
        if parameters.hmac_algorithm.is_none() {
            eprintln!(
                "Without HMACs nobody can tell whether a page of it was altered before this import."
            );
        }
    }
    let copy: &Path = args.destination.as_ref().unwrap_or(&args.source);
    let tables = match imported.tables {
        1 => "1 table".to_owned(),
        tables => format!("{tables} tables"),
    };
    eprintln!(
        "{} is encrypted: {tables} with {} rows in all, as in the source; every page read back.",
        copy.display(),
        imported.rows,
    );
    match (&imported.original, args.in_place) {
        (Some(original), _) => eprintln!(
            "The original is kept as {}; remove it when you no longer need it.",
            original.display()
        ),
        (None, true) => eprintln!("The original was removed after that."),
        (None, false) => {}
    }
}
