//! `strongroom lab`: installs what `compare` compares with, and the lab's shell.

use std::io::{self, Write};

use clap::{Args as ClapArgs, Parser, Subcommand};
use lab_engines::install::{self, INSTALLABLE, SystemPackages};
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

    /// Install packages of the system too, for all users of this machine: MariaDB and PostgreSQL,
    /// by apt-get as the superuser. What is there already is left as it is
    #[arg(long)]
    yes: bool,
}

/// Does what was asked for.
pub fn run(args: Args) -> anyhow::Result<()> {
    let output = &mut io::stdout().lock();
    match args.command {
        Command::Install(args) => install(&args, output),
        Command::List => list(output),
    }
}

fn install(args: &InstallArgs, output: &mut impl Write) -> anyhow::Result<()> {
    let packages = if args.yes {
        SystemPackages::Install
    } else {
        SystemPackages::Name
    };
    let wanted = args.names.iter().map(|name| install::named(name));
    // A wrong name is told before anything is fetched.
    for installable in wanted.collect::<Result<Vec<_>, _>>()? {
        let place = installable.install(packages, output)?;
        writeln!(output, "{} is in {}", installable.name, place.display())?;
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
