//! SQLCipher, from the source in the package `sqlcipher-src` of cargo's registry.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::output;
use super::compile::{self, Compilation};
use super::{InstallError, Installable};

pub(super) const INSTALLABLE: Installable = Installable {
    name: "sqlcipher",
    description: "SQLCipher 4.20.0, compiled here: sqlcipher, sqlcipher-rawkey",
    find: |this| compile::find(&this.folder()?, this.name),
    system: None,
    requires: &[],
    make: Some(make),
};

const PACKAGE: &str = "sqlcipher-src";
const PACKAGE_VERSION: &str = "=420.0.0";

/// A project that depends on the package and is never compiled.
const MANIFEST: &str = r#"[package]
name = "sources"
version = "0.0.0"
edition = "2024"

[workspace]

[lib]
path = "nothing.rs"

[dependencies]
"#;

/// The options that SQLCipher's instructions require, with OpenSSL for its ciphers.
const OPTIONS: [&str; 7] = [
    "-DSQLITE_HAS_CODEC",
    "-DSQLITE_TEMP_STORE=2",
    "-DSQLCIPHER_CRYPTO_OPENSSL",
    "-DSQLITE_EXTRA_INIT=sqlcipher_extra_init",
    "-DSQLITE_EXTRA_SHUTDOWN=sqlcipher_extra_shutdown",
    "-DHAVE_STDINT_H=1",
    "-lcrypto",
];

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    writeln!(tell, "fetching {PACKAGE} {PACKAGE_VERSION} by cargo")?;
    let source = source(&folder.join("project"))?;
    Compilation {
        source: &source,
        name: INSTALLABLE.name,
        options: &OPTIONS,
        remedy: "SQLCipher needs libcrypto with its headers (Debian: libssl-dev)",
    }
    .run(folder, tell)
}

/// Downloads the package with cargo and returns its path.
fn source(project: &Path) -> Result<PathBuf, InstallError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| InstallError::File { path, source }
    };
    fs::create_dir(project).map_err(at(project))?;
    let manifest = project.join("Cargo.toml");
    let text = format!("{MANIFEST}{PACKAGE} = \"{PACKAGE_VERSION}\"\n");
    fs::write(&manifest, text).map_err(at(&manifest))?;
    fs::write(project.join("nothing.rs"), "").map_err(at(project))?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Downloads what is missing.
    cargo.args(["metadata", "--quiet", "--format-version=1"]);
    cargo.arg("--manifest-path").arg(&manifest);
    let remedy = "cargo fetches the source; install Rust, and check the connection";
    let metadata = output(&mut cargo, remedy)?;
    fs::remove_dir_all(project).map_err(at(project))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.filter(|package| package["name"] == PACKAGE);
    let manifests = package.filter_map(|package| package["manifest_path"].as_str());
    let folders = manifests.filter_map(|manifest| Path::new(manifest).parent());
    folders
        .map(|folder| folder.join("sqlcipher/sqlcipher.c"))
        .find(|source| source.is_file())
        .ok_or(InstallError::Package {
            package: PACKAGE,
            wanted: "sqlcipher/sqlcipher.c",
        })
}
