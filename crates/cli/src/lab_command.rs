//! `strongroom lab`: installs engines for `compare`, and runs the lab's shell.

use std::io::{self, Write};

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::browsers_command;
use lab_engines::install::{self, GROUPS, INSTALLABLE, SystemPackages};
use lab_engines::shell;

/// Name of the subcommand that makes this program a shell.
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
    Browsers(browsers_command::Args),
}

/// Install other engines into the home of the lab (variable STRONGROOM_LAB_HOME)
#[derive(Debug, ClapArgs)]
struct InstallArgs {
    /// What to install; `lab list` shows what there is
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    /// Install packages of the system too, for all users of this machine: MariaDB, PostgreSQL and
    /// browsers, by apt-get as the superuser. What is there already is left as it is
    #[arg(long)]
    yes: bool,
}

/// Runs `strongroom lab`.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Install(args) => install(&args, &mut io::stdout().lock()),
        Command::List => list(&mut io::stdout().lock()),
        Command::Browsers(args) => browsers_command::run(&args),
    }
}

fn install(args: &InstallArgs, output: &mut impl Write) -> anyhow::Result<()> {
    let packages = if args.yes {
        SystemPackages::Install
    } else {
        SystemPackages::Name
    };
    let wanted = args.names.iter().map(|name| install::wanted(name));
    // A wrong name is reported before anything is downloaded.
    for installable in wanted.collect::<Result<Vec<_>, _>>()?.concat() {
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
        writeln!(output, "{name:<14} {description}\n{:<14} {place}", "")?;
    }
    for (name, names) in GROUPS {
        writeln!(output, "{name:<14} all of {}", names.join(", "))?;
    }
    Ok(())
}

/// Runs the script on standard input, on the database in the environment variable from `compare`.
pub fn run_shell() -> anyhow::Result<()> {
    let request = std::env::var(shell::REQUEST_VARIABLE).ok();
    let mut output = io::stdout().lock();
    shell::run(request.as_deref(), &mut io::stdin().lock(), &mut output)?;
    Ok(())
}
