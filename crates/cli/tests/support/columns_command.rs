//! Runs `strongroom columns`.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Rules for one table.
pub const RULES: &str = r#"
[proxy]
listen = "127.0.0.1:6432"
upstream = "127.0.0.1:5432"

[columns.people]
id = { type = "integer", mode = "equality" }
name = { type = "varchar(40)" }
"#;

/// Runs `strongroom columns`, with a server or without.
pub fn columns(arguments: &[&str], url: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.arg("columns").args(arguments);
    command.env_remove("STRONGROOM_DATABASE_URL");
    if let Some(url) = url {
        command.env("STRONGROOM_DATABASE_URL", url);
    }
    command.output().expect("the program starts")
}

/// Its output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A configuration in a new folder.
pub fn configuration(rules: &str) -> (TempDir, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("strongroom.toml");
    fs::write(&path, rules).expect("a file in the own folder");
    let path = path.to_str().expect("a plain path").to_owned();
    (folder, path)
}
