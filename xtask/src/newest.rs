//! Tests of protected columns on the newest PostgreSQL: the one that the lab fetches, beside that
//! of the system.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::command::{cargo, program, run as run_command};
use crate::{interop, requirements, workspace};

/// Names the folder of the server's programs, for `server-testkit` and `interop/postgres.sh`.
const PROGRAMS: &str = "STRONGROOM_TEST_POSTGRES";

/// Tests that start a server. Those of them that need TLS leave themselves out: this server has
/// none.
const TESTS: &[&str] = &[
    "canary",
    "columns",
    "connections",
    "copy",
    "differential",
    "ends",
    "execute",
    "finish",
    "logins",
    "names",
    "pool",
    "postgres",
    "proxy",
    "regressions",
    "server",
    "statements",
    "tls",
    "versions",
];

/// Folders of `interop/` with clients of PostgreSQL begin so.
const CLIENTS: &str = "postgres-";

/// Fetches the server, and runs the tests and clients on it.
pub fn run() -> anyhow::Result<()> {
    // It runs as another user where this is the superuser's, who may not enter his folders.
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    open_to_all(home.path()).context("cannot open the temporary folder to all")?;
    let own = workspace::target_folder()?.join("debug/strongroom");
    run_command(
        program(&own.to_string_lossy())
            .args(["lab", "install", "postgres"])
            .env("STRONGROOM_LAB_HOME", home.path()),
    )?;
    let programs = programs_below(home.path())?
        .context("what `strongroom lab install postgres` made has no server with psql")?;
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    for test in TESTS {
        tests.args(["--test", test]);
    }
    let servers = ("STRONGROOM_TEST_SERVERS", "1");
    run_command(tests.env(servers.0, servers.1).env(PROGRAMS, &programs))?;
    interop::run_with(CLIENTS, &[(PROGRAMS, &programs)])
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

/// The first folder with the server's programs, whatever version of Python is on the way to it.
fn programs_below(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let folder = entry.path();
        if requirements::has_programs(&folder) {
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
