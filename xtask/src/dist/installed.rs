//! A minimal Debian that packages are installed in, and tests of what they installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::sandbox::{self, Sandbox};
use super::{Context, tree};
use crate::command::{program, read, run as run_command};

/// Debian 12, whose C library is the oldest that the packages are for.
const SUITE: &str = "bookworm";

/// Packages in addition to what its package manager needs.
const PACKAGES: &str = "sqlite3,systemd,python3-venv";

/// A fresh copy of a small Debian.
pub fn small_debian(context: &Context) -> anyhow::Result<PathBuf> {
    let origin = context.scratch.join(SUITE);
    let stamp = context.scratch.join("made-of");
    if fs::read_to_string(&stamp).unwrap_or_default() != PACKAGES {
        let folder = context.empty_folder(SUITE)?;
        println!("making a small Debian in {}, once", folder.display());
        let include = format!("--include={PACKAGES}");
        let arguments = ["--variant=minbase", &include, SUITE];
        let quiet = program("debootstrap")
            .env("PATH", with_system_programs())
            .args(arguments)
            .arg(&folder)
            .output()
            .context("cannot start debootstrap")?;
        ensure!(
            quiet.status.success(),
            "debootstrap, which needs root, ended with {}: {}",
            quiet.status,
            String::from_utf8_lossy(&quiet.stdout)
        );
        fs::write(&stamp, PACKAGES)?;
    }
    let root = context.empty_folder("debian")?;
    run_command(
        program("cp")
            .args(["--archive", "--no-target-directory"])
            .args([&origin, &root]),
    )?;
    Ok(root)
}

/// System programs may be in folders that are not on a user's search path.
fn with_system_programs() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin")
}

/// The files that a package has installed.
pub struct Installed<'a> {
    pub sandbox: &'a Sandbox,
    pub root: &'a Path,
    /// The name under which SQLite loads the extension.
    pub extension: &'a str,
    /// The name under which programs load the library for drivers of PostgreSQL.
    pub client: &'a str,
}

impl Installed<'_> {
    /// Tests all of it.
    pub fn is_used(&self) -> anyhow::Result<()> {
        let folder = self.root.join("used");
        fs::create_dir(&folder)?;
        let strongroom = |arguments: &[&str]| {
            self.sandbox
                .command([&["/usr/bin/strongroom"], arguments].concat())
        };
        sandbox::encrypts_and_reads_back(strongroom, "/used", &folder)?;
        self.extension_reads()?;
        self.client_answers()?;
        self.documents_are_there()
    }

    /// The system's own `sqlite3` reads an encrypted database through the extension.
    fn extension_reads(&self) -> anyhow::Result<()> {
        let load = format!(".load {}", self.extension);
        let open = ".open file:/used/sealed.db?vfs=strongroom&key_file=/used/a.key";
        let said = read(&mut self.sandbox.command([
            "/usr/bin/sqlite3",
            "-bail",
            ":memory:",
            &load,
            open,
            "SELECT x FROM t;",
        ]))?;
        ensure!(
            said.trim() == "a secret of this test",
            "sqlite3 read by the extension: {said}"
        );
        Ok(())
    }

    /// The system's own Python loads the library for drivers of PostgreSQL.
    fn client_answers(&self) -> anyhow::Result<()> {
        let script = format!(
            "import ctypes; library = ctypes.CDLL('{}'); \
             print(library.strongroom_client_abi_version(), \
             library.strongroom_client_open(b'/nowhere', None, \
             ctypes.byref(ctypes.c_uint64()), None, 0))",
            self.client
        );
        let said = read(
            &mut self
                .sandbox
                .command(["/usr/bin/python3", "-c", script.as_str()]),
        )?;
        // Version 1, and STRONGROOM_CLIENT_CONFIGURATION: there is no such file.
        ensure!(said.trim() == "1 4", "the library for drivers: {said}");
        Ok(())
    }

    fn documents_are_there(&self) -> anyhow::Result<()> {
        for file in [
            tree::UNIT,
            tree::EXAMPLE,
            tree::HEADER,
            "usr/share/man/man1/strongroom.1.gz",
            "usr/share/man/man1/strongroom-proxy.1.gz",
            "usr/share/bash-completion/completions/strongroom",
            "usr/share/zsh/vendor-completions/_strongroom",
            "usr/share/fish/vendor_completions.d/strongroom.fish",
        ] {
            let size = fs::metadata(self.root.join(file)).map_or(0, |file| file.len());
            ensure!(size > 0, "{file} was not installed");
        }
        let completes = "complete -p strongroom";
        let script = "/usr/share/bash-completion/completions/strongroom";
        let command = format!(". {script} && {completes}");
        read(&mut self.sandbox.command(["/bin/bash", "-c", &command]))?;
        Ok(())
    }
}

/// What systemd reports about the installed unit: that it loads, and how exposed the service is.
pub fn exposure(sandbox: &Sandbox) -> anyhow::Result<String> {
    let unit = "strongroom-proxy@main.service";
    read(&mut sandbox.command(["systemd-analyze", "verify", "--man=no", unit]))?;
    let said = read(&mut sandbox.command([
        "systemd-analyze",
        "security",
        "--offline=true",
        "--no-pager",
        // In tenths: the command fails above this exposure.
        "--threshold=20",
        unit,
    ]))?;
    exposure_in(&said).context("systemd-analyze tells no exposure")
}

/// Parses a line such as `→ Overall exposure level for NAME: 1.2 OK`.
fn exposure_in(said: &str) -> Option<String> {
    let (_, line) = said.split_once("Overall exposure level for")?;
    let (_, rest) = line.split_once(": ")?;
    let number = rest.split_whitespace().next()?;
    number.parse::<f32>().ok()?;
    Some(format!("exposure {number} of 10"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exposure_is_read_out_of_the_last_line() {
        let said = "✗ PrivateNetwork= 0.5\n\n→ Overall exposure level for a@b.service: 1.2 OK 🙂\n";
        assert_eq!(exposure_in(said).unwrap(), "exposure 1.2 of 10");
        assert_eq!(exposure_in("✗ PrivateNetwork= 0.5\n"), None);
    }
}
