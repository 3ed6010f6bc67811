//! Exchanges databases between the native program and the browser, for each cipher.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::json;

use super::page::Page;
use crate::built;
use crate::command::{program, read, run as run_command};

const CIPHERS: [&str; 4] = [
    "aegis-256x2",
    "aegis-256",
    "aes-256-gcm",
    "xchacha20-poly1305",
];

const PASSPHRASE: &str = "horse battery staple correct";

/// Passes one database each way for each cipher.
pub fn run(page: &mut Page) -> anyhow::Result<()> {
    for cipher in CIPHERS {
        from_program(page, cipher).with_context(|| format!("{cipher}, made by the program"))?;
        from_browser(page, cipher).with_context(|| format!("{cipher}, made in the browser"))?;
    }
    Ok(())
}

/// The program creates a database; the browser reads it without changing a byte, then changes a
/// row; the program reads it again.
fn from_program(page: &mut Page, cipher: &str) -> anyhow::Result<()> {
    let name = format!("native-{cipher}.db");
    let path = page.exchange.join(&name);
    let native = Native::new(page, &path)?;
    native.make(cipher)?;
    let place = json!({"name": name, "passphrase": PASSPHRASE});
    page.task("take", &place)?;
    let rows = page.task("read", &place)?;
    ensure!(
        rows == json!([[1, "made by the program"]]),
        "the browser read {rows}"
    );
    let given = page.bytes("give", &place)?;
    ensure!(
        given == fs::read(&path)?,
        "bytes changed on the way through OPFS"
    );
    page.task("change", &place)?;
    fs::write(&path, page.bytes("give", &place)?)?;
    native.holds("made by the program!\nfrom the browser!\n")
}

/// The browser creates a database; the program reads it.
fn from_browser(page: &mut Page, cipher: &str) -> anyhow::Result<()> {
    let name = format!("browser-{cipher}.db");
    let path = page.exchange.join(&name);
    let native = Native::new(page, &path)?;
    let place = json!({"name": name, "passphrase": PASSPHRASE, "cipher": cipher});
    page.task("make", &place)?;
    fs::write(&path, page.bytes("give", &place)?)?;
    native.holds("made in the browser\n")
}

/// The native program, on one database.
struct Native<'path> {
    program: PathBuf,
    path: &'path Path,
    passphrase: PathBuf,
}

impl<'path> Native<'path> {
    fn new(page: &Page, path: &'path Path) -> anyhow::Result<Self> {
        let program = built::build()?.program;
        let passphrase = page.exchange.join("passphrase");
        fs::write(&passphrase, PASSPHRASE)?;
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&passphrase, owner)?;
        Ok(Self {
            program,
            path,
            passphrase,
        })
    }

    fn command(&self, subcommand: &str) -> std::process::Command {
        let mut command = program(&self.program.to_string_lossy());
        command.arg(subcommand).arg(self.path);
        command
    }

    fn make(&self, cipher: &str) -> anyhow::Result<()> {
        let plain = self.path.with_extension("plain");
        let sql = "CREATE TABLE rows(id INTEGER PRIMARY KEY, text TEXT); \
                   INSERT INTO rows(text) VALUES('made by the program')";
        run_command(program("/usr/bin/sqlite3").arg(&plain).arg(sql))?;
        let mut command = program(&self.program.to_string_lossy());
        command.arg("encrypt").args([&plain, self.path]);
        command.args(["--cipher", cipher, "--new-passphrase-file"]);
        read(command.arg(&self.passphrase)).map(drop)
    }

    fn holds(&self, expected: &str) -> anyhow::Result<()> {
        let mut verify = self.command("verify");
        read(verify.arg("--passphrase-file").arg(&self.passphrase))?;
        let mut shell = self.command("shell");
        shell.arg("PRAGMA integrity_check; SELECT text FROM rows ORDER BY id");
        let text = read(shell.arg("--passphrase-file").arg(&self.passphrase))?;
        ensure!(
            text == format!("ok\n{expected}"),
            "the program read {text:?}"
        );
        Ok(())
    }
}
