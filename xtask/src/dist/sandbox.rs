//! Runs programs isolated from this machine: no environment variables, and a separate root folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::command::{program, read};
use crate::requirements::{Requirement, has};

/// Changes the root folder without being root.
pub const UNSHARE: Requirement = Requirement {
    name: "unshare and chroot",
    present: || has("unshare") && has("chroot"),
    packages: &["util-linux", "coreutils"],
    remedy: "install unshare (util-linux) and chroot (coreutils)",
};

/// The only search path that is set: all folders of system programs.
pub const PROGRAMS: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A folder that programs see as the root.
pub struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A command inside, without environment variables and network. It is root inside, and this
    /// user outside.
    pub fn command<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Command {
        let mut command = program("unshare");
        command
            .env_clear()
            .env("PATH", PROGRAMS)
            // The output is parsed.
            .env("SYSTEMD_COLORS", "0")
            .env("SYSTEMD_URLIFY", "0")
            .args(["--map-root-user", "--net", "--pid", "--fork"])
            .arg("chroot")
            .arg(&self.root)
            .args(words);
        command
    }
}

/// A user's first steps: a database is created, encrypted, inspected and read back. `strongroom` is
/// the command that runs the program; `folder` is the program's name for the folder `outside`.
pub fn encrypts_and_reads_back(
    strongroom: impl Fn(&[&str]) -> Command,
    folder: &str,
    outside: &Path,
) -> anyhow::Result<()> {
    let at = |name: &str| format!("{folder}/{name}");
    let (key, plain, sealed) = (at("a.key"), at("plain.db"), at("sealed.db"));
    let back = at("back.db");
    read(&mut strongroom(&["key", "generate", &key]))?;
    let sql = "CREATE TABLE t(x); INSERT INTO t VALUES ('a secret of this test');";
    read(&mut strongroom(&["shell", &plain, sql]))?;
    let key_file = ["--key-file", key.as_str()];
    let new_key_file = ["--new-key-file", key.as_str()];
    read(&mut strongroom(
        &[&["encrypt"], &new_key_file[..], &[&plain, &sealed]].concat(),
    ))?;
    let bytes =
        std::fs::read(outside.join("sealed.db")).context("no encrypted file was written")?;
    ensure!(
        !bytes.windows(8).any(|part| part == b"a secret") && !bytes.starts_with(b"SQLite format 3"),
        "the encrypted file shows what is in it"
    );
    let query = "SELECT x FROM t";
    let said = read(&mut strongroom(
        &[&["shell"], &key_file[..], &[&sealed, query]].concat(),
    ))?;
    ensure!(
        said.contains("a secret of this test"),
        "it read back: {said}"
    );
    read(&mut strongroom(
        &[&["verify"], &key_file[..], &[&sealed]].concat(),
    ))?;
    read(&mut strongroom(
        &[&["decrypt"], &key_file[..], &[&sealed, &back]].concat(),
    ))?;
    let bytes = std::fs::read(outside.join("back.db"))?;
    ensure!(
        bytes.starts_with(b"SQLite format 3"),
        "the decrypted file is no SQLite database"
    );
    Ok(())
}
