//! `strongroom shell`: connects the shell to the terminal.

use crate::file_commands::cipher_named;
use crate::key_arguments::{KeyArguments, SessionKey};
use crate::line_editor::LineEditor;
use crate::screen::{TerminalScreen, has_colours};
use crate::terminal::Prompts;
use anyhow::bail;
use clap::Parser;
use crypto::cipher::Cipher;
use shell::console::{Lines, Text};
use shell::database::{Database, OpenOptions, ask_until_open};
use shell::intent::only_reads;
use shell::secrecy;
use shell::session::{Shell, Surroundings};
use std::io::{self, BufReader, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run SQL on plain and encrypted databases
///
/// Without FILE the database is in memory. SQL is read from the terminal, from standard input, or
/// from the arguments behind FILE. The exit status is 1 when a statement failed.
#[derive(Debug, Parser)]
pub struct Args {
    /// Database; made when it does not exist
    file: Option<PathBuf>,
    /// Statements and dot commands to run instead of reading any, each an argument of its own
    sql: Vec<String>,
    /// Change nothing
    #[arg(long)]
    readonly: bool,
    /// Stop at the first error
    #[arg(long)]
    bail: bool,
    /// Cipher of a new encrypted database
    #[arg(long, value_name = "NAME", value_parser = cipher_named)]
    cipher: Option<Cipher>,
    /// Output mode, as .mode takes it
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Write the names of columns
    #[arg(long)]
    headers: bool,
    #[command(flatten)]
    key: KeyArguments,
}

/// Runs `strongroom shell`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    for sql in &args.sql {
        if !secrecy::gives_key(sql)? {
            continue;
        }
        bail!(
            "a key among the arguments can be seen by every user of this machine; write the \
             statement to standard input, or use --key-file, --passphrase-file or the like"
        );
    }
    let has_person = io::stdin().is_terminal();
    let interactive = args.sql.is_empty() && has_person;
    let mut key = SessionKey::new(args.key);
    let args = Args {
        key: KeyArguments::default(),
        ..args
    };
    let decrypts = |sql: &String| sql.trim_start().starts_with(".decrypt");
    let asks = has_person && !args.sql.iter().any(decrypts);
    let database = open(&args, &mut key, asks)?;
    let surroundings = Surroundings {
        output: Box::new(BufWriter::new(io::stdout())),
        messages: Box::new(io::stderr()),
        console: Box::new(Prompts),
        named_key: Box::new(key),
        screen: interactive.then(TerminalScreen::of_output).flatten(),
        interactive,
    };
    let mut shell = Shell::new(database, surroundings);
    shell.set_bail(args.bail);
    let mut settings = String::new();
    if let Some(mode) = &args.mode {
        settings.push_str(&format!(".mode '{mode}'\n"));
    }
    if args.headers {
        settings.push_str(".headers on\n");
    }
    let mut status = shell.run(&mut Text(settings.lines()))?;
    if interactive {
        status = status.max(converse(&mut shell)?);
    } else if args.sql.is_empty() {
        status = shell.run(&mut Lines(BufReader::with_capacity(
            1 << 16,
            io::stdin().lock(),
        )))?;
    } else {
        status = status.max(shell.run_arguments(&args.sql)?);
    }
    Ok(ExitCode::from(status))
}

/// Opens the database; `asks`: a person can type its passphrase.
fn open(args: &Args, key: &mut SessionKey, asks: bool) -> anyhow::Result<Database> {
    let path = args
        .file
        .as_deref()
        .filter(|path| *path != Path::new(":memory:"));
    // A query of a database that does not exist means a mistyped name.
    let is_missing = path.is_some_and(|path| !path.exists());
    let is_mistyped = is_missing && !args.sql.is_empty() && only_reads(&args.sql);
    let options = OpenOptions {
        read_only: args.readonly || is_mistyped,
        cipher: args.cipher,
    };
    let credential = key.first()?;
    let Some(path) = path else {
        if credential.is_some() {
            bail!("a key is given, but no file; a database in memory is never written to a disk");
        }
        return Ok(Database::open(None, None, options)?);
    };
    let given = credential.is_some();
    let database = Database::open(Some(path), credential, options)?;
    if given || !asks {
        return Ok(database);
    }
    let opened = ask_until_open(database, path, &mut Prompts, &mut io::stderr())?;
    match opened.refused {
        Some(error) => Err(error.into()),
        None => Ok(opened.database),
    }
}

fn converse(shell: &mut Shell) -> anyhow::Result<u8> {
    let version = shell.sqlite_version();
    eprintln!(
        "Strongroom {} with SQLite {version}. .help lists commands, .quit leaves.",
        env!("CARGO_PKG_VERSION")
    );
    let database = shell.database();
    match database.path() {
        None => eprintln!("The database is in memory only; .open takes a file."),
        Some(_) if database.is_locked() => eprintln!("The database is locked; .decrypt opens it."),
        Some(_) => {
            if let Some(remark) = database.plain_remark() {
                eprintln!("{remark}");
            }
        }
    }
    let interrupter = shell.interrupter();
    // While a line is edited, the editor handles Control-C as a key; otherwise it interrupts the
    // statement.
    ctrlc::set_handler(move || interrupter.interrupt())?;
    let mut editor = LineEditor::new(shell.names(), has_colours())?;
    let status = shell.run(&mut editor)?;
    editor.save();
    Ok(status)
}
