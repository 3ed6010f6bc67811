//! Runs the foreign clients: each folder of `interop/` has a `run` script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::built::{self, Built};
use crate::command::{program, run as run_command};
use crate::process::{self, Ended};
use crate::workspace;

/// Prefix of folders with clients of PostgreSQL.
pub const OF_POSTGRES: &str = "postgres-";

/// A script's exit status if it cannot run here, as in automake; the script prints why.
const SKIPPED: i32 = 77;

/// Clients whose downloads, builds or runs take too long for every test; `cargo xtask interop
/// --all` has them.
const ON_DEMAND: &[&str] = &[
    "mysql-benchbase",
    "mysql-go-gorm",
    "mysql-go-tpc",
    "mysql-java",
    "mysql-rust-mappers",
    "mysql-wordpress",
    "postgres-benchbase",
    "postgres-go-tpc",
    "postgres-java-hibernate",
    "postgres-library-java",
    "postgres-library-node",
    "postgres-node-prisma",
    "postgres-rust-mappers",
];

/// Which clients to run; without options those that belong to every test.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Run all clients, also those that take long to download or to build.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Run the clients of these folders.
    #[arg(value_name = "FOLDER")]
    names: Vec<String>,
}

/// More than any client needs on a busy machine: BenchBase before MariaDB took 36 minutes on one.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs clients and prints how many passed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let clients = chosen(clients(Path::new("interop"))?, options)?;
    if clients.is_empty() {
        bail!("interop/ has no client: a folder with an executable `run`");
    }
    run_all(&clients, &[])
}

/// Those of the clients that the options choose.
fn chosen(mut clients: Vec<PathBuf>, options: &Options) -> anyhow::Result<Vec<PathBuf>> {
    let are_listed = |names: &[&str]| {
        let is_missing = |name: &&&str| !clients.iter().any(|client| client.ends_with(name));
        match names.iter().find(is_missing) {
            None => Ok(()),
            Some(name) => bail!("interop/ has no client {name}"),
        }
    };
    are_listed(ON_DEMAND)?;
    let names: Vec<&str> = options.names.iter().map(String::as_str).collect();
    are_listed(&names)?;
    let has_one_of =
        |client: &Path, names: &[&str]| names.iter().any(|name| client.ends_with(name));
    if !names.is_empty() {
        clients.retain(|client| has_one_of(client, &names));
    } else if !options.all {
        clients.retain(|client| !has_one_of(client, ON_DEMAND));
    }
    Ok(clients)
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
        .env("STRONGROOM_CLIENT_LIBRARY", &built.client)
        .env("STRONGROOM_PROGRAM", &built.program)
        .env("STRONGROOM_EXCHANGE", exchange);
    command
}

/// Runs clients in two lanes, because each of them waits most of the time. One lane has those of
/// PostgreSQL. The other clients read files of those before them.
fn run_all(clients: &[PathBuf], variables: &[(&str, &Path)]) -> anyhow::Result<()> {
    let built = built::build()?;
    let exchange = emptied(workspace::target_folder()?.join("interop-exchange"))?;
    let logs = tempfile::tempdir().context("cannot make a temporary folder")?;
    let counts = Mutex::new(Counts::default());
    let is_of_postgres = |client: &&PathBuf| {
        let name = client.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(OF_POSTGRES)
    };
    let run_lane = |lane: Vec<&PathBuf>| {
        for client in lane {
            let log = logs.path().join(client.file_name().unwrap_or_default());
            let mut command = script(client, &built, &exchange);
            command.envs(variables.iter().copied());
            let start = Instant::now();
            let ended = process::run(&mut command, &log, LIMIT);
            let seconds = start.elapsed().as_secs_f64();
            let output = fs::read(&log).unwrap_or_default();
            // Held while reporting, so that two reports are not mixed.
            let mut counts = counts.lock().expect("no thread has panicked");
            print!("{}", String::from_utf8_lossy(&output));
            let word = counts.add(client, ended);
            println!("{word} {} ({seconds:.1} s)", client.display());
        }
    };
    let (of_postgres, others) = clients.iter().partition(is_of_postgres);
    thread::scope(|scope| {
        scope.spawn(|| run_lane(of_postgres));
        run_lane(others);
    });
    let Counts {
        passed,
        skipped,
        failed,
    } = counts.into_inner().expect("no thread has panicked");
    println!(
        "{passed} passed, {skipped} skipped, {} failed",
        failed.len()
    );
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// The results of clients.
#[derive(Default)]
struct Counts {
    passed: usize,
    skipped: usize,
    /// What is wrong with each of the others.
    failed: Vec<String>,
}

impl Counts {
    /// Counts a client; returns a word for its result.
    fn add(&mut self, client: &Path, ended: anyhow::Result<Ended>) -> &'static str {
        match ended {
            Ok(Ended::WithStatus(0)) => {
                self.passed += 1;
                return "pass";
            }
            Ok(Ended::WithStatus(SKIPPED)) => {
                self.skipped += 1;
                return "skip";
            }
            Ok(ended) => self.failed.push(format!("{}: {ended:?}", client.display())),
            Err(error) => self.failed.push(format!("{}: {error:#}", client.display())),
        }
        "FAIL"
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

    #[test]
    fn a_client_passes_skips_or_fails_by_its_status() {
        let mut counts = Counts::default();
        let client = Path::new("interop/client");
        assert_eq!(counts.add(client, Ok(Ended::WithStatus(0))), "pass");
        assert_eq!(counts.add(client, Ok(Ended::WithStatus(77))), "skip");
        assert_eq!(counts.add(client, Ok(Ended::WithStatus(1))), "FAIL");
        assert_eq!(counts.add(client, Ok(Ended::TimedOut)), "FAIL");
        assert_eq!((counts.passed, counts.skipped), (1, 1));
        assert_eq!(counts.failed[1], "interop/client: TimedOut");
    }

    #[test]
    fn every_test_has_the_clients_that_are_quick() {
        let names = ON_DEMAND.iter().chain(&["postgres-psql", "rust-rusqlite"]);
        let all: Vec<_> = names.map(|name| Path::new("interop").join(name)).collect();
        let named = |options| chosen(all.clone(), &options).unwrap().len();
        let options = |all, names: &[&str]| Options {
            all,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        assert_eq!(named(options(false, &[])), 2);
        assert_eq!(named(options(true, &[])), all.len());
        assert_eq!(named(options(false, &[ON_DEMAND[0], "postgres-psql"])), 2);
        let error = chosen(all.clone(), &options(false, &["psql"])).unwrap_err();
        assert_eq!(error.to_string(), "interop/ has no client psql");
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
