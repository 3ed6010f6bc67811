//! Runs the foreign clients: each folder of `interop/` has a `run` script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::built::{self, Built};
use crate::command::{program, run as run_command, run_unless_skipped};
use crate::workspace;

/// A script's exit status if it cannot run here, as in automake; the script prints why.
const SKIPPED: i32 = 77;

/// Runs every client and prints how many passed.
pub fn run() -> anyhow::Result<()> {
    let clients = clients(Path::new("interop"))?;
    if clients.is_empty() {
        bail!("interop/ has no client: a folder with an executable `run`");
    }
    run_all(&clients, &[])
}

/// Runs the clients whose folder has this prefix, with additional environment variables.
pub fn run_with(prefix: &str, variables: &[(&str, &Path)]) -> anyhow::Result<()> {
    let mut clients = clients(Path::new("interop"))?;
    clients.retain(|client| {
        let name = client.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    });
    if clients.is_empty() {
        bail!("interop/ has no client whose folder begins with {prefix}");
    }
    run_all(&clients, variables)
}

/// Runs all steps of one client with a program and an extension built elsewhere. `exchange` is an
/// empty folder.
pub fn run_one(
    name: &str,
    built: &Built,
    exchange: &Path,
    variable: (&str, &Path),
) -> anyhow::Result<()> {
    let mut command = script(&Path::new("interop").join(name), built, exchange);
    run_command(command.env(variable.0, variable.1))
}

/// The script of a client.
fn script(client: &Path, built: &Built, exchange: &Path) -> Command {
    let mut command = program(&client.join("run").to_string_lossy());
    command
        .env("STRONGROOM_EXTENSION", &built.extension)
        .env("STRONGROOM_PROGRAM", &built.program)
        .env("STRONGROOM_EXCHANGE", exchange);
    command
}

fn run_all(clients: &[PathBuf], variables: &[(&str, &Path)]) -> anyhow::Result<()> {
    let built = built::build()?;
    let exchange = emptied(workspace::target_folder()?.join("interop-exchange"))?;
    let mut failed = Vec::new();
    let mut skipped = 0;
    for client in clients {
        let start = Instant::now();
        let mut command = script(client, &built, &exchange);
        let result = run_unless_skipped(command.envs(variables.iter().copied()), SKIPPED);
        let word = match result {
            Ok(true) => "pass",
            Ok(false) => "skip",
            Err(_) => "FAIL",
        };
        skipped += usize::from(matches!(result, Ok(false)));
        let seconds = start.elapsed().as_secs_f64();
        println!("{word} {} ({seconds:.1} s)", client.display());
        if let Err(error) = result {
            failed.push(error);
        }
    }
    println!(
        "{} passed, {skipped} skipped, {} failed",
        clients.len() - failed.len() - skipped,
        failed.len()
    );
    match failed.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The folder where clients leave files for each other. It is kept for investigating failures.
fn emptied(folder: PathBuf) -> anyhow::Result<PathBuf> {
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => fs::create_dir_all(&folder),
    }
    .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder)
}

/// Folders with a script `run`, sorted by name. A folder without one is an error.
fn clients(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut clients = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        if !is_executable(&path.join("run")) {
            bail!("{} has no executable `run`", path.display());
        }
        clients.push(path);
    }
    clients.sort();
    Ok(clients)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_script_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("client")).unwrap();
        let error = clients(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("client has no executable `run`"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn clients_are_listed_by_name() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            let client = folder.path().join(name);
            fs::create_dir(&client).unwrap();
            fs::write(client.join("run"), "").unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(client.join("run"), mode).unwrap();
        }
        fs::write(folder.path().join("README.md"), "").unwrap();
        let found = clients(folder.path()).unwrap();
        assert_eq!(found, [folder.path().join("a"), folder.path().join("b")]);
    }
}
