//! Finds PostgreSQL's programs by their major version.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The first version with every setting that the server is started with.
const MAJOR_MIN: u16 = 13;
/// Up to this version, packages are looked for when the proxy starts.
const MAJOR_LOOKED_FOR: u16 = 40;

/// Where programs are, and what was found there.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: Option<PathBuf>,
    found: Mutex<HashMap<u16, PathBuf>>,
    /// Folders whose programs were asked for their version. None: they did not say.
    asked: Mutex<HashMap<PathBuf, Option<u16>>>,
    /// Versions that were looked for and not found.
    missed: Mutex<HashSet<u16>>,
}

impl Programs {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            found: Mutex::default(),
            asked: Mutex::default(),
            missed: Mutex::default(),
        }
    }

    /// Whether a version that is not there is missed for the first time.
    pub(crate) fn is_missed_anew(&self, major: u16) -> bool {
        let missed = self.missed.lock();
        missed.unwrap_or_else(PoisonError::into_inner).insert(major)
    }

    /// The versions that are there.
    pub(crate) fn versions(&self) -> Vec<u16> {
        let all = MAJOR_MIN..=MAJOR_LOOKED_FOR;
        all.filter(|&major| self.find(major).is_some()).collect()
    }

    /// The folder with `postgres` and `initdb` of a major version.
    pub(crate) fn find(&self, major: u16) -> Option<PathBuf> {
        if major < MAJOR_MIN {
            return None;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = found.get(&major) {
            return Some(folder.clone());
        }
        let folder = self.search(major)?;
        found.insert(major, folder.clone());
        Some(folder)
    }

    fn search(&self, major: u16) -> Option<PathBuf> {
        if let Some(folder) = &self.folder {
            return self.is_of(folder, major).then(|| folder.clone());
        }
        let packaged = [
            format!("/usr/lib/postgresql/{major}/bin"),
            format!("/usr/pgsql-{major}/bin"),
            format!("/opt/homebrew/opt/postgresql@{major}/bin"),
        ];
        let packaged = packaged.into_iter().map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let of_path: Vec<PathBuf> = env::split_paths(&path).filter_map(real_folder).collect();
        packaged
            .chain(of_path)
            .find(|folder| self.is_of(folder, major))
    }

    /// Whether the folder has both programs, and they are of this version.
    fn is_of(&self, folder: &Path, major: u16) -> bool {
        let has_both = ["postgres", "initdb"]
            .iter()
            .all(|program| folder.join(program).is_file());
        if !has_both {
            return false;
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let version = asked.entry(folder.to_owned());
        *version.or_insert_with(|| version_of(folder)) == Some(major)
    }
}

/// The folder that the server in a folder of `PATH` is linked from: it looks for its own files
/// beside that.
fn real_folder(folder: PathBuf) -> Option<PathBuf> {
    let server = fs::canonicalize(folder.join("postgres")).ok()?;
    Some(server.parent()?.to_owned())
}

fn version_of(folder: &Path) -> Option<u16> {
    let said = Command::new(folder.join("postgres"))
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    major(&String::from_utf8_lossy(&said.stdout))
}

/// The 15 of `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major(said: &str) -> Option<u16> {
    let (_, version) = said.split_once("(PostgreSQL) ")?;
    let digits = version.split(|sign: char| !sign.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_the_server_says() {
        for (said, version) in [
            (
                "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n",
                Some(15),
            ),
            ("postgres (PostgreSQL) 18beta2\n", Some(18)),
            ("postgres (PostgreSQL) devel\n", None),
            ("", None),
        ] {
            assert_eq!(major(said), version, "{said}");
        }
    }

    #[test]
    fn a_folder_without_programs_has_no_version() {
        let empty = tempfile::tempdir().expect("a folder");
        let programs = Programs::new(Some(empty.path().to_owned()));
        assert_eq!(programs.find(15), None);
    }

    #[test]
    fn old_versions_are_not_looked_for() {
        assert_eq!(Programs::new(None).find(9), None);
    }
}
