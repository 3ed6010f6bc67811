//! A folder with files, and the program run in it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part; a test that cannot go on says so by a panic"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A separate folder for each test.
pub struct Place {
    folder: tempfile::TempDir,
}

/// The result of a run of the program.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub output: String,
    pub messages: String,
}

impl Run {
    /// Asserts success without any message; returns the output.
    #[track_caller]
    pub fn fine(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.output
    }

    /// Asserts failure with a message; returns the messages.
    #[track_caller]
    pub fn failed(self) -> String {
        assert_eq!(self.status, 1, "{self:?}");
        self.messages
    }
}

/// The program, isolated from the settings of the user who runs the tests.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STRONGROOM_") {
            command.env_remove(name);
        }
    }
    command
}

/// Copies the program's environment to another command.
pub fn take_environment(command: &mut Command, program: &Command) {
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

impl Place {
    pub fn new() -> Self {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// A key file, readable only by its owner.
    pub fn key(&self, name: &str) {
        self.run(&["key", "generate", name]).fine();
    }

    /// Adds the key in one file to a database that the key in another opens.
    pub fn add_key(&self, database: &str, key: &str, new: &str) {
        let with = ["--key-file", key, "--new-key-file", new];
        self.run(&[&["key", "add", database], &with[..]].concat())
            .fine();
    }

    /// A file with a passphrase, readable only by its owner.
    pub fn passphrase(&self, name: &str, passphrase: &str) {
        self.write(name, format!("{passphrase}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// Runs the program without input.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    /// Runs the program with this standard input.
    pub fn run_with(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        let mut child = program(self.folder())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that exits early closes the pipe; its status is checked.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        let output = child.wait_with_output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            output: String::from_utf8(output.stdout).unwrap(),
            messages: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a script in `strongroom shell FILE`.
    pub fn shell(&self, file: &str, script: &str) -> Run {
        self.run_with(&["shell", file], script)
    }

    /// A plain database with some rows.
    pub fn plain_database(&self, name: &str) {
        let connection = rusqlite::Connection::open(self.path(name)).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, data BLOB);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                 INSERT INTO t SELECT i, 'canary number ' || i, zeroblob(100) FROM n;
                 CREATE INDEX t_name ON t(name);",
            )
            .unwrap();
    }

    /// Names in the folder that no test created: a failed operation must not leave any.
    pub fn left_over(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.ends_with(".part") || name.ends_with("-journal"))
            .collect()
    }
}

/// Whether some bytes occur in others.
pub fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
