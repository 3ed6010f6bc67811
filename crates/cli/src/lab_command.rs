//! `strongroom lab`: installs what `compare` compares with, and the lab's shell.

use std::io::{self, Write};

use clap::{Args as ClapArgs, Parser, Subcommand};
use lab_engines::install::{self, INSTALLABLE};
use lab_engines::shell;

/// Name of the sub-command that makes a shell of this program.
pub const SHELL_COMMAND: &str = shell::COMMAND;

/// Install and list what `compare` can compare with
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(InstallArgs),
    /// Show what can be installed, and where it is
    List,
}

/// Install other engines into the home of the lab (variable STRONGROOM_LAB_HOME)
#[derive(Debug, ClapArgs)]
struct InstallArgs {
    /// What to install; `lab list` shows what there is
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// Does what was asked for.
pub fn run(args: Args) -> anyhow::Result<()> {
    let output = &mut io::stdout().lock();
    match args.command {
        Command::Install(args) => install(&args.names, output),
        Command::List => list(output),
    }
}

fn install(names: &[String], output: &mut impl Write) -> anyhow::Result<()> {
    let wanted = names.iter().map(|name| install::named(name));
    // A wrong name is told before anything is fetched.
    for installable in wanted.collect::<Result<Vec<_>, _>>()? {
        let folder = installable.install(output)?;
        writeln!(output, "{} is in {}", installable.name, folder.display())?;
    }
    Ok(())
}

fn list(output: &mut impl Write) -> anyhow::Result<()> {
    for installable in INSTALLABLE {
        let place = match (installable.find)(installable) {
            Some(path) => path.display().to_string(),
            None => format!(
                "not installed; `strongroom lab install {}`",
                installable.name
            ),
        };
        let (name, description) = (installable.name, installable.description);
        writeln!(output, "{name:<12} {description}\n{:<12} {place}", "")?;
    }
    Ok(())
}

/// Runs the script on standard input, as `compare` asks by the environment.
pub fn run_shell() -> anyhow::Result<()> {
    let request = std::env::var(shell::REQUEST_VARIABLE).ok();
    let mut output = io::stdout().lock();
    shell::run(request.as_deref(), &mut io::stdin().lock(), &mut output)?;
    Ok(())
}
