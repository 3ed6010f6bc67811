//! `strongroom shell`: the terminal around the shell.

use crate::file_commands::cipher_named;
use crate::key_arguments::KeyArguments;
use crate::terminal::{self, Prompts};
use anyhow::bail;
use clap::Parser;
use crypto::cipher::Cipher;
use keyring::Credential;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use shell::console::{LineSource, Lines, Next, Text};
use shell::database::{Database, OpenOptions};
use shell::intent::only_reads;
use shell::secrecy;
use shell::session::{Shell, Surroundings};
use std::fs;
use std::io::{self, BufReader, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::database::OpenError;

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
    let interactive = args.sql.is_empty() && io::stdin().is_terminal();
    let database = open(&args, interactive)?;
    let surroundings = Surroundings {
        output: Box::new(BufWriter::new(io::stdout())),
        messages: Box::new(io::stderr()),
        console: Box::new(Prompts),
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

/// Passphrases that a person may try.
const ATTEMPTS: u32 = 3;

fn open(args: &Args, interactive: bool) -> anyhow::Result<Database> {
    let path = args
        .file
        .as_deref()
        .filter(|path| *path != Path::new(":memory:"));
    // Only a mistyped name is queried before there is a database of that name.
    let is_missing = path.is_some_and(|path| !path.exists());
    let is_mistyped = is_missing && !args.sql.is_empty() && only_reads(&args.sql);
    let options = OpenOptions {
        read_only: args.readonly || is_mistyped,
        cipher: args.cipher,
    };
    let credential = args.key.read()?;
    if path.is_none() && credential.is_some() {
        bail!("a key is given, but no file; a database in memory is never written to a disk");
    }
    let given = credential.is_some();
    let mut database = Database::open(path, credential, options)?;
    if given || !interactive || !database.is_locked() {
        return Ok(database);
    }
    for attempt in 1..=ATTEMPTS {
        let secret = terminal::ask_secret("Passphrase: ")?;
        if secret.is_empty() {
            break;
        }
        match Database::open(path, Some(Credential::Passphrase(secret)), options) {
            Ok(opened) => {
                database = opened;
                break;
            }
            Err(error @ OpenError::WrongKey { .. }) if attempt < ATTEMPTS => {
                eprintln!("strongroom: {error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(database)
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
    // While a line is edited, the editor sees Control-C as a key; else it stops the statement.
    ctrlc::set_handler(move || interrupter.interrupt())?;
    let mut editor = LineEditor::new()?;
    let status = shell.run(&mut editor)?;
    editor.save();
    Ok(status)
}

/// Lines from a person, remembered unless they hold a secret.
struct LineEditor {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
    /// Lines of the statement that is being typed.
    statement: Vec<String>,
}

/// Entries that the history keeps.
const HISTORY_SIZE: usize = 2000;

impl LineEditor {
    fn new() -> anyhow::Result<Self> {
        let mut editor = Editor::with_config(Config::builder().auto_add_history(false).build())?;
        editor.set_max_history_size(HISTORY_SIZE)?;
        let history = history_path();
        if let Some(path) = &history {
            // The first session has none.
            let _ = editor.load_history(path);
        }
        Ok(LineEditor {
            editor,
            history,
            statement: Vec::new(),
        })
    }

    /// Takes the statement that is complete now into the history, whole: a key may stand on a
    /// line of its own.
    fn remember(&mut self) {
        let statement = std::mem::take(&mut self.statement).join("\n");
        if !statement.trim().is_empty() && secrecy::may_be_remembered(&statement) {
            // A history that is full or switched off is no reason to stop.
            let _ = self.editor.add_history_entry(statement);
        }
    }

    fn save(&mut self) {
        self.remember();
        let Some(path) = &self.history else { return };
        let made = path.parent().map(fs::create_dir_all).transpose();
        if let Err(error) = made
            .map_err(ReadlineError::from)
            .and_then(|_| self.editor.save_history(path))
        {
            eprintln!(
                "strongroom: the history was not saved to {}: {error}",
                path.display()
            );
        }
    }
}

impl LineSource for LineEditor {
    fn next_line(&mut self, continuing: bool, line: &mut String) -> io::Result<Next> {
        if !continuing {
            self.remember();
        }
        let prompt = if continuing {
            "       ...> "
        } else {
            "strongroom> "
        };
        match self.editor.readline(prompt) {
            Ok(text) => {
                line.push_str(&text);
                self.statement.push(text);
                Ok(Next::Line)
            }
            Err(ReadlineError::Interrupted) => {
                self.statement.clear();
                Ok(Next::Abandoned)
            }
            Err(ReadlineError::Eof) => Ok(Next::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// Where the history is kept: in the user's state directory
/// (<https://specifications.freedesktop.org/basedir-spec/>).
fn history_path() -> Option<PathBuf> {
    let directory = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = directory("XDG_STATE_HOME")
        .or_else(|| directory("HOME").map(|home| home.join(".local/state")))
        .or_else(|| directory("LOCALAPPDATA"))?;
    Some(state.join("strongroom").join("history"))
}
