//! Generates manual pages and completions for packages from the program's own arguments.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;

/// Name of the hidden subcommand.
pub const COMMAND: &str = "write-documents";

/// Shells for which packages include completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Where to.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder that gets the folders `man` and `completions`
    folder: PathBuf,
}

/// Writes a page per command, and a file per shell.
///
/// # Errors
///
/// If a file cannot be written.
pub fn run(args: &Args, program: Command) -> anyhow::Result<()> {
    let program = without_hidden(program);
    let pages = created(&args.folder.join("man"))?;
    clap_mangen::generate_to(program.clone(), &pages)
        .with_context(|| format!("cannot write into {}", pages.display()))?;
    let completions = created(&args.folder.join("completions"))?;
    for shell in SHELLS {
        let mut program = program.clone();
        clap_complete::generate_to(shell, &mut program, "strongroom", &completions)
            .with_context(|| format!("cannot write into {}", completions.display()))?;
    }
    Ok(())
}

fn created(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// The command without hidden subcommands, which completions would otherwise offer.
fn without_hidden(program: Command) -> Command {
    let mut shown = Command::new("strongroom")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .subcommand_required(true);
    if let Some(about) = program.get_about() {
        shown = shown.about(about.clone());
    }
    let commands = program.get_subcommands().filter(|it| !it.is_hide_set());
    shown.subcommands(commands.cloned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_command_has_a_page_and_no_hidden_one_is_offered() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let args = Args {
            folder: folder.to_owned(),
        };
        run(&args, crate::Program::command()).unwrap();
        for page in ["strongroom.1", "strongroom-encrypt.1", "strongroom-proxy.1"] {
            assert!(folder.join("man").join(page).is_file(), "{page}");
        }
        assert!(!folder.join("man/strongroom-write-documents.1").exists());
        for file in ["strongroom.bash", "_strongroom", "strongroom.fish"] {
            let text = fs::read_to_string(folder.join("completions").join(file)).unwrap();
            assert!(text.contains("encrypt"), "{file}");
            assert!(!text.contains(COMMAND), "{file}");
            assert!(!text.contains(crate::compare::WORKER_COMMAND), "{file}");
        }
    }
}
