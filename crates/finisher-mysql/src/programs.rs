//! Finds a product's server by its series.

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::product::Product;

/// A server's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) server: PathBuf,
    /// The folder of its messages; MariaDB's also has the statements that make its own tables.
    pub(crate) messages: PathBuf,
    pub(crate) series: u16,
}

/// Where programs are, and what was found there.
#[derive(Debug)]
pub(crate) struct Programs {
    product: Product,
    folder: Option<PathBuf>,
    found: OnceLock<Vec<Program>>,
    /// Series that were looked for and not found.
    missed: Mutex<HashSet<u16>>,
}

impl Programs {
    pub(crate) fn new(product: Product, folder: Option<PathBuf>) -> Self {
        Self {
            product,
            folder,
            found: OnceLock::new(),
            missed: Mutex::default(),
        }
    }

    /// Whether a series that is not there is missed for the first time.
    pub(crate) fn is_missed_anew(&self, series: u16) -> bool {
        let missed = self.missed.lock();
        missed
            .unwrap_or_else(PoisonError::into_inner)
            .insert(series)
    }

    /// All that are there.
    pub(crate) fn all(&self) -> &[Program] {
        self.found.get_or_init(|| self.search())
    }

    /// The server of a series.
    pub(crate) fn find(&self, series: u16) -> Option<&Program> {
        self.all().iter().find(|own| own.series == series)
    }

    fn search(&self) -> Vec<Program> {
        let path = env::var_os("PATH").unwrap_or_default();
        let packaged = ["/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin"].map(PathBuf::from);
        let folders: Vec<PathBuf> = match &self.folder {
            Some(folder) => vec![folder.clone()],
            None => packaged
                .into_iter()
                .chain(env::split_paths(&path))
                .collect(),
        };
        let mut found: Vec<Program> = Vec::new();
        for folder in folders {
            let own = program(self.product, &folder);
            let is_new = |own: &Program| found.iter().all(|other| other.series != own.series);
            if let Some(own) = own.filter(is_new) {
                found.push(own);
            }
        }
        found
    }
}

fn program(product: Product, folder: &Path) -> Option<Program> {
    let server = folder.join(product.program()).canonicalize().ok()?;
    let said = Command::new(&server)
        .args(["--no-defaults", "--version"])
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let series = series(product, &String::from_utf8_lossy(&said.stdout))?;
    let base = server.parent()?.parent()?;
    let shares = ["share/mysql", "share/mariadb", "share/mysql-8.0", "share"];
    let mut shares = shares.iter().map(|share| base.join(share));
    let messages = shares.find(|share| product.is_share(share))?;
    (series >= product.series_min()).then_some(Program {
        messages,
        server,
        series,
    })
}

/// The 1011 of `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu`.
fn series(product: Product, said: &str) -> Option<u16> {
    let (_, version) = said.split_once("Ver ")?;
    let version = version.split(' ').next()?;
    // Packages of MariaDB have a mysqld, too.
    let is_mariadb = said.contains("MariaDB");
    if is_mariadb != (product == Product::MariaDb) {
        return None;
    }
    let mut parts = version.split(|sign: char| !sign.is_ascii_digit());
    let major: u16 = parts.next()?.parse().ok()?;
    let minor: u16 = parts.next()?.parse().ok()?;
    (minor < 100 && major < 100).then_some(major * 100 + minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_read_from_what_the_server_says() {
        for (said, wanted) in [
            (
                "mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)",
                Some(804),
            ),
            ("/opt/bin/mysqld  Ver 8.0.15 for Linux", Some(800)),
            ("mysqld  Ver 10.11.19-MariaDB for Linux", None),
        ] {
            assert_eq!(series(Product::MySql, said), wanted, "{said}");
        }
        for (said, wanted) in [
            (
                "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64",
                Some(1011),
            ),
            ("mariadbd  Ver 11.4.2-MariaDB for Linux", Some(1104)),
            ("mysqld  Ver 8.0.15 for Linux on x86_64", None),
            ("", None),
        ] {
            assert_eq!(series(Product::MariaDb, said), wanted, "{said}");
        }
    }

    #[test]
    fn a_folder_without_programs_has_none() {
        let empty = tempfile::tempdir().expect("a folder");
        let programs = Programs::new(Product::MariaDb, Some(empty.path().to_owned()));
        assert!(programs.all().is_empty());
        assert!(programs.is_missed_anew(1011) && !programs.is_missed_anew(1011));
    }
}
