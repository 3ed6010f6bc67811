//! Packages of the system. They change the machine for everybody on it, so they are installed only
//! where the user said so, and named else.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::{InstallError, Installable};
use crate::server;

/// What is done about packages of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPackages {
    /// Their command is named.
    Name,
    /// They are installed, where we are the superuser and the system has Debian's `apt-get`.
    Install,
}

/// Packages that hold a product.
#[derive(Debug)]
pub struct Packages {
    /// What they hold.
    pub(super) product: &'static str,
    /// Their names in Debian.
    pub(super) names: &'static [&'static str],
}

const INSTALLER: &str = "apt-get";

/// What installs packages, where we may run it.
pub(super) fn installer() -> Option<PathBuf> {
    let found = server::find(&[INSTALLER], &[]);
    found.filter(|_| server::is_superuser())
}

impl Packages {
    fn command(&self) -> String {
        format!("{INSTALLER} install {}", self.names.join(" "))
    }

    /// What is said where they are not installed.
    pub(super) fn named(&self) -> InstallError {
        InstallError::System {
            product: self.product,
            command: self.command(),
        }
    }

    /// Installs them. Returns where the product is.
    pub(super) fn install(
        &self,
        installer: &Path,
        wanted: &Installable,
        tell: &mut dyn Write,
    ) -> Result<PathBuf, InstallError> {
        writeln!(tell, "running `{}`", self.command())?;
        let mut apt = Command::new(installer);
        apt.args(["install", "--yes", "--no-install-recommends"])
            // Another package manager may be at work.
            .args(["--option", "DPkg::Lock::Timeout=600"])
            .args(self.names)
            .env("DEBIAN_FRONTEND", "noninteractive");
        let remedy = "`apt-get update` may help where a package is not found";
        output(&mut apt, remedy)?;
        let found = (wanted.find)(wanted);
        found.ok_or_else(|| InstallError::NotInPackages {
            product: self.product,
            command: self.command(),
        })
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
            make: None,
        }
    }

    /// Plays `apt-get`, notes what it was asked for, and ends with this status.
    fn player(folder: &Path, status: u8) -> PathBuf {
        let (text, path) = (folder.join("player.sh"), folder.join("player"));
        let script = format!("#!/bin/sh\necho \"$@\" > \"$0.asked\"\necho no >&2\nexit {status}\n");
        fs::write(&text, script).unwrap();
        // Another process writes the program: a descriptor of ours could live on in a child that a
        // test beside this one has just forked, and what is open for writing cannot be started.
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
        let mut told = Vec::new();
        let there = wanted(|_| Some("/there".into()));
        let place = PACKAGES.install(&installer, &there, &mut told).unwrap();
        assert_eq!(place, Path::new("/there"));
        let asked = fs::read_to_string(folder.path().join("player.asked")).unwrap();
        assert_eq!(
            asked,
            "install --yes --no-install-recommends --option DPkg::Lock::Timeout=600 \
             one-server one-client\n"
        );
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told, "running `apt-get install one-server one-client`\n");
        let absent = PACKAGES.install(&installer, &wanted(|_| None), &mut Vec::new());
        let message = absent.unwrap_err().to_string();
        assert!(message.contains("Product is still not found"), "{message}");
    }

    #[test]
    fn packages_that_cannot_be_installed_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let installer = player(folder.path(), 100);
        let refused = PACKAGES.install(&installer, &wanted(|_| None), &mut Vec::new());
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("apt-get update") && message.ends_with("no"),
            "{message}"
        );
    }

    #[test]
    fn without_leave_the_command_is_named() {
        let told = &mut Vec::new();
        let message = wanted(|_| None).install(SystemPackages::Name, told);
        let message = message.unwrap_err().to_string();
        assert!(
            message.contains("`apt-get install one-server one-client`"),
            "{message}"
        );
        let there = wanted(|_| Some("/there".into()));
        let place = there.install(SystemPackages::Name, told).unwrap();
        assert_eq!(place, Path::new("/there"));
        assert_eq!(told, b"Product is there already\n");
    }
}
