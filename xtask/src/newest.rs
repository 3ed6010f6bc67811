//! Tests of protected columns on the newest PostgreSQL, which the lab fetches. All other tests use
//! that of the system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, iter};

use anyhow::Context;
use tempfile::TempDir;

use crate::command::{program, run as run_command};
use crate::executables::Tests;
use crate::{built, interop, postgres_programs};

/// Environment variable with the folder of the server's programs, for `server-testkit` and
/// `interop/postgres.sh`.
pub const PROGRAMS: &str = "STRONGROOM_TEST_POSTGRES";

/// Executables whose tests start a server. Tests that need TLS skip themselves, because this server
/// has none.
const TESTS: &[&str] = &["all", "proxy", "proxy_command", "server", "tpcc"];

/// Slow tests that need no server, and a test that takes a minute and is run at the other isolation
/// level anyway.
const LEFT_OUT: &[&str] = &[
    "derived::",
    "oracle::",
    "protected_columns_are_consistent_when_serializable",
];

/// What a newer server is most likely to change: catalogues, definitions, the guard, names, and
/// what its own tools send.
const SLICE_TESTS: &[&str] = &[
    "canary::",
    "guards::",
    "names::",
    "schema::",
    "text_search::",
    "versions::",
];
const SLICE_CLIENTS: &[&str] = &["postgres-dump", "postgres-psql"];

/// Fetches the server, and runs every test and client of protected columns on it.
pub fn run() -> anyhow::Result<()> {
    let server = Server::fetch()?;
    let left_out = LEFT_OUT.iter().flat_map(|name| ["--skip", name]);
    server.test(TESTS, &left_out.collect::<Vec<_>>())?;
    interop::run_with(interop::OF_POSTGRES, &[(PROGRAMS, &server.programs)])
}

/// The part that belongs to every test.
pub fn run_slice() -> anyhow::Result<()> {
    let server = Server::fetch()?;
    server.test(&["all"], SLICE_TESTS)?;
    for client in SLICE_CLIENTS {
        interop::run_with(client, &[(PROGRAMS, &server.programs)])?;
    }
    Ok(())
}

/// The newest server, in a folder that is removed with it.
pub struct Server {
    /// The folder of its programs.
    pub programs: PathBuf,
    _home: TempDir,
}

impl Server {
    /// Fetches it as the lab does.
    pub fn fetch() -> anyhow::Result<Self> {
        // Under the superuser the server runs as another user, who may not enter his folders.
        let home = tempfile::tempdir().context("cannot make a temporary folder")?;
        open_to_all(home.path()).context("cannot open the temporary folder to all")?;
        let strongroom = built::build()?.program;
        run_command(
            program(&strongroom.to_string_lossy())
                .args(["lab", "install", "postgres"])
                .env("STRONGROOM_LAB_HOME", home.path()),
        )?;
        let programs = programs_below(home.path())?
            .context("what `strongroom lab install postgres` made has no server with psql")?;
        Ok(Self {
            programs,
            _home: home,
        })
    }

    /// Runs test executables with arguments of the test harness.
    fn test(&self, names: &[&str], arguments: &[&str]) -> anyhow::Result<()> {
        let tests = Tests {
            names,
            arguments,
            // Those of the lab look into PATH before anywhere else.
            environment: &[
                (PROGRAMS, self.programs.as_os_str()),
                ("PATH", &first_in_path(&self.programs)?),
            ],
        };
        tests.run()
    }
}

#[cfg(unix)]
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// PATH with a folder prepended.
fn first_in_path(folder: &Path) -> anyhow::Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(folder.to_owned()).chain(env::split_paths(&path));
    env::join_paths(folders).context("the folder of the server's programs cannot stand in PATH")
}

/// The first folder with the server's programs, whatever the Python version in its path.
fn programs_below(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let folder = entry.path();
        if postgres_programs::are_in(&folder) {
            return Ok(Some(folder));
        }
        if let Some(found) = programs_below(&folder)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_found_wherever_they_are() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("lib/python3/bin");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(home.path().join("bin")).unwrap();
        assert_eq!(programs_below(home.path()).unwrap(), None);
        for name in ["postgres", "initdb", "psql"] {
            fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(programs_below(home.path()).unwrap(), Some(folder));
    }
}
