//! `SHA256SUMS`: a line per artefact, as `sha256sum --check` reads it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

use crate::command::{program, read};

pub const FILE: &str = "SHA256SUMS";

/// Writes the sums of all files of a folder into it.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    fs::write(folder.join(FILE), list(folder)?)
        .with_context(|| format!("cannot write {FILE} into {}", folder.display()))
}

/// The sum of one file, in hexadecimal digits.
pub fn sum(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let sum = Sha256::digest(&bytes);
    Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn list(folder: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for path in files(folder)? {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .with_context(|| format!("{} is no name for an artefact", path.display()))?;
        text.push_str(&format!("{}  {name}\n", sum(&path)?));
    }
    Ok(text)
}

/// All files except the list itself, sorted by name.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        ensure!(path.is_file(), "{} is no artefact", path.display());
        if path.file_name().is_some_and(|name| name != FILE) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Checks the list with coreutils, and that it includes every file.
pub fn check(folder: &Path) -> anyhow::Result<String> {
    let mut command = program("sha256sum");
    command.args(["--check", "--strict", "--quiet", FILE]);
    read(command.current_dir(folder))?;
    let listed = fs::read_to_string(folder.join(FILE))?.lines().count();
    let present = files(folder)?.len();
    ensure!(
        listed == present,
        "{FILE} lists {listed} files, and {} has {present}",
        folder.display()
    );
    Ok(format!(
        "checksums: sha256sum accepts {FILE}, files: {listed}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, the message of three letters.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn lines_are_sorted_and_leave_out_the_list_itself() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.tar.gz", "a.deb"] {
            fs::write(folder.path().join(name), "abc").unwrap();
        }
        write(folder.path()).unwrap();
        write(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(text, format!("{ABC}  a.deb\n{ABC}  b.tar.gz\n"));
    }

    #[test]
    fn a_changed_file_and_an_unlisted_one_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.deb");
        fs::write(&file, "abc").unwrap();
        write(folder.path()).unwrap();
        assert!(check(folder.path()).is_ok());
        fs::write(folder.path().join("b.deb"), "abc").unwrap();
        assert!(check(folder.path()).is_err());
        write(folder.path()).unwrap();
        fs::write(&file, "abd").unwrap();
        assert!(check(folder.path()).is_err());
    }
}
