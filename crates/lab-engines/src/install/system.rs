//! Packages of the operating system. They change the machine for everybody on it, so they are
//! installed only if the user has allowed it, and otherwise only named.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::{InstallError, Installable};
use crate::server;

/// What to do about the system's packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPackages {
    /// Print the command.
    Name,
    /// Install them, if this is the superuser and the system has Debian's `apt-get`.
    Install,
}

/// The packages that contain a product.
#[derive(Debug)]
pub struct Packages {
    /// The product.
    pub(super) product: &'static str,
    /// Their names in Debian.
    pub(super) names: &'static [&'static str],
}

const INSTALLER: &str = "apt-get";

impl SystemPackages {
    /// The program that installs packages, if that is allowed and possible.
    pub(super) fn installer(self) -> Option<PathBuf> {
        match self {
            SystemPackages::Name => None,
            SystemPackages::Install => {
                let found = server::find(&[INSTALLER], &[]);
                found.filter(|_| server::is_superuser())
            }
        }
    }
}

/// A program that building something requires.
#[derive(Debug)]
pub struct Requirement {
    /// Its name.
    pub(super) program: &'static str,
    /// The packages that contain it.
    pub(super) packages: Packages,
}

impl Requirement {
    /// Installs the packages if the program is missing, or fails with their names if that is not
    /// allowed.
    pub(super) fn ensure(
        &self,
        installer: Option<&Path>,
        tell: &mut dyn Write,
    ) -> Result<(), InstallError> {
        if self.is_there() {
            return Ok(());
        }
        let installer = installer.ok_or_else(|| self.packages.named())?;
        self.packages.run(installer, tell)?;
        if self.is_there() {
            return Ok(());
        }
        Err(self.packages.not_found())
    }

    fn is_there(&self) -> bool {
        server::find(&[self.program], &[]).is_some()
    }
}

impl Packages {
    fn command(&self) -> String {
        format!("{INSTALLER} install {}", self.names.join(" "))
    }

    /// The error if they are not installed.
    pub(super) fn named(&self) -> InstallError {
        InstallError::System {
            product: self.product,
            command: self.command(),
        }
    }

    /// Installs them. Returns the location of the product.
    pub(super) fn install(
        &self,
        installer: &Path,
        wanted: &Installable,
        tell: &mut dyn Write,
    ) -> Result<PathBuf, InstallError> {
        self.run(installer, tell)?;
        (wanted.find)(wanted).ok_or_else(|| self.not_found())
    }

    fn run(&self, installer: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
        writeln!(tell, "running `{}`", self.command())?;
        let mut apt = Command::new(installer);
        apt.args(["install", "--yes", "--no-install-recommends"])
            // Waits for another package manager.
            .args(["--option", "DPkg::Lock::Timeout=600"])
            .args(self.names)
            .env("DEBIAN_FRONTEND", "noninteractive");
        let remedy = "`apt-get update` may help where a package is not found";
        output(&mut apt, remedy)?;
        Ok(())
    }

    fn not_found(&self) -> InstallError {
        InstallError::NotInPackages {
            product: self.product,
            command: self.command(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PACKAGES: Packages = Packages {
        product: "Product",
        names: &["one-server", "one-client"],
    };

    fn wanted(find: fn(&Installable) -> Option<PathBuf>) -> Installable {
        Installable {
            name: "product",
            description: "",
            find,
            system: Some(&PACKAGES),
            requires: &[],
            make: None,
        }
    }

    /// A mock `apt-get`, which records its arguments and exits with this status.
    fn player(folder: &Path, status: u8) -> PathBuf {
        let (text, path) = (folder.join("player.sh"), folder.join("player"));
        let script = format!("#!/bin/sh\necho \"$@\" > \"$0.asked\"\necho no >&2\nexit {status}\n");
        fs::write(&text, script).unwrap();
        // Written by another process: a child that a parallel test has just forked could keep our
        // descriptor open, and a file that is open for writing cannot be executed.
        let copied = Command::new("install")
            .arg("-m700")
            .args([&text, &path])
            .status();
        assert!(copied.unwrap().success());
        path
    }

    #[test]
    fn packages_are_installed_and_the_product_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let installer = player(folder.path(), 0);
        let mut report = Vec::new();
        let there = wanted(|_| Some("/there".into()));
        let place = PACKAGES.install(&installer, &there, &mut report).unwrap();
        assert_eq!(place, Path::new("/there"));
        let asked = fs::read_to_string(folder.path().join("player.asked")).unwrap();
        assert_eq!(
            asked,
            "install --yes --no-install-recommends --option DPkg::Lock::Timeout=600 \
             one-server one-client\n"
        );
        let report = String::from_utf8(report).unwrap();
        assert_eq!(report, "running `apt-get install one-server one-client`\n");
        let absent = PACKAGES.install(&installer, &wanted(|_| None), &mut Vec::new());
        let message = absent.unwrap_err().to_string();
        assert!(message.contains("Product is still not found"), "{message}");
    }

    #[test]
    fn packages_that_cannot_be_installed_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let installer = player(folder.path(), 100);
        let refused = PACKAGES.install(&installer, &wanted(|_| None), &mut Vec::new());
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("apt-get update") && message.ends_with("no"),
            "{message}"
        );
    }

    const REQUIREMENT: Requirement = Requirement {
        program: "no-such-program-here",
        packages: PACKAGES,
    };

    #[test]
    fn a_program_that_is_required_is_installed_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let installer = player(folder.path(), 0);
        let report = &mut Vec::new();
        let message = REQUIREMENT.ensure(None, report).unwrap_err().to_string();
        assert!(
            message.contains("`apt-get install one-server one-client`"),
            "{message}"
        );
        let message = REQUIREMENT.ensure(Some(&installer), report);
        let message = message.unwrap_err().to_string();
        assert!(message.contains("Product is still not found"), "{message}");
        assert!(folder.path().join("player.asked").is_file());
        fs::remove_file(folder.path().join("player.asked")).unwrap();
        let there = Requirement {
            program: "sh",
            packages: PACKAGES,
        };
        there.ensure(Some(&installer), report).unwrap();
        assert!(!folder.path().join("player.asked").exists());
    }

    #[test]
    fn without_leave_the_command_is_named() {
        let report = &mut Vec::new();
        let message = wanted(|_| None).install(SystemPackages::Name, report);
        let message = message.unwrap_err().to_string();
        assert!(
            message.contains("`apt-get install one-server one-client`"),
            "{message}"
        );
        let there = wanted(|_| Some("/there".into()));
        let place = there.install(SystemPackages::Name, report).unwrap();
        assert_eq!(place, Path::new("/there"));
        assert_eq!(report, b"Product is there already\n");
    }
}
