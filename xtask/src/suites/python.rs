//! Python packages for the suites of other projects: an environment of their own, and sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::command::{program, run as run_command};

/// A virtual environment below the folder of a suite.
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Makes it and lets `fill` install into it, unless both were done before for this `content`.
    pub fn make(
        work: &Path,
        content: &str,
        fill: impl FnOnce(&Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let environment = Self {
            folder: work.join("environment"),
        };
        let ready = work.join("ready");
        if fs::read_to_string(&ready).is_ok_and(|made| made == content) {
            return Ok(environment);
        }
        if environment.folder.exists() {
            fs::remove_dir_all(&environment.folder)?;
        }
        run_command(
            program("python3")
                .args(["-m", "venv"])
                .arg(&environment.folder),
        )?;
        fill(&environment)?;
        fs::write(ready, content)?;
        Ok(environment)
    }

    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    pub fn install(&self, packages: &[&str]) -> anyhow::Result<()> {
        run_command(self.pip().args(["install", "--quiet"]).args(packages))
    }

    /// Downloads a source distribution, checks it, and unpacks it; returns the archive's path.
    pub fn source(&self, work: &Path, package: &Source) -> anyhow::Result<PathBuf> {
        let Source {
            name,
            version,
            sha256,
        } = package;
        let source = ["download", "--quiet", "--no-deps", "--no-binary", ":all:"];
        let wanted = format!("{name}=={version}");
        run_command(self.pip().current_dir(work).args(source).arg(wanted))?;
        let archive = work.join(format!("{name}-{version}.tar.gz"));
        let bytes =
            fs::read(&archive).with_context(|| format!("pip has left no source of {name}"))?;
        let sum = {
            use sha2::Digest;
            let digest = sha2::Sha256::digest(&bytes);
            digest
                .iter()
                .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        if sum != *sha256 {
            bail!("{} has the checksum {sum}, not {sha256}", archive.display());
        }
        run_command(program("tar").current_dir(work).arg("-xzf").arg(&archive))?;
        Ok(archive)
    }

    fn pip(&self) -> Command {
        let mut command = Command::new(self.folder.join("bin/pip"));
        command.stdin(Stdio::null());
        command
    }
}

/// A source distribution with its SHA-256.
pub struct Source {
    pub name: &'static str,
    pub version: &'static str,
    pub sha256: &'static str,
}
