//! The program: subcommands, prompts and progress.
#![forbid(unsafe_code)]

mod backup_command;
mod browsers_command;
#[cfg(feature = "servers")]
mod columns_command;
mod compare;
mod compare_output;
mod compare_progress;
mod doctor_command;
#[cfg(feature = "documents")]
mod documents_command;
mod engine_arguments;
mod error_text;
mod file_commands;
mod import_command;
mod inspect_command;
mod key_arguments;
mod key_command;
mod lab_command;
#[cfg(not(feature = "servers"))]
mod left_out;
mod line_editor;
#[cfg(feature = "servers")]
mod proxy_command;
mod rekey_command;
mod report_command;
mod screen;
mod shell_command;
mod system_keyring;
mod terminal;
mod verify_command;
mod workload;

#[cfg(not(feature = "servers"))]
use left_out as columns_command;
#[cfg(not(feature = "servers"))]
use left_out as proxy_command;

#[cfg(feature = "documents")]
use clap::CommandFactory;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use error_text::{in_one_line, is_broken_pipe};
use std::path::PathBuf;
use std::process::ExitCode;

/// Encrypted SQLite databases, and what encryption costs.
#[derive(Parser)]
#[command(name = "strongroom", version, propagate_version = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Shell(shell_command::Args),
    Encrypt(file_commands::EncryptArgs),
    #[command(visible_alias = "export")]
    Decrypt(file_commands::DecryptArgs),
    Import(import_command::ImportArgs),
    Backup(backup_command::Args),
    Key(key_command::Args),
    Rekey(rekey_command::Args),
    Verify(verify_command::Args),
    Inspect(inspect_command::Args),
    Doctor(doctor_command::Args),
    Compare(compare::Args),
    Report(report_command::Args),
    Workload(workload::Args),
    Lab(lab_command::Args),
    Columns(columns_command::Args),
    Proxy(proxy_command::Args),
    /// Runs one engine for `compare`.
    #[command(name = compare::WORKER_COMMAND, hide = true)]
    LabWorker,
    /// Looks after the worker.
    #[command(name = compare::KEEPER_COMMAND, hide = true)]
    LabKeeper(compare::KeeperArgs),
    /// Runs a script for `compare`.
    #[command(name = lab_command::SHELL_COMMAND, hide = true)]
    LabShell,
    /// Writes manual pages and completions.
    #[cfg(feature = "documents")]
    #[command(name = documents_command::COMMAND, hide = true)]
    WriteDocuments(documents_command::Args),
}

fn main() -> ExitCode {
    let program = Program::try_parse().unwrap_or_else(|error| refuse(&error));
    match run(program.command) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("strongroom: {}", in_one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Ends the program because of its arguments. Whoever names a file alone, as `sqlite3` takes it, is
/// told what opens it.
fn refuse(error: &clap::Error) -> ! {
    let first = std::env::args_os().nth(1).map(PathBuf::from);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(file) = first.filter(|first| first.is_file())
    {
        eprintln!(
            "strongroom: {0} is a file, not a command; `strongroom shell {0}` opens it, \
             `strongroom doctor {0}` says what it is",
            file.display()
        );
        std::process::exit(error.exit_code());
    }
    error.exit()
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Shell(args) => shell_command::run(args),
        Command::Encrypt(args) => file_commands::encrypt(args).map(done),
        Command::Decrypt(args) => file_commands::decrypt(args).map(done),
        Command::Import(args) => import_command::import(args).map(done),
        Command::Backup(args) => backup_command::run(args).map(done),
        Command::Key(args) => key_command::run(args).map(done),
        Command::Rekey(args) => rekey_command::run(args).map(done),
        Command::Verify(args) => verify_command::run(args),
        Command::Inspect(args) => inspect_command::run(args).map(done),
        Command::Doctor(args) => doctor_command::run(args),
        Command::Compare(args) => compare::run(args).map(done),
        Command::Report(args) => report_command::run(args),
        Command::Workload(args) => workload::run(args).map(done),
        Command::Lab(args) => lab_command::run(args).map(done),
        Command::Columns(args) => columns_command::run(args),
        Command::Proxy(args) => proxy_command::run(args),
        Command::LabWorker => compare::run_worker().map(done),
        Command::LabKeeper(args) => compare::run_keeper(&args).map(done),
        Command::LabShell => lab_command::run_shell().map(done),
        #[cfg(feature = "documents")]
        Command::WriteDocuments(args) => {
            documents_command::run(&args, Program::command()).map(done)
        }
    }
}
